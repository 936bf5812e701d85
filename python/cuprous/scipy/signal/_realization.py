"""State-space realization of a filter with matrices whose powers stay small: state' = A state + B x, y = C state + D x.

The powers of the companion matrix of the coefficients have entries of many orders of magnitude, which cancel all digits
for narrow filters of order eight or more. The normalized lattice of A. H. Gray and J. D. Markel (IEEE Transactions on
Acoustics, Speech, and Signal Processing 23 (1975)) describes the same filter with a matrix A of norm at most 1. It
follows from the reflection coefficients of the denominator, by a recursion that loses digits and therefore runs in
decimal arithmetic with 100 digits. All of this happens on the host: N² numbers for order N.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any, NamedTuple

_DIGITS = 100


class Realization(NamedTuple):
    """A realization as NumPy arrays: `step` is A (N, N), `drive` B (N,), `view` C (N,) and `direct` the scalar D.
    `shown` maps a state to the one of the transposed direct form II, and `taken` is its inverse."""

    step: Any
    drive: Any
    view: Any
    direct: Any
    shown: Any
    taken: Any


@lru_cache(maxsize=64)
def realization(b: tuple[complex, ...], a: tuple[complex, ...]) -> Realization:
    """Returns the realization for coefficients of equal lengths, with a[0] = 1. Unstable and complex filters use the
    direct form."""
    if not any(isinstance(v, complex) for v in (*b, *a)):
        with localcontext() as context:
            context.prec = _DIGITS
            found = _lattice([Decimal(v.real) for v in b], [Decimal(v.real) for v in a])
        if found is not None:
            return found
    return _direct(b, a)


def _direct(b: Any, a: Any) -> Realization:
    import numpy as np

    taps, feedback = np.asarray(b), np.asarray(a)
    order = len(a) - 1
    step = np.diag(np.ones(order - 1, np.result_type(taps, feedback)), 1)
    step[:, 0] = -feedback[1:]
    view = np.eye(1, order)[0]
    return Realization(step, taps[1:] - feedback[1:] * taps[0], view, taps[0], np.eye(order), np.eye(order))


def _polynomials(a: list[Decimal]) -> list[list[Decimal]] | None:
    """Returns the lattice's denominators of orders N, N - 1, …, 0, or None if the filter is unstable."""
    found = [a]
    while len(a) > 1:
        k = a[-1]
        if not abs(k) < 1:
            return None
        scale = 1 / (1 - k * k)
        a = [(p - k * q) * scale for p, q in zip(a[:-1], a[:0:-1], strict=True)]
        found.append(a)
    return found[::-1]


def _lattice(b: list[Decimal], a: list[Decimal]) -> Realization | None:
    """Builds the lattice. With w_m the m-th backward prediction error one step ago: f_(m-1) = f_m - k_m w_(m-1),
    starting from f_N = x; w_m' = k_m f_(m-1) + w_(m-1), w_0' = f_0. Scales the states so that white noise gives all of
    them equal variance, then transposes.
    """
    import numpy as np

    polynomials = _polynomials(a)
    if polynomials is None:
        return None
    order = len(a) - 1
    k = [p[-1] for p in polynomials]  # k[0] is 1 and unused
    c = [(1 - v * v).sqrt() for v in k]
    sizes = [Decimal(1)] * (order + 1)  # standard deviations of the states for white noise
    for m in range(order - 1, -1, -1):
        sizes[m] = sizes[m + 1] / c[m + 1]
    reflect, keep = np.array([float(v) for v in k]), np.array([float(v) for v in c])
    reflect[0] = 1.0  # w_0' = f_0
    # Rows of [w', g_N] as combinations of the scaled states, followed by the input.
    rows = np.zeros((order + 1, order + 1))
    for m in range(order + 1):
        run = 1.0
        for j in range(max(m, 1), order + 1):  # f_(m-1) subtracts k_j w_(j-1) for j >= m (f_0: for j >= 1)
            if j > m:
                rows[m, j - 1] = -reflect[m] * reflect[j] * run
                run *= keep[j]
            elif m:
                rows[m, m - 1] = keep[m]
        rows[m, order] = reflect[m] * run
    # The weights of the backward errors that combine to the numerator.
    rest, weights = list(b), [Decimal(0)] * (order + 1)
    for m in range(order, -1, -1):
        weights[m] = rest[m]
        rest = [p - weights[m] * q for p, q in zip(rest[:m], polynomials[m][:0:-1], strict=True)]
    ladder = np.array([float(v * s) for v, s in zip(weights, sizes, strict=True)])
    shown = np.zeros((order, order))
    for m in range(order):
        for i in range(m + 1):
            shown[i, m] = float(polynomials[m][m - i] / sizes[m])
    taken = _inverse(polynomials, sizes, order)
    return Realization(rows[:order, :order].T, ladder @ rows[:, :order], rows[:order, order], float(b[0]), shown, taken)


def _inverse(polynomials: list[list[Decimal]], sizes: list[Decimal], order: int) -> Any:
    """Returns the inverse of `shown`, an upper triangular matrix with the diagonal 1 / sizes."""
    import numpy as np

    taken = np.zeros((order, order))
    for column in range(order):
        solution = [Decimal(0)] * order
        for i in range(column, -1, -1):
            total = Decimal(1 if i == column else 0)
            for m in range(i + 1, column + 1):
                total -= polynomials[m][m - i] * solution[m]
            solution[i] = total
        taken[:, column] = [float(v * s) for v, s in zip(solution, sizes[:order], strict=True)]
    return taken
