"""Implicit copies between host and device: counted by source line, warned about, and rejected on request.

NumPy, matplotlib, pandas and others read device arrays, and NumPy arrays can be operands of device arrays. That is
nearly free on the CPU. On a GPU it is a transfer.
"""

from __future__ import annotations

import sys
import threading
import warnings
from typing import Any

from cuprous import _core

ndarray = _core.ndarray

#: Number of bytes above which a line causes a warning.
LARGE = 1 << 20
_MODES = ("allow", "warn", "refuse")


class ImplicitConversionError(TypeError):
    """An array would be copied to the host, or exposed to other code, implicitly. Raised in mode "refuse" of
    `set_transfers`.

    See Also
    --------
    TransferWarning, set_transfers

    Examples
    --------
    >>> issubclass(cp.ImplicitConversionError, TypeError)
    True
    """


class TransferWarning(UserWarning):
    """Warning for a source line that implicitly copies a large array between host and device.

    See Also
    --------
    ImplicitConversionError, set_transfers

    Examples
    --------
    >>> issubclass(cp.TransferWarning, UserWarning)
    True
    """


class _LineCounts:
    """The copies of one source line in one direction."""

    __slots__ = ("bytes", "copies")

    def __init__(self) -> None:
        self.copies = self.bytes = 0


class _State:
    mode = "warn"
    #: By direction ("to the host", "to the device") and line.
    lines: dict[tuple[str, str], _LineCounts] = {}  # noqa: RUF012 (one for the process)
    lock = threading.Lock()


class set_transfers:
    """Sets how implicit copies between host and device are treated: `numpy.asarray(a)` or `pyplot.plot(a)` of an array
    on a GPU, and NumPy arrays as operands of arrays on a GPU.

    Explicit copies (`get`, `asnumpy`, `asarray`) always work. At the end of a `with` statement the previous mode is
    restored. `explain()` lists the copies with their lines.

    Parameters
    ----------
    mode : str
        "warn" (the default) copies, and warns once for each line that copies more than 1 MiB; "allow" copies without a
        warning; "refuse" raises `TypeError`, as CuPy does, also on the CPU.

    Raises
    ------
    ValueError
        For another mode.

    See Also
    --------
    TransferWarning, ImplicitConversionError, asnumpy

    Examples
    --------
    >>> with cp.set_transfers("refuse"):
    ...     np.asarray(cp.ones(3))
    Traceback (most recent call last):
        ...
    cuprous.ImplicitConversionError: Implicit conversion to a NumPy array is not allowed. Please use `.get()` ...
    """

    def __init__(self, mode: str) -> None:
        if mode not in _MODES:
            raise ValueError(f"[set_transfers] mode must be one of {', '.join(map(repr, _MODES))} (got {mode!r})")
        self._before = _State.mode
        _State.mode = mode

    def __enter__(self) -> None:
        """Does nothing: the mode is set already."""

    def __exit__(self, *exc: object) -> None:
        _State.mode = self._before


def get_transfers() -> dict[str, Any]:
    """Returns what was implicitly copied between host and device so far.

    Returns
    -------
    dict
        A dictionary: "mode" of `set_transfers`, the total number of "copies" and "bytes", and "lines", a dictionary
        from (direction, "file:line") to (copies, bytes).

    See Also
    --------
    set_transfers

    Examples
    --------
    >>> cp.get_transfers()["mode"]
    'warn'
    """
    with _State.lock:
        lines = {key: (line.copies, line.bytes) for key, line in _State.lines.items()}
    return {
        "mode": _State.mode, "copies": sum(copies for copies, _ in lines.values()),
        "bytes": sum(size for _, size in lines.values()), "lines": lines,
    }  # fmt: skip


def refuses() -> bool:
    """Returns true if implicit copies are errors."""
    return _State.mode == "refuse"


def refuse_reading() -> None:
    """Raises if the mode forbids implicit copies to the host.

    Raises
    ------
    ImplicitConversionError
        In the mode "refuse".
    """
    if _State.mode == "refuse":
        raise ImplicitConversionError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )


def count_download(array: ndarray) -> None:
    """Counts an implicit copy of an array to the host. Raises like `refuse_reading`."""
    refuse_reading()
    if array.device_name != "cpu":
        _record("to the host", array.nbytes, "use .get() where the copy is wanted")


def count_upload(x: Any, device: str) -> None:
    """Counts an implicit copy of a NumPy operand to a device.

    Raises
    ------
    TypeError
        In the mode "refuse".
    """
    if _State.mode == "refuse":
        raise TypeError(f"Unsupported type {type(x)}; move it to the device with cp.asarray(...) first")
    if device != "cpu":
        _record("to the device", int(getattr(x, "nbytes", 0)), "use cp.asarray(...) once, before it is needed")


def _record(direction: str, size: int, hint: str) -> None:
    location = _caller_location()
    with _State.lock:
        line = _State.lines.setdefault((direction, location), _LineCounts())
        line.copies += 1
        line.bytes += size
        first = size > LARGE >= line.bytes - size
    if first and _State.mode == "warn":
        text = f"{location}: an array of {size} bytes is implicitly copied {direction}; {hint}"
        # The text names the line, which may be far up the stack.
        warnings.warn(TransferWarning(text), stacklevel=2)


def _caller_location() -> str:
    """Returns the innermost source line of the user's program, or of a library if only libraries are on the stack."""
    package = __file__.rpartition("_common")[0]
    frame: Any = sys._getframe(2)
    library = "unknown"
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((package, "<frozen ")):
            here = f"{file}:{frame.f_lineno}"
            if "-packages" not in file:  # site-packages, dist-packages
                return here
            library = here if library == "unknown" else library
        frame = frame.f_back
    return library


def report() -> str:
    """Returns the part of `explain()` about implicit copies."""
    with _State.lock:
        lines = sorted(_State.lines.items(), key=lambda item: -item[1].bytes)
    return "".join(
        f"implicitly copied {direction}: {line.copies} x, {line.bytes} bytes in all, at {location}\n"
        for (direction, location), line in lines
    )


__all__ = ["ImplicitConversionError", "TransferWarning", "get_transfers", "set_transfers"]
