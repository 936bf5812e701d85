"""Rows of selection, sparse products and image filters, compared with CuPy and PyTorch on a GPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.context import Context
from bench.peers import Peer
from bench.timing import assert_close

Arrays = tuple[np.ndarray, ...]
Row = Callable[[Context], None]


def routine(
    make: Callable[[Context], Arrays],
    calls: dict[str, Callable[..., Any]],
    check: Callable[..., None],
) -> Row:
    """A row in which each peer's call gets its module and its copies of the arrays; `check` gets the arrays and what
    Cuprous returned first."""

    def row(c: Context) -> None:
        hosts = make(c)
        c.row.least_bytes = hosts[0].nbytes

        def setup(p: Peer) -> Callable[[], Any]:
            arrays = [p.asarray(host) for host in hosts]
            call = calls[p.name]
            return lambda: call(p.module, *arrays)

        for peer in calls:
            c.time(peer, setup, lambda got: check(*hosts, got), runs=5)

    return row


def drawn(n: int, dtype: str, below: int = 0) -> Callable[[Context], Arrays]:
    """Returns one array of random numbers in [0, 1), or of integers below a bound."""

    def make(c: Context) -> Arrays:
        size = c.size(n)
        return (c.rng.integers(0, below, size, dtype=dtype) if below else c.rng.random(size, dtype=dtype),)  # type: ignore[call-overload]

    return make


def must(holds: bool, what: str) -> None:
    if not holds:
        raise ArithmeticError(what)


def numbers_in_a_table(c: Context) -> Arrays:
    table = np.unique(c.rng.integers(0, 1 << 30, c.size(1_000_000), dtype=np.int32))
    return c.rng.integers(0, 1 << 30, c.size(10_000_000), dtype=np.int32), table


def all_alike(*names: str) -> Callable[[Callable[..., Any]], dict[str, Callable[..., Any]]]:
    """Registers the same call for each of these peers."""
    return lambda call: dict.fromkeys(names, call)


SELECTING: dict[str, tuple[str, Row]] = {
    "argsort": (
        "argsort of 1e8 float32",
        routine(
            drawn(100_000_000, "float32"),
            all_alike("cuprous", "cupy", "torch")(lambda m, a: m.argsort(a)),
            lambda a, got: must(bool((np.diff(a[got]) >= 0).all()), "not in order"),
        ),
    ),
    "unique": (
        "unique of 1e8 int32 of 1e6 values",
        routine(
            drawn(100_000_000, "int32", 1_000_000),
            all_alike("cuprous", "cupy", "torch")(lambda m, a: m.unique(a)),
            lambda a, got: must(bool((np.flatnonzero(np.bincount(a)) == got).all()), "not its values"),
        ),
    ),
    "uniqueall": (
        "unique of 1e8 int32 of 1e6 values, with inverse and counts",
        routine(
            drawn(100_000_000, "int32", 1_000_000),
            {
                **all_alike("cuprous", "cupy")(lambda m, a: m.unique(a, return_inverse=True, return_counts=True)),
                "torch": lambda m, a: m.unique(a, return_inverse=True, return_counts=True),
            },
            lambda a, got: must(bool((np.flatnonzero(np.bincount(a)) == got).all()), "not its values"),
        ),
    ),
    "topk": (
        "the 100 largest of 1e8 float32",
        routine(
            drawn(100_000_000, "float32"),
            all_alike("cuprous", "torch")(lambda m, a: m.topk(a, 100)),
            lambda a, got: must(bool((np.sort(np.partition(a, -100)[-100:])[::-1] == got).all()), "not the largest"),
        ),
    ),
    "lexsort": (
        "lexsort of 2 x 1e7 float32",
        routine(
            lambda c: (c.rng.random((2, c.size(10_000_000)), dtype=np.float32),),
            all_alike("cuprous", "cupy")(lambda m, a: m.lexsort(a)),
            lambda a, got: must(bool((np.diff(a[1][got]) >= 0).all()), "not in order"),
        ),
    ),
    "searchsorted": (
        "searchsorted of 1e7 in 1e6 int32",
        routine(
            numbers_in_a_table,
            {
                **all_alike("cuprous", "cupy")(lambda m, a, table: m.searchsorted(table, a)),
                "torch": lambda m, a, table: m.searchsorted(table, a),
            },
            lambda a, table, got: must(bool((np.searchsorted(table, a) == got).all()), "other places"),
        ),
    ),
    "isin": (
        "isin of 1e7 in 1e6 int32",
        routine(
            numbers_in_a_table,
            all_alike("cuprous", "cupy", "torch")(lambda m, a, table: m.isin(a, table)),
            lambda a, table, got: must(bool((np.isin(a, table) == got).all()), "other answers"),
        ),
    ),
}


def sparse_product(columns: int) -> Row:
    """Returns a row: a float32 CSR matrix of 1e6 rows, 20 values each, times a vector or some columns."""

    def row(c: Context) -> None:
        n, each = c.size(1_000_000), 20
        places = np.sort(c.rng.integers(0, n, (n, each), dtype=np.int32), axis=1)
        parts = (
            c.rng.random(n * each, dtype=np.float32),
            places.reshape(-1),
            np.arange(n + 1, dtype=np.int32) * each,
        )
        right = c.rng.random((n, columns) if columns > 1 else n, dtype=np.float32)
        c.row.least_bytes = sum(part.nbytes for part in parts)

        def setup(p: Peer) -> Callable[[], Any]:
            x, (values, indices, starts) = p.asarray(right), (p.asarray(part) for part in parts)
            if p.name == "torch":
                matrix = p.module.sparse_csr_tensor(starts, indices, values, size=(n, n))
            else:
                home = "cuprous" if p.name == "cuprous" else "cupyx"
                matrix = importlib.import_module(home + ".scipy.sparse").csr_matrix((values, indices, starts), (n, n))
            return lambda: matrix @ x

        def check(got: np.ndarray) -> None:
            values = parts[0].reshape(n, each)[:1000].astype(np.float64)
            assert_close(got[:1000], np.einsum("rk,rk...->r...", values, right[places[:1000]].astype(np.float64)), 1e-5)

        for peer in ("cuprous", "cupy", "torch"):
            c.time(peer, setup, check, runs=5)

    return row


def filtered(name: str, *options: Any, border: int = 16, **words: Any) -> Row:
    """Returns a row for a function of `scipy.ndimage` on a 4096² float32 image.

    The corner of the result is compared with SciPy's.
    """

    def row(c: Context) -> None:
        n = 512 if c.quick else 4096
        host = c.rng.random((n, n), dtype=np.float32)
        c.row.least_bytes = 2 * host.nbytes

        def check(got: np.ndarray) -> None:
            scipy = importlib.import_module("scipy.ndimage")
            corner = getattr(scipy, name)(host[:256, :256].astype(np.float64), *options, **words)
            inner = np.s_[border : 256 - border, border : 256 - border]
            assert_close(got[:256, :256][inner], corner[inner], 1e-4)

        def setup(p: Peer) -> Callable[[], Any]:
            home = "cuprous" if p.name == "cuprous" else "cupyx"
            function, image = getattr(importlib.import_module(home + ".scipy.ndimage"), name), p.asarray(host)
            return lambda: function(image, *options, **words)

        for peer in ("cuprous", "cupy"):
            c.time(peer, setup, check, runs=5)

    return row


FILTERS: dict[str, tuple[str, Row]] = {
    "uniform": ("uniform filter (size 7) of 4096²", filtered("uniform_filter", 7)),
    "median": ("median filter (size 3) of 4096²", filtered("median_filter", 3)),
    "sobel": ("Sobel filter of 4096²", filtered("sobel")),
    "opening": ("gray opening (size 5) of 4096²", filtered("grey_opening", 5)),
    "shift3": ("cubic spline shift of 4096²", filtered("shift", (1.5, -2.25), order=3, border=32)),
}
SPARSE: dict[str, tuple[str, Row]] = {
    "spmv": ("sparse 1e6² (2e7 values) times a vector, float32", sparse_product(1)),
    "spmm": ("sparse 1e6² (2e7 values) times a dense matrix of 64 columns, float32", sparse_product(64)),
}
ROWS = {**SELECTING, **SPARSE, **FILTERS}
