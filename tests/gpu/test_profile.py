"""Tests profiles on a GPU: times by events, kernels inside graphs, copies on a separate stream, implicit waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda


def line_of(mark: str) -> int:
    """Returns the line of this file that ends with that comment."""
    lines = Path(__file__).read_text().splitlines()
    return next(k for k, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))


def step(x: Any) -> Any:
    y = cp.cumsum(x * 2, axis=0)  # scanned
    z = cp.exp(-y).sum()
    return z + (y * y).max()  # ends


def trace(p: cp.profile, folder: Path) -> list[dict[str, Any]]:
    p.save(folder / "trace.json")
    return list(json.loads((folder / "trace.json").read_text())["traceEvents"])


def test_graphs_are_spans_and_some_are_expanded(tmp_path: Path) -> None:
    x = cp.ones((512, 512))
    with cp.profile() as p:
        for _ in range(12):
            float(step(x))  # read
    rows = {row.line: row for row in p.rows if row.file == __file__}
    read = rows[line_of("read")]
    assert (read.copies_out, read.planned, read.replayed) == (12, 1, 11)
    assert read.hidden_syncs == 12 and read.syncs == 0
    assert rows[line_of("scanned")].device_time > 0 and rows[line_of("ends")].device_time > 0
    assert 0 < p.total.device_time < p.total.wall
    events = trace(p, tmp_path)
    work = [e for e in events if e["ph"] == "X" and e["pid"] > 1]
    wholes = [e for e in work if e["cat"] == "program"]
    assert wholes and any(e["cat"] == "step" for e in work)
    steps = len({e["name"] for e in work if e["cat"] == "step"})
    assert p.total.launches % 12 == 0 and p.total.launches >= 12 * steps
    # Every arrow goes forward in time, and no two spans of the stream overlap.
    begins = {e["id"]: e["ts"] for e in events if e["ph"] == "s"}
    assert all(begins[e["id"]] <= e["ts"] for e in events if e["ph"] == "f")
    end = 0.0
    for e in sorted(work, key=lambda e: e["ts"]):
        assert e["ts"] >= end - 50  # tolerance between host and device clocks, in microseconds
        end = max(end, e["ts"] + e["dur"])


def test_results_are_the_same_with_and_without() -> None:
    x = cp.asarray(np.random.default_rng(0).random((300, 40)))
    plain = [float(step(x * k)) for k in range(1, 7)]
    with cp.profile():
        noted = [float(step(x * k)) for k in range(1, 7)]
    assert plain == noted == [float(step(x * k)) for k in range(1, 7)]


def test_copies_have_a_track_of_their_own(tmp_path: Path) -> None:
    host = np.ones(1 << 20, "f4")
    with cp.profile() as p:
        for _ in range(3):
            x = cp.asarray(host)
            (x + 1).get()
    assert (p.total.bytes_in, p.total.bytes_out) == (3 << 22, 3 << 22)
    events = trace(p, tmp_path)
    copies = [e for e in events if e["ph"] == "X" and e["pid"] > 1 and e["cat"] == "copy"]
    assert len(copies) == 3 and all(e["tid"] == 2 and e["args"]["bytes"] == 1 << 22 for e in copies)


@cuda.jit
def double(x: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


def test_kernels_of_the_user_and_waits() -> None:
    x = cp.ones(1 << 20)
    double[4096, 256](x)
    with cp.profile() as p:
        for _ in range(5):
            double[4096, 256](x)  # launched
            cp.synchronize()  # explicit wait
    rows = {row.line: row for row in p.rows if row.file == __file__}
    assert rows[line_of("launched")].launches == 5 and rows[line_of("launched")].device_time > 0
    assert rows[line_of("explicit wait")].syncs in (5, 10)  # for each GPU in use


def test_many_events() -> None:
    """More spans than the event buffer holds at a time."""
    x = cp.ones(64)
    with cp.profile() as p:
        for _ in range(6000):
            x = x * 1.0001
            cp._core.flush()
        cp.synchronize()
    assert p.total.launches == 6000 and p.total.device_time < p.total.wall * 1.05


def test_work_that_fails_under_a_profile() -> None:
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()  # memory left by earlier tests would suffice
    cp._core.set_memory_limit("cuda", pool.total_bytes() + (1 << 24))
    try:
        with cp.profile() as p:
            with pytest.raises(MemoryError):
                (cp.ones(1 << 24) + 1).get()
            float((cp.ones(10) + 1).sum())
    finally:
        cp._core.set_memory_limit("cuda", 0)
    assert p.total.copies_out >= 1
