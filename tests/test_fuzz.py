"""A few thousand random programs, and a proof that the fuzzer finds and shrinks a planted fault."""

from __future__ import annotations

import os
import time
import types
from typing import Any

import numpy as np
import pytest

from tests.fuzz.compare import check
from tests.fuzz.generate import generate
from tests.fuzz.run import MODES, open_device, run_seeds

SECONDS = 25.0
DEVICE = os.environ.get("CUPROUS_TEST_DEVICE", "cpu")


@pytest.mark.parametrize("first", [0, 1_000_000])
def test_random_programs_agree_with_numpy(first: int) -> None:
    pytest.importorskip("cuprous._core")
    cp = open_device(DEVICE)
    done, end = first, time.monotonic() + SECONDS
    while done < first + 4000 and time.monotonic() < end:
        report = run_seeds(range(done, done + 100), cp, MODES, at_most=2)
        assert not report.failures, "\n" + "\n".join(report.failures.values())
        done += 100
    assert done - first >= 200, "too slow to mean anything"


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
