"""`cupy.cuda.nvtx`: names for parts of a program, which NVIDIA's tools (Nsight Systems, Nsight Compute) show.

No library is needed. Without a tool nothing happens. Ranges name what Python does meanwhile; programs have ranges of
their own when they are given to the device. `torch.profiler.record_function` names parts for `cuprous.profile` too.
"""

from __future__ import annotations

from cuprous import _core

#: The ten colours that `id_color` counts.
_COLORS = (
    0xFF00FF00, 0xFF007FFF, 0xFF7F00FF, 0xFFFF0000, 0xFF7FFF00, 0xFF00FF7F, 0xFF0000FF, 0xFFFF007F, 0xFFFF7F00,
    0xFF7F7F7F,
)  # fmt: skip

available = True


def _color(number: int) -> int | None:
    return _COLORS[number % len(_COLORS)] if number >= 0 else None


def Mark(message: str, id_color: int = -1) -> None:
    """Something took place; a negative `id_color` leaves the colour to the tool."""
    _core.nvtx_mark(message, _color(id_color))


def MarkC(message: str, color: int = 0) -> None:
    """Something took place, in a colour: 0xAARRGGBB.

    Raises:
        OverflowError: it has more than 32 bits, or is negative.
    """
    _core.nvtx_mark(message, color)


def RangePush(message: str, id_color: int = -1) -> None:
    """Begins a range within the one that was begun last; `RangePop` ends it."""
    _core.nvtx_push(message, _color(id_color))


def RangePushC(message: str, color: int = 0) -> None:
    """Begins a range, in a colour: 0xAARRGGBB.

    Raises:
        OverflowError: it has more than 32 bits, or is negative.
    """
    _core.nvtx_push(message, color)


def RangePop() -> None:
    """Ends the range of this thread that was begun last."""
    _core.nvtx_pop()


def RangeStart(message: str | None, color: int | None) -> int:
    """Begins a range that `RangeEnd` ends, from any thread; its number, 0 where no tool listens."""
    return _core.nvtx_start(message or "", color) or 0


def RangeEnd(range_id: int) -> None:
    """Ends it."""
    _core.nvtx_end(range_id)


__all__ = ["Mark", "MarkC", "RangeEnd", "RangePop", "RangePush", "RangePushC", "RangeStart", "available"]
