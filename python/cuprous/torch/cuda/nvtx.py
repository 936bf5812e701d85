"""`torch.cuda.nvtx`: names for parts of a program, which NVIDIA's tools (Nsight Systems, Nsight Compute) show.

No library is needed. Without a tool nothing happens, and numbers are those that NVTX gives then: -2 and 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cuprous import _core

#: What NVTX says where nobody counts how deep ranges lie.
_NOT_TRACKED = -2


def range_push(msg: str) -> int:
    """Begins a range within the one that was begun last; how deep it lies, from 0."""
    level = _core.nvtx_push(msg)
    return _NOT_TRACKED if level is None else level


def range_pop() -> int:
    """Ends the range of this thread that was begun last; how deep it lay."""
    level = _core.nvtx_pop()
    return _NOT_TRACKED if level is None else level


def range_start(msg: str) -> int:
    """Begins a range that `range_end` ends, from any thread; its number."""
    return _core.nvtx_start(msg) or 0


def range_end(range_id: int) -> None:
    """Ends it."""
    _core.nvtx_end(range_id)


def mark(msg: str) -> None:
    """Something took place."""
    _core.nvtx_mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a `with`, or as a decorator; the arguments go into the message by `str.format`."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]
