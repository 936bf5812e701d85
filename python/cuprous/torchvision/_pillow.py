"""Pillow, if it is installed."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np


@functools.cache
def found() -> Any:
    """Returns `PIL.Image`, or None. The result is cached, as a failed import is slow."""
    try:
        from PIL import Image
    except ImportError:
        return None
    return Image


def pillow() -> Any:
    """Returns `PIL.Image`.

    Raises
    ------
    ImportError
        If Pillow is not installed; the message contains the install command.
    """
    module = found()
    if module is None:
        raise ImportError("this needs Pillow: pip install pillow")
    return module


def is_image(x: Any) -> bool:
    """Returns true for Pillow images."""
    module = found()
    return module is not None and isinstance(x, module.Image)


def image(array: np.ndarray[Any, Any]) -> Any:
    """Converts a uint8 array (height, width[, channels]) to a Pillow image; returns the array if Pillow is missing."""
    module = found()
    return array if module is None else module.fromarray(array)
