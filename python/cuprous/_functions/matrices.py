"""Creation of matrices and grids: diagonal, triangular, Vandermonde, coordinates."""

from __future__ import annotations

import operator
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, Shape, as_shape, ndarray, normalize_axis, spread
from cuprous._common.arguments import array as as_array
from cuprous._common.operands import on_array_device
from cuprous._functions.creation import empty, on_device, zeros


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = float, order: str = "C", *, device: Any = None
) -> ndarray:
    """Returns an N x M matrix with ones on the k-th diagonal.

    Parameters
    ----------
    N : int
        The number of rows.
    M : int, optional
        The number of columns, N by default.
    k : int, default 0
        The diagonal: 0 is the main one, positive ones are above it.
    dtype : dtype, optional
        The dtype of the result, float64 by default.
    order : str, default "C"
        The memory order, "C" (row-major) or "F" (column-major).
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An array of shape (N, M).

    See Also
    --------
    identity, diag

    Examples
    --------
    >>> cp.eye(3, dtype=int)
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 1]])
    >>> cp.eye(2, 3, k=1)
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    result = zeros((N, N if M is None else M), dtype, order)
    _core.update(diagonal_view(result, operator.index(k)), 1)
    return on_device(result, device)


def identity(n: int, dtype: Any = float) -> ndarray:
    """Returns the n x n identity matrix.

    Parameters
    ----------
    n : int
        The number of rows and columns.
    dtype : dtype, optional
        The dtype of the result, float64 by default.

    Returns
    -------
    ndarray
        An array of shape (n, n).

    See Also
    --------
    eye, diag

    Examples
    --------
    >>> cp.identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=dtype)


def diagonal_view(a: ndarray, offset: int = 0, axis1: int = -2, axis2: int = -1) -> ndarray:
    """Returns a writable view of the diagonals of `a` along a new last axis."""
    axis1, axis2 = (normalize_axis(x, a.ndim) for x in (axis1, axis2))
    if axis1 == axis2:
        raise ValueError("axis1 and axis2 cannot be the same")
    shape, strides = a.shape, a.element_strides
    rows, columns = shape[axis1], shape[axis2]
    start = -offset * strides[axis1] if offset < 0 else offset * strides[axis2]
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    rest = [i for i in range(a.ndim) if i not in (axis1, axis2)]
    return _core.as_strided(
        a,
        (*(shape[i] for i in rest), length),
        (*(strides[i] for i in rest), strides[axis1] + strides[axis2]),
        start if length else 0,
    )


@on_array_device
def diag(v: ArrayLike, k: int = 0) -> ndarray:
    """Returns a copy of the k-th diagonal of a matrix, or a matrix with a vector on its k-th diagonal.

    Parameters
    ----------
    v : array_like
        A vector of shape (N,) or a matrix of shape (M, N).
    k : int, default 0
        The diagonal: 0 is the main one, positive ones are above it.

    Returns
    -------
    ndarray
        A vector if the input is a matrix, a matrix of shape (N + |k|, N + |k|) if it is a vector.

    Raises
    ------
    ValueError
        Unless the input is 1-d or 2-d.

    See Also
    --------
    diagonal, diagflat, trace, triu, tril

    Examples
    --------
    >>> cp.diag([1, 2, 3])
    array([[1, 0, 0],
           [0, 2, 0],
           [0, 0, 3]])
    >>> cp.diag([[1, 2], [3, 4]])
    array([1, 4])
    """
    v = as_array(v)
    if v.ndim == 2:
        return diagonal_view(v, k).copy()
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = v.size + abs(k)
    result = zeros((n, n), v.dtype_name)
    _core.update(diagonal_view(result, k), v)
    return result


