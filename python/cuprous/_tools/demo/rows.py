"""The workloads. Each is written once, for NumPy and for Cuprous: only the module that it is given differs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = tuple[Any, ...]


@dataclass(frozen=True)
class Row:
    """One line of the table.

    `make` draws the inputs as NumPy arrays; `run(xp, *inputs)` computes; `check(numpy's, cuprous's)` raises where they
    differ. `repeat`: how often the work is done in one timing, so that short work is measured well. `needs`
    and `peer`: the module that it is compared with, and its name, if that is not NumPy.
    """

    name: str
    title: str
    make: Callable[[bool], Arrays]
    run: Callable[..., Any]
    check: Callable[[Any, Any], None]
    repeat: int = 1
    needs: str = ""
    peer: str = "NumPy"
    transfers: bool = True


def close(rtol: float, atol: float = 0.0) -> Callable[[Any, Any], None]:
    """A check within a relative tolerance of the largest value."""

    def check(expected: Any, actual: Any) -> None:
        pairs = zip(expected, actual, strict=True) if isinstance(expected, tuple) else ((expected, actual),)
        for want, got in pairs:
            want, got = np.asarray(want), np.asarray(got)
            if want.dtype != got.dtype or want.shape != got.shape:
                raise ArithmeticError(f"got {got.dtype}{got.shape}, expected {want.dtype}{want.shape}")
            scale = float(np.abs(want).max(initial=0.0))
            worst = float(np.abs(got.astype(np.float64) - want.astype(np.float64)).max(initial=0.0))
            if not worst <= rtol * scale + atol:
                raise ArithmeticError(f"differs by {worst:.3g} where the largest value is {scale:.3g}")

    return check


# --- vector addition


def make_add(quick: bool) -> Arrays:
    n = 1_000_000
    return np.arange(n), np.arange(n)


def run_add(xp: Any, a: Any, b: Any) -> Any:
    return a + b


# --- twenty small operations


def make_small(quick: bool) -> Arrays:
    return (np.random.default_rng(1).random(1000),)


def run_small(xp: Any, x: Any) -> Any:
    y = x
    for _ in range(10):
        y = y * 1.0001 + 0.5
    return y


# --- matrix product


def make_matmul(quick: bool) -> Arrays:
    n = 500 if quick else 2000
    rng = np.random.default_rng(2)
    return rng.standard_normal((n, n)), rng.standard_normal((n, n))


def run_matmul(xp: Any, a: Any, b: Any) -> Any:
    return a @ b


# --- Black-Scholes


def make_options(quick: bool) -> Arrays:
    n = 100_000 if quick else 4_000_000
    rng = np.random.default_rng(3)
    return rng.uniform(5, 30, n), rng.uniform(1, 100, n), rng.uniform(0.25, 10, n)


def normal_cdf(xp: Any, x: Any) -> Any:
    """The normal distribution by a rational approximation (Abramowitz and Stegun 26.2.17), with NumPy's words alone."""
    k = 1.0 / (1.0 + 0.2316419 * xp.abs(x))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = poly * xp.exp(-0.5 * x * x) * (1.0 / math.sqrt(2.0 * math.pi))
    return xp.where(x >= 0, 1.0 - tail, tail)


