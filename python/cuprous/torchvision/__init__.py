"""A subset of torchvision: readers for local data sets, common transforms, ResNets, VGGs and AlexNet, and image grids.

Images are Pillow images if Pillow is installed, otherwise NumPy arrays of shape (height, width[, channels]). Functions
that need Pillow raise ImportError without it.
"""

from cuprous.torchvision import datasets, models, transforms, utils

__all__ = ["datasets", "models", "transforms", "utils"]
