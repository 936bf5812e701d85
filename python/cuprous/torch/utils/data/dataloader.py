"""The module that contains `DataLoader` in PyTorch."""

from cuprous.torch.utils.data._collate import default_collate, default_convert
from cuprous.torch.utils.data._loader import DataLoader, _WorkerIterator
from cuprous.torch.utils.data._workers import get_worker_info

#: PyTorch's classes of iterators, for `isinstance`: loaders without workers are iterated by generators here.
_MultiProcessingDataLoaderIter = _BaseDataLoaderIter = _WorkerIterator

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
