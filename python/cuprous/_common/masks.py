"""Selection by masks. Only the number of true elements is read from the device."""

from __future__ import annotations

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._common.casting import astype


def _packed(mask: ndarray) -> tuple[ndarray, int]:
    """Packs a mask (bool, 1-d, not empty) for `_core.compact`, and counts its true elements."""
    packed = _core.pack_mask(mask)
    return packed, int(packed[(mask.size + 4095) // 4096 - 1])


def select_flat(mask: ndarray, values: ndarray) -> ndarray:
    """Returns the values (1-d) at which the mask (bool, 1-d) is true, in order."""
    if mask.size == 0:
        return _core.empty((0,), values.dtype_name)
    packed, count = _packed(mask)
    return _core.compact(packed, mask.size, count, values)


def flatnonzero(a: ArrayLike) -> ndarray:
    """Returns the indices (int64) of the nonzero elements of the flattened array.

    Parameters
    ----------
    a : array_like
        An array or array-like.

    Returns
    -------
    ndarray
        A 1-d array. Its length is copied to the host.

    See Also
    --------
    nonzero, ravel

    Examples
    --------
    >>> cp.flatnonzero([0, 3, 0, 5])
    array([1, 3])
    """
    mask = astype(array(a), "bool").reshape(-1)
    if mask.size == 0:
        return _core.empty((0,), "int64")
    packed, count = _packed(mask)
    return _core.compact(packed, mask.size, count, None)


def split_index(flat: ndarray, shape: tuple[int, ...]) -> tuple[ndarray, ...]:
    """Converts indices into a flattened array to one index array per axis of `shape`."""
    parts = []
    for n in reversed(shape[1:]):
        parts.append(flat % n)
        flat = flat // n
    return (flat, *reversed(parts))


__all__ = ["flatnonzero"]
