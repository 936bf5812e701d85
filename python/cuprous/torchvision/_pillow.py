"""Pillow, where it is installed."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np


@functools.cache
def found() -> Any:
    """`PIL.Image`, or None; looked for once, since looking for what is not there is slow."""
    try:
        from PIL import Image
    except ImportError:
        return None
    return Image


def pillow() -> Any:
    """`PIL.Image`.

    Raises:
        ImportError: with the line that installs it.
    """
    module = found()
    if module is None:
        raise ImportError("this needs Pillow: pip install pillow")
    return module


def is_image(x: Any) -> bool:
    """Whether it is one of Pillow's images."""
    module = found()
    return module is not None and isinstance(x, module.Image)


def image(array: np.ndarray[Any, Any]) -> Any:
    """Pillow's image of a uint8 array (height, width[, channels]); the array where there is no Pillow."""
    module = found()
    return array if module is None else module.fromarray(array)
