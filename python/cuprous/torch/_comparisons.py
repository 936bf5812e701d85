"""Comparison, selection and bounds of elements."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import tensor_of, write_out
from cuprous.torch._indexing import nonzero
from cuprous.torch._info import finfo

_map = _core.t_map


def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """Returns `input` where the condition is true, otherwise `other`.

    Parameters
    ----------
    condition : Tensor
        A bool tensor.
    input : Tensor or number, optional
        A tensor or number; None for the indices where the condition is true.
    other : Tensor or number, optional
        A tensor or number.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the arguments broadcast to; with only a condition, a tuple of int64 tensors, one for
        each dimension.

    Raises
    ------
    RuntimeError
        For a condition that is not bool, if there are values to choose from.

    See Also
    --------
    torch.masked_select, torch.nonzero

    Examples
    --------
    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([0., 2.])
    >>> torch.where(x > 0)
    (tensor([1]),)
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if condition.dtype_name not in ("bool", "uint8"):
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype_name}"
        )
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = tensor_of(input, condition)
    return write_out(out, _map("where", condition, input, other))


def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Returns elements clamped to the range from `min` to `max`. The gradient is passed on where an element is within
    the bounds.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    min : Tensor or number, optional
        The lower bound, a number or tensor; None for no bound.
    max : Tensor or number, optional
        The upper bound, a number or tensor; None for no bound.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the arguments broadcast to.

    Raises
    ------
    RuntimeError
        If neither bound is given.

    See Also
    --------
    torch.clamp_min, torch.clamp_max, torch.maximum

    Examples
    --------
    >>> torch.clamp(torch.tensor([-1, 2, 5]), min=0, max=3)
    tensor([0, 2, 3])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    result = input
    if min is not None:
        result = _map("where", _exceeds("less", result, min), min, result)
    if max is not None:
        result = _map("where", _exceeds("greater", result, max), max, result)
    return write_out(out, result)


def _exceeds(comparison: str, input: Tensor, bound: Any) -> Tensor:
    """Returns where elements are outside of a bound. A bound that is NaN replaces all numbers."""
    outside = _map(comparison, input, bound)
    if isinstance(bound, Tensor):
        return _map("logical_or", outside, _map("isnan", bound)) if bound.is_floating_point() else outside
    return _map("not_equal", input, bound) if bound != bound else outside


def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Returns `clamp` with a lower bound only.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    min : Tensor or number
        The lower bound, a number or tensor.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the arguments broadcast to.

    See Also
    --------
    torch.clamp, torch.clamp_max, torch.maximum

    Examples
    --------
    >>> torch.clamp_min(torch.tensor([-1, 2]), 0)
    tensor([0, 2])
    """
    return clamp(input, min, None, out=out)


def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Returns `clamp` with an upper bound only.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    max : Tensor or number
        The upper bound, a number or tensor.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the arguments broadcast to.

    See Also
    --------
    torch.clamp, torch.clamp_min, torch.minimum

    Examples
    --------
    >>> torch.clamp_max(torch.tensor([-1, 2]), 0)
    tensor([-1,  0])
    """
    return clamp(input, None, max, out=out)


def nan_to_num(input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None,
               *, out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the tensor with finite numbers in place of NaN and infinities.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    nan : float, default 0.0
        What replaces NaN.
    posinf : float, optional
        What replaces infinity, by default the greatest number of the dtype.
    neginf : float, optional
        What replaces minus infinity, by default the least number of the dtype.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.isnan, torch.isinf, torch.isfinite

    Examples
    --------
    >>> torch.nan_to_num(torch.tensor([1.0, float("nan"), float("inf")]), posinf=9.0)
    tensor([1., 0., 9.])
    """
    if not input.is_floating_point():
        return write_out(out, input.clone())

    info = finfo(input.dtype)
    result = _map("where", _map("isnan", input), nan, input)
    result = _map("where", _map("equal", result, math.inf), info.max if posinf is None else posinf, result)
    return write_out(
        out, _map("where", _map("equal", result, -math.inf), info.min if neginf is None else neginf, result)
    )


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Returns, for each element, whether |input - other| ≤ atol + rtol · |other|.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    other : Tensor
        A tensor that broadcasts with `input`.
    rtol : float, default 1e-05
        The relative tolerance.
    atol : float, default 1e-08
        The absolute tolerance.
    equal_nan : bool, default False
        Whether NaN is close to NaN.

    Returns
    -------
    Tensor
        A bool tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.allclose, torch.equal, torch.eq

    Examples
    --------
    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    if input.dtype_name == other.dtype_name == "bool":
        return _map("equal", input, other)
    near = _map("less_equal", _map("absolute", input - other), _map("add", _map("absolute", other) * rtol, atol))
    near = _map("logical_or", _map("logical_and", near, _map("isfinite", other)), _map("equal", input, other))
    if equal_nan:
        near = _map("logical_or", near, _map("logical_and", _map("isnan", input), _map("isnan", other)))
    return near


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Returns True if all elements are close, as `isclose` defines it.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    other : Tensor
        A tensor that broadcasts with `input`.
    rtol : float, default 1e-05
        The relative tolerance.
    atol : float, default 1e-08
        The absolute tolerance.
    equal_nan : bool, default False
        Whether NaN is close to NaN.

    Returns
    -------
    bool

    See Also
    --------
    torch.isclose, torch.equal, torch.testing.assert_close

    Examples
    --------
    >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Returns True if the shapes and all elements are equal.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    other : Tensor
        A tensor of the same dtype.

    Returns
    -------
    bool

    See Also
    --------
    torch.eq, torch.allclose

    Examples
    --------
    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    return input.dims == other.dims and bool(_map("equal", input, other).all())
