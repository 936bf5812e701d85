"""Compares the kernel language with Python: each function runs as a kernel over some numbers and as plain Python."""

from __future__ import annotations

import cmath
import enum
import math
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from cuprous import cuda

SCALE = 3
TABLE = np.array([2.5, -1.0, 7.25, 0.5])
PAIR = (2, 5)


class Color(enum.IntEnum):
    RED = 1
    GREEN = 2


Point = namedtuple("Point", "x y")


@cuda.jit(device=True)
def cube(x):
    return x * x * x


@cuda.jit(device=True)
def clamp(x, low=-2, high=4):
    return min(max(x, low), high)


@cuda.jit(device=True)
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@cuda.jit(device=True)
def divide(a, b):
    return a // b, a % b


# --- functions of two integers and of two floats


def arithmetic(a, b):
    return a + b * 2 - (a - b) // 3 + a % 7 - -b


def true_division(a, b):
    return a / (b * b + 1)


def floor_division(a, b):
    d = b if b != 0 else 1
    return (a // d) * 1000 + a % d


def powers(a, b):
    return a**2 + b**3 - a**4 + (a * 0.5) ** 2


def bits(a, b):
    return (a & b) | (a ^ 5) + (~b) + (a << 3) - (b >> 1)


def comparisons(a, b):
    return (a < b) + (a <= b) * 2 + (a == b) * 4 + (a != b) * 8 + (a > b) * 16 + (a >= b) * 32


def chained(a, b):
    return 1 if -3 < a <= b < 10 else 0


def logic(a, b):
    return (a > 0 and b > 0) or not (a < b)


def short_circuit_results(a, b):
    return (a or 7) + (b and 5)


def branches(a, b):
    if a > 3:
        r = 1
    elif b > 3:
        r = 2
    else:
        r = a - b
    return r


def loops(a, b):
    s = 0
    for i in range(abs(a) + 3):
        if i == 2:
            continue
        if i > 6:
            break
        for j in range(i, -1, -2):
            s += i * j + b
    else:
        s += 1000
    return s


def while_loop(a, b):
    n = abs(a) + abs(b)
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 50:
            break
    else:
        steps += 100
    return steps


def counter_after_loop(a, b):
    for i in range(a * a + 2):
        if i == 3:
            break
    return i + b


def swap(a, b):
    for _ in range(3):
        a, b = b, a + b
    return a * 10 + b


def tuples(a, b):
    t = (a, b, a + b)
    x, (y, z) = t[0], (t[1], t[-1])
    return x + 2 * y + 3 * z + len(t)


def tuple_by_index(a, b):
    t = (a, b, 4)
    s = 0
    for i in range(3):
        s += t[i] * (i + 1)
    return s


def named_tuple(a, b):
    p = Point(a, b)
    return p.x * 2 + p.y


def constants(a, b):
    return a * SCALE + PAIR[1] - PAIR[0] + Color.GREEN + int(TABLE[2] * 4)


def shadowed_name(a, b):
    x = a + 1
    y = x * 2
    x = b * 0.5
    return x + y


def grows(a, b):
    s = 0
    for i in range(4):
        s += i * 0.25
    return s + a + b


def builtins(a, b):
    return abs(a) + min(a, b, 3) * 10 + max(a, b) * 100 + round(a * 0.3) + pow(b, 2) + len((a, b)) + int(a * 0.7)


def divmods(a, b):
    q, r = divmod(a, 5)
    return q * 100 + r + b


def enumerates(a, b):
    s = 0
    for i, x in enumerate(range(a, a + 4), 10):
        s += i * x
    for x, y in zip(range(5), range(b, b + 3)):  # noqa: B905
        s += x * y
    return s


def inner_function(a, b):
    k = a * 2

    def twice(x):
        return x * 2 + k

    add = lambda x, y: x + y + k  # noqa: E731
    return twice(b) + add(a, b)


def membership(a, b):
    return (a in (1, 2, 3)) + (b not in (0, 1)) * 2


def conversions(a, b):
    return float(a) / 3 + int(b * 1.7) + bool(a) + np.float64(0.5) * 2


def dead_code(a, b):
    if False:
        return unknown_name(a)  # noqa: F821
    return a + b


def early_return(a, b):
    if a > b:
        return a - b
    for i in range(10):
        if i * i > b:
            return i
    return -1


INTEGERS = [
    arithmetic, true_division, floor_division, powers, bits, comparisons, chained, logic, short_circuit_results,
    branches, loops, while_loop, counter_after_loop, swap, tuples, tuple_by_index, named_tuple, constants,
    shadowed_name, grows, builtins, divmods, enumerates, inner_function, membership, conversions, dead_code,
    early_return,
]  # fmt: skip


def functions(x, y):
    s = math.sin(x) + math.cos(y) * math.exp(-x * x) + math.atan2(x, y) + math.hypot(x, y)
    return s + math.sqrt(abs(x)) + math.log(abs(y) + 1) + math.floor(x) + math.ceil(y) + math.tanh(x) + math.pi


def more_functions(x, y):
    s = math.erf(x) + math.erfc(y) + math.expm1(x) + math.log1p(abs(y)) + math.copysign(x, y) + math.fmod(x, 1.3)
    m, e = math.frexp(x + 20)
    f, w = math.modf(y)
    return (
        s + m + e + f + w + math.degrees(x) + math.radians(y) + math.asinh(x) + math.log(abs(x) + 2, 3) + math.trunc(y)
    )


def float_division(x, y):
    d = y if y != 0 else 1.0
    return x // d + x % d


def ternary(x, y):
    return x if x > y else (y if y > 0.5 else 0.25)


def complexes(x, y):
    z = complex(x, y)
    w = z * z - 2j * z + abs(z) + z.conjugate()
    return (w * w.real).imag + cmath.exp(z * 0.1).real + (z / (1 + 2j)).real


def special_values(x, y):
    inf = float("inf") if False else math.inf
    return math.isnan(x * (inf - inf)) + math.isinf(inf) * 2 + math.isfinite(y) * 4


FLOATS = [functions, more_functions, float_division, ternary, complexes, special_values]


def run(function: Any, a: np.ndarray, b: np.ndarray, dtype: Any) -> np.ndarray:
    device = cuda.jit(device=True)(function)

    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = device(a[i], b[i])

    out = np.zeros(len(a), dtype)
    kernel.forall(len(a))(a, b, out)
    return out


@pytest.mark.parametrize("function", INTEGERS, ids=lambda f: f.__name__)
def test_integer_functions_match_python(function: Any) -> None:
    grid = np.arange(-6, 9)
    a, b = (x.ravel().copy() for x in np.meshgrid(grid, grid))
    expected = [function(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(run(function, a, b, np.float64), expected, rtol=1e-12)


@pytest.mark.parametrize("function", FLOATS, ids=lambda f: f.__name__)
def test_float_functions_match_python(function: Any) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=200) * 2, rng.normal(size=200) * 2
    expected = [function(float(x), float(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(run(function, a, b, np.float64), expected, rtol=1e-9, atol=1e-12)


def test_device_functions() -> None:
    def function(a, b):
        q, r = divide(a, 7)
        return cube(a) + clamp(b) + clamp(a, high=2) * 10 + factorial(5) + q * 1000 + r

    def plain(a, b):
        return a**3 + min(max(b, -2), 4) + min(max(a, -2), 2) * 10 + 120 + a // 7 * 1000 + a % 7

    a, b = np.arange(-9, 9), np.arange(9, -9, -1)
    expected = [plain(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(run(function, a, b, np.float64), expected)


def test_float16_may_occur_in_constants_alone() -> None:
    @cuda.jit
    def compare(out):
        out[0] = np.float16(4.0) > np.float16(2.0)

    out = np.zeros(1)
    compare[1, 1](out)
    assert out[0] == 1


def test_types_match_numba() -> None:
    @cuda.jit
    def kernel(out, f, u):
        out[0] = 7 // 2
        x = f * 2
        y = f * np.float32(2)
        z = u + u
        out[1] = x.real + y + z

    source = kernel.cuda_source("void(float64[::1], float32, uint32)")
    assert "double x" in source and "float y" in source and "uint64 z" in source


def test_comparison_chains_short_circuit() -> None:
    """As in Python: no call or element access after a false comparison."""

    @cuda.jit(device=True)
    def counted(calls, i):
        calls[i] += 1
        return 2

    @cuda.jit
    def kernel(a, calls, out):
        for i in range(-1, 4):
            if 0 <= i < a.size < a[i] < 9:
                out[i] += 1
            if 0 < i < counted(calls, i) < 5:
                out[i] += 10

    a, calls, out = np.array([5, 1, 6]), np.zeros(4, int), np.zeros(4, int)
    kernel[1, 1](a, calls, out)
    assert calls.tolist() == [0, 1, 1, 1] and out.tolist() == [1, 10, 1, 0]


def test_integers_wrap_around_in_their_types() -> None:
    """Includes compile-time constants and integers whose sign is inferred."""

    @cuda.jit
    def kernel(out, small, wide):
        out[0] = np.uint64(0) - np.uint64(1) > 0
        out[1] = np.uint8(200 + 100) == 44
        out[2] = wide[np.int8(small[0])]
        n = np.uint64(np.int8(small[0]))
        out[3] = wide[np.int64(n // np.uint64(1 << 56)) - 251]

    out, wide = np.zeros(4, int), np.arange(60)
    kernel[1, 1](out, np.array([200], np.uint8), wide)
    assert out.tolist() == [1, 1, 60 - 56, 4]


def test_recursive_kernels() -> None:
    @cuda.jit
    def fill(a, n):
        if n > 0:
            a[n] = n
            fill(a, n - 1)

    @cuda.jit(device=True)
    def next_one(a, n):
        if n > 1:
            in_turn(a, n - 1)

    @cuda.jit
    def in_turn(a, n):
        a[n] = 2 * n
        next_one(a, n)

    out = np.zeros(6, np.int64)
    fill[1, 1](out, 5)
    assert out.tolist() == [0, 1, 2, 3, 4, 5]
    in_turn[1, 1](out, 5)
    assert out.tolist() == [0, 2, 4, 6, 8, 10]


@cuda.jit(device=True)
def fall(a, n):
    a[n] = n
    if n > 0:
        rise(a, n - 1)


@cuda.jit(device=True)
def rise(a, n):
    a[n] = 10 * n
    if n > 0:
        turn(a, n - 1)


@cuda.jit(device=True)
def turn(a, n):
    a[n] = -n
    if n > 0:
        fall(a, n - 1)


@cuda.jit(device=True)
def whole(n):
    if n <= 0:
        return 1
    return part(n - 1) + 1


@cuda.jit(device=True)
def part(n):
    if n <= 0:
        return 0.5
    x = third(n - 1)
    return x * 2


@cuda.jit(device=True)
def third(n):
    return whole(n)


def test_mutually_recursive_functions() -> None:
    @cuda.jit
    def orders(a):
        fall(a, a.size - 1)

    out = np.full(7, 99, np.int64)
    orders[1, 1](out)
    assert out.tolist() == [0, -1, 20, 3, -4, 50, 6]

    @cuda.jit
    def values(a):
        for i in range(a.size):
            a[i] = whole(i)

    def expected(n: int) -> float:
        if n <= 0:
            return 1
        return (0.5 if n == 1 else 2 * expected(n - 2)) + 1

    numbers = np.zeros(7)
    values[1, 1](numbers)
    assert numbers.tolist() == [expected(n) for n in range(7)]
