"""Convolution by Fourier transforms, of whole arrays or (overlap-add) block by block along long axes."""

from __future__ import annotations

import math
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, broadcast_shapes, ndarray, normalize_axis
from cuprous.scipy import fft as _fft


def _float(a: ndarray) -> ndarray:
    """Converts integers to float64. As in SciPy, float32 and float16 transform in float32, other dtypes in float64."""
    return a if _dtypes.kind(a.dtype_name) in "fc" else _core.cast(a, "float64")


def product(a: ndarray, v: ndarray, axes: list[int], lengths: list[int]) -> ndarray:
    """Returns the first `lengths` elements of the full convolution along `axes`; other axes broadcast."""
    if not axes:
        return a * v
    a, v = _float(a), _float(v)
    real = all(_dtypes.kind(x.dtype_name) != "c" for x in (a, v))
    fast = [_fft.next_fast_len(n, real) for n in lengths]
    forward, backward = (_fft.rfftn, _fft.irfftn) if real else (_fft.fftn, _fft.ifftn)
    result = backward(forward(a, fast, axes) * forward(v, fast, axes), fast, axes)
    cut = [slice(None)] * result.ndim
    for axis, n in zip(axes, lengths, strict=True):
        cut[axis] = slice(n)
    return result[tuple(cut)]


def _axes(a: ndarray, v: ndarray, mode: str, axes: Any) -> tuple[ndarray, ndarray, list[int]]:
    """Returns the operands, swapped if "valid" needs it, and the axes along which both have more than one element.

    Raises
    ------
    ValueError
        For axes that do not exist or repeat, and operands whose shapes do not match.
    """
    if axes is None:
        found = list(range(a.ndim))
    else:
        requested = list(axes) if hasattr(axes, "__iter__") else [axes]
        try:
            found = sorted(normalize_axis(i, a.ndim) for i in requested)
        except IndexError as error:
            raise ValueError("axes exceeds dimensionality of input") from error
        if len(set(found)) != len(found):
            raise ValueError("all axes must be unique")
        if not found:
            raise ValueError("when provided, axes cannot be empty")
    both = [i for i in found if a.shape[i] != 1 and v.shape[i] != 1]
    if not all(m == n or 1 in (m, n) for i, (m, n) in enumerate(zip(a.shape, v.shape, strict=True)) if i not in both):
        raise ValueError(f"incompatible shapes for in1 and in2: {a.shape} and {v.shape}")
    if mode == "valid" and found:
        pairs = [(a.shape[i], v.shape[i]) for i in found]
        if not all(m >= n for m, n in pairs):
            if not all(m <= n for m, n in pairs):
                raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
            a, v = v, a
    return a, v, both


def cut(full: ndarray, n: tuple[int, ...], k: tuple[int, ...], mode: str, axes: list[int]) -> ndarray:
    """Returns the part of a full convolution that a mode selects."""
    window = [slice(None)] * full.ndim
    for i in range(full.ndim):
        if mode == "same":
            start = (full.shape[i] - n[i]) // 2
            window[i] = slice(start, start + n[i])
        elif mode == "valid" and i in axes:
            window[i] = slice(k[i] - 1, n[i])
    return full if mode == "full" else full[tuple(window)].copy()


def _prepared(in1: Any, in2: Any, mode: str) -> tuple[ndarray, ndarray]:
    a, v = array(in1), array(in2)
    if a.ndim != v.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if a.ndim and a.size and v.size and mode not in ("full", "valid", "same"):
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    return a, v


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> ndarray:
    """Returns the convolution of two arrays of the same rank by Fourier transforms.

    Parameters
    ----------
    in1 : array_like
        An array of shape n.
    in2 : array_like
        An array of shape k.
    mode : {"full", "same", "valid"}, default "full"
        "full" (shape n + k - 1), "same" (shape n, the middle) or "valid" (where one covers the other).
    axes : int or tuple of ints, optional
        The axes to convolve along (all by default); others broadcast.

    Returns
    -------
    ndarray
        float32 or complex64 for arrays of these dtypes, otherwise float64 or complex128.

    Raises
    ------
    ValueError
        For arrays of different rank or that do not broadcast, unknown modes, and axes that do not exist.

    See Also
    --------
    convolve, oaconvolve

    Examples
    --------
    >>> cp.scipy.signal.fftconvolve([1.0, 2.0, 3.0], [1.0, 1.0]).round(6)
    array([1., 3., 5., 3.])
    """
    a, v = _prepared(in1, in2, mode)
    if a.ndim == 0:
        return a * v
    if a.size == 0 or v.size == 0:
        return cp.zeros(0)
    a, v, both = _axes(a, v, mode, axes)
    full = product(a, v, both, [a.shape[i] + v.shape[i] - 1 for i in both])
    return cut(full, a.shape, v.shape, mode, both)


