"""Placeholders for SciPy functions that are not supported: each raises when called and names the nearest
alternative."""

from __future__ import annotations

from typing import Any

from cuprous._unsupported import Unsupported


class Absent(Unsupported):
    """A placeholder for an unsupported SciPy function. Calling it raises NotImplementedError.

    Parameters
    ----------
    name : str
        The function's name.
    alternative : str
        What to use instead.
    """

    def __init__(self, name: str, alternative: str) -> None:
        self._alternative = alternative
        super().__init__(name)

    @property
    def unsupported(self) -> str:
        """What to use instead."""
        return self._alternative


def absent(module: str, name: str, alternatives: dict[str, str]) -> Any:
    """Returns the placeholder for a name, as the result of a module's `__getattr__`.

    Raises
    ------
    AttributeError
        For a name that is not in the table.
    """
    if name in alternatives:
        return Absent(name, alternatives[name])
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
