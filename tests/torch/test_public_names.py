"""Every public name of PyTorch can be imported: importing a library does not fail for a name that it uses later."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import cuprous.torch as torch
from cuprous.torch import _further_names
from tests.torch.make_further_names import TARGET, missing, public_names, written

PUBLIC = public_names()


def _imported(path: str, name: str) -> Any:
    """Does what `from torch.path import name` does."""
    space: dict[str, Any] = {}
    exec(f"from cuprous.torch{path and '.'}{path} import {name} as found", space)
    return space["found"]


def test_public_names_can_be_imported() -> None:
    refused = []
    for path, names in PUBLIC.items():
        for name in names:
            try:
                _imported(path, name)
            except (ImportError, NotImplementedError) as error:
                refused.append((path, name, error))
    assert not refused


def test_most_public_names_are_real() -> None:
    unsupported = sum(len(names.split()) for names in _further_names.NAMES.values())
    assert unsupported < 0.21 * sum(map(len, PUBLIC.values()))


def test_the_table_is_what_is_missing() -> None:
    assert TARGET.read_text(encoding="utf-8") == written(*missing()), "run python -m tests.torch.make_further_names"


@pytest.mark.parametrize("path", sorted({*_further_names.NAMES} - {""}))
def test_placeholders_raise_when_used(path: str) -> None:
    module = importlib.import_module(f"cuprous.torch.{path}")
    for name in _further_names.NAMES[path].split():
        value = getattr(module, name)
        assert isinstance(value, type) and not isinstance(1, value)
        with pytest.raises(NotImplementedError, match=_further_names.REASON):
            value()
    with pytest.raises(AttributeError):
        module.no_such_name  # noqa: B018 - it raises


def test_imports_of_modules_keep_functions_of_the_same_name() -> None:
    for path in _further_names.MODULES:
        owner, _, name = path.rpartition(".")
        before = _found(owner, name)
        importlib.import_module(f"cuprous.torch.{path}")
        if before is not None:
            assert _found(owner, name) is before
    assert callable(torch.autograd.gradcheck) and callable(torch.nn.utils.weight_norm)


def _found(owner: str, name: str) -> Any:
    return getattr(importlib.import_module(f"cuprous.torch.{owner}".rstrip(".")), name, None)


def test_modules_have_the_names_of_the_packages_around_them() -> None:
    for path, name in (
        ("functional", "einsum"),
        ("optim.adamax", "Adamax"),
        ("nn.modules.channelshuffle", "ChannelShuffle"),
    ):
        found: Any = torch
        for part in path.split(".")[:-1]:
            found = getattr(found, part)
        assert _imported(path, name) is getattr(found, name)
