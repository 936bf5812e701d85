"""Fetching of the items of a batch, in this process or in a worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.utils.data._collate import default_collate
from cuprous.torch.utils.data._datasets import IterableDataset, Subset, TensorDataset


def fetcher(dataset: Any, collate: Callable[[Any], Any], batched: bool, drop_last: bool) -> Callable[[Any], Any]:
    """Returns a function from indices to a batch. For a stream only the number of indices matters; StopIteration marks
    its end."""
    if isinstance(dataset, IterableDataset):
        stream = iter(dataset)
        if not batched:
            return lambda indices: collate(next(stream))

        def take(indices: list[int]) -> Any:
            items = list(itertools.islice(stream, len(indices)))
            if not items or (drop_last and len(items) < len(indices)):
                raise StopIteration
            return collate(items)

        return take
    if not batched:
        return lambda index: collate(dataset[index])
    found = tensors_below(dataset) if collate is default_collate else None
    if found is not None:
        tensors, below = found
        return lambda indices: [rows(t, below(indices)) for t in tensors]
    if hasattr(dataset, "__getitems__"):
        return lambda indices: collate(dataset.__getitems__(indices))
    return lambda indices: collate([dataset[k] for k in indices])


def tensors_below(dataset: Any) -> tuple[Sequence[Tensor], Callable[[list[int]], list[int]]] | None:
    """Returns the tensors of a `TensorDataset`, or of a subset of one, and a function from indices of the dataset to
    rows of the tensors; None for other datasets."""
    chosen = []
    while type(dataset) is Subset:
        chosen.append(dataset.indices)
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset:
        return None

    def below(indices: list[int]) -> list[int]:
        for positions in chosen:
            indices = [int(positions[k]) for k in indices]
        return indices

    return dataset.tensors, below


def rows(t: Tensor, indices: Any) -> Tensor:
    """Returns a copy of rows: one copy for consecutive rows, otherwise one gather.

    Raises
    ------
    IndexError
        For rows that do not exist.
    """
    if isinstance(indices, Tensor):  # part of an order whose indices were already checked
        return t[indices]
    first, n = indices[0], len(indices)
    if n == 1 or (indices[-1] - first == n - 1 and list(range(first, first + n)) == indices):
        if not (first >= 0 and first + n <= t.dims[0]):
            raise IndexError(f"index {first + n - 1} is out of bounds for dimension 0 with size {t.dims[0]}")
        return _core.t_cast(t[first : first + n], t.dtype_name)
    host = np.asarray(indices, np.int64)
    if host.min() < -t.dims[0] or host.max() >= t.dims[0]:
        raise IndexError(f"indices reach from {host.min()} to {host.max()}, but dimension 0 has size {t.dims[0]}")
    return t[_core.t_wrap(_core.from_numpy(host, t.device_name))]


def parts(order: list[int], size: int, drop_last: bool, device: str) -> Iterator[Any]:
    """Iterates over an order in batches, as views of one tensor on the device, which is copied there once."""
    whole = _core.t_wrap(_core.from_numpy(np.asarray(order, np.int64), device))
    for at in range(0, len(order), size):
        if at + size <= len(order) or not drop_last:
            yield whole[at : at + size]
