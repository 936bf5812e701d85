"""Placeholders for unsupported parts of PyTorch; each raises with the reason when it is used."""

from __future__ import annotations

from types import ModuleType
from typing import Any

#: For each part: why it is unsupported, and what to do instead.
_REASONS = {
    "jit": "programs are recorded and fused without it: use the function or module itself",
    "onnx": "models cannot be exported here; load torch.save(model.state_dict()) in PyTorch and export it there",
    "fx": "programs are not traced symbolically",
    "quantization": "quantized tensors do not exist here",
    "sparse": "sparse tensors do not exist here; use the sparse matrices of cuprous.scipy.sparse",
    "hub": "models are not downloaded; read local files with torch.load",
    "package": "packages are not written; use torch.save",
    "mps": "only CPUs and NVIDIA GPUs are supported",
    "xpu": "only CPUs and NVIDIA GPUs are supported",
}

#: Queries that a placeholder still answers, so that programs can find out that the part is unavailable.
_ANSWERS: dict[str, dict[str, Any]] = {
    "jit": {"is_scripting": lambda: False, "is_tracing": lambda: False, "ignore": lambda fn=None, **_: fn,
            "unused": lambda fn: fn, "export": lambda fn: fn},
    "mps": {"is_available": lambda: False, "device_count": lambda: 0},
    "xpu": {"is_available": lambda: False, "device_count": lambda: 0},
}  # fmt: skip


class UnsupportedError(NotImplementedError, AttributeError):
    """Raised for an unsupported part of PyTorch. It is an AttributeError too, so that `hasattr` returns False."""


class _Placeholder(ModuleType):
    """The placeholder for one unsupported part."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        part = self.__name__.rpartition(".")[2]
        raise UnsupportedError(f"[torch.{part}.{name}] is not supported: {_REASONS[part]}")


def _placeholder(part: str) -> ModuleType:
    module = _Placeholder(f"cuprous.torch.{part}", f"Not supported: {_REASONS[part]}.")
    vars(module).update(_ANSWERS.get(part, {}))
    return module


globals().update({part: _placeholder(part) for part in _REASONS})
