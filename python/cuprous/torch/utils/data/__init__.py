"""Datasets, samplers and loaders with PyTorch's API."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cuprous.torch import _placeholders
from cuprous.torch.utils.data import dataloader, dataset, distributed, sampler
from cuprous.torch.utils.data._collate import default_collate, default_convert
from cuprous.torch.utils.data._datasets import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from cuprous.torch.utils.data._loader import DataLoader
from cuprous.torch.utils.data._samplers import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from cuprous.torch.utils.data._workers import get_worker_info
from cuprous.torch.utils.data.distributed import DistributedSampler


def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable[[type], type]:
    """Returns a decorator that changes nothing: libraries decorate pipes at import, and pipes are not supported.

    Parameters
    ----------
    name : str
        The method that PyTorch's pipes would have.
    enable_df_api_tracing : bool, default False
        Has no effect.

    Examples
    --------
    >>> torch.utils.data.functional_datapipe("batch")(int)
    <class 'int'>
    """
    return lambda cls: cls


if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("utils.data", name)


__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler",
    "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "dataloader", "dataset", "default_collate", "default_convert", "distributed",
    "get_worker_info", "random_split", "sampler",
]  # fmt: skip
