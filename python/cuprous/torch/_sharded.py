"""Tensors that several processes hold together, as other parts of the package see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cuprous._core import Tensor

if TYPE_CHECKING:
    from cuprous.torch.nn.parameter import Parameter


class Sharded:
    """Base class of `DTensor`. It is not a native tensor, so no native function takes a part for the whole.

    `_local` is this rank's part, a native tensor whose gradient is this rank's part of the gradient.
    """

    _local: Tensor
    #: How often optimizers have updated it, the same on all ranks.
    updates: int = 0

    def as_parameter(self, requires_grad: bool) -> Parameter:
        """Returns a parameter on the same memory."""
        raise NotImplementedError

    def like(self, local: Tensor) -> Any:
        """Returns the tensor whose part on this rank is `local`, distributed as this one."""
        raise NotImplementedError

    def joint_norm(self, tensors: Sequence[Any], order: float) -> Any:
        """Returns the joint norm of tensors, of which this is one."""
        raise NotImplementedError


def local_parts(tensors: list[Any]) -> list[Tensor]:
    """Returns tensors with this rank's parts in place of tensors that several ranks hold."""
    return [t._local if isinstance(t, Sharded) else t for t in tensors]
