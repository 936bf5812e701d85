"""The functions by which HIP has CUDA's names do what CUDA defines in a wave of 64 threads, which is two warps.

lanes.cpp runs the header's own text on the CPU, with a thread for each lane.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

HERE = Path(__file__).parent
HEADER = HERE.parents[1] / "crates" / "cuda" / "src" / "prelude" / "hip.cuh"


def test_shuffles_votes_and_reductions_of_the_two_warps_of_a_wave(tmp_path: Path) -> None:
    program = tmp_path / "lanes"
    options = ["-std=c++20", "-O1", "-w", "-pthread", f'-DHEADER="{HEADER}"', "-o", str(program)]
    subprocess.run(["g++", *options, str(HERE / "lanes.cpp")], check=True, timeout=300)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "")
