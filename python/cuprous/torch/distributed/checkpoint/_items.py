"""The tensors and values of a state: nested dicts and lists under dotted names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from cuprous._core import Tensor
from cuprous.torch.distributed.tensor._dtensor import DTensor
from cuprous.torch.distributed.tensor._layout import coordinate, local_part
from cuprous.torch.distributed.tensor.placement_types import Partial, Replicate


@dataclass
class Item:
    """A leaf of a state, and where it is."""

    name: str
    value: Any
    container: Any
    key: Any


def _has_tensor(tree: Any) -> bool:
    if isinstance(tree, dict):
        return any(map(_has_tensor, tree.values()))
    if isinstance(tree, (list, tuple)):
        return any(map(_has_tensor, tree))
    return isinstance(tree, Tensor)


def items(state: dict[str, Any]) -> list[Item]:
    """Returns the leaves of a state: tensors, and values without tensors.

    Raises:
        ValueError: if two leaves have the same name.
        TypeError: for tensors in a tuple, which cannot be loaded in place.
    """
    found = list(_walk("", state, {"": state}, ""))
    names: set[str] = set()
    for item in found:
        if item.name in names:
            raise ValueError(f"two entries of the state have the name {item.name!r}")
        names.add(item.name)
    return found


def _walk(name: str, value: Any, container: Any, key: Any) -> Iterator[Item]:
    prefix = f"{name}." if name else ""
    if isinstance(value, dict) and (value or not name):
        for k, v in value.items():
            yield from _walk(f"{prefix}{k}", v, value, k)
    elif isinstance(value, list) and _has_tensor(value):
        for k, v in enumerate(value):
            yield from _walk(f"{prefix}{k}", v, value, k)
    elif isinstance(value, tuple) and _has_tensor(value):
        raise TypeError(f"{name!r} is a tuple with tensors, which cannot be loaded in place; make it a list")
    else:
        yield Item(name, value, container, key)


@dataclass
class Region:
    """This rank's part of a tensor: the values, and where they are in the whole."""

    local: Tensor
    shape: list[int]
    offsets: list[int]
    #: True if this rank may write it: of replicas in a mesh, only the first does.
    is_writer: bool
    #: True for a plain tensor, which all ranks may have.
    is_plain: bool


def region(name: str, value: Tensor) -> Region:
    """Returns this rank's part of a tensor.

    Raises:
        ValueError: for a `Partial`.
    """
    if not isinstance(value, DTensor):
        return Region(value, list(value.dims), [0] * value.ndim, True, True)
    tensor = cast(DTensor, value)
    if any(isinstance(p, Partial) for p in tensor.placements):
        raise ValueError(f"{name!r} is a {tensor._text()}; redistribute it first, because its parts are not the value")
    place = coordinate(tensor.device_mesh)
    _, offsets = local_part(tensor.dims, tensor.device_mesh, tensor.placements, place)
    is_writer = all(at == 0 for at, p in zip(place, tensor.placements, strict=True) if isinstance(p, Replicate))
    return Region(tensor._local, list(tensor.dims), offsets, is_writer, False)
