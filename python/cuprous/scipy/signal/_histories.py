"""CuPy's states of filters: the inputs and outputs before the signal, of which SciPy's state is a linear function."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import ndarray


def is_history(zi: ndarray, axis: int, taps: int, feedback: int) -> bool:
    """Returns true if the state's length along the axis is that of CuPy's and not of SciPy's."""
    length = taps + feedback - 2
    return axis < zi.ndim and zi.shape[axis] == length != max(taps, feedback) - 1


def state_of(history: ndarray, axis: int, b: Any, a: Any) -> ndarray:
    """Returns the state of the transposed direct form II, along the axis.

    Parameters
    ----------
    history : ndarray
        The len(b) - 1 inputs and then the len(a) - 1 outputs before the signal, the oldest first.
    axis : int
        The axis.
    b, a : array_like
        The coefficients, on the host.
    """
    import numpy as np

    order = max(b.size, a.size) - 1
    weights = np.zeros((b.size + a.size - 2, order), np.result_type(b, a, np.float64))
    for start, values in ((0, b / a[0]), (b.size - 1, -a / a[0])):
        for lag in range(1, values.size):
            weights[start + values.size - 1 - lag, : values.size - lag] = values[lag:]
    lines = cp.moveaxis(history, axis, -1)
    coefficients = _dtypes.name_of(np.result_type(b, a))
    dtype = _dtypes.inexact(_core.promote_types(history.dtype_name, coefficients))
    return cp.moveaxis(_core.cast(cp.matmul(lines + 0.0, _core.from_numpy(weights)), dtype), -1, axis)


def history_after(history: ndarray, axis: int, taps: int, feedback: int, x: ndarray, y: ndarray) -> ndarray:
    """Returns the inputs and outputs before the elements that follow the signal `x` with the output `y`."""
    before = cp.moveaxis(history, axis, -1)
    parts = []
    for seen, signal, count in ((before[..., : taps - 1], x, taps - 1), (before[..., taps - 1 :], y, feedback - 1)):
        lines = cp.moveaxis(signal, axis, -1)
        whole = cp.concatenate([_core.broadcast_to(seen, (*lines.shape[:-1], count)), lines], axis=-1)
        parts.append(whole[..., whole.shape[-1] - count :])
    return cp.moveaxis(cp.concatenate(parts, axis=-1), -1, axis)


__all__ = ["history_after", "is_history", "state_of"]
