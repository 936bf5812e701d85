"""Elements chosen among several arrays or functions, by indices or conditions."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, array, broadcast_shapes, ndarray, operand, result_name, write_out
from cuprous._common.casting import astype, check_casting
from cuprous._common.convert import convert
from cuprous._common.indexing import bounded
from cuprous._common.layout import with_order
from cuprous._common.operands import on_array_device
from cuprous._functions import creation


@on_array_device
def choose(a: ArrayLike, choices: Any, out: ndarray | None = None, mode: str = "raise") -> ndarray:
    """Returns for each index in `a` the element of the choice with this index.

    Parameters
    ----------
    a : array_like
        An array of integers.
    choices : array_like
        A sequence of arrays that broadcast to the shape of `a`, or an array whose first axis numbers the choices.
    out : ndarray, optional
        An array of the result's shape to write to, of any dtype.
    mode : str, default "raise"
        For indices out of bounds: "raise", "wrap" or "clip".

    Returns
    -------
    ndarray
        An array of the common shape, of the dtype that the choices promote to.

    Raises
    ------
    ValueError
        If there are no choices, or an index is out of bounds (mode "raise").
    TypeError
        If `a` does not hold integers, or `out` has another shape.

    See Also
    --------
    take_along_axis

    Examples
    --------
    >>> cp.choose([0, 1, 0], [[1, 2, 3], [10, 20, 30]])
    array([ 1, 20,  3])
    """
    index = array(a)
    check_casting(index.dtype_name, "int64", "safe", "array data")
    given = [choices[i] for i in range(len(choices))] if isinstance(choices, ndarray) else [operand(c) for c in choices]
    if not given:
        raise ValueError("0-length sequence.")
    name = result_name(*given)
    exact = dtypes.kind(name) not in "fc"  # integers wrap around
    parts = [c if isinstance(c, ndarray) else astype(array(c), name) if exact else convert(c, name) for c in given]
    if mode == "raise" and index.size and int(_core.reduce("min", index, None)) < 0:
        raise ValueError("invalid entry in choice array")
    try:
        index = bounded(index, len(parts), 0, mode)
    except IndexError:
        raise ValueError("invalid entry in choice array") from None
    shape = broadcast_shapes(index.shape, *(p.shape for p in parts))
    result = _core.broadcast_to(astype(parts[0], name), shape)
    for i, part in enumerate(parts[1:], 1):
        result = _core.map("where", index == i, astype(part, name), result)
    if isinstance(out, ndarray) and out.shape != shape:
        raise TypeError("choose: invalid shape for output array.")
    result = result.copy() if len(parts) == 1 else with_order(result, "C")
    return write_out(out, result, "choose", "unsafe")


@on_array_device
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> ndarray:
    """Returns for each element the choice of the first condition that is true, or the default.

    Parameters
    ----------
    condlist : sequence
        A list of bool arrays.
    choicelist : sequence
        A list of arrays, one for each condition. All broadcast against each other.
    default : scalar, default 0
        The element where no condition is true.

    Returns
    -------
    ndarray
        An array of the common shape, of the dtype that choices and default promote to.

    Raises
    ------
    ValueError
        If there are no conditions, or the number of choices differs from theirs.
    TypeError
        For conditions that are not bool.

    See Also
    --------
    where, take, choose, compress, diag, diagonal

    Examples
    --------
    >>> x = cp.arange(6)
    >>> cp.select([x < 2, x > 3], [x, x * 10], default=-1)
    array([ 0,  1, -1, -1, 40, 50])
    """
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [array(c) for c in condlist]
    for i, c in enumerate(conditions):
        if c.dtype_name != "bool":
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    choices = [operand(c) for c in (*choicelist, default)]
    name = result_name(*choices)  # Python scalars promote weakly, at every position
    choices = [astype(array(c), name) for c in choices]
    result = choices.pop()
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = _core.map("where", condition, choice, result)
    return with_order(result, "C")


def piecewise(x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> ndarray:
    """Evaluates a piecewise function: for each condition a scalar, or a function called with the elements it selects.

    Parameters
    ----------
    x : array_like
        An array or array-like.
    condlist : list
        A list of bool arrays of the shape of `x`, or one of them.
    funclist : sequence
        Scalars and functions, one for each condition. One more is taken where no condition is true, otherwise zero.
    *args : any
        Further arguments of the functions.
    **kw : any
        Keyword arguments of the functions.

    Returns
    -------
    ndarray
        An array of the shape and dtype of `x`.

    Raises
    ------
    ValueError
        Unless there are as many functions as conditions, or one more.

    See Also
    --------
    choose, select, where

    Examples
    --------
    >>> x = cp.asarray([-2.0, -1.0, 1.0, 2.0])
    >>> cp.piecewise(x, [x < 0, x > 1], [0, lambda v: v * 10, 5])
    array([ 0.,  0.,  5., 20.])
    """
    x = array(x)
    if (
        isinstance(condlist, bool)
        or not isinstance(condlist, (list, tuple, ndarray))
        or (isinstance(condlist, ndarray) and condlist.ndim <= x.ndim)
        or (isinstance(condlist, (list, tuple)) and not isinstance(condlist[0], (list, tuple, ndarray)) and x.ndim)
    ):
        condlist = [condlist]
    conditions = [astype(array(c), "bool") for c in condlist]
    n = len(conditions)
    if len(funclist) == n + 1:
        conditions.append(~reduce(operator.or_, conditions))
    elif len(funclist) != n:
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    result = creation.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if callable(function):
            chosen = x[condition]
            if chosen.size:
                result[condition] = function(chosen, *args, **kw)
        else:
            result[condition] = function
    return result


def choose_of(self: ndarray, /, *choices: Any, out: ndarray | None = None, mode: str = "raise") -> ndarray:
    """Returns for each index in the array the element of the choice with this index.

    Parameters
    ----------
    *choices : array_like
        The choices: one sequence of them, or each as an argument.
    out : ndarray, optional
        An array of the result's shape to write to.
    mode : str, default "raise"
        For indices out of bounds: "raise", "wrap" or "clip".

    Returns
    -------
    ndarray
        An array of the common shape, of the dtype that the choices promote to.

    Raises
    ------
    ValueError
        If there are no choices, or an index is out of bounds (mode "raise").
    TypeError
        If the array does not hold integers, or `out` has another shape.

    Examples
    --------
    >>> cp.asarray([0, 1, 0]).choose([1, 2, 3], [10, 20, 30])
    array([ 1, 20,  3])
    """
    return choose(self, choices[0] if len(choices) == 1 else choices, out, mode)


__all__ = ["choose", "piecewise", "select"]
