"""Handles of hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class RemovableHandle:
    """Removes a hook: by `remove()`, or at the end of a `with` block."""

    def __init__(self, remove_hook: Callable[[], Any]) -> None:
        self._remove_hook: Callable[[], Any] | None = remove_hook

    def remove(self) -> None:
        """Removes the hook. Later calls have no effect."""
        if self._remove_hook is not None:
            self._remove_hook()
            self._remove_hook = None

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()
