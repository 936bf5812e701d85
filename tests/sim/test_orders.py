"""Kernels that wait for others give the same results when the last blocks and waves of a launch run first."""

from __future__ import annotations

import os
import subprocess
import sys

#: Tests of kernels whose blocks read what other blocks write: components, scans and sorts of several tiles.
TESTS = ["tests/gpu/test_generated.py", "-k", "components or scans or sorts or masks"]


def test_blocks_in_backward_order() -> None:
    settings = {"CUPROUS_SIM": f"{os.environ['CUPROUS_SIM']},order=backward"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *TESTS],
        env={**os.environ, **settings}, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
