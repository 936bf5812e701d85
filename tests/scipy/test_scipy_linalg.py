"""`scipy.linalg`: compares with SciPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import cuprous as cp
from tests.support import assert_errors

ours = cp.scipy.linalg
RNG = np.random.RandomState(0)
A, C = RNG.randn(4, 4), RNG.randn(3)


def same(found: Any, wanted: Any) -> None:
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for x, y in pairs:
        host = cp.asnumpy(x) if isinstance(x, cp.ndarray) else x
        np.testing.assert_allclose(host, y, rtol=1e-8, atol=1e-9)
        assert np.asarray(host).dtype == np.asarray(y).dtype and np.shape(host) == np.shape(y)


@pytest.mark.parametrize(("name", "args"), [
    ("toeplitz", (C,)), ("toeplitz", (C, RNG.randn(5))), ("toeplitz", (C + 1j,)), ("hankel", (C,)),
    ("hankel", (C, RNG.randn(4))), ("circulant", (C,)), ("hadamard", (8,)), ("hadamard", (4, float)),
    ("leslie", (C, C[:2])), ("companion", (C,)), ("hilbert", (4,)), ("helmert", (4,)), ("helmert", (4, True)),
    ("dft", (5,)), ("dft", (4, "sqrtn")), ("dft", (4, "n")), ("fiedler", (C,)), ("convolution_matrix", (C, 4)),
    ("convolution_matrix", (C, 4, "same")), ("convolution_matrix", (C, 4, "valid")),
    ("convolution_matrix", (C, 2, "same")), ("convolution_matrix", (C, 2, "valid")),
    ("block_diag", (A, C, np.arange(4).reshape(2, 2))), ("block_diag", (np.arange(3),)), ("khatri_rao", (A, A[:2])),
    ("lu", (A,)), ("lu", (A[:2],)), ("lu", (A[:, :2],)), ("lu", (A, True)), ("lu", (RNG.randn(2, 3, 3),)),
    ("lu", (A + 1j * A.T,)), ("lu", (A.astype(np.float32),)), ("lu_factor", (A,)), ("lu_factor", (RNG.randn(80, 80),)),
    ("expm", (A,)), ("expm", (10 * A,)), ("expm", (RNG.randn(2, 3, 3),)), ("sinhm", (A,)), ("coshm", (A,)),
    ("tanhm", (A,)), ("bandwidth", (np.triu(A, -1),)),
], ids=str)  # fmt: skip
def test_as_scipy(name: str, args: Any) -> None:
    moved = [cp.asarray(x) if isinstance(x, np.ndarray) else x for x in args]
    tolerance = 1e-5 if any(getattr(x, "dtype", None) == np.float32 for x in args) else None
    found, wanted = getattr(ours, name)(*moved), getattr(scipy.linalg, name)(*args)
    if tolerance is None:
        same(found, wanted)
    else:
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(cp.asnumpy(x), y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("b", [RNG.randn(4), RNG.randn(4, 2), RNG.randn(4, 2) + 1j], ids=["vector", "two", "complex"])
def test_solutions(trans: int, b: Any) -> None:
    a = A + 1j * A.T if np.iscomplexobj(b) else A
    moved, right = cp.asarray(a), cp.asarray(b)
    same(ours.lu_solve(ours.lu_factor(moved), right, trans), scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b, trans))
    for lower in (True, False):
        for unit in (True, False):
            wanted = scipy.linalg.solve_triangular(a, b, trans, lower, unit)
            same(ours.solve_triangular(moved, right, trans, lower, unit), wanted)


@pytest.mark.parametrize(
    "shapes", [((3, 4, 4), (4,)), ((3, 4, 4), (4, 2)), ((4, 4), (3, 4, 2)), ((2, 1, 4, 4), (3, 4, 2))]
)
@pytest.mark.parametrize("unit", [False, True])
def test_batches_of_triangles(shapes: Any, unit: bool) -> None:
    a, b = (RNG.rand(*shape) for shape in shapes)
    a = a + 4 * np.eye(4)
    wanted = scipy.linalg.solve_triangular(a, b, lower=True, unit_diagonal=unit)
    same(ours.solve_triangular(cp.asarray(a), cp.asarray(b), lower=True, unit_diagonal=unit), wanted)
    with pytest.raises(ValueError, match="incompatible"):
        ours.solve_triangular(cp.asarray(a), cp.ones((4, 3, 2)))


def test_indices_and_kron() -> None:
    p, lower, upper = ours.lu(cp.asarray(A), p_indices=True)
    np.testing.assert_allclose(cp.asnumpy(lower @ upper)[cp.asnumpy(p)], A, atol=1e-12)
    same(ours.kron(cp.asarray(A), cp.asarray(C[None])), np.kron(A, C[None]))


def test_errors() -> None:
    with pytest.warns(ours.LinAlgWarning, match="exactly zero"):
        ours.lu_factor(cp.zeros((2, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours.lu_factor(cp.zeros((2, 2)), check_finite=False)
    assert_errors(
        (lambda: ours.lu(cp.array([[cp.nan, 1.0], [1.0, 2.0]])), ValueError, "infs or NaNs"),
        (lambda: ours.lu(cp.ones(3)), ValueError, "two-dimensional"),
        (lambda: ours.expm(cp.ones((2, 3))), ValueError, "square"),
        (lambda: ours.hadamard(3), ValueError, "power of 2"),
        (lambda: ours.leslie([1.0, 2.0], [1.0, 2.0]), ValueError, "one less"),
        (lambda: ours.companion([0.0, 1.0]), ValueError, "must not be zero"),
        (lambda: ours.dft(3, "m"), ValueError, "scale"),
        (lambda: ours.convolution_matrix([1.0], 2, "x"), ValueError, "mode"),
        (lambda: ours.block_diag(cp.ones((1, 1, 1))), ValueError, "dimension greater than 2"),
        (lambda: ours.khatri_rao(cp.ones((2, 2)), cp.ones((2, 3))), ValueError, "number of columns"),
        (lambda: ours.lu_solve(ours.lu_factor(cp.eye(2)), cp.ones(3)), ValueError, "incompatible"),
        (lambda: ours.solve_triangular(cp.zeros((2, 2)), cp.ones(2)), ours.LinAlgError, "Singular"),
        (lambda: ours.sqrtm(cp.eye(2)), NotImplementedError, "eigh"),
    )  # fmt: skip


@pytest.mark.parametrize("trans", ["N", "T", "C"])
@pytest.mark.parametrize("lower", [True, False])
def test_triangular_systems_of_integers_are_exact(trans: str, lower: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        a = rng.integers(1, 10, (5, 5)).astype("float32")
        for b in (rng.integers(1, 10, 5), rng.integers(1, 10, (5, 2)), rng.integers(1, 10, (3, 5, 2))):
            x = ours.solve_triangular(cp.asarray(a), cp.asarray(b.astype("float32")), trans, lower, True)
            triangle = (np.tril(a, -1) if lower else np.triu(a, 1)) + np.eye(5)
            exact = np.rint(np.linalg.solve(triangle if trans == "N" else triangle.T, b.astype(float)))
            assert x.tolist() == exact.tolist()
