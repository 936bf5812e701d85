"""Distributions of the Kolmogorov and Smirnov statistics, on the host: one number each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def paths_outside(m: int, n: int, steps: int, both: bool) -> float:
    """Returns the fraction of all orders of m and n elements in which, somewhere, the first distribution function
    exceeds the second by at least `steps` / lcm(m, n), or (`both`) differs from it by that much.

    An order is a path over a grid. The probability that a path to a point has been outside follows from the preceding
    points, weighted by the number of paths to them. All terms are positive, so small results are accurate.
    """
    import numpy as np

    if steps <= 0:
        return 1.0
    common = math.gcd(m, n)
    across, down = n // common, m // common
    first = np.arange(m + 1, dtype=np.int64)
    probability = np.zeros(m + 2)
    for total in range(m + n + 1):
        low, high = max(0, total - n), min(m, total)
        i = first[low : high + 1]
        if total:
            # probability[k + 1] belongs to k elements of the first sample.
            probability[low + 1 : high + 2] = (
                i * probability[low : high + 1] + (total - i) * probability[low + 1 : high + 2]
            ) / total
        apart = i * across - (total - i) * down
        outside = np.abs(apart) >= steps if both else apart >= steps
        probability[low + 1 : high + 2][outside] = 1.0
    return float(probability[m + 1])


def one_sided(n: int, d: float) -> float:
    """Returns the probability that the distribution function of n elements exceeds the true one by d somewhere (Z.
    Birnbaum and F. Tingey, Ann. Math. Statist. 22 (1951))."""
    import numpy as np

    if d <= 0:
        return 1.0
    if d >= 1:
        return 0.0
    j = np.arange(math.floor(n * (1 - d)) + 1, dtype=np.float64)
    ways = np.concatenate([[0.0], np.cumsum(np.log((n - j[:-1]) / (j[:-1] + 1)))])
    rest = 1 - d - j / n
    with np.errstate(divide="ignore"):
        logs = ways + (j - 1) * np.log(d + j / n) + (n - j) * np.log(np.maximum(rest, 0))
    return d * float(np.sum(np.exp(logs)))


def _by_matrix(n: int, d: float) -> float:
    """Returns the probability that it stays within d of the true one (G. Marsaglia, W. W. Tsang and J. Wang, J. Stat.
    Softw. 8 (2003))."""
    import numpy as np

    k = int(n * d) + 1
    m, h = 2 * k - 1, int(n * d) + 1 - n * d
    offset = np.arange(m)[:, None] - np.arange(m) + 1
    power = np.where(offset >= 0, 1.0, 0.0)
    edge = h ** np.arange(1.0, m + 1)
    power[:, 0] -= edge
    power[-1, :] -= edge[::-1]
    power[-1, 0] += max(2 * h - 1, 0.0) ** m
    logs = np.array([math.lgamma(i + 1.0) for i in range(m + 1)])
    power *= np.exp(-logs[np.clip(offset, 0, m)])
    result, result_e, power_e, left = np.eye(m), 0, 0, n
    while left:
        if left & 1:
            result, result_e = result @ power, result_e + power_e
            result, result_e = _scaled(result, result_e, k)
        left >>= 1
        if left:
            power, power_e = _scaled(power @ power, 2 * power_e, k)
    middle = float(result[k - 1, k - 1])
    if middle <= 0:
        return 0.0
    return math.exp(math.log(middle) + result_e * math.log(2) + math.lgamma(n + 1.0) - n * math.log(n))


def _scaled(matrix: np.ndarray, exponent: int, k: int) -> tuple[np.ndarray, int]:
    shift = math.frexp(float(matrix[k - 1, k - 1]))[1]
    return matrix * 2.0**-shift, exponent + shift


def _by_series(n: int, d: float) -> float:
    """Returns the same probability from its limit and three corrections (W. Pelz and I. Good, J. R. Statist. Soc. B 38
    (1976))."""
    z = math.sqrt(n) * d
    s, p = z * z, math.pi**2
    sums = [0.0] * 4
    for k in range(40):
        # Terms for k + 1/2, each counted twice, and for integers.
        u, w = p * (k + 0.5) ** 2, p * (k + 1.0) ** 2
        half, full = 2 * math.exp(-u / (2 * s)), 2 * math.exp(-w / (2 * s))
        sums[0] += half
        sums[1] += half * (u - s)
        sums[2] += half * (6 * s**3 + 2 * s**2 + u * (2 * s**2 - 5 * s) + u * u * (1 - 2 * s)) - full * 2 * w * s**2
        sums[3] += half * (
            u**3 * (5 - 30 * s) + u * u * (212 * s**2 - 60 * s) + u * (135 * s**2 - 96 * s**3) - 30 * s**3 - 90 * s**4
        ) + full * 30 * s**2 * (3 * w * s - w * w)
    root = math.sqrt(math.pi / 2)
    scales = (z, 6 * z**4, 72 * z**7, 6480 * z**10)
    return sum(part * root / scale / n ** (i / 2) for i, (part, scale) in enumerate(zip(sums, scales, strict=True)))


def two_sided(n: int, d: float) -> float:
    """Returns the probability that the distribution function of n elements differs from the true one by d somewhere.
    The choice of method follows R. Simard and P. L'Ecuyer, J. Stat. Softw. 39 (2011)."""
    if n == 0:
        return math.nan
    if n * d <= 0.5:
        return 1.0
    if d >= 1:
        return 0.0
    square = n * d * d
    if d >= 0.5 or square > (4 if n <= 140 else 2.2):
        return min(1.0, 2 * one_sided(n, d))
    small = n <= 140 or (n <= 100_000 and n * d**1.5 <= 1.4)
    return min(1.0, max(0.0, 1 - (_by_matrix if small else _by_series)(n, d)))
