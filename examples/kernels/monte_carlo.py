"""Prices an Asian option by simulating a million years, one thread for each year. Only the results are stored.

To run it with Numba, import from `numba` instead of `cuprous`.
"""

import argparse
import math
import time

import numpy as np

from cuprous import cuda
from cuprous.cuda.random import create_xoroshiro128p_states, xoroshiro128p_normal_float32

SPOT, STRIKE, RATE, VOLATILITY = 100.0, 100.0, 0.03, 0.2


@cuda.jit
def simulate(states, days, drift, spread, means):
    """Each thread simulates one year and stores the geometric mean of its prices."""
    path = cuda.grid(1)
    if path < means.size:
        level = np.float32(0)  # the logarithm of the price
        total = np.float32(0)
        for _ in range(days):
            level += drift + spread * xoroshiro128p_normal_float32(states, path)
            total += level
        means[path] = math.exp(total / np.float32(days))


def price(paths: int, days: int, seed: int = 1) -> tuple[float, float]:
    """Returns the option's price and its standard error."""
    states = create_xoroshiro128p_states(paths, seed=seed)
    means = cuda.device_array(paths, dtype=np.float32)
    drift = np.float32((RATE - VOLATILITY**2 / 2) / days)
    spread = np.float32(VOLATILITY / math.sqrt(days))
    simulate[-(-paths // 256), 256](states, days, drift, spread, means)
    payoff = np.maximum(SPOT * means.copy_to_host().astype(np.float64) - STRIKE, 0) * math.exp(-RATE)
    return payoff.mean(), payoff.std() / math.sqrt(paths)


def formula(days: int) -> float:
    """Returns the exact price; the geometric mean of the prices is log-normal."""
    mean = (RATE - VOLATILITY**2 / 2) * (days + 1) / (2 * days)
    deviation = VOLATILITY * math.sqrt((days + 1) * (2 * days + 1) / (6 * days * days))
    d = (math.log(SPOT / STRIKE) + mean + deviation**2) / deviation
    below, above = (0.5 * math.erfc(-x / math.sqrt(2)) for x in (d, d - deviation))
    return math.exp(-RATE) * (SPOT * math.exp(mean + deviation**2 / 2) * below - STRIKE * above)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=252)
    options = parser.parse_args()
    start = time.perf_counter()
    found, error = price(options.paths, options.days)
    elapsed = time.perf_counter() - start
    exact = formula(options.days)
    assert abs(found - exact) < 5 * error, (found, exact, error)
    print(f"{options.paths:,} years of {options.days} days in {elapsed:.2f} s")
    print(f"price {found:.3f} ± {error:.3f}, by the formula {exact:.3f}")


if __name__ == "__main__":
    main()
