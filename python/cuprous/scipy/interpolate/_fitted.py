"""Splines fitted to points. Smoothing splines choose their knots on the host, by SciPy (FITPACK); all are evaluated on
the device, as `BSpline`."""

from __future__ import annotations

import operator
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array, ndarray, normalize_axis
from cuprous._common.operands import on_array_device
from cuprous.scipy.interpolate._bsplines import BSpline, basis
from cuprous.scipy.interpolate._pieces import real_or_complex

_map = _core.map
#: What a spline is beyond its interval, by number and by name.
_BEYOND = {0: 0, "extrapolate": 0, 1: 1, "zeros": 1, 2: 2, "raise": 2, 3: 3, "const": 3}


def _scipy(name: str) -> Any:
    try:
        import scipy.interpolate
    except ImportError:
        raise ImportError(f"[{name}] smoothing splines are fitted by SciPy: pip install scipy") from None
    return getattr(scipy.interpolate, name)


@on_array_device
def make_lsq_spline(
    x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, check_finite: bool = True, *, method: str = "qr"
) -> BSpline:
    """Returns the spline with given knots that is nearest to points, by a dense system of least squares.

    Parameters
    ----------
    x : array_like
        The coordinates, non-decreasing.
    y : array_like
        The values along `axis`.
    t : array_like
        The knots, non-decreasing, with k + 1 at each end.
    k : int, default 3
        The degree.
    w : array_like, optional
        The weights of the points.
    axis : int, default 0
        The axis of `y`.
    check_finite : bool, default True
        Whether to raise for values that are not finite.
    method : {"qr", "norm-eq"}, default "qr"
        "qr" or "norm-eq"; both are solved in the same way.

    Returns
    -------
    BSpline

    Raises
    ------
    ValueError
        For inconsistent shapes, negative degrees, too few points, coordinates or knots that decrease, and points
        outside of the knots.

    See Also
    --------
    BSpline, make_interp_spline

    Examples
    --------
    >>> x = cp.linspace(0.0, 1.0, 9)
    >>> line = cp.scipy.interpolate.make_lsq_spline(x, 2.0 * x + 1.0, [0.0, 0.0, 1.0, 1.0], 1)
    >>> line(0.25).round(6)
    array(1.5)
    """
    sites, knots = (_core.cast(array(a), "float64") for a in (x, t))
    values = real_or_complex(array(y))
    weights = cp.ones(sites.shape) if w is None else _core.cast(array(w), "float64")
    k = operator.index(k)
    axis = normalize_axis(axis, values.ndim)
    rows = cp.moveaxis(values, axis, 0)
    if check_finite and not all(bool(cp.all(cp.isfinite(a))) for a in (sites, rows, knots, weights)):
        raise ValueError("array must not contain infs or NaNs")
    if sites.ndim != 1:
        raise ValueError("Expect x to be a 1-D sequence.")
    if sites.size < k + 1:
        raise ValueError("Need more x points.")
    if k < 0:
        raise ValueError("Expect non-negative k.")
    if knots.ndim != 1 or bool(cp.any(knots[1:] < knots[:-1])):
        raise ValueError("Expect t to be a 1D strictly increasing sequence.")
    if sites.size != rows.shape[0]:
        raise ValueError(f"Shapes of x {sites.shape} and y {rows.shape} are incompatible")
    if k > 0 and bool(cp.any(_map("logical_or", sites < knots[k], sites > knots[-k]))):
        raise ValueError(f"Out of bounds w/ x = {x}.")
    if sites.size != weights.size:
        raise ValueError(f"Shapes of x {sites.shape} and w {weights.shape} are incompatible")
    if method not in ("qr", "norm-eq"):
        raise ValueError(f"Unknown method ={method!r}.")
    steps = sites[1:] - sites[:-1]
    if bool(cp.any(steps <= 0.0 if method == "norm-eq" else steps < 0.0)):
        kind = "strictly increasing" if method == "norm-eq" else "non-decreasing"
        raise ValueError(f"Expect x to be a 1D {kind} sequence.")
    n = knots.size - k - 1
    low, parts = basis(knots, k, sites)
    column = cp.arange(n)
    matrix: Any = cp.zeros((sites.size, n))
    for i, part in enumerate(parts):
        matrix = matrix + _map("where", (low + i)[:, None] == column, part.reshape(-1, 1), 0.0)
    right = rows.reshape([sites.size, rows.size // sites.size])
    c = cp.linalg.lstsq(matrix * weights[:, None], right * weights[:, None])[0]
    return BSpline.construct_fast(knots, c.reshape([n, *rows.shape[1:]]), k, axis=axis)


def _of_tck(tck: Any) -> tuple[BSpline, bool]:
    if isinstance(tck, BSpline):
        return tck, True
    t, c, k = tck
    return BSpline.construct_fast(t, c, k), False


def _derived(tck: Any, n: int) -> Any:
    spline, keep = _of_tck(tck)
    if n > spline.k:
        raise ValueError(f"Order of derivative (n = {n!r}) must be <= order of spline (k = {spline.k!r})")
    found = spline.derivative(n)
    return found if keep else found.tck


def splder(tck: Any, n: int = 1) -> Any:
    """Returns the derivative of a spline.

    Parameters
    ----------
    tck : BSpline or tuple
        A `BSpline`, or a tuple of knots, coefficients and degree.
    n : int, default 1
        The order.

    Returns
    -------
    BSpline
        A `BSpline` or a tuple, as given.

    Raises
    ------
    ValueError
        For an order beyond the degree.

    See Also
    --------
    splantider, BSpline.derivative

    Examples
    --------
    >>> t, c, k = cp.scipy.interpolate.splder(([0.0, 0.0, 1.0, 1.0], [2.0, 4.0, 0.0, 0.0], 1))
    >>> c[0]
    array(2.)
    """
    return _derived(tck, operator.index(n))


def splantider(tck: Any, n: int = 1) -> Any:
    """Returns the antiderivative of a spline that is 0 at the first knot.

    Parameters
    ----------
    tck : BSpline or tuple
        A `BSpline`, or a tuple of knots, coefficients and degree.
    n : int, default 1
        The order.

    Returns
    -------
    BSpline
        A `BSpline` or a tuple, as given.

    Raises
    ------
    ValueError
        For a negative order beyond the degree.

    See Also
    --------
    splder, BSpline.antiderivative

    Examples
    --------
    >>> spline = cp.scipy.interpolate.BSpline([0.0, 0.0, 1.0, 1.0], [2.0, 4.0], 1)
    >>> cp.scipy.interpolate.splantider(spline)(1.0)
    array(3.)
    """
    return _derived(tck, -operator.index(n))


class UnivariateSpline:
    """A smoothing spline of one variable. Its knots are chosen on the host by SciPy; it is evaluated on the device.

    Parameters
    ----------
    x : array_like
        The coordinates, non-decreasing, strictly so for s = 0; read on the host.
    y : array_like
        The values, read on the host.
    w : array_like, optional
        The weights of the points.
    bbox : pair of floats, optional
        The ends of the interval; None for the outermost points.
    k : int, default 3
        The degree, 1 to 5.
    s : float, optional
        The bound of the weighted sum of squared distances; 0 interpolates. By default the number of points.
    ext : int or str, default 0
        What lies outside of the interval: 0 or "extrapolate", 1 or "zeros", 2 or "raise", 3 or "const".
    check_finite : bool, default False
        Whether to raise for values that are not finite.

    Raises
    ------
    ValueError
        For inconsistent shapes, unordered coordinates, and unknown `k`, `s`, `ext`.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    InterpolatedUnivariateSpline, LSQUnivariateSpline, CubicSpline

    Examples
    --------
    >>> curve = cp.scipy.interpolate.UnivariateSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0], s=0)
    >>> curve(1.5).round(6)
    array(3.375)
    """

    @on_array_device
    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, s: float | None = None,
        ext: Any = 0, check_finite: bool = False,
    ) -> None:  # fmt: skip
        self._fit("UnivariateSpline", x, y, w=w, bbox=[*bbox], k=k, s=s, ext=ext, check_finite=check_finite)

    def _fit(self, name: str, *points: Any, **keywords: Any) -> None:
        host = {key: _core.to_numpy(v) if isinstance(v, ndarray) else v for key, v in keywords.items()}
        self._set(_scipy(name)(*(_core.to_numpy(array(a)) for a in points), **host))

    def _set(self, on_host: Any) -> None:
        self._on_host = on_host
        t, c, k = on_host._eval_args
        self._spline = BSpline.construct_fast(_core.from_numpy(t), _core.from_numpy(c), k)
        self.ext = on_host.ext

    @on_array_device
    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> ndarray:
        """Evaluates the spline, or its derivative of order `nu`.

        Parameters
        ----------
        x : array_like
            The points.
        nu : int, default 0
            The order of the derivative.
        ext : object, optional
            What lies outside of the interval, as for the class.

        Raises
        ------
        ValueError
            For orders beyond the degree, an unknown `ext`, and points outside with "raise".
        """
        beyond = self.ext if ext is None else _BEYOND.get(ext)
        if beyond is None:
            raise ValueError(f"Unknown extrapolation mode {ext}.")
        nu = operator.index(nu)
        if not 0 <= nu <= self._spline.k:
            raise ValueError(f"0<=der={nu}<=k={self._spline.k} must hold")
        sites = _core.cast(array(x), "float64")
        if not sites.size:
            return sites
        t = self._spline.t
        first, last = t[self._spline.k], t[t.size - self._spline.k - 1]
        outside = _map("logical_or", sites < first, sites > last)
        if beyond == 2 and bool(cp.any(outside)):
            raise ValueError("x is outside of the spline's interval")
        value = self._spline(cp.clip(sites, first, last) if beyond == 3 else sites, nu)
        return _map("where", outside, 0.0, value) if beyond == 1 else value

    def get_knots(self) -> ndarray:
        """Returns the knots, each end once.

        Returns
        -------
        ndarray
            A vector.

        Examples
        --------
        >>> cp.scipy.interpolate.UnivariateSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0], s=0).get_knots()
        array([0., 3.])
        """
        t, k = self._spline.t, self._spline.k
        return t[k : t.size - k]

    def get_coeffs(self) -> ndarray:
        """Returns the coefficients.

        Returns
        -------
        ndarray
            A vector.

        Examples
        --------
        >>> cp.scipy.interpolate.UnivariateSpline([0.0, 1.0], [2.0, 4.0], k=1, s=0).get_coeffs()
        array([2., 4.])
        """
        return self._spline.c[: self._spline.t.size - self._spline.k - 1]

    def get_residual(self) -> float:
        """Returns the weighted sum of squared distances.

        Returns
        -------
        float
            A number.

        Examples
        --------
        >>> cp.scipy.interpolate.UnivariateSpline([0.0, 1.0], [2.0, 4.0], k=1, s=0).get_residual()
        0.0
        """
        return float(self._on_host.get_residual())

    @on_array_device
    def set_smoothing_factor(self, s: float) -> None:
        """Fits the spline again, with another bound and the knots found so far, on the host.

        Parameters
        ----------
        s : float
            The bound.

        Examples
        --------
        >>> curve = cp.scipy.interpolate.UnivariateSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0])
        >>> curve.set_smoothing_factor(0.0)
        >>> curve(2.0).round(6)
        array(8.)
        """
        self._on_host.set_smoothing_factor(s)
        self._set(self._on_host)

    def derivatives(self, x: Any) -> ndarray:
        """Returns the value and all derivatives at a point.

        Parameters
        ----------
        x : float
            The point.

        Returns
        -------
        ndarray
            A vector of k + 1 elements.

        Examples
        --------
        >>> cp.scipy.interpolate.UnivariateSpline([0.0, 1.0], [2.0, 4.0], k=1, s=0).derivatives(0.5)
        array([3., 2.])
        """
        return cp.stack([self(x, nu) for nu in range(self._spline.k + 1)])

    def integral(self, a: float, b: float) -> ndarray:
        """Returns the integral from `a` to `b` of the spline, which is 0 outside of its interval.

        Parameters
        ----------
        a : float
            The lower end.
        b : float
            The upper end.

        Returns
        -------
        ndarray
            A 0-d array.

        Examples
        --------
        >>> cp.scipy.interpolate.UnivariateSpline([0.0, 1.0], [2.0, 4.0], k=1, s=0).integral(0.0, 1.0)
        array(3.)
        """
        return self._spline.integrate(a, b, extrapolate=False)

    def _derived(self, spline: BSpline) -> UnivariateSpline:
        found = object.__new__(UnivariateSpline)
        found._spline, found.ext, found._on_host = spline, self.ext, None
        return found

    def derivative(self, n: int = 1) -> UnivariateSpline:
        """Returns the derivative as a spline.

        Parameters
        ----------
        n : int, default 1
            The order.

        Returns
        -------
        UnivariateSpline

        Raises
        ------
        ValueError
            For an order beyond the degree.

        Examples
        --------
        >>> cp.scipy.interpolate.UnivariateSpline([0.0, 1.0], [2.0, 4.0], k=1, s=0).derivative()(0.5)
        array(2.)
        """
        return self._derived(splder(self._spline, n))

    def antiderivative(self, n: int = 1) -> UnivariateSpline:
        """Returns the antiderivative that is 0 at the first knot as a spline.

        Parameters
        ----------
        n : int, default 1
            The order.

        Returns
        -------
        UnivariateSpline

        Examples
        --------
        >>> cp.scipy.interpolate.UnivariateSpline([0.0, 1.0], [2.0, 4.0], k=1, s=0).antiderivative()(1.0)
        array(3.)
        """
        return self._derived(splantider(self._spline, n))


class InterpolatedUnivariateSpline(UnivariateSpline):
    """The spline through points: a `UnivariateSpline` with s = 0.

    Parameters
    ----------
    x : array_like
        The coordinates, strictly increasing, read on the host.
    y : array_like
        The values, read on the host.
    w : array_like, optional
        The weights of the points.
    bbox : pair of floats, optional
        The ends of the interval; None for the outermost points.
    k : int, default 3
        The degree, 1 to 5.
    ext : int or str, default 0
        What lies outside of the interval, as for `UnivariateSpline`.
    check_finite : bool, default False
        Whether to raise for values that are not finite.

    Raises
    ------
    ValueError
        For inconsistent shapes, coordinates that do not increase, and unknown `k`, `ext`.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    UnivariateSpline, make_interp_spline

    Examples
    --------
    >>> curve = cp.scipy.interpolate.InterpolatedUnivariateSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0])
    >>> curve(1.5).round(6)
    array(3.375)
    """

    @on_array_device
    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
        check_finite: bool = False,
    ) -> None:  # fmt: skip
        keywords = {"w": w, "bbox": [*bbox], "k": k, "ext": ext, "check_finite": check_finite}
        self._fit("InterpolatedUnivariateSpline", x, y, **keywords)


