"""Arithmetic and reductions of `cuprous.scipy.sparse` against SciPy."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import sparse

from .test_sparse import CLASSES, COMPRESSED, A, both, host, same

scipy_sparse = pytest.importorskip("scipy.sparse")
pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(6)
B = RNG.random((5, 7)) * (RNG.random((5, 7)) < 0.5)
X = RNG.random((7, 7))
SOME_DTYPES = ["bool", "int32", "float32", "complex64"]

#: Functions of a matrix, another, and a dense array.
PAIRS: list[Callable[[Any, Any, Any], Any]] = [
    lambda a, b, x: a + b, lambda a, b, x: a - b, lambda a, b, x: a.multiply(b), lambda a, b, x: a.maximum(b),
    lambda a, b, x: a.minimum(-b), lambda a, b, x: a != b, lambda a, b, x: a == b, lambda a, b, x: a < b,
    lambda a, b, x: a >= b, lambda a, b, x: a > 0.5, lambda a, b, x: a < 0.5, lambda a, b, x: a == 0.0,
    lambda a, b, x: a + x[:5], lambda a, b, x: x[:5] - a, lambda a, b, x: a.multiply(x[0]),
    lambda a, b, x: a.multiply(x[:5, :1]), lambda a, b, x: a.multiply(x[:5]),
    lambda a, b, x: a / x[:5] if a.format == "csr" else a,
    lambda a, b, x: a.maximum(0.5), lambda a, b, x: a.minimum(0.5), lambda a, b, x: a * 2, lambda a, b, x: 3.0 * a,
    lambda a, b, x: a / 4, lambda a, b, x: -a, lambda a, b, x: abs(-a), lambda a, b, x: a.power(2),
    lambda a, b, x: a.sqrt(), lambda a, b, x: a.sin(), lambda a, b, x: a + 0, lambda a, b, x: 0 - a,
]  # fmt: skip
PRODUCTS: list[Callable[[Any, Any, Any], Any]] = [
    lambda a, b, x: a @ x[0], lambda a, b, x: a @ x, lambda a, b, x: a @ x[:, ::2], lambda a, b, x: a @ x[:, :1],
    lambda a, b, x: a @ x[:, :0], lambda a, b, x: x[:, :5] @ a, lambda a, b, x: x[0, :5] @ a,
    lambda a, b, x: a.T @ x[:5], lambda a, b, x: a.T @ x[0, :5], lambda a, b, x: a @ b.T, lambda a, b, x: a.T @ b,
    lambda a, b, x: a.dot(x),
]  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_elements(name: str) -> None:
    (a, p), (b, q) = both(name), both(name, B)
    for function in PAIRS:
        same(function(a, b, cp.asarray(X)), function(p, q, X))


@pytest.mark.parametrize("name", CLASSES)
def test_products(name: str) -> None:
    (a, p), (b, q) = both(name), both(name, B)
    for function in PRODUCTS:
        same(function(a, b, cp.asarray(X)), function(p, q, X))
    if name.endswith("matrix"):
        same(a * cp.asarray(X), p * X)
        same(a * b.T, p * q.T)
        same((a.T * b) ** 3, (p.T * q) ** 3)
    else:
        same(a * b, p * q)


@pytest.mark.parametrize(("left", "right"), [
    (s, t) for s, t in itertools.product(SOME_DTYPES, repeat=2)
    if s <= t
])  # fmt: skip
def test_dtypes_promote(left: str, right: str) -> None:
    dense = (X[:, :3] * 4).astype(right)
    (a, p), (b, q) = both("csr_array", (A * 4).astype(left)), both("csr_array", (B * 4).astype(right))
    for ours, theirs in (
        (a @ cp.asarray(dense), p @ dense),
        (a + b, p + q),
        (a.multiply(b), p.multiply(q)),
        (a @ b.T, p @ q.T),
    ):
        got, want = host(ours), host(theirs)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_products_of_many_rows(dtype: str, index: str) -> None:
    """Enough of them for threads to share, with rows of all lengths; also where the transpose adds up in parts."""
    rng = np.random.default_rng(7)
    for shape, density in (((3000, 400), 0.02), ((400, 3000), 0.05), ((20_000, 50), 0.5)):
        theirs = scipy_sparse.random_array(shape, density=density, rng=rng, format="csr").astype(dtype)
        ours = sparse.csr_array(theirs)
        ours._pattern.packed = ours._pattern.packed.astype(index)
        tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-11
        for width in (1, 3, 40):
            x, y = (rng.random((n, width)).astype(dtype) for n in (shape[1], shape[0]))
            np.testing.assert_allclose((ours @ cp.asarray(x)).get(), theirs @ x, rtol=tolerance)
            np.testing.assert_allclose((ours.T @ cp.asarray(y)).get(), theirs.T @ y, rtol=tolerance)


def test_columns_out_of_bounds_are_an_error_on_the_cpu() -> None:
    if cp.get_device() != "cpu":
        pytest.skip("a GPU does not look")
    a = sparse.csr_array(cp.asarray(A))
    a.indices[0] = 7
    with pytest.raises(IndexError, match="outside the matrix"):
        (a @ cp.asarray(X)).get()


@pytest.mark.parametrize("name", CLASSES)
def test_reductions(name: str) -> None:
    for dense in (A, -A, A - 0.3 * (A > 0), np.full((5, 7), -1.0), np.zeros((5, 7)), (A * 9).astype("i2"), A != 0):
        a, b = both(name, dense)
        for method in ("sum", "mean", "max", "min"):
            for axis in (None, 0, 1, -1):
                ours, theirs = getattr(a, method)(axis=axis), getattr(b, method)(axis=axis)
                same(ours, theirs)
        for method in ("argmax", "argmin"):
            for axis in (None, 0, 1):
                got, want = host(getattr(a, method)(axis=axis)), host(getattr(b, method)(axis=axis))
                np.testing.assert_array_equal(got, want)
    same(a.sum(axis=0, dtype="f4"), b.sum(axis=0, dtype="f4"))
    with pytest.raises(ValueError, match="axis"):
        a.sum(axis=2)
    with pytest.raises(ValueError, match="zero-size"):
        both(name, np.zeros((0, 3)))[0].max()


def test_nan_spreads_as_in_scipy() -> None:
    dense = A.copy()
    dense[0, 3] = np.nan
    (a, p), (b, q) = both("csr_array", dense), both("csr_array", B)
    for function in (*PAIRS[:5], *PRODUCTS[:3]):
        same(function(a, b, cp.asarray(X)), function(p, q, X))
    for method in ("max", "min", "nanmax", "nanmin", "sum"):
        for axis in (None, 0, 1):
            same(getattr(a, method)(axis=axis), getattr(p, method)(axis=axis))
    np.testing.assert_array_equal(host(a.argmax(1)), dense.argmax(1))


@pytest.mark.parametrize("name", COMPRESSED)
def test_equal_positions_and_stored_zeros(name: str) -> None:
    arrays = ([1.0, 2.0, 3.0, 4.0, 0.0], [2, 0, 0, 1, 3], [0, 3, 3, 5])
    shape = (3, 4) if name[:3] == "csr" else (4, 3)

    def fresh() -> tuple[Any, Any]:
        return getattr(sparse, name)(arrays, shape=shape), getattr(scipy_sparse, name)(arrays, shape=shape)

    for function in (
        lambda a: a @ np.ones(a.shape[1]) if isinstance(a, scipy_sparse.sparray | scipy_sparse.spmatrix)
        else a @ cp.ones(a.shape[1]),
        lambda a: a + a, lambda a: a.multiply(a), lambda a: a.max(), lambda a: a.sum(0), lambda a: a.power(2),
        lambda a: a.tocoo(), lambda a: a.T.tocsr(), lambda a: a != 0.0, lambda a: a.argmax(0), lambda a: a[0],
        lambda a: a[:, 0],
    ):  # fmt: skip
        ours, theirs = fresh()
        np.testing.assert_array_equal(host(function(ours)), host(function(theirs)))


def test_in_place() -> None:
    a, b = both("csr_array")
    data = a.data
    a *= 2
    a /= 4
    b *= 2
    b /= 4
    same(a, b)
    assert a.data is data
    c, _ = both("csr_array", (A * 9).astype("i4"))
    with pytest.raises(TypeError, match="cast"):
        c *= 1.5


def test_arrays_of_one_axis() -> None:
    """What a row or column of a sparse array is; SciPy has a compressed one as well."""
    (a, p), x = both("csr_array"), RNG.random((7, 2))
    for ours, theirs in ((a[0], p[0]), (a[1] + a[3], p[1] + p[3]), (sparse.coo_array(cp.asarray(A[0])), p[0])):
        for function in (
            lambda v, x: v, lambda v, x: v * 2, lambda v, x: v.multiply(v), lambda v, x: v.sum(), lambda v, x: v.max(),
            lambda v, x: v @ x, lambda v, x: v @ x[:, 0], lambda v, x: x.T @ v, lambda v, x: v[2],
            lambda v, x: v[1:6:2], lambda v, x: v > 0.1, lambda v, x: v.maximum(v), lambda v, x: v.T,
            lambda v, x: v.reshape((1, -1)),
            lambda v, x: v.count_nonzero(), lambda v, x: v + x[:, 0], lambda v, x: v.astype("f4"),
            lambda v, x: v.mean(), lambda v, x: abs(-v),
        ):  # fmt: skip
            got, want = host(function(ours, cp.asarray(x))), host(function(theirs, x))
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(got, want)
    with pytest.raises(NotImplementedError, match="one axis"):
        a[0].tocsr()


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_array"])
def test_rows_and_columns_are_repeated(kind: str) -> None:
    """SciPy refuses sparse rows and columns in comparisons and extremes, but not in products: all are NumPy's here."""
    a = np.array([[1, 0, 2, -1], [0, 0, 3, 1], [4, 0, -5, 0]])
    others = [np.array([[1, 0, 2, 3]]), np.array([[1], [0], [-3]]), np.array([[2]])]
    functions = {"__lt__": np.less, "__ge__": np.greater_equal, "maximum": np.maximum, "minimum": np.minimum,
                 "multiply": np.multiply}  # fmt: skip
    for b in others:
        for first, second in ((a, b), (b, a)):
            x, y = (getattr(sparse, kind)(cp.asarray(v)) for v in (first, second))
            for name, function in functions.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
                    result = getattr(x, name)(y)
                expected = function(first, second)
                assert result.dtype == expected.dtype
                np.testing.assert_array_equal(result.toarray().get(), expected)
    row = getattr(sparse, kind)(cp.array([[1.0, 0.0]]))
    dense = np.array([[0.0, 1.0], [2.0, 4.0]])
    theirs = getattr(scipy_sparse, kind)(np.array([[1.0, 0.0]]))
    with np.errstate(all="ignore"):
        # Nothing divided by zero is not stored.
        np.testing.assert_array_equal((row / cp.asarray(dense)).toarray().get(), (theirs / dense).toarray())
    with pytest.raises(ValueError, match="inconsistent shapes"):
        getattr(sparse, kind)(cp.asarray(a)).maximum(getattr(sparse, kind)(cp.ones((1, 3))))


