"""Functions of `torch.utils` itself."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor


def set_module(obj: Any, mod: str) -> None:
    """Sets the module that an object names as its own.

    Raises
    ------
    TypeError
        If the name is not a string.
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchanges the contents of two tensors of one shape and dtype. PyTorch exchanges all of their attributes.

    Raises
    ------
    NotImplementedError
        If shapes, dtypes or `requires_grad` differ.
    """
    if (t1.dims, t1.dtype, t1.requires_grad) != (t2.dims, t2.dtype, t2.requires_grad):
        raise NotImplementedError("[swap_tensors] is supported for tensors of one shape, dtype and requires_grad")
    first, second = t1.detach(), t2.detach()
    kept = first.clone()
    first.copy_(second)
    second.copy_(kept)


__all__ = ["set_module", "swap_tensors"]
