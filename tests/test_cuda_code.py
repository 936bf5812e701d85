"""Generated kernels compile with NVIDIA's compiler, which needs no GPU.

`make test` runs the whole suite with CUPROUS_CHECK_CUDA: the CPU device then compiles what a GPU would run, and a test
whose kernel does not compile fails (or the last one of its module, with an error that names it: kernels are compiled
by the sixteen). Each kernel of each test is compiled for sm_80, sm_90 or sm_100, by its code, since each takes about
20 ms of a core (2026-11-21); `make test TARGETS=sm_80,sm_90,sm_100` compiles it for all three, as is done here for
random programs. Left out are the few thousand random programs of `test_fuzz.py`, with some ten kernels a program; 60
programs stand for them here. So does the tour, for a pytest without that variable.
A GPU cuts programs at a few places where a CPU does not (after large whole-array routines), so it may need others.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# The CPU device also compiles the kernels that a GPU would run; a kernel that does not compile is an error. Each is for
# one of these targets, by its code.
TARGETS = "sm_80|sm_90|sm_100"


def checked(arguments: list[str], targets: str, **more: str) -> None:
    # Without a GPU, whatever this machine has.
    env = os.environ | {"CUPROUS_CHECK_CUDA": targets, "CUPROUS_TEST_DEVICE": "cpu", "CUDA_VISIBLE_DEVICES": ""} | more
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


@pytest.mark.slow
def test_kernels_of_random_programs_compile() -> None:
    checked(["-m", "tests.fuzz", "--programs", "60", "--seed", "7", "--device", "cpu", "--modes", "fused"], TARGETS)


@pytest.mark.slow
def test_kernels_of_the_tour_compile() -> None:
    checked(["-m", "pytest", "-q", "tests/test_tour.py", "-p", "no:cacheprovider"], "sm_90")


def test_code_grows_linearly_with_integer_divisions(tmp_path: Path) -> None:
    """NVVM copied the code after each division: 36 KB for two, 360 KB and 24 s for four, minutes for six."""
    code = "import cuprous as cp; x = cp.arange(1000)\nfor _ in range({}): x = x % (x // 3 + 1)\nint(x.sum())"
    sizes = []
    for divisions in (2, 4):
        folder = tmp_path / str(divisions)
        checked(["-c", code.format(divisions)], "sm_90", CUPROUS_CACHE_DIR=str(folder))
        sizes.append(max(path.stat().st_size for path in folder.glob("*.cubin")))
    assert sizes[1] < 2.5 * sizes[0], sizes


@pytest.mark.nvrtc
def test_float32_products_of_tensor_cores_compile() -> None:
    """Every variant: operands along, down and in neither direction, pairs or not, factors, addends, biases, parts."""
    code = """
import cuprous as cp
ones = lambda *shape: cp.ones(shape, dtype=cp.float32)
a, b, c, row = ones(2048, 2048), ones(2048, 2048), ones(2048, 2048), ones(2048)
programs = [a @ b, a @ b.T + row, 2 * (a.T @ b) - c, a[:, ::2] @ b[::2], ones(2047, 2047) @ ones(2047, 2045)]
programs += [ones(1024, 16384) @ ones(16384, 1024) + ones(1024)]
for product in programs:
    assert "tf32_dot" in cp.show_code(product, device="cuda")
    product[0, 0].item()
assert "cuBLASLt" in cp.show_code(ones(64, 64) @ ones(64, 64), device="cuda")
"""
    checked(["-c", code], "sm_90")
