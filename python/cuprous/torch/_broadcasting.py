"""Expansion of tensors to shapes, and shapes to which several broadcast."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.arguments import broadcast_shapes as common
from cuprous._core import Tensor
from cuprous.torch._args import sizes
from cuprous.torch._types import Size


def expand(self: Tensor, *shape: Any) -> Tensor:
    """Returns a view in which dimensions of extent 1 are repeated.

    Parameters
    ----------
    *shape : int or sequence of ints
        The extents, as integers or as one sequence; -1 keeps an extent.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    Examples
    --------
    >>> torch.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return _core.t_expand(self, sizes(shape))


def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Returns `expand` to another tensor's shape.

    Parameters
    ----------
    other : Tensor
        The tensor whose shape the view gets.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    Examples
    --------
    >>> torch.tensor([1, 2]).expand_as(torch.ones(2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return _core.t_expand(self, list(other.dims))


def broadcast_to(input: Tensor, *shape: Any) -> Tensor:
    """Returns a view in which dimensions of extent 1 are repeated, as `Tensor.expand` does.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    *shape : int or sequence of ints
        The extents, as integers or as one sequence.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    See Also
    --------
    torch.broadcast_tensors, torch.broadcast_shapes

    Examples
    --------
    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return _core.t_expand(input, sizes(shape))


def broadcast_shapes(*shapes: Any) -> Any:
    """Returns the shape to which all given shapes broadcast.

    Parameters
    ----------
    *shapes : sequence of ints
        Sequences of extents.

    Returns
    -------
    Size

    Raises
    ------
    RuntimeError
        For shapes that do not broadcast.

    See Also
    --------
    torch.broadcast_to, torch.broadcast_tensors

    Examples
    --------
    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    try:
        return Size(common(*(tuple(s) if not isinstance(s, int) else (s,) for s in shapes)))
    except ValueError:
        raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape") from None


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Returns the tensors broadcast to one shape.

    Parameters
    ----------
    *tensors : Tensor
        Tensors whose shapes broadcast.

    Returns
    -------
    tuple of Tensors
        A tuple of views.

    See Also
    --------
    torch.broadcast_shapes, torch.broadcast_to

    Examples
    --------
    >>> a, b = torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))
    >>> a.shape, b.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    shape = list(broadcast_shapes(*(x.dims for x in tensors)))
    return tuple(_core.t_expand(x, shape) for x in tensors)
