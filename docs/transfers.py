"""What functions do on the host although their arrays are on a GPU, measured.

Each is called as the tables of tests/inputs and tests/random call it, with arrays on a second CPU that stands for a GPU
(the Python code takes the GPU's ways), while the elements that are copied to and from the host are counted.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np

import cuprous as cp
from cuprous import _core
from tests.inputs import rows, scipy_rows
from tests.random.test_bad_input import LEGACY, NEW

PACKAGE = str(cp.__path__[0])
#: Python's ways to look at elements.
_LOOKS = ("__bool__", "__int__", "__float__", "__complex__", "__index__", "item", "tolist")
#: What the calls of the tables use themselves.
_CONVERSIONS = {"array", "asarray", "get", "asnumpy"}
#: Elements of which fewer may be constants.
_SOME = 16
#: What is done on the host, from nothing to everything.
LEVELS = ("yes", "waits", "host")

#: Calls of what the tables have none of: with an array, and without.
WITH: dict[str, Callable[[Any], Any]] = {
    "save": lambda x: cp.save(io.BytesIO(), x), "savez": lambda x: cp.savez(io.BytesIO(), x),
    "savez_compressed": lambda x: cp.savez_compressed(io.BytesIO(), x),
    "savetxt": lambda x: cp.savetxt(io.StringIO(), x), "vectorize": lambda x: cp.vectorize(lambda v: v + 1)(x),
}  # fmt: skip
WITHOUT: dict[str, Callable[[], Any]] = {
    "loadtxt": lambda: cp.loadtxt(io.StringIO("1 2 3\n" * 9)), "fromiter": lambda: cp.fromiter(range(60), int),
    "genfromtxt": lambda: cp.genfromtxt(io.StringIO("1 2 3\n" * 9)), "frombuffer": lambda: cp.frombuffer(bytes(512)),
    "fromstring": lambda: cp.fromstring("1 2 3 " * 9, sep=" "),
    "fromfunction": lambda: cp.fromfunction(lambda i: i + 1, (60,)),
    "scipy.signal.firwin": lambda: scipy_rows.OURS.signal.firwin(31, 0.5),
    "scipy.signal.savgol_coeffs": lambda: scipy_rows.OURS.signal.savgol_coeffs(31, 2),
    "scipy.sparse.random": lambda: scipy_rows.OURS.sparse.random(30, 30, 0.1),
}  # fmt: skip


class Count:
    """Elements that went to the host, and the most that went to the device at once."""

    down = up = 0


def _entry() -> str | None:
    """The package's function that was called from outside; None if there is none, as a look came from outside."""
    frame, name = sys._getframe(2), None
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, name = frame.f_back, frame.f_code.co_name  # type: ignore[assignment]
    return name


@contextmanager
def counted() -> Iterator[Count]:
    """Counts what functions copy between host and device until the end of the block."""
    count, inside = Count(), [False]
    kept: list[tuple[Any, str, Any]] = [(cp.ndarray, name, getattr(cp.ndarray, name)) for name in _LOOKS]
    kept += [(_core, name, getattr(_core, name)) for name in ("to_numpy", "to_bytes", "from_numpy")]

    def counting(original: Callable[..., Any], way: str) -> Callable[..., Any]:
        def call(array: Any, *args: Any, **kwargs: Any) -> Any:
            if not inside[0] and _entry() not in (None, *_CONVERSIONS):
                if way == "down":
                    count.down += array.size
                else:
                    count.up = max(count.up, array.size)
            outermost, inside[0] = not inside[0], True
            try:
                return original(array, *args, **kwargs)
            finally:
                inside[0] = not outermost

        return call

    try:
        for owner, name, original in kept:
            setattr(owner, name, counting(original, "up" if name == "from_numpy" else "down"))
        yield count
    finally:
        for owner, name, original in kept:
            setattr(owner, name, original)


@contextmanager
def elsewhere() -> Iterator[None]:
    """New arrays are on a device that Python takes for a GPU."""
    before, stand_in = _core.get_device(), _core.stand_in_device()
    name = vars(cp.ndarray)["device_name"]
    _core.set_device(stand_in)
    cp.ndarray.device_name = property(lambda self: stand_in)  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        cp.ndarray.device_name = name  # type: ignore[method-assign]
        _core.set_device(before)


