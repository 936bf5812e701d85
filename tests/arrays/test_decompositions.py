"""Tests decompositions, linear systems and functions of singular values against NumPy and their defining properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import check

DTYPES = ["float32", "float64", "complex64", "complex128", "int32", "bool"]
EMPTY = [(0, 0), (2, 0, 0), (0, 3, 3)]
SQUARE = [(1, 1), (2, 2), (5, 5), (33, 33), (130, 130), (3, 4, 4), (2, 3, 7, 7), (70, 9, 9), *EMPTY]
ANY = [*SQUARE, (2, 5), (5, 2), (40, 9), (9, 40), (150, 20), (3, 5, 2), (3, 2, 5), (0, 3), (3, 0), (2, 0, 3), (0, 2, 3)]
#: Views that are not contiguous: of an array of twice the extents, or of the array.
VIEWS = {
    "transposed": lambda x: x.mT,
    "every other": lambda x: x[..., ::2, ::2],
    "backwards": lambda x: x[..., ::-1, ::-1],
}


def make(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        a = a + 1j * rng.standard_normal(shape)
    return (a * 4).astype(dtype) if dtype in ("int32", "bool") else a.astype(dtype)


def hermitian(a: np.ndarray) -> np.ndarray:
    return a + a.conj().mT if a.dtype != bool else a | a.mT


def definite(a: np.ndarray) -> np.ndarray:
    wide = a.astype(np.result_type(a.dtype, "float32"))
    spd = wide @ wide.conj().mT + a.shape[-1] * np.eye(a.shape[-1])
    return spd.astype(a.dtype if a.dtype.kind in "fc" else "int32")


def precision(dtype: Any) -> float:
    return float(np.finfo(np.result_type(dtype, "float32") if np.dtype(dtype).kind in "fc" else "float64").eps)


def near(got: Any, want: np.ndarray, scale: float = 1.0) -> None:
    """Equal up to rounding of a decomposition of `want`'s size."""
    got = got.get() if isinstance(got, cp.ndarray) else np.asarray(got)
    want = np.asarray(want)
    assert got.shape == want.shape
    if want.size:
        eps = max(precision(got.dtype), precision(want.dtype))
        n = max(want.shape[-2:], default=1)
        size = max(1.0, float(np.abs(want).max()))
        assert np.abs(got - want).max() <= 30 * eps * n * size * scale, (got, want)


def same_kind(ours: cp.ndarray, numpys: Any) -> np.ndarray:
    numpys = np.asarray(numpys)
    assert (ours.shape, ours.dtype) == (numpys.shape, numpys.dtype)
    return ours.get()


