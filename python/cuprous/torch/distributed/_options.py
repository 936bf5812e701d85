"""Types of arguments: reductions, durations, backends."""

from __future__ import annotations

import enum
from datetime import timedelta
from typing import Any

from cuprous._core import Tensor

#: How long an operation takes at most, as with PyTorch's gloo.
DEFAULT_TIMEOUT = timedelta(minutes=30)
#: How long a job's ranks may take to join.
JOIN_TIMEOUT = timedelta(seconds=300)


class ReduceOp(enum.Enum):
    """How elements of several ranks are combined, in the order of the ranks. Half precision accumulates in float32."""

    SUM = "sum"
    #: The sum, divided by the number of ranks.
    AVG = "avg"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"
    #: Bitwise and, or, exclusive or, of integers and booleans.
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"


#: PyTorch's class of the members.
ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]


class Backend(str):
    """The name of a backend for tensors on the CPU: "ring", which PyTorch's names "gloo" and "cpu:gloo,cuda:nccl" mean
    as well, or "mpi"."""

    RING = "ring"
    GLOO = "gloo"
    NCCL = "nccl"
    MPI = "mpi"
    UNDEFINED = "undefined"


#: Names of the built-in backend, and of the one that uses an MPI library.
_RING = {"ring", "gloo", "cpu:ring", "cpu:gloo", "cpu:gloo,cuda:nccl", "cuda:nccl,cpu:gloo", "cpu:ring,cuda:nccl"}
_MPI = {"mpi", "cpu:mpi"}
#: Why other backends do not exist, and what to do.
_UNSUPPORTED = {
    "nccl": 'collectives of GPU tensors are not supported yet; use backend="ring" and move tensors with .cpu()',
    "cuda:nccl": 'collectives of GPU tensors are not supported yet; use backend="ring" and move tensors with .cpu()',
    "ucc": 'it is not supported; use backend="ring"',
    "xccl": 'it is not supported; use backend="ring"',
}


def backend_name(function: str, backend: Any) -> str:
    """Returns the name of the backend that a name means.

    Raises:
        NotImplementedError: for a backend of PyTorch that does not exist here.
        ValueError: for an unknown name.
    """
    if backend is None:
        return "ring"
    name = str(backend).lower()
    if name in _RING:
        return "ring"
    if name in _MPI:
        return "mpi"
    if name in _UNSUPPORTED:
        raise NotImplementedError(f'[{function}] backend "{name}": {_UNSUPPORTED[name]}')
    raise ValueError(f'[{function}] Unknown backend: "{backend}"; use "ring" or "mpi"')


def seconds(timeout: timedelta | float | int) -> float:
    """Returns a duration in seconds."""
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)


def check_tensor(value: Any, name: str) -> None:
    """Raises PyTorch's error unless a value is a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def check_tensors(values: Any, name: str) -> None:
    """Raises PyTorch's error unless a value is a list of tensors."""
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, Tensor) for value in values):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(values)} instead."
        )


def unsupported(function: str, **options: Any) -> None:
    """Raises for options that are given but not supported."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise NotImplementedError(f"[{function}] {name}={value!r} is not supported")
