"""Checks and conversions of arguments that most functions share."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from cuprous import _core
from cuprous._common.naming import named
from cuprous._core import Tensor
from cuprous.torch._memory_format import layout, memory_format
from cuprous.torch._types import number_dtype, resolve_device


def by_name(*functions: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Returns functions by their names."""
    return {f.__name__: f for f in functions}


def in_place(function: Callable[..., Tensor], example: str) -> Callable[..., Tensor]:
    """Returns the form of a function that writes the result to its first argument.

    Parameters
    ----------
    function : callable
        The function.
    example : str
        A call of the method and what it prints, for the docstring.
    """

    def write(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        _core.t_assign(self, function(self, *args, **kwargs))
        return self

    write.forwards_to = function  # type: ignore[attr-defined]  # whose names of parameters it takes
    call, result = example.split(" -> ")
    name = function.__name__
    return named(
        write,
        f"{name}_",
        f"""Writes the result of `{name}` to the tensor.

    Parameters
    ----------
    *args : any
        The arguments of `{name}` after the first.
    **kwargs : any
        The keywords of `{name}`.

    Returns
    -------
    Tensor
        The tensor itself, of the same shape and dtype.

    See Also
    --------
    torch.{name}

    Examples
    --------
    >>> {call}
    {result}
    """,
    )


def unsupported(function: str, **arguments: tuple[Any, Any]) -> None:
    """Checks that arguments have their default values; each is a pair of value and default.

    Raises
    ------
    NotImplementedError
        For the first argument with another value.
    """
    for name, (given, default) in arguments.items():
        if isinstance(given, (layout, memory_format)) and given.is_plain:
            continue
        if given is not default and (default is None or given != default):
            raise NotImplementedError(f"[{function}] {name}={given!r} is not supported")


def tensor_of(x: Any, like: Tensor | None = None) -> Tensor:
    """Returns a tensor made from a tensor, an array or a number.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(x, Tensor):
        return x
    if isinstance(x, _core.ndarray):
        return _core.t_wrap(x)
    if isinstance(x, (bool, int, float, complex)):
        device = resolve_device(None if like is None else like.device)
        return _core.t_full([], x, number_dtype(type(x)), device)
    raise TypeError(f"expected Tensor as argument, but got {type(x).__name__}")


def astype(x: Tensor, name: str) -> Tensor:
    """Returns a tensor cast to a dtype, or itself if it has the dtype."""
    return x if x.dtype_name == name else _core.t_cast(x, name)


def zeros_like(x: Tensor) -> Tensor:
    """Returns zeros with the shape, dtype and device of a tensor."""
    return _core.t_full(list(x.dims), 0, x.dtype_name, x.device_name)


def sizes(args: tuple[Any, ...]) -> list[int]:
    """Returns a shape that was given as separate integers or as one sequence."""
    if len(args) == 1 and isinstance(args[0], Iterable) and not isinstance(args[0], Tensor):
        args = tuple(args[0])
    return list(map(operator.index, args))


def dims_of(dim: Any) -> list[int] | None:
    """Returns a list of dimensions that were given as a number or a sequence; None stands for all dimensions."""
    if dim is None:
        return None
    if isinstance(dim, (tuple, list)):
        return [operator.index(d) for d in dim] or None
    return [operator.index(dim)]


def wrap_dim(dim: int, ndim: int) -> int:
    """Returns a dimension as a nonnegative index.

    Raises
    ------
    IndexError
        If the dimension is out of range.
    """
    if 0 <= dim < ndim:
        return dim
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim + n if dim < 0 else dim


def write_out(out: Tensor | None, result: Tensor) -> Tensor:
    """Returns the result, or `out` after the result was written to it."""
    if out is None:
        return result
    if result.requires_grad or (out.requires_grad and _core.is_grad_enabled()):
        raise RuntimeError("functions with out=... arguments don't support automatic differentiation")
    if out.dims != result.dims and not out.numel():  # PyTorch gives such a tensor memory, too
        out.data = _core.t_full(list(result.dims), 0, out.dtype_name, out.device_name)
    if out.dims != result.dims:
        raise RuntimeError(
            f"out has shape {list(out.dims)}, but the result has {list(result.dims)}; pass an out of that shape"
        )
    if out.device_name != result.device_name:
        raise RuntimeError(
            f"Expected out tensor to have device {result.device_name}, but got {out.device_name} instead"
        )
    _core.t_update(out, result)
    return out


def write_outs(out: Any, result: Any) -> Any:
    """Returns a result of one or several tensors, or `out`, after the result was written to it."""
    if out is None:
        return result
    if not isinstance(result, tuple):
        return write_out(out, result)
    parts = [write_out(target, part) for target, part in zip(out, result, strict=True)]
    return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
