"""Tests device functions: where calls are inlined, and where they cannot be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cuprous import cuda

from .test_language import factorial

N = 57  # full lane groups and a remainder


@cuda.jit(device=True)
def sign(x):
    if x < 0:
        return -1
    if x == 0:
        return 0
    return 1


@cuda.jit(device=True)
def nested(x, y):
    if x > y:
        if x > 2 * y:
            return x
        else:
            x -= 2 * y
    else:
        y = x * 3
        return y
    return x + y


@cuda.jit(device=True)
def first_above(a, start, least):
    for i in range(start, a.size):
        if a[i] > least:
            return i
    return -1


@cuda.jit(device=True)
def swapped(a, b):
    return b, a + b


@cuda.jit(device=True)
def add_to(a, i, x):
    a[i] += x


@cuda.jit(device=True)
def counted(n):
    found = cuda.local.array(4, np.int32)
    for k in range(4):
        found[k] = n + k
    total = 0
    for k in range(4):
        total += found[k]
    return total


@cuda.jit(device=True)
def twice(x, y):
    return sign(x) * nested(x, y) + sign(y)


def test_returns_and_parameters() -> None:
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        if i >= a.size:
            return
        x = a[i]
        out[i, 0] = sign(x)
        out[i, 1] = nested(x, 2)
        x = nested(x, x - 1)  # the result replaces its argument
        out[i, 2] = x
        out[i, 3] = first_above(a, i, 3)
        out[i, 4] = factorial(i % 7)
        p, q = 1, i
        for _ in range(i % 5):
            p, q = swapped(p, q)
        out[i, 5], out[i, 6] = p, q
        add_to(out, (i, 7), i)
        add_to(out[i], 7, 0.5)
        out[i, 8] = counted(i) - counted(1)
        out[i, 9] = twice(i - 20, 7) if i % 2 else -1

    def plain(i: int, a: Any) -> list[float]:
        def nested(x: float, y: float) -> float:
            return (x if x > 2 * y else x - y) if x > y else x * 3

        def sign(x: float) -> int:
            return (x > 0) - (x < 0)

        x = float(a[i])
        above = [k for k in range(i, N) if a[k] > 3]
        p, q = 1, i
        for _ in range(i % 5):
            p, q = q, p + q
        last = sign(i - 20) * nested(i - 20, 7) + 1 if i % 2 else -1
        return [
            sign(x), nested(x, 2), nested(x, x - 1), above[0] if above else -1, math.factorial(i % 7), p, q, i + 0.5,
            4 * (i - 1), last,
        ]  # fmt: skip

    a = np.round(np.random.default_rng(0).normal(0, 4, N))
    expected = np.array([plain(i, a) for i in range(N)])
    for threads in (64, 16, 5):
        out = np.zeros((N, 10))
        kernel[-(-N // threads), threads](a, out)
        np.testing.assert_array_equal(out, expected)


def test_a_function_with_a_barrier() -> None:
    @cuda.jit(device=True)
    def exchanged(part, x):
        part[cuda.threadIdx.x] = x
        cuda.syncthreads()
        other = part[cuda.blockDim.x - 1 - cuda.threadIdx.x]
        cuda.syncthreads()
        return other

    @cuda.jit
    def kernel(a):
        part = cuda.shared.array(64, np.float64)
        i = cuda.grid(1)
        x = exchanged(part, a[i])
        a[i] = exchanged(part, x + 1) + x

    for threads in (16, 37):
        a = np.arange(2.0 * threads)
        kernel[2, threads](a)
        x = np.arange(2.0 * threads).reshape(2, -1)
        np.testing.assert_array_equal(a, (x + 1 + x[:, ::-1]).ravel())


FUNCTIONS = [
    "sin", "cos", "tan", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_do_not_depend_on_the_lane(dtype: str) -> None:
    """Results are bitwise equal in vectorized and scalar threads, and as accurate as on arrays."""
    x = np.concatenate([np.random.default_rng(0).normal(0, 3, N - 7), [0, 1, -1, 1e-30, 1e6, np.inf, np.nan]])
    x = x.astype(dtype)
    for name in FUNCTIONS:
        function = getattr(math, name)

        @cuda.jit
        def kernel(x, out):
            i = cuda.grid(1)
            if i < x.size:
                out[i] = function(x[i])  # noqa: B023

        group, alone = np.zeros_like(x), np.zeros_like(x)
        kernel[1, 64](x, group)
        kernel[N, 1](x, alone)
        np.testing.assert_array_equal(group, alone, err_msg=name)
        with np.errstate(all="ignore"):
            known = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
            known |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
            if hasattr(np, known.get(name, name)):
                expected = getattr(np, known.get(name, name))(x.astype(np.longdouble))
            else:
                expected = np.array([getattr(math, name)(v) for v in x])
        np.testing.assert_allclose(group, expected.astype(dtype), rtol=4 * np.finfo(dtype).eps, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_two_numbers(dtype: str) -> None:
    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i, 0], out[i, 1], out[i, 2] = math.atan2(x[i], y[i]), math.pow(x[i], y[i]), math.hypot(x[i], y[i])

    rng = np.random.default_rng(0)
    x, y = (
        np.concatenate([rng.normal(0, 3, N - 4), edge]).astype(dtype) for edge in ([0, 0, -2, 1], [0, 2, 3, np.inf])
    )
    group, alone = np.zeros((N, 3), dtype), np.zeros((N, 3), dtype)
    kernel[1, 64](x, y, group)
    kernel[N, 1](x, y, alone)
    np.testing.assert_array_equal(group, alone)
    with np.errstate(all="ignore"):
        a, b = x.astype(np.longdouble), y.astype(np.longdouble)
        expected = np.stack([np.arctan2(a, b), np.power(a, b), np.hypot(a, b)], 1)
    np.testing.assert_allclose(group, expected.astype(dtype), rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("to", ["float32", "float64"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_integer_to_float_conversions(dtype: str, to: str) -> None:
    kind = getattr(np, to)

    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = kind(a[i])

    rng = np.random.default_rng(0)
    if dtype.startswith("float"):
        a = np.concatenate([rng.normal(0, 1e3, N - 6), [0, -0.0, np.inf, -np.inf, np.nan, 1e-42]]).astype(dtype)
    else:
        info = np.iinfo(dtype)
        edge = np.array([info.min, info.max, info.max - 1, 0, 1, info.max // 2 + 1], dtype)
        a = np.concatenate([rng.integers(info.min, info.max, N - 6, dtype, True), edge])
    out = np.zeros(N, to)
    kernel[1, 64](a, out)
    np.testing.assert_array_equal(out, a.astype(to))
    np.testing.assert_array_equal(np.signbit(out), np.signbit(a.astype(to)))
