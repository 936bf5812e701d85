"""The benchmarks of `bench/`: what they time is computed, and no time is below what memory allows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench import rows_cpu, rows_linalg, table
from bench.context import Context, Floors, Measured
from bench.peers import cuprous_peer, numpy_peer
from cuprous import _core
from cuprous._demo import bandwidth


@pytest.fixture
def context() -> Context:
    peers = {"cuprous": cuprous_peer("cpu"), "numpy": numpy_peer()}
    return Context(peers, Floors(copy_bytes_per_s=1e10), "cpu", Measured("row", "a row"), quick=True)


def test_a_time_below_the_memory_bound_is_an_error(context: Context) -> None:
    n = 1 << 22
    context.moves(16 * n)
    source, target = np.ones(n), np.empty(n)

    def copy() -> np.ndarray:
        np.copyto(target, source)
        return target

    context.time("numpy", lambda _: copy)
    context.time("cuprous", lambda _: lambda: target)  # nothing is computed
    assert context.row.ms.keys() == {"numpy"}
    assert "ImpossibleTimeError" in context.row.errors["cuprous"]
    assert "GB/s" in context.row.errors["cuprous"]


def test_work_without_a_result_is_an_error(context: Context) -> None:
    context.time("cuprous", lambda _: lambda: None)
    assert "return its results" in context.row.errors["cuprous"]


def test_results_are_held_until_the_wait(context: Context) -> None:
    """A dropped result is not computed, so each row's operations must still be recorded when it waits."""
    p = context.peers["cuprous"]
    x = p.module.ones(1000)
    _core.synchronize()
    for kept in (True, False):
        before = _core.stats()["steps"]
        result = x * 2
        if not kept:
            result = None
        p.sync(result)
        assert (_core.stats()["steps"] > before) == kept


@pytest.mark.parametrize(
    "row",
    [rows_cpu.chain, rows_cpu.small_ops, rows_cpu.total, rows_cpu.matmul(256, "float32"), rows_cpu.turned(True),
     rows_linalg.decomposition("svd", 200, 200), rows_linalg.decomposition("qr", 200, 200)],
)  # fmt: skip
def test_rows_pass_their_own_checks(context: Context, row: Callable[[Context], None]) -> None:
    row(context)
    assert not context.row.errors, context.row.errors
    assert {"cuprous", "numpy"} <= context.row.ms.keys()


def test_decompositions_return_all_that_numpy_computes(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: dict[str, int] = {}

    def time(peer: str, setup: Callable[[Any], Callable[[], Any]], *_: Any, **__: Any) -> None:
        if peer in context.peers:
            lengths[peer] = len(setup(context.peers[peer])())

    monkeypatch.setattr(context, "time", time)
    for name, count in (("svd", 3), ("qr", 2), ("eigh", 2), ("eig", 2)):
        rows_linalg.decomposition(name, 64, 64)(context)
        assert lengths == {"cuprous": count, "numpy": count}, name


def test_every_row_has_a_name_of_its_own() -> None:
    for specs in (table.CPU, table.GPU):
        names = [spec.name for spec in specs]
        assert len(names) == len(set(names))


def test_bandwidth_is_measured_again_before_a_time_is_refused() -> None:
    rates = iter([1e9, 4e9])
    bound = bandwidth.Bound(10**9, lambda _: next(rates))
    bound.check(0.25)  # too short for the first rate, right for the second
    assert bound.bandwidth == 4e9
    slow = bandwidth.Bound(10**9, lambda _: 1e9)
    with pytest.raises(bandwidth.ImpossibleTimeError, match=r"250 ms .* 1e\+03 ms"):
        slow.check(0.25)


def test_copy_bandwidth_is_of_this_machine() -> None:
    start = time.perf_counter()
    assert 1e8 < bandwidth.of_cpu(1 << 24, 0.02) < 1e13
    assert 1e8 < bandwidth.of_cpu(1 << 12, 0.02) < 1e13
    assert time.perf_counter() - start < 5
