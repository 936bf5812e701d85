"""Interpolation in the simplices of a triangulation. Points are located on the host by SciPy, where cubic pieces are
evaluated too; linear ones are evaluated on the device."""

from __future__ import annotations

import math
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array, ndarray
from cuprous._common.operands import on_array_device
from cuprous.scipy.interpolate._line import interp1d
from cuprous.scipy.interpolate._pieces import real_or_complex
from cuprous.scipy.interpolate._scattered import NearestNDInterpolator, _coordinates
from cuprous.scipy.spatial._delaunay import Delaunay

_map = _core.map


def _points(points: Any) -> ndarray:
    found = _coordinates((points,))
    return found.reshape(-1, 1) if found.ndim == 1 else found


class LinearNDInterpolator:
    """Interpolates linearly in the simplices of the Delaunay triangulation of points; NaN outside. Calling it
    evaluates it: points are located on the host, values computed on the device.

    Parameters
    ----------
    points : array_like, tuple of array_like or Delaunay
        The points, one a row, a tuple of arrays of coordinates, or a `spatial.Delaunay`.
    values : array_like
        The values, along the first axis.
    fill_value : number, optional
        The value outside of the triangulation.
    rescale : bool, default False
        Whether the points are scaled to the unit cube before they are triangulated.

    Raises
    ------
    ValueError
        For inconsistent shapes, and `rescale` of a triangulation.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    NearestNDInterpolator, CloughTocher2DInterpolator, griddata

    Examples
    --------
    >>> corners = cp.asarray([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> f = cp.scipy.interpolate.LinearNDInterpolator(corners, cp.asarray([0.0, 1.0, 2.0]))
    >>> f(0.25, 0.25)
    array(0.75)
    """

    @on_array_device
    def __init__(self, points: Any, values: Any, fill_value: Any = math.nan, rescale: bool = False) -> None:
        self.values = real_or_complex(array(values))
        self.fill_value = fill_value
        self._offset: Any = 0.0
        self._scale: Any = 1.0
        if isinstance(points, Delaunay):
            if rescale:
                raise ValueError(
                    "Rescaling is not supported when passing a Delaunay triangulation to the interpolator."
                )
            self.tri = points
        else:
            given = _points(points)
            if given.ndim != 2:
                raise ValueError("invalid shape for input data points")
            if given.shape[1] < 2:
                raise ValueError("input data must be at least 2-D")
            if given.shape[0] != self.values.shape[0]:
                raise ValueError("different number of values and points")
            if rescale:
                self._offset = cp.mean(given, axis=0)
                extent = cp.max(given, axis=0) - cp.min(given, axis=0)
                self._scale = _map("where", extent > 0.0, extent, 1.0)
            self.tri = Delaunay((given - self._offset) / self._scale)
        self.points = self.tri.points
        if self.points.shape[0] != self.values.shape[0]:
            raise ValueError("different number of values and points")

    @on_array_device
    def __call__(self, *args: Any) -> ndarray:
        """Evaluates the function.

        Parameters
        ----------
        *args : array_like
            Arrays of coordinates, one for each axis, or one array whose last axis has the coordinates.

        Raises
        ------
        ValueError
            For points of another number of coordinates.
        """
        ndim = self.points.shape[1]
        sites = _coordinates(args, ndim)
        if sites.shape[-1] != ndim:
            raise ValueError("number of dimensions in xi does not match x")
        flat = (sites.reshape(-1, ndim) - self._offset) / self._scale
        found = self._at(flat)
        return found.reshape(*sites.shape[:-1], *self.values.shape[1:])

    def _at(self, x: ndarray) -> ndarray:
        mesh = self.tri.on_host
        place = _core.from_numpy(mesh.find_simplex(_core.to_numpy(x), tol=1e-12).astype("int64"))
        inside = cp.maximum(place, 0)
        # SciPy's rows map x - r to barycentric coordinates; r is the last row.
        transform = _core.from_numpy(mesh.transform)[inside]
        ndim = self.points.shape[1]
        most = _core.reduce("sum", transform[:, :ndim] * (x - transform[:, ndim])[:, None, :], [2])
        weights = cp.concatenate([most, 1.0 - cp.sum(most, axis=1, keepdims=True)], axis=1)
        corners = self.values[cp.take(self.tri.simplices, inside, axis=0)]
        tail = corners.shape[2:]
        value = cp.sum(weights.reshape(*weights.shape, *(1,) * len(tail)) * corners, axis=1)
        return _map("where", (place < 0).reshape(-1, *(1,) * len(tail)), self.fill_value, value)


