"""Piecewise cubic interpolation by slopes at the points: given, from splines, or local without overshoot."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array
from cuprous._common.operands import on_array_device
from cuprous.scipy.interpolate._pieces import ndarray, prepared, real_or_complex
from cuprous.scipy.interpolate._ppoly import PPoly
from cuprous.scipy.interpolate._tridiagonal import solve

_map = _core.map
_CONDITIONS = {"clamped": (1, 0.0), "natural": (2, 0.0)}


class CubicHermiteSpline(PPoly):
    """Piecewise cubics through points with given slopes.

    Parameters
    ----------
    x : array_like
        Increasing coordinates.
    y : array_like
        The values along `axis`.
    dydx : array_like
        The slopes, of the same shape.
    axis : int, default 0
        The axis of `y`.
    extrapolate : bool or str, optional
        As for `PPoly`.

    Raises
    ------
    ValueError
        For inconsistent shapes, and coordinates that do not increase.

    See Also
    --------
    Akima1DInterpolator, PchipInterpolator, CubicSpline, PPoly

    Examples
    --------
    >>> curve = cp.scipy.interpolate.CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [0.0, 2.0])
    >>> curve(0.5)
    array(0.25)
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        sites, width, rows, axis, slopes = prepared(x, y, axis, dydx)
        self._fit(sites, width, rows, slopes, axis, True if extrapolate is None else extrapolate)

    def _fit(self, x: ndarray, width: ndarray, rows: ndarray, slopes: ndarray, axis: int, extrapolate: Any) -> None:
        steep = (rows[1:] - rows[:-1]) / width
        bend = (slopes[:-1] + slopes[1:] - 2.0 * steep) / width
        c = cp.stack([bend / width, (steep - slopes[:-1]) / width - bend, slopes[:-1], rows[:-1]])
        self._set(c, x, axis)
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)


