"""A subset of torchvision: readers for local data sets, common transforms, ResNets, VGGs and AlexNet, and image grids.

Images are Pillow images if Pillow is installed, otherwise NumPy arrays of shape (height, width[, channels]). Functions
that need Pillow raise ImportError without it.
"""

from cuprous.torchvision import datasets, io, models, ops, transforms, utils

__version__ = "0.26.0+cuprous"


def get_image_backend() -> str:
    """Returns "PIL"."""
    return "PIL"


def set_image_backend(backend: str) -> None:
    """Has no effect for "PIL".

    Raises
    ------
    ValueError
        For another backend.
    """
    if backend != "PIL":
        raise ValueError(f"images are read with Pillow here, not with {backend!r}")


def disable_beta_transforms_warning() -> None:
    """Has no effect: there is no such warning."""


__all__ = ["datasets", "io", "models", "ops", "transforms", "utils"]
