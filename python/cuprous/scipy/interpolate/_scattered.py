"""Interpolation of scattered points: radial basis functions, and the nearest point. Points are compared by dense
matrices of distances, in parts of bounded size."""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.operands import on_array_device
from cuprous.scipy._parts import parts
from cuprous.scipy.interpolate._pieces import real_or_complex
from cuprous.scipy.special import xlogy

#: The functions of the distance.
_KERNELS: dict[str, Callable[[ndarray], Any]] = {
    "linear": lambda r: -r,
    "thin_plate_spline": lambda r: xlogy(r * r, r),
    "cubic": lambda r: r * r * r,
    "quintic": lambda r: -(r**5),
    "multiquadric": lambda r: -cp.sqrt(r * r + 1.0),
    "inverse_multiquadric": lambda r: 1.0 / cp.sqrt(r * r + 1.0),
    "inverse_quadratic": lambda r: 1.0 / (r * r + 1.0),
    "gaussian": lambda r: cp.exp(-r * r),
}
#: Functions whose fit does not depend on the shape parameter.
_SCALE_INVARIANT = ("linear", "thin_plate_spline", "cubic", "quintic")
#: The smallest degree of the polynomial with which the problem is well posed.
_LEAST_DEGREE = {"multiquadric": 0, "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2}


def distances(x: ndarray, y: ndarray) -> ndarray:
    """Returns the Euclidean distances between the rows of `x` and `y`, with any axes in front."""
    difference = x[..., :, None, :] - y[..., None, :, :]
    return cp.sqrt(cp.sum(difference * difference, axis=-1))


class RBFInterpolator:
    """A sum of radial basis functions at points and a polynomial; calling it evaluates it.

    Parameters
    ----------
    y : array_like
        The points, one a row.
    d : array_like
        The values at the points, along the first axis.
    neighbors : int, optional
        The number of nearest points that determine a value; by default all points do, by one dense system.
    smoothing : array_like, default 0.0
        How far the function may pass by a value: 0 interpolates. A number, or one for each point.
    kernel : str, default "thin_plate_spline"
        The function of the distance: "linear", "thin_plate_spline", "cubic", "quintic", "multiquadric",
        "inverse_multiquadric", "inverse_quadratic" or "gaussian".
    epsilon : float, optional
        The factor of the distance; 1 by default, where it makes no difference.
    degree : int, optional
        The degree of the polynomial, -1 for none; by default the smallest that the kernel needs.

    Raises
    ------
    LinAlgError
        If the points do not determine the polynomial.
    ValueError
        For inconsistent shapes, unknown kernels, and a missing `epsilon`.

    See Also
    --------
    NearestNDInterpolator

    Examples
    --------
    >>> points = cp.asarray([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> plane = cp.scipy.interpolate.RBFInterpolator(points, cp.asarray([0.0, 1.0, 2.0]))
    >>> plane(cp.asarray([[0.5, 0.5]])).round(6)
    array([1.5])
    """

    @on_array_device
    def __init__(
        self, y: Any, d: Any, neighbors: int | None = None, smoothing: Any = 0.0, kernel: str = "thin_plate_spline",
        epsilon: float | None = None, degree: int | None = None,
    ) -> None:  # fmt: skip
        points, values = _core.cast(array(y), "float64"), real_or_complex(array(d))
        if points.ndim != 2:
            raise ValueError("`y` must be a 2-dimensional array.")
        count, ndim = points.shape
        if values.shape[0] != count:
            raise ValueError(f"Expected the first axis of `d` to have length {count}.")
        smooth = _core.cast(array(smoothing), "float64")
        if smooth.ndim and smooth.shape != (count,):
            raise ValueError(f"Expected `smoothing` to be a scalar or have shape ({count},).")
        kernel = kernel.lower()
        if kernel not in _KERNELS:
            raise ValueError(f"`kernel` must be one of {set(_KERNELS)}.")
        if epsilon is None and kernel not in _SCALE_INVARIANT:
            raise ValueError(f"`epsilon` must be specified if `kernel` is not one of {set(_SCALE_INVARIANT)}.")
        used = count if neighbors is None else min(operator.index(neighbors), count)
        exponents = _exponents(ndim, _degree(degree, kernel))
        if len(exponents) > used:
            raise ValueError(
                f"At least {len(exponents)} data points are required when `degree` is {_degree(degree, kernel)} and "
                f"the number of dimensions is {ndim}."
            )
        self.y, self.d, self.d_shape = points, values.reshape(count, values.size // max(count, 1)), values.shape[1:]
        self.smoothing = _core.broadcast_to(smooth, (count,))
        self.kernel, self.epsilon = kernel, 1.0 if epsilon is None else float(epsilon)
        self.neighbors = None if neighbors is None else used
        self.powers = cp.asarray(exponents, dtype="int64").reshape(len(exponents), ndim)
        if neighbors is None:
            self._fitted = self._fit(self.y, self.d, self.smoothing)

    def _monomials(self, x: ndarray) -> ndarray:
        return cp.prod(x[..., None, :] ** self.powers, axis=-1)

    def _fit(self, y: ndarray, d: ndarray, smoothing: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Returns the shift and scale of the polynomial's coordinates, and all coefficients."""
        p, r = y.shape[-2], self.powers.shape[0]
        low, high = cp.min(y, axis=-2, keepdims=True), cp.max(y, axis=-2, keepdims=True)
        shift, scale = (high + low) / 2.0, (high - low) / 2.0
        scale = cp.where(scale == 0.0, 1.0, scale)
        left = cp.zeros((*y.shape[:-2], p + r, p + r))
        near = y * self.epsilon
        left[..., :p, :p] = _KERNELS[self.kernel](distances(near, near)) + smoothing[..., :, None] * cp.eye(p)
        monomials = self._monomials((y - shift) / scale)
        left[..., :p, p:] = monomials
        left[..., p:, :p] = cp.swapaxes(monomials, -1, -2)
        right = cp.concatenate([d, cp.zeros((*d.shape[:-2], r, d.shape[-1]), d.dtype_name)], axis=-2)
        try:
            return shift, scale, cp.linalg.solve(left, right)
        except cp.linalg.LinAlgError as error:
            ranks = cp.linalg.matrix_rank(monomials) if r else None
            if ranks is not None and (rank := int(cp.min(ranks))) < r:
                raise cp.linalg.LinAlgError(
                    "Singular matrix. The matrix of monomials evaluated at the data point coordinates does not have "
                    f"full column rank ({rank}/{r})."
                ) from None
            raise error

    @on_array_device
    def __call__(self, x: Any) -> ndarray:
        """Evaluates the function at the rows of `x`.

        Parameters
        ----------
        x : array_like
            The points, one a row.

        Raises
        ------
        ValueError
            For points of another number of coordinates.
        """
        sites = _core.cast(array(x), "float64")
        if sites.ndim != 2:
            raise ValueError("`x` must be a 2-dimensional array.")
        ndim = self.y.shape[1]
        if sites.shape[1] != ndim:
            raise ValueError(f"Expected the second axis of `x` to have length {ndim}.")
        width = self.y.shape[0] if self.neighbors is None else max(self.y.shape[0], (self.neighbors + 9) ** 2)
        rows = [self._at(sites[part]) for part in parts(sites.shape[0], width)]
        return cp.concatenate(rows or [self.d[:0]]).reshape(sites.shape[0], *self.d_shape)

    def _at(self, x: ndarray) -> ndarray:
        if self.neighbors is None:
            return self._sum(x, self.y, self._fitted)
        order = cp.argsort(distances(x, self.y), axis=-1)[:, : self.neighbors]
        near = self.y[order]
        fitted = self._fit(near, self.d[order], self.smoothing[order])
        return self._sum(x[:, None, :], near, fitted)[:, 0, :]

    def _sum(self, x: ndarray, y: ndarray, fitted: tuple[ndarray, ndarray, ndarray]) -> ndarray:
        shift, scale, coefficients = fitted
        terms = _KERNELS[self.kernel](distances(x * self.epsilon, y * self.epsilon))
        return cp.concatenate([terms, self._monomials((x - shift) / scale)], axis=-1) @ coefficients


def _degree(degree: int | None, kernel: str) -> int:
    least = _LEAST_DEGREE.get(kernel, -1)
    if degree is None:
        return max(least, 0)
    degree = operator.index(degree)
    if degree < -1:
        raise ValueError("`degree` must be at least -1.")
    if -1 < degree < least:
        warnings.warn(f"`degree` should not be below {least} except -1 when `kernel` is '{kernel}'. The interpolant "
                      "may not be uniquely solvable, and the smoothing parameter may have an unintuitive effect.",
                      UserWarning, stacklevel=3)  # fmt: skip
    return degree


def _exponents(ndim: int, degree: int) -> list[list[int]]:
    """Returns the exponents of all monomials up to a degree."""
    chosen = itertools.chain.from_iterable(
        itertools.combinations_with_replacement(range(ndim), d) for d in range(degree + 1)
    )
    return [[axes.count(axis) for axis in range(ndim)] for axes in chosen]


class NearestNDInterpolator:
    """The value at the nearest point; calling it evaluates it.

    Parameters
    ----------
    x : array_like or tuple of array_like
        The points, one a row, or a tuple of arrays of coordinates.
    y : array_like
        The values, along the first axis.
    rescale : bool, default False
        Whether the points are scaled to the unit cube before they are compared.
    tree_options : dict, optional
        Not supported, as distances are compared directly.

    Raises
    ------
    NotImplementedError
        For `tree_options`.
    ValueError
        For inconsistent shapes.

    See Also
    --------
    interpn, RegularGridInterpolator

    Examples
    --------
    >>> f = cp.scipy.interpolate.NearestNDInterpolator(cp.asarray([[0.0, 0.0], [1.0, 1.0]]), cp.asarray([5.0, 7.0]))
    >>> f(0.2, 0.1)
    array(5.)
    """

    @on_array_device
    def __init__(self, x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> None:
        if tree_options:
            raise NotImplementedError("[NearestNDInterpolator] tree_options= is not supported: there is no tree")
        points, values = _coordinates((x,)), array(y)
        if _dtypes.kind(values.dtype_name) != "c":  # as SciPy, which keeps complex64
            values = _core.cast(values, "float64")
        points = points.reshape(-1, 1) if points.ndim == 1 else points
        if points.ndim != 2:
            raise ValueError("invalid shape for input data points")
        if points.shape[1] < 2:
            raise ValueError("input data must be at least 2-D")
        if points.shape[0] != values.shape[0]:
            raise ValueError("different number of values and points")
        self.offset: Any = cp.mean(points, axis=0) if rescale else 0.0
        self.scale: Any = cp.max(points, axis=0) - cp.min(points, axis=0) if rescale else 1.0
        self.scale = cp.where(self.scale > 0, self.scale, 1.0) if rescale else 1.0
        self.points, self.values = (points - self.offset) / self.scale, values

    @on_array_device
    def __call__(self, *args: Any, distance_upper_bound: float = math.inf) -> ndarray:
        """Returns the values at the nearest points.

        Parameters
        ----------
        *args : array_like
            Arrays of coordinates, one for each axis, or one array whose last axis has the coordinates.
        distance_upper_bound : float, optional
            Beyond this distance the value is NaN.

        Raises
        ------
        ValueError
            For points of another number of coordinates.
        """
        sites = _coordinates(args, self.points.shape[1])
        if sites.shape[-1] != self.points.shape[1]:
            raise ValueError(f"number of dimensions in xi does not match x: {sites.shape[-1]} coordinates")
        flat = (sites.reshape(-1, sites.shape[-1]) - self.offset) / self.scale
        found = []
        for part in parts(flat.shape[0], self.points.size):
            apart = distances(flat[part], self.points)
            value = self.values[cp.argmin(apart, axis=1)]
            if distance_upper_bound < math.inf:
                near = (cp.min(apart, axis=1) < distance_upper_bound).reshape(-1, *(1,) * (value.ndim - 1))
                value = cp.where(near, value, math.nan)
            found.append(value)
        return cp.concatenate(found or [self.values[:0]]).reshape(*sites.shape[:-1], *self.values.shape[1:])


def _coordinates(args: tuple[Any, ...], ndim: int = 0) -> ndarray:
    """Returns points whose last axis has the coordinates."""
    given = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    if len(given) == 1:
        points = _core.cast(array(given[0]), "float64")
        return points.reshape(*points.shape, 1) if ndim == 1 and points.shape[-1:] != (1,) else points
    return cp.stack(cp.broadcast_arrays(*(_core.cast(array(a), "float64") for a in given)), axis=-1)


__all__ = ["NearestNDInterpolator", "RBFInterpolator"]
