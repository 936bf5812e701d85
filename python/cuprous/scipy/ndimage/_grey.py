"""Grayscale morphology: extremes over windows, flat or with a structure's heights added, and their differences."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous.scipy.ndimage._parameters import documented
from cuprous.scipy.ndimage._rank import _extreme, _padded, _views, _Window, maximum_filter, minimum_filter
from cuprous.scipy.ndimage._structures import host, reflected
from cuprous.scipy.ndimage._support import (
    ArrayLike,
    Mode,
    Output,
    check_axes,
    converted,
    deliver,
    edge,
    in_order,
    ndarray,
    per_axis,
    source,
    target,
)


def _raised(
    kind: str, input: ArrayLike, footprint: Any, structure: Any, output: Output, mode: Mode, cval: Any, origin: Any,
    axes: Any,
) -> ndarray:  # fmt: skip
    """Returns the minimum of a[i + j] - structure[j], or the maximum of a[i + j] + structure[j]."""
    a = source(input, real=True)
    name, out = target(a, output)
    found, origin = in_order(check_axes(axes, a.ndim), origin, a.ndim)
    heights = host(structure, float)
    mask = host(footprint, bool) if footprint is not None else heights == heights
    if mask.shape != heights.shape:
        raise RuntimeError("structure array has incorrect shape")
    if not isinstance(mode, str):
        raise RuntimeError("A sequence of modes is not supported for non-separable footprints")
    window = _Window(mask.shape, [True] * mask.size, origin, found, a.ndim)
    if a.size == 0:
        return deliver(_core.empty(a.shape, name), out)
    offsets = [o for o, used in zip(window.offsets, mask.reshape(-1), strict=True) if used]
    # As in SciPy, computed in the input's dtype: integers wrap around, and heights are truncated to integers.
    dtype = "uint8" if a.dtype_name == "bool" else a.dtype_name
    padded = _padded(
        a if a.dtype_name == dtype else _core.cast(a, dtype), window.shape, window.origins, edge(mode), cval
    )
    raising = _core.cast(_core.from_numpy(heights[mask]), dtype)
    views = [
        view - raising[i] if kind == "minimum" else view + raising[i]
        for i, view in enumerate(_views(padded, a.shape, offsets))
    ]
    return deliver(converted(_extreme(kind, views), name), out)


def _check(size: Any, footprint: Any, structure: Any) -> None:
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint, or structure must be specified")


@documented
def grey_erosion(
    input: ArrayLike, size: Any = None, footprint: Any = None, structure: Any = None, output: Output = None,
    mode: Mode = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the minimum over a window around each element.

    Parameters
    ----------
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges, as for `correlate1d`.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    TypeError
        For complex input.
    ValueError
        Without `size`, `footprint` and `structure`, and for an origin outside the window.
    RuntimeError
        For arguments of the wrong length or shape.

    See Also
    --------
    binary_erosion, grey_dilation, grey_opening, grey_closing, generate_binary_structure, minimum_filter

    Examples
    --------
    >>> cp.scipy.ndimage.grey_erosion(cp.asarray([1, 5, 2, 4, 4]), size=3)
    array([1, 1, 2, 2, 4])
    """
    _check(size, footprint, structure)
    if structure is None:
        return minimum_filter(input, size, footprint, output, mode, cval, origin, axes=axes)
    return _raised("minimum", input, footprint, structure, output, mode, cval, origin, axes)


