"""`cupy.cuda.nvtx`: named ranges and marks for NVIDIA's tools (Nsight Systems, Nsight Compute).

No library is needed. Without a tool the functions do nothing. Ranges cover the time that Python spends in them;
programs get ranges of their own when they are submitted to the device. `torch.profiler.record_function` also names
parts for `cuprous.profile`.
"""

from __future__ import annotations

from cuprous import _core

#: The ten colors that `id_color` counts.
_COLORS = (
    0xFF00FF00, 0xFF007FFF, 0xFF7F00FF, 0xFFFF0000, 0xFF7FFF00, 0xFF00FF7F, 0xFF0000FF, 0xFFFF007F, 0xFFFF7F00,
    0xFF7F7F7F,
)  # fmt: skip

available = True


def _color(number: int) -> int | None:
    return _COLORS[number % len(_COLORS)] if number >= 0 else None


def Mark(message: str, id_color: int = -1) -> None:
    """Marks an event for NVIDIA's tools.

    Parameters
    ----------
    message : str
        The text.
    id_color : int, default -1
        The number of a color; a negative one leaves the color to the tool.

    See Also
    --------
    cuda.nvtx.MarkC, cuda.nvtx.RangePush

    Examples
    --------
    >>> cuda.nvtx.Mark("start")
    """
    _core.nvtx_mark(message, _color(id_color))


def MarkC(message: str, color: int = 0) -> None:
    """Marks an event in a color for NVIDIA's tools.

    Parameters
    ----------
    message : str
        The text.
    color : int, default 0
        The color, 0xAARRGGBB.

    Raises
    ------
    OverflowError
        If the color has more than 32 bits, or is negative.

    See Also
    --------
    cuda.nvtx.Mark, cuda.nvtx.RangePushC

    Examples
    --------
    >>> cuda.nvtx.MarkC("start", 0xFF00FF00)
    """
    _core.nvtx_mark(message, color)


def RangePush(message: str, id_color: int = -1) -> None:
    """Begins a range within the current one. `RangePop` ends it.

    Parameters
    ----------
    message : str
        The text.
    id_color : int, default -1
        The number of a color; a negative one leaves the color to the tool.

    See Also
    --------
    cuda.nvtx.RangePop, cuda.nvtx.RangePushC, cuda.nvtx.RangeStart

    Examples
    --------
    >>> cuda.nvtx.RangePush("step")
    >>> cuda.nvtx.RangePop()
    """
    _core.nvtx_push(message, _color(id_color))


def RangePushC(message: str, color: int = 0) -> None:
    """Begins a range in a color within the current one. `RangePop` ends it.

    Parameters
    ----------
    message : str
        The text.
    color : int, default 0
        The color, 0xAARRGGBB.

    Raises
    ------
    OverflowError
        If the color has more than 32 bits, or is negative.

    See Also
    --------
    cuda.nvtx.RangePop, cuda.nvtx.RangePush, cuda.nvtx.MarkC

    Examples
    --------
    >>> cuda.nvtx.RangePushC("step", 0xFF00FF00)
    >>> cuda.nvtx.RangePop()
    """
    _core.nvtx_push(message, color)


def RangePop() -> None:
    """Ends the range of this thread that was begun last.

    See Also
    --------
    cuda.nvtx.RangePush, cuda.nvtx.RangePushC

    Examples
    --------
    >>> cuda.nvtx.RangePush("step")
    >>> cuda.nvtx.RangePop()
    """
    _core.nvtx_pop()


def RangeStart(message: str | None, color: int | None) -> int:
    """Begins a range that `RangeEnd` ends in any thread.

    Parameters
    ----------
    message : str or None
        The text.
    color : int or None
        The color, 0xAARRGGBB; None leaves it to the tool.

    Returns
    -------
    int
        The range's number; 0 if no tool is attached.

    See Also
    --------
    cuda.nvtx.RangeEnd, cuda.nvtx.RangePush

    Examples
    --------
    >>> number = cuda.nvtx.RangeStart("step", None)
    >>> cuda.nvtx.RangeEnd(number)
    """
    return _core.nvtx_start(message or "", color) or 0


def RangeEnd(range_id: int) -> None:
    """Ends a range.

    Parameters
    ----------
    range_id : int
        Its number.

    See Also
    --------
    cuda.nvtx.RangeStart

    Examples
    --------
    >>> cuda.nvtx.RangeEnd(cuda.nvtx.RangeStart("step", None))
    """
    _core.nvtx_end(range_id)


__all__ = ["Mark", "MarkC", "RangeEnd", "RangePop", "RangePush", "RangePushC", "RangeStart", "available"]
