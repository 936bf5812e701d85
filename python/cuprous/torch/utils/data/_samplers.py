"""Samplers: the order in which the items of a dataset are drawn. Random orders are drawn on the host, where they are
used."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from cuprous.torch import _random_numbers

T = TypeVar("T", covariant=True)


def host_numbers(generator: Any = None) -> np.random.Generator:
    """Returns a NumPy generator seeded from the next number of a generator (None: the default one)."""
    source = _random_numbers.default_generator if generator is None else generator
    key = np.array([source._seed, source._position.take(1)], np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


#: Number of indices that are drawn at once.
_CHUNK_SIZE = 1 << 16


class Sampler(Generic[T]):
    """Base class of orders. Subclasses define `__iter__`, and `__len__` if the order ends.

    Parameters
    ----------
    data_source : Dataset, optional
        Has no effect.

    See Also
    --------
    torch.utils.data.SequentialSampler, torch.utils.data.RandomSampler, torch.utils.data.BatchSampler,
    torch.utils.data.WeightedRandomSampler

    Examples
    --------
    >>> class Backward(torch.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> list(torch.utils.data.DataLoader([10, 11, 12], batch_size=3, sampler=Backward()))
    [tensor([12, 11, 10])]
    """

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All items in order.

    Parameters
    ----------
    data_source : Dataset or sequence
        The dataset, or anything with a length.

    See Also
    --------
    torch.utils.data.SubsetRandomSampler, torch.utils.data.WeightedRandomSampler, torch.utils.data.BatchSampler,
    torch.utils.data.DistributedSampler, torch.utils.data.RandomSampler

    Examples
    --------
    >>> list(torch.utils.data.SequentialSampler(range(3)))
    [0, 1, 2]
    """

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All items in random order.

    Parameters
    ----------
    data_source : Dataset or sequence
        The dataset, or anything with a length.
    replacement : bool, default False
        Whether items are drawn independently, so that one may come several times.
    num_samples : int, optional
        The number of items, by default that of the dataset.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Raises
    ------
    ValueError
        For a number that is not positive.

    See Also
    --------
    torch.utils.data.SequentialSampler, torch.utils.data.SubsetRandomSampler, torch.utils.data.WeightedRandomSampler,
    torch.utils.data.BatchSampler, torch.utils.data.DistributedSampler

    Examples
    --------
    >>> sorted(torch.utils.data.RandomSampler(range(3)))
    [0, 1, 2]
    """

    def __init__(self, data_source: Any, replacement: bool = False, num_samples: int | None = None,
                 generator: Any = None) -> None:  # fmt: skip
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples <= 0):
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")

    @property
    def num_samples(self) -> int:
        """The number of items that are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        numbers, n, wanted = host_numbers(self.generator), len(self.data_source), self.num_samples
        if self.replacement:
            # In chunks, because programs request 10**10 samples and use only some of them.
            sizes = (min(_CHUNK_SIZE, wanted - at) for at in range(0, wanted if n else 0, _CHUNK_SIZE))
            return itertools.chain.from_iterable(numbers.integers(0, n, size).tolist() for size in sizes)
        rounds = (numbers.permutation(n).tolist() for _ in range(-(-wanted // n) if n else 0))
        return itertools.islice(itertools.chain.from_iterable(rounds), wanted)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some indices in random order.

    Parameters
    ----------
    indices : sequence of ints
        The indices.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    See Also
    --------
    torch.utils.data.WeightedRandomSampler, torch.utils.data.BatchSampler, torch.utils.data.DistributedSampler,
    torch.utils.data.RandomSampler, torch.utils.data.SequentialSampler

    Examples
    --------
    >>> sorted(torch.utils.data.SubsetRandomSampler([4, 7]))
    [4, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        return (self.indices[k] for k in host_numbers(self.generator).permutation(len(self.indices)).tolist())

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices that are drawn with probabilities proportional to weights.

    Parameters
    ----------
    weights : sequence of floats
        The weight of each index.
    num_samples : int
        The number of indices.
    replacement : bool, default True
        Whether an index may come several times.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Raises
    ------
    ValueError
        For a number that is not positive.

    See Also
    --------
    torch.utils.data.BatchSampler, torch.utils.data.DistributedSampler, torch.utils.data.RandomSampler,
    torch.utils.data.SequentialSampler, torch.utils.data.SubsetRandomSampler

    Examples
    --------
    >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = np.asarray(weights.tolist() if hasattr(weights, "tolist") else list(weights), np.float64)
        if self.weights.ndim != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {self.weights.shape}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        p = self.weights / self.weights.sum()
        drawn = host_numbers(self.generator).choice(len(p), self.num_samples, replace=self.replacement, p=p)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of indices of another sampler.

    Parameters
    ----------
    sampler : iterable of ints
        The sampler.
    batch_size : int
        The number of indices of a list.
    drop_last : bool
        Whether a last list that is shorter is left out.

    Raises
    ------
    ValueError
        For a size that is not positive.

    See Also
    --------
    torch.utils.data.DistributedSampler, torch.utils.data.RandomSampler, torch.utils.data.SequentialSampler,
    torch.utils.data.SubsetRandomSampler, torch.utils.data.WeightedRandomSampler

    Examples
    --------
    >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
