"""The names that nine of ten PyTorch programs need exist, and missing ones are documented."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import pytest

import cuprous.torch as torch
from tests.torch.names import NAMES

#: Names that exist only if their package is installed.
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


@pytest.mark.parametrize(("path", "name"), [
    ("optim.optimizer", "Optimizer"), ("utils.data.dataloader", "DataLoader"), ("utils.data.dataset", "Dataset"),
    ("nn.modules.batchnorm", "_BatchNorm"), ("nn.modules.instancenorm", "InstanceNorm2d"),
    ("nn.modules.utils", "_pair"), ("nn.modules.conv", "Conv2d"), ("autograd.variable", "Variable"),
    ("distributions.categorical", "Categorical"), ("nn.utils.clip_grad", "clip_grad_norm_"),
    ("distributed", "init_process_group"), ("multiprocessing", "spawn"), ("nn.parameter", "Parameter"),
])  # fmt: skip
def test_imports_from_files(path: str, name: str) -> None:
    assert hasattr(importlib.import_module(f"cuprous.torch.{path}"), name)


def test_alternative_names_of_modules() -> None:
    for path in ("jit", "distributed", "optim.adam", "autograd.variable", "nn.modules.instancenorm"):
        assert importlib.import_module(f"cuprous.torch.{path}") is _found(path)
    assert torch.autograd.__spec__.name == "cuprous.torch.autograd"
    assert not hasattr(torch.distributed, "x")
    for path in ("torch.sparse", "torch.nn.functional", "nn.utils.clip_grad.rnn", "optim.adam.lr_scheduler"):
        found, name = (
            importlib.import_module(f"cuprous.torch.{path}"),
            path.replace("clip_grad.", "").replace("adam.", ""),
        )
        assert found is _found(name.removeprefix("torch.")) and found.__spec__.name == found.__name__
    for path in ("math", "jit.x", "optim.x", "nn.modules.x", "relu", "torch.x", "optim.adam.x"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(f"cuprous.torch.{path}")
