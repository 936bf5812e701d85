"""NumPy's `polynomial.polyutils`, as far as CuPy has it. The number of zeros to remove is copied to the host."""

from __future__ import annotations

from collections.abc import Iterable

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._common.casting import astype
from cuprous._common.dtype_info import common_type
from cuprous._common.masks import flatnonzero


def trimseq(seq: ArrayLike) -> ndarray:
    """Removes zeros at the end, but for the first coefficient.

    Parameters
    ----------
    seq : array_like
        The coefficients, 1-d, from the lowest power up.

    Returns
    -------
    ndarray
        A 1-d array, a view where zeros were removed.

    Raises
    ------
    TypeError
        For scalars.
    ValueError
        For more than one axis.

    Examples
    --------
    >>> cp.polynomial.polyutils.trimseq(cp.asarray([1, 2, 0, 0]))
    array([1, 2])
    """
    series = array(seq)
    if series.ndim == 0:
        raise TypeError("len() of unsized object")
    if series.ndim > 1:
        raise ValueError("a series has one axis")
    if not series.shape[0]:
        return series
    kept = flatnonzero(series)
    return series[: int(kept[-1]) + 1 if kept.size else 1]


def as_series(alist: Iterable[ArrayLike], trim: bool = True) -> list[ndarray]:
    """Returns copies of series as 1-d arrays of a common inexact dtype.

    Parameters
    ----------
    alist : iterable of array_like
        The series; scalars count as series of one coefficient.
    trim : bool, default True
        Whether zeros at the end are removed.

    Returns
    -------
    list of ndarrays
        A list of arrays.

    Raises
    ------
    ValueError
        For empty series, more than one axis, and bool.

    Examples
    --------
    >>> cp.polynomial.polyutils.as_series([2, [1, 0, 0]])
    [array([2.]), array([1.])]
    """
    series = [a.reshape(1) if a.ndim == 0 else a for a in map(array, alist)]
    if any(a.size == 0 for a in series):
        raise ValueError("Coefficient array is empty")
    if any(a.ndim != 1 for a in series):
        raise ValueError("Coefficient array is not 1-d")
    if any(a.dtype_name == "bool" for a in series):
        raise ValueError("Coefficient arrays have no common type")
    series = [trimseq(a) for a in series] if trim else series
    name = common_type(*series).__name__
    return [a.copy() if a.dtype_name == name else astype(a, name) for a in series]


def trimcoef(c: ArrayLike, tol: float = 0) -> ndarray:
    """Removes coefficients at the end whose magnitude is at most `tol`.

    Parameters
    ----------
    c : array_like
        The coefficients, 1-d, from the lowest power up.
    tol : float, default 0
        The bound.

    Returns
    -------
    ndarray
        A 1-d array; one zero if nothing is left.

    Raises
    ------
    ValueError
        For a negative bound, and what `as_series` refuses.

    Examples
    --------
    >>> cp.polynomial.polyutils.trimcoef([1.0, 2.0, 1e-9], 1e-6)
    array([1., 2.])
    """
    if tol < 0:
        raise ValueError("tol must be non-negative")
    (series,) = as_series([c])
    large = flatnonzero(_core.map("absolute", series) > tol)
    return series[: int(large[-1]) + 1].copy() if large.size else series[:1] * 0


__all__ = ["as_series", "trimcoef", "trimseq"]
