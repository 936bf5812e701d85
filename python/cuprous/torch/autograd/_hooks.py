"""Handles of hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class RemovableHandle:
    """Takes a hook away: by `remove()`, or at the end of a `with`."""

    def __init__(self, undo: Callable[[], Any]) -> None:
        self._undo: Callable[[], Any] | None = undo

    def remove(self) -> None:
        """Takes the hook away, once."""
        if self._undo is not None:
            self._undo()
            self._undo = None

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()
