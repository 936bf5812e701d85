"""Reductions over dimensions, scans, and functions composed of them."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _determinism
from cuprous.torch._args import astype, by_name, dims_of, named, unsupported, wrap_dim, write_out
from cuprous.torch._indexing import take_along_dim
from cuprous.torch._types import dtype_name

_map, _reduce, _operand = _core.t_map, _core.t_reduce, _core.t_operand

#: Named tuples returned by functions with two results.
values_indices = namedtuple("values_indices", ("values", "indices"))
min_max = namedtuple("min_max", ("min", "max"))


def _in_dtype(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None else astype(input, dtype_name(dtype))


def sum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Returns the sum; integers are summed as int64."""
    x = _operand(input, dtype and dtype_name(dtype), True, False)
    return write_out(out, _reduce("sum", x, dims_of(dim), keepdim))


def prod(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Returns the product; integers are multiplied as int64."""
    x = _operand(input, dtype and dtype_name(dtype), True, True)
    return write_out(out, _reduce("prod", x, dims_of(dim), keepdim))


def count(input: Tensor, dim: Any) -> int:
    """Returns the number of elements that a reduction over some dimensions combines."""
    dims = dims_of(dim)
    if dims is None or not input.ndim:
        return input.numel()
    return math.prod(input.dims[wrap_dim(d, input.ndim)] for d in dims)


def mean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Returns the mean of floats.

    Raises:
        RuntimeError: for integers and bool, unless `dtype` is given.
    """
    if dim is None and dtype is None and out is None and input.is_floating_point() and not keepdim:
        return _reduce("sum", input) / (input.numel() or math.nan)
    x = _in_dtype(input, dtype)
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or "
                           f"complex dtype. Got: {input.dtype_name}")  # fmt: skip
    n = count(x, dim)
    total = _reduce("sum", x, dims_of(dim), keepdim)
    return write_out(out, _map("divide", total, n) if n else total * math.nan)


