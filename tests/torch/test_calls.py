"""Calls every name that nine of ten programs need and compares with PyTorch's recorded results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DEVICE
from tests.torch.calls import EXPRESSIONS, called, near
from tests.torch.names import NAMES

FILE = Path(os.environ.get("CUPROUS_GOLDEN", Path(__file__).parent)) / "golden_calls.json"
#: Names that cannot be called without their package or other processes.
NOT_CALLED = {"utils.tensorboard": {"SummaryWriter"}}


@pytest.mark.parametrize("place", NAMES)
def test_each_name_is_called(place: str) -> None:
    left_out = {name for name in NAMES[place].split() if not called(place, name)}
    assert left_out <= NOT_CALLED.get(place, set())


@pytest.mark.slow
@pytest.mark.skipif(not FILE.exists(), reason="make_golden.py writes golden_calls.json where PyTorch is installed")
def test_calls_as_pytorch() -> None:
    """Runs in a separate process with default settings, so without the CUDA compile check."""
    environment = {key: value for key, value in os.environ.items() if key != "CUPROUS_CHECK_CUDA"}
    command = [sys.executable, "-m", "tests.torch.calls"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    ours, theirs = json.loads(done.stdout), json.loads(FILE.read_text())
    assert set(EXPRESSIONS) <= theirs.keys()
    # The results are those of a CPU: what a program does only on a GPU is not among them.
    same = [text for text in EXPRESSIONS if DEVICE == "cpu" or "cuda.is_available" not in text]
    off = {text: (ours[text], theirs[text]) for text in same if not near(ours[text], theirs[text])}
    assert not off
