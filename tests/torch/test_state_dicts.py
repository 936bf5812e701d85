"""`state_dict` and `load_state_dict` of modules that take part in them, as PyTorch calls them."""

from __future__ import annotations

import io
from collections import OrderedDict
from typing import Any

import pytest

import cuprous.torch as torch
from cuprous.torch import nn


def _saved(state: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return file


class _Renamed(nn.Module):
    """Has a state of its own version, in which the parameter had another name."""

    _version = 3

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.seen: list[Any] = []

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        self.seen.append((prefix, local_metadata.get("version"), sorted(state_dict)))
        if prefix + "w" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)
        self.doubled = (self.weight * 2).tolist()

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "note"] = torch.ones(1)


def test_modules_that_load_and_save_themselves() -> None:
    """As PyTorch 2.11 does: each is asked with its part of the state, and finds its values loaded."""
    inner = nn.Sequential(nn.Linear(2, 2), _Renamed())
    model: Any = nn.Sequential(OrderedDict(a=_Renamed(), bn=nn.BatchNorm1d(2), inner=inner))
    state: Any = model.state_dict()
    assert [name for name in state if "note" in name] == ["a.note", "inner.1.note"]
    versions = {name: saved["version"] for name, saved in state._metadata.items()}
    assert versions == {"": 1, "a": 3, "bn": 2, "inner": 1, "inner.0": 1, "inner.1": 3}
    again = torch.load(_saved(state), weights_only=True)
    assert {name: saved["version"] for name, saved in again._metadata.items()} == versions
    assert model.load_state_dict(again, strict=False) == ([], ["a.note", "inner.1.note"])
    assert model.a.seen == [("a.", 3, ["a.note", "a.weight"])]
    old = {name: torch.ones(2) for name in ("a.w", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var",
                                            "inner.0.bias", "inner.1.w")}  # fmt: skip
    old["inner.0.weight"] = torch.ones(2, 2)
    assert model.load_state_dict(old) == ([], [])  # num_batches_tracked came with version 2
    assert model.a.doubled == model.inner[1].doubled == [2, 2]
    assert model.inner[1].seen[-1] == ("inner.1.", None, ["inner.1.w"])
    with pytest.raises(RuntimeError, match=r'Missing key.*"bn.bias". \n\tUnexpected.*"zz", "q.r", "inner.0.x". $'):
        model.load_state_dict({name: value for name, value in old.items() if name != "bn.bias"}
                              | {name: torch.ones(1) for name in ("zz", "q.r", "inner.0.x")})  # fmt: skip


def test_hooks_of_states_may_report_and_forgive() -> None:
    layer = nn.Linear(1, 1)
    saves: list[Any] = []
    layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: saves.append((prefix, keep_vars)))
    state = layer.state_dict(prefix="x.")
    assert saves == [("x.", False)] and list(state) == ["x.weight", "x.bias"]
    handle = layer.register_load_state_dict_pre_hook(lambda *given: given[-1].append("not this one"))
    with pytest.raises(RuntimeError, match="not this one"):
        layer.load_state_dict({"weight": torch.ones(1, 1), "bias": torch.ones(1)})
    handle.remove()
    found: list[float] = []

    def forgive(module: Any, keys: Any) -> None:
        found.append(module.weight.item())
        keys.missing_keys.clear()

    layer.register_load_state_dict_post_hook(forgive)
    assert layer.load_state_dict({"weight": torch.full((1, 1), 5.0)}) == ([], []) and found == [5]
