"""`torch.cpu`: the functions of devices, for the CPU."""

from __future__ import annotations

import contextlib
from typing import Any


def is_available() -> bool:
    """Returns True.

    Returns
    -------
    bool

    See Also
    --------
    torch.cpu.current_device, torch.cpu.set_device, torch.cpu.device_count

    Examples
    --------
    >>> torch.cpu.is_available()
    True
    """
    return True


is_initialized = is_available


def device_count() -> int:
    """Returns 1.

    Returns
    -------
    int

    See Also
    --------
    torch.cpu.is_available, torch.cpu.current_device, torch.cpu.set_device

    Examples
    --------
    >>> torch.cpu.device_count()
    1
    """
    return 1


def current_device() -> str:
    """Returns "cpu".

    Returns
    -------
    str

    See Also
    --------
    torch.cpu.set_device, torch.cpu.device_count, torch.cpu.is_available

    Examples
    --------
    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Has no effect, because results are waited for where they are read.

    Parameters
    ----------
    device : device or str, optional
        Has no effect.

    See Also
    --------
    torch.cpu.current_stream, torch.cpu.stream

    Examples
    --------
    >>> torch.cpu.synchronize()
    """


def set_device(device: Any) -> None:
    """Has no effect, because there is one CPU.

    Parameters
    ----------
    device : device or str
        Has no effect.

    See Also
    --------
    torch.cpu.device_count, torch.cpu.is_available, torch.cpu.current_device

    Examples
    --------
    >>> torch.cpu.set_device("cpu")
    """


class Stream:
    """A stand-in for a stream, because the CPU has none.

    Parameters
    ----------
    priority : int, default -1
        Has no effect.

    See Also
    --------
    torch.cpu.current_stream, torch.cpu.synchronize, torch.cuda.Stream

    Examples
    --------
    >>> stream = torch.cpu.Stream()
    """

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Has no effect.

        Parameters
        ----------
        stream : Stream
            Has no effect.

        Examples
        --------
        >>> torch.cpu.Stream().wait_stream(torch.cpu.Stream())
        """


def current_stream(device: Any = None) -> Stream:
    """Returns a stand-in for a stream.

    Parameters
    ----------
    device : device or str, optional
        Has no effect.

    Returns
    -------
    Stream

    See Also
    --------
    torch.cpu.stream, torch.cpu.synchronize

    Examples
    --------
    >>> stream = torch.cpu.current_stream()
    """
    return Stream()


def stream(stream: Any) -> contextlib.nullcontext[None]:
    """Returns a context manager without effect.

    Parameters
    ----------
    stream : Stream
        Has no effect.

    Returns
    -------
    nullcontext
        A context manager.

    See Also
    --------
    torch.cpu.synchronize, torch.cpu.current_stream

    Examples
    --------
    >>> with torch.cpu.stream(torch.cpu.Stream()):
    ...     x = torch.ones(2)
    """
    return contextlib.nullcontext()


__all__ = [
    "Stream", "current_device", "current_stream", "device_count", "is_available", "is_initialized", "set_device",
    "stream",
    "synchronize",
]  # fmt: skip
