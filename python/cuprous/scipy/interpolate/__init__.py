"""Interpolation, with `scipy.interpolate`'s names."""

from __future__ import annotations

from typing import Any

from cuprous.scipy._absent import absent
from cuprous.scipy.interpolate._bsplines import BSpline, make_interp_spline
from cuprous.scipy.interpolate._cubic import Akima1DInterpolator, CubicHermiteSpline, CubicSpline, PchipInterpolator
from cuprous.scipy.interpolate._fitted import (
    InterpolatedUnivariateSpline,
    LSQUnivariateSpline,
    UnivariateSpline,
    make_lsq_spline,
    splantider,
    splder,
)
from cuprous.scipy.interpolate._grid import RegularGridInterpolator, interpn
from cuprous.scipy.interpolate._grid_pieces import NdPPoly
from cuprous.scipy.interpolate._line import interp1d
from cuprous.scipy.interpolate._polynomials import (
    BarycentricInterpolator,
    KroghInterpolator,
    barycentric_interpolate,
    krogh_interpolate,
)
from cuprous.scipy.interpolate._ppoly import BPoly, PPoly
from cuprous.scipy.interpolate._scattered import NearestNDInterpolator, RBFInterpolator
from cuprous.scipy.interpolate._tensor_splines import NdBSpline
from cuprous.scipy.interpolate._triangles import CloughTocher2DInterpolator, LinearNDInterpolator, griddata

_SMOOTH = "smoothing splines: use scipy.interpolate's on array.get()"
#: SciPy names that are not supported, each with the nearest alternative.
ALTERNATIVES = {
    "RectBivariateSpline": "use RegularGridInterpolator with method='cubic'",
    "make_smoothing_spline": _SMOOTH,
    "splev": "use BSpline",
    "splrep": "use make_interp_spline",
}


def __getattr__(name: str) -> Any:
    return absent(__name__, name, ALTERNATIVES)


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Computes `PchipInterpolator(xi, yi, axis)(x)`, or its derivative of order `der` (or a list, for several orders).

    Parameters
    ----------
    xi : array_like
        Increasing coordinates of the points.
    yi : array_like
        The values at the points, along `axis`.
    x : array_like
        Where to evaluate.
    der : int or sequence of ints, default 0
        The order of the derivative, or a list of orders.
    axis : int, default 0
        The axis of `yi`.

    Returns
    -------
    ndarray
        An array of the values, or a list of arrays.

    Raises
    ------
    ValueError
        For inconsistent shapes, coordinates that do not increase, and complex values.

    See Also
    --------
    PchipInterpolator

    Examples
    --------
    >>> cp.scipy.interpolate.pchip_interpolate([0.0, 1.0, 2.0], [0.0, 1.0, 4.0], 0.5)
    array(0.3125)
    """
    pieces = PchipInterpolator(xi, yi, axis)
    return pieces(x, der) if isinstance(der, int) else [pieces(x, nu) for nu in der]


__all__ = [
    "Akima1DInterpolator",
    "BPoly",
    "BSpline",
    "BarycentricInterpolator",
    "CloughTocher2DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "InterpolatedUnivariateSpline",
    "KroghInterpolator",
    "LSQUnivariateSpline",
    "LinearNDInterpolator",
    "NdBSpline",
    "NdPPoly",
    "NearestNDInterpolator",
    "PPoly",
    "PchipInterpolator",
    "RBFInterpolator",
    "RegularGridInterpolator",
    "UnivariateSpline",
    "barycentric_interpolate",
    "griddata",
    "interp1d",
    "interpn",
    "krogh_interpolate",
    "make_interp_spline",
    "make_lsq_spline",
    "pchip_interpolate",
    "splantider",
    "splder",
]  # fmt: skip