def _block(n: int, k: int) -> int:
    """Returns the block size along an axis: transforms of about eight kernel lengths (0: no blocks)."""
    size = _fft.next_fast_len(max(8 * k, 64), True)
    return size - k + 1 if 2 * size < n else 0


def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> ndarray:
    """Computes `fftconvolve` by the overlap-add method, with the longer operand in blocks. This suits axes along which
    one operand is much longer.

    Parameters
    ----------
    in1 : array_like
        An array of shape n.
    in2 : array_like
        An array of shape k.
    mode : {"full", "same", "valid"}, default "full"
        "full" (shape n + k - 1), "same" (shape n, the middle) or "valid" (where one covers the other).
    axes : int or tuple of ints, optional
        The axes to convolve along (all by default); others broadcast.

    Returns
    -------
    ndarray
        Float32 or complex64 for arrays of these dtypes, otherwise float64 or complex128.

    Raises
    ------
    ValueError
        For arrays of different rank or that do not broadcast, unknown modes, and axes that do not exist.

    See Also
    --------
    convolve, fftconvolve

    Examples
    --------
    >>> cp.scipy.signal.oaconvolve([1.0, 2.0, 3.0], [1.0, 1.0]).round(6)
    array([1., 3., 5., 3.])
    """
    a, v = _prepared(in1, in2, mode)
    if a.ndim == 0:
        return a * v
    if a.size == 0 or v.size == 0:
        return cp.zeros(0)
    if a.shape == v.shape:
        return fftconvolve(a, v, mode, axes)
    a, v, both = _axes(a, v, mode, axes)
    n, k = a.shape, v.shape
    lengths = [max(m, w) + min(m, w) - 1 for m, w in zip(n, k, strict=True)]
    # Each axis becomes two: the block number, and the index within the block.
    starts, inner = [], []
    for i in range(len(n)):
        long, short = (a, v) if n[i] >= k[i] else (v, a)
        size = _block(long.shape[2 * i], short.shape[2 * i]) if i in both else 0
        pair = [_split(x, 2 * i, size if x is long else 0) for x in (a, v)]
        a, v = pair
        starts.append(size)
        inner.append(2 * i + 1)
    result = product(a, v, [inner[i] for i in both], [a.shape[inner[i]] + v.shape[inner[i]] - 1 for i in both])
    for i in reversed(range(len(n))):
        result = _joined(result, 2 * i, starts[i], lengths[i] if i in both else broadcast_shapes((n[i],), (k[i],))[0])
    return cut(result, n, k, mode, both)


def _split(a: ndarray, axis: int, size: int) -> ndarray:
    """Splits an axis into blocks of `size` elements, the last padded with zeros; 0 keeps a single block."""
    n = a.shape[axis]
    shape = list(a.shape)
    if size == 0:
        return a.reshape([*shape[:axis], 1, *shape[axis:]])
    blocks = -(-n // size)
    shape[axis] = blocks * size - n
    if shape[axis]:
        a = cp.concatenate([a, cp.zeros(shape, a.dtype_name)], axis=axis)
    return a.reshape([*shape[:axis], blocks, size, *shape[axis + 1 :]])


def _joined(a: ndarray, axis: int, size: int, length: int) -> ndarray:
    """Adds up blocks whose elements from `size` on overlap the next block."""
    if size == 0:
        return cp.squeeze(a, axis)
    over = a.shape[axis + 1] - size

    def part(start: int, stop: int) -> ndarray:
        return a[(*[slice(None)] * (axis + 1), slice(start, stop))]

    def edge(count: int, extent: int) -> ndarray:
        shape = list(a.shape)
        shape[axis], shape[axis + 1] = count, extent
        return cp.zeros(shape, a.dtype_name)

    head = cp.concatenate([part(0, size), edge(1, size)], axis=axis)
    tail = cp.concatenate([part(size, size + over), edge(a.shape[axis], size - over)], axis=axis + 1)
    total = head + cp.concatenate([edge(1, size), tail], axis=axis)
    shape = list(a.shape)
    rows = total.reshape([*shape[:axis], total.shape[axis] * size, *shape[axis + 2 :]])
    return rows[(*[slice(None)] * axis, slice(length))]


def faster(n: tuple[int, ...], k: tuple[int, ...]) -> bool:
    """Returns true if transforms need fewer operations than a direct sum."""
    points = math.prod(a + b - 1 for a, b in zip(n, k, strict=True))
    return math.prod(n) * math.prod(k) > 24.0 * points * max(math.log2(max(points, 2)), 1.0)