class CubicSpline(CubicHermiteSpline):
    """Piecewise cubics through points, with continuous second derivatives.

    Parameters
    ----------
    x : array_like
        Increasing coordinates.
    y : array_like
        The values along `axis`.
    axis : int, default 0
        The axis of `y`.
    bc_type : str or pair, default "not-a-knot"
        The end conditions: "not-a-knot" (continuous third derivative), "periodic", "clamped" (slope 0), "natural"
        (second derivative 0), or a pair of conditions, each of which may be (order of a derivative, its value).
    extrapolate : bool or str, optional
        As for `PPoly`; by default "periodic" for periodic splines, otherwise True.

    Raises
    ------
    ValueError
        For inconsistent shapes, coordinates that do not increase, values that are not finite, unknown conditions, and
        "periodic" with different first and last values.

    See Also
    --------
    Akima1DInterpolator, PchipInterpolator, PPoly

    Examples
    --------
    >>> curve = cp.scipy.interpolate.CubicSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 4.0, 9.0])
    >>> curve([0.5, 1.5]).round(6)
    array([0.25, 2.25])
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        sites, width, rows, axis, _ = prepared(x, y, axis)
        if rows.size and not bool(cp.all(cp.isfinite(rows))):
            raise ValueError("`y` must contain only finite values.")
        ends = _conditions(bc_type, rows)
        if extrapolate is None:
            extrapolate = "periodic" if ends[0] == "periodic" else True
        slopes = _spline_slopes(width, rows, ends) if rows.size else rows
        self._fit(sites, width, rows, slopes, axis, extrapolate)


@on_array_device
def _conditions(bc_type: Any, rows: ndarray) -> tuple[Any, Any]:
    """Returns the condition at each end: "periodic", "not-a-knot", or (order, value)."""
    if isinstance(bc_type, str):
        bc_type = (bc_type, bc_type)
    elif len(bc_type) != 2:
        raise ValueError("`bc_type` must contain 2 elements to specify start and end conditions.")
    if "periodic" in [b for b in bc_type if isinstance(b, str)]:
        if not all(isinstance(b, str) and b == "periodic" for b in bc_type):
            raise ValueError("'periodic' `bc_type` is defined for both curve ends and cannot be used with other "
                             "boundary conditions.")  # fmt: skip
        if rows.size and not bool(cp.allclose(rows[0], rows[-1], rtol=1e-15, atol=1e-15)):
            raise ValueError("The first and last `y` point along axis 0 must be identical (within machine precision) "
                             "when bc_type='periodic'.")  # fmt: skip
        return "periodic", "periodic"
    found: list[Any] = []
    for condition in bc_type:
        if isinstance(condition, str):
            if condition != "not-a-knot" and condition not in _CONDITIONS:
                raise ValueError(f"bc_type={condition} is not allowed.")
            found.append(_CONDITIONS.get(condition, condition))
            continue
        try:
            order, value = condition
        except (TypeError, ValueError) as error:
            raise ValueError("A specified derivative value must be given in the form (order, value).") from error
        if order not in (1, 2):
            raise ValueError("The specified derivative order must be 1 or 2.")
        value = real_or_complex(array(value))
        if value.shape != rows.shape[1:]:
            raise ValueError(f"`deriv_value` shape {value.shape} is not the expected one {rows.shape[1:]}.")
        found.append((order, value))
    return found[0], found[1]


def _flat(a: ndarray) -> ndarray:
    return a.reshape([a.shape[0], a.size // max(a.shape[0], 1)])


@on_array_device
def _spline_slopes(width: ndarray, rows: ndarray, ends: tuple[Any, Any]) -> ndarray:
    """Returns the slopes that make second derivatives continuous: a tridiagonal system, whose first and last equations
    are replaced by the end conditions."""
    n = rows.shape[0]
    h, steep = _flat(width)[:, :1], _flat((rows[1:] - rows[:-1]) / width)
    if ends[0] == "periodic":
        return _periodic_slopes(h, steep).reshape(rows.shape)
    if n == 2:
        ends = tuple((1, steep[0]) if e == "not-a-knot" else e for e in ends)  # type: ignore[assignment]
    if n == 3 and ends == ("not-a-knot", "not-a-knot"):  # a parabola
        bend = (steep[1:] - steep[:1]) / (h[:1] + h[1:])
        return cp.concatenate([steep[:1] - bend * h[:1], steep[:1] + bend * h[:1], steep[1:] + bend * h[1:]]
                              ).reshape(rows.shape)  # fmt: skip
    # At each end, the slope is `value` minus `ratio` times the neighboring slope.
    first = _end(ends[0], h[:1], h[1:2], steep[:1], steep[1:2])
    last = _end(ends[1], h[-1:], h[-2:-1], steep[-1:], steep[-2:-1], -1.0)
    if n == 2:
        ratio = first[0] * last[0]
        start = (first[1] - first[0] * last[1]) / (1.0 - ratio)
        return cp.concatenate([start, last[1] - last[0] * start]).reshape(rows.shape)
    below, above = h[1:], h[:-1]
    diagonal = 2.0 * (below + above)
    right = 3.0 * (below * steep[:-1] + above * steep[1:])
    index = cp.arange(n - 2).reshape([n - 2, 1])
    at_first, at_last = index == 0, index == n - 3
    zero = cp.zeros((1, 1))
    diagonal = diagonal - _map("where", at_first, below[:1] * first[0], zero)
    diagonal = diagonal - _map("where", at_last, above[-1:] * last[0], zero)
    right = right - _map("where", at_first, below[:1] * first[1], 0.0)
    right = right - _map("where", at_last, above[-1:] * last[1], 0.0)
    inner = solve(_map("where", at_first, 0.0, below), diagonal, _map("where", at_last, 0.0, above), right)
    outer = (first[1] - first[0] * inner[:1], last[1] - last[0] * inner[-1:])
    return cp.concatenate([outer[0], inner, outer[1]]).reshape(rows.shape)


def _end(condition: Any, h: ndarray, next_h: ndarray, steep: ndarray, next_steep: ndarray, side: float = 1.0
         ) -> tuple[Any, Any]:  # fmt: skip
    if condition == "not-a-knot":
        both = h + next_h
        return both / next_h, ((h + 2.0 * both) * next_h * steep + h * h * next_steep) / both / next_h
    order, value = condition
    if isinstance(value, ndarray):
        value = value.reshape([1, value.size])
    if order == 1:
        return cp.zeros((1, 1)), value + steep * 0.0
    return cp.full((1, 1), 0.5), 1.5 * steep - side * value * h * 0.25


@on_array_device
def _periodic_slopes(h: ndarray, steep: ndarray) -> ndarray:
    """Solves for the slopes at all points but the last, which coincides with the first."""
    before, steep_before = cp.roll(h, 1, axis=0), cp.roll(steep, 1, axis=0)
    right = 3.0 * (h * steep_before + before * steep)
    if h.shape[0] == 1:
        slopes = steep * 0.0
    elif h.shape[0] == 2:  # both neighbors are the same
        slopes = right / (2.0 * (h + before))
        other = (h + before) / (2.0 * (h + before))
        slopes = (slopes - other * cp.roll(slopes, 1, axis=0)) / (1.0 - other * other)
    else:
        slopes = solve(h, 2.0 * (h + before), before, right, cyclic=True)
    return cp.concatenate([slopes, slopes[:1]])


class PchipInterpolator(CubicHermiteSpline):
    """Piecewise cubics that preserve monotonicity (F. N. Fritsch and J. Butland, SIAM Journal on Scientific and
    Statistical Computing 5 (1984)).

    Parameters
    ----------
    x : array_like
        Increasing coordinates.
    y : array_like
        The values along `axis`.
    axis : int, default 0
        The axis of `y`.
    extrapolate : bool or str, optional
        As for `PPoly`.

    Raises
    ------
    ValueError
        For inconsistent shapes, coordinates that do not increase, and complex values.

    See Also
    --------
    CubicHermiteSpline, Akima1DInterpolator, CubicSpline, PPoly

    Examples
    --------
    >>> curve = cp.scipy.interpolate.PchipInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])
    >>> curve(0.5)
    array(0.3125)
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        sites, width, rows, axis, _ = prepared(x, y, axis)
        if _dtypes.kind(rows.dtype_name) == "c":
            raise ValueError("`PchipInterpolator` only works with real values for `y`.")
        self._fit(sites, width, rows, _monotone_slopes(width, rows), axis, True if extrapolate is None else extrapolate)


