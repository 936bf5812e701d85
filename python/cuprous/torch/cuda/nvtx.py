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
    """Begins a range within the current one, for NVIDIA's tools.

    Parameters
    ----------
    msg : str
        The text.

    Returns
    -------
    int
        Its nesting level, from 0.

    See Also
    --------
    torch.cuda.nvtx.range_pop, torch.cuda.nvtx.range

    Examples
    --------
    >>> level = torch.cuda.nvtx.range_push("step")
    >>> level = torch.cuda.nvtx.range_pop()
    """
    level = _core.nvtx_push(msg)
    return _NOT_TRACKED if level is None else level


def range_pop() -> int:
    """Ends the current range of this thread.

    Returns
    -------
    int
        Its nesting level, from 0.

    See Also
    --------
    torch.cuda.nvtx.range_push, torch.cuda.nvtx.range

    Examples
    --------
    >>> level = torch.cuda.nvtx.range_push("step")
    >>> level = torch.cuda.nvtx.range_pop()
    """
    level = _core.nvtx_pop()
    return _NOT_TRACKED if level is None else level


def range_start(msg: str) -> int:
    """Begins a range that `range_end` may end in any thread.

    Parameters
    ----------
    msg : str
        The text.

    Returns
    -------
    int
        The range's number.

    See Also
    --------
    torch.cuda.nvtx.range_end, torch.cuda.nvtx.range_push

    Examples
    --------
    >>> torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("step"))
    """
    return _core.nvtx_start(msg) or 0


def range_end(range_id: int) -> None:
    """Ends a range.

    Parameters
    ----------
    range_id : int
        Its number.

    See Also
    --------
    torch.cuda.nvtx.range_start

    Examples
    --------
    >>> torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("step"))
    """
    _core.nvtx_end(range_id)


def mark(msg: str) -> None:
    """Marks a point in time for NVIDIA's tools.

    Parameters
    ----------
    msg : str
        The text.

    See Also
    --------
    torch.cuda.nvtx.range, torch.cuda.nvtx.range_push

    Examples
    --------
    >>> torch.cuda.nvtx.mark("start")
    """
    _core.nvtx_mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Returns a context manager and decorator that marks a range.

    Parameters
    ----------
    msg : str
        The text.
    *args : any
        What is inserted into the text by `str.format`.
    **kwargs : any
        What is inserted by name.

    Returns
    -------
    context manager

    See Also
    --------
    torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop, torch.cuda.nvtx.mark

    Examples
    --------
    >>> with torch.cuda.nvtx.range("step {}", 1):
    ...     x = torch.ones(2) + 1
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]
