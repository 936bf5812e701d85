"""The sparsity pattern of compressed matrices, and operations on index arrays, on the device.

The "major" axis is the compressed one: rows of CSR, columns of CSC. A position is encoded as a key, major index * minor
extent + minor index, so that positions are sorted, merged and searched as integers.
"""

from __future__ import annotations

from cuprous import _core
from cuprous._common.casting import astype
from cuprous._common.indexing import gather_flat
from cuprous._common.masks import select_flat
from cuprous._common.operands import on_array_device
from cuprous._functions.joining import concatenate

ndarray = _core.ndarray

#: The offsets are padded to a multiple of this many elements, so that the indices behind them are aligned.
_PADDING = 32


def index_dtype(*sizes: int) -> str:
    """Returns the smallest index dtype that can hold `sizes`."""
    return "int32" if max(sizes, default=0) < 1 << 31 else "int64"


def arange(n: int) -> ndarray:
    """Returns 0, …, n - 1 as an array that occupies no memory until it is materialized."""
    return _core.iota((n,), (1,), 0)


def starts_space(majors: int) -> int:
    """Returns the number of elements that precede the indices in a packed pattern."""
    return (majors + 1 + _PADDING - 1) // _PADDING * _PADDING


class Pattern:
    """The offsets of the majors and the indices of the minors in one array, as the product kernels expect them:
    offsets, padding, indices.

    Matrices share a pattern as long as its arrays have not been exposed to the user, who may write to them. An exposed
    pattern is never shared, and a shared one is copied before it is exposed.
    """

    __slots__ = ("_exposed", "_shared", "majors", "packed")

    def __init__(self, packed: ndarray, majors: int) -> None:
        self.packed, self.majors = packed, majors
        self._shared = self._exposed = False

    @classmethod
    @on_array_device
    def of(cls, starts: ndarray, indices: ndarray, dtype: str | None = None) -> Pattern:
        """Creates a pattern by copying both arrays."""
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
        """The offset of the first value of each major, and the number of values."""
        return self.packed[: self.majors + 1]

    @property
    def indices(self) -> ndarray:
        """The minor index of each value."""
        return self.packed[starts_space(self.majors) :]

    def share(self) -> Pattern:
        """Returns a pattern that another matrix may use."""
        if self._exposed:
            return self.copy()
        self._shared = True
        return self

    def expose(self) -> Pattern:
        """Returns a pattern whose arrays may be exposed to the user."""
        own = self.copy() if self._shared else self
        own._exposed = True
        return own

    def copy(self) -> Pattern:
        """Returns a copy that shares no memory."""
        return Pattern(self.packed.copy(), self.majors)


def numbers(*values: ndarray) -> list[int]:
    """Returns the values of one-element arrays as integers, in one transfer."""
    together = _core.empty((len(values),), "int64")
    for k, value in enumerate(values):
        together[k] = value.reshape(())
    found: list[int] = _core.to_numpy(together).tolist()
    return found


@on_array_device
def running_sum(a: ndarray) -> ndarray:
    """Returns the inclusive prefix sums, in int64."""
    return _core.scan("sum", astype(a, "int64"), 0)


@on_array_device
def starts_from_counts(counts: ndarray) -> ndarray:
    """Returns the offsets (int64) of groups with these counts: an exclusive prefix sum followed by the total."""
    starts = _core.full((counts.size + 1,), 0, "int64")
    if counts.size:
        _core.update(starts[1:], running_sum(counts))
    return starts


@on_array_device
def expand(starts: ndarray, count: int) -> ndarray:
    """Returns the major index (int64) of each of `count` values."""
    if count == 0:
        return _core.empty((0,), "int64")
    marks = _core.full((count + 1,), 0, "int64")
    if starts.size > 2:
        _core.scatter(marks, astype(starts[1:-1], "int64"), 1, "add")
    return running_sum(marks)[:count]


@on_array_device
def compress(majors: ndarray, extent: int, scale: int = 1) -> ndarray:
    """Returns the offsets (int64) for sorted major indices, or for keys if `scale` is the minor extent."""
    if majors.size == 0:
        return _core.full((extent + 1,), 0, "int64")
    firsts = _core.iota((extent + 1,), (scale,), 0)
    return _core.searchsorted(majors, astype(firsts, majors.dtype_name), False)


