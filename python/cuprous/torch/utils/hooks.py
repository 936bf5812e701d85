"""Handles of hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous.torch.autograd._hooks import RemovableHandle


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the hook, marked as one that is lost when its tensor is saved, which PyTorch warns of. All hooks are lost
    here.

    Parameters
    ----------
    f : callable
        The hook.

    Returns
    -------
    callable
        The hook.

    See Also
    --------
    torch.Tensor.register_hook, torch.save

    Examples
    --------
    >>> hook = torch.utils.hooks.unserializable_hook(lambda grad: 2 * grad)
    """
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


__all__ = ["RemovableHandle", "unserializable_hook"]
