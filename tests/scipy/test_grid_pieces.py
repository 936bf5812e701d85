"""Piecewise polynomials of several variables against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy.interpolate import NdPPoly
from tests.support import assert_errors

theirs = pytest.importorskip("scipy.interpolate")

RNG = np.random.default_rng(31)
SHAPES: list[tuple[tuple[int, ...], ...]] = [
    ((3,), (4,), ()), ((2, 3), (3, 2), ()), ((2, 3), (3, 2), (2,)), ((3, 1, 2), (2, 2, 3), (2, 2)),
    ((1, 1), (1, 1), ()),
]  # fmt: skip


def same(found: Any, expected: Any) -> None:
    assert (found.shape, found.dtype) == (np.shape(expected), np.asarray(expected).dtype)
    np.testing.assert_allclose(found.get(), expected, 1e-11, 1e-12)


def pair(shapes: tuple[tuple[int, ...], ...], is_complex: bool, extrapolate: bool | None) -> tuple[Any, Any]:
    powers, cells, tail = shapes
    c = RNG.standard_normal(powers + cells + tail)
    c = c + 1j * RNG.standard_normal(c.shape) if is_complex else c
    x = tuple(np.sort(RNG.random(m + 1)) for m in cells)
    return NdPPoly(cp.asarray(c), tuple(map(cp.asarray, x)), extrapolate), theirs.NdPPoly(c, x, extrapolate)


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("is_complex", [False, True])
def test_values(shapes: tuple[tuple[int, ...], ...], is_complex: bool) -> None:
    n = len(shapes[0])
    for extrapolate in (None, True, False):
        ours, other = pair(shapes, is_complex, extrapolate)
        points = RNG.uniform(-0.2, 1.2, (20, n))
        points[0, 0] = np.nan
        points[1], points[2] = ([v[end] for v in other.x] for end in (0, -1))
        same(ours(cp.asarray(points)), other(points))
        same(ours(cp.asarray(points.reshape(4, 5, n))), other(points.reshape(4, 5, n)))
        for orders in ([1] * n, [2] + [0] * (n - 1), [9] * n):
            same(ours(cp.asarray(points), orders), other(points, orders))
        same(ours(cp.asarray(points), extrapolate=not extrapolate), other(points, extrapolate=not extrapolate))
        if n > 1:
            columns = tuple(RNG.random((3, 4)) for _ in range(n))
            same(ours(tuple(map(cp.asarray, columns))), other(columns))


@pytest.mark.parametrize("shapes", SHAPES)
def test_derivatives_and_integrals(shapes: tuple[tuple[int, ...], ...]) -> None:
    n = len(shapes[0])
    for is_complex in (False, True):
        ours, other = pair(shapes, is_complex, None)
        for orders in ([1] * n, [0] * n, [2] * n, [-1] * n, [1] + [-2] * (n - 1), [9] * n):
            same(ours.derivative(orders).c, other.derivative(orders).c)
            same(ours.antiderivative(orders).c, other.antiderivative(orders).c)
        for ends in ((0.1, 0.7), (-0.3, 0.7)):
            same(ours.integrate([ends] * n), other.integrate([ends] * n))
        same(ours.integrate([(-9.0, 9.0)] * n, False), other.integrate([(-9.0, 9.0)] * n, False))
        for axis in range(-n, n):
            found, expected = ours.integrate_1d(0.1, 0.8, axis), other.integrate_1d(0.1, 0.8, axis)
            same(found.c if n > 1 else found, expected.c if n > 1 else expected)


def test_what_is_refused() -> None:
    c, x = np.ones((2, 2, 1, 1)), ([0.0, 1.0], [0.0, 1.0])
    plane = NdPPoly(c, x)
    assert_errors(
        (lambda: NdPPoly(c, ([[0.0, 1.0]], [0.0, 1.0])), ValueError, "1-dimensional"),
        (lambda: NdPPoly(c, ([0.0], [0.0, 1.0])), ValueError, "at least 2 points"),
        (lambda: NdPPoly(np.ones((2, 1, 1)), x), ValueError, "at least 2"),
        (lambda: NdPPoly(c, ([1.0, 0.0], [0.0, 1.0])), ValueError, "increasing"),
        (lambda: NdPPoly(np.ones((2, 2, 2, 1)), x), ValueError, "number of intervals"),
        (lambda: plane([[0.5, 0.5]], nu=(1,)), ValueError, "derivative orders"),
        (lambda: plane([[0.5, 0.5]], nu=(-1, 0)), ValueError, "negative"),
        (lambda: plane([[0.5, 0.5, 0.5]]), ValueError, "dimensions in xp"),
        (lambda: plane.integrate([(0.0, 1.0)]), ValueError, "correct length"),
    )