@on_array_device
def keys(majors: ndarray, minors: ndarray, shape: tuple[int, int]) -> ndarray:
    """Returns a key for each position: int32 where that suffices, as it sorts faster."""
    name = index_dtype(shape[0] * shape[1])
    return astype(majors, name) * shape[1] + astype(minors, name)


@on_array_device
def split(positions: ndarray, extent: int) -> tuple[ndarray, ndarray]:
    """Splits keys into major and minor indices."""
    if extent == 0:
        return positions, positions
    return positions // extent, positions % extent


@on_array_device
def take(a: ndarray, index: ndarray) -> ndarray:
    """Gathers elements of a 1-d array."""
    if index.size == 0:
        return _core.empty((0,), a.dtype_name)
    return gather_flat(a, astype(index, "int64"))


def combine(dtype: str) -> str:
    """Returns the scatter operation that combines duplicate values of a dtype."""
    return "maximum" if dtype == "bool" else "add"


@on_array_device
def add_up(groups: ndarray, values: ndarray, count: int) -> ndarray:
    """Returns the sum of the values in each of `count` groups; `groups` holds the group number of each value."""
    sums = _core.full((count,), 0, values.dtype_name)
    if values.size:
        _core.scatter(sums, astype(groups, "int64"), values, combine(values.dtype_name))
    return sums


@on_array_device
def rising(positions: ndarray) -> bool:
    """Returns true if the keys are strictly increasing. Waits for the device."""
    return positions.size < 2 or not bool(_core.reduce("max", positions[1:] <= positions[:-1], None))


@on_array_device
def merge_equal(positions: ndarray, values: ndarray) -> tuple[ndarray, ndarray]:
    """Sorts the keys and sums the values of equal ones. Waits for the device, as the result's length depends on
    data."""
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


@on_array_device
def keep(mask: ndarray, *arrays: ndarray) -> tuple[ndarray, ...]:
    """Returns the elements where the mask is true. Waits for the device, as the result's length depends on data."""
    chosen = select_flat(mask, arange(mask.size))
    return tuple(take(a, chosen) for a in arrays)


@on_array_device
def union(a: ndarray, b: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Returns the sorted union of two strictly increasing key arrays, and the index of each input's keys in it.

    Sorts the concatenation: the CPU's sort detects sorted runs, and the GPU's takes the same time for any order.
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
    # Each target is written once. "maximum" avoids the search for the last write that "set" would do.
    _core.scatter(ranks, order, running_sum(first) - 1, "maximum")
    return positions, ranks[: a.size], ranks[a.size :]


@on_array_device
def find(positions: ndarray, values: ndarray, wanted: ndarray) -> ndarray:
    """Looks up the values at the `wanted` keys (of any shape) in strictly increasing `positions`; absent keys give
    zero."""
    if positions.size == 0 or wanted.size == 0:
        return _core.full(wanted.shape, 0, values.dtype_name)
    wanted = astype(wanted, positions.dtype_name)
    nearest = _core.map("minimum", _core.searchsorted(positions, wanted, False), positions.size - 1)
    zero = _core.full((), 0, values.dtype_name)
    return _core.map("where", _core.gather(positions, nearest) == wanted, _core.gather(values, nearest), zero)


@on_array_device
def replace(positions: ndarray, values: ndarray, new: ndarray, new_values: ndarray) -> tuple[ndarray, ndarray]:
    """Replaces or inserts values at `new` keys in strictly increasing `positions`; the last of duplicate new keys
    wins."""
    both = concatenate((positions, astype(new, positions.dtype_name)))
    order = _core.argsort(both)  # stable: of equal keys the newest comes last
    both, all_values = take(both, order), take(concatenate((values, new_values)), order)
    last = _core.full((both.size,), True, "bool")
    if both.size > 1:
        _core.update(last[:-1], both[1:] != both[:-1])
    kept = keep(last, both, all_values)
    return kept[0], kept[1]


@on_array_device
def pick_majors(starts: ndarray, majors: ndarray) -> tuple[ndarray, ndarray]:
    """Returns the offsets of the chosen majors and the indices of their values. Waits for the device for their
    number."""
    starts = astype(starts, "int64")
    first = take(starts, majors)
    fresh = starts_from_counts(take(starts, majors + 1) - first)
    count = int(fresh[majors.size])
    if count == 0:
        return fresh, _core.empty((0,), "int64")
    owner = expand(fresh, count)
    return fresh, arange(count) + take(first - fresh[:-1], owner)
