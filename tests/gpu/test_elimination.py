"""Compares Gaussian elimination by GPU kernels with NumPy, at sizes around panels, clusters and groups."""

from __future__ import annotations

import numpy as np
import pytest

import cuprous as cp


def matrix(n: int, dtype: str) -> np.ndarray:
    """Returns a matrix that needs pivoting: its diagonal is 0."""
    a = np.random.default_rng(n).standard_normal((n, n))
    np.fill_diagonal(a, 0)
    return a.astype(dtype)


def residual(a: np.ndarray, x: np.ndarray, b: np.ndarray) -> float:
    a, x, b = (v.astype("float64") for v in (a, x, b))
    return float(np.linalg.norm(a @ x - b) / (np.linalg.norm(a) * np.linalg.norm(x))) / float(np.finfo("float64").eps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [129, 160, 513, 1030, 2080])
def test_solutions_and_determinants(n: int, dtype: str) -> None:
    a = matrix(n, dtype)
    x = cp.asarray(a)
    bound = 20 * np.finfo(dtype).eps / np.finfo("float64").eps
    for b in (np.ones((n, 1), dtype), np.random.default_rng(1).standard_normal((n, 7)).astype(dtype)):
        assert residual(a, cp.linalg.solve(x, cp.asarray(b)).get(), b) < bound
        assert residual(a.T, cp.linalg.solve(x.T, cp.asarray(b)).get(), b) < bound
    assert residual(a, cp.linalg.inv(x).get(), np.eye(n)) < bound
    (sign, logarithm), (want_sign, want) = cp.linalg.slogdet(x), np.linalg.slogdet(a.astype("float64"))
    assert float(sign) == want_sign
    # The relative error of a determinant follows the smallest singular value: size 1030 has condition number 2e6.
    conditioned = np.linalg.cond(a.astype("float64"))
    assert abs(float(logarithm) - want) < np.finfo(dtype).eps * max(100 * abs(want), conditioned)


@pytest.mark.parametrize("n", [200, 700])
def test_matrices_without_an_inverse(n: int) -> None:
    a = matrix(n, "float64")
    a[:, n // 2] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        cp.linalg.inv(cp.asarray(a))
    assert float(cp.linalg.slogdet(cp.asarray(a))[1]) == -np.inf
    a[3, 5] = np.nan
    assert np.isnan(cp.linalg.slogdet(cp.asarray(a))[1].get())


def test_nan_is_no_error() -> None:
    a = matrix(300, "float32")
    a[250, 10] = np.nan
    assert np.isnan(cp.linalg.solve(cp.asarray(a), cp.ones((300, 2), dtype="float32")).get()).all()


def test_inverse_of_a_permutation_matrix() -> None:
    order = np.random.default_rng(3).permutation(600)
    a = np.eye(600)[order]
    np.testing.assert_array_equal(cp.linalg.inv(cp.asarray(a)).get(), a.T)
