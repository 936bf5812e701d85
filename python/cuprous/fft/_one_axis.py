"""`numpy.fft`'s transforms along one axis."""

from __future__ import annotations

from cuprous._common.arguments import ArrayLike, array, ndarray, normalize_axis, write_exactly
from cuprous._common.casting import astype
from cuprous.fft import _transforms


def written(out: ndarray | None, result: ndarray) -> ndarray:
    """Writes a transform to `out`, if it is given."""
    if out is not None and not isinstance(out, ndarray):
        raise TypeError("return arrays must be of ArrayType")
    if out is not None and out.shape != result.shape:
        raise ValueError("output array has wrong shape.")
    return write_exactly(out, result, "fft")


def _along(
    kernel: _transforms.Kernel, forward: bool, a: ArrayLike, n: int | None, axis: int, norm: str | None,
    out: ndarray | None,
) -> ndarray:  # fmt: skip
    """Transforms along one axis, with NumPy's dtype: half-precision input gives real results in half precision."""
    a = array(a)
    result = kernel(a, (n,), (normalize_axis(axis, a.ndim),), forward, norm)
    if a.dtype_name in ("float16", "bfloat16") and result.dtype_name == "float32":
        result = astype(result, a.dtype_name)
    return written(out, result)


def fft(
    a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: ndarray | None = None
) -> ndarray:
    """Returns the discrete Fourier transform along an axis: element k is the sum of a[j] * exp(-2 pi i j k / n).

    Parameters
    ----------
    a : array_like
        Real or complex points.
    n : int, optional
        The number of points: the array is truncated or padded with zeros.
    axis : int, default -1
        The axis.
    norm : str, optional
        The transform that is divided by the number of points: the inverse for "backward" (the default), this one for
        "forward". With "ortho" both are divided by its root.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        complex64 for float16, bfloat16, float32 and complex64, otherwise complex128.

    Raises
    ------
    ValueError
        For fewer than one point, or any other `norm`.
    AxisError
        If there is no such axis.

    See Also
    --------
    ifft, fft2, fftn, rfftn, fftfreq

    Examples
    --------
    >>> cp.fft.fft([1.0, 2.0, 3.0, 4.0]).round(6)
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return _along(_transforms.complex_to_complex, True, a, n, axis, norm, out)


def ifft(
    a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: ndarray | None = None
) -> ndarray:
    """Computes the inverse of `fft`: element j is the mean over k of a[k] * exp(2 pi i j k / n).

    Parameters
    ----------
    a : array_like
        Real or complex values.
    n : int, optional
        The number of points: the array is truncated or padded with zeros.
    axis : int, default -1
        The axis, by default the last.
    norm : str, optional
        The transform that is divided by the number of points: the inverse for "backward" (the default), the forward one
        for "forward". With "ortho" both are divided by its root.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        For fewer than one point, or any other `norm`.
    AxisError
        If there is no such axis.

    See Also
    --------
    fft, ifft2, ifftn

    Examples
    --------
    >>> cp.fft.ifft([4.0, 0.0, 0.0, 0.0]).round(6)
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _along(_transforms.complex_to_complex, False, a, n, axis, norm, out)


def rfft(
    a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: ndarray | None = None
) -> ndarray:
    """Returns the first n // 2 + 1 values of `fft` of real points. The others are their conjugates.

    Parameters
    ----------
    a : array_like
        Real points.
    n : int, optional
        The number of points: the array is truncated or padded with zeros.
    axis : int, default -1
        The axis, by default the last.
    norm : str, optional
        The transform that is divided by the number of points: the inverse for "backward" (the default), the forward one
        for "forward". With "ortho" both are divided by its root.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        A complex array of n // 2 + 1 values along the axis.

    Raises
    ------
    TypeError
        For complex points.
    ValueError
        For fewer than one point, or any other `norm`.

    See Also
    --------
    fft, irfft, fftn, rfftn

    Examples
    --------
    >>> cp.fft.rfft([1.0, 2.0, 3.0, 4.0]).round(6)
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return _along(_transforms.real_to_half, True, a, n, axis, norm, out)


def irfft(
    a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: ndarray | None = None
) -> ndarray:
    """Computes the inverse of `rfft`: n real points (by default 2 * (m - 1), where m is the axis' extent).

    The imaginary parts of the first value and, with even n, of the last count as zero.

    Parameters
    ----------
    a : array_like
        Real or complex values, n // 2 + 1 of them along the axis.
    n : int, optional
        The number of points of the result, by default 2 * (m - 1), where m is the axis' extent.
    axis : int, default -1
        The axis, by default the last.
    norm : str, optional
        The transform that is divided by the number of points: the inverse for "backward" (the default), the forward one
        for "forward". With "ortho" both are divided by its root.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        float32 for float32 and complex64, half precision for half-precision input, otherwise float64.

    Raises
    ------
    ValueError
        For fewer than one point, or any other `norm`.

    See Also
    --------
    fft, rfft, irfft2, irfftn

    Examples
    --------
    >>> cp.fft.irfft([4.0, 0.0, 0.0]).round(6)
    array([1., 1., 1., 1.])
    """
    return _along(_transforms.half_to_real, False, a, n, axis, norm, out)


def hfft(
    a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: ndarray | None = None
) -> ndarray:
    """Returns the real values of `fft` of n points, whose second half are the conjugates of the given first half.

    Parameters
    ----------
    a : array_like
        Real or complex values, n // 2 + 1 of them along the axis.
    n : int, optional
        The number of points of the result, by default 2 * (m - 1), where m is the axis' extent.
    axis : int, default -1
        The axis, by default the last.
    norm : str, optional
        The transform that is divided by the number of points: the inverse for "backward" (the default), the forward one
        for "forward". With "ortho" both are divided by its root.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        A real array.

    Raises
    ------
    ValueError
        For fewer than one point, or any other `norm`.

    See Also
    --------
    fft.ihfft, fft.rfft, fft.irfft

    Examples
    --------
    >>> cp.fft.hfft([10.0, -2.0, -2.0]).round(6)
    array([ 4., 12., 12., 12.])
    """
    return _along(_transforms.half_to_real, True, a, n, axis, norm, out)


def ihfft(
    a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: ndarray | None = None
) -> ndarray:
    """Computes the inverse of `hfft`: the first n // 2 + 1 values of `ifft` of real points.

    Parameters
    ----------
    a : array_like
        Real points.
    n : int, optional
        The number of points: the array is truncated or padded with zeros.
    axis : int, default -1
        The axis, by default the last.
    norm : str, optional
        The transform that is divided by the number of points: the inverse for "backward" (the default), the forward one
        for "forward". With "ortho" both are divided by its root.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        A complex array of n // 2 + 1 values along the axis.

    Raises
    ------
    TypeError
        For complex points.

    See Also
    --------
    fft.rfft, fft.irfft, fft.hfft

    Examples
    --------
    >>> cp.fft.ihfft([1.0, 0.0, 0.0, 0.0]).round(6)
    array([0.25-0.j, 0.25+0.j, 0.25-0.j])
    """
    return _along(_transforms.real_to_half, False, a, n, axis, norm, out)


__all__ = ["fft", "hfft", "ifft", "ihfft", "irfft", "rfft"]
