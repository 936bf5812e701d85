"""What most functions of the face need of their arguments."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor


def unsupported(function: str, **arguments: tuple[Any, Any]) -> None:
    """Refuses arguments that differ from the default, which is the second of each pair.

    Raises:
        NotImplementedError: naming the first that does.
    """
    for name, (given, default) in arguments.items():
        if given is not default and given != default:
            raise NotImplementedError(f"[{function}] {name}={given!r} is not supported")


def tensor_of(x: Any, like: Tensor | None = None) -> Tensor:
    """A tensor of a tensor, an array or a number.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(x, Tensor):
        return x
    if isinstance(x, _core.ndarray):
        return _core.t_wrap(x)
    if isinstance(x, (bool, int, float, complex)):
        from cuprous.torch._creation import tensor  # which imports this module

        return tensor(x, device=None if like is None else like.device)
    raise TypeError(f"expected Tensor as argument, but got {type(x).__name__}")


def sizes(args: tuple[Any, ...]) -> list[int]:
    """Extents given one by one or as one sequence."""
    if len(args) == 1 and isinstance(args[0], Iterable) and not isinstance(args[0], Tensor):
        args = tuple(args[0])
    return [operator.index(n) for n in args]


def dims_of(dim: Any) -> list[int] | None:
    """Dimensions given as a number, a sequence, or None for all."""
    if dim is None:
        return None
    if isinstance(dim, (tuple, list)):
        return [operator.index(d) for d in dim] or None
    return [operator.index(dim)]


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension counted from the front.

    Raises:
        IndexError: if there is none of that number.
    """
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim + n if dim < 0 else dim


_RANKS = {"bool": 0, "int": 1, "uint": 1, "float": 2, "bfloat": 2, "complex": 3}


def assign(target: Tensor, result: Tensor) -> Tensor:
    """The tensor with a result in it.

    Raises:
        RuntimeError: if the result is of a higher kind or another shape.
    """
    from_, to = (_RANKS[t.dtype_name.rstrip("0123456789")] for t in (result, target))
    if from_ > to:
        raise RuntimeError(
            f"result type {result.dtype_name} can't be cast to the desired output type {target.dtype_name}"
        )
    if result.dims != target.dims:
        raise RuntimeError(
            f"output with shape {list(target.dims)} doesn't match the broadcast shape {list(result.dims)}"
        )
    _core.t_update(target, result)
    return target


def write_out(out: Tensor | None, result: Tensor) -> Tensor:
    """The result, or `out` with the result in it."""
    if out is None:
        return result
    if result.requires_grad or (out.requires_grad and _core.is_grad_enabled()):
        raise RuntimeError("functions with out=... arguments don't support automatic differentiation")
    if out.dims != result.dims:
        raise RuntimeError(
            f"out has shape {list(out.dims)}, but the result has {list(result.dims)}; resizing is not done"
        )
    if out.device_name != result.device_name:
        raise RuntimeError(
            f"Expected out tensor to have device {result.device_name}, but got {out.device_name} instead"
        )
    _core.t_update(out, result)
    return out
