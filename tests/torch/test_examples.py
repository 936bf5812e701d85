"""Runs a few steps of each program of examples/learning on the device under test; the loss must fall."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import DEVICE

FOLDER = Path(__file__).parent.parent.parent / "examples" / "learning"

#: Program -> steps, and the largest allowed ratio of the last loss to the first.
PROGRAMS = {"simple_net": (60, 0.95), "cnn": (8, 0.999), "char_rnn": (12, 0.95), "lstm": (15, 0.8), "gru": (20, 0.8),
            "transformer": (20, 0.9), "digits": (30, 0.5), "gpt": (15, 0.9)}  # fmt: skip


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in ("common", *PROGRAMS):
        sys.modules.pop(name, None)


def test_all_programs_are_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == {"common", "compare", *PROGRAMS}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    steps, left = PROGRAMS[name]
    program, common = importlib.import_module(name), importlib.import_module("common")
    common.torch.set_default_device("cpu")
    losses = program.train(common.Setting(steps, DEVICE))
    assert len(losses) == steps and losses[-1] < left * losses[0]
