"""Splines fitted to points, polynomials through points, and interpolation in triangles against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import interpolate, spatial
from tests.support import assert_errors

from .compared import close

theirs = pytest.importorskip("scipy.interpolate")

RNG = np.random.default_rng(5)
X = np.sort(RNG.random(25)) * 4
Y = np.sin(X * 2) + RNG.standard_normal(25) * 0.05
SITES = np.concatenate([np.linspace(-0.3, 4.3, 37), X[:3]])
KNOTS = np.concatenate([[X[0]] * 4, [1.0, 2.0, 3.0], [X[-1]] * 4])


def test_least_squares() -> None:
    several = RNG.standard_normal((25, 2, 3))
    weights = RNG.random(25) + 0.5
    for y, axis in ((Y, 0), (several, 0), (several.transpose(1, 0, 2), 1), (Y + 1j * X, 0)):
        for keywords in ({}, {"w": weights}, {"method": "norm-eq"}):
            ours = interpolate.make_lsq_spline(cp.asarray(X), cp.asarray(y), cp.asarray(KNOTS), axis=axis, **keywords)
            other = theirs.make_lsq_spline(X, y, KNOTS, axis=axis, **keywords)
            close(ours.c, other.c, 1e-8)
            close(ours(cp.asarray(SITES)), other(SITES), 1e-8)
    line = np.array([X[0], X[0], 2.0, X[-1], X[-1]])
    close(interpolate.make_lsq_spline(X, Y, line, 1).c, theirs.make_lsq_spline(X, Y, line, 1).c, 1e-9)
    make = interpolate.make_lsq_spline
    assert_errors(
        (lambda: make(X[:3], Y[:3], KNOTS), ValueError, "more x points"),
        (lambda: make(X, Y[:3], KNOTS), ValueError, "incompatible"),
        (lambda: make(X[::-1], Y, KNOTS), ValueError, "non-decreasing"),
        (lambda: make(X, Y, KNOTS[::-1]), ValueError, "strictly increasing"),
        (lambda: make(X, Y, KNOTS + 0.5), ValueError, "Out of bounds"),
        (lambda: make(X, Y * np.nan, KNOTS), ValueError, "infs or NaNs"),
        (lambda: make(X, Y, KNOTS, w=weights[:3]), ValueError, "w .* are incompatible"),
        (lambda: make(X, Y, KNOTS, method="x"), ValueError, "Unknown method"),
    )


@pytest.mark.parametrize("k", [1, 3, 5])
def test_smoothing(k: int) -> None:
    made = {
        "UnivariateSpline": ((X, Y), {"s": 0.1}), "InterpolatedUnivariateSpline": ((X, Y), {}),
        "LSQUnivariateSpline": ((X, Y, [1.0, 2.0]), {"w": np.linspace(1, 2, 25)}),
    }  # fmt: skip
    for name, (arguments, keywords) in made.items():
        ours = getattr(interpolate, name)(*map(cp.asarray, arguments), k=k, **keywords)
        other = getattr(theirs, name)(*arguments, k=k, **keywords)
        for nu in range(k + 1):
            scale = np.abs(other(SITES, nu)).max()
            np.testing.assert_allclose(ours(cp.asarray(SITES), nu).get(), other(SITES, nu), 0, 1e-8 * scale)
        for ext in (1, 3, "zeros", "const"):
            close(ours(cp.asarray(SITES), ext=ext), other(SITES, ext=ext), 1e-9)
        close(ours.get_knots(), other.get_knots())
        close(ours.get_coeffs(), other.get_coeffs())
        assert ours.get_residual() == pytest.approx(other.get_residual())
        np.testing.assert_allclose(float(ours.integral(0.5, 3.0)), other.integral(0.5, 3.0), 1e-9)
        np.testing.assert_allclose(float(ours.integral(-2, 9)), other.integral(-2, 9), 1e-9)
        np.testing.assert_allclose(ours.derivatives(1.2).get(), other.derivatives(1.2), 1e-8)
        close(ours.antiderivative()(cp.asarray(X)), other.antiderivative()(X), 1e-8)
        close(ours.derivative()(cp.asarray(X), ext=0), other.derivative()(X, ext=0), 1e-8)
        with pytest.raises(ValueError, match="der="):
            ours(1.0, k + 1)
        with pytest.raises(ValueError, match="Unknown extrapolation"):
            ours(1.0, ext="x")
        with pytest.raises(ValueError, match="outside"):
            ours(cp.asarray(SITES), ext=2)
    ours, other = interpolate.UnivariateSpline(X, Y, k=k), theirs.UnivariateSpline(X, Y, k=k)
    ours.set_smoothing_factor(0.2)
    other.set_smoothing_factor(0.2)
    close(ours(cp.asarray(X)), other(X), 1e-9)
    with pytest.raises(ValueError, match="k"):
        interpolate.UnivariateSpline(X, Y, k=6)


def test_derivatives_of_tuples() -> None:
    t, c, k = theirs.splrep(X, Y, k=3)
    for name, n in (("splder", 1), ("splder", 2), ("splantider", 1), ("splantider", 2), ("splder", -1)):
        ours = getattr(interpolate, name)((cp.asarray(t), cp.asarray(c), k), n)
        other = getattr(theirs, name)((t, c, k), n)
        assert ours[2] == other[2]
        close(ours[0], other[0])
        count = other[0].size - other[2] - 1
        np.testing.assert_allclose(ours[1].get()[:count], other[1][:count], 1e-9, 1e-10)
    spline = interpolate.BSpline(t, c, k)
    assert isinstance(interpolate.splder(spline), interpolate.BSpline)
    with pytest.raises(ValueError, match="Order of derivative"):
        interpolate.splder(spline, 4)


@pytest.mark.parametrize("kind", ["Krogh", "Barycentric"])
def test_polynomials(kind: str) -> None:
    x = np.cos(np.arange(8) * np.pi / 7)
    sites = np.concatenate([np.linspace(-1, 1.1, 11), x[:2]])
    ours_of, theirs_of = (getattr(m, kind + "Interpolator") for m in (interpolate, theirs))
    for shape, axis in (((8,), 0), ((8, 2), 0), ((2, 8, 3), 1), ((2, 8), -1)):
        for y in (
            RNG.standard_normal(shape),
            RNG.standard_normal(shape) + 1j,
            np.arange(np.prod(shape)).reshape(shape),
        ):
            ours, other = ours_of(cp.asarray(x), cp.asarray(y), axis), theirs_of(x, y, axis)
            for at in (sites, sites[:10].reshape(2, 5), np.array(0.3)):
                close(ours(cp.asarray(at)), other(at), 1e-9)
                close(ours.derivative(cp.asarray(at)), other.derivative(at), 1e-7)
                close(ours.derivative(cp.asarray(at), 3), other.derivative(at, 3), 1e-6)
                for der in (None, 2, 9):
                    close(ours.derivatives(cp.asarray(at), der), other.derivatives(at, der), 1e-6)
    y = RNG.standard_normal(8)
    name = {"Krogh": "krogh_interpolate", "Barycentric": "barycentric_interpolate"}[kind]
    for der in (0, 2, [0, 2]):
        ours, other = getattr(interpolate, name)(x, y, sites, der=der), getattr(theirs, name)(x, y, sites, der=der)
        close(ours, other, 1e-7)
    assert_errors(
        (lambda: ours_of(x, y[:3]), ValueError, "equal in length"),
        (lambda: ours_of([0.0, 1.0, 0.0], [1.0, 2.0, 3.0]), ValueError, "equal|distinct"),
    )


def test_repeated_and_added_points() -> None:
    for x in ([0.0, 0.0, 0.0, 1.0, 2.0, 2.0], [1.0, 0.5, 0.5, 3.0], [2.0]):
        y = RNG.standard_normal((len(x), 2))
        ours, other = interpolate.KroghInterpolator(x, cp.asarray(y)), theirs.KroghInterpolator(x, y)
        close(ours(cp.asarray(SITES)), other(SITES), 1e-10)
        close(ours.derivatives(cp.asarray(SITES), 4), other.derivatives(SITES, 4), 1e-9)
    # SciPy's weights of an even number of points have a wrong sign after a point is added (1.17).
    ours = interpolate.BarycentricInterpolator([0.0, 1.0], [1.0, 3.0])
    ours.add_xi([2.0, 5.0], [0.0, 4.0])
    close(ours(cp.asarray(SITES)), theirs.KroghInterpolator([0.0, 1.0, 2.0, 5.0], [1.0, 3.0, 0.0, 4.0])(SITES))
    ours.set_yi([1.0, 2.0, 3.0, 7.0])
    close(ours(cp.asarray(SITES)), theirs.BarycentricInterpolator([0.0, 1.0, 2.0, 5.0], [1.0, 2.0, 3.0, 7.0])(SITES))
    empty = interpolate.BarycentricInterpolator([0.0, 1.0])
    assert_errors(
        (lambda: empty.add_xi([2.0], [1.0]), ValueError, "No previous"),
        (lambda: ours.add_xi([9.0]), ValueError, "No update"), (lambda: empty(1.0), ValueError, "no values"),
    )  # fmt: skip
    with pytest.warns(UserWarning, match="numerical instability"):
        interpolate.KroghInterpolator(np.arange(31.0), np.arange(31.0))


POINTS = RNG.random((30, 2))
AT = RNG.random((4, 5, 2)) * 1.4 - 0.2
VALUES: dict[str, Any] = {
    "real": RNG.random(30), "complex": RNG.random((30, 2)) + 1j, "several": RNG.random((30, 2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["LinearNDInterpolator", "CloughTocher2DInterpolator"])
def test_triangles(kind: str) -> None:
    for values in VALUES.values():
        for keywords in ({}, {"fill_value": 7.0}, {"rescale": True}):
            stretched = POINTS * [1, 40]
            ours = getattr(interpolate, kind)(cp.asarray(stretched), cp.asarray(values), **keywords)
            other = getattr(theirs, kind)(stretched, values, **keywords)
            sites = AT * [1, 40]
            close(ours(cp.asarray(sites)), other(sites), 1e-9)
            close(ours(cp.asarray(sites[..., 0]), cp.asarray(sites[..., 1])), other(sites[..., 0], sites[..., 1]), 1e-9)
    mesh = spatial.Delaunay(cp.asarray(POINTS))
    close(getattr(interpolate, kind)(mesh, cp.asarray(VALUES["real"]))(cp.asarray(AT)),
          getattr(theirs, kind)(POINTS, VALUES["real"])(AT), 1e-9)  # fmt: skip
    assert_errors(
        (lambda: getattr(interpolate, kind)(POINTS, VALUES["real"][:3]), ValueError),
        (lambda: getattr(interpolate, kind)(POINTS[:, :1], VALUES["real"]), ValueError),
        (lambda: getattr(interpolate, kind)(mesh, VALUES["real"], rescale=True), ValueError),
        (lambda: getattr(interpolate, kind)(POINTS, VALUES["real"])(AT[..., :1], AT[..., :1], AT[..., :1]), ValueError),
    )


def test_simplices_in_space() -> None:
    points, sites, values = RNG.random((40, 3)), RNG.random((25, 3)), RNG.random(40)
    ours = interpolate.LinearNDInterpolator(cp.asarray(points), cp.asarray(values))
    close(ours(cp.asarray(sites)), theirs.LinearNDInterpolator(points, values)(sites), 1e-9)
    # At the points themselves and on edges rounding does not lead outside.
    edges = (points[ours.tri.simplices.get()[:, 0]] + points[ours.tri.simplices.get()[:, 1]]) / 2
    assert bool(cp.isfinite(ours(cp.asarray(points))).all()) and bool(cp.isfinite(ours(cp.asarray(edges))).all())


def test_data_on_grids() -> None:
    for method in ("nearest", "linear", "cubic"):
        for values in (VALUES["real"], VALUES["several"]):
            ours = interpolate.griddata(cp.asarray(POINTS), cp.asarray(values), cp.asarray(AT), method)
            close(ours, theirs.griddata(POINTS, values, AT, method), 1e-9)
        mesh = np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 1, 3))
        ours = interpolate.griddata(
            (cp.asarray(POINTS[:, 0]), cp.asarray(POINTS[:, 1])), cp.asarray(VALUES["real"]),
            tuple(map(cp.asarray, mesh)), method, fill_value=2.0, rescale=True,
        )  # fmt: skip
        close(ours, theirs.griddata((POINTS[:, 0], POINTS[:, 1]), VALUES["real"], tuple(mesh), method, 2.0, True), 1e-9)
        close(
            interpolate.griddata(X, cp.asarray(Y), cp.asarray(SITES), method),
            theirs.griddata(X, Y, SITES, method),
            1e-9,
        )
    with pytest.raises(ValueError, match="Unknown interpolation method"):
        interpolate.griddata(RNG.random((9, 3)), RNG.random(9), RNG.random((2, 3)), "cubic")