@pytest.mark.parametrize("shape", SQUARE, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(dtype: str, shape: tuple[int, ...]) -> None:
    a = definite(make(dtype, shape))
    for upper in (False, True):
        factor = same_kind(cp.linalg.cholesky(cp.asarray(a), upper=upper), np.linalg.cholesky(a, upper=upper))
        assert not np.any(np.tril(factor, -1) if upper else np.triu(factor, 1))
        near(factor.conj().mT @ factor if upper else factor @ factor.conj().mT, a)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("n", [1, 31, 255, 256, 400])
def test_cholesky_of_any_size_reads_one_triangle(dtype: str, n: int) -> None:
    a = definite(make(dtype, (n, n)))
    want = np.linalg.cholesky(a)
    for upper, other in ((False, np.triu_indices(n, 1)), (True, np.tril_indices(n, -1))):
        spoiled = a.copy()
        spoiled[other] = np.nan
        for x in (cp.asarray(spoiled), cp.asarray(spoiled.T.copy()).T, cp.asarray(np.repeat(spoiled, 2, 1))[:, ::2]):
            got = cp.linalg.cholesky(x, upper=upper)
            near(got, want.conj().T if upper else want)
            assert not got.get()[other].any()
        spoiled = a.copy()
        spoiled[n // 2, n // 2] = -1e6
        with pytest.raises(np.linalg.LinAlgError):
            cp.linalg.cholesky(cp.asarray(spoiled), upper=upper).get()


def test_uninitialized_workspaces_do_not_matter() -> None:
    """Workspaces are not cleared: here they hold NaN."""

    def spoil() -> None:
        for quarter in range(36, 66):  # blocks of each size that workspaces may have
            for array in [cp.full((int(2 ** (quarter / 4)),), np.nan) for _ in range(2)]:
                array.get()

    linalg = cp.linalg
    for dtype in ("float32", "complex128"):
        for n in (5, 47, 64):
            a = make(dtype, (n, n))
            x, h, p, tall = (cp.asarray(v) for v in (a, hermitian(a), definite(a), np.concatenate([a, a[: n // 2]])))
            calls = [
                lambda p=p: linalg.cholesky(p), lambda h=h: linalg.eigh(h), lambda h=h: linalg.eigvalsh(h),
                lambda x=x: linalg.eig(x), lambda x=x: linalg.eigvals(x), lambda t=tall: linalg.svd(t),
                lambda t=tall: linalg.svd(t.T, full_matrices=False), lambda t=tall: linalg.qr(t, "complete"),
                lambda x=x: linalg.solve(x, x[:, :2]), lambda x=x: linalg.inv(x), lambda x=x: linalg.slogdet(x),
            ]  # fmt: skip
            for i, call in enumerate(calls):
                results = []
                for _ in range(2):
                    spoil()
                    found = call()
                    results.append([part.get() for part in (found if isinstance(found, tuple) else (found,))])
                for first, second in zip(*results, strict=True):
                    assert np.isfinite(first).all(), (dtype, n, i)
                    np.testing.assert_array_equal(first, second, err_msg=f"{dtype} {n} {i}")


@pytest.mark.parametrize("shape", ANY, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_qr(dtype: str, shape: tuple[int, ...]) -> None:
    a = make(dtype, shape)
    x = cp.asarray(a)
    for mode in ("reduced", "complete"):
        ours, numpys = cp.linalg.qr(x, mode), np.linalg.qr(a, mode)
        q, r = same_kind(ours.Q, numpys.Q), same_kind(ours.R, numpys.R)
        assert not np.any(np.tril(r, -1))
        near(q @ r, a)
        near(q.conj().mT @ q, np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], q.shape[-1], q.shape[-1])))
    near(np.abs(same_kind(cp.linalg.qr(x, "r"), np.linalg.qr(a, "r"))), np.abs(cp.linalg.qr(x).R.get()))


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (40, 35), (2, 5, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_reflectors(dtype: str, shape: tuple[int, ...]) -> None:
    a = make(dtype, shape)
    numpys = np.linalg.qr(a, "raw")
    h, tau = (same_kind(ours, theirs) for ours, theirs in zip(cp.linalg.qr(cp.asarray(a), "raw"), numpys, strict=True))
    m = shape[-2]
    v = np.tril(h.mT, -1)
    product = np.triu(h.mT).astype(a.dtype)
    for k in reversed(range(tau.shape[-1])):
        column = v[..., :, k : k + 1] + np.eye(m, dtype=a.dtype)[:, k : k + 1]
        product = product - tau[..., k, None, None] * column @ (column.conj().mT @ product)
    near(product, a, 3)


@pytest.mark.parametrize("shape", ANY, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_svd(dtype: str, shape: tuple[int, ...]) -> None:
    a = make(dtype, shape)
    x = cp.asarray(a)
    for full in (False, True):
        ours, numpys = cp.linalg.svd(x, full), np.linalg.svd(a, full)
        u, s, vh = (same_kind(o, n) for o, n in zip(ours, numpys, strict=True))
        k = s.shape[-1]
        near(s, numpys.S)
        near(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a)
        for basis in (u, vh.conj().mT):
            n = basis.shape[-1]
            near(basis.conj().mT @ basis, np.broadcast_to(np.eye(n), (*shape[:-2], n, n)))
    near(same_kind(cp.linalg.svdvals(x), numpys.S), numpys.S)


@pytest.mark.parametrize("kind", ["full rank", "low rank", "graded", "zero", "ones", "zero columns", "huge", "tiny"])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_svd_by_polar_decomposition(dtype: str, kind: str) -> None:
    """What large matrices on a GPU are decomposed by, here of small ones."""
    from cuprous.linalg import _polar

    single = dtype == "float32"
    for m, n in ((20, 20), (50, 20), (20, 26)):
        a = make(dtype, (m, n)).astype("complex128" if dtype == "complex128" else "float64")
        if kind == "low rank":
            a = a[:, :4] @ a[:4]
        elif kind == "graded":
            u, _, vh = np.linalg.svd(a, full_matrices=False)
            a = u * np.logspace(0, -20, 20) @ vh
        elif kind == "zero columns":
            a[:, 5:] = 0
        else:
            powers = {"zero": 0.0, "huge": 1e36 if single else 1e300, "tiny": 1e-35 if single else 1e-300}
            a = np.ones_like(a) if kind == "ones" else a * powers.get(kind, 1.0)
        a = a.astype(dtype)
        top = np.linalg.norm(a.astype("complex128"), 2) or 1.0
        alone = _polar.values(cp.asarray(a)).get()
        assert alone.dtype == a.real.dtype
        near((alone / top).astype(alone.dtype), np.linalg.svd(a.astype("complex128"), compute_uv=False) / top)
        for full in (False, True):
            u, s, vh = (x.get() for x in _polar.svd(cp.asarray(a), full))
            assert (u.dtype, s.dtype, vh.dtype) == (a.dtype, a.real.dtype, a.dtype)
            assert (u.shape, vh.shape) == (((m, m), (n, n)) if full else ((m, 20), (20, n)))
            near(u[:, :20] * (s / top).astype(s.dtype) @ vh[:20], a / top)
            near((s / top).astype(s.dtype), np.linalg.svd(a.astype("complex128"), compute_uv=False) / top)
            for basis in (u, vh.conj().T):
                near(basis.conj().T @ basis, np.eye(basis.shape[1]))


@pytest.mark.parametrize("shape", SQUARE, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_eigh(dtype: str, shape: tuple[int, ...]) -> None:
    a = hermitian(make(dtype, shape))
    for triangle in ("L", "U"):
        other = np.triu(a, 1) if triangle == "L" else np.tril(a, -1)
        half = (a ^ other) if a.dtype == bool else a - other + 7 * (other != 0)  # what is not read may be anything
        ours, numpys = cp.linalg.eigh(cp.asarray(half), triangle), np.linalg.eigh(half, triangle)
        w, v = (same_kind(o, n) for o, n in zip(ours, numpys, strict=True))
        near(w, numpys.eigenvalues, max(1, np.abs(a).max(initial=0)))
        near(v * w[..., None, :] @ v.conj().mT, a)
        near(same_kind(cp.linalg.eigvalsh(cp.asarray(half), triangle), w), w)
    u, s, vh = (x.get() for x in cp.linalg.svd(cp.asarray(a), hermitian=True))
    near(u * s[..., None, :] @ vh, a)
    near(s, cp.linalg.svd(cp.asarray(a), compute_uv=False, hermitian=True).get())


@pytest.mark.parametrize("shape", SQUARE, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_eig(dtype: str, shape: tuple[int, ...]) -> None:
    for a in (make(dtype, shape), hermitian(make(dtype, shape))):
        numpys = np.linalg.eig(a)
        ours = cp.linalg.eig(cp.asarray(a))
        w, v = (o.get() for o in ours)
        assert w.shape == numpys.eigenvalues.shape
        assert w.dtype == v.dtype == np.result_type(a.dtype if a.dtype.kind in "fc" else "float64", "complex64")
        near(a @ v, v * w[..., None, :], 4)
        if v.size:
            assert np.allclose(np.linalg.norm(v, axis=-2), 1, atol=1e-5)
        near(
            np.sort(np.abs(cp.linalg.eigvals(cp.asarray(a)).get())), np.sort(np.abs(w)), 1e2 if a.dtype != bool else 1e9
        )


@pytest.mark.parametrize("shape", SQUARE, ids=str)
@pytest.mark.parametrize("dtype", DTYPES[:5])
def test_solve_inv_det(dtype: str, shape: tuple[int, ...]) -> None:
    a = make(dtype, shape) + (4 * shape[-1] * np.eye(shape[-1])).astype(dtype)
    x = cp.asarray(a)
    for right in [(shape[-1],), (shape[-1], 3), (2, *(1,) * (len(shape) - 2), shape[-1], 1), (shape[-1], 0)]:
        if right[0] == 2 and len(right) != len(shape) + 1:
            continue
        b = make(dtype, right, 1)
        near(same_kind(cp.linalg.solve(x, cp.asarray(b)), np.linalg.solve(a, b)), np.linalg.solve(a, b))
    near(same_kind(cp.linalg.inv(x), np.linalg.inv(a)), np.linalg.inv(a))
    ours, numpys = cp.linalg.slogdet(x), np.linalg.slogdet(a)
    for o, n in zip(ours, numpys, strict=True):
        near(same_kind(o, n), n, shape[-1] + 1)
    if shape[-1] < 20:
        want = np.linalg.det(a)
        got = same_kind(cp.linalg.det(x), want)
        assert np.allclose(got, want, rtol=1e3 * precision(dtype))


@pytest.mark.parametrize("view", VIEWS)
def test_views_are_read_without_a_copy(view: str) -> None:
    take = VIEWS[view]
    a = make("complex128", (3, 12, 12))
    v, x = take(a), take(cp.asarray(a))
    b = make("complex128", (3, v.shape[-1], 4), 2)[..., ::-1]
    near(cp.linalg.solve(x, cp.asarray(b)), np.linalg.solve(v, b), 100)
    near(cp.linalg.svdvals(x), np.linalg.svdvals(v))
    q, r = cp.linalg.qr(x)
    near(q.get() @ r.get(), v)
    spd = take(definite(a))
    near(cp.linalg.cholesky(take(cp.asarray(definite(a)))), np.linalg.cholesky(spd))
    near(cp.linalg.eigvalsh(take(cp.asarray(hermitian(a)))), np.linalg.eigvalsh(take(hermitian(a))), 10)
    near(
        cp.linalg.slogdet(cp.broadcast_to(x[0], (5, *v.shape[1:]))).logabsdet,
        np.linalg.slogdet(v[[0] * 5]).logabsdet,
        9,
    )


@pytest.mark.parametrize("shape", [(1, 1), (6, 4), (4, 6), (5, 5), (3, 5, 4), (0, 3), (3, 0), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES[:5])
def test_by_singular_values(dtype: str, shape: tuple[int, ...]) -> None:
    full = make(dtype, shape)
    for a in (full, np.concatenate([full[..., :1]] * max(shape[-1], 1), -1)[..., : shape[-1]]):
        x = cp.asarray(a)
        near(same_kind(cp.linalg.pinv(x), np.linalg.pinv(a)), np.linalg.pinv(a), 100)
        check(lambda xp, x: xp.linalg.matrix_rank(x), a)
        check(lambda xp, x: xp.linalg.matrix_rank(x, 0.5), a)
        check(lambda xp, x: xp.linalg.matrix_rank(x, rtol=0.1), a)
        if len(shape) == 2:
            for b in (make(dtype, (shape[0],), 3), make(dtype, (shape[0], 2), 4), make(dtype, (shape[0], 0), 5)):
                ours, numpys = cp.linalg.lstsq(x, cp.asarray(b)), np.linalg.lstsq(a, b)
                near(same_kind(ours[0], numpys[0]), numpys[0], 100)
                near(same_kind(ours[1], numpys[1]), numpys[1], 100)
                assert ours[2] == numpys[2]
                near(same_kind(ours[3], numpys[3]), numpys[3], 10)


@pytest.mark.parametrize("p", [None, 1, -1, 2, -2, "fro", "nuc", np.inf, -np.inf], ids=str)
def test_cond(p: Any) -> None:
    a = make("float64", (3, 4, 4))
    check(lambda xp, x: xp.linalg.cond(x, p), a, rtol=1e-9)
    check(lambda xp, x: xp.linalg.cond(x, p), a[0], rtol=1e-9)
    if p not in (None, 2, -2, "nuc"):
        a[1] = 0
        check(lambda xp, x: xp.linalg.cond(x, p), a, rtol=1e-9)


def test_tensors() -> None:
    a = make("float64", (2, 3, 6))
    check(lambda xp, x: xp.linalg.tensorinv(x, 2), a, rtol=1e-9)
    check(lambda xp, x: xp.linalg.tensorsolve(x, xp.ones((2, 3))), a, rtol=1e-9)
    check(lambda xp, x: xp.linalg.tensorsolve(x, xp.ones((2, 3)), axes=(0,)), make("float64", (6, 2, 3)), rtol=1e-9)
    check(lambda xp, x: xp.linalg.matrix_power(x, -3), make("float64", (2, 4, 4)), rtol=1e-8)


def test_polynomials() -> None:
    for p in ([1, -6, 11, -6], [0, 0, 1.0, 0, 1, 0, 0], [2.0], [0.0, 0], [3, 0], [1, 2j, 3]):
        want = np.roots(np.asarray(p))
        got = cp.roots(cp.asarray(np.asarray(p)))
        assert got.dtype == want.dtype
        # Rounded, so that a real part of 1e-17 does not decide the order.
        ours, numpys = (np.sort_complex(np.round(x, 9) + 0.0) for x in (got.get(), want))
        assert np.allclose(ours, numpys, atol=1e-8)
    check(lambda xp, x: xp.poly(x), make("float64", (4, 4)), rtol=1e-9)
    points, values = np.linspace(-1, 2, 20), make("float64", (20, 2))
    weights = np.arange(1.0, 21)
    for y in (values, values[:, 0]):
        for options in ({}, {"w": weights}, {"cov": True}, {"w": weights, "cov": "unscaled"}):
            moved = {k: cp.asarray(v) if k == "w" else v for k, v in options.items()}
            ours = cp.polyfit(cp.asarray(points), cp.asarray(y), 3, **moved)
            numpys = np.polyfit(points, y, 3, **options)  # type: ignore[call-overload]
            for o, n in zip(ours, numpys, strict=True) if "cov" in options else [(ours, numpys)]:
                near(same_kind(o, n), n, 10)
        full, numpys = cp.polyfit(cp.asarray(points), cp.asarray(y), 2, full=True), np.polyfit(points, y, 2, full=True)
        for ours, want in zip(full, numpys, strict=True):
            near(ours, want, 10)


BAD: dict[str, Any] = {
    "a vector": lambda xp: xp.linalg.inv(xp.ones(3)),
    "not square": lambda xp: xp.linalg.det(xp.ones((2, 3))),
    "svd of a vector": lambda xp: xp.linalg.svd(xp.ones(3)),
    "singular": lambda xp: xp.linalg.inv(xp.ones((2, 2))),
    "one of a batch is singular": lambda xp: xp.linalg.solve(xp.stack([xp.eye(2), xp.ones((2, 2))]), xp.ones(2)),
    "not definite": lambda xp: xp.linalg.cholesky(-xp.eye(3)),
    "svd of nan": lambda xp: xp.linalg.svd(xp.full((3, 3), xp.nan)),
    "eig of nan": lambda xp: xp.linalg.eig(xp.full((3, 3), xp.nan)),
    "eigvals of inf": lambda xp: xp.linalg.eigvals(xp.full((3, 3), xp.inf)),
    "lstsq of inf": lambda xp: xp.linalg.lstsq(xp.full((3, 3), xp.inf), xp.ones(3)),
    "norm of nan": lambda xp: xp.linalg.norm(xp.full((3, 3), xp.nan), 2),
    "half": lambda xp: xp.linalg.eigh(xp.ones((2, 2), xp.float16)),
    "triangle": lambda xp: xp.linalg.eigh(xp.ones((2, 2)), "X"),
    "mode": lambda xp: xp.linalg.qr(xp.ones((2, 2)), "xx"),
    "lengths": lambda xp: xp.linalg.solve(xp.eye(2), xp.ones(3)),
    "heights": lambda xp: xp.linalg.solve(xp.eye(2), xp.ones((2, 3, 3))),
    "batches": lambda xp: xp.linalg.solve(xp.ones((2, 2, 2)), xp.ones((3, 2, 2))),
    "lstsq lengths": lambda xp: xp.linalg.lstsq(xp.ones((2, 2)), xp.ones(3)),
    "lstsq of a batch": lambda xp: xp.linalg.lstsq(xp.ones((2, 2, 2)), xp.ones(2)),
    "cond of nothing": lambda xp: xp.linalg.cond(xp.ones((0, 0))),
    "two tolerances": lambda xp: xp.linalg.pinv(xp.ones((2, 2)), 1, rtol=1),
    "two tolerances for the rank": lambda xp: xp.linalg.matrix_rank(xp.ones((2, 2)), 1, rtol=1),
    "tensor": lambda xp: xp.linalg.tensorsolve(xp.ones((2, 3, 5)), xp.ones((2, 3))),
    "ind": lambda xp: xp.linalg.tensorinv(xp.ones((2, 2)), 0),
    "degree": lambda xp: xp.polyfit(xp.ones(3), xp.ones(3), -1),
    "fit lengths": lambda xp: xp.polyfit(xp.ones(3), xp.ones(4), 1),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_are_numpys(name: str) -> None:
    with pytest.raises(Exception) as numpys:
        BAD[name](np)
    with pytest.raises(Exception) as ours:
        BAD[name](cp)
    assert ours.type is numpys.type
    if name != "batches":
        assert str(ours.value) == str(numpys.value)


@pytest.mark.parametrize("n", [1, 2, 5, 40, 200])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, 1e-308, 0.0])
def test_hard_numbers_neither_hang_nor_panic(value: float, n: int, capfd: Any) -> None:
    a = np.eye(n) + 0.1
    a[-1, -1] = a[n // 2, 0] = a[0, n // 2] = value
    x = cp.asarray(a)
    for name in ("cholesky", "qr", "svd", "eigh", "eigvalsh", "eig", "eigvals", "slogdet", "inv"):
        try:
            result = getattr(cp.linalg, name)(x)
        except np.linalg.LinAlgError:
            continue
        if name == "eigh" and np.isfinite(value):
            w, v = (r.get() / max(1, abs(value)) if k == 0 else r.get() for k, r in enumerate(result))
            near(v * w @ v.T, a / max(1, abs(value)))
    assert "panicked" not in capfd.readouterr().err


def test_nan_raises_only_where_numpy_raises() -> None:
    a = cp.full((3, 3), cp.nan)
    for name in ("cholesky", "eigvalsh", "inv", "det"):
        assert np.isnan(getattr(cp.linalg, name)(a).get()).any()
    assert np.isnan(float(cp.linalg.cond(a, 1)))


def test_results_are_contiguous_and_own_their_memory() -> None:
    u, s, vh = cp.linalg.svd(cp.ones((4, 5, 3)), full_matrices=False)
    for x in (u, s, vh):
        assert x.is_c_contiguous
        assert x.base is None
    s[...] = 0
    assert float(u.get().std()) > 0


@pytest.mark.parametrize("n", [3, 40, 150, 300])
def test_imaginary_parts_of_hermitian_diagonals_are_ignored(n: int) -> None:
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    a = a @ a.conj().T / n + np.eye(n) + 1j * np.diag(rng.normal(size=n))
    for x in (a, a.astype("complex64")):
        tolerance = 1e-5 if x.dtype == np.complex64 else 1e-12
        for triangle in "LU":
            expected = np.linalg.eigvalsh(x, triangle)
            for ours in (cp.linalg.eigvalsh(cp.asarray(x), triangle), cp.linalg.eigh(cp.asarray(x), triangle)[0]):
                np.testing.assert_allclose(ours.get(), expected, rtol=10 * tolerance, atol=n * tolerance)
            upper = triangle == "U"
            factor = cp.linalg.cholesky(cp.asarray(x), upper=upper).get()
            np.testing.assert_allclose(
                factor, np.linalg.cholesky(x, upper=upper), rtol=1e3 * tolerance, atol=n * tolerance
            )