def diagflat(v: ArrayLike, k: int = 0) -> ndarray:
    """Returns a matrix with the flattened input on its k-th diagonal.

    Parameters
    ----------
    v : array_like
        An array of any shape with N elements.
    k : int, default 0
        The diagonal: 0 is the main one, positive ones are above it.

    Returns
    -------
    ndarray
        A matrix of shape (N + |k|, N + |k|).

    See Also
    --------
    diag, diagonal, trace

    Examples
    --------
    >>> cp.diagflat([[1, 2]], 1)
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """
    return diag(as_array(v).reshape(-1), k)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> ndarray:
    """Returns a matrix with ones at and below the k-th diagonal.

    Parameters
    ----------
    N : int
        The number of rows.
    M : int, optional
        The number of columns, N by default.
    k : int, default 0
        The last diagonal with ones: 0 is the main one, positive ones are above it.
    dtype : dtype, optional
        The dtype of the result, float64 by default.

    Returns
    -------
    ndarray
        An array of shape (N, M).

    See Also
    --------
    tril, triu

    Examples
    --------
    >>> cp.tri(3, 4, dtype=int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [1, 1, 1, 0]])
    """
    rows, columns = max(N, 0), max(N if M is None else M, 0)
    return _core.cast(_core.map("less_equal", _core.iota((rows, columns), (-1, 1), 0), k),
                      dtypes.name_of(dtype))  # fmt: skip


@on_array_device
def _triangle(m: ArrayLike, k: int, lower: bool) -> ndarray:
    m = as_array(m)
    if m.ndim == 0:
        raise ValueError("Input must be at least 1-d.")
    shape = m.shape[-2:] if m.ndim > 1 else m.shape * 2
    below = _core.map("less_equal", _core.iota(shape, (-1, 1), 0), k if lower else k - 1)
    zero = _core.full((), 0, m.dtype_name)
    return _core.map("where", below, m, zero) if lower else _core.map("where", below, zero, m)


def tril(m: ArrayLike, k: int = 0) -> ndarray:
    """Returns a copy with zeros above the k-th diagonal.

    Parameters
    ----------
    m : array_like
        An array of shape (..., M, N).
    k : int, default 0
        The last diagonal that is kept: 0 is the main one, positive ones are above it.

    Returns
    -------
    ndarray
        An array of the same shape and dtype.

    See Also
    --------
    triu

    Examples
    --------
    >>> cp.tril([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    array([[1, 0, 0],
           [4, 5, 0],
           [7, 8, 9]])
    """
    return _triangle(m, k, True)


def triu(m: ArrayLike, k: int = 0) -> ndarray:
    """Returns a copy with zeros below the k-th diagonal.

    Parameters
    ----------
    m : array_like
        An array of shape (..., M, N).
    k : int, default 0
        The first diagonal that is kept: 0 is the main one, positive ones are above it.

    Returns
    -------
    ndarray
        An array of the same shape and dtype.

    See Also
    --------
    tril

    Examples
    --------
    >>> cp.triu([[1, 2, 3], [4, 5, 6], [7, 8, 9]], k=1)
    array([[0, 2, 3],
           [0, 0, 6],
           [0, 0, 0]])
    """
    return _triangle(m, k, False)


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> ndarray:
    """Returns a Vandermonde matrix, whose columns are powers of a vector.

    Parameters
    ----------
    x : array_like
        A vector of shape (M,).
    N : int, optional
        The number of columns, M by default.
    increasing : bool, default False
        Whether powers increase from left to right.

    Returns
    -------
    ndarray
        A matrix of shape (M, N).

    Raises
    ------
    ValueError
        Unless the input is 1-d.

    See Also
    --------
    polynomial.polynomial.polyvander

    Examples
    --------
    >>> cp.vander([1, 2, 3], increasing=True)
    array([[1, 1, 1],
           [1, 2, 4],
           [1, 3, 9]])
    """
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = x.size if N is None else N
    powers = _core.iota((n,), (1,), 0) if increasing else _core.iota((n,), (-1,), n - 1)
    name = _core.promote_types(x.dtype_name, "int64")
    return _core.map("power", _core.cast(x, name).reshape((x.size, 1)), _core.cast(powers, name))


# --- index grids


