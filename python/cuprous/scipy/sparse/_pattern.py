"""Where the values of a sparse matrix lie: index arrays and what is calculated with them, on the device.

Positions are keys (row-major: major * extent of the minor axis + minor), so that sorting, merging and finding cells is
sorting, merging and finding integers.
"""

from __future__ import annotations

from cuprous import _core
from cuprous._common.casting import astype
from cuprous._common.indexing import gather_flat
from cuprous._common.masks import select_flat
from cuprous._functions.joining import concatenate

ndarray = _core.ndarray

#: Row starts are padded to a multiple of this many, so that the indices behind them are aligned.
_PADDING = 32


def index_dtype(*sizes: int) -> str:
    """The dtype of indices that count so far."""
    return "int32" if max(sizes, default=0) < 1 << 31 else "int64"


def arange(n: int) -> ndarray:
    """0 … n - 1, without memory of its own."""
    return _core.iota((n,), (1,), 0)


def starts_space(majors: int) -> int:
    """Elements of a packed pattern before its indices."""
    return (majors + 1 + _PADDING - 1) // _PADDING * _PADDING


class Pattern:
    """Starts of the majors and indices of the minors in one array, as products want them: starts, padding, indices.

    Matrices share patterns that nobody can write to: one whose arrays were shown is never shared, and one that is
    shared is copied before it is shown.
    """

    __slots__ = ("_shared", "_shown", "majors", "packed")

    def __init__(self, packed: ndarray, majors: int) -> None:
        self.packed, self.majors = packed, majors
        self._shared = self._shown = False

    @classmethod
    def of(cls, starts: ndarray, indices: ndarray, dtype: str | None = None) -> Pattern:
        """A copy of both."""
        majors = starts.size - 1
        space = starts_space(majors)
        name = dtype or index_dtype(indices.size)
        packed = _core.empty((space + indices.size,), name)
        _core.update(packed[: majors + 1], starts)
        if indices.size:
            _core.update(packed[space:], indices)
        return cls(packed, majors)

    @property
    def starts(self) -> ndarray:
        """The first value of each major, and the number of all values."""
        return self.packed[: self.majors + 1]

    @property
    def indices(self) -> ndarray:
        """The minor of each value."""
        return self.packed[starts_space(self.majors) :]

    def share(self) -> Pattern:
        """A pattern for another matrix."""
        if self._shown:
            return self.copy()
        self._shared = True
        return self

    def show(self) -> Pattern:
        """A pattern whose arrays may be written to."""
        own = self.copy() if self._shared else self
        own._shown = True
        return own

    def copy(self) -> Pattern:
        """The same in memory of its own."""
        return Pattern(self.packed.copy(), self.majors)


def numbers(*values: ndarray) -> list[int]:
    """Arrays of one element as integers, in one transfer."""
    together = _core.empty((len(values),), "int64")
    for k, value in enumerate(values):
        together[k] = value.reshape(())
    found: list[int] = _core.to_numpy(together).tolist()
    return found


def running_sum(a: ndarray) -> ndarray:
    """Sums (int64) of the elements so far."""
    return _core.scan("sum", astype(a, "int64"), 0)


def starts_from_counts(counts: ndarray) -> ndarray:
    """Starts (int64) of so many values each."""
    starts = _core.full((counts.size + 1,), 0, "int64")
    if counts.size:
        _core.update(starts[1:], running_sum(counts))
    return starts


def expand(starts: ndarray, count: int) -> ndarray:
    """The major (int64) of each of `count` values."""
    if count == 0:
        return _core.empty((0,), "int64")
    marks = _core.full((count + 1,), 0, "int64")
    if starts.size > 2:
        _core.scatter(marks, astype(starts[1:-1], "int64"), 1, "add")
    return running_sum(marks)[:count]


def compress(majors: ndarray, extent: int, scale: int = 1) -> ndarray:
    """Starts (int64) from the sorted majors of values, or from their keys, in which a major counts `scale`."""
    if majors.size == 0:
        return _core.full((extent + 1,), 0, "int64")
    firsts = _core.iota((extent + 1,), (scale,), 0)
    return _core.searchsorted(majors, astype(firsts, majors.dtype_name), False)


def keys(majors: ndarray, minors: ndarray, shape: tuple[int, int]) -> ndarray:
    """One integer for each position: int32 where that is enough, which sorts faster."""
    name = index_dtype(shape[0] * shape[1])
    return astype(majors, name) * shape[1] + astype(minors, name)


