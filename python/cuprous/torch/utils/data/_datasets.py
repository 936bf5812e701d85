"""Datasets: items by index, or a stream of items."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from cuprous._core import Tensor
from cuprous.torch.utils.data._samplers import host_numbers

T = TypeVar("T", covariant=True)


class Dataset(Generic[T]):
    """Base class of items by index. Subclasses define `__getitem__`, and usually `__len__`.

    See Also
    --------
    torch.utils.data.IterableDataset, torch.utils.data.TensorDataset, torch.utils.data.DataLoader

    Examples
    --------
    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> next(iter(torch.utils.data.DataLoader(Squares(), batch_size=4)))
    tensor([0, 1, 4, 9])
    """

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Base class of streams. Subclasses define `__iter__`.

    Each worker iterates over a copy and selects its part by `get_worker_info()`.

    See Also
    --------
    torch.utils.data.TensorDataset, torch.utils.data.DataLoader, torch.utils.data.Dataset

    Examples
    --------
    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(4))
    >>> list(torch.utils.data.DataLoader(Count(), batch_size=2))
    [tensor([0, 1]), tensor([2, 3])]
    """

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[Any]) -> ChainDataset[Any]:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Rows of tensors with equal numbers of rows. A loader gathers a batch at once, not item by item.

    Parameters
    ----------
    *tensors : Tensor
        The tensors, of equal first extents.

    Raises
    ------
    AssertionError
        For different numbers of rows.

    See Also
    --------
    torch.utils.data.DataLoader, torch.utils.data.Dataset, torch.utils.data.IterableDataset

    Examples
    --------
    >>> data = torch.utils.data.TensorDataset(torch.tensor([[1.0], [2.0]]), torch.tensor([0, 1]))
    >>> data[1]
    (tensor([2.]), tensor(1))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(t.dims[:1] != tensors[0].dims[:1] for t in tensors):
            raise AssertionError("Size mismatch between tensors: " + ", ".join(str(list(t.dims)) for t in tensors))
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].dims[0]


class StackDataset(Dataset[Any]):
    """Datasets side by side. Items are tuples, or dictionaries if the datasets are given by name.

    Parameters
    ----------
    *args : Dataset or sequence
        The datasets.
    **kwargs : any
        The datasets by name, in place of `args`.

    Raises
    ------
    ValueError
        For datasets of different lengths, or for both kinds of arguments.

    See Also
    --------
    torch.utils.data.Subset, torch.utils.data.random_split, torch.utils.data.ConcatDataset,
    torch.utils.data.ChainDataset

    Examples
    --------
    >>> torch.utils.data.StackDataset([1, 2], [3, 4])[0]
    (1, 3)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("Supported either `tuple`- (via `args`) or `dict`- (via `kwargs`) like input/output")
        self.datasets: Any = args or kwargs
        lengths = {len(d) for d in (args or kwargs.values())}
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")
        self._length = lengths.pop()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T]):
    """Datasets one after another.

    Parameters
    ----------
    datasets : iterable of Datasets or of sequences
        The datasets.

    Raises
    ------
    AssertionError
        For no datasets, or streams.

    See Also
    --------
    torch.utils.data.ChainDataset, torch.utils.data.StackDataset, torch.utils.data.Subset,
    torch.utils.data.random_split

    Examples
    --------
    >>> len(torch.utils.data.ConcatDataset([[1, 2], [3]]))
    3
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        position = bisect_right(self.cumulative_sizes, index)
        if position == len(self.datasets):
            raise IndexError(f"index {index} is out of range for a dataset of {len(self)} items")
        return self.datasets[position][index - (self.cumulative_sizes[position - 1] if position else 0)]


class ChainDataset(IterableDataset[T]):
    """Streams one after another.

    Parameters
    ----------
    datasets : iterable of Datasets
        The streams.

    See Also
    --------
    torch.utils.data.StackDataset, torch.utils.data.Subset, torch.utils.data.random_split,
    torch.utils.data.ConcatDataset

    Examples
    --------
    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(torch.utils.data.ChainDataset([Count(), Count()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets: list[Any] = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)


class Subset(Dataset[T]):
    """Some items of a dataset.

    Parameters
    ----------
    dataset : Dataset or sequence
        The dataset.
    indices : sequence of ints
        The indices of the items.

    See Also
    --------
    torch.utils.data.random_split, torch.utils.data.ConcatDataset, torch.utils.data.ChainDataset,
    torch.utils.data.StackDataset

    Examples
    --------
    >>> torch.utils.data.Subset([10, 11, 12], [2, 0])[0]
    12
    """

    def __init__(self, dataset: Dataset[T], indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[k] for k in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Returns several items at once, as the underlying dataset does."""
        below = [self.indices[k] for k in indices]
        several = getattr(self.dataset, "__getitems__", None)
        return several(below) if several is not None else [self.dataset[k] for k in below]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Dataset[Any], lengths: Sequence[float], generator: Any = None) -> list[Subset[Any]]:
    """Returns random disjoint subsets of a dataset.

    Parameters
    ----------
    dataset : Dataset or sequence
        The dataset.
    lengths : sequence of floats
        The number of items of each subset, or fractions that sum to 1.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    list of Subset
        A list of subsets.

    Raises
    ------
    ValueError
        If the lengths do not add up.

    See Also
    --------
    torch.utils.data.ConcatDataset, torch.utils.data.ChainDataset, torch.utils.data.StackDataset,
    torch.utils.data.Subset

    Examples
    --------
    >>> [len(part) for part in torch.utils.data.random_split(range(10), [0.7, 0.3])]
    [7, 3]
    """
    total = len(dataset)  # type: ignore[arg-type]
    if lengths and math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for k, part in enumerate(lengths):
            if not 0 <= part <= 1:
                raise ValueError(f"Fraction at index {k} is not between 0 and 1")
        sizes = [math.floor(total * part) for part in lengths]
        for k in range(total - sum(sizes)):
            sizes[k % len(sizes)] += 1
    else:
        sizes = [int(n) for n in lengths]
    if sum(sizes) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = host_numbers(generator).permutation(total).tolist()
    return [Subset(dataset, order[end - n : end]) for n, end in zip(sizes, itertools.accumulate(sizes), strict=True)]
