"""Interpolation, with `scipy.interpolate`'s names."""

from __future__ import annotations

from typing import Any

from cuprous.scipy._absent import absent
from cuprous.scipy.interpolate._bsplines import BSpline, make_interp_spline
from cuprous.scipy.interpolate._cubic import Akima1DInterpolator, CubicHermiteSpline, CubicSpline, PchipInterpolator
from cuprous.scipy.interpolate._grid import RegularGridInterpolator, interpn
from cuprous.scipy.interpolate._line import interp1d
from cuprous.scipy.interpolate._ppoly import BPoly, PPoly
from cuprous.scipy.interpolate._scattered import NearestNDInterpolator, RBFInterpolator

_SCATTERED = "scattered points: use scipy.interpolate's on array.get()"
_SMOOTH = "smoothing splines: use scipy.interpolate's on array.get()"
#: SciPy names that are not supported, each with the nearest alternative.
ALTERNATIVES = {
    "BarycentricInterpolator": "use CubicSpline, or scipy.interpolate's on array.get()",
    "CloughTocher2DInterpolator": _SCATTERED,
    "KroghInterpolator": "use CubicSpline, or scipy.interpolate's on array.get()",
    "LinearNDInterpolator": _SCATTERED,
    "RectBivariateSpline": "use RegularGridInterpolator with method='cubic'",
    "UnivariateSpline": _SMOOTH,
    "griddata": _SCATTERED,
    "make_smoothing_spline": _SMOOTH,
    "splev": "use BSpline",
    "splrep": "use make_interp_spline",
}


def __getattr__(name: str) -> Any:
    return absent(__name__, name, ALTERNATIVES)


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Computes `PchipInterpolator(xi, yi, axis)(x)`, or its derivative of order `der` (or a list, for several orders).

    Args:
        xi: increasing coordinates of the points.
        yi: the values at the points, along `axis`.
        x: where to evaluate.
        der: the order of the derivative, or a list of orders.
        axis: the axis of `yi`.

    Returns:
        An array of the values, or a list of arrays.

    Raises:
        ValueError: for inconsistent shapes, coordinates that do not increase, and complex values.

    See Also:
        PchipInterpolator

    Examples:
        >>> cp.scipy.interpolate.pchip_interpolate([0.0, 1.0, 2.0], [0.0, 1.0, 4.0], 0.5)
        array(0.3125)
    """
    pieces = PchipInterpolator(xi, yi, axis)
    return pieces(x, der) if isinstance(der, int) else [pieces(x, nu) for nu in der]


__all__ = [
    "Akima1DInterpolator", "BPoly", "BSpline", "CubicHermiteSpline", "CubicSpline", "NearestNDInterpolator",
    "PPoly", "PchipInterpolator", "RBFInterpolator", "RegularGridInterpolator", "interp1d", "interpn",
    "make_interp_spline", "pchip_interpolate",
]  # fmt: skip
