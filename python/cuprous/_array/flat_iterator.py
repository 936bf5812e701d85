"""The iterator `array.flat`."""

from __future__ import annotations

import operator
from typing import Any

from cuprous import _core
from cuprous._array.methods import flatten
from cuprous._common import dtypes, indexing
from cuprous._common.arguments import ndarray
from cuprous._common.casting import astype as cast
from cuprous._common.convert import convert
from cuprous._common.operands import is_numpy_array, is_scalar
from cuprous._functions import rearrangement


class flatiter:
    """`array.flat`: the elements in C order, to read, write and iterate over.

    Parameters
    ----------
    base : ndarray
        The array. NumPy's class cannot be called: use `array.flat`.

    See Also
    --------
    ndenumerate, ndindex, ravel

    Examples
    --------
    >>> isinstance(cp.zeros(2).flat, cp.flatiter)
    True
    """

    __slots__ = ("_base", "_next")

    def __init__(self, base: ndarray) -> None:
        self._base = base
        self._next = 0

    @property
    def base(self) -> ndarray:
        """The array.

        Examples
        --------
        >>> cp.asarray([1, 2]).flat.base
        array([1, 2])
        """
        return self._base

    @property
    def index(self) -> int:
        """The number of the next element.

        Examples
        --------
        >>> cp.zeros(2).flat.index
        0
        """
        return self._next

    @property
    def coords(self) -> tuple[int, ...]:
        """The index of the next element in the array.

        Examples
        --------
        >>> cp.zeros((2, 2)).flat.coords
        (0, 0)
        """
        rest, found = self._next, []
        for n in reversed(self.base.shape[1:]):
            rest, i = divmod(rest, n)
            found.append(i)
        return (rest, *reversed(found)) if self.base.ndim else ()

    def __array__(self, dtype: Any = None, /, *, copy: bool | None = None) -> Any:
        """The elements as a NumPy array."""
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return self.copy().__array__(dtype)

    def __len__(self) -> int:
        return self.base.size

    def __getitem__(self, key: Any) -> ndarray:
        found = self.base.reshape(-1)[self._index(key)]
        return found.copy() if found.ndim else found

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, tuple) and (not key or key == (Ellipsis,)):
            raise IndexError("Assigning to a flat iterator with a 0-D index is not supported")
        index = _core.iota((self.base.size,), (1,), 0)[self._index(key)]
        source = value if is_scalar(value) else convert(value)
        if isinstance(source, ndarray):  # values repeat as needed
            source = cast(source, self.base.dtype_name)
            source = source.reshape(()) if source.size == 1 else rearrangement.resize(source, index.shape)
        _core.scatter(self.base, indexing.flat_offsets(self.base, index.copy()), source)

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")

    def _index(self, key: Any) -> Any:
        """The key for the flattened array, checked by NumPy's rules for flat iterators.

        Raises
        ------
        IndexError
            For other keys.
        """
        if isinstance(key, tuple):
            if len(key) > 1:
                raise IndexError(
                    f"too many indices for flat iterator: flat iterator is 1-dimensional, but {len(key)} were indexed"
                )
            key = key[0] if key else Ellipsis
        if isinstance(key, flatiter):
            key = key.copy()
        if isinstance(key, bool):
            return 0 if key else slice(0, 0)
        if key is Ellipsis or isinstance(key, slice):
            return key
        size = self.base.size
        if hasattr(key, "__index__") and not getattr(key, "shape", ()) and getattr(key, "dtype", None) != "bool":
            i = operator.index(key)
            if not -size <= i < size:
                raise IndexError(f"index {i} is out of bounds for size {size}")
            return i
        if isinstance(key, (list, ndarray)) or is_numpy_array(key):
            if isinstance(key, list) and key and all(isinstance(x, bool) for x in key):
                raise IndexError(
                    "boolean indices for iterators are not supported because of previous behavior that was confusing "
                    "(valid boolean indices are expected to work in the future)"
                )
            given, key = key, convert(key)
            if not key.size:
                return _core.cast(key, "int64")
            if dtypes.kind(key.dtype_name) in "iu":
                return given  # the range of what comes from the host is checked there, on every device
            if key.dtype_name == "bool" and key.shape == (size,):
                return key
            if key.ndim > 1:
                raise IndexError(
                    f"too many indices for flat iterator: flat iterator is 1-dimensional, but {key.ndim} were indexed"
                )
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are valid indices"
        )

    def __iter__(self) -> flatiter:
        return self

    def __next__(self) -> ndarray:
        if self._next >= self.base.size:
            raise StopIteration
        self._next += 1
        return self.base.reshape(-1)[self._next - 1]

    def copy(self) -> ndarray:
        """Returns a copy of the elements, in one dimension.

        Returns
        -------
        ndarray
            The copy.

        Examples
        --------
        >>> cp.asarray([[1, 2], [3, 4]]).flat.copy()
        array([1, 2, 3, 4])
        """
        return flatten(self.base)


__all__ = ["flatiter"]
