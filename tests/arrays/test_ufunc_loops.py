"""Tests every ufunc method for every dtype, and the computation dtype selected by `dtype=` and `out=`."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.conftest import DEVICE
from tests.support import DTYPES, alike, assert_same, compare, np_dtype

if DEVICE != "cpu":  # each call compiles kernels of its own
    DTYPES = ["bool", "int32", "float32"]

UFUNCS = sorted(
    {f.__name__ for n in dir(np) if isinstance(f := getattr(np, n), np.ufunc) and not f.signature} - {"isnat"}
)
BINARY = [name for name in UFUNCS if (getattr(np, name).nin, getattr(np, name).nout) == (2, 1)]
#: Shifts and powers by more than a dtype has are not defined; nor are divisions of integers by zero.
SMALL = {"left_shift", "right_shift", "power", "ldexp", "float_power"}
FORCED = ["bool", "int64", "float32", "complex128"]

#: Thousands of small kernels: where CUDA code is compiled beside each, sweeps run in a process of their own without it.
CHECKED = bool(os.environ.get("CUPROUS_CHECK_CUDA"))
sweep = pytest.mark.skipif(CHECKED, reason="runs in a process of its own, see test_the_sweeps")


@pytest.mark.skipif(not CHECKED, reason="they run here")
def test_the_sweeps() -> None:
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    env = os.environ | {"CUPROUS_CHECK_CUDA": ""}
    env = {name: value for name, value in env.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]


def _values(name: str, dtype: str, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    return (rng.integers(1, 3 if name in SMALL else 6, (3, 4)) + (rng.random((3, 4)) < 0.5) / 2).astype(dtype)


def _options(name: str, dtype: str) -> dict[str, Any]:
    half, single = ("float16", "bool", "int8", "uint8"), ("float32", "complex64", "int16", "uint16")
    rtol = 1e-2 if dtype in half else 1e-4 if dtype in single else 1e-10
    return {"rtol": rtol * (10 if name in SMALL else 1), "atol": rtol * 1e-2, "message": f"{name} {dtype}"}


def _pairs(name: str) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    for dtype in DTYPES:
        yield _values(name, dtype), _values(name, dtype, 1)


@sweep
@pytest.mark.parametrize("name", UFUNCS)
def test_dtype_is_the_results_dtype(name: str) -> None:
    """`np.add(mask, mask, dtype=int)` counts; `np.sqrt(integers, dtype=int)` has no loop."""
    for pair in _pairs(name):
        host = pair[: getattr(np, name).nin]
        device = [cp.asarray(a) for a in host]
        for forced in FORCED:
            if name in ("frexp", "ldexp"):  # outputs of two dtypes
                continue
            wide = {_options(name, dtype)["rtol"] for dtype in (host[0].dtype.name, forced)}
            compare(
                lambda host=host, forced=forced: getattr(np, name)(*host, dtype=forced),
                lambda device=device, forced=forced: getattr(cp, name)(*device, dtype=forced),
                **_options(name, "") | {"rtol": max(wide), "message": f"{name} {host[0].dtype} dtype={forced}"},
            )


@sweep
@pytest.mark.parametrize("name", [name for name in UFUNCS if name != "ldexp"])
def test_out_and_where(name: str) -> None:
    mask = np.arange(12).reshape(3, 4) % 3 > 0
    for pair in _pairs(name):
        host = pair[: getattr(np, name).nin]
        count = getattr(np, name).nout
        for dtype in ("int16", "float32", "complex64"):

            def call(xp: Any, host: Any = host, dtype: str = dtype, count: int = count) -> Any:
                outs = tuple(xp.asarray(np.full((3, 4), 7, dtype)) for _ in range(count))
                given = outs if count > 1 else outs[0]
                return getattr(xp, name)(*map(xp.asarray, host), out=given, where=xp.asarray(mask))

            alike(call, **_options(name, "float32"))


METHODS: dict[str, Any] = {
    "reduce": lambda f, xp, a, b: f.reduce(a),
    "reduce 1": lambda f, xp, a, b: f.reduce(a, axis=1, keepdims=True),
    "reduce None": lambda f, xp, a, b: f.reduce(a, axis=None),
    "reduce none": lambda f, xp, a, b: f.reduce(a, axis=()),
    "reduce from 2": lambda f, xp, a, b: f.reduce(a, initial=2),
    "reduce none from 2": lambda f, xp, a, b: f.reduce(a, axis=(), initial=2),
    "reduce some": lambda f, xp, a, b: f.reduce(a, axis=1, initial=2, where=b > 1),
    "reduce a few": lambda f, xp, a, b: f.reduce(a, where=b > 1),
    "reduce as float64": lambda f, xp, a, b: f.reduce(a, dtype="float64"),
    "reduce as bool": lambda f, xp, a, b: f.reduce(a, dtype="bool"),
    "reduce nothing": lambda f, xp, a, b: f.reduce(a[:0]),
    "reduce nothing from 2": lambda f, xp, a, b: f.reduce(a[:0], initial=2),
    "reduce a scalar": lambda f, xp, a, b: f.reduce(a[0, 0].reshape(())),
    "accumulate": lambda f, xp, a, b: f.accumulate(a, axis=1),
    "accumulate as float64": lambda f, xp, a, b: f.accumulate(a, dtype="float64"),
    "accumulate a scalar": lambda f, xp, a, b: f.accumulate(a[0, 0].reshape(())),
    "reduceat": lambda f, xp, a, b: f.reduceat(a, [0, 2, 1, 3], axis=1),
    "outer": lambda f, xp, a, b: f.outer(a[0], b[:, 1]),
}  # fmt: skip
#: Shifts overflow, which C leaves open; NumPy 2.4 with AVX-512 takes the last pair only of powers and angles.
NOT_FOLDED = {"power", "float_power", "arctan2", "left_shift"}


@sweep
@pytest.mark.parametrize("name", [name for name in BINARY if name != "ldexp"])
def test_methods(name: str) -> None:
    """Those that depend on order start at `initial` and go from element to element, over those that the mask has."""
    for a, b in _pairs(name):
        for what, method in METHODS.items():
            if name in NOT_FOLDED and "reduce" in what:
                continue

            def call(xp: Any, a: Any = a, b: Any = b, method: Any = method) -> Any:
                return method(getattr(xp, name), xp, xp.asarray(a), xp.asarray(b.real))

            options = _options(name, a.dtype.name) | {"message": f"{name} {what} {a.dtype}"}
            alike(call, **options)


@pytest.mark.parametrize("name", ["power", "arctan2"])
def test_reductions_that_numpy_gets_wrong(name: str) -> None:
    a = _values(name, "float32")
    expected = [functools.reduce(getattr(np, name), row) for row in a]
    assert_same(getattr(cp, name).reduce(cp.asarray(a), axis=1), np.asarray(expected), rtol=1e-5)
    expected = [functools.reduce(getattr(np, name), row, np.float32(2)) for row in a]
    assert_same(getattr(cp, name).reduce(cp.asarray(a), axis=1, initial=2), np.asarray(expected), rtol=1e-5)


@pytest.mark.parametrize("name", ["add", "maximum", "subtract", "hypot"])
def test_results_into_another_shape(name: str) -> None:
    for xp in (np, cp):
        a, f = xp.ones((2, 3)), getattr(xp, name)
        for call in (lambda out, f=f, a=a: f.accumulate(a, out=out), lambda out, f=f, a=a: f.reduceat(a, [0], out=out)):
            for shape in ((2, 2, 3), (3,), (1, 2, 3)):
                with pytest.raises(ValueError):
                    call(xp.zeros(shape))


def test_differences_from_a_start() -> None:
    """(start - a) - b, not (a - b) - start."""
    a = cp.asarray([[7, 1], [2, 3]])
    assert cp.subtract.reduce(a, axis=1, initial=100).tolist() == [92, 95]
    mask = cp.asarray([[True, False], [False, False]])
    assert cp.subtract.reduce(a, axis=1, initial=100, where=mask).tolist() == [93, 100]
    assert cp.divide.reduce(a, axis=1, initial=42.0).tolist() == [6.0, 7.0]


def test_masks_are_counted_in_the_requested_dtype() -> None:
    mask = cp.asarray([True, False, True])
    assert cp.add(mask, mask, dtype="int64").tolist() == [2, 0, 2]
    assert cp.subtract(mask, True, dtype="int8").tolist() == [0, -1, 0]


def test_sums_are_of_the_dtype_of_out() -> None:
    for name in ("add", "multiply"):
        host = np.array([1, 1e-8, 1e-8], "float32")
        out = cp.zeros(())
        getattr(cp, name).reduce(cp.asarray(host), out=out)
        assert float(out) == float(getattr(np, name).reduce(host, out=np.zeros(())))


@sweep
@pytest.mark.parametrize("name", UFUNCS)
def test_bfloat16(name: str) -> None:
    """Beside NumPy with ml_dtypes, which has no loops of its own for a few."""
    bfloat16 = np_dtype("bfloat16")
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-5, 6, (3, 4)) / 4).astype(bfloat16), (rng.integers(1, 6, (3, 4)) / 2).astype(bfloat16)
    host = [a, b][: getattr(np, name).nin]
    dtype = name not in ("degrees", "radians")
    alike(lambda xp: getattr(xp, name)(*map(xp.asarray, host)), rtol=2e-2, atol=1e-3, dtype=dtype)
