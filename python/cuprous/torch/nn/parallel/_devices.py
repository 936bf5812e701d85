"""Parts of `DataParallel`: a batch and a module on several GPUs of one process, and their results on one of them.

Each GPU has its own stream, and calls return before a GPU has computed. So the replicas are called one after another by
one thread, and the GPUs compute at the same time.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _joining, cuda
from cuprous.torch.nn.modules.module import Module


def _is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def scatter(value: Any, devices: Sequence[str], dim: int) -> list[Any]:
    """Returns what each GPU gets of a value: parts of tensors along `dim`, also of those in tuples, lists and dicts;
    all other values as they are. There may be fewer than devices."""
    if isinstance(value, Tensor):
        parts = value.chunk(len(devices), dim)
        return [part.to(device) for part, device in zip(parts, devices, strict=False)]
    if _is_namedtuple(value):
        return [type(value)(*each) for each in _together(value, devices, dim)]
    if isinstance(value, (tuple, list)) and value:
        return [type(value)(each) for each in _together(value, devices, dim)]
    if isinstance(value, dict) and value:
        return [type(value)(zip(value, each, strict=True)) for each in _together(value.values(), devices, dim)]
    return [value for _ in devices]


def _together(values: Any, devices: Sequence[str], dim: int) -> list[tuple[Any, ...]]:
    return list(zip(*(scatter(value, devices, dim) for value in values), strict=False))


def scatter_arguments(args: Any, kwargs: Any, devices: Sequence[str], dim: int) -> list[tuple[Any, Any]]:
    """Returns the arguments of each GPU's call."""
    own, named = (scatter(value, devices, dim) if value else [] for value in (args, kwargs))
    count = max(len(own), len(named), 1)
    return [(own[k] if k < len(own) else (), named[k] if k < len(named) else {}) for k in range(count)]


def replicate(module: Module, devices: Sequence[str]) -> list[Module]:
    """Returns a copy of a module for each GPU. Those on the module's own GPU share its tensors, gradients of the others
    are added to the module's."""
    return [_replica(module, device, {}) for device in devices]


def _replica(module: Module, device: str, known: dict[int, Any]) -> Module:
    """`known` has what was copied, by the id of the original: modules and tensors may be used in several places."""
    if id(module) in known:
        found: Module = known[id(module)]
        return found
    copy: Module = object.__new__(type(module))
    known[id(module)] = copy
    own = dict(module.__dict__)
    for table in ("_parameters", "_buffers"):
        own[table] = {name: None if x is None else known.setdefault(id(x), _on(x, device))
                      for name, x in own[table].items()}  # fmt: skip
    own["_modules"] = {
        name: None if child is None else _replica(child, device, known) for name, child in own["_modules"].items()
    }
    copy.__dict__.update(own)
    return copy


def _on(tensor: Tensor, device: str) -> Tensor:
    return tensor if tensor.device_name == device else tensor.to(device)


def call(replicas: Sequence[Module], arguments: Sequence[tuple[Any, Any]], devices: Sequence[str]) -> list[Any]:
    """Calls each replica while its GPU is the current one. Returns the results."""
    results = []
    for replica, (args, kwargs), device in zip(replicas, arguments, devices, strict=True):
        with cuda.device(device):
            results.append(replica(*args, **kwargs))
    return results


def gather(results: Sequence[Any], device: str, dim: int) -> Any:
    """Returns the results of all GPUs on one of them: tensors are concatenated along `dim`.

    Raises
    ------
    ValueError
        For dicts with different keys.
    """
    first = results[0]
    if isinstance(first, Tensor):
        if all(x.ndim == 0 for x in results) and dim == 0:
            warnings.warn(
                "Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and "
                "return a vector.",
                stacklevel=4,
            )
            results = [x.reshape(1) for x in results]
        return _joining.cat([x.to(device) for x in results], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(result.keys() != first.keys() for result in results):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([result[key] for result in results], device, dim)) for key in first)
    parts = (gather(each, device, dim) for each in zip(*results, strict=True))
    return type(first)(*parts) if _is_namedtuple(first) else type(first)(parts)
