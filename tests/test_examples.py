"""Runs every program of examples/ as a user would and checks its output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

#: program -> (arguments, texts of its output)
PROGRAMS: dict[str, tuple[list[str], list[str]]] = {
    "seeds/000_add_numbers.py": ([], ["[ 0.  2.  4.  6.  8. 10. 12. 14. 16. 18.]"]),
    "seeds/000_arange_add.py": ([], ["[ 0  2  4  6  8 10 12 14 16 18]"]),
    "seeds/001_matmul.py": ([], ["CPU time:", "GPU time:"]),
    "seeds/001_training.py": ([], ["Training time on "]),
    "black_scholes.py": ([], ["1,000,000 calls and puts", "put-call parity holds"]),
    "monte_carlo.py": (["--paths", "50000", "--days", "50"], ["50,000 paths of 50 days", "by the formula 7.128"]),
    "image_filter.py": (["--size", "256"], ["256 x 256", "of the rim"]),
    "kernels/monte_carlo.py": (["--paths", "20000", "--days", "20"], ["20,000 years of 20 days", "by the formula"]),
    "kernels/matmul.py": (["--size", "70"], ["70 x 73 by 73 x 69", "as NumPy's"]),
    "kernels/n_body.py": (["--stars", "200", "--steps", "2"], ["200 stars, 2 steps", "momentum off by"]),
    "kernels/mandelbrot.py": (["--size", "128", "--to", os.devnull], ["128 x 128 pixels", "area 1.5"]),
    "kernels/histogram.py": (["--size", "20000"], ["20,000 values into 256 bins", "as NumPy's", "#######"]),
    "kernels/stencil.py": (["--size", "64", "--steps", "10"], ["10 steps of 4,544 cells"]),
    "kernels/reduction.py": (["--size", "20000"], ["by_atomics: the sum", "by_tree: the sum", "by_warps: the sum"]),
    "kernels/image_filter.py": (["--frames", "2", "--to", os.devnull], ["1920 x 1080:", "frames/s with copies"]),
    "memory/coalesced.py": (["--log-size", "14"], ["Copy of 16,384 float32 by stride", "1024 "]),
    "memory/pinned.py": (["--megabytes", "1"], ["to the device", "1 MiB  pageable"]),
    "memory/shared.py": (["--size", "64"], ["Product of 64 x 64", "shared memory"]),
    "memory/occupancy.py": (["--log-size", "16"], ["Copy of 65,536 float32", "48 KiB"]),
    "learning/simple_net.py": (["--steps", "200"], ["step     0", "200 steps in"]),
    "learning/gru.py": (["--steps", "20", "--device", "cpu"], ["20 steps in"]),
    "interop.py": ([], ["refused: Implicit conversion", "numpy: copied", "dlpack: one memory", "torch:"]),
}


def run(program: str, arguments: list[str]) -> str:
    on_cpu = os.environ.get("CUPROUS_TEST_DEVICE", "cpu") == "cpu"
    result = subprocess.run(
        [sys.executable, str(EXAMPLES / program), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""} if on_cpu else None,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_example(program: str) -> None:
    arguments, texts = PROGRAMS[program]
    output = run(program, arguments)
    for text in texts:
        assert text in output


def test_every_example_is_listed() -> None:
    found = {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.py")}
    # tests/torch/test_examples.py runs the training examples with fewer steps.
    learning = {program for program in found if program.startswith("learning/")}
    found -= {"kernels/png.py", "memory/common.py"}  # modules shared by several examples
    found = {
        program for program in found if not program.startswith("cluster/")
    }  # tests/clients/test_cluster_examples.py
    assert found - learning == {program for program in PROGRAMS if not program.startswith("learning/")}
    assert learning > {program for program in PROGRAMS if program.startswith("learning/")}


def test_examples_are_short() -> None:
    for path in EXAMPLES.rglob("*.py"):
        assert len(path.read_text().splitlines()) < (60 if path.parent.name in ("examples", "seeds") else 100)
