"""Compares values, gradients, dtypes, texts and training with PyTorch's results in golden.json."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import cuprous.torch as torch
from tests.torch.cases import CASES

FILE = Path(os.environ.get("CUPROUS_GOLDEN", Path(__file__).parent)) / "golden.json"
if not FILE.exists():
    pytest.skip("golden.json is written by make_golden.py where PyTorch is installed", allow_module_level=True)
GOLDEN = json.loads(FILE.read_text())

#: Relative tolerance of the cases that compute in float32.
RTOL = {"simple_net_adam": 1e-4}


def same(ours: Any, theirs: Any, where: str, rtol: float) -> None:
    """Compares nested values and names the position of a difference."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for key in theirs:
            same(ours[key], theirs[key], f"{where}.{key}", rtol)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            same(a, b, f"{where}[{k}]", rtol)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=rtol, abs=1e-9, nan_ok=True), where
    else:
        assert ours == theirs, where


@pytest.mark.parametrize("name", CASES)
def test_as_pytorch(name: str) -> None:
    if name not in GOLDEN:
        pytest.skip("golden.json is older than this case")
    if name == "texts":
        torch.set_default_device("cpu")  # the device is part of the text
    same(json.loads(json.dumps(CASES[name](torch))), GOLDEN[name], name, RTOL.get(name, 1e-6))
