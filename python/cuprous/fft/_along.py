"""One transform along one axis: what `numpy.fft` and `scipy.fft` have in common.

`forward` is the sign of the exponent (minus) and decides, with `norm`, what the result is divided by.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from cuprous import _core
from cuprous._args import astype, ndarray

#: (array, points, axis, forward, norm) -> transformed
Kernel: TypeAlias = "Callable[[ndarray, int | None, int, bool, str | None], ndarray]"
#: What a forward transform is divided by, and a backward one.
_DIVISORS = {
    "backward": ("one", "points"),
    "ortho": ("root", "root"),
    "forward": ("points", "one"),
}
#: Dtypes that are transformed in single precision.
_SINGLE = frozenset({"float16", "bfloat16", "float32", "complex64"})


def divisor(norm: str | None, forward: bool) -> str:
    """ "one", "root" or "points".

    Raises:
        ValueError: for other norms than None, "backward", "ortho" and "forward".
    """
    for name, pair in _DIVISORS.items():
        if name == ("backward" if norm is None else norm):
            return pair[0 if forward else 1]
    raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')


def count(n: Any, default: int) -> int:
    """The number of points.

    Raises:
        ValueError: unless it is positive.
    """
    n = default if n is None else operator.index(n)
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return n


def fitted(a: ndarray, n: int, axis: int) -> ndarray:
    """`a` with n elements along an axis: cut, or with zeros behind."""
    have = a.shape[axis]
    if have > n:
        return a[(*(slice(None),) * axis, slice(n))]
    if have < n:
        return _core.pad(a, (0,) * a.ndim, [n - have if i == axis else 0 for i in range(a.ndim)], "constant", 0.0)
    return a


def is_complex(a: ndarray) -> bool:
    """Is it of a complex dtype?"""
    return a.dtype_name.startswith("complex")


def _real(a: ndarray) -> ndarray:
    return astype(a, "float32" if a.dtype_name in _SINGLE else "float64")


def _complex(a: ndarray) -> ndarray:
    return astype(a, "complex64" if a.dtype_name in _SINGLE else "complex128")


def complex_to_complex(a: ndarray, n: int | None, axis: int, forward: bool, norm: str | None) -> ndarray:
    """n points (all of them by default) to n values."""
    n = count(n, a.shape[axis])
    by = divisor(norm, forward)
    return _core.fft(_complex(fitted(a, n, axis)), "forward" if forward else "backward", axis, n, by)


def real_to_half(a: ndarray, n: int | None, axis: int, forward: bool, norm: str | None) -> ndarray:
    """n real points to the first n // 2 + 1 values, of which the others are the conjugates.

    Raises:
        TypeError: for complex points.
    """
    n = count(n, a.shape[axis])
    if is_complex(a):
        raise TypeError(f"[fft] points must be real, not {a.dtype_name}; take .real, or use fft")
    half = _core.fft(_real(fitted(a, n, axis)), "real", axis, n, divisor(norm, forward))
    return half if forward else _core.map("conjugate", half)


def half_to_real(a: ndarray, n: int | None, axis: int, forward: bool, norm: str | None) -> ndarray:
    """n // 2 + 1 values, of which the others are the conjugates, to n real points (an even number by default)."""
    n = count(n, 2 * (a.shape[axis] - 1))
    values = _complex(fitted(a, n // 2 + 1, axis))
    if forward and is_complex(a):
        values = _core.map("conjugate", values)
    return _core.fft(values, "half", axis, n, divisor(norm, forward))
