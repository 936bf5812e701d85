"""What surrounds training: data loading, checkpoints, and `tensorboard` once it is imported."""

from cuprous.torch.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
