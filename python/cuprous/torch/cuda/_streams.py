"""Streams and events under PyTorch's names. The engine runs its work in order on one stream, so a program written for
several streams computes the same results, without concurrency."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous.cuda import _stream as below


class Event(below.Event):
    """A point in the engine's work. Two events measure the time between them.

    Parameters
    ----------
    enable_timing : bool, default False
        Whether it measures time.
    blocking : bool, default False
        Has no effect.
    interprocess : bool, default False
        For PyTorch's signature; only False.

    See Also
    --------
    torch.Stream

    Examples
    --------
    >>> start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    >>> start.record()
    >>> x = torch.ones(2) + 1
    >>> end.record()
    >>> end.synchronize()
    >>> start.elapsed_time(end) >= 0
    True
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        super().__init__(blocking, not enable_timing, interprocess)
        self._recorded = False

    def record(self, stream: Any = None) -> None:
        """Records the event after all work so far.

        Parameters
        ----------
        stream : Stream, optional
            The stream, by default the current one.

        Examples
        --------
        >>> event = torch.cuda.Event()
        >>> event.record()
        """
        self._recorded = True
        _core.flush()
        super().record(None)

    def query(self) -> bool:
        """Returns True if the event has been reached.

        Returns
        -------
        bool

        Examples
        --------
        >>> event = torch.cuda.Event()
        >>> event.record()
        >>> event.synchronize()
        >>> event.query()
        True
        """
        return self.done

    def wait(self, stream: Any = None) -> None:
        """Has no effect. All work runs in order, so later work waits anyway.

        Parameters
        ----------
        stream : Stream, optional
            The stream, by default the current one.

        Examples
        --------
        >>> torch.cuda.Event().wait()
        """

    def elapsed_time(self, end_event: Event) -> float:
        """Returns the time from this event to another, in milliseconds.

        Parameters
        ----------
        end_event : Event
            The other event.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            Unless both were made with `enable_timing=True` and recorded.

        Examples
        --------
        >>> start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        >>> start.record()
        >>> end.record()
        >>> end.synchronize()
        >>> start.elapsed_time(end) >= 0
        True
        """
        if self.disable_timing or end_event.disable_timing:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._recorded and end_event._recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        end_event.synchronize()
        return self._native.elapsed_ms(end_event._native)


class Stream:
    """A stream. All streams stand for the one order in which work runs.

    Parameters
    ----------
    device : device or str, optional
        Has no effect.
    priority : int, default 0
        For PyTorch's signature; only 0.
    **kwargs : any
        For PyTorch's signature; none are supported.

    See Also
    --------
    torch.Event

    Examples
    --------
    >>> with torch.cuda.stream(torch.cuda.Stream()):
    ...     x = torch.ones(2) + 1
    """

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        if priority or kwargs:
            raise NotImplementedError("[Stream] priority= and handles are not supported")
        self.device = device

    def synchronize(self) -> None:
        """Waits until all recorded work is done.

        Examples
        --------
        >>> torch.cuda.Stream().synchronize()
        """
        _core.synchronize()

    def query(self) -> bool:
        """Returns true if all work so far is done.

        Returns
        -------
        bool

        Examples
        --------
        >>> stream = torch.cuda.Stream()
        >>> stream.synchronize()
        >>> stream.query()
        True
        """
        return _core.Stream().query()

    def wait_stream(self, stream: Any) -> None:
        """Has no effect, because all work runs in order.

        Parameters
        ----------
        stream : Stream
            The stream, by default the current one.

        Examples
        --------
        >>> torch.cuda.Stream().wait_stream(torch.cuda.Stream())
        """

    def wait_event(self, event: Event) -> None:
        """Has no effect, because all work runs in order.

        Parameters
        ----------
        event : Event
            The event.

        Examples
        --------
        >>> torch.cuda.Stream().wait_event(torch.cuda.Event())
        """

    def record_event(self, event: Event | None = None) -> Event:
        """Records an event after all work so far.

        Parameters
        ----------
        event : Event, optional
            An event, by default a new one.

        Returns
        -------
        Event
            The event.

        Examples
        --------
        >>> event = torch.cuda.Stream().record_event()
        """
        event = Event() if event is None else event
        event.record()
        return event

    def __enter__(self) -> Stream:
        _current.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _current.pop()


_default = Stream()
_current = [_default]


def current_stream(device: Any = None) -> Stream:
    """Returns the stream of the innermost `with` block.

    Parameters
    ----------
    device : device or str, optional
        Has no effect.

    Returns
    -------
    Stream

    See Also
    --------
    torch.accelerator.set_stream, torch.accelerator.synchronize

    Examples
    --------
    >>> stream = torch.cuda.current_stream()
    """
    return _current[-1]


def default_stream(device: Any = None) -> Stream:
    """Returns the stream outside of any `with` block.

    Parameters
    ----------
    device : device or str, optional
        Has no effect.

    Returns
    -------
    Stream

    See Also
    --------
    torch.cuda.stream, torch.cuda.is_current_stream_capturing

    Examples
    --------
    >>> stream = torch.cuda.default_stream()
    """
    return _default


def is_current_stream_capturing() -> bool:
    """Returns False: programs become graphs by themselves, and no user's graph is captured.

    Returns
    -------
    bool

    See Also
    --------
    torch.cuda.default_stream, torch.cuda.stream

    Examples
    --------
    >>> torch.cuda.is_current_stream_capturing()
    False
    """
    return False


def stream(stream: Stream | None) -> Any:
    """Returns a context manager that makes a stream the current one.

    Parameters
    ----------
    stream : Stream or None
        The stream; None has no effect.

    Returns
    -------
    context manager

    See Also
    --------
    torch.cuda.is_current_stream_capturing, torch.cuda.default_stream

    Examples
    --------
    >>> with torch.cuda.stream(torch.cuda.Stream()):
    ...     x = torch.ones(2) + 1
    """
    return current_stream() if stream is None else stream


__all__ = ["Event", "Stream", "current_stream", "default_stream", "is_current_stream_capturing", "stream"]
