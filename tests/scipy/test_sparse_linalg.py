"""`cuprous.scipy.sparse.linalg` against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import sparse
from cuprous.scipy.sparse import linalg

scipy_sparse = pytest.importorskip("scipy.sparse")
scipy_linalg = pytest.importorskip("scipy.sparse.linalg")

N = 40
NOISE = scipy_sparse.random_array((N, N), density=0.1, rng=1, format="csr")
GENERAL = scipy_sparse.csr_array(NOISE + 4 * scipy_sparse.eye_array(N))
POSITIVE = scipy_sparse.csr_array(NOISE @ NOISE.T + 2 * scipy_sparse.eye_array(N))
SYMMETRIC = scipy_sparse.csr_array(NOISE + NOISE.T + 0.3 * scipy_sparse.eye_array(N))
HERMITIAN = scipy_sparse.csr_array(SYMMETRIC + 1j * (NOISE - NOISE.T))
SIDE = np.random.default_rng(2).random(N)
SOLVERS: list[tuple[str, Any]] = [
    ("cg", POSITIVE), ("minres", SYMMETRIC), ("minres", HERMITIAN), ("cgs", GENERAL), ("bicgstab", GENERAL),
    ("bicgstab", GENERAL + 1j * NOISE), ("gmres", GENERAL), ("gmres", GENERAL + 1j * NOISE), ("gmres", HERMITIAN),
]  # fmt: skip


def residual(a: Any, x: cp.ndarray) -> float:
    """Relative to the right side."""
    return float(np.linalg.norm(a @ x.get().reshape(-1) - SIDE) / np.linalg.norm(SIDE))


@pytest.mark.parametrize(("name", "a"), SOLVERS)
def test_solvers(name: str, a: Any) -> None:
    solve, b = getattr(linalg, name), cp.asarray(SIDE)
    matrix = sparse.csr_array(scipy_sparse.csr_array(a))
    x, info = solve(matrix, b, rtol=1e-9)
    assert info == 0
    assert residual(a, x) < 1e-8
    assert x.dtype == np.result_type(a.dtype, SIDE.dtype)
    seen: list[Any] = []
    inverse = sparse.diags_array(1 / cp.asarray(np.abs(a.diagonal())))
    again, info = solve(linalg.aslinearoperator(matrix), b, x0=x, M=inverse, rtol=1e-9, callback=seen.append)
    assert info == 0
    assert residual(a, again) < 1e-8
    _, info = solve(matrix, b, maxiter=1, rtol=1e-15, **({"restart": 1} if name == "gmres" else {}))
    assert info > 0
    zero, info = solve(matrix, cp.zeros(N))
    assert info == 0
    assert not zero.any()
    with pytest.raises(ValueError, match="shape"):
        solve(matrix, cp.ones(3))
    with pytest.raises(ValueError, match="square"):
        solve(matrix[:, :3], b)


def test_matrix_power_needs_a_square_matrix() -> None:
    for library, module in ((sparse, linalg), (scipy_sparse, scipy_linalg)):
        with pytest.raises(TypeError, match="not square"):
            module.matrix_power(library.csr_array((2, 3)), 2)
        with pytest.raises(ValueError, match=">= 0"):
            module.matrix_power(library.csr_array((2, 2)), -1)


def test_direct_solution() -> None:
    a, b = sparse.csr_array(GENERAL), cp.asarray(SIDE)
    np.testing.assert_allclose(linalg.spsolve(a, b).get(), scipy_linalg.spsolve(GENERAL.tocsc(), SIDE), rtol=1e-10)
    with pytest.raises(NotImplementedError, match="cg"):
        linalg.spsolve(sparse.csr_array((30_000, 30_000)), cp.ones(30_000))


@pytest.mark.parametrize("trans", ["N", "T", "H"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_factors(trans: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    a = GENERAL.toarray().astype(dtype) + (1j * rng.normal(size=(N, N)) if dtype == "complex128" else 0)
    ours, theirs = linalg.splu(sparse.csc_array(a)), scipy_linalg.splu(scipy_sparse.csc_array(a))
    assert isinstance(ours, linalg.SuperLU)
    for b in (np.ones(N), rng.normal(size=(N, 3))):
        np.testing.assert_allclose(
            ours.solve(cp.asarray(b), trans).get(), theirs.solve(b.astype(dtype), trans), rtol=1e-8
        )
    assert ours.shape == theirs.shape
    rows = scipy_sparse.csc_array((np.ones(N), (ours.perm_r.get(), np.arange(N))))
    columns = scipy_sparse.csc_array((np.ones(N), (np.arange(N), ours.perm_c.get())))
    product = ours.L.toarray().get() @ ours.U.toarray().get()
    np.testing.assert_allclose((rows @ a) @ columns.toarray(), product, rtol=1e-9, atol=1e-9)
    solve = linalg.factorized(sparse.csc_array(a))
    np.testing.assert_allclose(solve(np.ones(N)).get(), ours.solve(np.ones(N)).get())
    with pytest.raises(ValueError, match="trans"):
        ours.solve(np.ones(N), "X")
    with pytest.raises(ValueError, match="rhs"):
        ours.solve(np.ones(N + 1))


def test_factors_of_wrong_matrices() -> None:
    for library, module in ((sparse, linalg), (scipy_sparse, scipy_linalg)):
        with pytest.raises(ValueError, match="can only factor square matrices"):
            module.splu(library.csc_array((2, 3)))
        with pytest.raises(RuntimeError, match="Factor is exactly singular"):
            module.splu(library.csc_array(np.array([[1.0, 1.0], [1.0, 1.0]])))
    with pytest.raises(NotImplementedError, match="cg"):
        linalg.splu(sparse.csc_array((30_000, 30_000)))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_systems(lower: bool, unit: bool) -> None:
    a = (np.tril if lower else np.triu)(GENERAL.toarray()) + np.eye(N)
    for b in (np.ones(N), np.random.default_rng(1).normal(size=(N, 2))):
        ours = linalg.spsolve_triangular(sparse.csr_array(a), cp.asarray(b), lower, unit_diagonal=unit)
        theirs = scipy_linalg.spsolve_triangular(scipy_sparse.csr_array(a), b, lower, unit_diagonal=unit)
        np.testing.assert_allclose(ours.get(), theirs, rtol=1e-8)
    for library, module in ((sparse, linalg), (scipy_sparse, scipy_linalg)):
        with pytest.raises(np.linalg.LinAlgError):
            module.spsolve_triangular(library.csr_array(np.array([[0.0, 0.0], [1.0, 1.0]])), np.ones(2))
        with pytest.raises(ValueError, match="first dimension of b"):
            module.spsolve_triangular(library.csr_array(np.eye(2)), np.ones(3))


@pytest.mark.parametrize("which", ["LM", "SM", "LA", "SA", "BE"])
def test_eigenvalues(which: str) -> None:
    for a in (SYMMETRIC, HERMITIAN):
        if which == "BE" and a is HERMITIAN:
            continue
        values, vectors = linalg.eigsh(sparse.csr_array(a), 4, which=which)
        everything = np.linalg.eigvalsh(a.toarray())
        chosen = {"LM": np.argsort(-abs(everything))[:4], "SM": np.argsort(abs(everything))[:4],
                  "LA": np.arange(N)[-4:], "SA": np.arange(4), "BE": np.array([0, 1, N - 2, N - 1])}[which]  # fmt: skip
        np.testing.assert_allclose(values.get(), np.sort(everything[chosen]), atol=1e-11)
        np.testing.assert_allclose(a @ vectors.get(), vectors.get() * values.get(), atol=1e-9)
    for bad in ({"k": 0}, {"k": N}, {"which": "XX"}, {"ncv": 3}):
        with pytest.raises(ValueError):
            linalg.eigsh(sparse.csr_array(SYMMETRIC), **{"k": 4, **bad})
    with pytest.raises(NotImplementedError, match="sigma"):
        linalg.eigsh(sparse.csr_array(SYMMETRIC), sigma=1.0)


def test_singular_values() -> None:
    for a in (GENERAL[:, :30], GENERAL[:30], (GENERAL + 1j * NOISE)[:, :30]):
        u, s, v = linalg.svds(sparse.csr_array(a), 4)
        np.testing.assert_allclose(s.get(), np.linalg.svd(a.toarray())[1][3::-1], rtol=1e-10)
        np.testing.assert_allclose(a @ v.get().conj().T, u.get() * s.get(), atol=1e-8)
        np.testing.assert_allclose(linalg.svds(sparse.csr_array(a), 4, return_singular_vectors=False).get(), s.get())


def test_norms() -> None:
    a = sparse.csr_array(NOISE)
    for order in (None, "fro", 1, -1, np.inf, -np.inf):
        np.testing.assert_allclose(linalg.norm(a, order).get(), scipy_linalg.norm(NOISE, order))
    for order in (None, 0, 1, 2, 3, np.inf, -np.inf):
        for axis in (0, 1):
            np.testing.assert_allclose(linalg.norm(a, order, axis).get(), scipy_linalg.norm(NOISE, order, axis))
    with pytest.raises(NotImplementedError, match="svds"):
        linalg.norm(a, 2)
    with pytest.raises(TypeError):
        linalg.norm(cp.ones((2, 2)))


def test_operators() -> None:
    a, b = sparse.csr_array(GENERAL + 1j * NOISE), GENERAL + 1j * NOISE
    ours, theirs = linalg.aslinearoperator(a), scipy_linalg.aslinearoperator(b)
    x, block = np.arange(N) + 1j, np.random.default_rng(3).random((N, 3))
    for function in (
        lambda o, v, m: o @ v, lambda o, v, m: o.H @ v, lambda o, v, m: o.T @ v, lambda o, v, m: o @ m,
        lambda o, v, m: (2 * o + o) @ v, lambda o, v, m: (o * o - o.H) @ v, lambda o, v, m: o.rmatmat(m),
    ):  # fmt: skip
        np.testing.assert_allclose(function(ours, cp.asarray(x), cp.asarray(block)).get(), function(theirs, x, block))
    by_hand = linalg.LinearOperator((N, N), matvec=lambda v: v * 2)
    np.testing.assert_allclose((by_hand @ cp.asarray(block)).get(), 2 * block)
    assert by_hand.dtype == np.float64
    with pytest.raises(ValueError, match="mismatch"):
        ours.matvec(cp.ones(3))
    with pytest.raises(NotImplementedError):
        by_hand.rmatvec(cp.ones(N))


def test_least_squares() -> None:
    tall, wide = GENERAL[:, :30], GENERAL[:30]
    cases: list[tuple[Any, dict[str, Any]]] = [
        (tall, {}), (tall, {"damp": 0.5}), (wide, {}), (GENERAL + 1j * NOISE, {}), (tall, {"calc_var": True}),
        (tall, {"iter_lim": 3}), (tall, {"x0": np.ones(30)}),
    ]  # fmt: skip
    for a, keywords in cases:
        matrix, b = scipy_sparse.csr_array(a), SIDE[: a.shape[0]]
        mine = {key: cp.asarray(v) if key == "x0" else v for key, v in keywords.items()}
        ours = linalg.lsqr(sparse.csr_array(matrix), cp.asarray(b), atol=1e-10, btol=1e-10, **mine)
        theirs = scipy_linalg.lsqr(matrix, b, atol=1e-10, btol=1e-10, **keywords)
        np.testing.assert_allclose(ours[0].get(), theirs[0], rtol=1e-7, atol=1e-9)
        assert ours[1:3] == theirs[1:3]
        np.testing.assert_allclose(ours[3:7], theirs[3:7], rtol=1e-3, atol=1e-9)
        np.testing.assert_allclose(ours[8], theirs[8], rtol=1e-6)
        if keywords.get("calc_var"):
            np.testing.assert_allclose(ours[9].get(), theirs[9], rtol=1e-6)
    assert linalg.lsqr(sparse.csr_array(GENERAL), cp.zeros(N))[1] == 0
    with pytest.raises(ValueError, match="incompatible"):
        linalg.lsqr(sparse.csr_array(tall), cp.ones(3))


@pytest.mark.parametrize(
    "keywords", [{}, {"damp": 0.5}, {"maxiter": 3}, {"conlim": 2.0}, {"x0": np.ones(30)}], ids=" ".join
)
@pytest.mark.parametrize("a", [GENERAL[:, :30], (GENERAL + 1j * NOISE)[:, :30]])
def test_least_squares_of_least_gradients(a: Any, keywords: dict[str, Any]) -> None:
    matrix, b = scipy_sparse.csr_array(a), SIDE.astype(a.dtype)  # SciPy's takes no complex matrix and real vectors
    keywords = {key: v.astype(a.dtype) if key == "x0" else v for key, v in keywords.items()}
    mine: dict[str, Any] = {key: cp.asarray(v) if key == "x0" else v for key, v in keywords.items()}
    ours = linalg.lsmr(sparse.csr_array(matrix), cp.asarray(b), atol=1e-9, btol=1e-9, **mine)
    theirs = scipy_linalg.lsmr(matrix, b, atol=1e-9, btol=1e-9, **keywords)
    np.testing.assert_allclose(ours[0].get(), theirs[0], rtol=1e-7, atol=1e-9)
    assert ours[1:3] == theirs[1:3]
    np.testing.assert_allclose([*ours[3:4], *ours[5:]], [*theirs[3:4], *theirs[5:]], rtol=1e-4)


def test_least_squares_of_least_gradients_without_work() -> None:
    assert linalg.lsmr(sparse.csr_array(GENERAL), cp.zeros(N), x0=cp.ones(N))[0].get().any() == 0
    assert linalg.lsmr(cp.eye(3, dtype="float32"), cp.ones(3, "float32"))[0].dtype == "float64"
    bad: dict[str, Any]
    for bad in ({"b": cp.ones(3)}, {"b": cp.ones((N, 2))}, {"b": cp.ones(N), "x0": cp.ones(3)}):
        with pytest.raises(ValueError, match="incompatible"):
            linalg.lsmr(sparse.csr_array(GENERAL), **bad)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
def test_block_conjugate_gradients(dtype: str, largest: bool) -> None:
    eigh = pytest.importorskip("scipy.linalg").eigh
    a = (POSITIVE.toarray() + (1j * (NOISE - NOISE.T).toarray() if dtype == "complex128" else 0)).astype(dtype)
    b = np.diag(np.linspace(1, 2, N)).astype(dtype)
    x = np.random.default_rng(3).random((N, 3)).astype(dtype)
    y = eigh(a, b)[1][:, :2].astype(dtype)
    tolerance = 1e-3 if dtype == "float32" else 1e-7
    for theirs, keywords in (
        (eigh(a)[0], {}),
        (eigh(a, b)[0], {"B": cp.asarray(b)}),
        (eigh(a, b)[0], {"B": cp.asarray(b), "M": lambda r: r / 3}),
        (eigh(a, b)[0][2:], {"B": cp.asarray(b), "Y": cp.asarray(y)}),
    ):
        values, vectors = linalg.lobpcg(
            sparse.csr_matrix(cp.asarray(a)), cp.asarray(x), **keywords, largest=largest, maxiter=300, tol=tolerance
        )
        wanted = theirs[::-1][:3] if largest else theirs[:3]
        np.testing.assert_allclose(values.get(), wanted, rtol=2e-3 if dtype == "float32" else 1e-9)
        found, metric = vectors.get(), b if "B" in keywords else np.eye(N)
        assert values.dtype == np.dtype(dtype).type(0).real.dtype
        assert vectors.dtype == dtype
        assert np.linalg.norm(a @ found - metric @ found * values.get(), axis=0).max() < 2 * tolerance
        np.testing.assert_allclose(
            found.conj().T @ metric @ found, np.eye(3), atol=1e-4 if dtype == "float32" else 1e-9
        )


def test_block_conjugate_gradients_histories_and_refusals() -> None:
    a, x = sparse.csr_matrix(cp.asarray(POSITIVE.toarray())), cp.asarray(np.random.default_rng(3).random((N, 3)))
    with pytest.warns(UserWarning, match="not reaching the requested tolerance"):
        values, _, history, residuals = linalg.lobpcg(
            a, x, tol=1e-13, maxiter=4, retLambdaHistory=True, retResidualNormsHistory=True
        )
    assert history.shape == residuals.shape == (6, 3)
    np.testing.assert_array_equal(history[-1].get(), values.get())
    assert (np.diff(history.get()[:5, 0]) >= 0).all()  # grows towards the largest
    with pytest.warns(UserWarning, match="dense eigensolver"):
        values, vectors = linalg.lobpcg(a.toarray()[:9, :9], x[:9], largest=False)
    np.testing.assert_allclose(values.get(), np.linalg.eigvalsh(POSITIVE.toarray()[:9, :9])[:3], rtol=1e-12)
    assert vectors.shape == (9, 3)
    for bad, message in (
        ((a, x[:, 0]), "rank-2"), ((a, None), "cannot be None"), ((a, x[:9]), "does not match"),
        ((a, cp.ones((N, 2))), "dependent initial"), ((a, x, None, None, cp.ones((N, 2))), "dependent constraints"),
        ((a, x, None, None, cp.ones((9, 2))), "40 rows"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            linalg.lobpcg(*bad)
    with pytest.raises(NotImplementedError, match="dense eigensolver"):
        linalg.lobpcg(a, cp.ones((N, 9)), Y=cp.ones((N, 1)))
