"""Streams and events of PyCUDA's driver."""

from __future__ import annotations

from cuprous import cuda as _cuda


class Stream:
    """A stream. All work runs in order, whichever stream it names.

    See Also
    --------
    pycuda.driver.Event, pycuda.driver.memcpy_htod_async

    Examples
    --------
    >>> stream = drv.Stream()
    >>> stream.synchronize()
    >>> stream.is_done()
    True
    """

    def __init__(self, flags: int = 0) -> None:
        self._stream = _cuda.Stream()

    @property
    def handle(self) -> int:
        """The stream's handle."""
        return self._stream.ptr

    def synchronize(self) -> None:
        """Waits for all work.

        Examples
        --------
        >>> drv.Stream().synchronize()
        """
        self._stream.synchronize()

    def is_done(self) -> bool:
        """Returns true if all work has finished.

        Examples
        --------
        >>> drv.Context.synchronize()
        >>> drv.Stream().is_done()
        True
        """
        return self._stream.done

    def wait_for_event(self, evt: Event) -> None:
        """Does nothing, as later work always follows the event.

        Examples
        --------
        >>> drv.Stream().wait_for_event(drv.Event().record())
        """
        evt.synchronize()


class Event:
    """A point in the device's work; the time between two events can be measured.

    See Also
    --------
    pycuda.driver.Stream, pycuda.driver.event_flags

    Examples
    --------
    >>> start, end = drv.Event(), drv.Event()
    >>> _ = start.record()
    >>> y = gpuarray.arange(10, dtype=np.float32) * 2
    >>> _ = end.record().synchronize()
    >>> end.time_since(start) >= 0
    True
    """

    def __init__(self, flags: int = 0) -> None:
        self._event = _cuda.Event()

    def record(self, stream: Stream | None = None) -> Event:
        """Records the event after all work so far.

        Examples
        --------
        >>> _ = drv.Event().record()
        """
        self._event.record()
        return self

    def synchronize(self) -> Event:
        """Waits for the event.

        Examples
        --------
        >>> _ = drv.Event().record().synchronize()
        """
        self._event.synchronize()
        return self

    def query(self) -> bool:
        """Returns true if the event has been reached.

        Examples
        --------
        >>> drv.Event().record().synchronize().query()
        True
        """
        return self._event.query()

    def time_since(self, event: Event) -> float:
        """Returns the milliseconds since an earlier event.

        Examples
        --------
        >>> start = drv.Event().record()
        >>> end = drv.Event().record().synchronize()
        >>> end.time_since(start) >= 0
        True
        """
        return _cuda.get_elapsed_time(event._event, self._event)

    def time_till(self, event: Event) -> float:
        """Returns the milliseconds until a later event.

        Examples
        --------
        >>> start = drv.Event().record()
        >>> end = drv.Event().record().synchronize()
        >>> start.time_till(end) >= 0
        True
        """
        return _cuda.get_elapsed_time(self._event, event._event)


__all__ = ["Event", "Stream"]
