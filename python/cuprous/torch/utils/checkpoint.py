"""Gradient checkpointing."""

from __future__ import annotations

from cuprous.torch.autograd._checkpoint import checkpoint, checkpoint_sequential

__all__ = ["checkpoint", "checkpoint_sequential"]
