"""A filter's coefficients as matrices whose powers stay small: state' = A state + B x, y = C state + D x.

The matrix that the coefficients themselves make (the companion matrix) has powers with entries of many orders of
magnitude, in which all digits cancel for narrow filters of order eight or more. The normalised lattice of A. H. Gray
and J. D. Markel (IEEE Transactions on Acoustics, Speech, and Signal Processing 23 (1975)) describes the same filter by
an A that lengthens no vector. It follows from the reflection coefficients of the denominator, by a recursion that loses
digits, which therefore runs in decimal numbers of 100 digits. All of this is on the host: N² numbers for order N.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any, NamedTuple

_DIGITS = 100


class Realization(NamedTuple):
    """NumPy arrays: `step` (N, N), `drive` (N,), `view` (N,), the scalar `direct`; and what takes a state to that
    of the transposed direct form II (`shown`), and back (`taken`)."""

    step: Any
    drive: Any
    view: Any
    direct: Any
    shown: Any
    taken: Any


@lru_cache(maxsize=64)
def realization(b: tuple[complex, ...], a: tuple[complex, ...]) -> Realization:
    """Of coefficients of equal lengths, with a[0] = 1. Filters that are not stable, and complex ones, stay in direct
    form."""
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
    """The denominators of orders N, N - 1, …, 0 of the lattice; None if the filter is not stable."""
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
    """With w_m the m-th backward prediction error of one step ago: f_(m-1) = f_m - k_m w_(m-1) from f_N = x on, and
    w_m' = k_m f_(m-1) + w_(m-1), w_0' = f_0. Scaled so that white noise makes all states equally large, and transposed.
    """
    import numpy as np

    polynomials = _polynomials(a)
    if polynomials is None:
        return None
    order = len(a) - 1
    k = [p[-1] for p in polynomials]  # k[0] is 1 and does not count
    c = [(1 - v * v).sqrt() for v in k]
    sizes = [Decimal(1)] * (order + 1)  # of white noise's states
    for m in range(order - 1, -1, -1):
        sizes[m] = sizes[m + 1] / c[m + 1]
    reflect, keep = np.array([float(v) for v in k]), np.array([float(v) for v in c])
    reflect[0] = 1.0  # w_0' = f_0
    # Rows of [w', g_N] in terms of the scaled states, then of the input.
    rows = np.zeros((order + 1, order + 1))
    for m in range(order + 1):
        run = 1.0
        for j in range(max(m, 1), order + 1):  # f_(m-1) takes k_j w_(j-1) off for j >= m; f_0 for m = 0 those from 1 on
            if j > m:
                rows[m, j - 1] = -reflect[m] * reflect[j] * run
                run *= keep[j]
            elif m:
                rows[m, m - 1] = keep[m]
        rows[m, order] = reflect[m] * run
    # Weights of the backward errors that make up the numerator.
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
    """Of `shown`, whose diagonal is 1 / sizes and below which there is nothing."""
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
