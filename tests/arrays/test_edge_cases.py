"""Regression tests at the limits of dtypes, shapes and values, compared with NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import alike, assert_same

Call = Callable[[Any], Any]
INF, NAN = float("inf"), float("nan")
U64 = [0, 1, 5, 2**53, 2**63 - 1, 2**63, 2**64 - 1]
I64 = [0, 1, -1, 5, 2**53 + 1, 2**63 - 1, -(2**63)]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


check = partial(alike, rtol=1e-9)


@pytest.mark.parametrize("holds", COMPARISONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_signed_with_unsigned_integers_compare_exactly(holds: Any, dtype: str) -> None:
    signed = np.array([x for x in I64 if np.iinfo(dtype).min <= x <= np.iinfo(dtype).max], dtype)[:, None]
    unsigned = np.array(U64, "uint64")
    for a, b in ((signed, unsigned), (unsigned, signed)):
        assert_same(holds(cp.asarray(a), cp.asarray(b)), holds(a, b))
    for x in (np.int64(-1), np.int8(5), np.int64(2**63 - 1)):
        assert_same(holds(cp.asarray(unsigned), x), holds(unsigned, x))
    assert_same(holds(cp.asarray(signed), np.uint64(2**63)), holds(signed, np.uint64(2**63)))


@pytest.mark.parametrize("holds", COMPARISONS, ids=lambda f: f.__name__)
def test_python_integers_beyond_a_dtype_compare_exactly(holds: Any) -> None:
    for dtype in ("int8", "uint8", "int64", "uint64"):
        a = np.array([0, 1, 100], dtype)
        for x in (-1, 300, 2**63, 2**64, -(2**63) - 1, 10**30, -(10**40)):
            assert_same(holds(cp.asarray(a), x), holds(a, x))


def test_isin_of_signed_and_unsigned_integers_is_exact() -> None:
    a, b = np.array([2**53 + 1, -1, 5]), np.array([2**53, 2**64 - 1, 5], "uint64")
    for x, y in ((a, b), (b, a)):
        for invert in (False, True):
            assert_same(cp.isin(cp.asarray(x), cp.asarray(y), invert=invert), np.isin(x, y, invert=invert))


@pytest.mark.parametrize("name", ["isfinite", "isinf", "isnan", "signbit"])
@pytest.mark.parametrize(
    "number",
    [0, -1, 7, 255, 256, 300, -(2**63), 2**64 - 1, 2**64, -(2**63) - 1],
    ids=lambda n: f"{float(min(n, 10**99)):.20g}",
)
def test_predicates_of_python_integers(name: str, number: int) -> None:
    check(lambda xp: getattr(xp, name)(number))


AT: dict[str, Call] = {
    "0-d": lambda xp: _at(xp, "hypot", [1.0, 1.0, 1.0], np.array(1), 2.0),
    "tuple of 0-d": lambda xp: _at(xp, "negative", [1.0, 2.0, 3.0], (np.array(1),)),
    "slice and 0-d": lambda xp: _at(xp, "add", [[1.0, 2.0], [3.0, 4.0]], (slice(None), np.array(1)), 5.0),
    "0-d of integers": lambda xp: _at(xp, "maximum", [1, 2, 3], np.array(0), np.int64(9)),
    "uint8 and an integer": lambda xp: _at(xp, "add", np.ones(3, "u1"), np.array(1), 2),
    "uint8 and int64": lambda xp: _at(xp, "maximum", np.ones(3, "u1"), np.array(1), np.int64(2)),
    "whole index": lambda xp: _at(xp, "multiply", [1.0, 2.0, 3.0], 2, 5.0),
    "twice": lambda xp: _at(xp, "hypot", [1.0, 1.0, 1.0], [1, 1], 2.0),
    "no loop": lambda xp: _at(xp, "ldexp", [1.0, 2.0], [], 2.5),
}


def _at(xp: Any, name: str, values: Any, index: Any, *operands: Any) -> Any:
    a = xp.array(values)
    getattr(xp, name).at(a, index, *operands)
    return a


@pytest.mark.parametrize("name", AT)
def test_at(name: str) -> None:
    check(AT[name])


@pytest.mark.parametrize("window", ["bartlett", "blackman", "hamming", "hanning", "kaiser"])
@pytest.mark.parametrize("number", [np.uint8(10), np.uint64(3), np.int8(1), np.int16(0), np.float32(4.5), 7])
def test_windows_of_numpy_numbers(window: str, number: Any) -> None:
    more = (np.uint8(3),) if window == "kaiser" else ()
    assert_same(getattr(cp, window)(number, *more), getattr(np, window)(number, *more), rtol=1e-9, atol=1e-15)
    ours = getattr(cp, window)(cp.array(number), *more)
    assert_same(ours, getattr(np, window)(np.array(number), *more), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("window", ["bartlett", "blackman", "hamming", "hanning"])
@pytest.mark.parametrize("number", [2**64 - 2, np.uint64(2**64 - 2), INF, NAN])
def test_windows_without_a_length(window: str, number: Any) -> None:
    for xp in (np, cp):
        with pytest.raises(ValueError):
            getattr(xp, window)(number)


def test_can_cast_tells_equal_numbers_of_different_dtypes_apart() -> None:
    numbers = [np.int8(0), np.uint64(0), np.float64(0), np.bool(False), np.float32(0)]
    for order in (numbers, numbers[::-1]):
        for number in order:
            assert cp.can_cast(number, "int64") == np.can_cast(number, "int64"), repr(number)
    assert cp.can_cast(cp.zeros(3), ">f8") is True
    assert cp.can_cast(cp.zeros(3), "S4") is False


INTERP: dict[str, Call] = {
    "between infinities": lambda xp: xp.interp(0.5, xp.array([0.0, 1.0]), xp.array([INF, INF])),
    "from minus infinity": lambda xp: xp.interp(0.5, xp.array([0.0, 1.0]), xp.array([-INF, 10.0])),
    "infinite coordinate": lambda xp: xp.interp(0.5, xp.array([-INF, 1.0]), xp.array([0.0, 10.0])),
    "complex NaN": lambda xp: xp.interp(xp.array([0.5]), xp.array([0.0, 1.0]), xp.array([NAN + 0j, 1])),
    "complex": lambda xp: xp.interp(xp.array([0.5, 3, -1]), xp.array([0.0, 1.0]), xp.array([1 + 2j, 3])),
}


@pytest.mark.parametrize("name", INTERP)
def test_interp(name: str) -> None:
    check(INTERP[name])


CALLS: dict[str, Call] = {
    "einsum ii": lambda xp: xp.einsum("ii", xp.arange(3).reshape(1, 3)),
    "einsum ii->i": lambda xp: xp.einsum("ii->i", xp.arange(3).reshape(1, 3)),
    "einsum ...->": lambda xp: xp.einsum("...->", xp.ones((2, 2, 2))),
    "einsum of no bools": lambda xp: xp.einsum("ij->i", xp.zeros((2, 0), bool)),
    "@= vector": lambda xp: operator.imatmul(xp.ones((2, 2)), xp.ones(2)),
    "choose weak": lambda xp: xp.choose(xp.array([0, 1]), [3, xp.array([1, 2], "u1")]),
    "choose weak float": lambda xp: xp.choose(xp.array([0, 1]), [2.5, xp.array([1, 2], "f4")]),
    "cumsum -0": lambda xp: xp.signbit(xp.cumsum(xp.array([-0.0, -0.0]))),
    "cumsum -0, columns": lambda xp: xp.signbit(xp.cumsum(xp.full((3, 2), -0.0), 0)),
    "accumulate -0": lambda xp: xp.signbit(xp.add.accumulate(xp.array([-0.0, -0.0, 1.0]))),
    "cumprod of infinity": lambda xp: xp.cumprod(xp.array([complex(INF, 1)])),
    "sum from -0": lambda xp: xp.signbit(xp.sum(xp.array([[-0.0, -0.0], [0.0, -0.0]]), 1, initial=-0.0)),
    "add.reduce from -0": lambda xp: xp.signbit(xp.add.reduce(xp.array([-0.0]), initial=-0.0)),
    "sum": lambda xp: xp.signbit(xp.sum(xp.array([-0.0]))),
    "max from beyond": lambda xp: xp.max(xp.ones(2, "u1"), initial=300),
    "sum from beyond": lambda xp: xp.sum(xp.ones(2, "u1"), initial=-3),
    "add.reduce from beyond": lambda xp: xp.add.reduce(xp.ones(2, "u1"), initial=-3),
    "max from a float": lambda xp: xp.max(xp.ones(2, "u1"), initial=2.5),
    "max of bool, out": lambda xp: xp.max(xp.array([True, False]), initial=2.5, out=xp.zeros((), "f4")),
    "max from a complex": lambda xp: xp.max(xp.ones(2), initial=1j),
    "max from infinity": lambda xp: xp.max(xp.ones(2, "i4"), initial=INF),
    "gcd of one": lambda xp: xp.gcd.reduce(xp.array([-6])),
    "sum, int out": lambda xp: xp.sum(xp.array([1.5, 2.5]), out=xp.zeros((), "i4")),
    "mean, int out": lambda xp: xp.mean(xp.array([1.5, 2.5]), out=xp.zeros((), "i4")),
    "var, int out": lambda xp: xp.var(xp.array([1.5, 9.5]), out=xp.zeros((), "i4")),
    "std, int out": lambda xp: xp.std(xp.array([1.5, 9.5]), out=xp.zeros((), "i4")),
    "cumsum, int out": lambda xp: xp.cumsum(xp.array([1.5, 2.5]), out=xp.zeros(2, "i4")),
    "ptp, int out": lambda xp: xp.ptp(xp.array([1.5, 2.5]), out=xp.zeros((), "i4")),
    "negative stat_length": lambda xp: xp.pad(xp.arange(4.0), 1, mode="mean", stat_length=-1),
    "nan_to_num of more axes": lambda xp: xp.nan_to_num(xp.ones((2, 4)), nan=xp.zeros((3, 2, 4))),
    "nan_to_num of rows": lambda xp: xp.nan_to_num(xp.array([[NAN, 1.0], [2.0, NAN]]), nan=xp.array([7.0, 8.0])),
    "digitize NaN bins": lambda xp: xp.digitize(xp.array([1.0, NAN]), xp.array([NAN] * 4)),
    "digitize NaN first": lambda xp: xp.digitize(xp.array([1.0]), xp.array([NAN, 1, 2])),
    "digitize NaN last": lambda xp: xp.digitize(xp.array([1.0]), xp.array([1, 2, NAN])),
    "digitize repeated": lambda xp: xp.digitize(xp.array([1.0, 3.0, 4.0]), xp.array([3.0, 3.0, 3.0])),
    "percentile float64 q": lambda xp: xp.percentile(xp.arange(5, dtype="f4"), np.float64(50)),
    "percentile weak q": lambda xp: xp.percentile(xp.arange(5, dtype="f4"), 50),
    "quantile of whole q": lambda xp: xp.quantile(xp.array([3, 1, 2]), 1),
    "histogram range": lambda xp: xp.histogram(xp.array([0.1, 0.5], "f4"), 3, np.array([0.1, 0.4])),
    "histogram2d edges": lambda xp: xp.histogram2d(xp.arange(3, dtype="f2"), xp.arange(3, dtype="u2"), 2),
    "cov as float32": lambda xp: xp.cov((0, 1), dtype="f4"),
    "pinv of nothing": lambda xp: xp.linalg.pinv(xp.zeros((0, 2, 3), "i4")),
    "geomspace of both signs": lambda xp: xp.geomspace(-1, 100, 5),
    "geomspace of complex": lambda xp: xp.geomspace(1, -8 + 0j, 4),
    "geomspace float32": lambda xp: xp.geomspace(np.float32(1), np.float32(8), 4),
    "arctan2 bool": lambda xp: xp.arctan2(xp.array([True]), 3),
    "hypot bool": lambda xp: xp.hypot(xp.array([True]), 3),
    "copysign bool": lambda xp: xp.copysign(xp.array([True]), -3),
    "logaddexp bool": lambda xp: xp.logaddexp(xp.array([True]), 3),
    "heaviside bool": lambda xp: xp.heaviside(xp.array([True]), 3),
    "hypot int8": lambda xp: xp.hypot(xp.array([3], "i1"), 4),
    "hypot of the largest": lambda xp: xp.hypot(xp.array([1.7976931348623157e308, 3.4e38]), 0.5),
    "powers of integers": lambda xp: xp.power(xp.arange(1.0, 100.0)[:, None], xp.arange(0.0, 6.0)),
    "lcm beyond int16": lambda xp: xp.lcm(xp.array([-32767, 32767, -4], "i2"), xp.array([-128, 127, 6], "i2")),
    "lcm beyond int64": lambda xp: xp.lcm(xp.array([-(2**63) + 1]), xp.array([4])),
    "clip": lambda xp: xp.clip(xp.ones(2, "i2"), 2.5, np.float32(3)),
    "clip of bool": lambda xp: xp.clip(xp.array([True]), None, None),
    "round complex": lambda xp: xp.round(xp.array([INF + 1.2j, 1.55 - 2.25j]), 1),
    "casting no": lambda xp: xp.add(xp.ones(2, "i1"), xp.ones(2), casting="no"),
    "casting equiv": lambda xp: xp.copysign(xp.array([True]), xp.ones(1, "f4"), casting="equiv"),
    "casting no, one dtype": lambda xp: xp.less(xp.ones(2), xp.ones(2), casting="no"),
    "abs as float64": lambda xp: xp.abs(xp.ones(2, "c8"), dtype="f8"),
    "abs as float32": lambda xp: xp.abs(xp.ones(2, "c16"), dtype="f4"),
    "parts of nothing": lambda xp: (xp.zeros((2, 0), "c8").imag, xp.trace(xp.zeros((3, 0, 3), "c8")[::-1])),
    "roll over no axes": lambda xp: xp.roll(xp.arange(3), 1, axis=()),
    "split of 0-d": lambda xp: xp.split(xp.array(3), 0),
    "ptp into float16": lambda xp: xp.ptp(xp.asarray([7, -32767], "int16"), out=xp.zeros((), "float16")),
    "ptp into int64": lambda xp: xp.ptp(xp.asarray([7, -32767], "int16"), out=xp.zeros((), "int64")),
    "ptp into less": lambda xp: xp.ptp(xp.asarray([7.5, 1]), out=xp.zeros((), "int64")),
    "outer with a number": lambda xp: xp.multiply.outer(xp.ones(2, "i1"), 2),
    "reduceat of nothing": lambda xp: xp.add.reduceat(xp.arange(3), []),
    "concatenate, casting no": lambda xp: xp.concatenate([xp.ones(1), xp.ones(1, "i1")], casting="no"),
    "logical_and beyond": lambda xp: xp.logical_and(xp.ones(2, "i1"), 2**64),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_numpy(name: str) -> None:
    check(CALLS[name])


@pytest.mark.parametrize("shapes", [[(3,), ()], [(3,), (2, 2)], [(2, 3), (2, 2)], [(), ()], []])
def test_messages_of_arrays_that_do_not_join(shapes: list[tuple[int, ...]]) -> None:
    messages = []
    for xp in (np, cp):
        with pytest.raises(ValueError) as failed:
            xp.concatenate([xp.ones(shape) for shape in shapes])
        messages.append(str(failed.value))
    assert messages[0] == messages[1]


def test_a_list_that_holds_itself() -> None:
    y: list[Any] = []
    y.append(y)
    for call in (cp.asarray, cp.concatenate, cp.array):
        with pytest.raises(ValueError, match=r"sequence|array"):
            call(y)
    z: list[Any] = [cp.ones(1)]
    z.append(z)
    with pytest.raises((ValueError, RecursionError)):
        cp.asarray(z)


def test_the_diagonal_of_a_complex_cholesky_factor_is_real() -> None:
    for dtype in ("complex64", "complex128"):
        x = np.random.default_rng(0).standard_normal((2, 40, 40)).astype(dtype)
        x = x + 1j * np.random.default_rng(1).standard_normal((2, 40, 40)).astype(dtype)
        a = cp.asarray((x @ x.conj().swapaxes(-1, -2) + 40 * np.eye(40)).astype(dtype))
        for upper in (False, True):
            factor = cp.linalg.cholesky(a, upper=upper)
            assert not cp.linalg.diagonal(factor).imag.any()


# --- convolution


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", ["convolve", "correlate"])
def test_convolutions_of_integers_are_exact(dtype: str, mode: str, function: str) -> None:
    rng = np.random.default_rng(3)
    for n, m in ((1, 1), (9, 4), (4, 9), (300, 299), (1000, 70), (500, 5)):
        bits = rng.integers(0, 256, ((n + m) * 8,), np.uint8)
        values = bits.view("uint8" if dtype == "bool" else dtype)
        values = values > 99 if dtype == "bool" else values
        a, v = values[:n], values[n : n + m]
        ours = getattr(cp, function)(cp.asarray(a), cp.asarray(v), mode)
        assert_same(ours, getattr(np, function)(a, v, mode))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_floats(dtype: str, mode: str) -> None:
    rng = np.random.default_rng(4)
    for n, m in ((9, 4), (4, 9), (3000, 2999), (2000, 70)):
        a, v = (rng.standard_normal(k) + (1j * rng.standard_normal(k) if dtype[0] == "c" else 0) for k in (n, m))
        a, v = a.astype(dtype), v.astype(dtype)
        wide = "complex128" if dtype[0] == "c" else "float64"
        exact = np.convolve(a.astype(wide), v.astype(wide), mode)
        ours = cp.convolve(cp.asarray(a), cp.asarray(v), mode)
        assert ours.dtype == dtype
        bound = np.finfo(dtype).eps * np.convolve(np.abs(a.astype(wide)), np.abs(v.astype(wide)), mode) * np.sqrt(m)
        assert (np.abs(ours.get().astype(wide) - exact) <= bound + np.finfo(dtype).tiny).all()


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_convolutions_need_no_matrix(dtype: str) -> None:
    """A matrix of windows would have 4e10 elements."""
    a = cp.ones(200_000, dtype)
    assert float(cp.convolve(a, a[:20], "valid")[7]) == 20
    few = cp.convolve(a, a[:199_990], "valid")
    assert few.shape == (11,)
    assert float(few[3]) == pytest.approx(199_990)
