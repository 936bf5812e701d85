"""`cuprous.broadcast`: the result of broadcasting arrays against each other, without computing anything."""

from __future__ import annotations

import math

from cuprous._common.arguments import ArrayLike, array, broadcast_shapes, ndarray
from cuprous._functions.manipulation import broadcast_to


class broadcast:
    """Arrays broadcast against each other, as `numpy.broadcast`, but without NumPy's iteration over scalars.

    Parameters
    ----------
    *args : array_like
        Arrays or array-likes.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    See Also
    --------
    broadcast_arrays, broadcast_to, broadcast_shapes

    Examples
    --------
    >>> b = cp.broadcast([[1], [2]], [10, 20, 30])
    >>> b.shape, b.size
    ((2, 3), 6)
    """

    __slots__ = {"_arrays": "The operands.", "shape": "The common shape."}

    def __init__(self, *args: ArrayLike) -> None:
        self._arrays = tuple(array(a) for a in args)
        #: The common shape.
        self.shape = broadcast_shapes(*(a.shape for a in self._arrays))

    @property
    def ndim(self) -> int:
        """Number of axes of the common shape."""
        return len(self.shape)

    nd = ndim

    @property
    def size(self) -> int:
        """Number of elements of the common shape."""
        return math.prod(self.shape)

    @property
    def numiter(self) -> int:
        """Number of arrays."""
        return len(self._arrays)

    @property
    def values(self) -> tuple[ndarray, ...]:
        """The arrays as views of the common shape (CuPy's name)."""
        return tuple(broadcast_to(a, self.shape) for a in self._arrays)


__all__ = ["broadcast"]
