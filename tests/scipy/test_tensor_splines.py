"""`cuprous.scipy.interpolate.NdBSpline` against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import interpolate

theirs = pytest.importorskip("scipy.interpolate")

RNG = np.random.default_rng(4)


def _knots(n: int, k: int) -> np.ndarray[Any, Any]:
    return np.concatenate([[0.0] * k, np.sort(RNG.uniform(0, 5, n - k - 1)).round(2), [5.0] * (k + 2)])


def _both(degrees: tuple[int, ...], extents: tuple[int, ...], tail: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    """Returns a spline of random coefficients here and in SciPy."""
    t = tuple(_knots(n, k) for n, k in zip(extents, degrees, strict=True))
    sizes = tuple(one.size - k - 1 for one, k in zip(t, degrees, strict=True))
    c = RNG.normal(size=(*sizes, *tail)) + (1j * RNG.normal(size=(*sizes, *tail)) if dtype == "complex128" else 0)
    return interpolate.NdBSpline(t, c, degrees), theirs.NdBSpline(t, c, degrees)


@pytest.mark.parametrize(("degrees", "extents", "tail", "dtype"), [
    ((3,), (7,), (), "float64"), ((2, 3), (6, 7), (), "float64"), ((1, 1), (4, 5), (2, 3), "float64"),
    ((3, 2, 1), (6, 5, 4), (), "complex128"), ((0, 3), (4, 6), (2,), "float64"), ((3, 3), (6, 6), (), "complex128"),
])  # fmt: skip
def test_values_and_derivatives(degrees: Any, extents: Any, tail: Any, dtype: str) -> None:
    ours, other = _both(degrees, extents, tail, dtype)
    points = RNG.uniform(-0.5, 5.5, (4, 6, len(degrees)))
    points[0, 0, 0], points[0, 1] = np.nan, 5.0
    for extrapolate in (True, False):
        for nu in (None, (1,) + (0,) * (len(degrees) - 1), tuple(min(k, 1) for k in degrees)):
            found = ours(points, nu=nu, extrapolate=extrapolate)
            expected = other(points, nu=nu, extrapolate=extrapolate)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found.get(), expected, rtol=1e-9, atol=1e-9)


def test_design_matrices() -> None:
    t = (_knots(6, 3), _knots(5, 2))
    points = RNG.uniform(0, 5, (9, 2))
    found = interpolate.NdBSpline.design_matrix(points, t, (3, 2))
    expected = theirs.NdBSpline.design_matrix(points, t, (3, 2))
    np.testing.assert_allclose(
        found.toarray().get()[:, : expected.shape[1]], expected.toarray(), rtol=1e-10, atol=1e-12
    )
    with pytest.raises(ValueError, match="ut of bounds"):
        interpolate.NdBSpline.design_matrix([[9.0, 1.0]], t, (3, 2), extrapolate=False)


@pytest.mark.parametrize("arguments", [
    (([0, 0, 1, 1],), np.ones(2), 1), ((np.arange(4.0),), np.ones(3), 1), ((np.arange(4.0)[::-1],), np.ones(2), 1),
    ((np.zeros(4),), np.ones(2), 1), ((np.arange(3.0),), np.ones(2), 1), ((np.arange(4.0),) * 2, np.ones(2), 1),
    ((np.arange(4.0),), np.ones(2), (1, 1)), ((np.arange(4.0),), np.ones(2), -1),
    ((np.asarray([0, 1, 2, np.inf]),), np.ones(2), 1), ((np.ones((2, 2)),), np.ones(2), 1),
    (np.arange(4.0), np.ones(2), 1),
])  # fmt: skip
def test_bad_splines(arguments: Any) -> None:
    outcomes = []
    for module in (interpolate, theirs):
        try:
            module.NdBSpline(*arguments)
            outcomes.append(None)
        except ValueError:
            outcomes.append(ValueError)
    assert outcomes[0] == outcomes[1]


def test_bad_points() -> None:
    for spline in _both((1, 1), (4, 4), (), "float64"):
        for points, nu in ((np.ones(3), None), (np.ones(2), (1,)), (np.ones(2), (-1, 0))):
            with pytest.raises(ValueError, match=r"ndim|derivatives"):
                spline(points, nu=nu)


def test_on_arrays_of_the_device() -> None:
    t = cp.asarray([0.0, 0.0, 1.0, 1.0])
    assert float(interpolate.NdBSpline((t, t), cp.asarray([[0.0, 1.0], [2.0, 3.0]]), 1)([0.5, 0.5])) == 1.5
