"""Tensor subclasses that intercept operations, which do not exist here."""

from __future__ import annotations

from cuprous.torch._placeholders import unsupported_name


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Returns False: no tensor wraps other tensors."""
    return False


TorchDispatchMode = unsupported_name("utils._python_dispatch.TorchDispatchMode", "operations cannot be intercepted")

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]
