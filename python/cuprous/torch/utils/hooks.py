"""Handles of hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous.torch.autograd._hooks import RemovableHandle


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a hook that is lost when its tensor is saved, which PyTorch warns of. All hooks are lost here."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


__all__ = ["RemovableHandle", "unserializable_hook"]
