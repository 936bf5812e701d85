"""`torch.autograd.graph`: the graph that the backward pass follows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cuprous._core import Node, Tensor
from cuprous.torch import _placeholders
from cuprous.torch.autograd._hooks import RemovableHandle


@contextlib.contextmanager
def save_on_cpu(pin_memory: bool = False, device_type: str = "cuda") -> Iterator[None]:
    """Context manager for programs that move saved tensors to the host. They stay where they are: the engine decides
    what
    it keeps and what it computes again, so it saves no memory here, and results are the same."""
    yield


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context manager without effect: there are no such hooks."""
    yield


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Registers a hook that gets the gradients of all tensors when the last one is computed, or with `mode="any"` the
    first one.

    Raises:
        ValueError: for another mode.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    found: dict[int, Tensor] = {}

    def hook(index: int) -> Callable[[Tensor], None]:
        def keep(gradient: Tensor) -> None:
            found[index] = gradient
            if mode == "any":
                if len(found) == 1:
                    fn(gradient)
            elif len(found) == len(tensors):
                fn([found[i] for i in range(len(tensors))])
            if len(found) == len(tensors):
                found.clear()

        return keep

    handles = [tensor.register_hook(hook(i)) for i, tensor in enumerate(tensors)]

    def remove() -> None:
        for handle in handles:
            handle.remove()

    return RemovableHandle(remove)


def __getattr__(name: str) -> Any:
    return _placeholders.get("autograd.graph", name)


__all__ = ["Node", "disable_saved_tensors_hooks", "register_multi_grad_hook", "save_on_cpu"]
