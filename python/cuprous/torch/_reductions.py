"""Reductions over dimensions, scans, and functions composed of them."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common.naming import named, related_names
from cuprous._core import Tensor
from cuprous.torch import _autocast
from cuprous.torch._args import astype, by_name, dims_of, in_place, write_out
from cuprous.torch._cumulative import cummax, cummin, cumprod, cumsum
from cuprous.torch._extremes import amax, amin, aminmax, argmax, argmin, count, max, min
from cuprous.torch._softmax import log_softmax, logsumexp, softmax
from cuprous.torch._types import dtype_name

_map, _reduce, _operand = _core.t_map, _core.t_reduce, _core.t_operand


def _in_dtype(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None else astype(input, dtype_name(dtype))


def sum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Returns the sum. Integers and bools are summed as int64.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    dtype : dtype, optional
        The dtype to sum in, by default that of the input.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions.

    See Also
    --------
    torch.mean, torch.prod, torch.nansum, torch.cumsum

    Examples
    --------
    >>> torch.tensor([[1, 2], [3, 4]]).sum(0)
    tensor([4, 6])
    >>> torch.sum(torch.tensor([0.5, 1.5]))
    tensor(2.)
    """
    x = _operand(input, dtype and dtype_name(dtype), True, False)
    return write_out(out, _reduce("sum", x, dims_of(dim), keepdim))


