"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import math
import operator
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    ArrayLike,
    array,
    as_operands,
    broadcast_shapes,
    ndarray,
    normalize_axis,
    write_out,
)
from cuprous._common.casting import astype
from cuprous._common.operands import host_operand, is_scalar
from cuprous._functions.manipulation import moveaxis
from cuprous._functions.matrix_indices import diagonal
from cuprous._functions.reductions import sum as sum_


def matrix_product(a: ndarray, b: ndarray) -> ndarray:
    """Returns the matrix product with broadcast batch axes; vectors are rows on the left and columns on the right."""
    if a.ndim == 0 or b.ndim == 0:
        which = 0 if a.ndim == 0 else 1
        raise ValueError(
            f"matmul: Input operand {which} does not have enough dimensions (has 0, gufunc core with signature "
            "(n?,k),(k,m?)->(n?,m?) requires 1)"
        )
    name = a.dtype_name
    if name != b.dtype_name:
        name = _core.promote_types(name, b.dtype_name)
        a, b = astype(a, name), astype(b, name)
    row, column = a.ndim == 1, b.ndim == 1
    if row:
        a = a.reshape((1, a.shape[0]))
    if column:
        b = b.reshape((b.shape[0], 1))
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"(n?,k),(k,m?)->(n?,m?) (size {b.shape[-2]} is different from {a.shape[-1]})"
        )
    if a.shape[:-2] != b.shape[:-2]:
        batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = _core.broadcast_to(a, batch + a.shape[-2:]), _core.broadcast_to(b, batch + b.shape[-2:])
    if name == "bool":
        result = _core.map("not_equal", _core.dot(_core.cast(a, "int32"), _core.cast(b, "int32")), 0)
    elif a.shape[-1] == 0:
        result = _core.full((*a.shape[:-1], b.shape[-1]), 0, name)
    else:
        result = _core.dot(a, b)
    if row or column:
        *outer, m, n = result.shape
        result = result.reshape((*outer, *(() if row else (m,)), *(() if column else (n,))))
    return result


def dot(a: ArrayLike, b: ArrayLike, out: ndarray | None = None) -> ndarray:
    """Returns the inner product of vectors, product of matrices, or sum of products over the last axis of a and the
    second to last axis of b.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    b : array_like
        An array or array-like.
    out : ndarray, optional
        An array of the result's shape and dtype, in C order.

    Returns
    -------
    ndarray
        An array of the dtype that both promote to.

    Raises
    ------
    ValueError
        For extents that do not match, and an `out` of another shape, dtype or order than the result.

    See Also
    --------
    vdot, vecdot, tensordot, einsum, matmul, linalg.multi_dot

    Examples
    --------
    >>> cp.dot([1, 2, 3], [4, 5, 6])
    array(32)
    >>> cp.dot([[1, 2], [3, 4]], [[0, 1], [1, 0]])
    array([[2, 1],
           [4, 3]])
    """
    a, b = array(a), array(b)
    if a.ndim == 0 or b.ndim == 0:
        result = _core.map("multiply", a, b)
    else:
        contracted = max(b.ndim - 2, 0)
        if a.shape[-1] != b.shape[contracted]:
            raise ValueError(_misaligned(a, b, a.ndim - 1, contracted))
        flat = a.ndim <= 2 and b.ndim <= 2
        result = matrix_product(a, b) if flat else tensordot(a, b, ((a.ndim - 1,), (contracted,)))
    if isinstance(out, ndarray):
        if out.shape != result.shape or out.dtype_name != result.dtype_name:
            raise ValueError(f"[dot] output array is not acceptable: it has shape {out.shape} and dtype "
                             f"{out.dtype_name}, expected {result.shape} and {result.dtype_name}")  # fmt: skip
        if not out.is_c_contiguous:
            raise ValueError("[dot] output array is not acceptable: it must be C-contiguous")
    return write_out(out, result, "dot")


