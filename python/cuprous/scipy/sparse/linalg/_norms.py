"""Norms of sparse matrices."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._common.arguments import ndarray
from cuprous._common.casting import astype
from cuprous.scipy.sparse._base import Sparse, on_data_device


def _squares(a: Any) -> Any:
    return a._with_data(a.data * a.data)


@on_data_device
def norm(x: Any, ord: Any = None, axis: Any = None) -> ndarray:
    """Returns the norm of a sparse matrix, or of its rows or columns.

    Parameters
    ----------
    x : sparse matrix
        The matrix.
    ord : number or str, optional
        For a matrix None, "fro", 1, -1, inf or -inf; for vectors any number, inf, -inf or 0.
    axis : int or pair of ints, optional
        None or both axes for the norm of the matrix, one axis for the norms of the vectors along it.

    Returns
    -------
    ndarray
        An array with zero axes or one axis.

    Raises
    ------
    TypeError
        For arguments that are not sparse.
    ValueError
        For invalid orders and axes.
    NotImplementedError
        For the orders 2, -2 and "nuc", which need singular values.

    See Also
    --------
    linalg.norm

    Examples
    --------
    >>> cp.scipy.sparse.linalg.norm(cp.scipy.sparse.diags([[3.0, 4.0]], [0]))
    array(5.)
    """
    if not isinstance(x, Sparse):
        raise TypeError("input is not sparse. use cuprous.linalg.norm")
    a = x.tocsr()
    a.sum_duplicates()
    if a.dtype.kind in "biu":
        a = a.astype("float64")
    a = abs(a)
    if axis is None:
        axis = (0, 1)
    elif not isinstance(axis, tuple):
        if not hasattr(axis, "__index__"):
            raise TypeError("'axis' must be None, an integer or a tuple of integers")
        axis = (int(axis),)
    if len(axis) not in (1, 2):
        raise ValueError("Improper number of dimensions to norm.")
    if not all(-2 <= n < 2 for n in axis):
        raise ValueError(f"Invalid axis {axis!r} for an array with shape {x.shape!r}")
    if len(axis) == 1:
        return _of_vectors(a, ord, axis[0] % 2)
    if axis[0] % 2 == axis[1] % 2:
        raise ValueError("Duplicate axes given.")
    return _of_matrix(a, ord, axis[0] % 2)


def _of_matrix(a: Any, ord: Any, first: int) -> ndarray:
    if ord in (2, -2, "nuc"):
        raise NotImplementedError(f"[norm] ord={ord!r} is not supported; use svds, or linalg.norm of A.toarray()")
    if ord in (None, "f", "fro"):
        return _core.map("sqrt", _squares(a).sum())
    if ord in (1, -1, math.inf, -math.inf):
        sums = a.sum(first if abs(ord) == 1 else 1 - first).reshape(-1)
        return _core.reduce("max" if ord > 0 else "min", sums, None)
    raise ValueError("Invalid norm order for matrices.")


def _of_vectors(a: Any, ord: Any, axis: int) -> ndarray:
    if ord in (math.inf, -math.inf):
        found = a.max(axis) if ord > 0 else a.min(axis)
        return found.toarray().reshape(-1)
    if ord == 0:
        return astype(a.count_nonzero(axis), "int64")
    if ord == 1:
        return a.sum(axis).reshape(-1)
    if ord in (None, 2):
        return _core.map("sqrt", _squares(a).sum(axis).reshape(-1))
    try:
        power = float(ord)
    except (TypeError, ValueError):
        raise ValueError("Invalid norm order.") from None
    return _core.map("power", a.power(power).sum(axis).reshape(-1), 1 / power)