def split(positions: ndarray, extent: int) -> tuple[ndarray, ndarray]:
    """Majors and minors of keys."""
    if extent == 0:
        return positions, positions
    return positions // extent, positions % extent


def take(a: ndarray, index: ndarray) -> ndarray:
    """Elements of a 1-d array."""
    if index.size == 0:
        return _core.empty((0,), a.dtype_name)
    return gather_flat(a, astype(index, "int64"))


def combine(dtype: str) -> str:
    """How values at one position are added up."""
    return "maximum" if dtype == "bool" else "add"


def add_up(groups: ndarray, values: ndarray, count: int) -> ndarray:
    """Sums of the values of each group; groups are numbers below `count`."""
    sums = _core.full((count,), 0, values.dtype_name)
    if values.size:
        _core.scatter(sums, astype(groups, "int64"), values, combine(values.dtype_name))
    return sums


def rising(positions: ndarray) -> bool:
    """Is each greater than the one before? Waits for the device."""
    return positions.size < 2 or not bool(_core.reduce("max", positions[1:] <= positions[:-1], None))


def merge_equal(positions: ndarray, values: ndarray) -> tuple[ndarray, ndarray]:
    """Values at equal positions added up, positions sorted. Waits for the device to know how many are left."""
    n = positions.size
    if n < 2:
        return positions, values
    order = _core.argsort(positions)
    positions, values = take(positions, order), take(values, order)
    first = _core.full((n,), True, "bool")
    _core.update(first[1:], positions[1:] != positions[:-1])
    unique = select_flat(first, positions)
    if unique.size == n:
        return positions, values
    return unique, add_up(running_sum(first) - 1, values, unique.size)


def keep(mask: ndarray, *arrays: ndarray) -> tuple[ndarray, ...]:
    """The elements of arrays where the mask holds. Waits for the device to know how many there are."""
    chosen = select_flat(mask, arange(mask.size))
    return tuple(take(a, chosen) for a in arrays)


def union(a: ndarray, b: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """The positions in either of two rising arrays, in order, and where those of each are among them.

    Sorted as one array, which is quick: sorting on the CPU finds runs, and on a GPU its time does not depend on order.
    """
    if a.size == 0 or b.size == 0:
        return (b if a.size == 0 else a), arange(a.size), arange(b.size)
    both = concatenate((a, b))
    n = both.size
    order = _core.argsort(both)
    both = take(both, order)
    first = _core.full((n,), True, "bool")
    _core.update(first[1:], both[1:] != both[:-1])
    positions, ranks = select_flat(first, both), _core.full((n,), 0, "int64")
    # No place is met twice; "set" would look for the last first.
    _core.scatter(ranks, order, running_sum(first) - 1, "maximum")
    return positions, ranks[: a.size], ranks[a.size :]


def find(positions: ndarray, values: ndarray, wanted: ndarray) -> ndarray:
    """Values at the wanted keys (any shape), zero where there are none; positions are rising."""
    if positions.size == 0 or wanted.size == 0:
        return _core.full(wanted.shape, 0, values.dtype_name)
    wanted = astype(wanted, positions.dtype_name)
    nearest = _core.map("minimum", _core.searchsorted(positions, wanted, False), positions.size - 1)
    zero = _core.full((), 0, values.dtype_name)
    return _core.map("where", _core.gather(positions, nearest) == wanted, _core.gather(values, nearest), zero)


def replace(positions: ndarray, values: ndarray, new: ndarray, new_values: ndarray) -> tuple[ndarray, ndarray]:
    """Values with others at new positions; of equal new positions the last counts. Positions are rising."""
    both = concatenate((positions, astype(new, positions.dtype_name)))
    order = _core.argsort(both)  # stable: of equal positions the last given comes last
    both, all_values = take(both, order), take(concatenate((values, new_values)), order)
    last = _core.full((both.size,), True, "bool")
    if both.size > 1:
        _core.update(last[:-1], both[1:] != both[:-1])
    kept = keep(last, both, all_values)
    return kept[0], kept[1]


def pick_majors(starts: ndarray, majors: ndarray) -> tuple[ndarray, ndarray]:
    """Starts of the chosen majors, and where their values are. Waits for the device to know how many there are."""
    starts = astype(starts, "int64")
    first = take(starts, majors)
    fresh = starts_from_counts(take(starts, majors + 1) - first)
    count = int(fresh[majors.size])
    if count == 0:
        return fresh, _core.empty((0,), "int64")
    owner = expand(fresh, count)
    return fresh, arange(count) + take(first - fresh[:-1], owner)
