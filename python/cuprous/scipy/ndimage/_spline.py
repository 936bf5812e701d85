"""B-splines: the coefficients of interpolating splines, and the weights for evaluating them.

SciPy computes the coefficients by a recursion (M. Unser, A. Aldroubi and M. Eden, IEEE PAMI 13 (1991)). Its impulse
response decays by a factor of at most 0.43 per element, so here it is a correlation with at most 95 weights.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from cuprous import _core
from cuprous._common.arguments import normalize_axis
from cuprous.scipy.ndimage._linear import correlated, line
from cuprous.scipy.ndimage._support import MODES, ArrayLike, Output, deliver, is_complex, ndarray, source, target

#: The B-spline of each order at 0, 1 and 2.
_SAMPLES = {2: (6 / 8, 1 / 8), 3: (4 / 6, 1 / 6), 4: (230 / 384, 76 / 384, 1 / 384), 5: (66 / 120, 26 / 120, 1 / 120)}
#: The extension beyond the edges for computing coefficients, for modes in which it differs from "mirror".
_EDGES = {"reflect": "reflect", "grid-mirror": "reflect", "nearest": "reflect", "grid-wrap": "wrap"}


def check_mode(mode: Any) -> str:
    """Returns the mode after checking it.

    Raises
    ------
    RuntimeError
        For an unknown mode.
    """
    if mode not in MODES:
        raise RuntimeError("boundary mode not supported")
    return str(mode)


@cache
def _inverse(order: int) -> tuple[float, ...]:
    """Returns the impulse response of the filter from values to coefficients, from its frequency response."""
    import numpy as np

    center, *sides = _SAMPLES[order]
    angles = 2.0 * np.pi * np.arange(256) / 256
    response = np.fft.ifft(1.0 / (center + 2.0 * sum(s * np.cos((k + 1) * angles) for k, s in enumerate(sides)))).real
    # The response decays with the powers of the largest pole inside the unit circle; the transform's rounding errors do
    # not.
    poles = np.abs(np.roots([*sides[::-1], center, *sides]))
    reach = math.ceil(math.log(1e-17) / math.log(poles[poles < 1.0].max()))
    return tuple(float(v) for v in np.concatenate([response[reach:0:-1], response[: reach + 1]]))


def coefficients(a: ndarray, order: int, axes: tuple[int, ...], mode: str) -> ndarray:
    """Returns the float64 coefficients along the given axes."""
    for axis in axes:
        if a.shape[axis] > 1:
            weights = _inverse(order)
            middle = [len(weights) // 2 if i == axis else 0 for i in range(a.ndim)]
            edge = _EDGES.get(mode, "mirror")
            a = correlated(a, line(weights, axis, a.ndim), edge, 0.0, middle, "float64")
    return a if a.dtype_name == "float64" else _core.cast(a, "float64")


def weights(x: ndarray, order: int) -> list[ndarray]:
    """Returns the weights of the order + 1 surrounding coefficients; `x` is the distance from the middle one (from 0 to
    1 for odd orders, from -1/2 to 1/2 for even ones). The last weight makes their sum 1."""
    y, z = x, 1.0 - x
    if order == 1:
        first = [1.0 - x]
    elif order == 2:
        first = [0.5 * (0.5 - x) * (0.5 - x), 0.75 - x * x]
    elif order == 3:
        first = [z * z * z / 6.0, *((v * v * (v - 2.0) * 3.0 + 4.0) / 6.0 for v in (y, z))]
    elif order == 4:
        t, half = x * x, (0.5 - x) * (0.5 - x)
        near = [v * (v * (v * (5.0 - v) / 6.0 - 1.25) + 5.0 / 24.0) + 55.0 / 96.0 for v in (1.0 + x, z)]
        first = [half * half / 24.0, near[0], t * (t * 0.25 - 0.625) + 115.0 / 192.0, near[1]]
    else:
        near = [v * v * (v * v * (0.25 - v / 12.0) - 0.5) + 0.55 for v in (y, z)]
        far = [v * (v * (v * (v * (v / 24.0 - 0.375) + 1.25) - 1.75) + 0.625) + 0.425 for v in (y + 1.0, z + 1.0)]
        first = [z * (z * z) * (z * z) / 120.0, far[0], near[0], near[1], far[1]]
    last: Any = 1.0
    for w in first:
        last = last - w
    return [*first, last]


def _filtered(input: ArrayLike, order: int, axes: tuple[int, ...] | None, output: Output, mode: str) -> ndarray:
    a = source(input)
    name, out = target(a, output, is_complex(a))
    mode = check_mode(mode)
    found = tuple(range(a.ndim)) if axes is None else axes

    def real(part: ndarray) -> ndarray:
        return coefficients(part, order, found, mode) if order > 1 else part

    result = _core.map("make_complex", *(real(_core.map(p, a)) for p in ("real", "imag"))) if is_complex(a) else real(a)
    return deliver(_core.cast(result, name), out)


def spline_filter1d(
    input: ArrayLike, order: int = 3, axis: int = -1, output: Output = float, mode: str = "mirror"
) -> ndarray:
    """Returns the coefficients of the splines through the lines along an axis.

    Parameters
    ----------
    input : array_like
        An array.
    order : int, default 3
        The order, from 0 to 5; 0 and 1 return the values.
    axis : int, default -1
        The axis.
    output : dtype or ndarray, optional
        The result's dtype (float64 by default), or an array for the result.
    mode : str, default "mirror"
        The extension beyond the edges; modes other than "reflect", "grid-mirror" and "grid-wrap" count as "mirror".

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For an unsupported order, and an unknown mode.
    AxisError
        If the axis does not exist.

    See Also
    --------
    spline_filter

    Examples
    --------
    >>> cp.scipy.ndimage.spline_filter1d(cp.asarray([0.0, 1.0, 0.0])).round(6)
    array([-1.,  2., -1.])
    """
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    a = source(input)
    return _filtered(a, order, (normalize_axis(axis, a.ndim),), _double(a, output), mode)


def _double(a: ndarray, output: Output) -> Output:
    return "complex128" if output is float and is_complex(a) else output


def spline_filter(input: ArrayLike, order: int = 3, output: Output = float, mode: str = "mirror") -> ndarray:
    """Returns the coefficients of the spline through an array.

    Parameters
    ----------
    input : array_like
        An array.
    order : int, default 3
        The order, from 2 to 5.
    output : dtype or ndarray, optional
        The result's dtype (float64 by default), or an array for the result.
    mode : str, default "mirror"
        The extension beyond the edges; modes other than "reflect", "grid-mirror" and "grid-wrap" count as "mirror".

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For an unsupported order, and an unknown mode.

    See Also
    --------
    spline_filter1d

    Examples
    --------
    >>> cp.scipy.ndimage.spline_filter(cp.asarray([0.0, 1.0, 0.0])).round(6)
    array([-1.,  2., -1.])
    """
    if not 2 <= order <= 5:
        raise RuntimeError("spline order not supported")
    a = source(input)
    return _filtered(a, order, None, _double(a, output), mode)
