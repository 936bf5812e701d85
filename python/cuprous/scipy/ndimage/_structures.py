"""Structuring elements. They are small, so they are created and read on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from cuprous import _core
from cuprous.scipy.ndimage._support import ArrayLike, ndarray, per_axis

if TYPE_CHECKING:
    import numpy as np

Host: TypeAlias = "np.ndarray[Any, Any]"


def host(structure: ArrayLike, dtype: Any = None) -> Host:
    """Returns a structure as a NumPy array."""
    import numpy as np

    return np.asarray(_core.to_numpy(structure) if isinstance(structure, ndarray) else structure, dtype=dtype)


def neighbors(rank: int, connectivity: int) -> Host:
    """Computes `generate_binary_structure` on the host."""
    import numpy as np

    distance = np.abs(np.indices([3] * max(rank, 0)) - 1).sum(axis=0)
    return np.asarray(distance <= max(connectivity, 1))


def reflected(structure: Host, origin: Any) -> tuple[Host, list[int]]:
    """Returns a mirrored structure and its origin, which turns an erosion into a dilation."""
    origins = per_axis(origin, structure.ndim)
    mirrored = structure[tuple(slice(None, None, -1) for _ in range(structure.ndim))]
    return mirrored, [-o - (0 if n & 1 else 1) for o, n in zip(origins, structure.shape, strict=True)]


def generate_binary_structure(rank: int, connectivity: int) -> ndarray:
    """Returns a structuring element: the elements of a 3 x … x 3 box that differ from its center in at most
    `connectivity` coordinates.

    Parameters
    ----------
    rank : int
        The number of axes.
    connectivity : int
        The greatest number of coordinates that differ.

    Returns
    -------
    ndarray
        A bool array.

    See Also
    --------
    iterate_structure, binary_dilation, binary_erosion

    Examples
    --------
    >>> cp.scipy.ndimage.generate_binary_structure(2, 1).astype(int)
    array([[0, 1, 0],
           [1, 1, 1],
           [0, 1, 0]])
    """
    return _core.from_numpy(neighbors(rank, connectivity))
