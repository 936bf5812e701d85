"""Selection networks: the k-th of n values by minima and maxima alone, which fuse into one kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from cuprous import _core

ndarray = _core.ndarray

#: (wire of the minimum, wire of the maximum, whether the minimum is needed, whether the maximum is needed).
Comparator = tuple[int, int, bool, bool]


def _sorting_network(n: int) -> Iterator[tuple[int, int]]:
    """Yields the comparators of Batcher's odd-even mergesort for any n (Knuth, TAOCP vol. 3, algorithm 5.2.2M)."""
    top = 1 << max((n - 1).bit_length() - 1, 0)
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            yield from ((i, i + d) for i in range(n - d) if i & p == r)
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1


@lru_cache(maxsize=64)
def selection_network(n: int, ranks: tuple[int, ...]) -> tuple[Comparator, ...]:
    """Returns the comparators that place the values of these ranks on their wires: a sorting network reduced to what
    they depend on (a backward pass keeps a comparator if one of its wires is needed later)."""
    needed = set(ranks)
    kept: list[Comparator] = []
    for low, high in reversed(list(_sorting_network(n))):
        use_low, use_high = low in needed, high in needed
        if use_low or use_high:
            kept.append((low, high, use_low, use_high))
            needed |= {low, high}
    return tuple(reversed(kept))


def select(values: Sequence[ndarray], rank: int) -> ndarray:
    """Returns, elementwise, the value of that rank (0 is the least) among arrays of one shape."""
    wires = list(values)
    for low, high, use_low, use_high in selection_network(len(wires), (rank,)):
        a, b = wires[low], wires[high]
        if use_low:
            wires[low] = _core.map("minimum", a, b)
        if use_high:
            wires[high] = _core.map("maximum", a, b)
    return wires[rank]
