"""Compares dask.array with Cuprous chunks to NumPy chunks; the chunks must stay Cuprous arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.peers.remainder import Remainder, compare
from tests.peers.session import run, stored
from tests.peers.suites import SUITES
from tests.robust.helpers import output
from tests.support import assert_same

dask = pytest.importorskip("dask", reason="dask is not installed (requirements-clients.txt)")
da = pytest.importorskip("dask.array", reason="dask[array] is not installed (requirements-clients.txt)")


@pytest.fixture(autouse=True)
def _synchronous() -> Iterator[None]:
    """Uses one thread, so that errors surface at their origin."""
    with dask.config.set(scheduler="synchronous"):
        yield


def _written(a: Any) -> Any:
    a = a.copy()
    a[2:4] = 7
    a[a > 1] = 0
    return a


def _tall(a: Any) -> Any:
    """Returns a matrix for dask's decompositions: chunked along one axis, with tall chunks."""
    return a[:, :6].rechunk((10, -1))


X = np.random.default_rng(0).standard_normal((40, 30))
CALLS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda a: da.exp(a) * 2 - a / 3, "map_blocks": lambda a: a.map_blocks(lambda block: block * block),
    "map_overlap": lambda a: da.map_overlap(lambda block: block * 2, a, depth=1, boundary="reflect"),
    "matmul": lambda a: a @ a.T, "dot": lambda a: da.dot(a, a.T),
    "tensordot": lambda a: da.tensordot(a, a, axes=([0], [0])), "einsum": lambda a: da.einsum("ij,ij->i", a, a),
    "outer": lambda a: da.outer(a[:, 0], a[0]),
    **{
        f"{name} {axis}": lambda a, name=name, axis=axis: getattr(da, name)(a, axis=axis)
        for name in ("sum", "mean", "std", "var", "max", "min", "nansum", "nanmean", "nanmax", "ptp", "average")
        for axis in (None, 0, 1)
        if (name, axis) != ("ptp", None)
    },
    "mean keepdims": lambda a: a.mean(axis=(0, 1), keepdims=True), "mean of a negative axis": lambda a: a.mean(axis=-1),
    "var ddof": lambda a: a.var(ddof=1), "moment": lambda a: da.reductions.moment(a, 3),
    "argmax": lambda a: a.argmax(axis=0), "nanargmin": lambda a: da.nanargmin(a, axis=1),
    "any": lambda a: (a > 2).any(axis=0), "all": lambda a: (a < 9).all(),
    "count_nonzero": lambda a: da.count_nonzero(a > 0, axis=0), "cumsum": lambda a: a.cumsum(axis=0),
    "cumsum blelloch": lambda a: a.cumsum(axis=0, method="blelloch"), "cumprod": lambda a: da.cumprod(a, axis=1),
    "diff": lambda a: da.diff(a, axis=0), "cov": lambda a: da.cov(a), "corrcoef": lambda a: da.corrcoef(a),
    "norm": lambda a: da.linalg.norm(a), "norm 1": lambda a: da.linalg.norm(a, ord=1),
    "norm nuc": lambda a: da.linalg.norm(_tall(a), ord="nuc"), "norm 2": lambda a: da.linalg.norm(_tall(a), ord=2),
    "qr": lambda a: da.concatenate(da.linalg.qr(_tall(a))),
    "qr wide": lambda a: da.concatenate(da.linalg.sfqr(_tall(a).T), axis=1),
    "svd": lambda a: da.linalg.svd(_tall(a))[0], "svd values": lambda a: da.linalg.svd(_tall(a))[1],
    "svd wide": lambda a: da.linalg.svd(_tall(a).T)[2], "fft": lambda a: da.fft.fft(a.rechunk((13, 30))),
    "percentile": lambda a: da.percentile(a.reshape(-1), [25, 50]),
    "percentile lower": lambda a: da.percentile(a.reshape(-1), 40, method="lower"),
    "quantile": lambda a: da.quantile(a.rechunk((40, 7)), 0.3, axis=0), "median": lambda a: da.median(a, axis=0),
    "topk": lambda a: da.topk(a, 3, axis=0), "unique": lambda a: da.unique((a * 2).round().astype("i8").reshape(-1)),
    "histogram": lambda a: da.histogram(a, bins=10, range=(-3, 3))[0],
    "bincount": lambda a: da.bincount(abs(a * 3).astype("i8").reshape(-1), minlength=20),
    "searchsorted": lambda a: da.searchsorted(abs(a[:, 0]).cumsum(axis=0), a[0]), "transpose": lambda a: a.T,
    "reshape": lambda a: a.reshape(-1), "slices": lambda a: a[3:20:2, ::-1], "list of indices": lambda a: a[[1, 5, 30]],
    "mask": lambda a: a[:, 0][a[:, 0] > 0], "vindex": lambda a: a.vindex[[1, 2], [3, 4]], "write": _written,
    "concatenate": lambda a: da.concatenate([a, a], axis=1), "stack": lambda a: da.stack([a, a]),
    "where": lambda a: da.where(a > 0, a, 0), "pad": lambda a: da.pad(a, 2, mode="reflect"),
    "roll": lambda a: da.roll(a, 3, axis=0), "tile": lambda a: da.tile(a, (2, 1)),
    "repeat": lambda a: da.repeat(a, 2, axis=1), "clip": lambda a: da.clip(a, -1, 1), "round": lambda a: a.round(2),
    "astype": lambda a: a.astype("f4").sum(axis=0, dtype="f8"), "rechunk": lambda a: a.rechunk((10, 10)),
    "broadcast_to": lambda a: da.broadcast_to(a, (2, 40, 30)), "tril": lambda a: da.tril(a),
    "ones_like": lambda a: da.ones_like(a), "full_like": lambda a: da.full_like(a, 3),
    "apply_along_axis": lambda a: da.apply_along_axis(lambda v: v.sum(), 0, a),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # dask's advice on sizes of chunks
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_as_numpy(call: Callable[[Any], Any]) -> None:
    ours = call(da.from_array(cp.asarray(X), chunks=(13, 7))).compute()
    assert isinstance(ours, cp.ndarray)
    assert_same(ours, call(da.from_array(X, chunks=(13, 7))).compute(), rtol=1e-9, atol=1e-12)


