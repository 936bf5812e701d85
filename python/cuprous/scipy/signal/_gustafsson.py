"""Filtering forward and backward with Gustafsson's initial states.

Source: F. Gustafsson, "Determining the initial states in forward-backward filtering", IEEE Trans. Signal Processing 44
(1996). With F the filter from a zero state, O the outputs that follow an initial state, and R the reversal, filtering
forward first gives R F R (F x + O u) + R O v, and backward first F (R F R x + R O v) + O u. The states u and v make the
difference smallest.
"""

from __future__ import annotations

from collections.abc import Callable

import cuprous as cp
from cuprous._common.arguments import ndarray

#: Filters rows from a zero state, or from the states that are given.
Filter = Callable[..., ndarray]


def _reversed(x: ndarray) -> ndarray:
    return cp.flip(x, -1)


def filtered(run: Filter, x: ndarray, order: int, irlen: int | None) -> ndarray:
    """Returns rows that are filtered forward and backward.

    Parameters
    ----------
    run : callable
        The filter, from a zero state or from given ones.
    x : ndarray
        The signals, along the last axis.
    order : int
        The number of components of a state.
    irlen : int or None
        The length of the filter's response, after which it counts as zero; None for that of the signal.
    """
    n = x.shape[-1]
    m = n if irlen is None or n <= 2 * irlen else irlen
    forward = run(_reversed(run(x)))  # this, and what follows, reversed
    backward = run(_reversed(run(_reversed(x))))
    apart = backward - _reversed(forward)
    response = run(cp.zeros((order, m), x.dtype), cp.eye(order, dtype=x.dtype))  # O, transposed
    again = run(_reversed(response))  # F R O
    start, end = _reversed(again) - response, _reversed(response) - again
    if m == n:
        matrix = cp.concatenate([start, end]).T
        known = apart.reshape(-1, n).T
    else:  # the states at either end act on its neighborhood alone
        none = cp.zeros((order, m), start.dtype)
        matrix = cp.concatenate([cp.concatenate([start, none], 1), cp.concatenate([none, end], 1)]).T
        rows = apart.reshape(-1, n)
        known = cp.concatenate([rows[:, :m], rows[:, n - m :]], 1).T
    states = cp.linalg.lstsq(matrix, known)[0].T.reshape(*x.shape[:-1], 2 * order)
    result = cp.array(_reversed(forward))
    result[..., :m] += states[..., :order] @ _reversed(again)
    result[..., n - m :] += states[..., order:] @ _reversed(response)
    return result
