"""Generated kernels compile with NVIDIA's compiler, which needs no GPU.

`make test` runs the whole suite with CUPROUS_CHECK_CUDA: the CPU device then compiles what a GPU would run, and a test
whose kernel does not compile fails (or the last one of its module, with an error that names it: kernels are compiled
by the sixteen; those of another process at its end, which then has status 1). Each kernel of each test is compiled
for compute capability 8.0, 9.0 or 10.0, by its code, and most by the compiler's first part only: that takes 4 to 6 ms
of a core, and machine code 30 to 40 (2026-11-28). `make test TARGETS=sm_80,sm_90,sm_100` makes machine code for all
three, as is done here for random programs. Left out are the few thousand random programs of `test_fuzz.py`, with some
ten kernels a program; 60 programs stand for them here. So does the tour, for a pytest without that variable.
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
    code = (
        "import cuprous as cp; cp._core.check_in_batches(1); x = cp.arange(1000)\n"
        "for _ in range({}): x = x % (x // 3 + 1)\nint(x.sum())"
    )
    sizes = []
    for divisions in (2, 4):
        folder = tmp_path / str(divisions)
        checked(["-c", code.format(divisions)], "sm_90", CUPROUS_CACHE_DIR=str(folder))
        sizes.append(max(path.stat().st_size for path in folder.glob("*.cubin")))
    assert sizes[1] < 2.5 * sizes[0], sizes


@pytest.mark.nvrtc
def test_kernels_of_other_processes_are_compiled_at_their_end(tmp_path: Path) -> None:
    """A process of few kernels, which has computed its results by then."""
    program = tmp_path / "program.py"
    program.write_text("import cuprous as cp\nassert (cp.arange(5) * 2.5).sum() == 25\n")
    spawned = (
        "import multiprocessing, runpy; process = multiprocessing.get_context('spawn').Process(target=runpy.run_path, "
        f"args=({str(program)!r},)); process.start(); process.join(); raise SystemExit(process.exitcode)"
    )
    for arguments in ([str(program)], ["-c", spawned]):
        checked(arguments, "lto_90", CUPROUS_CACHE_DIR=str(tmp_path / "good"))
        with pytest.raises(AssertionError, match="value for --gpu-architecture"):
            checked(arguments, "lto_7", CUPROUS_CACHE_DIR=str(tmp_path / "wrong"))


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
