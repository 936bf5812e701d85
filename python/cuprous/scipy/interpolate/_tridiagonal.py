"""Batched tridiagonal systems of equations.

Parallel cyclic reduction (R. W. Hockney and C. R. Jesshope, "Parallel Computers", 1981): a step eliminates from each
equation its neighbors at distance s, which leaves neighbors at distance 2 s. If the diagonal is twice the sum of the
off-diagonal elements, as for splines, each step squares the ratio of off-diagonal to diagonal elements. Eight steps
then make them negligible in double precision for any number of equations; less dominant equations at the ends cost two
more.
"""

from __future__ import annotations

import cuprous as cp
from cuprous import _core

ndarray = _core.ndarray
_STEPS = 10


def _shifted(a: ndarray, by: int, fill: float, cyclic: bool) -> ndarray:
    """Returns a[i - by], along the first axis."""
    n = a.shape[0]
    if cyclic:
        return cp.roll(a, by, axis=0)
    edge = cp.full((min(abs(by), n), *a.shape[1:]), fill, dtype=a.dtype_name)
    if abs(by) >= n:
        return edge
    return cp.concatenate([edge, a[:-by]] if by > 0 else [a[-by:], edge], axis=0)


def solve(below: ndarray, diagonal: ndarray, above: ndarray, right: ndarray, cyclic: bool = False) -> ndarray:
    """Returns x with below[i] x[i - 1] + diagonal[i] x[i] + above[i] x[i + 1] = right[i].

    Parameters
    ----------
    below, diagonal, above : ndarray
        float64 arrays of shape (n, 1); below[0] and above[-1] are 0, unless cyclic.
    right : ndarray
        An array of shape (n, m).
    cyclic : bool, default False
        Whether the first and last unknowns are neighbors.
    """
    n, step = right.shape[0], 1
    for _ in range(_STEPS):
        if not cyclic and step >= n:
            break
        before, after = step % n if cyclic else step, -(step % n) if cyclic else -step

        def at(a: ndarray, by: int, fill: float = 0.0) -> ndarray:
            return _shifted(a, by, fill, cyclic)

        lower, upper = below / at(diagonal, before, 1.0), above / at(diagonal, after, 1.0)
        right = right - lower * at(right, before) - upper * at(right, after)
        diagonal, below, above = (
            diagonal - lower * at(above, before) - upper * at(below, after),
            -lower * at(below, before),
            -upper * at(above, after),
        )
        step *= 2
    return right / diagonal