class CloughTocher2DInterpolator:
    """Interpolates by cubic pieces with continuous slopes in the triangles of points, on the host by SciPy; NaN
    outside. Calling it evaluates it.

    Parameters
    ----------
    points : array_like, tuple of array_like or Delaunay
        The points, one a row, a tuple of arrays of coordinates, or a `spatial.Delaunay`.
    values : array_like
        The values, along the first axis.
    fill_value : number, optional
        The value outside of the triangulation.
    tol : float, default 1e-06
        The relative error of the slopes.
    maxiter : int, default 400
        The greatest number of iterations for the slopes.
    rescale : bool, default False
        Whether the points are scaled to the unit square first.

    Raises
    ------
    ValueError
        For inconsistent shapes.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    LinearNDInterpolator, griddata

    Examples
    --------
    >>> corners = cp.asarray([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> f = cp.scipy.interpolate.CloughTocher2DInterpolator(corners, cp.asarray([0.0, 1.0, 2.0]))
    >>> f(cp.asarray([[0.25, 0.25]])).round(4)
    array([0.75])
    """

    @on_array_device
    def __init__(
        self, points: Any, values: Any, fill_value: Any = math.nan, tol: float = 1e-6, maxiter: int = 400,
        rescale: bool = False,
    ) -> None:  # fmt: skip
        try:
            from scipy.interpolate import CloughTocher2DInterpolator as OnHost
        except ImportError:
            raise ImportError("[CloughTocher2DInterpolator] it is SciPy's: pip install scipy") from None
        mesh = points.on_host if isinstance(points, Delaunay) else _core.to_numpy(_points(points))
        self._on_host = OnHost(mesh, _core.to_numpy(array(values)), fill_value, tol, maxiter, rescale)

    @on_array_device
    def __call__(self, *args: Any) -> ndarray:
        """Evaluates the function on the host.

        Parameters
        ----------
        *args : array_like
            Arrays of coordinates, one for each axis, or one array whose last axis has the coordinates.

        Raises
        ------
        ValueError
            For points of another number of coordinates.
        """
        import numpy as np

        sites = _core.to_numpy(_coordinates(args, 2))
        return _core.from_numpy(np.asarray(self._on_host(sites)))


def griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = math.nan, rescale: bool = False
) -> ndarray:
    """Interpolates scattered points.

    Parameters
    ----------
    points : array_like or tuple of array_like
        The points, one a row, or a tuple of arrays of coordinates.
    values : array_like
        The values, along the first axis.
    xi : array_like or tuple of array_like
        Where to evaluate, likewise.
    method : str, default "linear"
        "nearest", "linear", or "cubic" in the plane.
    fill_value : number, optional
        The value outside of the points' hull; without effect for "nearest".
    rescale : bool, default False
        Whether the points are scaled to the unit cube first.

    Returns
    -------
    ndarray
        An array of the values.

    Raises
    ------
    ValueError
        For inconsistent shapes, unknown methods, and "cubic" beyond the plane.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    LinearNDInterpolator, CloughTocher2DInterpolator, NearestNDInterpolator

    Examples
    --------
    >>> corners = cp.asarray([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> cp.scipy.interpolate.griddata(corners, cp.asarray([0.0, 1.0, 2.0]), (0.25, 0.25))
    array(0.75)
    """
    given = _points(points)
    ndim = given.shape[-1]
    if ndim == 1 and method in ("nearest", "linear", "cubic"):
        sites = _coordinates((xi[0] if isinstance(xi, tuple) and len(xi) == 1 else xi,), 1)[..., 0]
        fill = "extrapolate" if method == "nearest" else fill_value
        return interp1d(given.reshape(-1), values, method, 0, bounds_error=False, fill_value=fill)(sites)
    if method == "nearest":
        return NearestNDInterpolator(points, values, rescale)(xi)
    if method == "linear":
        return LinearNDInterpolator(points, values, fill_value, rescale)(xi)
    if method == "cubic" and ndim == 2:
        return CloughTocher2DInterpolator(points, values, fill_value, rescale=rescale)(xi)
    raise ValueError(f"Unknown interpolation method {method!r} for {ndim} dimensional data")


__all__ = ["CloughTocher2DInterpolator", "LinearNDInterpolator", "griddata"]
