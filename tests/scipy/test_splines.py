"""`cuprous.scipy.interpolate`'s piecewise polynomials and splines against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import interpolate
from tests.support import assert_errors

from .compared import close

theirs = pytest.importorskip("scipy.interpolate")

RNG = np.random.default_rng(8)
#: Even steps, random ones, and steps of three orders of magnitude.
GRIDS = {"even": lambda n: np.arange(n) * 1.0, "random": lambda n: np.cumsum(RNG.uniform(0.01, 1, n)),
         "wild": lambda n: np.cumsum(10.0 ** RNG.uniform(-3, 0, n))}  # fmt: skip
CONDITIONS: list[Any] = [
    "not-a-knot", "natural", "clamped", "periodic", ((1, 0.5), (2, -0.3)), ("natural", "not-a-knot"),
]  # fmt: skip


def places(x: Any) -> Any:
    """Within, outside, at points, and NaN."""
    return np.concatenate([RNG.uniform(x[0] - 0.3, x[-1] + 0.3, 30), x[:3], x[-2:], [np.nan]])


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("n", [2, 3, 4, 5, 300])
def test_cubic_splines(n: int, grid: str) -> None:
    x = GRIDS[grid](n)
    at = places(x)
    for condition in CONDITIONS:
        for shape, axis in (((n,), 0), ((3, n, 2), 1)):
            y = RNG.normal(size=shape) + (1j if shape == (n,) and condition == "natural" else 0)
            if condition == "periodic":
                np.moveaxis(y, axis, 0)[-1] = np.moveaxis(y, axis, 0)[0]
            if len(shape) > 1 and not isinstance(condition[0], str):
                continue
            spline = theirs.CubicSpline(x, y, axis, condition)
            mine = interpolate.CubicSpline(cp.asarray(x), cp.asarray(y), axis, condition)
            close(mine(cp.asarray(at)), spline(at))
            close(mine(cp.asarray(at), 1), spline(at, 1), 1e-7)
            if condition == "natural":
                close(mine.antiderivative()(cp.asarray(at)), spline.antiderivative()(at))
                close(mine.integrate(x[0], at[0]), spline.integrate(x[0], at[0]))


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("n", [2, 3, 9])
def test_local_cubics(n: int, grid: str) -> None:
    x = GRIDS[grid](n)
    at = places(x)
    for y, axis in ((np.round(RNG.normal(size=n)), 0), (RNG.normal(size=(3, n, 2)), 1)):
        args = (cp.asarray(x), cp.asarray(y), axis)
        close(interpolate.PchipInterpolator(*args)(cp.asarray(at)), theirs.PchipInterpolator(x, y, axis)(at))
        dydx = RNG.normal(size=y.shape)
        close(interpolate.CubicHermiteSpline(args[0], args[1], cp.asarray(dydx), axis)(cp.asarray(at)),
              theirs.CubicHermiteSpline(x, y, dydx, axis)(at))  # fmt: skip
        for method in ("akima", "makima") if n > 2 else ():
            close(interpolate.Akima1DInterpolator(*args, method=method)(cp.asarray(at)),
                  theirs.Akima1DInterpolator(x, y, axis, method=method)(at))  # fmt: skip
    close(interpolate.pchip_interpolate(args[0], args[1], cp.asarray(at), 1, 1),
          theirs.pchip_interpolate(x, y, at, 1, 1))  # fmt: skip


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_b_splines(k: int, grid: str) -> None:
    for n in (4, 5, 60):
        x = GRIDS[grid](n)
        at = places(x)
        for y, axis in ((RNG.normal(size=n), 0), (RNG.normal(size=(3, n, 2)), 1)):
            for condition in (None, "natural", "clamped") if k == 3 else (None,):
                spline = theirs.make_interp_spline(x, y, k, bc_type=condition, axis=axis)
                mine = interpolate.make_interp_spline(cp.asarray(x), cp.asarray(y), k, bc_type=condition, axis=axis)
                close(mine.t, spline.t)
                close(mine.c, spline.c, 1e-8)
                close(mine(cp.asarray(at)), spline(at), 1e-8)
                if k > 1:
                    close(mine(cp.asarray(at), 1), spline(at, 1), 1e-6)
                close(mine(cp.asarray(at), extrapolate=False), spline(at, extrapolate=False), 1e-8)


@pytest.mark.parametrize("k", [4, 5])
def test_b_splines_of_high_degree_and_of_given_knots(k: int) -> None:
    x = np.sort(RNG.random(12))
    at = places(x)
    for y, axis in ((RNG.normal(size=12), 0), (RNG.normal(size=(3, 12)), 1)):
        spline = theirs.make_interp_spline(x, y, k, axis=axis)
        mine = interpolate.make_interp_spline(cp.asarray(x), cp.asarray(y), k, axis=axis)
        close(mine.t, spline.t)
        close(mine.c, spline.c, 1e-6)
        close(mine(cp.asarray(at), 1), spline(at, 1), 1e-6)
        again = interpolate.make_interp_spline(cp.asarray(x), cp.asarray(y), k, t=mine.t, axis=axis)
        close(again.c, spline.c, 1e-6)
    with pytest.raises(ValueError, match="Out of bounds"):
        interpolate.make_interp_spline(cp.asarray(x), cp.asarray(x), k, t=mine.t * 2.0)


def test_b_splines_of_any_degree() -> None:
    t, c = np.sort(RNG.random(14)), RNG.normal(size=(8, 2))
    t[5] = t[6]
    at = RNG.uniform(t[5], t[8], 20)
    for extrapolate in (True, False, "periodic"):
        spline = theirs.BSpline(t, c, 5, extrapolate)
        close(interpolate.BSpline(cp.asarray(t), cp.asarray(c), 5, extrapolate)(cp.asarray(at)), spline(at))


def test_piecewise_polynomials() -> None:
    c, x = RNG.normal(size=(3, 4, 2)), np.array([0.0, 1.0, 1.5, 4.0, 5.0])
    at = np.array([[-1.0, 0.0, 0.3], [1.5, 4.9, 7.0]])
    for extrapolate in (True, False, "periodic"):
        theirs_, ours = theirs.PPoly(c, x, extrapolate), interpolate.PPoly(cp.asarray(c), cp.asarray(x), extrapolate)
        for nu in (0, 1, 2, 3):
            close(ours(cp.asarray(at), nu), theirs_(at, nu))
        close(ours.derivative()(cp.asarray(at)), theirs_.derivative()(at))
    close(ours.antiderivative(2)(cp.asarray(at)), theirs_.antiderivative(2)(at))
    falling = theirs.PPoly(c, x[::-1])
    close(interpolate.PPoly(cp.asarray(c), cp.asarray(x)[::-1])(cp.asarray(at)), falling(at))


def test_errors() -> None:
    x, y = cp.arange(5.0), cp.ones((5, 2))
    assert_errors(
        (lambda: interpolate.CubicSpline(x[::-1], y), ValueError, "increasing"),
        (lambda: interpolate.CubicSpline(x[:1], y[:1]), ValueError, "at least 2"),
        (lambda: interpolate.CubicSpline(y, y), ValueError, "1-dimensional"),
        (lambda: interpolate.CubicSpline(x, y, axis=1), ValueError, "length of `y`"),
        (lambda: interpolate.CubicSpline(x, y, axis=2), np.exceptions.AxisError, "axis 2"),
        (lambda: interpolate.CubicSpline(x, y * cp.nan), ValueError, "finite"),
        (lambda: interpolate.CubicSpline(x, y, bc_type="free"), ValueError, "free"),
        (lambda: interpolate.CubicSpline(x, y, bc_type=("natural",)), ValueError, "2 elements"),
        (lambda: interpolate.CubicSpline(x, y, bc_type=((3, 0.0), "natural")), ValueError, "order must be 1 or 2"),
        (lambda: interpolate.CubicSpline(x, y, bc_type=((1, 0.0), "natural")), ValueError, "deriv_value"),
        (lambda: interpolate.CubicSpline(x, x, bc_type="periodic"), ValueError, "identical"),
        (lambda: interpolate.CubicSpline(x, y, bc_type=("periodic", "natural")), ValueError, "both curve ends"),
        (lambda: interpolate.CubicHermiteSpline(x, y, x), ValueError, "identical"),
        (lambda: interpolate.PchipInterpolator(x, y * 1j), ValueError, "real"),
        (lambda: interpolate.Akima1DInterpolator(x, y, method="new"), NotImplementedError, "new"),
        (lambda: interpolate.PPoly(cp.ones((3, 3)), x), ValueError, "len"),
        (lambda: interpolate.BSpline(x, cp.ones(1), 3), ValueError, "knots"),
        (lambda: interpolate.BSpline(x[::-1], cp.ones(3), 1), ValueError, "non-decreasing"),
        (lambda: interpolate.make_interp_spline(x[:3], y[:3]), ValueError, "at least 4"),
        (lambda: interpolate.make_interp_spline(x, y, 5, bc_type="natural"), NotImplementedError, "k=5"),
        (lambda: interpolate.make_interp_spline(x, y, -1), ValueError, "non-negative"),
        (lambda: interpolate.make_interp_spline(x, y, x.size), ValueError, "at least"),
        (lambda: interpolate.make_interp_spline(x, y, t=x), ValueError, "need at least"),
        (lambda: vars(interpolate)["__getattr__"]("splrep")(x, y), NotImplementedError, "make_interp_spline"),
    )


@pytest.mark.parametrize("extrapolate", [None, True, False, "periodic"])
@pytest.mark.parametrize("kind", ["PPoly", "BPoly"])
def test_pieces(kind: str, extrapolate: Any) -> None:
    x = np.sort(RNG.random(6)) * 4
    at = RNG.random(40) * 6 - 1
    for c in (RNG.random((4, 5)), RNG.random((3, 5, 2)) + 1j):
        mine = getattr(interpolate, kind)(cp.asarray(c), cp.asarray(x), extrapolate)
        other = getattr(theirs, kind)(c, x, extrapolate)
        for nu in range(3):
            close(mine(cp.asarray(at), nu), other(at, nu), 1e-8)
        for nu in (-2, -1, 1, 2):
            close(mine.derivative(nu)(cp.asarray(at)), other.derivative(nu)(at), 1e-8)
        for a, b in ((x[0], x[-1]), (-3.0, 7.0), (4.0, -2.5)):
            close(mine.integrate(a, b), other.integrate(a, b), 1e-8)
        more, behind = RNG.random((6, 3, *c.shape[2:])), x[-1] + np.asarray([0.1, 0.2, 0.7])
        mine.extend(cp.asarray(more), cp.asarray(behind))
        other.extend(more, behind)
        close(mine.c, other.c)
        close(mine.x, other.x)


def test_pieces_in_front_and_conversions() -> None:
    x, c = np.sort(RNG.random(6)), RNG.random((4, 5))
    whole = interpolate.PPoly(cp.asarray(c), cp.asarray(x))
    for turn in (slice(None), slice(None, None, -1)):  # increasing and decreasing breakpoints
        nodes = x[turn]
        later = interpolate.PPoly(cp.asarray(c[:, 2:]), cp.asarray(nodes[2:]))
        later.extend(cp.asarray(c[:, :2]), cp.asarray(nodes[:2]))
        close(later.c, c)
        close(later.x, nodes)
    bernstein = interpolate.BPoly.from_power_basis(whole)
    close(bernstein.c, theirs.BPoly.from_power_basis(theirs.PPoly(c, x)).c)
    close(interpolate.PPoly.from_bernstein_basis(bernstein).c, c, 1e-7)
    for y, orders in (([[1, 2], [3, 4, 5], [0]], None), ([[1.0, 2], [3, 4], [0, 1]], 2), ([[1.0, 2]] * 3, [3, 1])):
        ours = interpolate.BPoly.from_derivatives([0, 1, 3], y, orders)
        close(ours.c, theirs.BPoly.from_derivatives([0, 1, 3], y, orders).c)
    assert_errors(
        (lambda: whole.extend([[1.0]], [[2.0]]), ValueError), (lambda: whole.extend([[1.0]], [x[1]]), ValueError),
        (lambda: whole.extend([[1.0, 2.0]], [9.0, 8.0]), ValueError), (lambda: whole.extend([1.0], [2.0]), ValueError),
        (lambda: interpolate.BPoly.from_power_basis(bernstein), TypeError),
        (lambda: interpolate.PPoly.from_bernstein_basis(whole), TypeError),
        (lambda: interpolate.BPoly.from_derivatives([0, 1], [1, 2]), TypeError),
        (lambda: interpolate.BPoly.from_derivatives([1, 0], [[1], [2]]), ValueError),
        (lambda: interpolate.BPoly.from_derivatives([0, 1], [[1], [2]], 4), ValueError),
        (lambda: interpolate.BPoly.from_derivatives([0, 1], [[1], [2]], 0), ValueError),
    )  # fmt: skip


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
def test_integrals_and_parts_of_splines(k: int) -> None:
    n = 12
    t, at = np.sort(RNG.random(n + k + 1)), np.linspace(-0.1, 1.1, 50)
    inside = np.linspace(t[k], t[-k - 1], 20)
    for c in (RNG.random(n), RNG.random((n, 3))):
        for extrapolate in (True, False, "periodic") if k else (True, False):
            mine = interpolate.BSpline(cp.asarray(t), cp.asarray(c), k, extrapolate)
            other = theirs.BSpline(t, c, k, extrapolate)
            for nu in (1, 2):
                ours, whole = mine.antiderivative(nu), other.antiderivative(nu)
                close(ours.c, whole.c)
                close(ours(cp.asarray(at)), whole(at), 1e-6)
            for a, b in ((t[k], t[-k - 1]), (inside[7], inside[3]), (-1, 2.0)):
                if k < 5 or extrapolate is not True:
                    close(mine.integrate(a, b), np.reshape(other.integrate(a, b), c.shape[1:]), 1e-6)
    sparse: Any = interpolate.BSpline.design_matrix(cp.asarray(inside), cp.asarray(t), k)
    close(sparse.toarray(), theirs.BSpline.design_matrix(inside, t, k).toarray())
    assert sparse.format == "csr"
    fast = interpolate.BSpline.construct_fast(cp.asarray(t), cp.asarray(RNG.random(n)), k)
    close(interpolate.PPoly.from_spline(fast).c, theirs.PPoly.from_spline((t, fast.c.get(), k)).c, 1e-6)
    element = interpolate.BSpline.basis_element(cp.asarray(t[: k + 2]), False)
    close(element(cp.asarray(at)), theirs.BSpline.basis_element(t[: k + 2], False)(at))
    matrix = interpolate.BSpline.design_matrix
    assert_errors(
        (lambda: matrix(cp.asarray(at), cp.asarray(t), k), ValueError), (lambda: matrix([0.0], t[::-1], k), ValueError),
        (lambda: matrix([0.0], t, -1), ValueError), (lambda: matrix([0.0], t[: 2 * k + 1], k), ValueError),
    )  # fmt: skip
