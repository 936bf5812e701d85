"""`torch.autograd.graph`: the graph that the backward pass follows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cuprous._core import Node, Tensor
from cuprous.torch import _placeholders
from cuprous.torch.autograd._hooks import RemovableHandle


@contextlib.contextmanager
def save_on_cpu(pin_memory: bool = False, device_type: str = "cuda") -> Iterator[None]:
    """Returns a context manager for programs that move saved tensors to the host.

    They stay where they are, because the engine decides what it keeps and what it computes again. It saves no memory
    here, and results are the same.

    Parameters
    ----------
    pin_memory : bool, default False
        Has no effect.
    device_type : str, default "cuda"
        Has no effect.

    Returns
    -------
    context manager

    See Also
    --------
    torch.autograd.graph.saved_tensors_hooks, torch.utils.checkpoint.checkpoint

    Examples
    --------
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = torch.ones(2, requires_grad=True).exp()
    """
    yield


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Returns a context manager without effect, because there are no such hooks.

    Parameters
    ----------
    error_message : str
        Has no effect.

    Returns
    -------
    context manager

    See Also
    --------
    torch.autograd.graph.saved_tensors_hooks, torch.autograd.graph.save_on_cpu

    Examples
    --------
    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     y = torch.ones(2, requires_grad=True).exp()
    """
    yield


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Registers a function that gets the gradients of several tensors when the last one is computed.

    Parameters
    ----------
    tensors : sequence of Tensors
        The tensors.
    fn : callable
        A function of the list of gradients; with `mode="any"` of one gradient.
    mode : str, default "all"
        "all", or "any" for the first gradient that is computed.

    Returns
    -------
    RemovableHandle
        A handle whose `remove` removes the function.

    Raises
    ------
    ValueError
        For another mode.

    See Also
    --------
    torch.Tensor.register_hook, torch.Tensor.register_post_accumulate_grad_hook

    Examples
    --------
    >>> x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook([x, y], lambda grads: print(len(grads)))
    >>> (x * y).sum().backward()
    2
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


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Counts a write in place, for functions that write to the memory of tensors by other means.

    Parameters
    ----------
    tensor : Tensor or iterable of Tensors
        The tensors.

    See Also
    --------
    torch.autograd.graph.Node

    Examples
    --------
    >>> x = torch.zeros(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        one._count_write()


if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("autograd.graph", name)


__all__ = ["Node", "disable_saved_tensors_hooks", "increment_version", "register_multi_grad_hook", "save_on_cpu"]