@documented
def grey_dilation(
    input: ArrayLike, size: Any = None, footprint: Any = None, structure: Any = None, output: Output = None,
    mode: Mode = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the maximum over a mirrored window around each element.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    ValueError
        Without `size`, `footprint` and `structure`, and for an origin outside the window.

    See Also
    --------
    binary_dilation, grey_erosion, grey_closing, grey_opening, generate_binary_structure, maximum_filter

    Examples
    --------
    >>> cp.scipy.ndimage.grey_dilation(cp.asarray([1, 5, 2, 0, 0]), size=3)
    array([5, 5, 5, 2, 0])
    """
    _check(size, footprint, structure)
    a = source(input)
    element = structure if footprint is None else footprint
    if element is None:
        count = len(check_axes(axes, a.ndim))
        sizes, origins = per_axis(size, count), per_axis(origin, count)
        origins = [-o - (0 if n & 1 else 1) for o, n in zip(origins, sizes, strict=True)]
        return maximum_filter(a, size, None, output, mode, cval, origins, axes=axes)
    mirrored, origins = reflected(host(element), origin)
    if structure is None:
        return maximum_filter(a, size, mirrored, output, mode, cval, origins, axes=axes)
    heights = reflected(host(structure), 0)[0]
    used = None if footprint is None else mirrored
    return _raised("maximum", a, used, heights, output, mode, cval, origins, axes)


@documented
def grey_opening(
    input: ArrayLike, size: Any = None, footprint: Any = None, structure: Any = None, output: Output = None,
    mode: Mode = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Applies a grayscale erosion, then a dilation.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    ValueError
        Without `size`, `footprint` and `structure`, and for an origin outside the window.

    See Also
    --------
    binary_opening, grey_dilation, grey_erosion, grey_closing, generate_binary_structure

    Examples
    --------
    >>> cp.scipy.ndimage.grey_opening(cp.asarray([1, 1, 5, 1, 1]), size=3)
    array([1, 1, 1, 1, 1])
    """
    eroded = grey_erosion(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return grey_dilation(eroded, size, footprint, structure, output, mode, cval, origin, axes=axes)


@documented
def grey_closing(
    input: ArrayLike, size: Any = None, footprint: Any = None, structure: Any = None, output: Output = None,
    mode: Mode = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Applies a grayscale dilation, then an erosion.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    ValueError
        Without `size`, `footprint` and `structure`, and for an origin outside the window.

    See Also
    --------
    binary_closing, grey_dilation, grey_erosion, grey_opening, generate_binary_structure

    Examples
    --------
    >>> cp.scipy.ndimage.grey_closing(cp.asarray([5, 5, 1, 5, 5]), size=3)
    array([5, 5, 5, 5, 5])
    """
    dilated = grey_dilation(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return grey_erosion(dilated, size, footprint, structure, output, mode, cval, origin, axes=axes)


def _extremes(
    a: ArrayLike, size: Any, footprint: Any, structure: Any, output: Output, mode: Mode, cval: Any, origin: Any,
    axes: Any,
) -> tuple[ndarray, ndarray, ndarray | None]:  # fmt: skip
    """Returns the dilation, the erosion (in the dtype of an output array), and the output if it is an array."""
    high = grey_dilation(a, size, footprint, structure, None, mode, cval, origin, axes=axes)
    out = output if isinstance(output, ndarray) else None
    name = None if out is None else out.dtype_name
    return high, grey_erosion(a, size, footprint, structure, name, mode, cval, origin, axes=axes), out


@documented
def morphological_gradient(
    input: ArrayLike, size: Any = None, footprint: Any = None, structure: Any = None, output: Output = None,
    mode: Mode = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns dilation minus erosion.

    Parameters
    ----------
    output : dtype or ndarray, optional
        An array for the result; not a dtype, as in SciPy.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    ValueError
        Without `size`, `footprint` and `structure`, and for an origin outside the window.

    See Also
    --------
    grey_dilation, grey_erosion, gaussian_gradient_magnitude

    Examples
    --------
    >>> cp.scipy.ndimage.morphological_gradient(cp.asarray([1, 1, 5, 5]), size=3)
    array([0, 4, 4, 0])
    """
    high, low, out = _extremes(input, size, footprint, structure, output, mode, cval, origin, axes)
    return deliver(high - low, out)


@documented
def morphological_laplace(
    input: ArrayLike, size: Any = None, footprint: Any = None, structure: Any = None, output: Output = None,
    mode: Mode = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns dilation plus erosion minus twice the input.

    Parameters
    ----------
    output : dtype or ndarray, optional
        An array for the result; not a dtype, as in SciPy.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    ValueError
        Without `size`, `footprint` and `structure`, and for an origin outside the window.

    See Also
    --------
    scipy.ndimage.morphological_gradient

    Examples
    --------
    >>> cp.scipy.ndimage.morphological_laplace(cp.asarray([1, 1, 5, 5]), size=3)
    array([ 0,  4, -4,  0])
    """
    a = source(input)
    high, low, out = _extremes(a, size, footprint, structure, output, mode, cval, origin, axes)
    return deliver(high + low - a - a, out)


def _difference(a: ndarray, b: ndarray, name: str) -> ndarray:
    kind = "bitwise_xor" if a.dtype_name == b.dtype_name == "bool" else "subtract"
    return converted(_core.map(kind, a, b), name)


@documented
def white_tophat(
    input: ArrayLike, size: Any = None, footprint: Any = None, structure: Any = None, output: Output = None,
    mode: Mode = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the input minus its opening.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    ValueError
        Without `size`, `footprint` and `structure`, and for an origin outside the window.

    See Also
    --------
    black_tophat

    Examples
    --------
    >>> cp.scipy.ndimage.white_tophat(cp.asarray([1, 1, 5, 1, 1]), size=3)
    array([0, 0, 4, 0, 0])
    """
    a = source(input)
    name, out = target(a, output)
    opened = grey_opening(a, size, footprint, structure, name, mode, cval, origin, axes=axes)
    return deliver(_difference(a, opened, name), out)


@documented
def black_tophat(
    input: ArrayLike, size: Any = None, footprint: Any = None, structure: Any = None, output: Output = None,
    mode: Mode = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the closing minus the input.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    ValueError
        Without `size`, `footprint` and `structure`, and for an origin outside the window.

    See Also
    --------
    white_tophat, grey_opening, grey_closing

    Examples
    --------
    >>> cp.scipy.ndimage.black_tophat(cp.asarray([5, 5, 1, 5, 5]), size=3)
    array([0, 0, 4, 0, 0])
    """
    a = source(input)
    name, out = target(a, output)
    closed = grey_closing(a, size, footprint, structure, name, mode, cval, origin, axes=axes)
    return deliver(_difference(closed, a, name), out)
