"""Bounds on the difference of two correct results, propagated through each operation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

# By dtype: bits of the significand, and the largest magnitude with which programs continue.
LIMITS = {
    np.dtype("float16"): (11, 2.0**12), np.dtype("float32"): (24, 2.0**60), np.dtype("float64"): (53, 2.0**300),
    np.dtype("complex64"): (24, 2.0**40), np.dtype("complex128"): (53, 2.0**200),
}  # fmt: skip


class Reject(Exception):
    """The drawn statement cannot be compared; another one is drawn."""


@dataclass(frozen=True, slots=True)
class Bound:
    """|x| <= mag; x is a multiple of 2**-grid (None: of nothing); |x - exact x| <= err; not `signed`: x >= 0."""

    mag: float
    grid: int | None
    err: float = 0.0
    signed: bool = True

    @property
    def exact(self) -> bool:
        return self.grid is not None

    def join(self, other: Bound) -> Bound:
        """Returns a bound that holds for the elements of both."""
        grid = None if self.grid is None or other.grid is None else max(self.grid, other.grid)
        return Bound(max(self.mag, other.mag), grid, max(self.err, other.err), self.signed or other.signed)


TRUTH = Bound(1.0, 0, signed=False)


def of_scalar(value: complex) -> Bound:
    """Returns the bound of a constant; all constants are multiples of 1/8."""
    return Bound(max(abs(value.real), abs(value.imag)), 3, signed=value.real < 0)


def settle(dtype: np.dtype, bound: Bound, rounding: float = 1.0) -> Bound:
    """Returns the bound after rounding to the dtype; `rounding` is in units in the last place."""
    if dtype.kind == "b":
        return TRUTH
    if dtype.kind in "iu":
        return wrapped(dtype, bound)
    precision, largest = LIMITS[dtype]
    if not bound.mag <= largest:
        raise Reject
    if bound.grid is not None and bound.mag * 2.0**bound.grid <= 2.0**precision and bound.grid <= 12:
        return Bound(bound.mag, bound.grid, 0.0, bound.signed)
    err = bound.err + rounding * bound.mag * 2.0**-precision + (2.0**-24 if precision == 11 else 0.0)
    if err > 0.05 * max(1.0, bound.mag):
        raise Reject
    return Bound(bound.mag, None, err, bound.signed)


def wrapped(dtype: np.dtype, bound: Bound) -> Bound:
    """Returns the bound of integers after wraparound."""
    largest = float(np.iinfo(dtype).max)
    if bound.mag <= largest and not (bound.signed and dtype.kind == "u"):
        return Bound(bound.mag, 0, 0.0, bound.signed)
    return Bound(largest, 0, 0.0, False) if dtype.kind == "u" else Bound(largest + 1, 0)


def add(a: Bound, b: Bound) -> Bound:
    grid = None if a.grid is None or b.grid is None else max(a.grid, b.grid)
    return Bound(a.mag + b.mag, grid, a.err + b.err, a.signed or b.signed)


def subtract(a: Bound, b: Bound) -> Bound:
    return replace(add(a, b), signed=True)


def mul(a: Bound, b: Bound, complex_: bool = False) -> Bound:
    grid = None if a.grid is None or b.grid is None else a.grid + b.grid
    twice = 2.0 if complex_ else 1.0
    err = twice * (a.err * b.mag + b.err * a.mag + a.err * b.err)
    return Bound(twice * a.mag * b.mag, grid, err, a.signed or b.signed)


def reduced(a: Bound, n: int) -> Bound:
    """Returns the bound of a sum of n elements, in any order."""
    n = max(n, 1)
    return Bound(a.mag * n, a.grid, a.err * n, a.signed)


def smooth(a: Bound, slope: float, mag: float) -> Bound:
    """Returns the bound of a function with |f'| <= slope and |f| <= mag."""
    return Bound(mag, None, slope * a.err)


def castable(bound: Bound, dtype: np.dtype) -> bool:
    """Returns true if a float-to-integer conversion is defined and the same on all devices."""
    return bound.exact and dtype.kind == "i" and bound.mag < np.iinfo(dtype).max


# --- inputs: small multiples of 1/8, so that chains of exact arithmetic stay exact for a while

FLOAT_INPUT = Bound(4.0, 3)


def input_bound(dtype: np.dtype) -> Bound:
    if dtype.kind == "b":
        return TRUTH
    return Bound(20, 0, signed=dtype.kind == "i") if dtype.kind in "iu" else FLOAT_INPUT


def draw_input(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, special: bool) -> np.ndarray:
    """Draws an input array; with `special`, floats include NaN and infinities."""
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(-20 if dtype.kind == "i" else 0, 21, shape).astype(dtype)
    if dtype.kind == "c":
        real, imag = rng.integers(-32, 33, (2, *shape))
        return ((real + 1j * imag) / 8).astype(dtype)
    out = (rng.integers(-32, 33, shape) / 8).astype(dtype)
    if special and out.size:
        out.reshape(-1)[rng.integers(0, out.size, 1 + out.size // 8)] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    return out
