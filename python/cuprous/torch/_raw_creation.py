"""Creation of tensors from a number, from strides and from a buffer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _creation, _strided_views
from cuprous.torch._args import unsupported
from cuprous.torch._info import get_default_dtype


def scalar_tensor(s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
                  pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Returns a tensor without dimensions. Without a dtype it has the default dtype.

    Parameters
    ----------
    s : float
        A number.
    dtype : dtype, optional
        The dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor
        A tensor of shape ().

    See Also
    --------
    torch.tensor, torch.full, torch.as_tensor

    Examples
    --------
    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    unsupported("scalar_tensor", layout=(layout, None))
    return _creation.tensor(s, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad,
                            pin_memory=pin_memory)  # fmt: skip


def empty_strided(size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, layout: Any = None,
                  device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Returns a tensor with the given strides, whose elements are not set to anything in particular.

    Parameters
    ----------
    size : sequence of ints
        The extents.
    stride : sequence of ints
        The strides in elements.
    dtype : dtype, optional
        The dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor
        A tensor of the given extents.

    See Also
    --------
    torch.empty

    Examples
    --------
    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    last = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if math.prod(size) else -1
    memory = _creation.empty(last + 1, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return _strided_views.as_strided(memory, size, stride).requires_grad_(requires_grad)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Returns a tensor with a copy of a buffer's bytes. PyTorch's tensors share the memory instead.

    Parameters
    ----------
    buffer : object
        An object with Python's buffer protocol.
    dtype : dtype
        The dtype of the elements.
    count : int, default -1
        The number of elements, -1 for all.
    offset : int, default 0
        The bytes before the first element.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.

    Returns
    -------
    Tensor
        A tensor of one dimension.

    Raises
    ------
    ValueError
        If the buffer has less than `count` elements after `offset` bytes.

    See Also
    --------
    torch.from_numpy

    Examples
    --------
    >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    import numpy as np

    width = dtype.itemsize
    raw = memoryview(buffer).cast("B")
    size = len(raw) - offset
    if offset < 0 or size < 0 or (count < 0 and size % width) or count * width > size:
        raise ValueError(f"a buffer of {len(raw)} bytes has no {count} elements of {width} bytes after offset {offset}")
    taken = np.frombuffer(raw, np.uint8, count * width if count >= 0 else size, offset)
    return _creation.from_numpy(taken.copy()).view(dtype).requires_grad_(requires_grad)
