"""Entries in dask-cuda's tables, by which it decides what it moves from a GPU to the host when memory runs short.

Its own entries look for `__cuda_array_interface__`, and an array whose address was shown is computed at once from then
on.
"""

from __future__ import annotations

from typing import Any

import cuprous


def is_on_gpu(x: Any) -> bool:
    """Returns True for an array on a GPU."""
    return str(x.device_name) != "cpu"


def memory_of(x: Any) -> list[Any]:
    """Returns the objects that hold the array's GPU memory."""
    return [x] if is_on_gpu(x) else []


def register(module: Any) -> None:
    """Fills the table of `dask_cuda.is_device_object` or `dask_cuda.get_device_memory_objects`."""
    if hasattr(module, "is_device_object"):
        module.is_device_object.register(cuprous.ndarray, is_on_gpu)
    else:
        module.dispatch.register(cuprous.ndarray, memory_of)
