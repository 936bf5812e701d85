"""`scipy.fft`'s Fourier transforms. Half precision inputs are computed and returned in single precision."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from cuprous._common.arguments import ArrayLike, array, ndarray, normalize_axis
from cuprous._common.naming import named
from cuprous.fft._transforms import Kernel, complex_to_complex, half_to_real, real_to_half
from cuprous.scipy.fft._workers import check

Points: TypeAlias = "int | Sequence[int] | None"
Axes: TypeAlias = "int | Sequence[int] | None"


def _integers(values: Any, name: str) -> list[int]:
    try:
        return [operator.index(v) for v in (values if hasattr(values, "__iter__") else (values,))]
    except TypeError as error:
        raise ValueError(f"{name} must be a scalar or iterable of integers") from error


def axes_and_points(a: ndarray, s: Points, axes: Axes) -> tuple[list[int], list[int]]:
    """Returns the transformed axes and the number of points along each, by SciPy's rules; -1 means all points.

    Raises:
        ValueError: for axes that do not exist or repeat, and numbers of points that are not positive or do not match
            them.
    """
    points = None if s is None else _integers(s, "shape")
    if axes is not None:
        chosen = [i + a.ndim if i < 0 else i for i in _integers(axes, "axes")]
        if any(not 0 <= i < a.ndim for i in chosen):
            raise ValueError("axes exceeds dimensionality of input")
        if len(set(chosen)) != len(chosen):
            raise ValueError("all axes must be unique")
        if points is not None and chosen and len(points) != len(chosen):
            raise ValueError("when given, axes and shape arguments have to be of the same length")
    else:
        if points is not None and len(points) > a.ndim:
            raise ValueError("shape requires more axes than are present")
        chosen = list(range(a.ndim - len(points), a.ndim)) if points is not None else list(range(a.ndim))
    points = [a.shape[i] for i in chosen] if points is None else points
    points = [a.shape[i] if n == -1 else n for n, i in zip(points, chosen, strict=False)]
    if any(n < 1 for n in points):
        raise ValueError(f"invalid number of data points ({points}) specified")
    return points, chosen


def _lines(name: str, kernel: Kernel, forward: bool, doc: str) -> Any:
    """Creates `scipy.fft`'s function along one axis."""

    def transform(
        x: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
        workers: int | None = None, *, plan: Any = None,
    ) -> ndarray:  # fmt: skip
        check(workers, plan)
        a = array(x)
        return kernel(a, (n,), (normalize_axis(axis, a.ndim),), forward, norm)

    return named(transform, name, doc)


def _planes(name: str, kernel: Kernel, forward: bool, all_axes: bool, doc: str) -> Any:
    """Creates `scipy.fft`'s function along several axes: by default all of them, or the last two."""

    def transform(
        x: ArrayLike, s: Points = None, axes: Axes = None if all_axes else (-2, -1), norm: str | None = None,
        overwrite_x: bool = False, workers: int | None = None, *, plan: Any = None,
    ) -> ndarray:  # fmt: skip
        check(workers, plan)
        a = array(x)
        points, chosen = axes_and_points(a, s, axes)
        if not chosen:
            if kernel is not complex_to_complex:
                raise ValueError("at least 1 axis must be transformed")
            return a
        if kernel is half_to_real and s is None:
            points[-1] = 2 * (points[-1] - 1)
        return kernel(a, points[: len(chosen)], chosen, forward, norm)

    return named(transform, name, doc)


#: Name: (transform, whether it is forward, start of the docstring).
_TABLE: dict[str, tuple[Kernel, bool, str]] = {
    "fft": (complex_to_complex, True, "Discrete Fourier transform"),
    "ifft": (complex_to_complex, False, "Inverse discrete Fourier transform"),
    "rfft": (real_to_half, True, "First half of the discrete Fourier transform of real input"),
    "irfft": (half_to_real, False, "Inverse of rfft"),
    "hfft": (half_to_real, True, "Discrete Fourier transform of the first half of Hermitian input, with real output"),
    "ihfft": (real_to_half, False, "Inverse of hfft"),
}
_NOTE = """

    The arguments are those of `cuprous.fft.{0}`. Half precision is computed and returned in single precision.
    `overwrite_x` has no effect, `workers` is only validated, and `plan` raises NotImplementedError.
    """
FUNCTIONS: dict[str, Callable[..., ndarray]] = {
    **{name: _lines(name, kernel, forward, f"{what} along an axis.{_NOTE.format(name)}")
       for name, (kernel, forward, what) in _TABLE.items()},
    **{f"{name}2": _planes(f"{name}2", kernel, forward, False, f"{what} along two axes.{_NOTE.format(name)}")
       for name, (kernel, forward, what) in _TABLE.items()},
    **{f"{name}n": _planes(f"{name}n", kernel, forward, True, f"{what} along several axes.{_NOTE.format(name)}")
       for name, (kernel, forward, what) in _TABLE.items()},
}  # fmt: skip
