"""Utilities around training: `data` and other modules, each imported on first use. `tensorboard` needs another package
and must be imported explicitly."""

from __future__ import annotations

from typing import Any

from cuprous import _exports
from cuprous.torch import _placeholders

_EXPORTS = _exports.Exports(
    __name__,
    {
        "._modules": "set_module swap_tensors",
    },
    modules=("_python_dispatch", "_pytree", "checkpoint", "data", "dlpack", "flop_counter", "hooks", "model_zoo"),
)


def __getattr__(name: str) -> Any:
    try:
        return _EXPORTS.get(name)
    except AttributeError:
        return _placeholders.get("utils", name)
