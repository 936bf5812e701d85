"""Binary morphology: erosion and dilation as minima and maxima over the elements of a structuring element."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common.arguments import array
from cuprous._common.operands import is_numpy_array, on_array_device, unsupported
from cuprous.scipy.ndimage._parameters import documented
from cuprous.scipy.ndimage._rank import _box_extreme, _extreme, _padded, _views, _Window
from cuprous.scipy.ndimage._structures import Host, host, neighbors, reflected
from cuprous.scipy.ndimage._support import ArrayLike, check_axes, deliver, in_order, ndarray, per_axis, source

#: The largest structuring element that is processed in one pass, and the most iterations between two convergence
#: checks.
_BOX, _STEPS = 32, 64


def _truth(a: ndarray) -> ndarray:
    return a if a.dtype_name == "bool" else a != 0


def _target(a: ndarray, output: Any) -> ndarray | None:
    """Returns the caller's output array, or None. As in SciPy, any other `output` gives a new bool array.

    Raises
    ------
    RuntimeError
        If the array has another shape.
    TypeError
        If the array is complex.
    """
    if is_numpy_array(output):
        raise unsupported(output)
    if not isinstance(output, ndarray):
        return None
    if output.dtype_name.startswith("complex"):
        raise TypeError("Complex output type not supported")
    if output.shape != a.shape:
        raise RuntimeError(f"output shape not correct: {output.shape}, expected {a.shape}")
    return output


def _step(kind: str, structure: Host, origin: Any, border: bool, axes: tuple[int, ...], ndim: int
          ) -> Callable[[ndarray], ndarray]:  # fmt: skip
    """Returns a function that performs one erosion ("minimum") or dilation ("maximum") of a bool array."""
    window = _Window(structure.shape, [bool(v) for v in structure.reshape(-1)], origin, axes, ndim)

    def step(x: ndarray) -> ndarray:
        if x.size == 0 or not window.offsets:
            return _core.full(x.shape, kind == "minimum", "bool")
        if window.full and math.prod(structure.shape) > _BOX:
            return _box_extreme(kind, x, list(structure.shape), axes, "constant", border, origin, "bool")
        views = _views(_padded(x, window.shape, window.origins, "constant", border), x.shape, window.offsets)
        return _extreme(kind, views) if len(views) > 1 else views[0].copy()

    return step


def _fixed_point(step: Callable[[ndarray], ndarray], x: ndarray) -> ndarray:
    """Repeats a step until nothing changes. Checks for changes after 1, 2, 4, … iterations, as each check waits."""
    count = 1
    while True:
        before = x
        for _ in range(count):
            before, x = x, step(x)
        if x.size == 0 or not bool(_core.reduce("max", before != x, None)):
            return x
        count = min(2 * count, _STEPS)


def _morphed(
    kind: str, input: ArrayLike, structure: ArrayLike, iterations: int, mask: ArrayLike, border_value: int, origin: Any,
    axes: Any,
) -> ndarray:  # fmt: skip
    try:
        iterations = operator.index(iterations)
    except TypeError as error:
        raise TypeError("iterations parameter should be an integer") from error
    a = source(input, real=True)
    found = check_axes(axes, a.ndim)
    shape = neighbors(len(found), 1) if structure is None else host(structure, bool)
    if shape.ndim != len(found):
        raise RuntimeError("structure and input must have same dimensionality")
    if shape.size < 1:
        raise RuntimeError("structure must not be empty")
    found, origin = in_order(found, origin, a.ndim)
    if kind == "maximum":
        shape, origin = reflected(shape, origin)
    plain = _step(kind, shape, origin, bool(border_value), found, a.ndim)
    step = plain
    if mask is not None:
        chosen = array(mask)
        if chosen.shape != a.shape:
            raise RuntimeError("mask and input must have equal sizes")
        chosen = _truth(chosen)

        def step(x: ndarray) -> ndarray:
            return _core.map("where", chosen, plain(x), x)

    x = _truth(a)
    if iterations < 1:
        return _fixed_point(step, x)
    for _ in range(iterations):
        x = step(x)
    return x


def _delivered(kinds: tuple[str, ...], input: ArrayLike, output: Any, *options: Any) -> ndarray:
    """Applies erosions ("minimum") and dilations ("maximum") with the same options, one after another."""
    x = source(input)
    out = _target(x, output)
    for kind in kinds:
        x = _morphed(kind, x, *options)
    return deliver(x, out)


@documented
def binary_erosion(
    input: ArrayLike, structure: ArrayLike = None, iterations: int = 1, mask: ArrayLike = None, output: Any = None,
    border_value: int = 0, origin: Any = 0, brute_force: bool = False, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Erodes an image: an element is True if the structure, centered on it, covers only nonzero elements.

    Parameters
    ----------
    structure : array_like, optional
        The structuring element, read on the host; by default the center and the neighbors that share a face.
    output : array_like, optional
        The array for the result; by default a new bool array.
    origin : int or sequence of ints, default 0
        The shift of the structure's center, one for all axes or one for each.
    axes : int or tuple of ints, optional
        The axes that the structure applies to; None for all.

    Returns
    -------
    ndarray
        A bool array of the shape of `input`.

    Raises
    ------
    TypeError
        For complex input.
    RuntimeError
        For a structure or mask of the wrong shape.
    ValueError
        For an origin outside the structure.

    See Also
    --------
    grey_erosion, binary_dilation, binary_closing, binary_opening, generate_binary_structure

    Examples
    --------
    >>> cp.scipy.ndimage.binary_erosion(cp.asarray([0, 1, 1, 1, 0]))
    array([False, False,  True, False, False])
    """
    return _delivered(("minimum",), input, output, structure, iterations, mask, border_value, origin, axes)


