"""ThreadSanitizer on the simulated GPU: a kernel without a barrier is a data race, one with it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = """
from cuprous import cuda

@cuda.jit
def reverse(a):
    part = cuda.shared.array(64, cuda.float64)
    part[cuda.threadIdx.x] = a[cuda.grid(1)]
    {barrier}
    a[cuda.grid(1)] = part[63 - cuda.threadIdx.x]
"""
PROGRAM = """
import sys
import cuprous as cp
cp.set_device("cuda")
sys.path.insert(0, sys.argv[1])
from kernel import reverse
a = cp.arange(64.0)
reverse[1, 64](a)
assert (cp.asnumpy(a + cp.sort(a)) >= 0).all()
"""


@pytest.mark.slow
@pytest.mark.parametrize("barrier", ["cuda.syncthreads()", "pass"])
def test_a_missing_barrier_is_a_data_race(barrier: str, tmp_path: Path) -> None:
    found = subprocess.run(["g++", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True)
    library = found.stdout.strip()
    if not os.path.isabs(library):
        pytest.skip("libtsan is not installed")
    (tmp_path / "kernel.py").write_text(KERNEL.format(barrier=barrier), encoding="utf-8")
    environment = {
        **os.environ,
        "LD_PRELOAD": library,
        "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:exitcode=66",
        "CUPROUS_SIM": f"{os.environ['CUPROUS_SIM']},flag=-fsanitize=thread,flag=-g,cache={tmp_path}",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert ("data race" in done.stderr and "reverse" in done.stderr) == (barrier == "pass"), done.stderr
    assert done.returncode == (66 if barrier == "pass" else 0), done.stderr
