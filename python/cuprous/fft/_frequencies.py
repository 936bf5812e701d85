"""The frequencies of a transform's values, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._functions.conversion import asarray
from cuprous._functions.rearrangement import roll


def _scaled(index: ndarray, step: float, dtype: Any, device: Any) -> ndarray:
    name = dtypes.name_of(dtype)
    if dtypes.kind(name) != "f":
        raise ValueError(f"frequencies are floating-point numbers, not {name}")
    return asarray(_core.cast(index * step, name), device=device)


def _checked(n: Any) -> int:
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise ValueError("n should be an integer")
    return int(n)


def fftfreq(n: int, d: float = 1.0, device: Any = None, *, dtype: Any = None) -> ndarray:
    """Returns the frequencies of the n values of `fft`, in cycles per unit of the spacing: 0, 1, …, -2, -1 over n d.

    Parameters
    ----------
    n : int
        The number of points of the transform.
    d : float, default 1.0
        The spacing of the points.
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.
    dtype : dtype, optional
        The dtype of the result, float64 by default.

    Returns
    -------
    ndarray
        An array of shape (n,).

    Raises
    ------
    ValueError
        Unless `n` is an integer, at least 0, and `dtype` floating-point.
    ZeroDivisionError
        If `n` or `d` is zero.

    See Also
    --------
    fft.rfftfreq, fft.fftshift

    Examples
    --------
    >>> cp.fft.fftfreq(4, d=0.5)
    array([ 0. ,  0.5, -1. , -0.5])
    """
    n = _checked(n)
    step = 1.0 / (n * d)
    if n < 0:
        raise ValueError("negative dimensions are not allowed")
    return _scaled(_core.iota((n,), (1,), n // 2) % n - n // 2, step, dtype, device)


def rfftfreq(n: int, d: float = 1.0, device: Any = None, *, dtype: Any = None) -> ndarray:
    """Returns the frequencies of the n // 2 + 1 values of `rfft`: 0, 1, …, n // 2 over n d.

    Parameters
    ----------
    n : int
        The number of points of the transform.
    d : float, default 1.0
        The spacing of the points.
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.
    dtype : dtype, optional
        The dtype of the result, float64 by default.

    Returns
    -------
    ndarray
        An array of shape (n // 2 + 1,).

    Raises
    ------
    ValueError
        Unless `n` is an integer and `dtype` floating-point.
    ZeroDivisionError
        If `n` or `d` is zero.

    See Also
    --------
    fft.fftshift, fft.fftfreq

    Examples
    --------
    >>> cp.fft.rfftfreq(4, d=0.5)
    array([0. , 0.5, 1. ])
    """
    n = _checked(n)
    return _scaled(_core.iota((max(n // 2 + 1, 0),), (1,), 0), 1.0 / (n * d), dtype, device)


def _rolled(x: ArrayLike, axes: int | Sequence[int] | None, half: Any) -> ndarray:
    x = array(x)
    chosen = range(x.ndim) if axes is None else axes if isinstance(axes, Sequence) else (axes,)
    return roll(x, [half(x.shape[i]) for i in chosen], chosen)


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> ndarray:
    """Returns values of `fft` with frequency zero moved from the front to the middle, along all axes or some.

    Parameters
    ----------
    x : array_like
        An array or array-like.
    axes : int or sequence of ints, optional
        The axis or axes; None (the default) shifts all.

    Returns
    -------
    ndarray
        An array of the shape of `x`.

    See Also
    --------
    ifftshift

    Examples
    --------
    >>> cp.fft.fftshift([0, 1, -2, -1])
    array([-2, -1,  0,  1])
    """
    return _rolled(x, axes, lambda n: n // 2)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> ndarray:
    """Undoes `fftshift`.

    Parameters
    ----------
    x : array_like
        An array or array-like.
    axes : int or sequence of ints, optional
        The axis or axes; None (the default) shifts all.

    Returns
    -------
    ndarray
        An array of the shape of `x`.

    See Also
    --------
    fftshift

    Examples
    --------
    >>> cp.fft.ifftshift([-2, -1, 0, 1])
    array([ 0,  1, -2, -1])
    """
    return _rolled(x, axes, lambda n: -(n // 2))


__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]
