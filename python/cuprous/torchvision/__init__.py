"""A small torchvision: readers of local data sets, the transforms that most programs use, ResNets and VGGs, grids of
images.

Images are Pillow's where Pillow is installed; otherwise NumPy arrays (height, width[, channels]) take their place, and
what needs Pillow says so.
"""

from cuprous.torchvision import datasets, models, transforms, utils

__all__ = ["datasets", "models", "transforms", "utils"]
