"""Methods of sparse matrices, given what does not fit. SciPy is the oracle, for errors too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import sparse
from tests.support import outcome

scipy_sparse = pytest.importorskip("scipy.sparse")

A = np.array([[0, 2.0, 0, 1], [0, 0, 3, 0], [4, 0, 0, 5]])


def written(m: Any, write: Callable[[Any], Any]) -> Any:
    """A copy after a write."""
    c = m.copy()
    write(c)
    return c


#: Calls with a 3 x 4 matrix and what makes arrays.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "add shape": lambda m, x: m + m[:2], "transpose one axis": lambda m, x: m.transpose(axes=0),
    "toarray bad order": lambda m, x: m.toarray(order="#"), "power list": lambda m, x: (m @ m.T) ** [1, 2],
    "data 2d": lambda m, x: type(m)((x(np.ones((1, 2))), (x(np.array([0, 1])), x(np.array([0, 1])))), shape=(3, 4)),
    "0-d": lambda m, x: type(m)(x(np.array(2.0))) if "matrix" in type(m).__name__ else m,
    "deg2rad": lambda m, x: m.deg2rad(), "rad2deg": lambda m, x: m.rad2deg(),
    "quotient": lambda m, x: m.astype("float32") / m.astype("float32"),
    "1d trace": lambda m, x: type(m)(x(np.ones(3))).trace(), "add scalar": lambda m, x: m + 1,
    "add zero": lambda m, x: m + 0, "matmul shape": lambda m, x: m @ m, "matmul vec": lambda m, x: m @ x(np.ones(3)),
    "matmul 3d": lambda m, x: m @ x(np.ones((2, 4, 2))), "mul dense": lambda m, x: m * x(np.ones((3, 4))),
    "mul dense bad": lambda m, x: m.multiply(x(np.ones((2, 4)))),
    "multiply row": lambda m, x: m.multiply(x(np.ones(4))),
    "multiply nan": lambda m, x: m.multiply(x(np.full(4, np.nan))), "sum axis 5": lambda m, x: m.sum(axis=5),
    "sum axis -1": lambda m, x: m.sum(axis=-1), "sum axis x": lambda m, x: m.sum(axis="x"),
    "sum axis 1.5": lambda m, x: m.sum(axis=1.5), "mean": lambda m, x: m.mean(axis=0),
    "mean dtype": lambda m, x: m.mean(dtype="int64"), "max axis": lambda m, x: m.max(axis=1),
    "max axis 3": lambda m, x: m.max(axis=3), "argmax": lambda m, x: m.argmax(axis=0),
    "min empty": lambda m, x: m[:0].min(), "row out": lambda m, x: m[7], "col out": lambda m, x: m[:, 9],
    "elem out": lambda m, x: m[3, 0], "elem neg": lambda m, x: m[-1, -1], "idx float": lambda m, x: m[1.5],
    "idx str": lambda m, x: m["x"], "idx 3": lambda m, x: m[0, 0, 0],
    "mask": lambda m, x: m[x(np.array([True, False, True]))], "mask bad": lambda m, x: m[x(np.array([True, False]))],
    "fancy": lambda m, x: m[x(np.array([0, 2])), x(np.array([1, 3]))],
    "fancy bad": lambda m, x: m[x(np.array([0, 9])), x(np.array([1, 3]))],
    "fancy shape": lambda m, x: m[x(np.array([0, 2, 1])), x(np.array([1, 3]))], "slice step": lambda m, x: m[::2, ::-1],
    "ellipsis": lambda m, x: m[..., 0], "reshape": lambda m, x: m.reshape(4, 3),
    "reshape bad": lambda m, x: m.reshape(5, 3), "reshape -1": lambda m, x: m.reshape(-1, 2),
    "reshape order": lambda m, x: m.reshape((4, 3), order="F"),
    "reshape order bad": lambda m, x: m.reshape((4, 3), order="Z"), "astype": lambda m, x: m.astype("complex64"),
    "astype bad": lambda m, x: m.astype("nope"), "astype str": lambda m, x: m.astype("U3"),
    "asformat": lambda m, x: m.asformat("csc"), "asformat bad": lambda m, x: m.asformat("nope"),
    "diagonal": lambda m, x: m.diagonal(1), "diagonal far": lambda m, x: m.diagonal(9),
    "setdiag": lambda m, x: written(m, lambda c: c.setdiag(5, 1)),
    "setdiag bad": lambda m, x: written(m, lambda c: c.setdiag(5, 9)), "power": lambda m, x: m.power(2),
    "power neg": lambda m, x: m.power(-1), "pow": lambda m, x: m[:, :3] ** 2, "pow neg": lambda m, x: m[:, :3] ** (-1),
    "pow float": lambda m, x: m[:, :3] ** 1.5, "pow rect": lambda m, x: m**2, "trace": lambda m, x: m.trace(),
    "trace off": lambda m, x: m.trace(9), "div": lambda m, x: m / 2, "div sparse": lambda m, x: m / m,
    "rdiv": lambda m, x: 1 / m, "neg": lambda m, x: -m, "abs": lambda m, x: abs(m), "eq": lambda m, x: m == m,
    "eq shape": lambda m, x: m == m[:2], "lt": lambda m, x: m < 3, "gt": lambda m, x: m > m.T.T,
    "nonzero": lambda m, x: m.nonzero(), "dot str": lambda m, x: m.dot("x"), "transpose": lambda m, x: m.transpose(),
    "transpose axes": lambda m, x: m.transpose((1, 0)), "transpose bad": lambda m, x: m.transpose((0, 0)),
    "toarray order": lambda m, x: m.toarray(order="F"), "toarray out": lambda m, x: m.toarray(out=x(np.zeros((2, 2)))),
    "count_nonzero": lambda m, x: m.count_nonzero(axis=0), "getnnz": lambda m, x: m.nnz, "bool": lambda m, x: bool(m),
    "len": lambda m, x: len(m), "iter": lambda m, x: [r.toarray() if hasattr(r, "toarray") else r for r in m],
    "conj": lambda m, x: m.conjugate(), "maximum": lambda m, x: m.maximum(0), "maximum 1": lambda m, x: m.maximum(1),
    "sqrt": lambda m, x: m.sqrt(), "setitem": lambda m, x: written(m, lambda c: c.__setitem__((0, 0), 7)),
    "setitem out": lambda m, x: written(m, lambda c: c.__setitem__((9, 0), 7)),
    "setitem shape": lambda m, x: written(m, lambda c: c.__setitem__((slice(0, 2), 0), x(np.ones(3)))),
    "ctor neg": lambda m, x: type(m)((-1, 2)), "ctor float": lambda m, x: type(m)((1.5, 2)),
    "ctor str": lambda m, x: type(m)("x"), "ctor none": lambda m, x: type(m)(None),
    "ctor len": lambda m, x: type(m)((x(np.ones(3)), (x(np.array([0, 1])), x(np.array([0, 1]))))),
    "ctor dtype": lambda m, x: type(m)(x(A), dtype="float16"), "ctor shape": lambda m, x: type(m)(x(A), shape=(2, 2)),
    "ctor idx": lambda m, x: type(m)((x(np.ones(2)), (x(np.array([0, 5])), x(np.array([0, 1])))), shape=(3, 3)),
    "ctor negidx": lambda m, x: type(m)((x(np.ones(2)), (x(np.array([0, -1])), x(np.array([0, 1])))), shape=(3, 3)),
}  # fmt: skip

#: Where ours is asked for CSR first, or where NumPy's and SciPy's classes of errors differ for a reason: what no device
#: holds is a TypeError here.
DTYPES = {"astype str", "ctor str", "ctor none"}


def _dense(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [_dense(part) for part in x]
    x = x.toarray() if hasattr(x, "toarray") else x
    return np.asarray(x.get() if isinstance(x, cp.ndarray) else x)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "coo_matrix"])
def test_calls(kind: str, name: str) -> None:
    call = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = outcome(lambda: _dense(call(getattr(scipy_sparse, kind)(A), np.asarray)))
        ours = outcome(lambda: _dense(call(getattr(sparse, kind)(cp.asarray(A)), cp.asarray)))
    if isinstance(ours, NotImplementedError):
        return
    if "coo" in kind and (name == "iter" or (isinstance(ours, TypeError) and "tocsr()" in str(ours))):
        return  # of SciPy's some are subscriptable, some are not
    if name == "fancy bad" and cp.get_device() != "cpu":
        return  # index arrays wrap on a GPU, where they are not looked at
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"SciPy raises {theirs!r}, ours gives {ours!r}"
        related = isinstance(ours, type(theirs)) or isinstance(theirs, type(ours))
        assert related or name in DTYPES, f"SciPy raises {theirs!r}, ours {ours!r}"
        return
    if isinstance(ours, Exception):
        raise ours
    for mine, other in zip(*(x if isinstance(x, list) else [x] for x in (ours, theirs)), strict=True):
        assert mine.shape == other.shape
        assert mine.dtype.kind == other.dtype.kind
        np.testing.assert_allclose(mine, other, rtol=1e-12)


def test_resize_names_the_alternative() -> None:
    with pytest.raises(NotImplementedError, match=r"resize.*bmat"):
        sparse.csr_array(cp.asarray(A)).resize(2, 5)


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "coo_matrix"])
def test_dense_results(kind: str) -> None:
    """Extremes with a dense array and quotients of two matrices have values everywhere: dense arrays."""
    a = getattr(sparse, kind)(cp.asarray(A))
    with np.errstate(all="ignore"):
        quotient = A / A
    for found, expected in [(a.maximum(cp.asarray(A.T[:3, :1])), np.maximum(A, A.T[:3, :1])), (a / a, quotient)]:
        assert isinstance(found, cp.ndarray)
        np.testing.assert_array_equal(found.get(), expected)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_true_twice_is_one(format: str) -> None:
    """Sums and means of bool count positions, not entries, and leave the entries as they are."""
    at = cp.array([0, 0, 1]), cp.array([1, 1, 2])
    a = sparse.coo_array((cp.array([True, True, True]), at), shape=(2, 3)).asformat(format)
    entries = a.nnz
    assert int(a.sum()) == 2
    assert a.sum(axis=0).tolist() == [0, 1, 1]
    assert a.sum(axis=1).tolist() == [1, 1]
    assert float(a.mean()) == pytest.approx(1 / 3)
    assert a.nnz == entries


def test_blocks_of_tuples() -> None:
    """A tuple of two numbers is a row, not a shape."""
    assert sparse.block_diag([(1, 2), [[3]]]).toarray().tolist() == [[1, 2, 0], [0, 0, 3]]
