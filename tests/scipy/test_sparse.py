"""`cuprous.scipy.sparse` against SciPy: making, converting, indexing and writing sparse matrices."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import sparse
from tests.support import assert_errors

scipy_sparse = pytest.importorskip("scipy.sparse")

RNG = np.random.default_rng(5)
A = RNG.random((5, 7)) * (RNG.random((5, 7)) < 0.4)
A[2] = 0
FORMATS = ["csr", "csc", "coo"]
CLASSES = [f"{f}_{kind}" for f in FORMATS for kind in ("matrix", "array")]
COMPRESSED = [name for name in CLASSES if name[:3] != "coo"]


def host(x: Any) -> Any:
    """A result as a dense NumPy array."""
    dense = x.toarray() if hasattr(x, "toarray") else x
    return dense.get() if isinstance(dense, cp.ndarray) else np.asarray(dense)


def same(ours: Any, theirs: Any) -> None:
    """Equal values, shape, dtype and format."""
    assert getattr(ours, "format", None) == getattr(theirs, "format", None)
    got, want = host(ours), host(theirs)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(got, want, rtol=1e-12)


def both(name: str, dense: Any = A) -> tuple[Any, Any]:
    """The same matrix here and in SciPy."""
    return getattr(sparse, name)(cp.asarray(dense)), getattr(scipy_sparse, name)(dense)


@pytest.mark.parametrize("name", CLASSES)
def test_construction(name: str) -> None:
    ours, theirs = getattr(sparse, name), getattr(scipy_sparse, name)
    row, col, data = [0, 3, 3, 0], [6, 1, 1, 0], [1.0, 2.0, 3.0, 0.0]
    on_device = (cp.asarray(data), (cp.asarray(row), cp.asarray(col)))
    for mine, other in [
        (ours(cp.asarray(A)), theirs(A)),
        (ours(A.tolist()), theirs(A)),
        (ours(cp.asarray(A), dtype="f4"), theirs(A, dtype="f4")),
        (ours((3, 4)), theirs((3, 4))),
        (ours((0, 4), dtype="i4"), theirs((0, 4), dtype="i4")),
        (ours(on_device, shape=(5, 7)), theirs((data, (row, col)), shape=(5, 7))),
        (ours(on_device), theirs((data, (row, col)))),
        (ours(theirs(A)), theirs(A)),
        (ours(scipy_sparse.dia_matrix(A)), theirs(A)),
        (ours(sparse.csc_array(cp.asarray(A))), theirs(A)),
        (ours(cp.zeros((4, 0))), theirs(np.zeros((4, 0)))),
        (ours(cp.asarray(A) != 0), theirs(A != 0)),
        (ours(cp.asarray(A + 1j * A)), theirs(A + 1j * A)),
    ]:
        same(mine, other)
        assert mine.nnz == other.nnz
        assert (mine.shape, mine.ndim, mine.dtype, mine.format) == (other.shape, other.ndim, other.dtype, other.format)
        assert repr(mine) == repr(other)


@pytest.mark.parametrize("name", COMPRESSED)
def test_compressed_parts(name: str) -> None:
    """Unsorted indices, equal positions and stored zeros, as SciPy keeps and mends them."""
    majors = 3
    data, indices, starts = [1.0, 2.0, 3.0, 4.0, 0.0], [2, 0, 0, 1, 3], [0, 3, 3, 5]
    shape = (majors, 4) if name[:3] == "csr" else (4, majors)
    ours = getattr(sparse, name)((cp.asarray(data), cp.asarray(indices), cp.asarray(starts)), shape=shape)
    theirs = getattr(scipy_sparse, name)((data, indices, starts), shape=shape)
    same(ours, theirs)
    assert not ours.has_canonical_format
    assert not ours.has_sorted_indices
    for change in ("sort_indices", "sum_duplicates", "eliminate_zeros"):
        getattr(ours, change)()
        getattr(theirs, change)()
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(ours, part).get(), getattr(theirs, part))
        assert ours.has_sorted_indices
    assert ours.has_canonical_format
    assert ours.indices.dtype == ours.indptr.dtype == np.int32


def test_sparsity_patterns_are_shared_until_exported() -> None:
    a, _ = both("csr_array")
    b = a * 2
    a.indices[0] = 6 - int(a.indices[0])
    assert (b.toarray() == 2 * cp.asarray(A)).all()
    assert not (a.toarray() == cp.asarray(A)).all()
    c = -a
    c.data[...] = 1
    assert float(c.sum()) == a.nnz
    assert float(abs(a).sum()) != a.nnz


@pytest.mark.parametrize("name", CLASSES)
def test_conversions(name: str) -> None:
    a, b = both(name)
    for f in FORMATS:
        same(a.asformat(f), b.asformat(f))
    for convert in (
        lambda x: x.T, lambda x: x.transpose(copy=True), lambda x: x.astype("f4"), lambda x: x.astype(bool),
        lambda x: x.copy(), lambda x: x.conj(), lambda x: (x * 1j).conj(), lambda x: (x * 1j).imag,
        lambda x: x.reshape((7, 5)), lambda x: x.reshape(1, -1), lambda x: x.reshape((7, 5), order="F"), copy.copy,
        lambda x: pickle.loads(pickle.dumps(x)), lambda x: x.toarray(), lambda x: x.diagonal(),
        lambda x: x.diagonal(-3), lambda x: x.diagonal(2), lambda x: x.trace(), lambda x: x.nonzero()[1],
        lambda x: x.count_nonzero(),
    ):  # fmt: skip
        same(convert(a), convert(b))
    assert a.toarray(order="F").is_f_contiguous
    out = cp.ones((5, 7))
    assert a.toarray(out=out) is out
    np.testing.assert_array_equal(out.get(), A)
    back = a.get()
    assert type(back) is type(b)
    np.testing.assert_array_equal(back.toarray(), A)
    assert sparse.issparse(a)
    assert sparse.isspmatrix(a) == scipy_sparse.isspmatrix(b)


def test_files(tmp_path: Path) -> None:
    for name in CLASSES:
        a, b = both(name)
        sparse.save_npz(tmp_path / "a.npz", a)
        same(sparse.load_npz(tmp_path / "a.npz"), b)
        assert type(scipy_sparse.load_npz(tmp_path / "a.npz")) is type(b)


KEYS = [
    "0", "-1", "1:3", "::2", "::-1", ":, 1", ":, 1:4", ":, ::2", ":, ::-1", "1, 2", "-1, -1", "[0, 2]", "[2, 0, 2]",
    ":, [3, 1, 3]", "[0, 1], [2, 3]", "1:3, 2:5", "1, :", "1, [0, 2]", "[1, 2], 0", "0, 1:5:2", "...", "3:1", "2, ...",
    "[True, False, True, False, True]", "[[0], [1]], [[1, 2, 3]]", "[0, 1], 1:3", "(2,)", "-2:, -3:",
]  # fmt: skip


@pytest.mark.parametrize("name", COMPRESSED)
def test_reading(name: str) -> None:
    a, b = both(name)
    for key in KEYS:
        index = eval(f"np.index_exp[{key}]", {"np": np, "True": True})
        index = index[0] if len(index) == 1 and "(" not in key else index
        ours, theirs = a[index], b[index]
        assert sparse.issparse(ours) == scipy_sparse.issparse(theirs), key
        same(ours, theirs)
    same(a[cp.asarray([3, 0])], b[[3, 0]])
    np.testing.assert_array_equal(host(a[a > 0.5]).reshape(-1), A[A > 0.5])
    for bad in (5, -6, (0, 7), ([9], [0]), (0, 0, 0), "x"):
        with pytest.raises(IndexError):
            a[bad]


@pytest.mark.parametrize("name", COMPRESSED)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_writing(name: str) -> None:
    values = RNG.random((5, 7))
    cells: list[tuple[Any, Any]] = [
        ((1, 2), 5.0), ((0, 0), 0.0), (slice(1, 3), 2.0),
        ((slice(None), 3), values[:, 0]), ((2, slice(None)), values[0]),
        (([0, 4], [1, 1]), values[0, :2]), ((slice(0, 2), slice(2, 4)), values[:2, 2:4]), (([4], slice(None)), 1.0),
    ]  # fmt: skip
    a, b = both(name)
    for key, value in cells:
        a[key] = cp.asarray(value) if isinstance(value, np.ndarray) else value
        b[key] = value
        same(a, b)
    a[0] = sparse.csr_array(cp.asarray(values[:1]))
    b[0] = scipy_sparse.csr_array(values[:1])
    same(a, b)
    with pytest.raises(ValueError, match="could not be broadcast"):
        a[0] = cp.ones(3)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_diagonals_are_written(name: str) -> None:
    for k, values in ((0, 3.0), (1, A[0]), (-2, A[1, :2]), (6, 1.0)):
        a, b = both(name)
        a.setdiag(cp.asarray(values) if isinstance(values, np.ndarray) else values, k)
        b.setdiag(values, k)
        same(a, b)
    with pytest.raises(ValueError, match="exceeds"):
        a.setdiag(1, 7)


X: list[Callable[[Any, Any], Any]] = [
    lambda m, x: m.identity(3),
    lambda m, x: m.eye_array(3, 4, k=1, dtype="f4"),
    lambda m, x: m.eye(4, 2, k=-3),
    lambda m, x: m.diags([x([1.0, 2, 3]), x([4.0, 5])], [0, 1]),
    lambda m, x: m.diags_array([x([1.0]), x([4.0, 5])], offsets=[0, -2], shape=(4, 3)),
    lambda m, x: m.diags(x([1.0, 2.0])),
    lambda m, x: m.spdiags(x([[1, 2, 3, 4], [5, 6, 7, 8]]), x([0, -1]), 4, 5),
]
BLOCKS: list[Callable[[Any, Any], Any]] = [
    lambda m, a: m.hstack([a, a]),
    lambda m, a: m.vstack([a, a], format="csc"),
    lambda m, a: m.vstack([a, m.identity(7, format="coo")]),
    lambda m, a: m.bmat([[a, None], [None, a.T]]),
    lambda m, a: m.block_diag([a, a]),
    lambda m, a: m.kron(a, a, format="csr"),
    lambda m, a: m.kronsum(m.identity(2), a[:, :5] if a.format != "coo" else m.identity(3)),
    lambda m, a: m.tril(a),
    lambda m, a: m.triu(a, 1, format="csr"),
    lambda m, a: m.find(a)[2],
]


def test_matrices_from_parts() -> None:
    for make in X:
        ours, theirs = make(sparse, cp.asarray), make(scipy_sparse, np.asarray)
        np.testing.assert_array_equal(host(ours), host(theirs))
        assert ours.dtype == theirs.dtype
    for name in ("csr_array", "csc_matrix", "coo_array"):
        a, b = both(name)
        for build in BLOCKS:
            same(build(sparse, a), build(scipy_sparse, b))
    with pytest.raises(ValueError, match="incompatible"):
        sparse.hstack([both("csr_array")[0], sparse.identity(3)])


def test_random_matrices() -> None:
    for density in (0.0, 0.1, 0.9, 1.0):
        a = sparse.random(30, 20, density, format="csr", rng=4)
        assert a.nnz == round(density * 600)
        assert a.has_canonical_format
        assert 0 <= float(a.min()) <= float(a.max()) < 1
    a, b = sparse.random_array((9, 9), density=0.5, rng=4), sparse.random_array((9, 9), density=0.5, rng=4)
    assert (a.toarray() == b.toarray()).all()
    with pytest.raises(ValueError, match="density"):
        sparse.rand(3, 3, 2.0)


BAD: list[tuple[Any, dict[str, Any]]] = [
    (([1.0], [0], [0, 1]), {"shape": (3, 3)}), (([1.0], [5], [0, 1]), {"shape": (1, 3)}),
    (([1.0], [-1], [0, 1]), {"shape": (1, 3)}), (([1.0, 2.0], [0], [0, 1]), {"shape": (1, 3)}),
    (([1.0], [0], [0, 2]), {"shape": (1, 3)}), (([1.0], [0], [1, 1]), {"shape": (1, 3)}),
    (([1.0, 1.0], [0, 1], [0, 2, 1, 2]), {"shape": (3, 3)}), (([1.0], ([3], [0])), {"shape": (3, 3)}),
    (([1.0], ([0], [-1])), {"shape": (3, 3)}), (([1.0], ([0, 1], [0, 1])), {"shape": (3, 3)}), ((-1, 2), {}),
    ((2, 2), {"dtype": "float16"}),
]  # fmt: skip


def test_bad_input_is_refused_before_it_can_do_harm() -> None:
    for arg, keywords in BAD:
        with pytest.raises(ValueError):
            sparse.csr_array(arg, **keywords)
    a, _ = both("csr_array")
    assert_errors(
        (lambda: a + 1, NotImplementedError), (lambda: a + A, TypeError), (lambda: a.tolil(), NotImplementedError),
        (lambda: a.asformat("nonsense"), ValueError), (lambda: len(a), TypeError), (lambda: bool(a), ValueError),
        (lambda: a @ 2, ValueError), (lambda: a @ cp.ones(3), ValueError), (lambda: a + a.T, ValueError),
        (lambda: sparse.lil_matrix((2, 2)), NotImplementedError), (lambda: a.reshape((3, 3)), ValueError),
        (lambda: np.asarray(cp.ones(3)) @ a, (TypeError, ValueError)),
    )  # fmt: skip


def test_products_with_more_places_than_fit_into_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuprous.scipy.sparse import _product

    n, count = 70_000, 400
    places = np.stack([np.sort(RNG.integers(0, n, count)), RNG.integers(0, 40, count)])
    places[0, :2], places[0, -1] = 0, n - 1
    left = scipy_sparse.coo_array((RNG.integers(1, 5, count).astype("f4"), places), (n, 40)).tocsr()
    right = scipy_sparse.coo_array((RNG.integers(1, 5, count).astype("f4"), places[::-1] % n), (40, n)).tocsr()
    want = left @ right
    want.sort_indices()
    for least in (_product._TERMS, 1):
        monkeypatch.setattr(_product, "_TERMS", least)
        got = (sparse.csr_array(left) @ sparse.csr_array(right)).get()
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(got, part), getattr(want, part))


def test_matrix_type_predicates() -> None:
    x = cp.eye(3)
    for kind, end in itertools.product(("coo", "csc", "csr"), ("array", "matrix")):
        m = getattr(sparse, f"{kind}_{end}")(x)
        assert sparse.issparse(m)
        assert sparse.isspmatrix(m) is (end == "matrix")
        assert isinstance(m, sparse.sparray) is (end == "array")
        assert isinstance(m, sparse.spmatrix) is (end == "matrix")
        for known, test in (
            ("coo", sparse.isspmatrix_coo), ("csc", sparse.isspmatrix_csc), ("csr", sparse.isspmatrix_csr),
        ):  # fmt: skip
            assert test(m) is (end == "matrix" and kind == known), (kind, end, known)
    assert not sparse.issparse(x)
    assert not sparse.isspmatrix_csr(x)


def test_empty_blocks() -> None:
    a, host = sparse.csr_array(cp.eye(2)), scipy_sparse.csr_array(np.eye(2))
    for ours, theirs in (([[a, None]], [[host, None]]), ([[a], [None]], [[host], [None]])):
        expected = scipy_sparse.block_array(theirs).toarray()
        np.testing.assert_array_equal(sparse.block_array(ours).toarray().get(), expected)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 5], [[0], [1], [5]], [2, 2, 2, 2, 2]])
def test_assigning_a_sparse_matrix_inserts_only_what_it_stores(form: str, rows: list[Any]) -> None:
    """Elements that it does not store become zero where the target stores them."""
    for seed in range(8):
        ours_and_theirs = []
        for xp in (sparse, scipy_sparse):
            a = scipy_sparse.random(20, 20, density=0.2, format=form, random_state=seed)
            value = scipy_sparse.random(1, 5, density=0.6, format="csr", random_state=seed + 100)
            a, value = getattr(xp, f"{form}_matrix")(a), xp.csr_matrix(value)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                a[rows, [1, 2, 3, 4, 5] if rows != [2] * 5 else [1, 2, 1, 4, 2]] = value
            a.sort_indices()
            ours_and_theirs.append(a if xp is scipy_sparse else a.get())
        ours, theirs = ours_and_theirs
        assert np.array_equal(ours.indptr, theirs.indptr) and np.array_equal(ours.indices, theirs.indices)
        assert np.array_equal(ours.data, theirs.data)


def test_flags_that_are_said() -> None:
    """As in SciPy, what is said about a matrix is believed."""
    for flag, indices in (("has_sorted_indices", [1, 0]), ("has_canonical_format", [0, 0])):
        ours, theirs = (s.csr_matrix((xp.asarray([1, 2]), xp.asarray(indices), xp.asarray([0, 2])))
                        for s, xp in ((sparse, cp), (scipy_sparse, np)))  # fmt: skip
        for a in (ours, theirs):
            assert not getattr(a, flag)
            setattr(a, flag, True)
            assert getattr(a, flag)
            a.sort_indices() if flag == "has_sorted_indices" else a.sum_duplicates()
            assert a.indices.tolist() == indices
            setattr(a, flag, False)
            a.sort_indices() if flag == "has_sorted_indices" else a.sum_duplicates()
        assert ours.indices.tolist() == theirs.indices.tolist()


def test_equality_with_rows_and_columns() -> None:
    dense = np.array([[1.0, 0, 2], [0, 2, 2]])
    a = sparse.csr_matrix(cp.asarray(dense))
    for other in (dense[:1], dense[:, 2:]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            equal, different = (op(a, sparse.csr_matrix(cp.asarray(other))) for op in (operator.eq, operator.ne))
        np.testing.assert_array_equal(equal.toarray().get(), dense == other)
        np.testing.assert_array_equal(different.toarray().get(), dense != other)
    assert (a == sparse.csr_matrix((2, 4))) is False  # as SciPy


def test_no_products_with_three_axes() -> None:
    for multiply in (operator.mul, operator.matmul, lambda a, b: a.dot(b), lambda a, b: b * a):
        with pytest.raises(ValueError, match=r"no product with 3-d arrays|dimension mismatch"):
            multiply(sparse.csr_matrix((2, 2)), cp.ones((2, 2, 2)))
