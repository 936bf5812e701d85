"""`torch.cpu`: the functions of devices, for the CPU."""

from __future__ import annotations

import contextlib
from typing import Any


def is_available() -> bool:
    """Returns True."""
    return True


is_initialized = is_available


def device_count() -> int:
    """Returns 1."""
    return 1


def current_device() -> str:
    """Returns "cpu"."""
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Has no effect: results are waited for where they are read."""


def set_device(device: Any) -> None:
    """Has no effect: there is one CPU."""


class Stream:
    """A stand-in for a stream: the CPU has none."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Has no effect."""


def current_stream(device: Any = None) -> Stream:
    """Returns a stand-in for a stream."""
    return Stream()


def stream(stream: Any) -> contextlib.nullcontext[None]:
    """Returns a context manager without effect."""
    return contextlib.nullcontext()


__all__ = [
    "Stream", "current_device", "current_stream", "device_count", "is_available", "is_initialized", "set_device",
    "stream",
    "synchronize",
]  # fmt: skip
