"""LU decomposition with partial pivoting, as recorded array operations on either device.

Columns are eliminated in panels. Each step works on its panel alone, and what is right of a panel gets one triangular
solve and one matrix product.
"""

from __future__ import annotations

from cuprous._common.arguments import ndarray
from cuprous._common.casting import astype
from cuprous._functions.arg_reductions import argmax
from cuprous._functions.complex_parts import imag, real
from cuprous._functions.creation import ones_like, zeros
from cuprous._functions.elementwise import where
from cuprous._functions.joining import concatenate
from cuprous._functions.logic import iscomplexobj
from cuprous._functions.matrices import eye, tril
from cuprous._functions.ranges import arange
from cuprous._functions.selection import take_along_axis
from cuprous._ufuncs.one_output import absolute
from cuprous.linalg._solving import solve

_PANEL = 32


def lu_factor(a: ndarray, pivot: bool = True) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Decomposes matrices in the last two axes into P L U.

    Parameters
    ----------
    a : ndarray
        Matrices of m x n of a floating or complex dtype.
    pivot : bool, default True
        Whether rows are swapped.

    Returns
    -------
    tuple of ndarrays
        L (below the diagonal) and U in one array, the row that each row was swapped with (int32, from 0), the order
        of rows (so that `a[order] = L U`), and the column of the first zero pivot, from 1 (int32; 0 for none).
    """
    m, n = a.shape[-2:]
    batch, count = a.shape[:-2], min(m, n)
    order = zeros((*batch, m), "int64") + arange(m)
    pivots = []
    info = zeros(batch, "int32")
    done: list[ndarray] = []  # the columns left of the present panel
    rest = a
    for start in range(0, count, _PANEL):
        width = min(_PANEL, count - start)
        panel, swaps, info, chosen = _eliminate(rest[..., :width], start, info, pivot)
        pivots += chosen
        order = take_along_axis(order, swaps, -1)
        done = [*(take_along_axis(part, swaps[..., None], -2) for part in done), panel]
        right = take_along_axis(rest[..., width:], swaps[..., None], -2)
        if right.shape[-1]:
            stop = start + width
            lower = tril(panel[..., start:stop, :], -1) + eye(width, dtype=a.dtype)
            top = solve(lower, right[..., start:stop, :])
            below = right[..., stop:, :] - panel[..., stop:, :] @ top
            right = concatenate([right[..., :start, :], top, below], -2)
        rest = right
    found = concatenate([*done, rest], -1) if done else rest
    rows = concatenate([p[..., None] for p in pivots], -1) if pivots else zeros((*batch, 0), "int64")
    return found, astype(rows, "int32"), order, info


def _size(a: ndarray) -> ndarray:
    """Returns what pivots are chosen by, as LAPACK does: for complex numbers |real| + |imag|."""
    return absolute(real(a)) + absolute(imag(a)) if iscomplexobj(a) else absolute(a)


def _eliminate(panel: ndarray, start: int, info: ndarray,
               pivot: bool) -> tuple[ndarray, ndarray, ndarray, list[ndarray]]:  # fmt: skip
    """Returns the panel with its columns eliminated from row `start` on, the order of its rows, and the pivots."""
    m, width = panel.shape[-2:]
    row, column = arange(m), arange(width)
    order = zeros(panel.shape[:-1], "int64") + row
    pivots = []
    for j in range(width):
        k = start + j
        chosen = argmax(_size(panel[..., k:, j]), -1) + k if pivot else zeros(panel.shape[:-2], "int64") + k
        pivots.append(chosen)
        other = chosen[..., None]
        swap = where(row == k, other, where(row == other, k, row))
        panel, order = take_along_axis(panel, swap[..., None], -2), take_along_axis(order, swap, -1)
        top = panel[..., k : k + 1, :]
        at = top[..., j : j + 1]
        zero = at == 0
        info = astype(where((info == 0) & zero[..., 0, 0], k + 1, info), "int32")
        factor = where(row[:, None] > k, panel[..., j : j + 1] / where(zero, ones_like(at), at), 0)
        eliminated = panel - factor * where(column > j, top, 0)
        panel = where((column == j) & (row[:, None] > k), factor, eliminated)
    return panel, order, info, pivots


def order_of(pivots: ndarray, m: int) -> ndarray:
    """Returns the order of m rows that a sequence of swaps gives (int64); `pivots` counts from 0."""
    row = arange(m)
    order = zeros((*pivots.shape[:-1], m), "int64") + row
    for k in range(pivots.shape[-1]):
        other = astype(pivots[..., k : k + 1], "int64")
        swap = where(row == k, other, where(row == other, k, row))
        order = take_along_axis(order, swap, -1)
    return order
