"""Every kernel that programs need compiles with NVIDIA's real compiler, which needs no GPU."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# The CPU device compiles what a GPU would run beside what it runs itself; what does not compile is an error.
TARGETS = "sm_80,sm_90,sm_100"


def checked(arguments: list[str], targets: str) -> None:
    if importlib.util.find_spec("nvidia") is None:
        pytest.fail("NVRTC is missing: pip install --requirement requirements-dev.txt")
    env = os.environ | {"CUPROUS_CHECK_CUDA": targets, "CUPROUS_TEST_DEVICE": "cpu"}
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def test_kernels_of_random_programs_compile() -> None:
    checked(["-m", "tests.fuzz", "--programs", "60", "--seed", "7", "--device", "cpu", "--modes", "fused"], TARGETS)


def test_kernels_of_the_tour_compile() -> None:
    checked(["-m", "pytest", "-q", "tests/test_tour.py", "-p", "no:cacheprovider"], "sm_90")