def indices(dimensions: Shape, dtype: Any = int, sparse: bool = False) -> Any:
    """Returns the indices of all elements of a shape.

    Parameters
    ----------
    dimensions : int or tuple of ints
        The shape, a sequence of integers.
    dtype : dtype, optional
        The dtype of the indices, int64 by default.
    sparse : bool, default False
        True returns a tuple of arrays that broadcast to the shape.

    Returns
    -------
    ndarray
        An array of shape (len(dimensions), *dimensions), or a tuple of arrays if `sparse` is true.

    See Also
    --------
    meshgrid

    Examples
    --------
    >>> cp.indices((2, 2))
    array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]])
    """
    shape = as_shape(dimensions)
    name = dtypes.name_of(dtype)
    grids = []
    for axis, n in enumerate(shape):
        if sparse:
            grid = _core.iota((1,) * axis + (n,) + (1,) * (len(shape) - axis - 1),
                              (0,) * axis + (1,) + (0,) * (len(shape) - axis - 1), 0)  # fmt: skip
        else:
            grid = _core.iota(shape, tuple(int(i == axis) for i in range(len(shape))), 0)
        grids.append(grid if name == "int64" else _core.cast(grid, name))
    if sparse:
        return tuple(grids)
    if not grids:
        return empty((0,), name)
    result = _core.empty((len(shape), *shape), name)
    for axis, grid in enumerate(grids):
        _core.update(result[axis], grid)
    return result


def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[ndarray, ...]:
    """Returns coordinate matrices from coordinate vectors.

    Parameters
    ----------
    *xi : array_like
        1-d arrays, the coordinates along each axis.
    copy : bool, default True
        False returns views with zero strides.
    sparse : bool, default False
        True returns arrays that broadcast to the grid, with length one along all axes but their own.
    indexing : str, default "xy"
        "xy" exchanges the first two axes, as plots do; "ij" keeps them in order.

    Returns
    -------
    tuple of ndarrays
        A tuple with an array for each vector. With "ij" their shape is the vectors' lengths.

    Raises
    ------
    ValueError
        If `indexing` is neither "xy" nor "ij".

    See Also
    --------
    indices, ogrid, mgrid

    Examples
    --------
    >>> x, y = cp.meshgrid([1, 2, 3], [10, 20])
    >>> x
    array([[1, 2, 3],
           [1, 2, 3]])
    >>> y
    array([[10, 10, 10],
           [20, 20, 20]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    vectors = [as_array(x).reshape(-1) for x in xi]
    n = len(vectors)
    axes = list(range(n))
    if indexing == "xy" and n > 1:
        axes[0], axes[1] = 1, 0
    grids = [spread(v, axis, n) for v, axis in zip(vectors, axes, strict=True)]
    if not sparse:
        sizes = [0] * n
        for v, axis in zip(vectors, axes, strict=True):
            sizes[axis] = v.size
        grids = [_core.broadcast_to(g, sizes) for g in grids]
    return tuple(g.copy() for g in grids) if copy else tuple(grids)


def fromfunction(function: Any, shape: Shape, *, dtype: Any = float, **kwargs: Any) -> Any:
    """Returns the result of `function`, called once with the index arrays of a shape.

    Parameters
    ----------
    function : callable
        A function of as many arrays as the shape has axes.
    shape : int or tuple of ints
        The shape of the result, an integer or a sequence of integers.
    dtype : dtype, optional
        The dtype of the index arrays, float64 by default.
    **kwargs : any
        Keyword arguments of the function.

    Returns
    -------
    ndarray
        What the function returns, normally an array of this shape.

    See Also
    --------
    indices, meshgrid

    Examples
    --------
    >>> cp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    return function(*indices(as_shape(shape), dtype=dtype), **kwargs)


# --- ranges


__all__ = [
    "diag", "diagflat", "eye", "fromfunction", "identity", "indices", "meshgrid", "tri", "tril", "triu", "vander",
]  # fmt: skip
