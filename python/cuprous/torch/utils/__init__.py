"""What surrounds training: data loading, and `tensorboard` once it is imported."""

from cuprous.torch.utils import data

__all__ = ["data"]
