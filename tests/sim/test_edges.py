"""A dependency that the planner would forget gives wrong results: graphs run in any order that their edges allow."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

#: Sorting reads `a` before it is overwritten; a library routine, so that this is no single kernel.
PROGRAM = """
import numpy as np
import cuprous as cp
cp.set_device("cuda")
a, host, wrong = cp.arange(3000.0)[::-1].copy(), np.arange(3000.0)[::-1], 0
for step in range(12):
    ordered = cp.sort(a)
    a *= 0.5
    a += ordered[0] + 1
    expected = np.sort(host)
    host = host * 0.5 + (expected[0] + 1)
    wrong += not np.allclose(cp.asnumpy(a.sum() + ordered[-1]), host.sum() + expected[-1])
print(wrong)
"""
#: What comes after what, by the number of the edge.
EDGES = [
    (None, ""),
    (0, "multiply_f64 comes after sort_rows_f64"),  # a write after a read
    (1, "map_add_f64 comes after pack_of_2_map_multiply_f64"),
    (2, "row_sum_add_f64 comes after map_add_f64"),
]


@pytest.mark.parametrize(("edge", "name"), EDGES)
def test_a_missing_edge_is_caught(edge: int | None, name: str) -> None:
    settings = os.environ["CUPROUS_SIM"] + ("" if edge is None else f",drop={edge}")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "CUPROUS_SIM": settings},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert (int(done.stdout) > 0) == (edge is not None)
    assert name in done.stderr