def test_backend() -> None:
    """dask's creation functions make Cuprous chunks if its configuration selects them."""
    with dask.config.set({"array.backend": "cuprous"}):
        made = [da.ones((4, 4), chunks=2), da.zeros(3), da.full(4, 7, chunks=2), da.arange(5, chunks=2), da.empty(3)]
        normal = da.random.default_rng(0).normal(size=(6, 4), chunks=3)
        again = da.random.default_rng(0).normal(size=(6, 4), chunks=3)
        legacy = da.random.RandomState(0).uniform(size=6, chunks=3)
    for a in (*made, normal, legacy):
        assert isinstance(a._meta, cp.ndarray)
        assert isinstance(a.compute(), cp.ndarray)
    assert_same(made[3].compute(), np.arange(5))
    assert_same(again.compute(), normal.compute().get())
    assert len(np.unique(normal.compute().get())) == 24  # chunks draw different numbers


@pytest.mark.parametrize("imports", ["dask.array, cuprous", "cuprous, dask.array"])
def test_order_of_imports(imports: str) -> None:
    code = f"import {imports}\nprint(dask.array.from_array(cuprous.arange(4.0), chunks=3).var().compute())"
    assert output(code) == "1.25"


#: Calls in which dask creates arrays, which needs the Cuprous backend.
WITH_BACKEND: dict[str, Callable[[Any], Any]] = {
    "argtopk": lambda a: da.argtopk(a, 3, axis=0),
    "nonzero": lambda a: da.nonzero(a > 1)[1],
    "argwhere": lambda a: da.argwhere(a > 1),
}


