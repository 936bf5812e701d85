"""Plans of Fourier transforms with CuPy's names: descriptions of a transform, against which transforms are checked.

The engine keeps cuFFT's plans itself, so a plan holds no memory and makes no transform faster.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any

from cuprous._common.arguments import ArrayLike, array, ndarray, normalize_axis

#: The dtypes that are transformed in single precision.
SINGLE = frozenset({"float16", "bfloat16", "float32", "complex64"})
_KINDS = ("C2C", "R2C", "C2R")


class Plan:
    """A transform that `get_fft_plan` described. In a `with` block all transforms are checked against it.

    Parameters
    ----------
    value_type : {"C2C", "R2C", "C2R"}
        "C2C", "R2C" or "C2R".
    single : bool
        Whether it is computed in single precision.
    shape : sequence of ints
        The shape of the input, after it was truncated or padded.
    axes : sequence of ints
        The transformed axes, counted from the first.
    size : int
        The number of points along the last of them.
    """

    def __init__(self, value_type: str, single: bool, shape: Sequence[int], axes: Sequence[int], size: int) -> None:
        self.value_type, self.single, self.size = value_type, single, size
        self.shape, self.axes = tuple(shape), tuple(axes)

    def __enter__(self) -> Plan:
        _active.set((*_active.get(), self))
        return self

    def __exit__(self, *_: Any) -> None:
        _active.set(_active.get()[:-1])

    def check(self, value_type: str, a: ndarray, axes: Sequence[int], size: int) -> None:
        """Checks a transform of `a`, which is truncated or padded already.

        Raises
        ------
        ValueError
            If the transform is not the plan's.
        """
        single = a.dtype_name in SINGLE
        if (self.value_type, self.single) != (value_type, single):
            names = [f"{kind} in {'single' if one else 'double'} precision"
                     for kind, one in ((self.value_type, self.single), (value_type, single))]  # fmt: skip
            raise ValueError(f"The cuFFT plan and the type of the transform do not match: {names[0]}, not {names[1]}")
        if len(axes) != len(self.axes):
            raise ValueError(f"The cuFFT plan and axes do not match: plan.axes = {self.axes}, axes = {tuple(axes)}")
        if len(axes) == 1:
            if size != self.size:
                raise ValueError(f"Target array size does not match the plan. {size} != {self.size}")
            if (lines := _lines(a.shape, axes)) != (own := _lines(self.shape, self.axes)):
                raise ValueError(f"Batch size does not match the plan. {lines} != {own}")
        elif tuple(a.shape) != self.shape or (value_type == "C2R" and size != self.size):
            raise ValueError(
                f"The cuFFT plan and a.shape do not match: plan.shape = {self.shape}, a.shape = {tuple(a.shape)}"
            )
        elif set(axes) != set(self.axes) or (value_type != "C2C" and axes[-1] != self.axes[-1]):
            raise ValueError(f"The cuFFT plan and axes do not match: plan.axes = {self.axes}, axes = {tuple(axes)}")


class Plan1d(Plan):
    """A plan along one axis."""


class PlanNd(Plan):
    """A plan along several axes."""


#: The plans of the surrounding `with` blocks.
_active: ContextVar[tuple[Plan, ...]] = ContextVar("plans", default=())


def _lines(shape: Sequence[int], axes: Sequence[int]) -> int:
    return math.prod(n for axis, n in enumerate(shape) if axis not in axes)


def get_current_plan() -> Plan | None:
    """Returns the plan of the innermost `with` block, None outside of one.

    Returns
    -------
    Plan or None
        A plan, or None.

    Examples
    --------
    >>> cp.cuda.cufft.get_current_plan() is None
    True
    """
    plans = _active.get()
    return plans[-1] if plans else None


def given(plan: Plan | None) -> AbstractContextManager[Any]:
    """Returns the context of a call with the argument `plan`.

    Raises
    ------
    RuntimeError
        If there is also a `with` block with a plan.
    NotImplementedError
        If it is no plan of `get_fft_plan`.
    """
    if plan is None:
        return nullcontext()
    if not isinstance(plan, Plan):
        raise NotImplementedError(f"[fft] plan={type(plan).__name__} is not supported; take a plan of get_fft_plan")
    if _active.get():
        raise RuntimeError("Use the cuFFT plan either as a context manager or as an argument.")
    return plan


def _integers(value: Any) -> tuple[Any, ...]:
    return tuple(value) if hasattr(value, "__iter__") else (operator.index(value),)


def get_fft_plan(
    a: ArrayLike, shape: int | Sequence[int | None] | None = None, axes: int | Sequence[int] | None = None,
    value_type: str = "C2C",
) -> Plan:  # fmt: skip
    """Returns a plan of a transform. It is passed as `plan=`, or used in a `with` block, and raises if a transform is
    another one.

    Parameters
    ----------
    a : array_like
        The array to transform, or one of its shape and dtype.
    shape : int or sequence of ints, optional
        The number of points along each axis; by default all.
    axes : int or sequence of ints, optional
        The axes; by default the last ones of `shape`, or all.
    value_type : str, default "C2C"
        "C2C" for complex points, "R2C" for real ones, "C2R" for half a spectrum.

    Returns
    -------
    Plan
        A `Plan1d` or `PlanNd`.

    Raises
    ------
    ValueError
        For axes that do not exist, another number of points than axes, or an unknown `value_type`.

    See Also
    --------
    scipy.fft.fft

    Examples
    --------
    >>> x = cp.ones((4, 4), complex)
    >>> with cp.scipy.fft.get_fft_plan(x):
    ...     y = cp.fft.fftn(x)
    >>> cp.scipy.fft.fftn(x, plan=cp.scipy.fft.get_fft_plan(x)).shape
    (4, 4)
    """
    if value_type not in _KINDS:
        raise ValueError(f"[get_fft_plan] value_type must be one of {', '.join(_KINDS)}, not {value_type!r}")
    a = array(a)
    if value_type == "R2C" and a.dtype_name.startswith("complex"):
        raise ValueError("[get_fft_plan] R2C is for real arrays; use C2C")
    points = None if shape is None else _integers(shape)
    if axes is None:
        chosen: tuple[int, ...] = tuple(range(-(a.ndim if points is None else len(points)), 0))
    else:
        chosen = _integers(axes)
    if points is not None and len(points) != len(chosen):
        raise ValueError("Shape and axes have different lengths.")
    positions = tuple(normalize_axis(axis, a.ndim) for axis in chosen)
    if not positions:
        raise ValueError("[get_fft_plan] at least one axis must be transformed")
    extents = list(a.shape)
    for n, axis in zip(points or (), positions, strict=bool(points)):
        if n is not None:
            extents[axis] = n // 2 + 1 if value_type == "C2R" and axis == positions[-1] else n
    last = extents[positions[-1]]
    if value_type == "C2R":
        last = 2 * (last - 1) if points is None or points[-1] is None else points[-1]
    if last < 1:
        raise ValueError(f"Invalid number of FFT data points ({last}) specified.")
    kind = Plan1d if len(positions) == 1 else PlanNd
    return kind(value_type, a.dtype_name in SINGLE, tuple(extents), positions, last)


__all__ = ["Plan", "Plan1d", "PlanNd", "get_current_plan", "get_fft_plan"]
