"""Names of functions that other functions create."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def named(function: _F, name: str, doc: str) -> _F:
    """Gives a function its name and docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function
