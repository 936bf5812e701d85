"""Helpers of the array tests: inputs by dtype and shape, and the comparison with NumPy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cuprous as cp

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
#: Every dtype that NumPy also has.
DTYPES = ["bool", *INTEGERS, *FLOATS, *COMPLEX]
#: One or two dtypes of each kind, for large tables.
SOME_DTYPES = ["bool", "int32", "uint8", "int64", "float32", "float64", "complex128"]
REAL_DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64"]

SHAPES: list[tuple[int, ...]] = [(), (1,), (5,), (0,), (3, 4), (2, 0, 3), (2, 3, 4), (1, 1)]

#: Relative tolerance by dtype.
RTOL = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-6, "float64": 1e-13, "complex64": 4e-6, "complex128": 1e-13}


def np_dtype(name: str) -> np.dtype[Any]:
    """Returns the NumPy dtype of a name, including bfloat16."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def sample(dtype: str, shape: tuple[int, ...], seed: int = 0, low: int = -6, high: int = 7) -> np.ndarray[Any, Any]:
    """Returns small values with repeats, of both signs if the dtype is signed."""
    rng = np.random.default_rng([seed, *shape])
    values = rng.integers(low, high, shape)
    kind = np_dtype(dtype).kind
    if kind == "b":
        return np.asarray(values > 0)
    if kind == "u":
        return np.asarray(np.abs(values).astype(dtype))
    if kind == "i":
        return np.asarray(values.astype(dtype))
    parts = np.asarray(values + rng.integers(0, 4, shape) / 4)
    if kind == "c":
        return np.asarray((parts + 1j * rng.integers(low, high, shape)).astype(dtype))
    return np.asarray(parts.astype(np_dtype(dtype)))


def layouts(a: np.ndarray[Any, Any]) -> Iterator[tuple[np.ndarray[Any, Any], Any]]:
    """Yields the same values as NumPy and device arrays: contiguous, transposed, strided and reversed."""
    yield a, cp.asarray(a)
    if a.ndim > 1:
        yield a.T, cp.asarray(a).T
    if a.ndim and a.size:
        wide = np.repeat(a, 2, axis=-1)
        yield wide[..., ::2], cp.asarray(wide)[..., ::2]
        yield a[..., ::-1], cp.asarray(a)[..., ::-1]
        yield a[1:], cp.asarray(a)[1:]


def hypot(x: Any, y: Any) -> Any:
    """`numpy.hypot`, which NumPy 2.5 computes as NaN for two zeros on processors with AVX-512."""
    result = np.hypot(x, y)
    return np.where((np.asarray(x) == 0) & (np.asarray(y) == 0), result.dtype.type(0), result)


def to_host(x: Any) -> Any:
    """Converts device results to NumPy's, including those in tuples and lists."""
    if isinstance(x, cp.ndarray):
        return x.get()
    if isinstance(x, (tuple, list)):
        return type(x)(to_host(i) for i in x) if not hasattr(x, "_fields") else tuple(to_host(i) for i in x)
    return x


def assert_same(
    ours: Any, theirs: Any, *, rtol: float | None = None, atol: float = 0.0, dtype: bool = True, message: str = ""
) -> None:
    """Asserts that our result has NumPy's shape, dtype and values."""
    if isinstance(theirs, (tuple, list)):
        assert isinstance(ours, (tuple, list)), f"{message}: {type(ours)} where NumPy gives {type(theirs)}"
        assert len(ours) == len(theirs), message
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine, other, rtol=rtol, atol=atol, dtype=dtype, message=message)
        return
    expected = np.asarray(theirs)
    if isinstance(ours, cp.ndarray):
        if dtype:
            assert ours.dtype == expected.dtype, f"{message}: dtype {ours.dtype}, NumPy's is {expected.dtype}"
        ours = ours.get()
    actual = np.asarray(ours)
    assert actual.shape == expected.shape, f"{message}: shape {actual.shape}, NumPy's is {expected.shape}"
    if expected.dtype.kind in "biuSUO" or (rtol == 0 and atol == 0):
        np.testing.assert_array_equal(actual, expected, err_msg=message)
        return
    tolerance = RTOL[expected.dtype.name] if rtol is None else rtol
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=tolerance, atol=atol, err_msg=message)


def assert_errors(*cases: tuple[Any, ...]) -> None:
    """Asserts that each call raises its error, with the words (a regular expression), if any, in its message."""
    for call, error, *words in cases:
        with pytest.raises(error, match=words[0] if words else None):
            call()


def outcome(function: Callable[[], Any]) -> Any:
    """Returns the function's value or the class of its error."""
    try:
        with np.errstate(all="ignore"):
            return function()
    except Exception as error:
        return error


def check(call: Callable[[Any, Any], Any], a: np.ndarray[Any, Any], b: Any = None, **options: Any) -> None:
    """Asserts that `call(xp, array)` agrees with NumPy in every layout of the array; errors agree by class."""
    for host, device in layouts(a):
        compare(lambda host=host: call(np, host), lambda device=device: call(cp, device), **options)


def alike(call: Callable[[Any], Any], **options: Any) -> None:
    """Asserts that `call(xp)` agrees for NumPy and Cuprous; errors agree by class."""
    compare(lambda: call(np), lambda: call(cp), **options)


def compare(theirs: Callable[[], Any], ours: Callable[[], Any], **options: Any) -> None:
    """Asserts that two calls return the same value or raise related errors."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(theirs)
        actual = outcome(lambda: materialized(ours()))
    if isinstance(expected, Exception):
        assert isinstance(actual, Exception), f"NumPy raises {expected!r}, ours gives {actual!r}"
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        assert related, f"NumPy raises {expected!r}, ours {actual!r}"
        return
    if isinstance(actual, Exception):
        raise actual
    assert_same(actual, expected, **options)


def materialized(x: Any) -> Any:
    """Runs pending work, so that its errors surface here."""
    to_host(x)
    return x


def resident() -> int:
    """Returns the KiB of memory of the process. Its peak would hide leaks below an earlier peak."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except FileNotFoundError:
        resource = pytest.importorskip("resource")
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def peak_of(call: Callable[[], Any]) -> int:
    """Returns the peak KiB of memory that a call adds to the process."""

    def of_status(name: str) -> int:
        text = Path("/proc/self/status").read_text(encoding="ascii")
        return int(next(line for line in text.splitlines() if line.startswith(f"{name}:")).split()[1])

    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    except OSError:
        pytest.skip("needs Linux: the peak of a single call")
    before = of_status("VmRSS")
    call()
    return of_status("VmHWM") - before
