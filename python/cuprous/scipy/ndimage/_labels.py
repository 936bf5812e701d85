"""Labeling of connected components, and bounding boxes of labels."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.convert import c_strides
from cuprous._common.operands import is_numpy_array, on_array_device, unsupported
from cuprous.scipy.ndimage._structures import host, neighbors
from cuprous.scipy.ndimage._support import ArrayLike, ndarray, source


def _roots(inside: ndarray, structure: Any) -> ndarray:
    """Returns, for each element, the flat index of the first element (in C order) of its component; its own if not
    inside."""
    import itertools

    shape, ndim = inside.shape, inside.ndim
    # Neighborhood is symmetric: only the later element of each pair stores the edge, so half of the structure suffices.
    # The direct predecessor comes first. Axes with one element have no neighbors.
    offsets = [
        o
        for o in itertools.product(range(3), repeat=ndim)
        if structure[o] and o < (1,) * ndim and all(i == 1 or n > 1 for i, n in zip(o, shape, strict=True))
    ]
    offsets.reverse()
    steps = [sum((1 - i) * s for i, s in zip(o, c_strides(shape), strict=True)) for o in offsets]
    padded = _core.pad(inside, [1] * ndim, [1] * ndim, "constant", 0.0)
    strides = padded.element_strides
    dtype, bits = ("uint8", 8) if len(offsets) <= 8 else ("uint16", 16) if len(offsets) <= 16 else ("uint64", 64)
    edges = _core.full((max(1, -(-len(offsets) // bits)), inside.size), 0, dtype)
    for first in range(0, len(offsets), bits):
        word: Any = _core.full(shape, 0, dtype)
        for bit, offset in enumerate(offsets[first : first + bits]):
            start = sum(o * s for o, s in zip(offset, strides, strict=True))
            joined = _core.map("logical_and", inside, _core.as_strided(padded, shape, strides, start))
            shifted = _core.map("left_shift", _core.cast(joined, dtype), _core.full((), bit, dtype))
            word = _core.map("bitwise_or", word, shifted)
        edges[first // bits] = word.reshape([inside.size])
    return _core.components(edges, steps).reshape(shape)


@on_array_device
def label(input: ArrayLike, structure: ArrayLike = None, output: Any = None) -> Any:
    """Labels the connected components of nonzero elements, in the order of their first elements.

    Parameters
    ----------
    input : array_like
        A real array of any shape.
    structure : array_like, optional
        The neighbors among the 3 x … x 3 elements around an element, read on the host; by default those that share a
        face.
    output : dtype, optional
        The result's dtype (int32 by default), or an array for the result.

    Returns
    -------
    tuple of ndarrays
        The labels, 0 where `input` is 0, and the number of components; only the number if `output` is an array.

    Raises
    ------
    TypeError
        For complex input.
    ValueError
        For a structure that is not 3 x … x 3 or not symmetric, and an `output` of the wrong shape.
    RuntimeError
        For a structure of another rank, and for a dtype that cannot hold the labels.

    See Also
    --------
    find_objects

    Examples
    --------
    >>> labels, count = cp.scipy.ndimage.label(cp.asarray([1, 1, 0, 1]))
    >>> labels, count
    (array([1, 1, 0, 2], dtype=int32), 2)
    """
    a = source(input, real=True)
    shape = neighbors(a.ndim, 1) if structure is None else host(structure, bool)
    if shape.ndim != a.ndim:
        raise RuntimeError("structure and input must have equal rank")
    if any(n != 3 for n in shape.shape):
        raise ValueError("structure dimensions must be equal to 3")
    if not (shape == shape[(slice(None, None, -1),) * a.ndim]).all():
        raise ValueError("Structuring element is not symmetric")
    if is_numpy_array(output):
        raise unsupported(output)
    out = output if isinstance(output, ndarray) else None
    if out is not None and out.shape != a.shape:
        raise ValueError("output shape not correct")
    name = out.dtype_name if out is not None else "int32" if output is None else _dtypes.name_of(output)
    inside = a != 0
    if a.ndim == 0 or a.size == 0:
        numbers, count = _core.cast(inside, name), int(inside) if a.ndim == 0 else 0
    else:
        root = _roots(inside, shape)
        first = _core.map("logical_and", inside, root == _core.iota(a.shape, c_strides(a.shape), 0))
        order = _core.scan("sum", _core.cast(first, root.dtype_name).reshape([a.size]), 0)
        count = int(order[a.size - 1])
        if count > _dtypes.highest(name):
            raise RuntimeError("insufficient bit-depth in requested output type")
        found = _core.gather(order, _core.cast(_core.map("where", inside, root, 0), "int64"))
        numbers = _core.cast(_core.map("where", inside, found, 0), name)
    if out is None:
        return numbers, count
    _core.update(out, numbers)
    return count


@on_array_device
def find_objects(input: ArrayLike, max_label: int = 0) -> list[Any]:
    """Returns the bounding boxes of the labels 1, 2, …, each as a tuple of slices, or None for labels that do not
    occur.

    Parameters
    ----------
    input : array_like
        An array of integers.
    max_label : int, default 0
        The last label to consider; 0 considers all.

    Returns
    -------
    list
        A list with an element for each label.

    Raises
    ------
    RuntimeError
        For floating-point input, with a `max_label`.
    TypeError
        For complex input, and for floating-point input without a `max_label`.

    See Also
    --------
    label, center_of_mass

    Examples
    --------
    >>> cp.scipy.ndimage.find_objects(cp.asarray([0, 1, 1, 2]))
    [(slice(1, 3, None),), (slice(3, 4, None),)]
    """
    a = source(input, real=True)
    if _dtypes.kind(a.dtype_name) == "f":
        if max_label < 1:
            raise TypeError("[find_objects] labels must be integers")
        raise RuntimeError("data type not supported")
    if max_label < 1:
        max_label = int(_core.reduce("max", a, None)) if a.size else 0
    if max_label < 1 or a.size == 0:
        return [None] * max(max_label, 0)
    number = _core.cast(a, "int64")
    valid = _core.map("logical_and", number > 0, number <= max_label)
    slot = _core.map("where", valid, number, 0)
    boxes = _core.empty([a.ndim, 2, max_label + 1], "int64")
    for axis, n in enumerate(a.shape):
        coordinate = _core.iota(a.shape, [1 if i == axis else 0 for i in range(a.ndim)], 0)
        for row, (worst, op) in enumerate(((n, "minimum"), (-1, "maximum"))):
            line = _core.full([max_label + 1], worst, "int64")
            _core.scatter(line, slot, coordinate, op)
            boxes[axis, row] = line
    host_boxes = _core.to_numpy(boxes)
    found: list[Any] = []
    for i in range(1, max_label + 1):
        low, high = host_boxes[:, 0, i], host_boxes[:, 1, i]
        box = tuple(slice(int(start), int(stop) + 1, None) for start, stop in zip(low, high, strict=True))
        found.append(box if (high >= 0).all() else None)
    return found