def run_options(xp: Any, price: Any, strike: Any, years: Any) -> Any:
    rate, volatility = 0.02, 0.30
    root = xp.sqrt(years)
    d1 = (xp.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / (volatility * root)
    d2 = d1 - volatility * root
    discount = strike * xp.exp(-rate * years)
    call = price * normal_cdf(xp, d1) - discount * normal_cdf(xp, d2)
    return call, call - price + discount


# --- Gaussian blur


def make_image(quick: bool) -> Arrays:
    n = 512 if quick else 4096
    return (np.random.default_rng(4).random((n, n), dtype=np.float32),)


def run_blur(xp: Any, image: Any) -> Any:
    if xp is np:
        from scipy.ndimage import gaussian_filter
    else:
        from cuprous.scipy.ndimage import gaussian_filter  # as above
    return gaussian_filter(image, 3)


# --- Monte Carlo

START, STRIKE, RATE, VOLATILITY, YEARS = 100.0, 100.0, 0.05, 0.2, 1.0


def make_paths(quick: bool) -> Arrays:
    return (100_000 if quick else 1_000_000), (50 if quick else 252)


def run_paths(xp: Any, paths: int, steps: int) -> Any:
    """The mean pay-off of a European call: geometric Brownian motion in a plain loop."""
    rng = xp.random.default_rng(5)
    step = YEARS / steps
    drift, spread = (RATE - 0.5 * VOLATILITY**2) * step, VOLATILITY * math.sqrt(step)
    s = xp.full(paths, START, dtype=xp.float32)
    for _ in range(steps):
        s *= xp.exp(drift + spread * rng.standard_normal(paths, dtype=xp.float32))
    return xp.maximum(s - STRIKE, 0).mean(dtype=xp.float64)


def expected_payoff() -> float:
    """What the mean tends to, in closed form: Black-Scholes without the discount."""
    d1 = (math.log(START / STRIKE) + (RATE + 0.5 * VOLATILITY**2) * YEARS) / (VOLATILITY * math.sqrt(YEARS))
    d2 = d1 - VOLATILITY * math.sqrt(YEARS)
    cdf = [0.5 * (1 + math.erf(d / math.sqrt(2))) for d in (d1, d2)]
    return START * math.exp(RATE * YEARS) * cdf[0] - STRIKE * cdf[1]


def payoff_sigma(paths: int) -> float:
    """The standard error of the mean: the pay-off's own deviation is 15.5 with these figures."""
    return 15.5 / math.sqrt(paths)


def check_paths(paths: int) -> Callable[[Any, Any], None]:
    """Random streams differ between libraries, so each mean is held against the closed form."""

    def check(expected: Any, actual: Any) -> None:
        for who, mean in (("NumPy", expected), ("Cuprous", actual)):
            sigmas = abs(float(mean) - expected_payoff()) / payoff_sigma(paths)
            if not sigmas < 5:
                raise ArithmeticError(f"{who}'s mean {float(mean):.4f} is {sigmas:.1f} standard errors off")

    return check


def check_same_normals(cp: Any) -> None:
    """NumPy, fed with Cuprous' own normals, must take the same paths."""
    paths, steps = 1000, 20
    z = cp.random.default_rng(6).standard_normal((steps, paths), dtype=cp.float32)
    s, host = cp.full(paths, START, dtype=cp.float32), np.full(paths, START, dtype=np.float32)
    for device_row, host_row in zip(z, cp.asnumpy(z), strict=True):
        s *= cp.exp(0.0001 + 0.0126 * device_row)
        host *= np.exp(0.0001 + 0.0126 * host_row)
    close(1e-5)(host, cp.asnumpy(s))


# --- a query of tables, in Polars and on its engine here


def make_query(quick: bool) -> Arrays:
    """A key with 1,000 values, and two columns of numbers."""
    rng = np.random.default_rng(7)
    n = 200_000 if quick else 4_000_000
    return rng.integers(0, 1000, n), rng.random(n), rng.random(n)


def run_query(xp: Any, key: Any, price: Any, discount: Any) -> Any:
    import polars as pl

    columns = {"key": key, "price": price, "discount": discount}
    c = pl.col
    revenue = (c("price") * (1 - c("discount"))).sum()

    def query(lf: Any) -> Any:
        found = lf.filter(c("discount") < 0.5).group_by("key").agg(revenue.alias("revenue"), pl.len().alias("rows"))
        return found.sort("key")

    if xp is np:
        found = query(pl.LazyFrame(columns)).collect()
        return tuple(found[name].to_numpy() for name in found.columns)
    from cuprous import frames

    table = query(frames.from_arrays(columns)).execute(engine=frames.Engine(take="all", strict=True))
    return tuple(table.to_arrays().values())


def rows(quick: bool) -> list[Row]:
    """All workloads, in the order in which they are shown."""
    paths, steps = make_paths(quick)
    n = 500 if quick else 2000
    options = "100,000" if quick else "4,000,000"
    size = 512 if quick else 4096
    lines = "200,000" if quick else "4,000,000"
    return [
        Row("matmul", f"matrix product {n} x {n}, float64", make_matmul, run_matmul, close(1e-12)),
        Row("options", f"Black-Scholes, {options} options, float64", make_options, run_options, close(1e-10)),
        Row("paths", f"Monte Carlo, {paths:,} paths x {steps} steps", make_paths, run_paths, check_paths(paths),
            transfers=False),
        Row("blur", f"Gaussian blur of {size} x {size}", make_image, run_blur, close(1e-5), needs="scipy",
            peer="SciPy"),
        Row("query", f"sums of 1,000 groups of {lines} rows", make_query, run_query, close(1e-10), needs="polars",
            peer="Polars"),
        Row("small", "20 small operations on 1,000 numbers", make_small, run_small, close(1e-12), repeat=100),
        Row("add", "adding 1,000,000 integers", make_add, run_add, close(0.0), repeat=10),
    ]  # fmt: skip
