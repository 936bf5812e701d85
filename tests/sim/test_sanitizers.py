"""Sanitizers on the simulated GPU: a kernel without a barrier is a data race, a write beyond an array is reported."""

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


BOUNDS = """
import sys
import cuprous as cp
cp.set_device("cuda")
write = cp.RawKernel('''extern "C" __global__ void write(float* a, int n) {{
    __shared__ float part[32];
    int x = threadIdx.x;
    part[{shared}] = 1.0f;
    __syncthreads();
    if (n < 0) part[0] = a[0];
    a[threadIdx.x] = part[threadIdx.x % 32];
}}''', "write")
a = cp.zeros({size}, dtype="float32")
write((1,), (32,), (a, 0))
assert cp.asnumpy(a)[0] == 1
"""


def under(
    library: str, options: dict[str, str], flags: str, program: list[str], cache: Path
) -> subprocess.CompletedProcess[str]:
    """Runs a program with a sanitizer of g++, in its kernels too."""
    found = subprocess.run(["g++", f"-print-file-name={library}"], capture_output=True, text=True, check=True)
    path = found.stdout.strip()
    if not os.path.isabs(path):
        pytest.skip(f"{library} is not installed")
    environment = {
        **os.environ,
        **options,
        "LD_PRELOAD": path,
        "CUPROUS_SIM": f"{os.environ['CUPROUS_SIM']},{flags},flag=-g,cache={cache}",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", *program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize("barrier", ["cuda.syncthreads()", "pass"])
def test_a_missing_barrier_is_a_data_race(barrier: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL.format(barrier=barrier), encoding="utf-8")
    options = {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1:exitcode=66"}
    done = under("libtsan.so", options, "flag=-fsanitize=thread", [PROGRAM, str(tmp_path)], tmp_path)
    assert ("data race" in done.stderr and "reverse" in done.stderr) == (barrier == "pass"), done.stderr
    assert done.returncode == (66 if barrier == "pass" else 0), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "shared", "error"),
    [
        (32, "threadIdx.x", ""),
        (31, "threadIdx.x", "heap-buffer-overflow"),
        (32, "threadIdx.x + 1", "index 32 out of bounds"),
    ],
)
def test_an_access_beyond_an_array_is_reported(size: int, shared: str, error: str, tmp_path: Path) -> None:
    options = {"ASAN_OPTIONS": "detect_leaks=0", "CUPROUS_CUDA_POOL": "exact"}
    flags = "flag=-fsanitize=address,flag=-fsanitize=bounds,flag=-fno-sanitize-recover=bounds"
    done = under("libasan.so", options, flags, [BOUNDS.format(size=size, shared=shared)], tmp_path)
    assert (done.returncode != 0) == bool(error), done.stderr
    assert error in done.stderr and ("write" in done.stderr) == bool(error), done.stderr
