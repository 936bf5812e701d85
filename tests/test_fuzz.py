"""A few thousand random programs, and a proof that the fuzzer finds and shrinks a planted fault."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fuzz.compare import check
from tests.fuzz.generate import generate
from tests.fuzz.run import run_seeds

ROOT = Path(__file__).parent.parent
DEVICE = os.environ.get("CUPROUS_TEST_DEVICE", "cpu")
# On a GPU some ten kernels a program are compiled first; `make gpu-test` runs 10,000 programs on all cores.
AT_LEAST = 200 if DEVICE == "cpu" else 20


@pytest.mark.parametrize("first", [0, 1_000_000])
def test_random_programs_agree_with_numpy(first: int) -> None:
    """In a process without the check that CUDA code compiles, which would leave time for few programs."""
    line = [sys.executable, "-m", "tests.fuzz", "--device", DEVICE, "--seed", str(first), "--programs", "4000"]
    line += ["--seconds", "25", "--processes", "1", "--failures", "2"]
    env = os.environ | {"CUPROUS_CHECK_CUDA": ""}
    done = subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "\n" + done.stdout + done.stderr
    assert int(done.stdout.split()[0]) >= AT_LEAST, "too slow to mean anything"


def numpy_with(**replaced: Any) -> types.ModuleType:
    """NumPy in Cuprous' clothes, with some functions replaced."""
    fake = types.ModuleType("fake")
    fake.__dict__.update({name: getattr(np, name) for name in dir(np) if not name.startswith("__")})
    fake.__dict__.update(asnumpy=np.array, _core=types.SimpleNamespace(set_replay=lambda mode: None))
    fake.__dict__.update(replaced)
    return fake


def numpy_copies() -> types.ModuleType:
    return numpy_with(asarray=lambda a, dtype=None: np.array(a, dtype))


def test_numpy_agrees_with_itself() -> None:
    fake = numpy_copies()
    with np.errstate(all="ignore"):
        for seed in range(300):
            check(generate(seed), fake)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("cumsum", lambda a, axis: np.cumsum(a, axis) + (np.asarray(a).ndim > 2)),
        ("broadcast_to", lambda a, shape: np.broadcast_to(a, shape).copy()),  # a lost alias
        ("ravel", lambda a: np.ravel(a).copy()),
    ],
)
def test_a_planted_fault_is_found_and_shrunk(name: str, broken: Any) -> None:
    fake = numpy_copies()
    setattr(fake, name, broken)
    with np.errstate(all="ignore"):
        report = run_seeds(range(20_000), fake, ("single",), at_most=1)
    assert report.failures, "the fault was not found"
    text = next(iter(report.failures.values()))
    body = text.split("def program")[1].split("    return")[0]
    assert name in body
    assert body.count("\n") <= 9, text


def test_a_seed_always_gives_the_same_program() -> None:
    assert generate(17).lines == generate(17).lines
    assert any(generate(n).lines != generate(n + 1).lines for n in range(3))
