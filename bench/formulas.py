"""Formulas that all peers run unchanged, with their own module."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

S0, STRIKE, RATE, VOL = 100.0, 100.0, 0.05, 0.2


def chain20(y: Any) -> Any:
    """Computes twenty operations, each depending on the previous one."""
    for _ in range(10):
        y = (y * 1.0001) + 0.5
    return y


def chain10(xp: Any, a: Any, b: Any) -> Any:
    """Computes ten operations that fit into one pass over memory."""
    return xp.sqrt(xp.abs((a * 2.0 + b) * (a - b) * 0.5 + a * b - 1.0))


CHAIN10_NUMEXPR = "sqrt(abs((a * 2.0 + b) * (a - b) * 0.5 + a * b - 1.0))"


def black_scholes(xp: Any, erf: Callable[[Any], Any], s: Any, k: Any, t: Any, r: float = 0.02, v: float = 0.3) -> Any:
    """Returns the prices of calls and puts."""
    root = xp.sqrt(t)
    d1 = (xp.log(s / k) + (r + 0.5 * v * v) * t) / (v * root)
    d2 = d1 - v * root
    c1 = 0.5 * (1 + erf(d1 * 0.7071067811865476))
    c2 = 0.5 * (1 + erf(d2 * 0.7071067811865476))
    e = xp.exp(-r * t)
    call = s * c1 - k * e * c2
    return call, call - s + k * e


def logistic_price(xp: Any, s: Any, k: Any, t: Any) -> Any:
    """Computes Black-Scholes prices with a logistic distribution instead of the normal one, as numexpr has no erf."""
    root = xp.sqrt(t)
    d1 = (xp.log(s / k) + 0.065 * t) / (0.3 * root)
    d2 = d1 - 0.3 * root
    c1, c2 = 1.0 / (1.0 + xp.exp(-1.702 * d1)), 1.0 / (1.0 + xp.exp(-1.702 * d2))
    return s * c1 - k * xp.exp(-0.02 * t) * c2


LOGISTIC_NUMEXPR = (
    "s / (1.0 + exp(-1.702 * ((log(s / k) + 0.065 * t) / (0.3 * sqrt(t)))))"
    " - k * exp(-0.02 * t) / (1.0 + exp(-1.702 * ((log(s / k) + 0.065 * t) / (0.3 * sqrt(t)) - 0.3 * sqrt(t))))"
)


def monte_carlo(full: Callable[[], Any], normals: Callable[[], Any], exp: Any, payoff: Any, steps: int) -> Any:
    """Simulates geometric Brownian motion with a Python loop over the steps."""
    dt = 1.0 / steps
    drift, spread = (RATE - 0.5 * VOL * VOL) * dt, VOL * math.sqrt(dt)
    s = full()
    for _ in range(steps):
        s *= exp(drift + spread * normals())
    return payoff(s)


def call_payoff_mean() -> float:
    """Returns the limit of the simulation."""
    d1 = (math.log(S0 / STRIKE) + RATE + 0.5 * VOL**2) / VOL
    cdf = [0.5 * (1 + math.erf(d / math.sqrt(2))) for d in (d1, d1 - VOL)]
    return S0 * math.exp(RATE) * cdf[0] - STRIKE * cdf[1]
