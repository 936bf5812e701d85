"""The functions behind the transforms, under the second version's names."""

from __future__ import annotations

from typing import Any

from cuprous.torchvision.transforms import functional as _first
from cuprous.torchvision.transforms.functional import *  # noqa: F403
from cuprous.torchvision.transforms.functional import convert_image_dtype, hflip, pil_to_tensor, to_grayscale, vflip

to_image, horizontal_flip, vertical_flip = pil_to_tensor, hflip, vflip
rgb_to_grayscale = to_grayscale
get_size = _first.get_image_size


def to_dtype(inpt: Any, dtype: Any = None, scale: bool = False) -> Any:
    """Returns a tensor in another dtype; with `scale` its values are scaled too."""
    return convert_image_dtype(inpt, dtype) if scale else inpt.to(dtype)
