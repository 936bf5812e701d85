"""The module that contains `DataLoader` in PyTorch."""

from cuprous.torch.utils.data._collate import default_collate, default_convert
from cuprous.torch.utils.data._loader import DataLoader
from cuprous.torch.utils.data._workers import get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
