"""Placeholders for unsupported parts of PyTorch; each raises with the reason when it is used."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from cuprous.torch._args import named

#: For each part: why it is unsupported, and what to do instead.
_REASONS = {
    "jit": "programs are recorded and fused without it: use the function or module itself",
    "onnx": "models cannot be exported here; load torch.save(model.state_dict()) in PyTorch and export it there",
    "fx": "programs are not traced symbolically",
    "quantization": "quantized tensors do not exist here",
    "sparse": "sparse tensors do not exist here; use the sparse matrices of cuprous.scipy.sparse",
    "distributed": "a program uses one process and one GPU",
    "hub": "models are not downloaded; read local files with torch.load",
    "package": "packages are not written; use torch.save",
    "mps": "only CPUs and NVIDIA GPUs are supported",
    "xpu": "only CPUs and NVIDIA GPUs are supported",
}

#: Queries that a placeholder still answers, so that programs can find out that the part is unavailable.
_ANSWERS: dict[str, dict[str, Any]] = {
    "jit": {"is_scripting": lambda: False, "is_tracing": lambda: False, "ignore": lambda fn=None, **_: fn,
            "unused": lambda fn: fn, "export": lambda fn: fn},
    "distributed": {"is_available": lambda: False, "is_initialized": lambda: False},
    "mps": {"is_available": lambda: False, "device_count": lambda: 0},
    "xpu": {"is_available": lambda: False, "device_count": lambda: 0},
}  # fmt: skip


#: Functions that programs import at the top and call only optionally; they raise when called.
_CALLS = {
    "distributed": "init_process_group destroy_process_group get_rank get_world_size barrier broadcast all_reduce "
    "all_gather reduce scatter gather new_group",
}


class UnsupportedError(NotImplementedError, AttributeError):
    """Raised for an unsupported part of PyTorch. It is an AttributeError too, so that `hasattr` returns False."""


class _Placeholder(ModuleType):
    """The placeholder for one unsupported part."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        part = self.__name__.rpartition(".")[2]
        raise UnsupportedError(f"[torch.{part}.{name}] is not supported: {_REASONS[part]}")


def _raise_on_call(part: str, name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"[torch.{part}.{name}] is not supported: {_REASONS[part]}")

    return named(call, name, f"Not supported: {_REASONS[part]}.")


def _placeholder(part: str) -> ModuleType:
    module = _Placeholder(f"cuprous.torch.{part}", f"Not supported: {_REASONS[part]}.")
    vars(module).update(_ANSWERS.get(part, {}))
    vars(module).update({name: _raise_on_call(part, name) for name in _CALLS.get(part, "").split()})
    return module


globals().update({part: _placeholder(part) for part in _REASONS})
