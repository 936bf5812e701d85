"""The DIA format of sparse matrices against SciPy's and dense arrays."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import sparse
from tests.scipy.test_sparse import host, same
from tests.support import assert_errors

scipy_sparse = pytest.importorskip("scipy.sparse")


def pair(kind: str, shape: Any, offsets: Any, width: Any, dtype: str = "f8") -> tuple[Any, Any]:
    """The same random matrix here and in SciPy."""
    rng = np.random.default_rng(len(offsets) + width)
    data = rng.integers(-2, 4, (len(offsets), width)).astype(dtype)
    theirs = getattr(scipy_sparse, f"dia_{kind}")((data, offsets), shape=shape)
    return getattr(sparse, f"dia_{kind}")((cp.asarray(data), cp.asarray(offsets)), shape=shape), theirs


#: Shape, offsets, columns of data; the data are as wide as the matrix, narrower and wider.
CASES = [((3, 4), [0, -1], 3), ((3, 4), [3, -2, 0], 4), ((5, 2), [-4, 1, 0], 7), ((4, 4), [2], 1), ((1, 1), [0], 1)]


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("case", CASES)
def test_conversions_and_parts(kind: str, case: Any) -> None:
    for dtype in ("f4", "c16", "i4", "?"):
        ours, theirs = pair(kind, *case, dtype)
        for of in (
            lambda a: a, lambda a: a.tocsr(), lambda a: a.tocsc(), lambda a: a.tocoo(), lambda a: a.tocsr().todia(),
            lambda a: a.tocoo().todia().data, lambda a: abs(a), lambda a: a.conj(), lambda a: a.real, lambda a: a.imag,
            lambda a: a.diagonal(), lambda a: a.diagonal(-1), lambda a: a.count_nonzero(), lambda a: a.nnz,
            lambda a: a * 2, lambda a: a / 2, lambda a: a.astype("c16"), lambda a: a.data, lambda a: a.offsets,
            lambda a: a.reshape(a.shape), lambda a: a.copy().trace(),
        ):  # fmt: skip
            same(of(ours), of(theirs))
        assert repr(ours) == repr(theirs)
        np.testing.assert_array_equal(host(ours.T), host(theirs).T)  # SciPy's is wrong for data wider than the matrix
        assert ours.T.format == "dia"
        for back in (pickle.loads(pickle.dumps(ours)), type(ours)(theirs), type(ours)(host(theirs)), ours.todia()):
            same(back, theirs)
        got, want = ours.get(), theirs
        np.testing.assert_array_equal(got.data, want.data)
        np.testing.assert_array_equal(got.offsets, want.offsets)


@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_arithmetic(kind: str) -> None:
    a, x = pair(kind, (3, 4), [0, -1, 3], 4)
    b, y = pair(kind, (3, 4), [1, -1], 3)
    dense = np.arange(12.0).reshape(3, 4)
    for ours, theirs in [
        (a + b, x + y), (a - b, x - y), (a.multiply(b), x.multiply(y)), (a + b.tocsr(), x + y.tocsr()),
        (a.tocsr() + b, x.tocsr() + y), (a @ b.tocsr().T, x @ y.tocsr().T), (a @ cp.arange(4.0), x @ np.arange(4.0)),
        (a @ cp.asarray(dense.T), x @ dense.T), (cp.asarray(dense.T) @ a, dense.T @ x),
        (a.multiply(cp.asarray(dense)), x.multiply(dense)), (a.multiply(cp.asarray(dense[0])), x.multiply(dense[0])),
        (a.sum(0), x.sum(0)), (a.sum(1), x.sum(1)), (a.sum(), x.sum()), (a.mean(0), x.mean(0)), (a > 1, x > 1),
        (a != b, x != y), (a.maximum(b), x.maximum(y)), (a + cp.asarray(dense), x + dense), (-a, -x),
    ]:  # fmt: skip
        same(ours, theirs)
    product = a @ b.T
    assert product.format == "dia"
    np.testing.assert_array_equal(host(product), host(x) @ host(y).T)


def test_elements_outside_the_matrix_are_ignored() -> None:
    """They do not reach products or sums, even if they are NaN, and neither do the zeros beside an infinity."""
    data = cp.asarray([[1.0, 2.0, np.nan], [np.nan, 3.0, np.nan]])
    a = sparse.dia_array((data, [0, 1]), shape=(2, 2))
    np.testing.assert_array_equal(host(a), [[1, 3], [0, 2]])
    np.testing.assert_array_equal(host(a @ cp.asarray([np.inf, 1.0])), [np.inf, 2])
    np.testing.assert_array_equal(host(a @ a), [[1, 9], [0, 4]])
    assert (float(a.sum()), a.nnz, a.count_nonzero()) == (6.0, 3, 3)


def test_setdiag() -> None:
    a, x = pair("array", (3, 4), [0, -1], 3)
    for k, values in ((1, [7.0, 8.0, 9.0]), (0, 5.0)):
        a.setdiag(values, k)
        x.setdiag(values, k)
        np.testing.assert_array_equal(host(a), host(x))
    assert a.format == "dia" and not sparse.isspmatrix_dia(a) and sparse.isspmatrix_dia(sparse.dia_matrix(a))


@pytest.mark.parametrize(
    "code",
    [
        "eye(3)", "eye(3, 4, k=1)", "eye_array(4, k=-1)", "identity(3)", "diags([[1.0, 2.0], [3.0]], [0, 1])",
        "diags([1.0, 2.0, 3.0], [0, 1, -1], shape=(3, 3))", "spdiags([[1, 0, 3], [3, 4, 5]], [0, 1], 2, 2)",
        "spdiags([[1, 2, 3, 4]], [1], 3, 9, 'csr')", "diags_array([[1.0, 2.0]], offsets=[1])", "eye(3) ** 2",
        "dia_matrix((2, 3))", "dia_array([[1, 2], [0, 3]], dtype='f4')", "csr_matrix(eye(3))", "eye(2).asformat('csc')",
    ],
)  # fmt: skip
def test_constructors_give_the_format(code: str) -> None:
    same(eval(code, vars(sparse).copy()), eval(code, vars(scipy_sparse).copy()))


def test_bad_input() -> None:
    data, dia = cp.ones((2, 3)), sparse.dia_matrix
    assert_errors(
        (lambda: dia((data, [0, 0]), shape=(3, 3)), ValueError), (lambda: dia((data, [0])), ValueError),
        (lambda: dia((data, [0]), shape=(3, 3)), ValueError), (lambda: dia((data, [[0, 1]]), shape=(3, 3)), ValueError),
        (lambda: dia((data[None], [0, 1]), shape=(3, 3)), ValueError), (lambda: dia((3, 3))[0], TypeError),
        (lambda: dia((3, 3)).getnnz(0), NotImplementedError), (lambda: dia((3, 3)) + dia((2, 3)), ValueError),
        (lambda: dia((3, 3)).count_nonzero(0), NotImplementedError), (lambda: dia((3, 3)) @ dia((2, 3)), ValueError),
        (lambda: sparse.coo_array(cp.ones(3)).todia(), ValueError),
    )  # fmt: skip
