"""SciPy's names that there is no function for here: each raises when called and names the nearest alternative."""

from __future__ import annotations

from typing import Any

from cuprous._unsupported import Unsupported


class Absent(Unsupported):
    """A name of SciPy's without a function here. Calling it raises NotImplementedError.

    Args:
        name: its name.
        alternative: what to use instead.
    """

    def __init__(self, name: str, alternative: str) -> None:
        self._alternative = alternative
        super().__init__(name)

    @property
    def alternative(self) -> str:
        """What to use instead."""
        return self._alternative


def absent(module: str, name: str, alternatives: dict[str, str]) -> Any:
    """What a module's `__getattr__` returns.

    Raises:
        AttributeError: for a name that is not in the table.
    """
    if name in alternatives:
        return Absent(name, alternatives[name])
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
