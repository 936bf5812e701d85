"""Pillow, where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np


def pillow() -> Any:
    """`PIL.Image`.

    Raises:
        ImportError: with the line that installs it.
    """
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("this needs Pillow: pip install pillow") from None
    return Image


def is_image(x: Any) -> bool:
    """Whether it is one of Pillow's images."""
    try:
        from PIL import Image
    except ImportError:
        return False
    return isinstance(x, Image.Image)


def image(array: np.ndarray[Any, Any]) -> Any:
    """Pillow's image of a uint8 array (height, width[, channels]); the array where there is no Pillow."""
    try:
        from PIL import Image
    except ImportError:
        return array
    return Image.fromarray(array)
