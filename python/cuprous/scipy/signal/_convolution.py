"""Convolution and correlation of signals of any rank. The direct method runs one native correlation (two or four for
complex numbers; float32 accumulates in float32). Large operands are convolved by Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous.scipy.ndimage._linear import _any_weights, _flipped
from cuprous.scipy.signal._fourier import faster, fftconvolve

_EDGES = {"fill": "constant", "wrap": "wrap", "symm": "reflect"}


def _exact(name: str) -> str:
    """Returns the accumulation dtype: integers use float64, which is exact up to 2**53."""
    return name if _dtypes.kind(name) in "fc" else "float64"


def _full(a: ndarray, v: ndarray) -> ndarray:
    """Computes the sum over j of a[i - j] v[j] for all i at which the operands overlap."""
    name = _core.promote_types(a.dtype_name, v.dtype_name)
    wide = "float32" if name == "float16" else _exact(name)
    part = _dtypes.component(wide)
    weights = _core.cast(_flipped(v), wide if _dtypes.kind(v.dtype_name) == "c" else part)
    source = _core.cast(a, wide if _dtypes.kind(a.dtype_name) == "c" else part)
    origin, shape = [k - 1 for k in v.shape], [n + k - 1 for n, k in zip(a.shape, v.shape, strict=True)]
    sums = _any_weights(source, weights, list(weights.shape), False, "constant", 0.0, origin, wide, shape)
    return _delivered(sums, name)


def _delivered(a: ndarray, name: str) -> ndarray:
    """Converts a result to its dtype; integers are rounded."""
    if a.dtype_name == name:
        return a
    return _core.cast(_core.map("rint", a) if _dtypes.kind(name) in "biu" else a, name)


def _cut(full: ndarray, n: tuple[int, ...], k: tuple[int, ...], mode: str) -> ndarray:
    if mode == "full":
        return full
    if mode == "same":
        starts, lengths = [(b - 1) // 2 for b in k], list(n)
    else:
        starts, lengths = [b - 1 for b in k], [a - b + 1 for a, b in zip(n, k, strict=True)]
    return full[tuple(slice(s, s + m) for s, m in zip(starts, lengths, strict=True))].copy()


def _check(mode: str) -> None:
    if mode not in ("full", "valid", "same"):
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")


def _swapped(a: ndarray, v: ndarray, mode: str) -> bool:
    """Returns true if mode "valid" needs the operands swapped.

    Raises
    ------
    ValueError
        If neither operand is at least as large as the other along every axis.
    """
    if mode != "valid" or all(n >= k for n, k in zip(a.shape, v.shape, strict=True)):
        return False
    if all(n <= k for n, k in zip(a.shape, v.shape, strict=True)):
        return True
    raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")


def _by_transforms(a: ndarray, v: ndarray, mode: str, method: str) -> bool:
    """Returns true to convolve by Fourier transforms: on request, or with "auto" for floats if that is faster."""
    if method not in ("auto", "direct", "fft"):
        raise ValueError("Acceptable method flags are 'auto', 'direct', or 'fft'.")
    return method == "fft" or (method == "auto" and choose_conv_method(a, v, mode) == "fft")


def _transformed(a: ndarray, v: ndarray, mode: str) -> ndarray:
    return _delivered(fftconvolve(a, v, mode), _core.promote_types(a.dtype_name, v.dtype_name))


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> ndarray:
    """Returns the convolution of two arrays of the same rank.

    Parameters
    ----------
    in1 : array_like
        An array of shape n.
    in2 : array_like
        An array of shape k.
    mode : {"full", "same", "valid"}, default "full"
        "full" (shape n + k - 1), "same" (shape n, the middle) or "valid" (where one covers the other).
    method : str, default "auto"
        "direct" (sums), "fft" (Fourier transforms; integer results are rounded), or "auto", see `choose_conv_method`.

    Returns
    -------
    ndarray
        An array of the dtype that both promote to.

    Raises
    ------
    ValueError
        For arrays of different rank, an unknown mode or method, and "valid" where neither fits.

    See Also
    --------
    cuprous.polymul, choose_conv_method, fftconvolve, oaconvolve

    Examples
    --------
    >>> cp.scipy.signal.convolve([1, 2, 3], [0, 1, 2])
    array([0, 1, 4, 7, 6])
    """
    a, v = array(in1), array(in2)
    if a.ndim != v.ndim:
        raise ValueError("volume and kernel should have the same dimensionality")
    _check(mode)
    if a.ndim == 0:
        return a * v
    if a.size == 0 or v.size == 0:
        return _core.empty((0,), _core.promote_types(a.dtype_name, v.dtype_name))
    if _swapped(a, v, mode):
        a, v = v, a
    return _transformed(a, v, mode) if _by_transforms(a, v, mode, method) else _convolved(a, v, mode)


def _convolved(a: ndarray, v: ndarray, mode: str) -> ndarray:
    n, k = a.shape, v.shape
    if math.prod(k) > math.prod(n):
        return _cut(_full(v, a), n, k, mode)
    return _cut(_full(a, v), n, k, mode)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> ndarray:
    """Returns the cross-correlation of two arrays of the same rank, sum over j of in1[i + j] conj(in2[j]).

    Parameters
    ----------
    in1 : array_like
        The first array.
    in2 : array_like
        The second array, with as many axes.
    mode : str, default "full"
        As for `convolve`.
    method : str, default "auto"
        As for `convolve`.

    Returns
    -------
    ndarray
        An array of the dtype that both promote to.

    Raises
    ------
    ValueError
        For arrays of different rank, and unknown modes and methods.

    See Also
    --------
    choose_conv_method, correlation_lags

    Examples
    --------
    >>> cp.scipy.signal.correlate([1, 2, 3], [0, 1, 2])
    array([2, 5, 8, 3, 0])
    """
    a, v = array(in1), array(in2)
    if a.ndim != v.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    _check(mode)
    if _dtypes.kind(v.dtype_name) == "c":
        v = _core.map("conjugate", v)
    if a.ndim == 0:
        return a * v
    if a.size == 0 or v.size == 0:
        return _core.empty((0,), _core.promote_types(a.dtype_name, v.dtype_name))
    first, second = (_flipped(v), a) if _swapped(a, v, mode) else (a, _flipped(v))
    if _by_transforms(first, second, mode, method):
        return _transformed(first, second, mode)
    return _convolved(first, second, mode)


def _plane(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, correlation: bool) -> ndarray:
    a, v = array(in1), array(in2)
    if not a.ndim == v.ndim == 2:
        raise ValueError(f"{'correlate2d' if correlation else 'convolve2d'} inputs must both be 2-D arrays")
    _check(mode)
    if boundary not in ("fill", "pad", "wrap", "circular", "symm", "symmetric"):
        raise ValueError("Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or 'symm').")
    known = {"pad": "fill", "circular": "wrap", "symmetric": "symm"}.get(boundary, boundary)
    if mode == "same":
        return _same(a, v, _EDGES[known], fillvalue, correlation)
    if mode == "full" and (known != "fill" or fillvalue != 0) and a.size and v.size:
        beyond = [(n - 1, n - 1) for n in v.shape]
        name = _core.promote_types(a.dtype_name, v.dtype_name)
        if known == "fill":
            a = cp.pad(_core.cast(a, name), beyond, mode="constant", constant_values=fillvalue)
        else:
            a = cp.pad(a, beyond, mode="wrap" if known == "wrap" else "symmetric")
        mode = "valid"
    return correlate(a, v, mode) if correlation else convolve(a, v, mode)


def _same(a: ndarray, v: ndarray, edge: str, fill: Any, correlation: bool) -> ndarray:
    """Computes mode "same": one window centered at each element of `a`. The center of even extents depends on
    `correlation`."""
    if a.size == 0 or v.size == 0:
        raise ValueError("matrices must not be empty")
    name = _core.promote_types(a.dtype_name, v.dtype_name)
    wide = _exact(name)
    w = _flipped(v)
    middle = [n // 2 for n in v.shape]
    if correlation:
        w = _core.map("conjugate", v) if _dtypes.kind(v.dtype_name) == "c" else v
        middle = [(n - 1) // 2 for n in v.shape]
    w = _core.cast(w, wide if _dtypes.kind(w.dtype_name) == "c" else _dtypes.component(wide))
    return _delivered(_any_weights(a, w, list(w.shape), False, edge, fill, middle, wide), name)


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> ndarray:
    """Returns the convolution of two matrices.

    Parameters
    ----------
    in1 : array_like
        The first matrix.
    in2 : array_like
        The second matrix.
    mode : str, default "full"
        As for `convolve`.
    boundary : str, default "fill"
        What lies beyond the edges of `in1`: "fill" (or "pad"), "wrap" (or "circular"), "symm" (or "symmetric").
    fillvalue : scalar, default 0
        The value there for "fill".

    Returns
    -------
    ndarray
        A matrix of the dtype that both promote to.

    Raises
    ------
    ValueError
        For arrays that are not matrices, and unknown modes and boundaries.

    See Also
    --------
    scipy.signal.correlate2d, scipy.signal.convolve, scipy.signal.fftconvolve, scipy.signal.sepfir2d

    Examples
    --------
    >>> cp.scipy.signal.convolve2d([[1, 2], [3, 4]], [[1, 1]])
    array([[1, 3, 2],
           [3, 7, 4]])
    """
    return _plane(in1, in2, mode, boundary, fillvalue, False)


def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> ndarray:
    """Returns the cross-correlation of two matrices.

    Parameters
    ----------
    in1 : array_like
        The first array.
    in2 : array_like
        The second array, with as many axes.
    mode : str, default "full"
        As for `convolve`.
    boundary : str, default "fill"
        As for `convolve2d`.
    fillvalue : scalar, default 0
        The value beyond the edges for "fill".

    Returns
    -------
    ndarray
        A matrix of the dtype that both promote to.

    Raises
    ------
    ValueError
        For arrays that are not matrices, and unknown modes and boundaries.

    See Also
    --------
    scipy.signal.convolve, scipy.signal.fftconvolve, scipy.signal.sepfir2d, scipy.signal.convolve2d

    Examples
    --------
    >>> cp.scipy.signal.correlate2d([[1, 2], [3, 4]], [[1, 2]])
    array([[ 2,  5,  2],
           [ 6, 11,  4]])
    """
    return _plane(in1, in2, mode, boundary, fillvalue, True)


def choose_conv_method(in1: Any, in2: Any, mode: str = "full", measure: bool = False) -> str:
    """Returns "fft" or "direct", whichever needs fewer operations. Integers use "direct", whose sums are exact, and so
    do GPUs, on which the speeds have not been measured.

    Parameters
    ----------
    in1 : array_like
        The first array.
    in2 : array_like
        The second array, with as many axes.
    mode : str, default "full"
        As for `convolve`.
    measure : bool, default False
        Not supported.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        For an unknown mode.
    NotImplementedError
        For `measure`.

    See Also
    --------
    convolve, correlate

    Examples
    --------
    >>> cp.scipy.signal.choose_conv_method([1, 2, 3], [1, 2])
    'direct'
    """
    if measure:
        raise NotImplementedError("[choose_conv_method] measure=True is not supported; operations are counted")
    _check(mode)
    a, v = array(in1), array(in2)
    floats = all(_dtypes.kind(x.dtype_name) in "fc" and x.device_name == "cpu" for x in (a, v))
    return "fft" if floats and a.ndim == v.ndim and a.size and v.size and faster(a.shape, v.shape) else "direct"


def correlation_lags(in1_len: int, in2_len: int, mode: str = "full") -> ndarray:
    """Returns the shifts that belong to the elements of `correlate`.

    Parameters
    ----------
    in1_len : int
        The length of the first signal.
    in2_len : int
        The length of the second.
    mode : str, default "full"
        "full", "same" or "valid", as for `correlate`.

    Returns
    -------
    ndarray
        A vector of integers.

    Raises
    ------
    ValueError
        For another mode.

    See Also
    --------
    correlate

    Examples
    --------
    >>> cp.scipy.signal.correlation_lags(3, 2)
    array([-1,  0,  1,  2])
    """
    if mode == "full":
        low, high = 1 - in2_len, in1_len
    elif mode == "same":
        low = 1 - in2_len + (in1_len + in2_len - 1) // 2 - in1_len // 2
        high = low + in1_len
    elif mode == "valid":
        low, high = sorted((0, in1_len - in2_len))
        high += 1
    else:
        raise ValueError(f"Mode {mode} is invalid")
    return _core.iota((max(0, high - low),), (1,), low)
