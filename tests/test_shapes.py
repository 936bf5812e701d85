"""What programs of ever new shapes leave behind, by the engine's counters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import cuprous as cp

#: Distinct shapes; with 100,000 it takes some seconds.
COUNT = int(os.environ.get("CUPROUS_TEST_SHAPES", "12000"))
#: Prints the counters, the peak of memory in KiB after half of the shapes, and that at the end.
RUN = """
import itertools, json, resource, sys
import cuprous as cp

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

count = int(sys.argv[1])
first = cp._core.stats()
for n, shape in enumerate(itertools.islice(itertools.product(range(1, 8), repeat=6), count)):
    a = cp.ones(shape, "float32")
    assert float((a.T + a.T * 2).sum()) == 3 * a.size
    if n == count // 2:
        half = peak()
last = cp._core.stats()
print(json.dumps([{name: last[name] - first[name] for name in ("planned", "keys_seen")} | {
    name: last[name] for name in ("programs_kept", "layouts_kept")}, half, peak()]))
"""


def test_new_shapes_leave_memory_and_look_ups_bounded() -> None:
    done = subprocess.run([sys.executable, "-c", RUN, str(COUNT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts, half, end = json.loads(done.stdout)
    assert counts["planned"] >= COUNT
    assert counts["programs_kept"] <= 1024, "programs are dropped"
    assert counts["layouts_kept"] <= 1 << 15 < 3 * COUNT, "layouts of dropped programs are swept"
    assert counts["keys_seen"] <= 6 * counts["planned"], "neither finding nor dropping a program looks at all of them"
    assert end - half < 8 << 10, "memory in KiB"


def _lowered(run: Callable[[], object]) -> int:
    """Returns how many kernels the CPU device lowered during a run."""
    before = cp._core.stats()["kernels_lowered"]
    run()
    return cp._core.stats()["kernels_lowered"] - before


needs_cpu = pytest.mark.skipif("kernels_lowered" not in cp._core.stats(), reason="counts the CPU device's kernels")


@needs_cpu
def test_kernels_of_equal_layers_are_lowered_once_and_keep_their_own_constants() -> None:
    weight = np.random.RandomState(0).standard_normal((64, 64)).astype("float32") / 8

    def network(n: int, layers: int) -> Any:
        def run(xp: Any) -> Any:
            x, w = xp.ones((n, 64), "float32"), xp.asarray(weight)
            for k in range(layers):
                x = xp.tanh(x @ w) * (k + 2.0) - 1.0
            return x.sum(axis=1)

        return run

    got, counts = [], []
    for n, layers in ((301, 2), (302, 7)):
        run = network(n, layers)
        counts.append(_lowered(partial(lambda run: got.append(cp.asnumpy(run(cp))), run)))
        np.testing.assert_allclose(got[-1], run(np), rtol=1e-4, atol=1e-4)
    assert counts[1] == counts[0], "five more layers need no further kernel"


@needs_cpu
def test_new_shapes_lower_only_the_kernels_that_they_change() -> None:
    fixed = cp.arange(5000, dtype="float64")
    assert float(fixed[-1]) == 4999, "it is in memory"

    def step(n: int) -> None:
        # Sums end the tape's fusion, so that these are kernels of their own.
        total = cp.sum(cp.sqrt(fixed + n) * 2) + cp.sum(cp.ones((n, 3)) * 2)
        assert float(total) == pytest.approx(2 * np.sqrt(np.arange(5000.0) + n).sum() + 6 * n)

    counts = [_lowered(partial(step, n)) for n in range(411, 423)]
    assert counts[1] < counts[0], "the kernels of the fixed array are known"
    assert set(counts[1:]) == {counts[1]}


@pytest.mark.parametrize("shape", [(7,), (2, 3)])
def test_index_ranges_are_checked_whether_the_index_has_run_or_not(shape: tuple[int, ...]) -> None:
    table = cp.arange(40.0).reshape(10, 4)
    size = int(np.prod(shape))
    for start, stop, step in ((0, size, 1), (9 - size, 9, 1), (2 - size, 2, 1), (9, 9 - size, -1)):
        index = np.arange(start, stop, step).reshape(shape)
        want = cp.asnumpy(table)[index]
        fresh = cp.arange(start, stop, step).reshape(shape)
        np.testing.assert_array_equal(cp.asnumpy(table[fresh]), want)
        assert cp.asnumpy(fresh).shape == shape  # now it has run
        np.testing.assert_array_equal(cp.asnumpy(table[fresh]), want)
    if not table.device_name.startswith("cpu"):
        return  # a GPU checks them when it computes
    for bad in (
        cp.arange(11 - size, 11).reshape(shape),
        cp.full(shape, 10),
        cp.full(shape, -11),
        cp.arange(-11, size - 11),
    ):
        with pytest.raises(IndexError):
            table[bad]
    written = cp.zeros(shape, "int64")
    written[...] = 10
    with pytest.raises(IndexError):
        table[written]
