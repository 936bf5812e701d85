"""The tensors and values of a state: nested dicts and lists under dotted names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from cuprous._core import Tensor

#: Where a value is in a nested state: keys of dicts and positions in lists.
Path = tuple[Any, ...]


def _has_tensor(tree: Any) -> bool:
    if isinstance(tree, dict):
        return any(map(_has_tensor, tree.values()))
    if isinstance(tree, (list, tuple)):
        return any(map(_has_tensor, tree))
    return isinstance(tree, Tensor)


def flatten(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """Returns the leaves of a state by name, tensors and values without tensors, and where each of them is.

    Raises
    ------
    ValueError
        If two leaves have the same name.
    TypeError
        For tensors in a tuple, which cannot be loaded in place.
    """
    leaves: dict[str, Any] = {}
    paths: dict[str, Path] = {}
    for path, value in _walk((), state):
        name = ".".join(map(str, path))
        if name in leaves:
            raise ValueError(f"two entries of the state have the name {name!r}")
        leaves[name], paths[name] = value, path
    return leaves, paths


def _walk(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and (value or not path):
        for k, v in value.items():
            yield from _walk((*path, k), v)
    elif isinstance(value, list) and _has_tensor(value):
        for k, v in enumerate(value):
            yield from _walk((*path, k), v)
    elif isinstance(value, tuple) and _has_tensor(value):
        name = ".".join(map(str, path))
        raise TypeError(f"{name!r} is a tuple with tensors, which cannot be loaded in place; make it a list")
    else:
        yield path, value


def check_flat(state: dict[str, Any]) -> None:
    """Raises unless each value of a state is a tensor or has none.

    Raises
    ------
    TypeError
        For a nested value with tensors.
    """
    for name, value in state.items():
        if not isinstance(value, Tensor) and _has_tensor(value):
            raise TypeError(f"{name!r} is a {type(value).__name__} with tensors; use flatten_state_dict=True")


def put(state: dict[str, Any], path: Path, value: Any) -> None:
    """Sets a value of a nested state, in which the dicts and lists around it may be missing."""
    inner: Any = state
    for key, following in pairwise(path):
        missing: Any = [] if isinstance(following, int) else {}
        if isinstance(inner, list):
            inner.extend([None] * (key + 1 - len(inner)))
            if inner[key] is None:
                inner[key] = missing
            inner = inner[key]
        else:
            inner = inner.setdefault(key, missing)
    if isinstance(inner, list):
        inner.extend([None] * (path[-1] + 1 - len(inner)))
    inner[path[-1]] = value


__all__ = ["check_flat", "flatten", "put"]
