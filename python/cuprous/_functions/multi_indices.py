"""Conversions between flat indices and indices of several axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, Shape, array, as_shape, ndarray
from cuprous._common.casting import astype
from cuprous._common.layout import MAX_NDIM, order_letter
from cuprous._common.masks import split_index


def _check_inferred(indices: Any) -> None:
    """Raises NumPy's error for an empty list, whose dtype is inferred as float."""
    if isinstance(indices, (list, tuple)) and not len(indices):
        raise TypeError(
            "indices must be integral: the provided empty sequence was inferred as float. Wrap it with "
            "'np.array(indices, dtype=np.intp)'"
        )


def unravel_index(indices: ArrayLike, shape: Shape, order: str = "C") -> tuple[ndarray, ...]:
    """Converts indices into the flattened array to one index array per axis.

    Parameters
    ----------
    indices : array_like
        An integer, or an array of integers.
    shape : int or tuple of ints
        The shape of the array that the indices are for.
    order : str, default "C"
        "C" for row-major, "F" for column-major order.

    Returns
    -------
    tuple of ndarrays
        A tuple with an array (int64) for each axis.

    Raises
    ------
    ValueError
        If an index is out of bounds, and for more elements than int64 counts.

    See Also
    --------
    ravel_multi_index

    Examples
    --------
    >>> cp.unravel_index([2, 3], (2, 3))
    (array([0, 1]), array([2, 0]))
    """
    _check_inferred(indices)
    index, dims = array(indices), as_shape(shape)
    _check_size(
        dims, "dimensions are too large; arrays and shapes with a total size greater than 'intp' are not supported."
    )
    if dtypes.kind(index.dtype_name) not in "biu":
        raise TypeError("only int indices permitted")
    index = astype(index, "int64")
    size = math.prod(dims)
    if index.size:
        for extreme in (int(_core.reduce("min", index, None)), int(_core.reduce("max", index, None))):
            if not 0 <= extreme < size:
                raise ValueError(f"index {extreme} is out of bounds for array with size {size}")
    if not dims:
        if index.ndim:
            raise ValueError("multiple indices are not supported for 0d arrays")
        return ()
    if _letter(order) == "F":
        return split_index(index, dims[::-1])[::-1]
    return split_index(index, dims)


def _check_size(dims: Sequence[int], message: str) -> None:
    """Raises ValueError for more axes than arrays have, and if an extent, or a product of leading extents, does not fit
    into int64."""
    if len(dims) > MAX_NDIM:
        raise ValueError(f"maximum supported dimension for an ndarray is currently {MAX_NDIM}, found {len(dims)}")
    size = 1
    for n in dims:
        size *= n
        if max(n, size) >= 1 << 63:
            raise ValueError(message)


def _letter(order: str) -> str:
    try:
        return order_letter(order, "CF", "C")
    except ValueError:
        raise ValueError("only 'C' or 'F' order is permitted") from None


def ravel_multi_index(multi_index: Any, dims: Shape, mode: Any = "raise", order: str = "C") -> ndarray:
    """Converts one index array per axis to indices into the flattened array.

    Parameters
    ----------
    multi_index : tuple
        A tuple of arrays of integers, one for each axis.
    dims : int or tuple of ints
        The shape of the array that the indices are for.
    mode : str or tuple of str, default "raise"
        For indices out of bounds: "raise", "wrap" or "clip", or a tuple of one for each axis.
    order : str, default "C"
        "C" for row-major, "F" for column-major order.

    Returns
    -------
    ndarray
        An array (int64) of the common shape of the indices.

    Raises
    ------
    ValueError
        If an index is out of bounds and the mode is "raise", and if the number of elements exceeds int64.

    See Also
    --------
    unravel_index

    Examples
    --------
    >>> cp.ravel_multi_index((cp.asarray([0, 1]), cp.asarray([2, 0])), (2, 3))
    array([2, 3])
    """
    shape = as_shape(dims)
    order = _letter(order)
    inner_first = shape if order == "F" else shape[::-1]
    _check_size(inner_first, "invalid dims: array size defined by dims is larger than the maximum possible size.")
    for one in multi_index if isinstance(multi_index, (tuple, list)) else ():
        _check_inferred(one)
    given = [array(m) for m in multi_index]
    if len(given) != len(shape):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(shape)}")
    if any(dtypes.kind(m.dtype_name) not in "biu" for m in given):
        raise TypeError("only int indices permitted")
    parts = [astype(m, "int64") for m in given]
    modes = (mode,) * len(parts) if isinstance(mode, str) else tuple(mode)
    if 0 in shape and all(part.size for part in parts):
        raise ValueError("cannot unravel if shape has zero entries (is empty).")
    result: Any = _core.full((), 0, "int64")
    stride = 1
    axes = list(zip(parts, shape, modes, strict=True))
    for part, n, how in axes if order == "F" else reversed(axes):
        if how == "wrap":
            part = part % n
        elif how == "clip":
            part = _core.map("minimum", _core.map("maximum", part, 0), n - 1)
        elif how != "raise":
            raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got '{how}')")
        elif part.size and not (int(_core.reduce("min", part, None)) >= 0 and int(_core.reduce("max", part, None)) < n):
            raise ValueError("invalid entry in coordinates array")
        result = part * stride + result
        stride *= n
    return result


__all__ = ["ravel_multi_index", "unravel_index"]
