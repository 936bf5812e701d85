"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, Axes, array, ndarray, normalize_axes
from cuprous._functions.complex_parts import imag, real
from cuprous._functions.reductions import max as max_
from cuprous._functions.reductions import min as min_
from cuprous._functions.reductions import sum as sum_
from cuprous.linalg._svd import svdvals


def _inexact(x: ArrayLike) -> ndarray:
    x = array(x)
    return x if dtypes.kind(x.dtype_name) in "fc" else _core.cast(x, "float64")


def norm(x: ArrayLike, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> ndarray:
    """Returns the norm of vectors (one axis) or matrices (two axes). Without arguments, returns the norm of the
    flattened array.

    Parameters
    ----------
    x : array_like
        An array or array-like.
    ord : number or str, optional
        The order: a number for vectors, as for `matrix_norm` for matrices; None (the default) is the 2-norm or
        Frobenius' norm.
    axis : int or tuple of ints, optional
        The axis of vectors, or a pair of axes of matrices; None (the default) takes all axes.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.

    Returns
    -------
    ndarray
        A real array without the axes.

    Raises
    ------
    LinAlgError
        For infinity or NaN in a matrix norm by singular values (2, -2, "nuc").
    ValueError
        For an order that does not exist.

    See Also
    --------
    linalg.vector_norm, linalg.matrix_norm, linalg.cond

    Examples
    --------
    >>> cp.linalg.norm([3.0, 4.0])
    array(5.)
    >>> cp.linalg.norm([[3.0, 4.0], [6.0, 8.0]], axis=1)
    array([ 5., 10.])
    """
    x = _inexact(x)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1):
            result = _core.map("sqrt", sum_(_squares(x.reshape(-1))))
            return result.reshape((1,) * x.ndim) if keepdims else result
        axes = tuple(range(x.ndim))
    else:
        axes = normalize_axes(axis, x.ndim)
    if len(axes) == 1:
        return _vector(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix(x, ord, axes[0], axes[1], keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def vector_norm(x: ArrayLike, /, *, axis: Axes = None, keepdims: bool = False, ord: Any = 2) -> ndarray:
    """Returns the norm over one or more axes (by default all) as one vector. Integers are computed in float64.

    Parameters
    ----------
    x : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes; None (the default) takes all.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    ord : number, default 2
        The order, a number: p for the root of the sum of p-th powers, inf and -inf for the greatest and least
        magnitude, 0 for the number of nonzero elements.

    Returns
    -------
    ndarray
        A real array without the axes.

    Raises
    ------
    ValueError
        For an order that is not a number.

    See Also
    --------
    cuprous.linalg.norm

    Examples
    --------
    >>> cp.linalg.vector_norm([3.0, -4.0], ord=1)
    array(7.)
    """
    x = _inexact(x)
    return _vector(x, ord, normalize_axes(axis, x.ndim), keepdims)


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> ndarray:
    """Returns the norms of the matrices in the last two axes. Integers are computed in float64.

    Parameters
    ----------
    x : array_like
        Matrices of shape (..., M, N).
    keepdims : bool, default False
        Keeps the last two axes, with length one.
    ord : number or str, default "fro"
        The order: "fro" (Frobenius), "nuc" (sum of the singular values), 2 and -2 (greatest and least singular value),
        1 and -1 (greatest and least sum of a column), inf and -inf (of a row).

    Returns
    -------
    ndarray
        A real array of shape (...).

    Raises
    ------
    LinAlgError
        For infinity or NaN in a norm by singular values (2, -2, "nuc").
    ValueError
        For an order that does not exist, or fewer than two axes.

    See Also
    --------
    cuprous.linalg.norm

    Examples
    --------
    >>> cp.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]])
    array(5.)
    """
    x = _inexact(x)
    row, column = normalize_axes((-2, -1), x.ndim)
    return _matrix(x, ord, row, column, keepdims)


def _squares(x: ndarray) -> ndarray:
    if dtypes.kind(x.dtype_name) == "c":
        return real(x) * real(x) + imag(x) * imag(x)
    return x * x


def _vector(x: ndarray, ord: Any, axes: Any, keepdims: bool) -> ndarray:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord is None or ord == 2:
        return _core.map("sqrt", sum_(_squares(x), axes, keepdims=keepdims))
    size = _core.map("absolute", x)
    if ord == math.inf:
        return max_(size, axes, keepdims=keepdims, initial=0)
    if ord == -math.inf:
        return min_(size, axes, keepdims=keepdims)
    if ord == 0:
        return sum_(_core.cast(x != 0, size.dtype_name), axes, keepdims=keepdims)
    if ord == 1:
        return sum_(size, axes, keepdims=keepdims)
    return _core.map("power", sum_(_core.map("power", size, ord), axes, keepdims=keepdims), 1 / ord)


def _matrix(x: ndarray, ord: Any, row: int, column: int, keepdims: bool) -> ndarray:
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "f", "fro"):
        return _core.map("sqrt", sum_(_squares(x), (row, column), keepdims=keepdims))
    if ord not in (1, -1, 2, -2, math.inf, -math.inf, "nuc"):
        raise ValueError("Invalid norm order for matrices.")
    if ord in (2, -2, "nuc"):
        s = svdvals(x.transpose(*(k for k in range(x.ndim) if k not in (row, column)), row, column))
        result = sum_(s, -1) if ord == "nuc" else max_(s, -1, initial=0) if ord == 2 else min_(s, -1)
        kept = tuple(1 if k in (row, column) else n for k, n in enumerate(x.shape))
        return result.reshape(kept) if keepdims else result
    summed, rest = (row, column) if abs(ord) == 1 else (column, row)
    sums = sum_(_core.map("absolute", x), summed, keepdims=True)
    extreme = max_(sums, rest, keepdims=True, initial=0) if ord > 0 else min_(sums, rest, keepdims=True)
    return extreme if keepdims else extreme.reshape(tuple(n for i, n in enumerate(x.shape) if i not in (row, column)))


__all__ = ["matrix_norm", "norm", "vector_norm"]
