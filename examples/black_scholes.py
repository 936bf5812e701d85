"""Prices a million European options by the Black-Scholes formula: a chain of elementwise operations.

The code is written as for NumPy; Cuprous records it and runs it as one kernel. The result is checked by put-call
parity.
"""

import time

import cuprous as cp
from cuprous.scipy.special import ndtr

RATE, VOLATILITY = 0.02, 0.3


def black_scholes(spot: cp.ndarray, strike: cp.ndarray, years: cp.ndarray) -> tuple[cp.ndarray, cp.ndarray]:
    """Returns the prices of calls and puts."""
    deviation = VOLATILITY * cp.sqrt(years)
    d1 = (cp.log(spot / strike) + (RATE + 0.5 * VOLATILITY**2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * cp.exp(-RATE * years)
    call = spot * ndtr(d1) - discounted * ndtr(d2)
    put = discounted * ndtr(-d2) - spot * ndtr(-d1)
    return call, put


def main() -> None:
    rng = cp.random.default_rng(1)
    n = 1_000_000
    spot = rng.uniform(10.0, 50.0, n)
    strike = rng.uniform(10.0, 50.0, n)
    years = rng.uniform(0.1, 2.0, n)
    black_scholes(spot, strike, years)[0].sum().item()  # the first run also compiles

    start = time.perf_counter()
    call, put = black_scholes(spot, strike, years)
    total = float(call.sum() + put.sum())
    elapsed = time.perf_counter() - start

    parity = call - put - (spot - strike * cp.exp(-RATE * years))
    worst = float(cp.abs(parity).max())
    assert worst < 1e-11, worst
    known, _ = black_scholes(cp.array([42.0]), cp.array([40.0]), cp.array([0.5]))
    assert abs(float(known[0]) - 4.7764393) < 1e-6, float(known[0])
    print(f"{n:,} calls and puts in {elapsed * 1e3:.2f} ms, worth {total:,.0f} together")
    print(f"put-call parity holds to {worst:.1e}")


if __name__ == "__main__":
    main()