@pytest.mark.parametrize("call", WITH_BACKEND.values(), ids=WITH_BACKEND)
def test_as_numpy_with_the_backend(call: Callable[[Any], Any]) -> None:
    with dask.config.set({"array.backend": "cuprous"}):
        ours = call(da.from_array(cp.asarray(X), chunks=(13, 7))).compute()
    assert isinstance(ours, cp.ndarray)
    assert_same(ours, call(da.from_array(X, chunks=(13, 7))).compute())


def test_randomised_svd() -> None:
    low = X[:, :3] @ X[:3]
    with dask.config.set({"array.backend": "cuprous"}):
        u, s, v = da.linalg.svd_compressed(da.from_array(cp.asarray(low), chunks=(10, 10)), 3, seed=0)
        again = ((u * s) @ v).compute()
    assert isinstance(again, cp.ndarray)
    assert_same(again, low, rtol=1e-9, atol=1e-9)


def test_round_trip() -> None:
    a = da.from_array(np.arange(6), chunks=4)
    ours = a.to_backend("cuprous")
    assert isinstance(ours.compute(), cp.ndarray)
    assert isinstance(ours.to_backend("numpy").compute(), np.ndarray)


def test_positions_of_extremes_stay_on_the_device() -> None:
    """dask first tries an array of records, which no device has. None of it may be moved to the host for that."""
    with cp.set_transfers("allow"):
        position = da.argmax(da.from_array(cp.asarray(X), chunks=(13, 7)), axis=0).compute()
    assert isinstance(position, cp.ndarray)
    assert_same(position, X.argmax(axis=0))


def test_sparse_chunks() -> None:
    """Products, concatenation and selection of chunks that are sparse matrices."""
    sparse = cp.scipy.sparse
    dense = np.where(np.abs(X) > 1, X, 0)
    blocks = da.from_array(cp.asarray(dense), chunks=(20, 15), asarray=False).map_blocks(
        sparse.csr_matrix, meta=sparse.csr_matrix((0, 0))
    )
    both = da.concatenate([blocks, blocks], axis=1).compute()
    assert_same(both.toarray(), np.hstack([dense, dense]))
    assert_same(blocks[[3, 25]].compute().toarray(), dense[[3, 25]])
    product = da.dot(blocks, blocks.T).compute()
    assert_same(product.toarray(), dense @ dense.T, rtol=1e-12, atol=1e-12)


def test_size_is_that_of_the_elements() -> None:
    from dask.sizeof import sizeof

    assert sizeof(cp.ones(1000)) == 8000


def test_results_are_computed_when_their_task_ends() -> None:
    """Workers ask for the size of each result, and of the first ones of a tuple."""
    from dask.sizeof import sizeof

    x = cp.ones(1000) + cp.arange(1000)
    q, r = cp.linalg.qr(cp.ones((40, 4)) + cp.eye(40, 4))
    assert sizeof(x) == 8000 and sizeof((q, r)) > 1000
    steps = cp._core.stats()["steps"]
    assert x.get()[2] == 3 and r.get().shape == (4, 4)
    assert cp._core.stats()["steps"] == steps


def test_equal_arrays_have_equal_names() -> None:
    a, b, c = (da.from_array(cp.asarray(x)) for x in (X, X.copy(), X + 1))
    assert a.name == b.name != c.name


def test_dasks_own_tests(tmp_path: Path) -> None:
    """Some of its tests of CuPy's chunks; `make peers ARGS=dask` runs all."""
    suite = SUITES["dask"]
    remainder = Remainder.read(suite.remainder)
    if f"dask.array {dask.__version__} " not in remainder.header:
        pytest.skip("the list is about another version of dask")
    root = suite.find()
    assert root is not None
    files = [root / f"array/tests/test_cupy_{name}.py" for name in ("reductions", "sparse")]
    run(suite, root, files, tmp_path / "results.jsonl")
    found = compare(stored(tmp_path / "results.jsonl"), remainder)
    assert found.passed >= 17 and not found.unexpected and not found.stale
