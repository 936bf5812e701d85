"""Streams and events. The engine's work runs in order on one stream; others are for hand-over and waiting."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

from cuprous import _core

_local = threading.local()


def _stack() -> list[Any]:
    if not hasattr(_local, "streams"):
        _local.streams = [Stream.null]
    return _local.streams


class _StreamBase:
    """The base class of streams."""

    _native: _core.Stream
    #: True if another library created it (Numba's name).
    external = False

    @property
    def ptr(self) -> int:
        """The stream's handle."""
        return self._native.ptr

    handle = ptr  # Numba's name

    @property
    def done(self) -> bool:
        """Returns true if all work on the stream has finished."""
        return self._native.query()

    def synchronize(self) -> None:
        """Submits the recorded operations and waits for the engine's stream and this one."""
        _core.synchronize()
        self._native.synchronize()

    def use(self) -> Any:
        """Makes it the stream that `get_current_stream` returns."""
        _stack()[-1] = self
        return self

    def __enter__(self) -> Any:
        _stack().append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        _stack().pop()

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Any]:
        """Waits for the stream at the end of the block."""
        yield self
        self.synchronize()

    def record(self, event: Event | None = None) -> Event:
        """Records an event after all work so far, and returns it."""
        if event is None:
            event = Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Waits on the host for an event, so that all later work on any stream comes after it."""
        event.synchronize()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _StreamBase) and other.ptr == self.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ptr}>"


class Stream(_StreamBase):
    """A CUDA stream, and on the CPU a name for the one order in which work runs.

    Work on arrays stays in order on the engine's stream whichever is current, so a program written for several
    streams computes the same. It does not gain concurrency by them.

    Parameters
    ----------
    null : bool, default False
        Whether it is the default stream.
    non_blocking : bool, default False
        Whether it does not wait for the default stream.
    ptds : bool, default False
        Whether it is the default stream of this thread.
    priority : int, optional
        Its priority; lower numbers come first.

    See Also
    --------
    cuda.Event, cuda.ExternalStream

    Examples
    --------
    >>> with cuda.Stream() as stream:
    ...     x = cp.ones(3) + 1
    >>> stream.synchronize()
    """

    null: ClassVar[Stream]

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        if ptds:
            raise NotImplementedError("[Stream] ptds=True is not supported; use Stream()")
        if priority is not None:
            raise NotImplementedError("[Stream] priority= is not supported; leave it out")
        self._is_null = null
        self._non_blocking = non_blocking
        self._stream: _core.Stream | None = None

    @property
    def _native(self) -> _core.Stream:  # type: ignore[override]
        if self._stream is None:  # lazily: importing this module must not initialize CUDA
            self._stream = _core.Stream(0) if self._is_null else _core.Stream(None, self._non_blocking)
        return self._stream


class ExternalStream(_StreamBase):
    """Another library's stream, which is not destroyed here.

    Parameters
    ----------
    ptr : int
        Its handle.
    device_id : int, default -1
        The number of its GPU, by default the current one.

    See Also
    --------
    cuda.Stream, cuda.Event

    Examples
    --------
    >>> cuda.ExternalStream(0).ptr
    0
    """

    external = True

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        self._native = _core.Stream(ptr)
        self.device_id = device_id


Stream.null = Stream(null=True)


def get_current_stream() -> Any:
    """Returns the stream that `with stream:` or `.use()` made current.

    Returns
    -------
    Stream
        A `Stream` or `ExternalStream`.

    See Also
    --------
    cuda.stream, cuda.default_stream

    Examples
    --------
    >>> cuda.get_current_stream().ptr >= 0
    True
    """
    return _stack()[-1]


class Event:
    """A point in the engine's work. Two of them measure time.

    Parameters
    ----------
    block : bool, default False
        Has no effect: waiting does not occupy a processor.
    disable_timing : bool, default False
        Whether the event measures no time.
    interprocess : bool, default False
        For CuPy's signature; only False.

    See Also
    --------
    cuda.ExternalStream, cuda.Stream

    Examples
    --------
    >>> start, end = cuda.Event(), cuda.Event()
    >>> start.record()
    >>> x = cp.ones(3) + 1
    >>> end.record()
    >>> end.synchronize()
    >>> cuda.get_elapsed_time(start, end) >= 0
    True
    """

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("[Event] interprocess=True is not supported; use an event within one process")
        self._native = _core.Event(not disable_timing)
        self.block = block
        self.disable_timing = disable_timing

    def record(self, stream: Any = None) -> None:
        """Records the event after all work recorded so far.

        Work is in order on one stream. What another library gave to a stream of its own is waited for.

        Parameters
        ----------
        stream : Stream, optional
            The stream, by default the current one.

        Examples
        --------
        >>> event = cuda.Event()
        >>> event.record()
        >>> event.synchronize()
        """
        if stream is not None and not isinstance(stream, Stream):
            stream.synchronize()
        self._native.record()

    def synchronize(self) -> None:
        """Waits for the event.

        Examples
        --------
        >>> event = cuda.Event()
        >>> event.record()
        >>> event.synchronize()
        >>> event.query()
        True
        """
        self._native.synchronize()

    def elapsed_time(self, end: Any) -> float:
        """Returns the time from this event to a later one.

        Parameters
        ----------
        end : Event
            The later event.

        Returns
        -------
        float
            A float, in milliseconds.

        Examples
        --------
        >>> start, end = cuda.Event(), cuda.Event()
        >>> start.record()
        >>> end.record()
        >>> end.synchronize()
        >>> start.elapsed_time(end) >= 0
        True
        """
        return get_elapsed_time(self, end)

    def query(self) -> bool:
        """Returns true if the event has been reached.

        Returns
        -------
        bool

        Examples
        --------
        >>> event = cuda.Event()
        >>> event.record()
        >>> event.synchronize()
        >>> event.query()
        True
        """
        return self._native.query()

    def wait(self, stream: Any = None) -> None:
        """Makes later work on every stream wait for the event.

        Parameters
        ----------
        stream : Stream, optional
            The stream, by default the current one.

        Examples
        --------
        >>> event = cuda.Event()
        >>> event.record()
        >>> event.wait()
        """
        self.synchronize()

    done = property(query)


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Returns the time between two events.

    Parameters
    ----------
    start_event : Event
        The first event, which was recorded.
    end_event : Event
        The second event, which was recorded.

    Returns
    -------
    float
        A float, in milliseconds.

    Raises
    ------
    ValueError
        For an event that was created with `disable_timing=True`.

    See Also
    --------
    cuda.event, cuda.event_elapsed_time

    Examples
    --------
    >>> start, end = cuda.Event(), cuda.Event()
    >>> start.record()
    >>> end.record()
    >>> end.synchronize()
    >>> cuda.get_elapsed_time(start, end) >= 0
    True
    """
    if start_event.disable_timing or end_event.disable_timing:
        raise ValueError("[get_elapsed_time] an event was made with disable_timing=True; make it without")
    end_event.synchronize()
    return start_event._native.elapsed_ms(end_event._native)
