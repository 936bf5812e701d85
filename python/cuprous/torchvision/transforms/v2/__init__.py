"""The second version of the transforms. For images and tensors they are those of the first version."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torchvision import transforms
from cuprous.torchvision.transforms import *  # noqa: F403
from cuprous.torchvision.transforms.v2 import functional  # type: ignore[no-redef]


class Identity:
    """Returns its argument.

    See Also
    --------
    torchvision.transforms.v2.Compose

    Examples
    --------
    >>> v2.Identity()(torch.ones(2))
    tensor([1., 1.])
    """

    def __call__(self, x: Any) -> Any:
        """Returns the argument."""
        return x


class ToImage(transforms.PILToTensor):
    """Converts an image or array to a uint8 tensor (channels, height, width). A tensor is one already.

    See Also
    --------
    torchvision.transforms.v2.ToDtype

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> v2.ToImage()(image).shape
    torch.Size([3, 2, 4])
    """

    def __call__(self, img: Any) -> Any:
        """Returns the tensor."""
        return img if isinstance(img, Tensor) else super().__call__(img)


class ToDtype:
    """Converts a tensor to a dtype; with `scale` its values too, so that floats lie in [0, 1].

    See Also
    --------
    torchvision.transforms.v2.ToImage, torchvision.transforms.v2.Normalize

    Examples
    --------
    >>> v2.ToDtype(torch.float32, scale=True)(torch.tensor([0, 255], dtype=torch.uint8))
    tensor([0., 1.])
    """

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        self.dtype, self.scale = dtype, scale

    def __call__(self, x: Any) -> Any:
        """Returns the converted tensor."""
        return functional.convert_image_dtype(x, self.dtype) if self.scale else x.to(self.dtype)


__all__ = [*transforms.__all__, "Identity", "ToDtype", "ToImage"]
