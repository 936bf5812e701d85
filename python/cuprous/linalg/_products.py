"""`numpy.linalg`'s own versions of products and diagonals (of the last two axes), powers and chains of matrices."""

from __future__ import annotations

import operator
from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, ndarray, normalize_axis, write_out
from cuprous._functions import products
from cuprous._functions.matrices import eye
from cuprous._functions.matrix_indices import diagonal as _diagonal
from cuprous._functions.reductions import sum as sum_
from cuprous._ufuncs import gufuncs
from cuprous.linalg._decompositions import linalg_error, stacked
from cuprous.linalg._solving import inv


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> ndarray:
    """Returns the matrix product with broadcast batch axes (`cuprous.matmul`).

    Parameters
    ----------
    x1 : array_like
        An array of shape (..., M, K), or a vector.
    x2 : array_like
        An array of shape (..., K, N), or a vector.

    Returns
    -------
    ndarray
        An array of shape (..., M, N), without the axes of vectors.

    Raises
    ------
    ValueError
        For 0-d operands, or if the inner extents differ.

    See Also
    --------
    linalg.matrix_power, linalg.multi_dot, linalg.vecdot

    Examples
    --------
    >>> cp.linalg.matmul([[1, 2], [3, 4]], [[0, 1], [1, 0]])
    array([[2, 1],
           [4, 3]])
    """
    return gufuncs.matmul(x1, x2)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> ndarray:
    """Returns the products of each element of one vector with each element of another.

    Parameters
    ----------
    x1 : array_like
        A vector of shape (M,).
    x2 : array_like
        A vector of shape (N,).

    Returns
    -------
    ndarray
        A matrix of shape (M, N).

    Raises
    ------
    ValueError
        Unless both are 1-d.

    See Also
    --------
    linalg.cross, linalg.vecdot

    Examples
    --------
    >>> cp.linalg.outer([1, 2], [1, 10, 100])
    array([[  1,  10, 100],
           [  2,  20, 200]])
    """
    x1, x2 = array(x1), array(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} and {x2.ndim=}.")
    return products.outer(x1, x2)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> ndarray:
    """Returns the cross product of vectors of length 3 along an axis; other axes broadcast.

    Parameters
    ----------
    x1 : array_like
        An array or array-like.
    x2 : array_like
        An array or array-like.
    axis : int, default -1
        The axis of the vectors.

    Returns
    -------
    ndarray
        An array of the common shape.

    Raises
    ------
    ValueError
        For other lengths.

    See Also
    --------
    linalg.vecdot, linalg.outer

    Examples
    --------
    >>> cp.linalg.cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    x1, x2 = array(x1), array(x2)
    n, m = (x.shape[normalize_axis(axis, x.ndim)] for x in (x1, x2))
    if n != 3 or m != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{n} and {m} dimensional instead."
        )
    return products.cross(x1, x2, axis=axis)


def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: Any = 2) -> ndarray:
    """Returns the sum of products over pairs of axes (`cuprous.tensordot`).

    Parameters
    ----------
    x1 : array_like
        An array or array-like.
    x2 : array_like
        An array or array-like.
    axes : int or pair of sequences of ints, default 2
        The number of last axes of `x1` and first axes of `x2`, or a pair of lists of axes.

    Returns
    -------
    ndarray
        An array with the other axes of `x1` and then those of `x2`.

    Raises
    ------
    ValueError
        If paired axes differ in length.

    See Also
    --------
    cuprous.dot, cuprous.einsum

    Examples
    --------
    >>> cp.linalg.tensordot(cp.ones((2, 3, 4)), cp.ones((3, 4, 5))).shape
    (2, 5)
    """
    return products.tensordot(x1, x2, axes)


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> ndarray:
    """Returns the inner products of vectors along an axis, the first conjugated (`cuprous.vecdot`).

    Parameters
    ----------
    x1 : array_like
        An array or array-like.
    x2 : array_like
        An array or array-like.
    axis : int, default -1
        The axis of the vectors, by default the last.

    Returns
    -------
    ndarray
        An array of the common shape without the axis.

    Raises
    ------
    ValueError
        If the vectors differ in length.

    See Also
    --------
    linalg.matmul, linalg.matrix_power, linalg.multi_dot, linalg.outer, linalg.cross

    Examples
    --------
    >>> cp.linalg.vecdot([[1, 2], [3, 4]], [[1, 1], [1, 0]])
    array([3, 3])
    """
    return gufuncs.vecdot(x1, x2, axis=axis)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> ndarray:
    """Returns the diagonals of the matrices in the last two axes, as views.

    Parameters
    ----------
    x : array_like
        Matrices of shape (..., M, N).
    offset : int, default 0
        The diagonal: 0 is the main one, positive ones are above it.

    Returns
    -------
    ndarray
        A view of shape (..., K).

    Raises
    ------
    ValueError
        For fewer than two axes.

    See Also
    --------
    linalg.trace

    Examples
    --------
    >>> cp.linalg.diagonal([[1, 2], [3, 4]])
    array([1, 4])
    """
    return _diagonal(x, offset, -2, -1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: Any = None) -> ndarray:
    """Returns the sums of the diagonals of the matrices in the last two axes.

    Parameters
    ----------
    x : array_like
        Matrices of shape (..., M, N).
    offset : int, default 0
        The diagonal: 0 is the main one, positive ones are above it.
    dtype : dtype, optional
        The dtype of the result; by default it follows from the operands.

    Returns
    -------
    ndarray
        An array of shape (...).

    Raises
    ------
    ValueError
        For fewer than two axes.

    See Also
    --------
    linalg.diagonal

    Examples
    --------
    >>> cp.linalg.trace([[1, 2], [3, 4]])
    array(5)
    """
    return sum_(diagonal(x, offset=offset), -1, dtype)


def matrix_power(a: ArrayLike, n: int) -> ndarray:
    """Raises square matrices, in the last two axes, to an integer power by repeated squaring.

    Parameters
    ----------
    a : array_like
        Matrices of shape (..., N, N).
    n : int
        The power. A negative one is a power of the inverse.

    Returns
    -------
    ndarray
        An array of the shape of `a`.

    Raises
    ------
    LinAlgError
        Unless they are square and, for a negative power, invertible.
    TypeError
        Unless `n` is an integer.

    See Also
    --------
    linalg.multi_dot, linalg.vecdot, linalg.matmul

    Examples
    --------
    >>> cp.linalg.matrix_power([[1, 1], [0, 1]], 3)
    array([[1, 3],
           [0, 1]])
    """
    a = array(a)
    stacked(a)
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    if n < 0:
        a, n = inv(a), -n
    if n == 0:
        return _core.broadcast_to(eye(a.shape[-1], dtype=a.dtype_name), a.shape).copy()
    return power(a, n)


def power(a: Any, n: int) -> Any:
    """Returns the n-th power of matrices (arrays or tensors), n > 0."""
    result = None
    while n:
        if n & 1:
            result = a if result is None else result @ a
        n >>= 1
        a = a @ a if n else a
    return result


def multi_dot(arrays: Any, *, out: ndarray | None = None) -> ndarray:
    """Returns the product of a chain of matrices, in the order that needs the fewest multiplications. The first and the
    last may be vectors.

    Parameters
    ----------
    arrays : array_like
        A sequence of matrices that can be multiplied.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        A matrix; a vector or a 0-d array if an end of the chain is a vector.

    Raises
    ------
    LinAlgError
        For operands of other dimensions.
    ValueError
        For fewer than two operands, or extents that do not fit.

    See Also
    --------
    cuprous.dot

    Examples
    --------
    >>> a, b, c = cp.ones((2, 10)), cp.ones((10, 3)), cp.ones((3, 4))
    >>> cp.linalg.multi_dot([a, b, c]).shape
    (2, 4)
    """
    chain = [array(a) for a in arrays]
    if len(chain) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = chain[0].ndim, chain[-1].ndim
    if first == 1:
        chain[0] = chain[0].reshape((1, -1))
    if last == 1:
        chain[-1] = chain[-1].reshape((-1, 1))
    for a in chain:
        if a.ndim != 2:
            raise linalg_error(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    result = chained(chain, [chain[0].shape[0], *(a.shape[1] for a in chain)])
    if first == 1 or last == 1:
        kept = [n for n, ndim in zip(result.shape, (first, last), strict=True) if ndim == 2]
        result = result.reshape(tuple(kept))
    return write_out(out, result, "multi_dot")


def chained(chain: list[Any], extents: list[int]) -> Any:
    """Returns the product of matrices (arrays or tensors) with the best position to split each subchain (Cormen et al.,
    Introduction to Algorithms, 3rd ed., section 15.2)."""
    n = len(extents) - 1
    cost = {(i, i): 0 for i in range(n)}
    splits = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], splits[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + extents[i] * extents[k + 1] * extents[j + 1], k) for k in range(i, j)
            )

    def product(i: int, j: int) -> Any:
        return chain[i] if i == j else product(i, splits[i, j]) @ product(splits[i, j] + 1, j)

    return product(0, n - 1)


__all__ = [
    "cross", "diagonal", "matmul", "matrix_power", "multi_dot", "outer", "tensordot", "trace", "vecdot",
]  # fmt: skip
