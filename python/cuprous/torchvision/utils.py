"""Grids of images, and images in files."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _joining
from cuprous.torchvision._pillow import pillow


def _scaled(t: Tensor, value_range: tuple[float, float] | None) -> Tensor:
    if value_range is None:
        low, high = t.min(), t.max()
        return (t - low) / (high - low).clamp(min=1e-5)
    return (t.clamp(*value_range) - value_range[0]) / max(value_range[1] - value_range[0], 1e-5)


def make_grid(tensor: Any, nrow: int = 8, padding: int = 2, normalize: bool = False,
              value_range: tuple[float, float] | None = None, scale_each: bool = False,
              pad_value: float = 0.0) -> Tensor:  # fmt: skip
    """Arranges images (n, channels, height, width) in a grid: one image (3, height, width) with `nrow` images in each
    row.

    With `normalize`, pixel values are scaled to [0, 1], for all images together or (`scale_each`) each by itself.

    Raises
    ------
    TypeError
        For arguments that are not tensors.
    ValueError
        For tensors with one dimension, or more than four.

    See Also
    --------
    torchvision.utils.save_image

    Examples
    --------
    >>> utils.make_grid(torch.zeros(4, 3, 8, 8), nrow=2).shape
    torch.Size([3, 22, 22])
    """
    if isinstance(tensor, (list, tuple)):
        tensor = _joining.stack(list(tensor))
    if not isinstance(tensor, Tensor):
        raise TypeError(f"tensor or list of tensors expected, got a {type(tensor).__name__}")
    if tensor.ndim not in (2, 3, 4):
        raise ValueError(f"expected images of 2 to 4 dimensions, got shape {list(tensor.dims)}")
    images = tensor.detach()
    while images.ndim < 4:
        images = images.unsqueeze(0)
    if images.dims[1] == 1:
        images = _joining.cat([images] * 3, 1)
    if normalize:
        each = [_scaled(images[k], value_range) for k in range(images.dims[0])] if scale_each else None
        images = _scaled(images, value_range) if each is None else _joining.stack(each)
    n, channels, height, width = images.dims
    if n == 1:
        return images[0]
    columns = min(nrow, n)
    rows = math.ceil(n / columns)
    size = [channels, rows * (height + padding) + padding, columns * (width + padding) + padding]
    grid = _core.t_full(size, pad_value, images.dtype_name, images.device_name)
    for k in range(n):
        y, x = (k // columns) * (height + padding) + padding, (k % columns) * (width + padding) + padding
        _core.t_update(grid[:, y : y + height, x : x + width], images[k])
    return grid


def save_image(tensor: Any, fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Writes images in [0, 1] to a file as one grid; the extension selects the format. `kwargs` are passed to
    `make_grid`.

    See Also
    --------
    torchvision.utils.make_grid

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> utils.save_image(torch.zeros(3, 8, 8), file, format="png")
    >>> len(file.getvalue()) > 0
    True
    """
    grid = make_grid(tensor, **kwargs)
    host = np.clip(grid.to_numpy() * 255 + 0.5, 0, 255).astype(np.uint8).transpose(1, 2, 0)
    pillow().fromarray(np.ascontiguousarray(host)).save(fp, format=format)


__all__ = ["make_grid", "save_image"]
