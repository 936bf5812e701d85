"""Types of arguments: reductions, durations, backends."""

from __future__ import annotations

import enum
from datetime import timedelta
from typing import Any

from cuprous._core import Tensor

#: How long an operation takes at most, as with PyTorch's gloo and nccl.
DEFAULT_TIMEOUT, NCCL_TIMEOUT = timedelta(minutes=30), timedelta(minutes=10)
#: How long a job's ranks may take to join.
JOIN_TIMEOUT = timedelta(seconds=300)


class ReduceOp(enum.Enum):
    """How elements of several ranks are combined, in the order of the ranks. Half precision accumulates in float32.

    See Also
    --------
    torch.distributed.Work, torch.distributed.ProcessGroup

    Examples
    --------
    >>> x = torch.ones(2)
    >>> dist.all_reduce(x, op=dist.ReduceOp.MAX)
    >>> x
    tensor([1., 1.])
    """

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
    """The name of a backend: "ring" (PyTorch's name "gloo" means it as well) or "mpi" for tensors on the CPU, "nccl"
    for tensors on GPUs.

    See Also
    --------
    torch.distributed.get_backend, torch.distributed.init_process_group

    Examples
    --------
    >>> dist.Backend("GLOO")
    'gloo'
    """

    RING = "ring"
    GLOO = "gloo"
    NCCL = "nccl"
    MPI = "mpi"
    UNDEFINED = "undefined"

    def __new__(cls, name: str) -> Backend:
        """Returns the name in lower case."""
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


#: The backends, by name, with the type of device whose tensors they move.
_BACKENDS = {"ring": ("cpu", "ring"), "gloo": ("cpu", "ring"), "mpi": ("cpu", "mpi"), "nccl": ("cuda", "nccl")}
#: Backends of PyTorch that do not exist here.
_UNSUPPORTED = {"ucc", "xccl"}


def backends_by_device(function: str, backend: Any) -> dict[str, str]:
    """Returns the backend for each type of device from a name such as "nccl" or "cpu:gloo,cuda:nccl". None means both.

    Raises
    ------
    NotImplementedError
        For a backend of PyTorch that does not exist here.
    ValueError
        For an unknown name, or a backend that does not move tensors of its device.
    """
    if backend is None:
        return {"cpu": "ring", "cuda": "nccl"}
    found: dict[str, str] = {}
    for part in str(backend).lower().split(","):
        device, _, name = part.rpartition(":")
        if name in _UNSUPPORTED:
            raise NotImplementedError(f'[{function}] backend "{name}" is not supported; use "ring", "mpi" or "nccl"')
        if name not in _BACKENDS:
            raise ValueError(f'[{function}] Unknown backend: "{backend}"; use "ring", "mpi" or "nccl"')
        kind, meant = _BACKENDS[name]
        if device not in ("", kind):
            raise NotImplementedError(f'[{function}] backend "{name}" moves tensors on "{kind}", not on "{device}"')
        found[kind] = meant
    return found


def backend_name(backends: dict[str, str]) -> str:
    """Returns the name of a group's backends, as `get_backend` does."""
    if len(backends) == 1:
        return next(iter(backends.values()))
    return ",".join(f"{device}:{name}" for device, name in backends.items())


def seconds(timeout: timedelta | float | int) -> float:
    """Returns a duration in seconds."""
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)


def check_timeout(timeout: Any) -> None:
    """Raises PyTorch's error unless a timeout is a timedelta or None."""
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout!r}; pass "
            "timedelta(seconds=…), from the module datetime"
        )


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
