"""The words of `torch.cuda` that do not need a GPU to be true."""

from __future__ import annotations

from typing import Any

from cuprous import _core


def device_count() -> int:
    """The number of GPUs."""
    return _core.device_count()


def is_available() -> bool:
    """Whether there is a GPU that can be used."""
    return device_count() > 0 and _core.unusable_gpu_reason() is None


def current_device() -> int:
    """The GPU that "cuda" names: the first.

    Raises:
        RuntimeError: without a GPU.
    """
    if not is_available():
        raise RuntimeError(_core.unusable_gpu_reason() or "no NVIDIA GPU is visible; `cuprous doctor` explains")
    return 0


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    return str(_core.device_properties(_number(device))["name"])


def _number(given: Any) -> int:
    from cuprous.torch._words import device

    if given is None:
        return current_device()
    return given if isinstance(given, int) else device(given).index or 0


def synchronize(device: Any = None) -> None:
    """Waits for all that was recorded."""
    _core.synchronize()


def manual_seed(seed: int) -> None:
    """Starts the stream of a seed: there is one for all devices."""
    from cuprous.torch._creation import manual_seed as start

    start(seed)


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Gives free memory of the GPUs back."""
    for k in range(device_count()):
        _core.trim_memory(f"cuda:{k}")


__all__ = [
    "current_device", "device_count", "empty_cache", "get_device_name", "is_available", "manual_seed",
    "manual_seed_all", "synchronize",
]  # fmt: skip
