"""Programs whose shapes differ at each step compile nothing once they have met each kernel, and ask no library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cuprous.torch as torch
from cuprous import _core

#: New kernels of the later steps.
KERNELS = {
    "generate": 0,
    "cached": 0,
    # A length at which a tape ends at another node has other kernels on both sides of the end.
    "train": 12,
}
#: Prints the counters of the parts of a measurement.
COUNT = """
import json, sys
import cuprous.torch as torch
from bench import shapes
from cuprous import _core

_core.set_device("cuda")
parts = shapes.passes(torch, sys.argv[1], "cuda", 12)
print(json.dumps({part: shapes.counted(_core.stats, run, steps)[0] for part, steps, run in parts}))
"""


@pytest.mark.parametrize("name", KERNELS)
def test_new_lengths_compile_nothing(name: str) -> None:
    # Little work is what fits on the device at once, so the device has as many multiprocessors as a real one.
    env = {**os.environ, "CUPROUS_SIM": os.environ["CUPROUS_SIM"] + ",sms=132"}
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", COUNT, name], env=env, cwd=root, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["new"]["planned"] >= 9
    assert counts["new"]["modules_loaded"] <= KERNELS[name]
    assert counts["fourth"]["planned"] == counts["fourth"]["modules_loaded"] == counts["fourth"]["library_queries"] == 0


def test_products_of_a_class_are_asked_for_once() -> None:
    def queries(rows: int) -> int:
        before = _core.stats()["library_queries"]
        a = torch.zeros(rows, 96, device="cuda") + 1
        assert float((a @ torch.ones(96, 96, device="cuda")).sum()) == rows * 96 * 96
        return _core.stats()["library_queries"] - before

    assert queries(97) == 1
    assert [queries(rows) for rows in (99, 101, 111)] == [0, 0, 0]