def _misaligned(a: ndarray, b: ndarray, i: int, j: int) -> str:
    shapes = [f"({','.join(map(str, x.shape))}{',' if x.ndim == 1 else ''})" for x in (a, b)]
    return f"shapes {shapes[0]} and {shapes[1]} not aligned: {a.shape[i]} (dim {i}) != {b.shape[j]} (dim {j})"


def vdot(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Returns the inner product of two flattened arrays, the first conjugated.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    b : array_like
        An array or array-like.

    Returns
    -------
    ndarray
        A 0-d array.

    Raises
    ------
    ValueError
        For sizes that differ.

    See Also
    --------
    dot

    Examples
    --------
    >>> cp.vdot([1j, 2], [1j, 3])
    array(7.+0.j)
    """
    a, b = array(a).reshape(-1), array(b).reshape(-1)
    if a.size != b.size:
        raise ValueError("cannot reshape array: vdot needs arrays of equal size")
    if dtypes.kind(a.dtype_name) == "c":
        a = _core.map("conjugate", a)
    return matrix_product(a, b)


def inner(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Returns the sum of products over the last axes of both arrays.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    b : array_like
        An array or array-like.

    Returns
    -------
    ndarray
        An array of shape (*a.shape[:-1], *b.shape[:-1]).

    Raises
    ------
    ValueError
        For last extents that differ.

    See Also
    --------
    tensordot, dot, vecdot, einsum

    Examples
    --------
    >>> cp.inner([1, 2, 3], [0, 1, 0])
    array(2)
    """
    a, b = array(a), array(b)
    if a.ndim == 0 or b.ndim == 0:
        return _core.map("multiply", a, b)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(_misaligned(a, b, a.ndim - 1, b.ndim - 1))
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


def outer(a: ArrayLike, b: ArrayLike, out: ndarray | None = None) -> ndarray:
    """Returns the matrix of products of each element of a with each element of b.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    b : array_like
        An array or array-like.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        An array of shape (a.size, b.size).

    See Also
    --------
    inner, einsum, kron

    Examples
    --------
    >>> cp.outer([1, 2], [1, 10, 100])
    array([[  1,  10, 100],
           [  2,  20, 200]])
    """
    a, b = array(a).reshape((-1, 1)), array(b).reshape(-1)
    return write_out(out, _core.map("multiply", a, b), "outer")


def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2) -> ndarray:
    """Returns the sum of products over pairs of axes.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    b : array_like
        An array or array-like.
    axes : int or pair of sequences of ints, default 2
        The number of last axes of `a` and first axes of `b`, or a pair of lists of axes.

    Returns
    -------
    ndarray
        An array with the other axes of `a` and then those of `b`.

    Raises
    ------
    ValueError
        If paired axes differ in length.

    See Also
    --------
    dot, einsum

    Examples
    --------
    >>> cp.tensordot(cp.ones((2, 3, 4)), cp.ones((3, 4, 5))).shape
    (2, 5)
    >>> cp.tensordot([[1, 2], [3, 4]], [[1, 0], [0, 1]], axes=([0], [1]))
    array([[1, 3],
           [2, 4]])
    """
    a, b = array(a), array(b)
    if isinstance(axes, (tuple, list)) or hasattr(axes, "__len__"):
        first, second = ([x] if isinstance(x, int) else list(x) for x in axes)
    else:
        n = operator.index(axes)
        first, second = list(range(-n, 0)), list(range(n))
    if len(first) != len(second):
        raise ValueError("shape-mismatch for sum")
    for i, j in zip(first, second, strict=True):
        if a.shape[i] != b.shape[j]:  # may raise IndexError, as in NumPy
            raise ValueError("shape-mismatch for sum")
    first, second = [i % a.ndim for i in first], [i % b.ndim for i in second]
    left = [i for i in range(a.ndim) if i not in first]
    right = [i for i in range(b.ndim) if i not in second]
    k = math.prod(a.shape[i] for i in first)
    rows, columns = [a.shape[i] for i in left], [b.shape[i] for i in right]
    matrix = a.transpose((*left, *first)).reshape((math.prod(rows), k)) if a.ndim else a.reshape((1, 1))
    other = b.transpose((*second, *right)).reshape((k, math.prod(columns))) if b.ndim else b.reshape((1, 1))
    return matrix_product(matrix, other).reshape((*rows, *columns))


