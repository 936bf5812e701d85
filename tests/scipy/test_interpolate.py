"""`cuprous.scipy.interpolate` against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import interpolate
from tests.support import assert_errors

scipy_interpolate = pytest.importorskip("scipy.interpolate")

RNG = np.random.default_rng(3)
X, Y = np.sort(RNG.random(9)) * 10, RNG.normal(size=(3, 9, 2))
INSIDE = np.concatenate([RNG.uniform(X[0], X[-1], 20), X, (X[1:] + X[:-1]) / 2])
GRID = (np.sort(RNG.random(5)), np.arange(6.0)[::-1], np.linspace(0, 2, 4))
VALUES = RNG.normal(size=(5, 6, 4, 2))


def on_device(xs: Any) -> list[Any]:
    """Vectors on the device."""
    return [cp.asarray(np.ascontiguousarray(x)) for x in xs]


KINDS = ("linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic", 2)
LINES = [(k, f) for f in ((1.0, 2.0), "extrapolate", 3.0) for k in KINDS]


@pytest.mark.parametrize(("kind", "fill"), LINES)
def test_lines(kind: str, fill: Any) -> None:
    order = RNG.permutation(9)
    given, values = X[order], Y[:, order]
    options = {"axis": 1, "fill_value": fill, "bounds_error": False}
    outside = np.concatenate([INSIDE, [-1.0, 99.0]])
    for at in (outside, INSIDE[:6].reshape(2, 3), INSIDE[0], np.zeros(0)):
        theirs = scipy_interpolate.interp1d(given, values, kind, **options)(at)
        ours = interpolate.interp1d(cp.asarray(given), cp.asarray(values), kind, **options)(cp.asarray(at))
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours.get(), theirs, rtol=1e-10, atol=1e-9 if at is outside else 1e-12)
    assert np.isnan(interpolate.interp1d(cp.asarray(X), cp.asarray(X), kind)(cp.array([np.nan])).get()).all()


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [7.0, None, np.nan])
def test_grids(method: str, fill: Any) -> None:
    places = np.stack([RNG.uniform(g.min() - 1, g.max() + 1, 30) for g in GRID], -1)
    places[3, 1] = np.nan
    theirs = scipy_interpolate.RegularGridInterpolator(GRID, VALUES, method, False, fill)(places)
    ours = interpolate.RegularGridInterpolator(on_device(GRID), cp.asarray(VALUES), method, False, fill)
    np.testing.assert_allclose(ours(cp.asarray(places)).get(), theirs, rtol=1e-11, atol=1e-13)
    inside = np.stack([RNG.uniform(g.min(), g.max(), (7, 3)) for g in GRID], -1)
    theirs = scipy_interpolate.RegularGridInterpolator(GRID, VALUES)(inside, method)
    ours = interpolate.RegularGridInterpolator(on_device(GRID), cp.asarray(VALUES))(cp.asarray(inside), method)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours.get(), theirs, rtol=1e-11, atol=1e-13)
    pair = (float(GRID[0][2]), 2.5, cp.asarray([0.1, 0.2]))
    theirs = scipy_interpolate.interpn(GRID, VALUES, (GRID[0][2], 2.5, np.array([0.1, 0.2])), method)
    np.testing.assert_allclose(interpolate.interpn(on_device(GRID), cp.asarray(VALUES), pair, method).get(), theirs)


def test_cubic_grids() -> None:
    places = np.stack([RNG.uniform(g.min() - 0.1, g.max() + 0.1, 30) for g in GRID], -1)
    theirs = []  # SciPy's own class solves for the coefficients to a tolerance of 1e-5 or so
    for place in places:
        value = VALUES
        for x, at in zip(GRID, place, strict=True):
            value = scipy_interpolate.make_interp_spline(np.sort(x), value if x[0] < x[1] else value[::-1])(at)
        theirs.append(value)
    ours = interpolate.RegularGridInterpolator(on_device(GRID), cp.asarray(VALUES), "cubic", False, None)
    np.testing.assert_allclose(ours(cp.asarray(places)).get(), theirs, rtol=1e-9, atol=1e-10)
    at_points = np.stack([g[2:3] for g in GRID], -1)
    np.testing.assert_allclose(ours(cp.asarray(at_points)).get(), VALUES[2, 2, 2][None], rtol=1e-11)


def test_errors() -> None:
    x, y = cp.asarray(X), cp.asarray(Y)
    grid, values = on_device(GRID), cp.asarray(VALUES)
    assert_errors(
        (lambda: interpolate.interp1d(x, x, -1), NotImplementedError, "kind=-1"),
        (lambda: interpolate.interp1d(x[:3], x[:3], "cubic"), ValueError, "at least 4 entries"),
        (lambda: interpolate.interp1d(x, y), ValueError, "equal in length"),
        (lambda: interpolate.interp1d(y, y), ValueError, "one dimension"),
        (lambda: interpolate.interp1d(x, x)(cp.array([-1.0])), ValueError, "below"),
        (lambda: interpolate.interp1d(x, x)(cp.array([99.0])), ValueError, "above"),
        (lambda: interpolate.RegularGridInterpolator(grid, values, "pchip"), NotImplementedError, "pchip"),
        (lambda: interpolate.RegularGridInterpolator([x[:3]], x[:3], "cubic"), ValueError, "at least 4"),
        (lambda: interpolate.RegularGridInterpolator(grid, values, solver=1), NotImplementedError, "solver"),
        (lambda: interpolate.RegularGridInterpolator(grid, values, "odd"), ValueError, "not defined"),
        (lambda: interpolate.RegularGridInterpolator(grid[:2], values[0]), ValueError, "points and"),
        (lambda: interpolate.RegularGridInterpolator([cp.zeros(5)], values), ValueError, "strictly"),
        (lambda: interpolate.RegularGridInterpolator(grid, values)(cp.ones((2, 3)) * 99), ValueError, "out of bounds"),
        (lambda: interpolate.RegularGridInterpolator(grid, values)(cp.ones((2, 2))), ValueError, "dimension 2"),
    )


def test_values_are_copied() -> None:
    y = cp.zeros(3)
    line = interpolate.interp1d(cp.arange(3.0), y)
    y += 5
    assert float(line(1.0)) == 0.0


@pytest.mark.parametrize("kind", [*KINDS[:-1], 0, 1, 4, 5])
def test_lines_through_values_that_are_not_finite(kind: str | int) -> None:
    rng = np.random.default_rng(17)
    smooth = kind in ("quadratic", "cubic", 4, 5)
    for trial in range(60):
        count = int(rng.integers(1, 9))
        x = np.sort(rng.choice(np.arange(30), count, replace=False) / 4.0)
        y = rng.integers(-5, 6, (count, 2) if trial % 3 == 0 else count).astype("float64")
        for _ in range(rng.integers(0, 3)):
            y.flat[rng.integers(y.size)] = np.nan if smooth or kind == "linear" else rng.choice([np.nan, np.inf])
        at = np.concatenate([x, (x[1:] + x[:-1]) / 2, x[:1] - 1, x[-1:] + 1])
        for fill in (np.nan, "extrapolate", (-7.0, 8.0)):
            options: Any = {"kind": kind, "axis": 0, "fill_value": fill, "bounds_error": False}
            message = f"{x.tolist()} {y.tolist()} {fill}"
            try:
                with np.errstate(all="ignore"):
                    theirs = scipy_interpolate.interp1d(x, y, **options)(at)
            except ValueError:
                with pytest.raises(ValueError):
                    interpolate.interp1d(cp.asarray(x), cp.asarray(y), **options)
                continue
            ours = interpolate.interp1d(cp.asarray(x), cp.asarray(y), **options)(cp.asarray(at)).get()
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9, err_msg=message)


def test_b_splines_with_multiple_knots() -> None:
    t = np.array([-1, -1, 0, 1, 1, 3, 4, 6, 6, 6, 7, 7.0])
    at = np.array([6.0, 6.5, 7.0, 7.5])
    ours = interpolate.BSpline(cp.asarray(t), cp.arange(9.0), 2)(cp.asarray(at))
    np.testing.assert_array_equal(ours.get(), scipy_interpolate.BSpline(t, np.arange(9.0), 2)(at))
    rng, at = np.random.default_rng(5), np.arange(-1.0, 9.0, 0.5)
    for _ in range(150):
        k = int(rng.integers(0, 5))
        count = int(rng.integers(2 * k + 2, 2 * k + 9))
        t, c = np.sort(rng.integers(0, 8, count)).astype("float64"), rng.normal(size=count - k - 1)
        if t[k] == t[count - k - 1]:
            with pytest.raises(ValueError, match="two internal knots"):
                interpolate.BSpline(cp.asarray(t), cp.asarray(c), k)
            continue
        for extrapolate in (True, False):
            theirs = scipy_interpolate.BSpline(t, c, k, extrapolate)(at)
            ours = interpolate.BSpline(cp.asarray(t), cp.asarray(c), k, extrapolate)(cp.asarray(at))
            np.testing.assert_allclose(ours.get(), theirs, rtol=1e-8, atol=1e-8, err_msg=f"{k} {t.tolist()}")


@pytest.mark.parametrize("kind", ["linear", "zero", "nearest", "previous", "slinear"])
def test_interp1d_dtypes(kind: str) -> None:
    for dtypes in np.ndindex(3, 4, 3):
        dtype_x, dtype_y, dtype_at = (("f2", "f4", "f8", "c8")[i] for i in dtypes)
        x, y, at = np.arange(8, dtype=dtype_x), np.arange(8).astype(dtype_y) / 2, np.array([1.5, 3], dtype_at)
        theirs = scipy_interpolate.interp1d(x, y, kind=kind)(at)
        ours = interpolate.interp1d(cp.asarray(x), cp.asarray(y), kind=kind)(cp.asarray(at))
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours.get(), theirs, rtol=1e-3)


def test_fill_values_fit() -> None:
    """A list of as many values as there are points to evaluate is no value for each."""
    x, y = cp.arange(5.0), RNG.normal(size=(2, 3, 5))
    ours = interpolate.interp1d(x, cp.asarray(y), fill_value=[1.0, 2, 3], bounds_error=False)(cp.asarray([-1.0, 9]))
    np.testing.assert_array_equal(ours.get(), np.broadcast_to([[1], [2], [3]], (2, 3, 2)))
    for values, fill in ((y[0, 0], [1.0, 2]), (y, [1.0, 2]), (y[0], np.ones((2, 3)))):
        with pytest.raises(ValueError, match="broadcast"):
            interpolate.interp1d(x, cp.asarray(values), fill_value=fill, bounds_error=False)
    with pytest.raises(ValueError, match="compatible"):
        interpolate.RegularGridInterpolator((x,), cp.arange(5.0), fill_value=1 + 2j)


def test_conditions_of_make_interp_spline() -> None:
    x = y = cp.arange(6.0)
    for wrong in (([(1, 0.0)], None), (None, "natural"), 42):
        with pytest.raises(ValueError, match="boundar"):
            interpolate.make_interp_spline(x, y, bc_type=wrong)
    with pytest.raises(NotImplementedError, match="several"):
        interpolate.make_interp_spline(x, y, bc_type=([(1, 0.0), (2, 0.0)], None))


def test_derivative_has_as_many_coefficients_as_knots() -> None:
    t, c = np.arange(7.0), np.array([-1.0, 2, 0, -1])
    for nu in (1, 2):
        theirs = scipy_interpolate.BSpline(t, c, 2).derivative(nu).tck
        ours = interpolate.BSpline(cp.asarray(t), cp.asarray(c), 2).derivative(nu).tck
        for mine, its in zip(ours[:2], theirs[:2], strict=True):
            np.testing.assert_allclose(mine.get(), its)
        assert ours[2] == theirs[2]
