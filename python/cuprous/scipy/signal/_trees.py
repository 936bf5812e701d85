"""Binary trees of maxima over a vector, for queries of the previous greater element and of range maxima. Each level
halves the one below. A batch of queries takes two gathers for each level."""

from __future__ import annotations

import math
from typing import Any

import cuprous as cp
from cuprous import _core

ndarray = _core.ndarray
_map = _core.map


class Maxima:
    """Maxima over blocks of 1, 2, 4, … elements of a float vector; NaN counts as infinity.

    Parameters
    ----------
    x : ndarray
        A vector with at least one element.
    """

    def __init__(self, x: ndarray) -> None:
        level = _map("where", cp.isnan(x), math.inf, x)
        levels = [level]
        while level.size > 1:
            if level.size % 2:
                level = _core.pad(level, [0], [1], "constant", -math.inf)
            level = cp.max(level.reshape([level.size // 2, 2]), axis=1)
            levels.append(level)
        self._flat = cp.concatenate(levels)
        self._starts = [0]
        for level in levels[:-1]:
            self._starts.append(self._starts[-1] + level.size)

    def _at(self, level: int, node: ndarray, valid: ndarray) -> ndarray:
        return _core.gather(self._flat, _map("where", valid, node, 0) + self._starts[level])

    def previous(self, end: ndarray, bound: ndarray, equal: bool) -> ndarray:
        """Returns the last index before `end` whose element is greater than `bound` (or equal, if `equal`); -1 if none
        is."""
        beats = "greater_equal" if equal else "greater"
        node, found, size = end, cp.full(end.shape, -1), end  # `size`: the number of nodes of this level before `end`
        for level in range(len(self._starts)):  # upward: the nodes that cover everything before `end`, nearest first
            alone = _map("logical_and", size % 2 == 1, found < 0)
            hit = _map("logical_and", alone, _map(beats, self._at(level, size - 1, alone), bound))
            node, found = _map("where", hit, size - 1, node), _map("where", hit, level, found)
            size = size // 2
        for level in range(len(self._starts) - 2, -1, -1):  # downward: to the last element above the bound
            above = found > level
            right = node * 2 + 1
            hit = _map("logical_and", above, _map(beats, self._at(level, right, above), bound))
            node = _map("where", above, _map("where", hit, right, right - 1), node)
        return _map("where", found < 0, -1, node)

    def over(self, start: ndarray, stop: ndarray) -> ndarray:
        """Returns the maximum of the elements from `start` to `stop` (exclusive); -inf for an empty range."""
        result: Any = _core.full(start.shape, -math.inf, self._flat.dtype_name)
        for level in range(len(self._starts)):
            left = _map("logical_and", start % 2 == 1, start < stop)
            result = _map("where", left, _map("maximum", result, self._at(level, start, left)), result)
            start = _map("where", left, start + 1, start)
            right = _map("logical_and", stop % 2 == 1, start < stop)
            stop = _map("where", right, stop - 1, stop)
            result = _map("where", right, _map("maximum", result, self._at(level, stop, right)), result)
            start, stop = start // 2, stop // 2
        return result
