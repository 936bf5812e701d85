"""`torch.cuda.nvtx`: named ranges in a program, which NVIDIA's tools (Nsight Systems, Nsight Compute) show.

No library is needed. Without such a tool the functions have no effect and return what NVTX then returns: -2 and 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cuprous import _core

#: NVTX's result if no tool tracks the nesting level.
_NOT_TRACKED = -2


def range_push(msg: str) -> int:
    """Begins a range nested in the current one; returns its nesting level, from 0."""
    level = _core.nvtx_push(msg)
    return _NOT_TRACKED if level is None else level


def range_pop() -> int:
    """Ends the current range of this thread; returns its nesting level."""
    level = _core.nvtx_pop()
    return _NOT_TRACKED if level is None else level


def range_start(msg: str) -> int:
    """Begins a range that `range_end` may end in any thread; returns its id."""
    return _core.nvtx_start(msg) or 0


def range_end(range_id: int) -> None:
    """Ends the range with an id."""
    _core.nvtx_end(range_id)


def mark(msg: str) -> None:
    """Marks a point in time."""
    _core.nvtx_mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Context manager and decorator that marks a range; the arguments are inserted into the message by `str.format`."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]
