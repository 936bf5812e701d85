"""Copies between host and device that nobody wrote down: counted, named by their lines, and refused where asked for.

NumPy, matplotlib, pandas and others read an array when they are handed one, and NumPy arrays may stand beside ours. On
the CPU that costs nothing worth saying. On a GPU it is a transfer, which a program should know of.
"""

from __future__ import annotations

import sys
import threading
import warnings
from typing import Any

from cuprous import _core

ndarray = _core.ndarray

#: Bytes above which a line is warned of.
LARGE = 1 << 20
_MODES = ("allow", "warn", "refuse")


class ImplicitConversionError(TypeError):
    """An array would be copied to the host, or shown to other code, without being asked to."""


class TransferWarning(UserWarning):
    """A large array is copied between host and device by a line that does not say so."""


class _Line:
    """What one line of a program copied in one direction."""

    __slots__ = ("bytes", "copies")

    def __init__(self) -> None:
        self.copies = self.bytes = 0


class _State:
    mode = "warn"
    #: By direction ("to the host", "to the device") and line.
    lines: dict[tuple[str, str], _Line] = {}  # noqa: RUF012 (one for the process)
    lock = threading.Lock()


class set_transfers:
    """Says what becomes of copies between host and device that a program does not ask for by name: `numpy.asarray(a)`
    or `pyplot.plot(a)` of an array on a GPU, and NumPy arrays as operands beside one.

    `get`, `asnumpy`, `asarray` and their like are asked for by name and always work.

    Args:
        mode: "warn" (the default) copies, and warns once for each line that copies more than 1 MiB; "allow" copies
            without a warning; "refuse" raises `TypeError`, as CuPy does, on the CPU too.

    Used in a `with` statement, the mode from before returns at its end. `explain()` lists the copies with their lines.

    Raises:
        ValueError: for another mode.

    Examples:
        >>> import numpy as np
        >>> import cuprous as cp
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
        """The mode is set already."""

    def __exit__(self, *exc: object) -> None:
        _State.mode = self._before


def get_transfers() -> dict[str, Any]:
    """The mode of `set_transfers`, and the copies so far: "copies" and "bytes" of all, and "lines", a dictionary from
    (direction, "file:line") to (copies, bytes)."""
    with _State.lock:
        lines = {key: (line.copies, line.bytes) for key, line in _State.lines.items()}
    return {
        "mode": _State.mode, "copies": sum(copies for copies, _ in lines.values()),
        "bytes": sum(size for _, size in lines.values()), "lines": lines,
    }  # fmt: skip


def refuses() -> bool:
    """True if copies that are not asked for are errors."""
    return _State.mode == "refuse"


def refuse_reading() -> None:
    """Raises where the mode forbids that NumPy reads an array.

    Raises:
        ImplicitConversionError: in the mode "refuse".
    """
    if _State.mode == "refuse":
        raise ImplicitConversionError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )


def leaves(array: ndarray) -> None:
    """Notes that an array is copied to the host. Errors as `refuse_reading`."""
    refuse_reading()
    if array.device_name != "cpu":
        _note("to the host", array.nbytes, "use .get() where the copy is wanted")


def arrives(x: Any, device: str) -> None:
    """Notes that an operand of NumPy's is copied to a device.

    Raises:
        TypeError: in the mode "refuse".
    """
    if _State.mode == "refuse":
        raise TypeError(f"Unsupported type {type(x)}; move it to the device with cp.asarray(...) first")
    if device != "cpu":
        _note("to the device", int(getattr(x, "nbytes", 0)), "use cp.asarray(...) once, before it is needed")


def _note(way: str, size: int, cure: str) -> None:
    where = _line()
    with _State.lock:
        line = _State.lines.setdefault((way, where), _Line())
        line.copies += 1
        line.bytes += size
        first = size > LARGE >= line.bytes - size
    if first and _State.mode == "warn":
        text = f"{where}: an array of {size} bytes is copied {way} without being asked to; {cure}"
        # The text names the line, which may be far up the stack: no level of the stack has to.
        warnings.warn(TransferWarning(text), stacklevel=2)


def _line() -> str:
    """The innermost line of the user's own program; of a library where there is none."""
    package = __file__.rpartition("_transfers")[0]
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
    """What `explain()` says of the copies."""
    with _State.lock:
        lines = sorted(_State.lines.items(), key=lambda item: -item[1].bytes)
    return "".join(
        f"copied {way} without being asked to: {line.copies} x, {line.bytes} bytes in all, at {where}\n"
        for (way, where), line in lines
    )


def host_operand(x: Any) -> bool:
    """True for what NumPy would make an array of, and what has no way of its own to compute with ours."""
    if isinstance(x, (list, tuple)):
        return True
    kind = type(x)
    if isinstance(x, (str, bytes, _core.Tensor)) or hasattr(kind, "__cuda_array_interface__"):
        return False
    if kind.__module__ == "numpy" and kind.__name__ in ("ndarray", "memmap"):
        return True
    if hasattr(kind, "__array_ufunc__") or getattr(x, "__array_priority__", 0) > ndarray.__array_priority__:  # type: ignore[attr-defined]
        return False
    return hasattr(kind, "__array__") or hasattr(kind, "__array_interface__") or isinstance(x, (bytearray, memoryview))


def beside(like: ndarray, x: Any) -> Any:
    """What an operator takes for a list or a NumPy array beside an array of ours (the native type's hook): an array on
    the same device. None where the operator is left to the other object.

    Raises:
        TypeError: for a dtype that no device has, and in the mode "refuse".
    """
    if not host_operand(x):
        return None
    from cuprous._convert import convert

    device = like.device_name
    arrives(x, device)
    before = _core.get_device()
    if before == device:
        return convert(x)
    _core.set_device(device)
    try:
        return convert(x)
    finally:
        _core.set_device(before)


def compare(a: ndarray, x: Any, equal: bool) -> Any:
    """`a == x` and `a != x` for an `x` that is neither an array of ours nor a scalar (the native type's hook).

    Objects that no device holds are compared on the host: NumPy says what they equal, element by element.
    """
    kind = type(x)
    if host_operand(x):
        try:
            other = beside(a, x)
        except TypeError:  # a list of texts, for example
            if refuses():
                raise
        else:
            return _core.map("equal" if equal else "not_equal", a, other)
    elif isinstance(x, _core.Tensor) or hasattr(kind, "__array_ufunc__") or hasattr(x, "__array_priority__"):
        return NotImplemented
    elif kind.__eq__ is object.__eq__:  # it equals nothing but itself
        return _core.to_device(_core.full(a.shape, not equal, "bool"), a.device_name)
    import numpy as np

    host = a.get()  # type: ignore[attr-defined]
    found = host.__eq__(x) if equal else host.__ne__(x)
    return found if found is NotImplemented else _core.from_numpy(np.asarray(found, bool), a.device_name)


def attach() -> None:
    """Hands the hooks to the native type."""
    _core.set_hook("operand", beside)
    _core.set_hook("compare", compare)


__all__ = ["ImplicitConversionError", "TransferWarning", "get_transfers", "set_transfers"]
