"""Transforms along axes, shared by `numpy.fft` and `scipy.fft`.

`forward` means a negative sign of the exponent. Together with `norm` it determines the divisor of the result.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from cuprous import _core
from cuprous._common.arguments import along, ndarray
from cuprous._common.casting import astype
from cuprous.fft._plans import SINGLE, get_current_plan

#: (array, points along each axis, the axes, forward, norm) -> transformed. Axes are distinct.
Kernel: TypeAlias = "Callable[[ndarray, Sequence[Any], Sequence[int], bool, str | None], ndarray]"
#: The divisors of a forward and of a backward transform.
_DIVISORS = {"backward": ("one", "points"), "ortho": ("root", "root"), "forward": ("points", "one")}


def divisor(norm: str | None, forward: bool) -> str:
    """Returns the divisor of a transform: "one", "root" or "points".

    Raises
    ------
    ValueError
        If `norm` is not None, "backward", "ortho" and "forward".
    """
    for name, pair in _DIVISORS.items():
        if name == ("backward" if norm is None else norm):
            return pair[0 if forward else 1]
    raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')


def count(n: Any, default: int) -> int:
    """Returns the number of points.

    Raises
    ------
    ValueError
        If the number is not positive.
    """
    n = default if n is None else operator.index(n)
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return n


def fitted(a: ndarray, n: int, axis: int) -> ndarray:
    """Returns `a` with n elements along an axis, truncated or padded with zeros."""
    length = a.shape[axis]
    if length > n:
        return a[along(axis, 0, n)]
    if length < n:
        return _core.pad(a, (0,) * a.ndim, [n - length if i == axis else 0 for i in range(a.ndim)], "constant", 0.0)
    return a


def is_complex(a: ndarray) -> bool:
    """Returns true if the dtype is complex."""
    return a.dtype_name.startswith("complex")


def _real(a: ndarray) -> ndarray:
    return astype(a, "float32" if a.dtype_name in SINGLE else "float64")


def _complex(a: ndarray) -> ndarray:
    return astype(a, "complex64" if a.dtype_name in SINGLE else "complex128")


def _fitted_along(a: ndarray, points: Sequence[Any], axes: Sequence[int]) -> ndarray:
    """Returns `a` truncated or padded to the given number of elements along each axis (None: all of them)."""
    for n, axis in zip(points, axes, strict=True):
        a = fitted(a, count(n, a.shape[axis]), axis)
    return a


def _check_plan(value_type: str, a: ndarray, axes: Sequence[int], size: int) -> None:
    """Checks a transform against the plan of the surrounding `with` block, if there is one."""
    if (plan := get_current_plan()) is not None:
        plan.check(value_type, a, axes, size)


def complex_to_complex(
    a: ndarray, points: Sequence[Any], axes: Sequence[int], forward: bool, norm: str | None
) -> ndarray:
    """Transforms n points (by default all) to n values along each of the axes."""
    a = _fitted_along(a, points, axes)
    _check_plan("C2C", a, axes, a.shape[axes[-1]])
    kind = ("forward" if is_complex(a) else "whole") if forward else "backward"
    a = _real(a) if kind == "whole" else _complex(a)
    return _core.fft(a, kind, axes, a.shape[axes[-1]], divisor(norm, forward))


def real_to_half(a: ndarray, points: Sequence[Any], axes: Sequence[int], forward: bool, norm: str | None) -> ndarray:
    """Transforms n real points along the last of the axes to the first n // 2 + 1 values, whose conjugates are the
    other values. Then applies complex_to_complex along the other axes.

    Raises
    ------
    TypeError
        For complex points.
    """
    a = _fitted_along(a, points, axes)
    by = divisor(norm, forward)
    if is_complex(a):
        raise TypeError(f"[fft] points must be real, not {a.dtype_name}; take .real, or use fft")
    _check_plan("R2C", a, axes, a.shape[axes[-1]])
    half = _core.fft(_real(a), "real", axes, a.shape[axes[-1]], by)
    return half if forward else _core.map("conjugate", half)


def half_to_real(a: ndarray, points: Sequence[Any], axes: Sequence[int], forward: bool, norm: str | None) -> ndarray:
    """Applies complex_to_complex along all axes but the last. Then transforms n // 2 + 1 values along the last axis,
    whose conjugates are the other values, to n real points (by default an even number)."""
    n = count(points[-1], 2 * (a.shape[axes[-1]] - 1))
    values = _complex(_fitted_along(a, [*points[:-1], n // 2 + 1], axes))
    _check_plan("C2R", values, axes, n)
    if forward and is_complex(a):
        values = _core.map("conjugate", values)
    return _core.fft(values, "half", axes, n, divisor(norm, forward))