def prod(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Returns the product. Integers and bools are multiplied as int64.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    dtype : dtype, optional
        The dtype to multiply in, by default that of the input.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions.

    See Also
    --------
    torch.sum, torch.cumprod

    Examples
    --------
    >>> torch.prod(torch.tensor([[1, 2], [3, 4]]), dim=1)
    tensor([ 2, 12])
    """
    x = _operand(input, dtype and dtype_name(dtype), True, True)
    return write_out(out, _reduce("prod", x, dims_of(dim), keepdim))


def mean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Returns the mean of floats.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating or complex dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    dtype : dtype, optional
        The dtype to compute in, by default that of the input.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions.

    Raises
    ------
    RuntimeError
        For integers and bool, unless `dtype` is given.

    See Also
    --------
    torch.sum, torch.nanmean, torch.median, torch.var_mean

    Examples
    --------
    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).mean(dim=1)
    tensor([1.5000, 3.5000])
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
    """Returns the variance: the sum of squared deviations divided by n - correction (1 by default).

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating or complex dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    unbiased : bool, optional
        True for a correction of 1, False for 0; in place of `correction`.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    correction : int or float, optional
        What is subtracted from the number of elements before dividing by it, by default 1.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A real tensor without the reduced dimensions.

    See Also
    --------
    torch.std, torch.var_mean, torch.mean

    Examples
    --------
    >>> torch.var(torch.tensor([1.0, 2.0, 4.0]))
    tensor(2.3333)
    >>> torch.var(torch.tensor([1.0, 2.0, 4.0]), correction=0)
    tensor(1.5556)
    """
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError("std and var only support floating point and complex dtypes")
    by = (1 if unbiased is None or unbiased else 0) if correction is None else correction
    n = count(input, dim) - by
    return write_out(out, _map("divide", _reduce("m2", input, dims_of(dim), keepdim), float(n) if n > 0 else 0.0))


def std(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: Any = None, out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the standard deviation, the square root of `var`. Its gradient at 0 is 0.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating or complex dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    unbiased : bool, optional
        True for a correction of 1, False for 0; in place of `correction`.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    correction : int or float, optional
        What is subtracted from the number of elements before dividing by it, by default 1.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A real tensor without the reduced dimensions.

    See Also
    --------
    torch.var, torch.std_mean, torch.mean

    Examples
    --------
    >>> torch.std(torch.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    return write_out(out, _root(var(input, dim, unbiased, keepdim, correction=correction)))


def var_mean(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: Any = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Returns the variance and the mean.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating or complex dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    unbiased : bool, optional
        True for a correction of 1, False for 0; in place of `correction`.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    correction : int or float, optional
        What is subtracted from the number of elements before dividing by it, by default 1.

    Returns
    -------
    pair of Tensors
        The tuple of the variance and the mean, without the reduced dimensions.

    See Also
    --------
    torch.std_mean

    Examples
    --------
    >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


def std_mean(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: Any = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Returns the standard deviation and the mean.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating or complex dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    unbiased : bool, optional
        True for a correction of 1, False for 0; in place of `correction`.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    correction : int or float, optional
        What is subtracted from the number of elements before dividing by it, by default 1.

    Returns
    -------
    pair of Tensors
        The tuple of the standard deviation and the mean, without the reduced dimensions.

    See Also
    --------
    torch.var_mean

    Examples
    --------
    >>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return std(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


def _logical(name: str, op: str, empty: bool, what: str, example: str) -> Callable[..., Tensor]:
    def test(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
        mask = _map("not_equal", input, 0) if input.dtype_name != "bool" else input.detach()
        if count(mask, dim):
            result = _reduce(op, mask, dims_of(dim), keepdim)
        else:
            shape = _reduce("sum", mask, dims_of(dim), keepdim).dims
            result = _core.t_full(list(shape), empty, "bool", input.device_name)
        return write_out(out, _core.t_cast(result, "uint8") if input.dtype_name == "uint8" else result)

    return named(
        test,
        name,
        f"""Returns true if {what}.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype; numbers other than 0 count as true.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A bool tensor without the reduced dimensions, or uint8 of a uint8 tensor; {empty} where there are no elements.

    See Also
    --------
    {related_names(name, "all any")}, torch.count_nonzero, torch.logical_{"and" if name == "all" else "or"}

    Examples
    --------
    >>> torch.tensor([[True, False], [True, True]]).{name}(dim=0)
    {example}
    """,
    )


all = _logical("all", "min", True, "all elements are true", "tensor([ True, False])")
any = _logical("any", "max", False, "any element is true", "tensor([True, True])")


def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """Returns the number of nonzero elements.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.

    Returns
    -------
    Tensor
        An int64 tensor without the reduced dimensions.

    See Also
    --------
    torch.nonzero, torch.any, torch.sum

    Examples
    --------
    >>> torch.count_nonzero(torch.tensor([0, 3, 5]))
    tensor(2)
    """
    return sum(_map("not_equal", input, 0), dim)


def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Returns the sum, ignoring NaN.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    dtype : dtype, optional
        The dtype to sum in, by default that of the input.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions.

    See Also
    --------
    torch.sum, torch.nanmean, torch.nan_to_num

    Examples
    --------
    >>> torch.nansum(torch.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    return sum(_map("where", _map("isnan", input), 0, input), dim, keepdim, dtype=dtype)


def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Returns the mean, ignoring NaN.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    dtype : dtype, optional
        The dtype to compute in, by default that of the input.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions; NaN where all elements are NaN.

    See Also
    --------
    torch.mean, torch.nansum, torch.nanmedian

    Examples
    --------
    >>> torch.nanmean(torch.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    number = _map("logical_not", _map("isnan", input))
    return nansum(input, dim, keepdim, dtype=dtype) / sum(number, dim, keepdim)


@_autocast.policy
def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Tensor | None = None,
         dtype: Any = None) -> Tensor:  # fmt: skip
    """Returns the p-norm over dimensions, `(Σ |x|**p)**(1/p)`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating or complex dtype.
    p : float or str, default "fro"
        The order; "fro" is 2, and inf gives the largest absolute value.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The dtype to compute in, by default that of the input.

    Returns
    -------
    Tensor
        A real tensor without the reduced dimensions.

    Raises
    ------
    NotImplementedError
        For the nuclear norm.

    See Also
    --------
    torch.frobenius_norm

    Examples
    --------
    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    >>> torch.norm(torch.tensor([3.0, 4.0]), p=1)
    tensor(7.)
    """
    x = _in_dtype(input, dtype)
    if x.dtype_name in ("float16", "bfloat16"):  # powers of its numbers would overflow
        return write_out(out, _core.t_cast(norm(_core.t_cast(x, "float32"), p, dim, keepdim), x.dtype_name))
    if p in ("fro", None, 2, 2.0):
        squares = _map("square", _map("absolute", x)) if x.is_complex() else _map("square", x)
        return write_out(out, _root(_reduce("sum", squares, dims_of(dim), keepdim)))
    if p == "nuc":
        matrix_norm = importlib.import_module("cuprous.torch.linalg").matrix_norm  # which imports this module
        return matrix_norm(x, "nuc", dims_of(dim) or (-2, -1), keepdim, out=out)
    if isinstance(p, str):
        raise RuntimeError(f"linalg.norm: p={p!r} is none of the norms 'fro', 'nuc' and numbers")
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
    """Returns the p-norm of the difference.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating or complex dtype.
    other : Tensor or number
        A tensor or number that broadcasts with `input`.
    p : float, default 2
        The order of the norm.

    Returns
    -------
    Tensor
        A real tensor without dimensions.

    See Also
    --------
    torch.cdist, torch.norm, torch.linalg.vector_norm

    Examples
    --------
    >>> torch.dist(torch.tensor([1.0, 2.0]), torch.tensor([4.0, 6.0]))
    tensor(5.)
    """
    return norm(input - other, p)


_BOTH = by_name(
    sum, prod, mean, var, std, amax, amin, argmax, argmin, max, min, all, any, count_nonzero, nansum, nanmean,
    logsumexp, norm, dist, cumsum, cumprod, cummax, cummin, softmax, log_softmax, aminmax
)  # fmt: skip
METHODS = _BOTH | by_name(
    in_place(cumsum, "torch.tensor([1.0, 2.0]).cumsum_(0) -> tensor([1., 3.])"),
    in_place(cumprod, "torch.tensor([2.0, 3.0]).cumprod_(0) -> tensor([2., 6.])"),
)
FUNCTIONS = _BOTH | by_name(var_mean, std_mean)
