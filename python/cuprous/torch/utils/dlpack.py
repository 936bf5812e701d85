"""Memory that is shared with other libraries."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch._creation import from_dlpack


def to_dlpack(tensor: Tensor) -> Any:
    """Returns a DLPack capsule of a tensor's memory.

    Parameters
    ----------
    tensor : Tensor
        The tensor.

    Returns
    -------
    PyCapsule
        A capsule.

    See Also
    --------
    torch.utils.dlpack.from_dlpack, torch.from_dlpack, torch.Tensor.__dlpack__

    Examples
    --------
    >>> torch.from_dlpack(torch.ones(2)).shape
    torch.Size([2])
    """
    capsule: Any = tensor.__dlpack__()
    return capsule


__all__ = ["from_dlpack", "to_dlpack"]
