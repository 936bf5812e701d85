"""Nested tuples, lists and dicts of tensors (pytrees)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous._core import Tensor


def leaves(tree: Any) -> list[Any]:
    """Returns the leaves of a nested structure, in order."""
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves(part)]
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in leaves(part)]
    return [tree]


def unflatten(tree: Any, values: list[Any]) -> Any:
    """Returns a structure of the same form whose leaves are taken from the front of a list."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(unflatten(part, values) for part in tree))
    if isinstance(tree, (tuple, list)):
        return type(tree)(unflatten(part, values) for part in tree)
    if isinstance(tree, dict):
        return {key: unflatten(part, values) for key, part in tree.items()}
    return values.pop(0)


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """Returns a structure with a function applied to each leaf."""
    return unflatten(tree, [function(leaf) for leaf in leaves(tree)])


def tensors(what: str, tree: Any) -> list[Tensor]:
    """Returns the tensors of a nested structure.

    Raises
    ------
    RuntimeError
        If a leaf is not a tensor.
    """
    found = leaves(tree)
    for leaf in found:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{what}: expected tensors, got unsupported type {type(leaf).__name__}")
    return found