@documented
def binary_dilation(
    input: ArrayLike, structure: ArrayLike = None, iterations: int = 1, mask: ArrayLike = None, output: Any = None,
    border_value: int = 0, origin: Any = 0, brute_force: bool = False, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Dilates an image: centers the structure on each nonzero element and marks what it covers.

    Parameters
    ----------
    structure : array_like, optional
        The structuring element, read on the host; by default the center and the neighbors that share a face.
    output : array_like, optional
        The array for the result; by default a new bool array.
    origin : int or sequence of ints, default 0
        The shift of the structure's center, one for all axes or one for each.
    axes : int or tuple of ints, optional
        The axes that the structure applies to; None for all.

    Returns
    -------
    ndarray
        A bool array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For a structure or mask of the wrong shape.

    See Also
    --------
    grey_dilation, binary_erosion, binary_closing, binary_opening, generate_binary_structure

    Examples
    --------
    >>> cp.scipy.ndimage.binary_dilation(cp.asarray([0, 0, 1, 0, 0]))
    array([False,  True,  True,  True, False])
    """
    return _delivered(("maximum",), input, output, structure, iterations, mask, border_value, origin, axes)


@documented
def binary_opening(
    input: ArrayLike, structure: ArrayLike = None, iterations: int = 1, output: Any = None, origin: Any = 0,
    mask: ArrayLike = None, border_value: int = 0, brute_force: bool = False, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Erodes, then dilates.

    Parameters
    ----------
    structure : array_like, optional
        The structuring element, read on the host; by default the center and the neighbors that share a face.
    output : array_like, optional
        The array for the result; by default a new bool array.
    origin : int or sequence of ints, default 0
        The shift of the structure's center, one for all axes or one for each.
    axes : int or tuple of ints, optional
        The axes that the structure applies to; None for all.

    Returns
    -------
    ndarray
        A bool array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For a structure or mask of the wrong shape.

    See Also
    --------
    grey_opening, binary_closing, binary_erosion, binary_dilation, generate_binary_structure

    Examples
    --------
    >>> cp.scipy.ndimage.binary_opening(cp.asarray([1, 0, 1, 1, 1]))
    array([False, False,  True,  True,  True])
    """
    return _delivered(("minimum", "maximum"), input, output, structure, iterations, mask, border_value, origin, axes)


@documented
def binary_closing(
    input: ArrayLike, structure: ArrayLike = None, iterations: int = 1, output: Any = None, origin: Any = 0,
    mask: ArrayLike = None, border_value: int = 0, brute_force: bool = False, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Dilates, then erodes.

    Parameters
    ----------
    structure : array_like, optional
        The structuring element, read on the host; by default the center and the neighbors that share a face.
    output : array_like, optional
        The array for the result; by default a new bool array.
    origin : int or sequence of ints, default 0
        The shift of the structure's center, one for all axes or one for each.
    axes : int or tuple of ints, optional
        The axes that the structure applies to; None for all.

    Returns
    -------
    ndarray
        A bool array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For a structure or mask of the wrong shape.

    See Also
    --------
    grey_closing, binary_opening, binary_dilation, binary_erosion, generate_binary_structure

    Examples
    --------
    >>> cp.scipy.ndimage.binary_closing(cp.asarray([0, 1, 0, 1, 0]))
    array([False,  True,  True,  True, False])
    """
    return _delivered(("maximum", "minimum"), input, output, structure, iterations, mask, border_value, origin, axes)


@on_array_device
def binary_hit_or_miss(
    input: ArrayLike, structure1: ArrayLike = None, structure2: ArrayLike = None, output: Any = None,
    origin1: Any = 0, origin2: Any = None, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Matches a pattern: True where `structure1` covers only nonzero elements and `structure2` only zeros.

    Parameters
    ----------
    input : array_like
        A real array of any shape.
    structure1 : array_like, optional
        The elements that must be nonzero.
    structure2 : array_like, optional
        The elements that must be zero; by default the complement of `structure1`.
    output : array_like, optional
        The array for the result; by default a new bool array.
    origin1 : int, default 0
        The shift of the center of `structure1`.
    origin2 : int or sequence of ints, optional
        The shift of the center of `structure2`; by default `origin1`.
    axes : int or tuple of ints, optional
        The axes that the structure applies to; None for all.

    Returns
    -------
    ndarray
        A bool array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For a structure of the wrong shape.

    See Also
    --------
    binary_erosion

    Examples
    --------
    >>> cp.scipy.ndimage.binary_hit_or_miss(cp.asarray([0, 1, 0, 1, 1]), [0, 1, 0])
    array([False,  True, False, False, False])
    """
    a = source(input, real=True)
    out = _target(a, output)
    found = check_axes(axes, a.ndim)
    hit = neighbors(len(found), 1) if structure1 is None else host(structure1)
    miss = ~hit.astype(bool) if structure2 is None else host(structure2)
    hits = _morphed("minimum", a, hit, 1, None, 0, origin1, found)
    # Elements beyond the edges are zero, so `structure2` may cover them.
    misses = _morphed("minimum", a == 0, miss, 1, None, 1, origin1 if origin2 is None else origin2, found)
    return deliver(_core.map("logical_and", hits, misses), out)


@documented
def binary_propagation(
    input: ArrayLike, structure: ArrayLike = None, mask: ArrayLike = None, output: Any = None, border_value: int = 0,
    origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Dilates repeatedly within `mask` until nothing changes.

    Parameters
    ----------
    structure : array_like, optional
        The structuring element, read on the host; by default the center and the neighbors that share a face.
    output : array_like, optional
        The array for the result; by default a new bool array.
    origin : int or sequence of ints, default 0
        The shift of the structure's center, one for all axes or one for each.
    axes : int or tuple of ints, optional
        The axes that the structure applies to; None for all.

    Returns
    -------
    ndarray
        A bool array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For a structure or mask of the wrong shape.

    See Also
    --------
    scipy.ndimage.binary_dilation

    Examples
    --------
    >>> cp.scipy.ndimage.binary_propagation(cp.asarray([0, 1, 0, 0]), mask=cp.asarray([1, 1, 1, 0]))
    array([ True,  True,  True, False])
    """
    return binary_dilation(input, structure, -1, mask, output, border_value, origin, axes=axes)


@on_array_device
def binary_fill_holes(
    input: ArrayLike, structure: ArrayLike = None, output: Any = None, origin: Any = 0, *, axes: Any = None
) -> ndarray:
    """Fills holes: zeros that are not connected to the border.

    Parameters
    ----------
    input : array_like
        A real array of any shape.
    structure : array_like, optional
        The structuring element, read on the host; by default the center and the neighbors that share a face.
    output : array_like, optional
        The array for the result; by default a new bool array.
    origin : int or sequence of ints, default 0
        The shift of the structure's center, one for all axes or one for each.
    axes : int or tuple of ints, optional
        The axes that the structure applies to; None for all.

    Returns
    -------
    ndarray
        A bool array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For a structure of the wrong shape.

    See Also
    --------
    binary_dilation, binary_propagation, label

    Examples
    --------
    >>> cp.scipy.ndimage.binary_fill_holes(cp.asarray([1, 0, 1, 0]))
    array([ True,  True,  True, False])
    """
    a = source(input)
    out = _target(a, output)
    outside = _morphed("maximum", _core.full(a.shape, False, "bool"), structure, -1, a == 0, 1, origin, axes)
    return deliver(_core.map("logical_not", outside), out)


@on_array_device
def iterate_structure(structure: ArrayLike, iterations: int, origin: Any = None) -> Any:
    """Returns the structure that dilates in one step as `structure` does in `iterations` steps.

    Parameters
    ----------
    structure : array_like
        The structuring element.
    iterations : int
        The number of steps.
    origin : int or sequence of ints, optional
        The shift of the structure's center, one for all axes or one for each.

    Returns
    -------
    ndarray or tuple
        The structure (unchanged for fewer than two iterations, otherwise bool); with `origin`, a pair of the structure
        and the list of its origins.

    See Also
    --------
    generate_binary_structure

    Examples
    --------
    >>> cp.scipy.ndimage.iterate_structure(cp.asarray([1, 1, 1], dtype=bool), 2)
    array([ True,  True,  True,  True,  True])
    """
    element = host(structure)
    if iterations < 2:
        return _core.from_numpy(element)
    more = iterations - 1
    before = [more * (n // 2) for n in element.shape]
    after = [more * (n - 1) - b for n, b in zip(element.shape, before, strict=True)]
    dilated = _core.pad(_core.from_numpy(element != 0), before, after, "constant", 0.0)
    dilated = binary_dilation(dilated, element, iterations=more)
    return dilated if origin is None else (dilated, [iterations * o for o in per_axis(origin, element.ndim)])
