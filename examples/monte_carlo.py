"""Prices a call option by simulating its underlying asset day by day; the loop replays one program.

Only the present values of the paths are stored, so a million paths need a few megabytes. The result is checked with the
Black-Scholes formula.
"""

import argparse
import math
import time

import cuprous as cp

SPOT, STRIKE, YEARS, RATE, VOLATILITY = 100.0, 105.0, 1.0, 0.03, 0.2


def simulate(rng: cp.random.Generator, paths: int, days: int) -> tuple[float, float]:
    """Returns the price and its standard error."""
    dt = YEARS / days
    drift, spread = (RATE - 0.5 * VOLATILITY**2) * dt, VOLATILITY * math.sqrt(dt)
    price = cp.full(paths, SPOT, dtype=cp.float32)
    for _ in range(days):
        price *= cp.exp(drift + spread * rng.standard_normal(paths, dtype=cp.float32))
    payoff = cp.maximum(price - STRIKE, 0).astype(cp.float64) * math.exp(-RATE * YEARS)
    return float(payoff.mean()), float(payoff.std()) / math.sqrt(paths)


def formula() -> float:
    """Returns the same price by the Black-Scholes formula."""
    deviation = VOLATILITY * math.sqrt(YEARS)
    d1 = (math.log(SPOT / STRIKE) + (RATE + 0.5 * VOLATILITY**2) * YEARS) / deviation
    below = [0.5 * math.erfc(-d / math.sqrt(2.0)) for d in (d1, d1 - deviation)]
    return SPOT * below[0] - STRIKE * math.exp(-RATE * YEARS) * below[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=200_000)
    parser.add_argument("--days", type=int, default=252)
    options = parser.parse_args()

    start = time.perf_counter()
    price, error = simulate(cp.random.default_rng(7), options.paths, options.days)
    elapsed = time.perf_counter() - start
    exact = formula()
    assert abs(price - exact) < 4 * error, (price, exact, error)
    print(f"{options.paths:,} paths of {options.days} days in {elapsed:.2f} s")
    print(f"price {price:.3f} ± {error:.3f}, by the formula {exact:.3f}")


if __name__ == "__main__":
    main()