def kron(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Returns the Kronecker product: copies of b scaled by the elements of a.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    b : array_like
        An array or array-like.

    Returns
    -------
    ndarray
        An array with the product of the extents along each axis.

    See Also
    --------
    outer

    Examples
    --------
    >>> cp.kron([1, 10], [1, 2, 3])
    array([ 1,  2,  3, 10, 20, 30])
    """
    a, b = array(a), array(b)
    ndim = max(a.ndim, b.ndim)
    left, right = ((1,) * (ndim - x.ndim) + x.shape for x in (a, b))
    wide = a.reshape(tuple(k for n in left for k in (n, 1)))
    fine = b.reshape(tuple(k for n in right for k in (1, n)))
    return _core.map("multiply", wide, fine).reshape(tuple(n * m for n, m in zip(left, right, strict=True)))


def trace(
    a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: ndarray | None = None
) -> ndarray:
    """Returns the sum along diagonals.

    Parameters
    ----------
    a : array_like
        An array with at least two axes.
    offset : int, default 0
        The diagonal: 0 is the main one, positive ones are above it.
    axis1 : int, default 0
        The axis of the rows.
    axis2 : int, default 1
        The axis of the columns.
    dtype : dtype, optional
        The dtype of the result; by default it follows from the operands.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        An array without the two axes.

    Raises
    ------
    ValueError
        For fewer than two axes, or the same axis twice.

    See Also
    --------
    diag, diagonal, diagflat

    Examples
    --------
    >>> cp.trace([[1, 2], [3, 4]])
    array(5)
    """
    return sum_(diagonal(a, offset, axis1, axis2), -1, dtype, out)


def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> ndarray:
    """Returns the cross product of vectors of length 3. The third component of vectors of length 2 is zero. If both
    have length 2, returns only the third component of the product.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    b : array_like
        An array or array-like.
    axisa : int, default -1
        The axis of the vectors in `a`.
    axisb : int, default -1
        The axis of the vectors in `b`.
    axisc : int, default -1
        The axis of the vectors in the result.
    axis : int, optional
        If it is not None, the axis in all three.

    Returns
    -------
    ndarray
        An array of the common shape.

    Raises
    ------
    ValueError
        For vectors of other lengths, or shapes that do not broadcast.

    See Also
    --------
    inner, outer, linalg.cross, ix_

    Examples
    --------
    >>> cp.cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = array(a), array(b)
    if not a.ndim or not b.ndim:
        raise ValueError("At least one array has zero dimension")
    a = moveaxis(a, normalize_axis(axisa, a.ndim, "axisa"), -1)
    b = moveaxis(b, normalize_axis(axisb, b.ndim, "axisb"), -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{a.shape[-1]} and {b.shape[-1]} dimensional instead."
        )
    a0, a1 = a[..., 0], a[..., 1]
    b0, b1 = b[..., 0], b[..., 1]
    third = a0 * b1 - a1 * b0
    if a.shape[-1] == b.shape[-1] == 2:
        return third
    a2 = a[..., 2] if a.shape[-1] == 3 else a0 * 0
    b2 = b[..., 2] if b.shape[-1] == 3 else b0 * 0
    result = _core.empty((*third.shape, 3), third.dtype_name)
    for i, part in enumerate((a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, third)):
        _core.update(result[..., i], part)
    return moveaxis(result, -1, normalize_axis(axisc, result.ndim, "axisc"))


def matmul_operator(a: Any, b: Any) -> Any:
    """Returns `a @ b` for any operands."""
    for x in (a, b):
        if not isinstance(x, ndarray) and not is_scalar(x) and not host_operand(x):
            return NotImplemented  # it may implement the operator
    a, b = as_operands((a, b))
    return matrix_product(array(a), array(b))


__all__ = ["cross", "dot", "inner", "kron", "outer", "tensordot", "trace", "vdot"]