def arrays() -> list[Any]:
    """One of them fits most functions."""
    rng = np.random.default_rng(0)
    line = rng.uniform(0.1, 0.9, 276)  # the pairs of 24 things
    plane = rng.uniform(0.1, 0.9, (16, 16))
    even = plane + plane.T
    return [
        line, plane + np.eye(16), rng.integers(0, 9, 276), line > 0.5, rng.uniform(0.1, 0.9, (4, 5, 6, 3)),
        rng.integers(0, 9, 276).astype("uint8"), line + 1j * line[::-1], even - np.diag(even.diagonal()),
        rng.uniform(0.1, 0.9, (40, 3)), np.repeat([[0.2, 0.1, 0.1, 1, -0.2, 0.1]], 40, 0),
    ]  # fmt: skip


def _size(x: Any) -> int:
    if isinstance(x, (tuple, list)):
        return sum(map(_size, x))
    return int(x.size) if isinstance(x, cp.ndarray) else 0


def _counts(call: Callable[[], Any], given: int) -> tuple[int, float] | None:
    """How many elements a call looks at, and the part of the operand or result that goes over the host. None if it
    raises an error, or makes little of nothing."""
    with warnings.catch_warnings(), counted() as count:
        warnings.simplefilter("ignore")
        try:
            result = call()
            if count.up >= _SOME:  # what is made once and kept is made
                count.down = count.up = 0
                result = call()
        except Exception:
            return None
    size = max(given, _size(result))
    if size < _SOME:
        return (count.down, 0.0) if count.down or not count.up else None
    return count.down, max(count.down, count.up) / size


def level(call: Callable[[Any], Any], host: Any = None) -> int | None:
    """The level of a call with a device array of `host`'s, or with nothing; None if it raises an error."""

    def part(a: Any) -> tuple[int, float] | None:
        x = None if a is None else cp.asarray(a)
        return _counts(lambda: call(x), 0 if a is None else a.size)

    first = part(host)
    if first is None:
        return None
    down, share = first
    if share >= 0.5 and host is not None:
        # Constants and small matrices are a smaller part of more elements.
        more = part(np.tile(host, (8,) * min(host.ndim, 2) + (1,) * (host.ndim - 2)))
        share = share if more is None or more[1] > share / 2 else 0.0
    return 2 if share >= 0.5 else int(down > 0)


def levels() -> dict[str, set[int]]:
    """The levels of each function's calls, by name: "sum", "linalg.norm", "Generator.normal", "scipy.fft.dct"."""
    found: dict[str, set[int]] = {}

    def note(name: str, call: Callable[[Any], Any], host: Any = None) -> None:
        one = level(call, host)
        found.setdefault(name.split()[0], set()).update(() if one is None else (one,))

    scipy = scipy_rows.OURS
    with elsewhere():
        for host in arrays():
            for name, call in (*rows.CALLS.items(), *((name, both[0]) for name, both in rows.NOT_IN_NUMPY.items())):
                note(name, partial(call, cp), host)
            for name, call in scipy_rows.CALLS.items():
                note(f"scipy.{name}", partial(call, scipy), host)
            for name, function in WITH.items():
                note(name, function, host)
        for name, made in WITHOUT.items():
            note(name, lambda _, made=made: made())
        for name, cases in rows.NUMBERS.items():
            for given in cases:
                note(name, lambda _, name=name, given=given: rows.function(cp, name)(*given))
        for name, cases in scipy_rows.NUMBERS.items():
            module, function = name.rsplit(".", 1)
            numbers = getattr(getattr(scipy, module.replace(".", "_")), function)
            for given in cases:
                note(f"scipy.{name}", lambda _, numbers=numbers, given=given: numbers(*given))
        for prefix, drawn, make in (
            ("Generator", NEW, cp.random.default_rng),
            ("random", LEGACY, cp.random.RandomState),
        ):
            for name, given in drawn.items():
                note(f"{prefix}.{name}", lambda _, make=make, name=name, given=given: getattr(make(0), name)(
                    *given, size=512))  # fmt: skip
    return found


@cache
def words() -> dict[str, str]:
    """What the table says of each function that could be measured."""
    return {name: " or ".join(LEVELS[i] for i in sorted(found)) for name, found in levels().items() if found}
