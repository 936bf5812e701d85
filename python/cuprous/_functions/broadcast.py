"""`cuprous.broadcast`: the result of broadcasting arrays against each other, without computing anything."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

from cuprous._common.arguments import ArrayLike, array, broadcast_shapes, ndarray
from cuprous._functions.manipulation import broadcast_to


class broadcast:
    """Arrays broadcast against each other, as `numpy.broadcast`, but without NumPy's iteration over scalars.

    Parameters
    ----------
    *args : array_like
        Arrays or array-likes.
    **kwargs : any
        Refused, as by NumPy.

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

    def __init__(self, *args: ArrayLike, **kwargs: object) -> None:
        if kwargs:
            raise ValueError("keyword arguments not accepted.")
        self._arrays = tuple(array(a) for a in args)
        shapes = [a.shape for a in self._arrays]
        for i, j in combinations(range(len(shapes)), 2):
            if any(m != n and 1 not in (m, n) for m, n in zip(shapes[i][::-1], shapes[j][::-1], strict=False)):
                raise ValueError(
                    "shape mismatch: objects cannot be broadcast to a single shape.  Mismatch is between arg "
                    f"{i} with shape {shapes[i]} and arg {j} with shape {shapes[j]}."
                )
        #: The common shape.
        self.shape = broadcast_shapes(*shapes)

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
    def iters(self) -> tuple[Any, ...]:
        """An iterator over the elements of each array, before they are broadcast."""
        return tuple(a.flat for a in self._arrays)

    @property
    def values(self) -> tuple[ndarray, ...]:
        """The arrays as views of the common shape (CuPy's name)."""
        return tuple(broadcast_to(a, self.shape) for a in self._arrays)


__all__ = ["broadcast"]
