"""Compares matrix products with fused epilogues (scale, add, assign) with NumPy's separate steps.

The values are small multiples of 0.5, so that most sums are exact in every dtype.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.conftest import DEVICE
from tests.support import assert_same, np_dtype

S, T = 0.5, 2


def _assign(xp: Any, x: Any, w: Any, b: Any, c: Any) -> Any:
    c[...] = x @ w + b
    return c


def _add(xp: Any, x: Any, w: Any, b: Any, c: Any) -> Any:
    c += x @ w
    return c


def _descend(xp: Any, x: Any, w: Any, b: Any, c: Any) -> Any:
    c -= T * (x @ w)
    return c


def _grow(xp: Any, x: Any, w: Any, b: Any, c: Any) -> Any:
    z = x @ w
    z *= T
    z += b
    z -= c
    return z


def _live(xp: Any, x: Any, w: Any, b: Any, c: Any) -> Any:
    z = x @ w
    y = z + b
    return z, y, y - c


def _between(xp: Any, x: Any, w: Any, b: Any, c: Any) -> Any:
    z = x @ w
    x[...] = 1
    y = z + b
    b[...] = 3
    return y, z - b, x @ w + c


def _shared(xp: Any, x: Any, w: Any, b: Any, c: Any) -> Any:
    old = c[..., ::-1] + 1
    c += x @ w + c
    return c, old


def _rows(xp: Any, x: Any, w: Any, b: Any, c: Any) -> Any:
    c[..., 0, :] += b
    c += x @ w - c[..., :1, :]
    return c


def _out(xp: Any, x: Any, w: Any, b: Any, c: Any) -> Any:
    xp.matmul(x, w, out=c)
    return c, c + b


FORMULAS: dict[str, Any] = {
    "bias": lambda xp, x, w, b, c: x @ w + b,
    "bias first": lambda xp, x, w, b, c: b + x @ w,
    "bias minus": lambda xp, x, w, b, c: b - x @ w,
    "minus bias": lambda xp, x, w, b, c: x @ w - b,
    "addend": lambda xp, x, w, b, c: x @ w + c,
    "minus": lambda xp, x, w, b, c: c - x @ w,
    "minus addend": lambda xp, x, w, b, c: x @ w - T * c,
    "scale": lambda xp, x, w, b, c: (x @ w) * T,
    "both": lambda xp, x, w, b, c: T * (x @ w) + c * T,
    "residual": lambda xp, x, w, b, c: c + (x @ w + b),
    "all": lambda xp, x, w, b, c: T * (x @ w) - c + b,
    "relu": lambda xp, x, w, b, c: xp.maximum(x @ w + b, 0),
    "column": lambda xp, x, w, b, c: x @ w + c[..., :1],
    "of parts": lambda xp, x, w, b, c: x @ w + c[..., ::-1] + b[::-1],
    "two": lambda xp, x, w, b, c: x @ w + x @ (w + 1),
    "then": lambda xp, x, w, b, c: xp.swapaxes(x @ w + b, -1, -2) @ c,
    "nothing": lambda xp, x, w, b, c: (x @ w)[..., :0] + b[:0],
    "assign": _assign, "add": _add, "descend": _descend, "grow": _grow, "live": _live, "between": _between,
    "shared": _shared, "rows": _rows, "out": _out,
}  # fmt: skip

#: batch, rows, depth, columns
SIZES = [((), 4, 5, 6), ((), 1, 5, 6), ((), 4, 5, 1), ((), 1, 1, 1), ((2, 3), 4, 5, 6), ((), 2, 600, 3), ((), 0, 3, 4)]
DTYPES = ["float16", "float32", "float64", "complex64", "complex128", "int32", "uint8"]


def inputs(dtype: str, size: Any, seed: int) -> list[Any]:
    """x, w, b and c; the order of the axes in memory varies with the seed."""
    batch, m, k, n = size
    rng = np.random.default_rng(seed)
    shapes = [(*batch, m, k), (*batch, k, n), (n,), (*batch, m, n)]
    low = 0 if dtype == "uint8" else -2
    arrays = [rng.integers(low, 3, shape).astype(dtype) for shape in shapes]
    if np.dtype(dtype).kind == "c":
        arrays = [a + (1j * rng.integers(-2, 3, a.shape)).astype(dtype) for a in arrays]
    for i in range(2):
        if seed >> i & 1:
            arrays[i] = np.ascontiguousarray(arrays[i].swapaxes(-1, -2)).swapaxes(-1, -2)
    return arrays


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(mode: str, name: str) -> None:
    for dtype, size, seed in itertools.product(DTYPES, SIZES, range(4)):
        host = inputs(dtype, size, seed)
        if name in ("rows", "between") and size[1] == 0:
            continue
        device = [cp.array(a) if a.flags.c_contiguous else cp.array(a.swapaxes(-1, -2)).swapaxes(-1, -2) for a in host]
        with np.errstate(all="ignore"):
            expected = FORMULAS[name](np, *host)
        actual = FORMULAS[name](cp, *device)
        message = f"{name} {dtype} {size} {seed}"
        assert_same(actual, expected, rtol=0, message=message)
        for mine, theirs in zip(device, host, strict=True):
            assert_same(mine, theirs, rtol=0, message=message)


def test_replays_with_other_values_and_factors(mode: str) -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((30, 20))
    mine = cp.asarray(w)
    for step in range(12):
        x, g = rng.standard_normal((16, 30)), rng.standard_normal((16, 20))
        rate = (0.1 / (step + 1)) if step % 5 else 0.0
        w -= rate * (x.T @ g)
        mine -= rate * (cp.asarray(x).T @ cp.asarray(g))
        assert_same(mine, w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("depth", [7, 300, 2000])
def test_rounding(mode: str, dtype: str, depth: int) -> None:
    """The error is within the bound of NumPy's algorithm."""
    rng = np.random.default_rng(depth)
    eps = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53, "complex64": 2.0**-23}
    x, w, b, c = (rng.standard_normal(s).astype(np_dtype(dtype)) for s in ((33, depth), (depth, 65), (65,), (33, 65)))
    for big in (1, 1000):
        wide = [a.astype("complex128" if dtype == "complex64" else "longdouble") for a in (x, w, b, big * c)]
        exact = 0.5 * (wide[0] @ wide[1]) + wide[2] + wide[3]
        ours = 0.5 * (cp.asarray(x) @ cp.asarray(w)) + cp.asarray(b) + cp.asarray(wide[3].astype(np_dtype(dtype)))
        product = np.abs(wide[0]) @ np.abs(wide[1])
        sums = 2 * np.sqrt(depth) * (2.0**-24 if dtype.endswith("16") else eps[dtype]) * product
        bound = sums + 8 * eps[dtype] * (product.max() / depth**0.5 + np.abs(wide[2]) + np.abs(wide[3]))
        error = np.abs(ours.get().astype(wide[0].dtype) - exact)
        assert (error <= bound).all(), (dtype, depth, big, float((error / bound).max()))


