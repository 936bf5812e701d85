"""Tests the benchmarks of `bench/`: timed work is really computed, and no time is below the memory bound."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import history, report, rows_cpu, rows_linalg, run, table
from bench.context import Context, Floors, Measured
from bench.peers import cuprous_peer, numpy_peer
from cuprous import _core
from cuprous._tools.demo import bandwidth


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


def entry(machine: str = "AMD EPYC", row: str = "sum", date: str = "2026-01-01", **fields: Any) -> history.Entry:
    ms = fields.pop("ms", {"cuprous": 2.0, "numpy": 5.0, "torch": 4.0, "cuprous.serial": 1.0})
    return history.Entry(date, "abcd1234", machine, 2, "cpu", row, "sum of 1e8 float32", ms, **fields)


def test_the_page_and_the_figure_are_what_the_data_give() -> None:
    assert report.main(["--check"]) == 0


def test_a_page_that_was_edited_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "ROOT", tmp_path)
    for name in ("PAGE", "FIGURE"):
        monkeypatch.setattr(report, name, tmp_path / name)
    assert report.main(["--check"]) == 1
    assert report.main([]) == 0
    assert report.main(["--check"]) == 0
    with (tmp_path / "PAGE").open("a") as file:
        file.write("more")
    assert report.main(["--check"]) == 1


def test_entries_are_read_as_they_were_written(tmp_path: Path) -> None:
    later = entry(date="2026-01-02T10:00:00+00:00", met=False, floor_ms=1.5, errors={"jax": "none"})
    first = entry(ratios={"numba": 0.5}, ms={}, note="noted")
    path = tmp_path / "new" / "machine.jsonl"
    history.append(path, [later])
    history.append(path, [first])
    assert history.load(path) == [first, later]
    assert "note" not in json.loads(path.read_text().splitlines()[0])
    assert first.best == ("numba", 0.5)
    assert later.best == ("torch", 2.0)
    assert later.of_floor == 0.75


def test_every_line_of_the_results_is_an_entry_of_its_file() -> None:
    for path in history.FOLDER.glob("*.jsonl"):
        for e in history.load(path):
            assert history.Machine(e.machine, e.cores or 0, e.device).file == path
            assert (e.ms or e.ratios or e.errors) and e.title, e


def test_rows_of_two_machines_stay_apart() -> None:
    files = {
        "epyc-2core": [entry(), entry(date="2026-01-02", ms={"cuprous": 3.0})],
        "xeon-2core": [entry("Intel(R) Xeon(R) Processor", ms={"cuprous": 7.0})],
    }
    page, history_of_row = report.page(files), report.over_time(files, "sum")
    assert page.count("| `sum` |") == 2
    assert "| 3 ms | - |" in page
    assert "| 7 ms | - |" in page
    assert "| 2 ms |" not in page  # there is a newer one
    assert [line for line in history_of_row.splitlines() if line.endswith("float32")] == [
        "epyc-2core: sum of 1e8 float32",
        "xeon-2core: sum of 1e8 float32",
    ]
    assert all(f"| {ms} ms |" in history_of_row for ms in (2, 3, 7))


@pytest.mark.parametrize(
    "name, device, file",
    [("NVIDIA H200", "cuda", "h200"), ("AMD EPYC", "cpu", "epyc-2core"),
     ("Intel(R) Xeon(R) CPU @ 2.20GHz", "cpu", "xeon-2core"),
     ("AMD EPYC 9B14 96-Core Processor", "cpu", "epyc-9b14-2core"),
     ("NVIDIA GeForce RTX 4090", "cuda", "geforce-rtx-4090")],
)  # fmt: skip
def test_each_machine_has_a_file(name: str, device: str, file: str) -> None:
    assert history.Machine(name, 2, device).file.stem == file


def test_record_adds_to_the_file_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "FOLDER", tmp_path)
    monkeypatch.setattr(run, "one", lambda spec, *_: Measured(spec.name, spec.title, {"cuprous": 1.0, "numpy": 2.0}))
    monkeypatch.setattr(run.floors, "measure", lambda *_: Floors(copy_bytes_per_s=1e10))
    monkeypatch.setattr("sys.argv", ["run", "--record", "--device", "cpu", "--only", "sum", "--without", "torch"])
    assert run.main() == 0
    (path,) = tmp_path.glob("*.jsonl")
    (found,) = history.load(path)
    assert (found.row, found.met, found.dtype, found.copy_gb_s) == ("sum", True, "float32", 10.0)
    assert found.versions["numpy"] == np.__version__
    monkeypatch.setattr("sys.argv", ["run", "--record", "--quick"])
    with pytest.raises(SystemExit):
        run.main()