class LSQUnivariateSpline(UnivariateSpline):
    """The spline with given inner knots that is nearest to points, fitted on the host by SciPy.

    Parameters
    ----------
    x : array_like
        The coordinates, increasing, read on the host.
    y : array_like
        The values, read on the host.
    t : array_like
        The inner knots.
    w : array_like, optional
        The weights of the points.
    bbox : pair of floats, optional
        The ends of the interval; None for the outermost points.
    k : int, default 3
        The degree, 1 to 5.
    ext : int or str, default 0
        What lies outside of the interval, as for `UnivariateSpline`.
    check_finite : bool, default False
        Whether to raise for values that are not finite.

    Raises
    ------
    ValueError
        For inconsistent shapes, unordered coordinates, knots without points between them, and unknown `k`, `ext`.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    UnivariateSpline, make_lsq_spline

    Examples
    --------
    >>> x = cp.linspace(0.0, 3.0, 9)
    >>> cp.scipy.interpolate.LSQUnivariateSpline(x, x**3, [1.5])(2.0).round(6)
    array(8.)
    """

    @on_array_device
    def __init__(
        self, x: Any, y: Any, t: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
        check_finite: bool = False,
    ) -> None:  # fmt: skip
        keywords = {"w": w, "bbox": [*bbox], "k": k, "ext": ext, "check_finite": check_finite}
        self._fit("LSQUnivariateSpline", x, y, t, **keywords)


__all__ = [
    "InterpolatedUnivariateSpline", "LSQUnivariateSpline", "UnivariateSpline", "make_lsq_spline", "splantider",
    "splder",
]  # fmt: skip
