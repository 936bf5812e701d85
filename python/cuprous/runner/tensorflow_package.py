"""What stands for `tensorflow` in a program's own modules: `tensorflow.keras`, and what programs call beside it."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any, NamedTuple

from cuprous import _core
from cuprous.runner._imports import TF_ADVICE, TF_KERAS

__version__ = "2.20.0+cuprous"


class PhysicalDevice(NamedTuple):
    """A device, as TensorFlow lists it."""

    name: str
    device_type: str


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the CPU and the GPUs, or those of one type: "CPU" or "GPU"."""
    found = [("CPU", 0), *(("GPU", k) for k in range(_core.device_count()))]
    return [PhysicalDevice(f"/physical_device:{kind}:{k}", kind) for kind, k in found if device_type in (None, kind)]


def set_seed(seed: int) -> None:
    """Seeds Keras, Python, NumPy and tensors."""
    importlib.import_module("cuprous.keras").utils.set_random_seed(seed)


random = SimpleNamespace(set_seed=set_seed)
config = SimpleNamespace(list_physical_devices=list_physical_devices)


def __getattr__(name: str) -> Any:
    """Returns `keras`.

    Raises
    ------
    AttributeError
        For other names, which Cuprous does not have.
    """
    if name == "keras":
        return importlib.import_module(TF_KERAS)
    raise AttributeError(f"module 'tensorflow' has no attribute {name!r} here: {TF_ADVICE}")


__all__ = ["config", "random"]