def test_warnings_of_dense_results() -> None:
    a, b = both("csr_array")
    for call in (
        lambda m: m == m, lambda m: m <= m, lambda m: m >= m, lambda m: m == 0, lambda m: m < 2.0, lambda m: m != 1.0,
        lambda m: m.maximum(1), lambda m: m.minimum(-1), lambda m: m.maximum(-1), lambda m: m != m,
        lambda m: m.copy().__setitem__((0, slice(None)), 1.0), lambda m: m.copy().__setitem__(m > 0, 1.0),
        lambda m: m.copy().setdiag(1.0),
    ):  # fmt: skip
        found = []
        for m in (a, b):
            with warnings.catch_warnings(record=True) as given:
                warnings.simplefilter("always")
                call(m)
            found.append([w.category.__name__ for w in given])
        assert found[0] == found[1]


def test_kron_of_empty_matrices() -> None:
    for dtype in ("float32", "bool", "int32"):
        empty, full = np.zeros((2, 3), dtype), np.ones((2, 2), dtype)
        for pair in ((empty, full), (full, empty)):
            ours = sparse.kron(*(sparse.csr_matrix(cp.asarray(m)) for m in pair))
            theirs = scipy_sparse.kron(*(scipy_sparse.csr_matrix(m) for m in pair))
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
