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

#: The passes over the lengths, by program.
PROGRAMS = {"generate": 4, "cached": 4, "train": 1, "lstm": 1}
#: New kernels of the later lengths. The steps of an LSTM without cuDNN are recorded one by one, so a tape may end in
#: the last steps of a pass, where none has ended before.
KERNELS = {"lstm": 2}
#: Prints the counters of the parts of a measurement.
COUNT = """
import json, sys
import cuprous.torch as torch
from bench import shapes
from cuprous import _core

_core.set_device("cuda")
parts = list(zip(shapes.passes(torch, sys.argv[1], "cuda", 12), range(1 + int(sys.argv[2]))))
print(json.dumps({part: shapes.counted(_core.stats, run, steps)[0] for (part, steps, run), _ in parts}))
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_new_lengths_compile_nothing(name: str) -> None:
    # Little work is what fits on the device at once, so the device has as many multiprocessors as a real one.
    env = {**os.environ, "CUPROUS_SIM": os.environ["CUPROUS_SIM"] + ",sms=132"}
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COUNT, name, str(PROGRAMS[name])],
        env=env,
        cwd=root,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    new = counts["new"]
    assert new["kernels_compiled"] <= new["modules_loaded"] <= KERNELS.get(name, 0)
    # Each length is planned once, in programs of enough nodes, and no other program is looked at.
    assert 9 <= new["planned"] <= 9 + new["nodes"] / 32
    assert new["keys_seen"] == 0
    # No more questions than products, and none about a length that is known.
    assert new["library_queries"] <= new["steps"] - new["kernels_generated"] + new["planned"]
    if PROGRAMS[name] > 1:
        fourth = counts["fourth"]
        assert fourth["planned"] == fourth["modules_loaded"] == fourth["library_queries"] == 0


def test_products_of_a_class_are_asked_for_once() -> None:
    def queries(rows: int) -> int:
        before = _core.stats()["library_queries"]
        a = torch.zeros(rows, 96, device="cuda") + 1
        assert float((a @ torch.ones(96, 96, device="cuda")).sum()) == rows * 96 * 96
        return _core.stats()["library_queries"] - before

    assert queries(97) == 1
    assert [queries(rows) for rows in (99, 101, 111)] == [0, 0, 0]