def var(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: Any = None, out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the variance: the sum of squared deviations divided by n - correction (1 by default)."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError("std and var only support floating point and complex dtypes")
    by = (1 if unbiased is None or unbiased else 0) if correction is None else correction
    n = count(input, dim) - by
    return write_out(out, _map("divide", _reduce("m2", input, dims_of(dim), keepdim), float(n) if n > 0 else 0.0))


def std(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: Any = None, out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the standard deviation; its gradient at 0 is 0."""
    return write_out(out, _root(var(input, dim, unbiased, keepdim, correction=correction)))


def var_mean(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: Any = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Returns the variance and the mean."""
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


def std_mean(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: Any = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Returns the standard deviation and the mean."""
    return std(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


def amax(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Returns the maximum; equal maxima share the gradient."""
    return write_out(out, _extreme("max", input, dim, keepdim))


def amin(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Returns the minimum; equal minima share the gradient."""
    return write_out(out, _extreme("min", input, dim, keepdim))


def _extreme(op: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    if not count(input, dim):
        raise RuntimeError(f"{op}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                           "reduction dim with the 'dim' argument.")  # fmt: skip
    return _reduce(op, input, dims_of(dim), keepdim)


def aminmax(input: Tensor, *, dim: Any = None, keepdim: bool = False) -> min_max:
    """Returns the minimum and the maximum, as `min` and `max`."""
    return min_max(amin(input, dim, keepdim), amax(input, dim, keepdim))


def _index_of(op: str, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    if dim is None:
        flat = _reduce("arg" + op, input.detach().reshape(-1), None, False)
        return flat.reshape((1,) * input.ndim) if keepdim else flat
    return _reduce("arg" + op, input.detach(), [dim], keepdim)


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Returns the index of the first maximum (int64)."""
    return _index_of("max", input, dim, keepdim)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Returns the index of the first minimum (int64)."""
    return _index_of("min", input, dim, keepdim)


def _min_or_max(op: str, which: str) -> Callable[..., Any]:
    def pick(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
        if isinstance(dim, Tensor):
            return write_out(out, _map(op + "imum", input, dim))
        if dim is None:
            return write_out(out, _extreme(op, input, None, False))
        unsupported(op, out=(out, None))
        if not input.ndim:
            return values_indices(input.clone(), _core.t_full([], 0, "int64", input.device_name))
        return picked(input, _index_of(op, input, dim, True), dim, keepdim)

    return named(pick, op, f"Returns the {op}imum of all elements; with `dim` also indices; with a second tensor the "
                           f"{which} of each pair.")  # fmt: skip


max, min = _min_or_max("max", "larger"), _min_or_max("min", "smaller")


def picked(input: Tensor, index: Tensor, dim: int, keepdim: bool) -> values_indices:
    """Returns the elements at indices of extent 1 along a dimension, and the indices; the dimension can be dropped."""
    values = take_along_dim(input, index, dim)
    return values_indices(values, index) if keepdim else values_indices(values.squeeze(dim), index.squeeze(dim))


def _logical(op: str, empty: bool) -> Callable[..., Tensor]:
    def test(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
        mask = _map("not_equal", input, 0) if input.dtype_name != "bool" else input.detach()
        if not count(mask, dim):
            shape = _reduce("sum", mask, dims_of(dim), keepdim).dims
            return write_out(out, _core.t_full(list(shape), empty, "bool", input.device_name))
        return write_out(out, _reduce(op, mask, dims_of(dim), keepdim))

    return test


all = named(_logical("min", True), "all", "Returns whether all elements are True.")
any = named(_logical("max", False), "any", "Returns whether any element is True.")


def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """Returns the number of nonzero elements (int64)."""
    return sum(_map("not_equal", input, 0), dim)


def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Returns the sum, ignoring NaN."""
    return sum(_map("where", _map("isnan", input), 0, input), dim, keepdim, dtype=dtype)


def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Returns the mean, ignoring NaN."""
    number = _map("logical_not", _map("isnan", input))
    return nansum(input, dim, keepdim, dtype=dtype) / sum(number, dim, keepdim)


def logsumexp(input: Tensor, dim: Any, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Returns the logarithm of the sum of exponentials, computed without overflow."""
    top = _reduce("max", input.detach(), dims_of(dim), True)
    top = _map("where", _map("isfinite", top), top, 0)
    total = _map("log", _reduce("sum", _map("exp", _map("subtract", input, top)), dims_of(dim), keepdim))
    return write_out(out, _map("add", total, top if keepdim else top.reshape(total.dims)))


@_autocast.policy
def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Tensor | None = None,
         dtype: Any = None) -> Tensor:  # fmt: skip
    """Returns the p-norm over dimensions, (Σ |x|**p)**(1/p); "fro" is 2, inf is the largest absolute value.

    Raises:
        NotImplementedError: for the nuclear norm.
    """
    x = _in_dtype(input, dtype)
    if p in ("fro", None, 2, 2.0):
        squares = _map("square", _map("absolute", x)) if x.is_complex() else _map("square", x)
        return write_out(out, _root(_reduce("sum", squares, dims_of(dim), keepdim)))
    if isinstance(p, str):
        raise NotImplementedError(f"[norm] p={p!r} is not supported")
    size = _map("absolute", x)
    op = {math.inf: "max", -math.inf: "min", 1: "sum"}.get(p)
    if op is not None:
        return write_out(out, _reduce(op, size, dims_of(dim), keepdim))
    if p == 0:
        return write_out(out, _core.t_cast(sum(_map("not_equal", x, 0), dim, keepdim), size.dtype_name))
    if p < 0:
        return write_out(out, _map("power", _reduce("sum", _map("power", size, p), dims_of(dim), keepdim), 1.0 / p))
    total = _reduce("sum", _root(size, p) if p < 1 else _map("power", size, p), dims_of(dim), keepdim)
    return write_out(out, _root(total, 1.0 / p) if p > 1 else _map("power", total, 1.0 / p))


def _root(x: Tensor, exponent: float = 0.5) -> Tensor:
    """Returns a power with an exponent of at most 1, whose gradient at 0 is 0, as in PyTorch's norms."""
    power = (lambda t: _map("sqrt", t)) if exponent == 0.5 else (lambda t: _map("power", t, exponent))
    if not (x.requires_grad and _core.is_grad_enabled()):
        return power(x)
    zero = _map("equal", x, 0)
    return _map("where", zero, 0, power(_map("where", zero, 1, x)))


@_autocast.policy
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Returns the p-norm of the difference."""
    return norm(input - other, p)


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Returns the cumulative sum."""
    return write_out(out, _running("sum", _operand(input, dtype and dtype_name(dtype), True, False), dim))


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Returns the cumulative product."""
    return write_out(out, _running("prod", _operand(input, dtype and dtype_name(dtype), True, False), dim))


def _running(op: str, x: Tensor, dim: int) -> Tensor:
    dim = wrap_dim(dim, x.ndim)
    _determinism.alert(f"cum{op}", x)
    return _core.t_scan(op, x, dim) if x.ndim else x.clone()


def _running_extreme(op: str, input: Tensor, dim: int) -> values_indices:
    dim = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return values_indices(input.clone(), _core.t_full([], 0, "int64", input.device_name))
    plain = input.detach()
    strides = [0] * input.ndim
    strides[dim] = 1
    positions = _core.t_iota(list(input.dims), strides, 0, input.device_name)
    running = _core.t_scan(op, plain, dim)
    same = _map("equal", plain, running)
    if plain.is_floating_point():
        same = _map("logical_or", same, _map("isnan", plain))
    index = _core.t_scan("max", _map("where", same, positions, 0), dim)

    return values_indices(take_along_dim(input, index, dim), index)


def cummax(input: Tensor, dim: int) -> values_indices:
    """Returns the cumulative maximum, and the index where it was last reached."""
    return _running_extreme("max", input, dim)


def cummin(input: Tensor, dim: int) -> values_indices:
    """Returns the cumulative minimum, and the index where it was last reached."""
    return _running_extreme("min", input, dim)


def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Returns the lower median; with `dim`, along that dimension and with its index."""
    from cuprous.torch._ordering import argsort  # which imports this module

    if dim is None:
        flat = input.reshape(-1)
        order = argsort(flat)
        return take_along_dim(flat, order[(flat.numel() - 1) // 2 : (flat.numel() - 1) // 2 + 1], 0).reshape(())
    n = input.dims[wrap_dim(dim, input.ndim)]
    return picked(input, argsort(input, dim).narrow(dim, (n - 1) // 2, 1), dim, keepdim)


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None, _stacklevel: int = 3) -> Tensor:
    """Returns `exp(x) / sum(exp(x))` along a dimension."""
    x = _operand(input, dtype and dtype_name(dtype), False, False)
    return _core.t_softmax(x, _implicit(x.ndim) if dim is None else dim, False)


def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None, _stacklevel: int = 3) -> Tensor:
    """Returns the logarithm of `softmax`."""
    x = _operand(input, dtype and dtype_name(dtype), False, False)
    return _core.t_softmax(x, _implicit(x.ndim) if dim is None else dim, True)


def _implicit(ndim: int) -> int:
    """Returns the dimension that PyTorch's softmax uses if none is given."""
    return 0 if ndim in (0, 1, 3) else 1


METHODS = by_name(
    sum, prod, mean, var, std, amax, amin, argmax, argmin, max, min, all, any, count_nonzero, nansum, nanmean,
    logsumexp, norm, dist, cumsum, cumprod, cummax, cummin, median, softmax, log_softmax, aminmax
)  # fmt: skip
FUNCTIONS = METHODS | by_name(var_mean, std_mean)
