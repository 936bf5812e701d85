"""Positions and values at which a mask holds. The count is read from the device, the rest stays there."""

from __future__ import annotations

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._common.casting import astype


def _packed(mask: ndarray) -> tuple[ndarray, int]:
    """A mask (bool, 1-d, not empty) as `_core.compact` reads it, and how many of its elements hold."""
    packed = _core.pack_mask(mask)
    return packed, int(packed[(mask.size + 4095) // 4096 - 1])


def select_flat(mask: ndarray, values: ndarray) -> ndarray:
    """The values (1-d) at which the mask (bool, 1-d) holds, in order."""
    if mask.size == 0:
        return _core.empty((0,), values.dtype_name)
    packed, count = _packed(mask)
    return _core.compact(packed, mask.size, count, values)


def flatnonzero(a: ArrayLike) -> ndarray:
    """Indices (int64) of the nonzero elements of the flattened array."""
    mask = astype(array(a), "bool").reshape(-1)
    if mask.size == 0:
        return _core.empty((0,), "int64")
    packed, count = _packed(mask)
    return _core.compact(packed, mask.size, count, None)


def split_index(flat: ndarray, shape: tuple[int, ...]) -> tuple[ndarray, ...]:
    """Indices into a flattened array, as one index array per axis of `shape`."""
    parts = []
    for n in reversed(shape[1:]):
        parts.append(flat % n)
        flat = flat // n
    return (flat, *reversed(parts))


__all__ = ["flatnonzero"]
