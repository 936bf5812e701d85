"""The part of a dataset that one of several processes uses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from cuprous.torch.utils.data._samplers import Sampler


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, starting at `rank`, of an order that is the same in all processes.

    All parts have the same length: some indices are repeated or dropped.

    Parameters
    ----------
    dataset : Dataset or sequence
        The dataset, or anything with a length.
    num_replicas : int, optional
        The number of processes, by default that of the process group.
    rank : int, optional
        The number of this process, by default its rank in the process group.
    shuffle : bool, default True
        Whether the order is random, and another one after each `set_epoch`.
    seed : int, default 0
        The seed of the order, the same in all processes.
    drop_last : bool, default False
        Whether indices are dropped rather than repeated.

    Raises
    ------
    RuntimeError
        If they are not given and there is no process group.
    ValueError
        For a rank out of range.

    See Also
    --------
    torch.utils.data.RandomSampler, torch.utils.data.SequentialSampler, torch.utils.data.SubsetRandomSampler,
    torch.utils.data.WeightedRandomSampler, torch.utils.data.BatchSampler

    Examples
    --------
    >>> list(torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=0, shuffle=False))
    [0, 2, 4]
    """

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
                 seed: int = 0, drop_last: bool = False) -> None:  # fmt: skip
        if num_replicas is None or rank is None:
            from cuprous.torch import distributed as dist

            if not dist.is_initialized():
                raise RuntimeError(
                    "[DistributedSampler] there is no process group; call init_process_group first, or give "
                    "num_replicas= and rank="
                )
            num_replicas = dist.get_world_size() if num_replicas is None else num_replicas
            rank = dist.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        order = np.random.default_rng([self.seed, self.epoch]).permutation(n) if self.shuffle else np.arange(n)
        return iter(np.resize(order, self.total_size)[self.rank :: self.num_replicas].tolist())

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, which determines the order.

        Parameters
        ----------
        epoch : int
            The epoch.

        Examples
        --------
        >>> sampler = torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=0)
        >>> sampler.set_epoch(1)
        """
        self.epoch = epoch


__all__ = ["DistributedSampler"]
