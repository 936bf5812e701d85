"""Handles of hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class RemovableHandle:
    """Removes a hook: by `remove()`, or at the end of a `with` block.

    Parameters
    ----------
    remove_hook : callable
        The function that removes it.

    See Also
    --------
    torch.nn.Module.register_forward_hook, torch.Tensor.register_hook

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> with x.register_hook(lambda grad: 10 * grad):
    ...     x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """

    def __init__(self, remove_hook: Callable[[], Any]) -> None:
        self._remove_hook: Callable[[], Any] | None = remove_hook

    def remove(self) -> None:
        """Removes the hook. Later calls have no effect.

        Examples
        --------
        >>> x = torch.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: 10 * grad)
        >>> handle.remove()
        >>> x.sum().backward()
        >>> x.grad
        tensor([1., 1.])
        """
        if self._remove_hook is not None:
            self._remove_hook()
            self._remove_hook = None

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()
