"""Streams and events under PyTorch's names. The engine runs its work in order on one stream, so a program written for
several streams computes the same results, without concurrency."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous.cuda import _stream as below


class Event(below.Event):
    """A point in the engine's work. Two events measure the time between them, in milliseconds."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        super().__init__(blocking, not enable_timing, interprocess)
        self._recorded = False

    def record(self, stream: Any = None) -> None:
        """Records the event after all work so far."""
        self._recorded = True
        _core.flush()
        super().record(None)

    def query(self) -> bool:
        """Returns True if the event has been reached."""
        return self.done

    def wait(self, stream: Any = None) -> None:
        """Has no effect: all work runs in order, so later work waits anyway."""

    def elapsed_time(self, end_event: Event) -> float:
        """Returns the milliseconds from this event to another.

        Raises:
            ValueError: unless both were made with `enable_timing=True` and recorded.
        """
        if self.disable_timing or end_event.disable_timing:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._recorded and end_event._recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        end_event.synchronize()
        return self._native.elapsed_ms(end_event._native)


class Stream:
    """A stream. All streams stand for the one order in which work runs."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        if priority or kwargs:
            raise NotImplementedError("[Stream] priority= and handles are not supported")
        self.device = device

    def synchronize(self) -> None:
        """Waits until all recorded work is done."""
        _core.synchronize()

    def query(self) -> bool:
        """Returns True if all work so far is done."""
        event = Event()
        event.record()
        return event.query()

    def wait_stream(self, stream: Any) -> None:
        """Has no effect: all work runs in order."""

    def wait_event(self, event: Event) -> None:
        """Has no effect: all work runs in order."""

    def record_event(self, event: Event | None = None) -> Event:
        """Records an event after all work so far."""
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
    """Returns the stream of the innermost `with` block."""
    return _current[-1]


def default_stream(device: Any = None) -> Stream:
    """Returns the stream outside of any `with` block."""
    return _default


def stream(stream: Stream | None) -> Any:
    """Returns a context manager that makes a stream the current one."""
    return current_stream() if stream is None else stream


__all__ = ["Event", "Stream", "current_stream", "default_stream", "stream"]
