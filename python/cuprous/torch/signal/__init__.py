"""`torch.signal`: windows."""

from cuprous.torch.signal import windows

__all__ = ["windows"]