@pytest.mark.skipif(DEVICE != "cpu", reason="libraries of GPUs round once at the end")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_bits_do_not_depend_on_what_is_fused(mode: str, dtype: str) -> None:
    """The same operations give the same bits if every result is read before it is used."""
    rng = np.random.default_rng(0)
    for m, k, n in [(33, 32, 65), (96, 32, 32), (1, 40, 30), (20, 513, 1), (40, 2000, 24), (7, 0, 5), (513, 8, 128),
                    (700, 1, 130), (40, 2, 40), (2, 3, 50_000), (40, 512, 24)]:  # fmt: skip
        x, w, b, c = (
            cp.asarray(rng.standard_normal(s).astype(np_dtype(dtype))) for s in ((m, k), (k, n), (n,), (m, n))
        )
        for chain in STEPS:
            fused, separate = (_steps(chain, cp.array(x), w, b, cp.array(c), read=read) for read in (False, True))
            assert fused.tobytes() == separate.tobytes(), (chain, dtype, m, k, n)


#: What follows a product `p`: names of operations, or the result's place.
STEPS = [
    ["p * s"], ["p + b"], ["p + c"], ["p + b", "p + c"], ["p + c", "p + b"], ["p * s", "p + b"], ["p * s", "c - p"],
    ["p * s", "b - p", "p + d"], ["p + d"], ["p + b", "p - d"], ["c += p"], ["p * s", "c -= p"], ["p + b", "c += p"],
    ["p + b", "p + c", "p * s"],
]  # fmt: skip


def _steps(chain: list[str], x: Any, w: Any, b: Any, c: Any, *, read: bool) -> Any:
    p, held = x @ w, []
    for step in chain:
        if read:
            held.append((p, p.get()))
        p = {
            "p * s": lambda p: p * 0.3, "p + b": lambda p: p + b, "p + c": lambda p: p + c, "c - p": lambda p: c - p,
            "b - p": lambda p: b - p, "p + d": lambda p: p + 0.7 * c, "p - d": lambda p: p - 0.7 * c,
            "c += p": lambda p: c.__iadd__(p), "c -= p": lambda p: c.__isub__(p),
        }[step](p)  # fmt: skip
    return p.get()


def test_nan_and_infinity_are_kept(mode: str) -> None:
    x, w = np.array([[np.inf, 1], [np.nan, 1], [2, 1]]), np.eye(2)
    c = np.array([[np.nan, 0], [0, 0], [0, np.inf]])
    a, b, d = cp.asarray(x), cp.asarray(w), cp.asarray(c)
    for zero in (0.0, -0.0, 1.0, 0):
        with np.errstate(all="ignore"):
            assert_same(zero * (a @ b), zero * (x @ w))
            assert_same(a @ b + zero * d, x @ w + zero * c)
            assert_same(zero * (a @ b) + d, zero * (x @ w) + c)
            assert_same(cp.maximum(a @ b + d, zero), np.maximum(x @ w + c, zero))


def test_fused_epilogues_appear_in_the_code() -> None:
    x, b = cp.asarray(np.ones((64, 64), np.float32)), cp.asarray(np.ones(64, np.float32))
    y = 2 * (x @ x) + b
    if DEVICE == "cpu":
        code = cp.show_code()
        assert " * s0 + b" in code, code
        assert "[columns]" in code, code
    y.get()
    assert "1 with an epilogue" in cp.explain()
