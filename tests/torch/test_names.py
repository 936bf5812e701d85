"""The names that nine of ten PyTorch programs need are there, and what is not is known."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import pytest

import cuprous.torch as torch
from tests.torch.names import NAMES

#: What is not there yet.
ABSENT: dict[str, str] = {
    "utils.tensorboard": "SummaryWriter",
}


def _found(place: str) -> Any:
    try:
        return functools.reduce(getattr, place.split(".") if place else [], torch)
    except AttributeError:
        try:
            return importlib.import_module(f"cuprous.torch.{place}")
        except ImportError:
            return None


@pytest.mark.parametrize("place", NAMES)
def test_names(place: str) -> None:
    owner = _found(place)
    missing = {name for name in NAMES[place].split() if not hasattr(owner, name)}
    assert missing <= set(ABSENT.get(place, "").split())
