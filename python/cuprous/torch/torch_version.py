"""The version as a string that compares with versions, strings and tuples."""

from __future__ import annotations

import re
from typing import Any


class TorchVersion(str):
    """A version: a string whose order is that of its numbers.

    Examples
    --------
    >>> torch.torch_version.TorchVersion("2.10.0") > "2.9.0"
    True
    """

    __slots__ = ()

    @staticmethod
    def _key(given: Any) -> tuple[int, ...]:
        parts = given if isinstance(given, (tuple, list)) else re.split(r"[.+-]", str(given))
        numbers = []
        for part in parts:
            match = re.match(r"\d+", str(part))
            if match is None:
                break
            numbers.append(int(match[0]))
        return tuple(numbers)

    def _padded(self, other: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        a, b = self._key(self), self._key(other)
        length = max(len(a), len(b))
        return a + (0,) * (length - len(a)), b + (0,) * (length - len(b))

    def __lt__(self, other: Any) -> bool:
        a, b = self._padded(other)
        return a < b

    def __le__(self, other: Any) -> bool:
        a, b = self._padded(other)
        return a <= b

    def __gt__(self, other: Any) -> bool:
        a, b = self._padded(other)
        return a > b

    def __ge__(self, other: Any) -> bool:
        a, b = self._padded(other)
        return a >= b

    def __eq__(self, other: object) -> bool:
        return (
            str(self) == other
            if isinstance(other, str)
            else self._key(self)[: len(self._key(other))] == self._key(other)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


__all__ = ["TorchVersion"]
