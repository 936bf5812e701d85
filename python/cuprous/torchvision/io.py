"""Reading of image files, with Pillow."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

import numpy as np

from cuprous._core import Tensor
from cuprous._unsupported import unsupported_function
from cuprous.torch import _creation
from cuprous.torchvision import _pillow


class ImageReadMode(enum.Enum):
    """The channels of an image: as in the file, or converted.

    See Also
    --------
    torchvision.io.read_image

    Examples
    --------
    >>> io.ImageReadMode.RGB.name
    'RGB'
    """

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_MODES = {
    ImageReadMode.GRAY: "L",
    ImageReadMode.GRAY_ALPHA: "LA",
    ImageReadMode.RGB: "RGB",
    ImageReadMode.RGB_ALPHA: "RGBA",
}


def read_image(path: str | Path, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False) -> Tensor:
    """Returns a uint8 tensor (channels, height, width) of an image file.

    Parameters
    ----------
    path : str or path-like
        The file.
    mode : str or ImageReadMode, optional
        A member of `ImageReadMode`, or its name.
    apply_exif_orientation : bool, default False
        Turn the image as its EXIF data say.

    See Also
    --------
    torchvision.io.ImageReadMode
    """
    image = _pillow.pillow().open(path)
    if apply_exif_orientation:
        from PIL import ImageOps

        image = ImageOps.exif_transpose(image)
    mode = ImageReadMode[mode] if isinstance(mode, str) else mode
    if mode is not ImageReadMode.UNCHANGED:
        image = image.convert(_MODES[mode])
    pixels = np.asarray(image)
    return _creation.from_numpy(np.ascontiguousarray(pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)))


decode_image = unsupported_function("decode_image", "write the bytes to a file, or use Pillow", "io.")
read_video = unsupported_function("read_video", "use PyAV or OpenCV", "io.")
write_video = unsupported_function("write_video", "use PyAV or OpenCV", "io.")
VideoReader = unsupported_function("VideoReader", "use PyAV or OpenCV", "io.")

__all__ = ["ImageReadMode", "decode_image", "read_image", "read_video", "write_video"]
