"""`scipy.fft`'s Fourier transforms. Half precision inputs are computed and returned in single precision."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from cuprous._common.arguments import ArrayLike, array, ndarray, normalize_axis
from cuprous._common.naming import named
from cuprous.fft._plans import given
from cuprous.fft._transforms import Kernel, complex_to_complex, half_to_real, real_to_half
from cuprous.scipy.fft._workers import check

Points: TypeAlias = "int | Sequence[int] | None"
Axes: TypeAlias = "int | Sequence[int] | None"
#: Transforms of Hermitian input take no plans, as in CuPy.
_WITHOUT_PLANS = ("hfft", "ihfft")
#: What the documentation says of plans: for transforms with them, and without.
_PLANS = (
    {"plan": "What `get_fft_plan` returned; the transform must be its own",
     "error": "RuntimeError", "case": "For a `plan` in a `with` block of another one."},
    {"plan": "Not supported", "error": "NotImplementedError", "case": "For a `plan`."},
)  # fmt: skip


def _integers(values: Any, name: str) -> list[int]:
    try:
        return [operator.index(v) for v in (values if hasattr(values, "__iter__") else (values,))]
    except TypeError as error:
        raise ValueError(f"{name} must be a scalar or iterable of integers") from error


def axes_and_points(a: ndarray, s: Points, axes: Axes) -> tuple[list[int], list[int]]:
    """Returns the transformed axes and the number of points along each, by SciPy's rules; -1 means all points.

    Raises
    ------
    ValueError
        For axes that do not exist or repeat, and numbers of points that are not positive or do not match them.
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
        check(workers, plan if name in _WITHOUT_PLANS else None)
        a = array(x)
        with given(plan):
            return kernel(a, (n,), (normalize_axis(axis, a.ndim),), forward, norm)

    return named(transform, name, doc)


def _planes(name: str, kernel: Kernel, forward: bool, all_axes: bool, doc: str) -> Any:
    """Creates `scipy.fft`'s function along several axes: by default all of them, or the last two."""

    def transform(
        x: ArrayLike, s: Points = None, axes: Axes = None if all_axes else (-2, -1), norm: str | None = None,
        overwrite_x: bool = False, workers: int | None = None, *, plan: Any = None,
    ) -> ndarray:  # fmt: skip
        check(workers, plan if name[:-1] in _WITHOUT_PLANS else None)
        a = array(x)
        points, chosen = axes_and_points(a, s, axes)
        if not chosen:
            if kernel is not complex_to_complex:
                raise ValueError("at least 1 axis must be transformed")
            return a
        if kernel is half_to_real and s is None:
            points[-1] = 2 * (points[-1] - 1)
        with given(plan):
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
#: What the functions return for the example.
_RESULTS = {
    "fft": "array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])",
    "ifft": "array([ 2.5+0.j , -0.5-0.5j, -0.5+0.j , -0.5+0.5j])",
    "rfft": "array([10.+0.j, -2.+2.j, -2.+0.j])",
    "irfft": "array([ 2.5     , -0.666667,  0.      , -0.166667,  0.      , -0.666667])",
    "hfft": "array([15., -4.,  0., -1.,  0., -4.])",
    "ihfft": "array([ 2.5+0.j , -0.5-0.5j, -0.5+0.j ])",
    "fft2": "array([[10.+0.j, -2.+0.j],\n       [-4.+0.j,  0.+0.j]])",
    "ifft2": "array([[ 2.5+0.j, -0.5+0.j],\n       [-1. +0.j,  0. +0.j]])",
    "rfft2": "array([[10.+0.j, -2.+0.j],\n       [-4.+0.j,  0.+0.j]])",
    "irfft2": "array([[ 2.5, -0.5],\n       [-1. ,  0. ]])",
    "hfft2": "array([[10., -2.],\n       [-4.,  0.]])",
    "ihfft2": "array([[ 2.5+0.j, -0.5+0.j],\n       [-1. +0.j,  0. +0.j]])",
    "fftn": "array([[10.+0.j, -2.+0.j],\n       [-4.+0.j,  0.+0.j]])",
    "ifftn": "array([[ 2.5+0.j, -0.5+0.j],\n       [-1. +0.j,  0. +0.j]])",
    "rfftn": "array([[10.+0.j, -2.+0.j],\n       [-4.+0.j,  0.+0.j]])",
    "irfftn": "array([[ 2.5, -0.5],\n       [-1. ,  0. ]])",
    "hfftn": "array([[10., -2.],\n       [-4.,  0.]])",
    "ihfftn": "array([[ 2.5+0.j, -0.5+0.j],\n       [-1. +0.j,  0. +0.j]])",
}  # fmt: skip
#: Arguments and keywords of the example, by the end of the name.
_EXAMPLES = {"": "[1.0, 2.0, 3.0, 4.0]", "2": "[[1.0, 2.0], [3.0, 4.0]]", "n": "[[1.0, 2.0], [3.0, 4.0]]"}
_DOC = """{what} along {where}. Half precision is computed and returned in single precision.

Parameters
----------
x : array_like
    Real or complex points; `rfft`, `ihfft` and similar take only real ones.
{points}, optional
    The number of points along {each}: the array is truncated or padded with zeros.
{axes}
    The {words} to transform; by default {default}.
norm : {{"backward", "ortho", "forward"}}, optional
    The transform that is divided by the number of points: the inverse for "backward" (the default), the forward
    one for "forward". With "ortho" both are divided by its root.
overwrite_x : bool, default False
    Has no effect.
workers : int, optional
    Only validated; has no effect.
plan : Plan, optional
    {plan}.

Returns
-------
ndarray
    A complex array, or a real one for `irfft`, `hfft` and similar: in single precision for single and half precision,
    otherwise in double precision.

Raises
------
ValueError
    For fewer than one point, or any other `norm`.
TypeError
    For complex points where real ones are needed.
{error}
    {case}

See Also
--------
scipy.fft.{inverse}

Examples
--------
>>> cp.scipy.fft.{name}({example}).round(6)
{result}
"""


def _documented(name: str, end: str) -> str:
    return _DOC.format(
        what=_TABLE[name][2], name=name + end, inverse=(name[1:] if name[0] == "i" else f"i{name}") + end,
        example=_EXAMPLES[end], result=_RESULTS[name + end], **_WORDS[end],
        **_PLANS[name in _WITHOUT_PLANS],
    )  # fmt: skip


#: By the end of the name: the axes, the parameters and their types, and the axes by default.
_SEVERAL = {"points": "s : int or sequence of ints", "words": "axes", "each": "each axis"}
_WORDS = {
    "": {"where": "an axis", "points": "n : int", "axes": "axis : int, default -1", "words": "axis",
         "each": "the axis", "default": "the last"},
    "2": {"where": "two axes", "axes": "axes : sequence of ints, optional", "default": "the last two", **_SEVERAL},
    "n": {"where": "several axes", "axes": "axes : int or sequence of ints, optional", "default": "all", **_SEVERAL},
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., ndarray]] = {
    **{name: _lines(name, kernel, forward, _documented(name, "")) for name, (kernel, forward, _) in _TABLE.items()},
    **{f"{name}2": _planes(f"{name}2", kernel, forward, False, _documented(name, "2"))
       for name, (kernel, forward, _) in _TABLE.items()},
    **{f"{name}n": _planes(f"{name}n", kernel, forward, True, _documented(name, "n"))
       for name, (kernel, forward, _) in _TABLE.items()},
}  # fmt: skip