@on_array_device
def _monotone_slopes(h: ndarray, rows: ndarray) -> ndarray:
    steep = (rows[1:] - rows[:-1]) / h
    if rows.shape[0] == 2:
        return cp.concatenate([steep, steep])
    sign = _map("sign", steep)
    extrema = _map("logical_or", sign[1:] != sign[:-1], _map("logical_or", steep[1:] == 0, steep[:-1] == 0))
    one, two = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    safe = [_map("where", extrema, 1.0, s) for s in (steep[:-1], steep[1:])]
    mean = (one / safe[0] + two / safe[1]) / (one + two)
    inner = _map("where", extrema, 0.0, 1.0 / mean)
    first = _one_sided(h[:1], h[1:2], steep[:1], steep[1:2])
    last = _one_sided(h[-1:], h[-2:-1], steep[-1:], steep[-2:-1])
    return cp.concatenate([first, inner, last])


def _one_sided(h: ndarray, next_h: ndarray, steep: ndarray, next_steep: ndarray) -> ndarray:
    """Returns the slope of the end parabola, limited so that it has the right sign and does not overshoot."""
    slope = ((2.0 * h + next_h) * steep - h * next_steep) / (h + next_h)
    wrong = _map("sign", slope) != _map("sign", steep)
    extrema = _map("sign", steep) != _map("sign", next_steep)
    steepest = _map("logical_and", extrema, _map("absolute", slope) > 3.0 * _map("absolute", steep))
    return _map("where", wrong, 0.0, _map("where", steepest, 3.0 * steep, slope))


class Akima1DInterpolator(CubicHermiteSpline):
    """Piecewise cubics whose slopes depend only on the five nearest points (H. Akima, Journal of the ACM 17 (1970)).

    Parameters
    ----------
    x, y : array_like
        As for `CubicHermiteSpline`.
    axis : int, default 0
        As for `CubicHermiteSpline`.
    method : {"akima", "makima"}, default "akima"
        "akima", or "makima" (which prefers the flatter side if the slopes on each side are equal).
    extrapolate : bool or str, optional
        As for `CubicHermiteSpline`, but False by default.

    Raises
    ------
    ValueError
        As for `CubicHermiteSpline`, and for complex values.
    NotImplementedError
        For unknown methods.

    See Also
    --------
    PchipInterpolator, CubicSpline, PPoly

    Examples
    --------
    >>> curve = cp.scipy.interpolate.Akima1DInterpolator([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 4.0, 9.0, 16.0])
    >>> curve(1.5)
    array(2.25)
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        sites, width, rows, axis, _ = prepared(x, y, axis)
        if _dtypes.kind(rows.dtype_name) == "c":
            raise ValueError("`Akima1DInterpolator` only works with real values for `y`.")
        slopes = _local_slopes(width, rows, method == "makima")
        self._fit(sites, width, rows, slopes, axis, False if extrapolate is None else extrapolate)


@on_array_device
def _local_slopes(h: ndarray, rows: ndarray, modified: bool) -> ndarray:
    steep = (rows[1:] - rows[:-1]) / h
    if rows.shape[0] == 2:
        return cp.concatenate([steep, steep])
    one_before, one_after = 2.0 * steep[:1] - steep[1:2], 2.0 * steep[-1:] - steep[-2:-1]
    two_before, two_after = 2.0 * one_before - steep[:1], 2.0 * one_after - steep[-1:]
    m = cp.concatenate([two_before, one_before, steep, one_after, two_after])
    change = _map("absolute", m[1:] - m[:-1])
    if modified:
        change = change + 0.5 * _map("absolute", m[1:] + m[:-1])
    left, right = change[:-2], change[2:]  # crossed weights: the smoother side counts more
    total = left + right
    limit = 1e-9 * cp.max(total) if total.size else 0.0
    flat = _map("less_equal", total, limit)
    even = 0.5 * (m[3:] + m[:-3])
    weighted = m[1:-2] + left / _map("where", flat, 1.0, total) * (m[2:-1] - m[1:-2])
    return _map("where", flat, even, weighted)
