"""The data loader: batches of a dataset, produced in this process or by worker processes."""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic

from cuprous._core import Tensor
from cuprous.torch.utils.data._collate import default_collate, default_convert
from cuprous.torch.utils.data._datasets import Dataset, IterableDataset, T
from cuprous.torch.utils.data._fetch import fetcher, parts, rows, tensors_below
from cuprous.torch.utils.data._samplers import BatchSampler, RandomSampler, SequentialSampler, host_numbers
from cuprous.torch.utils.data._workers import Workers, choose_context


class _InfiniteIndices:
    """The indices of a stream, which ignores their values."""

    def __iter__(self) -> Iterator[Any]:
        return itertools.repeat(None)


class DataLoader(Generic[T]):
    """Batches of a dataset, in order or shuffled.

    With `num_workers`, processes fetch and collate the items. On Linux they are forked, so that a dataset need not
    be picklable and must not use a GPU, and elsewhere spawned. Batches of a `TensorDataset` are gathered at once, on
    the device of its tensors.

    Parameters
    ----------
    dataset : Dataset or sequence
        The dataset, a sequence or a stream.
    batch_size : int or None, default 1
        The number of items of a batch; None for single items.
    shuffle : bool, optional
        Whether items come in another random order in each epoch.
    sampler : iterable, optional
        The order of indices, in place of `shuffle`.
    batch_sampler : iterable, optional
        Lists of indices, in place of `batch_size`, `shuffle`, `sampler` and `drop_last`.
    num_workers : int, default 0
        The number of processes; 0 for this process.
    collate_fn : callable, optional
        Makes a batch of a list of items, by default `default_collate`.
    pin_memory : bool, default False
        Whether batches are copied to page-locked memory, from which `.to(device, non_blocking=True)` copies while host
        and GPU continue.
    drop_last : bool, default False
        Whether a last batch that is smaller is left out.
    timeout : float, default 0
        The seconds to wait for a worker; 0 for no limit.
    worker_init_fn : callable, optional
        A function that each worker calls with its number first.
    multiprocessing_context : str or object, optional
        "fork", "spawn", "forkserver" or a context.
    generator : Generator, optional
        The generator of random orders, by default the one that `torch.manual_seed` seeds.
    prefetch_factor : int, optional
        The number of batches that each worker fetches ahead, 2 by default.
    persistent_workers : bool, default False
        Whether processes stay for the next epoch.
    pin_memory_device : str, default ""
        Has no effect.
    in_order : bool, default True
        Whether batches come in order when several workers fetch them.

    Raises
    ------
    ValueError
        For settings that exclude each other.

    See Also
    --------
    torch.utils.data.Dataset, torch.utils.data.IterableDataset, torch.utils.data.TensorDataset,
    torch.utils.data.get_worker_info

    Examples
    --------
    >>> data = torch.utils.data.TensorDataset(torch.arange(5))
    >>> [len(batch) for (batch,) in torch.utils.data.DataLoader(data, batch_size=2, shuffle=True)]
    [2, 2, 1]
    """

    def __init__(self, dataset: Dataset[T] | Sequence[T], batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Any = None, batch_sampler: Any = None, num_workers: int = 0,
                 collate_fn: Callable[[Any], Any] | None = None,
                 pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
                 worker_init_fn: Callable[[int], None] | None = None, multiprocessing_context: Any = None,
                 generator: Any = None, *, prefetch_factor: int | None = None, persistent_workers: bool = False,
                 pin_memory_device: str = "", in_order: bool = True) -> None:  # fmt: skip
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing. let num_workers > 0 "
                             "to enable multiprocessing, otherwise set prefetch_factor to None.")  # fmt: skip
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ValueError("prefetch_factor option should be positive")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if not in_order:
            raise NotImplementedError("[DataLoader] in_order=False is not supported")
        if multiprocessing_context is not None:
            if num_workers == 0:
                raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > "
                                 f"0), but got num_workers={num_workers}")  # fmt: skip
            choose_context(multiprocessing_context)
        stream = isinstance(dataset, IterableDataset)
        if stream and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError(
                "DataLoader with IterableDataset: expected unspecified shuffle, sampler and batch_sampler options, but "
                f"got shuffle={shuffle}, sampler={sampler}, batch_sampler={batch_sampler}"
            )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if stream:
                sampler = _InfiniteIndices()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.multiprocessing_context, self.generator = multiprocessing_context, generator
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.persistent_workers = persistent_workers
        batched = batch_sampler is not None
        self.collate_fn = collate_fn if collate_fn is not None else default_collate if batched else default_convert
        self._workers: Workers | None = None
        self._iterator: _WorkerIterator | None = None

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        n = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        batches = self._iter_workers() if self.num_workers else self._iter_in_process()
        return map(_pinned, batches) if self.pin_memory else batches

    def _indices(self) -> Iterator[Any]:
        return iter(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def _fetch_arguments(self) -> tuple[Any, ...]:
        """Returns the arguments of `fetcher` after the dataset."""
        return self.collate_fn, self.batch_sampler is not None, self.drop_last

    def _iter_in_process(self) -> Iterator[Any]:
        whole = self._order()
        if whole is not None:
            tensors, order = whole
            for part in parts(order, self.batch_sampler.batch_size, self.drop_last, tensors[0].device_name):
                yield [rows(t, part if t.device_name == part.device_name else part.tolist()) for t in tensors]
            return
        fetch = fetcher(self.dataset, *self._fetch_arguments())
        for indices in self._indices():
            try:
                batch = fetch(indices)
            except StopIteration:
                return
            yield batch

    def _order(self) -> tuple[Sequence[Tensor], list[int]] | None:
        """Returns the tensors and the whole order of their rows, if plain batches are drawn at random from a
        `TensorDataset`; otherwise None."""
        found = tensors_below(self.dataset) if self.collate_fn is default_collate else None
        if found is None or type(self.batch_sampler) is not BatchSampler:
            return None
        sampler = self.batch_sampler.sampler
        if type(sampler) is not RandomSampler or sampler.data_source is not self.dataset:
            return None
        return found[0], found[1](list(sampler))

    def _iter_workers(self) -> Iterator[Any]:
        if self.persistent_workers and self._iterator is not None:
            self._iterator.drain()
        if self._workers is not None and self._workers.stopped:
            self._workers = None
        workers, first = self._workers, self._workers is None
        if workers is None:
            workers = Workers(self.dataset, self._fetch_arguments(), self.num_workers, self.worker_init_fn,
                              self.multiprocessing_context)  # fmt: skip
            if self.persistent_workers:
                self._workers = workers
        workers.start_epoch(int(host_numbers(self.generator).integers(1 << 62)), first)
        iterator = _WorkerIterator(self, workers)
        if self.persistent_workers:
            self._iterator = iterator
        return iterator


class _WorkerIterator:
    """Iterates over an epoch with workers, which take turns and work a few batches ahead."""

    def __init__(self, loader: DataLoader, workers: Workers) -> None:
        self._workers, self._timeout, self._persistent = workers, loader.timeout, loader.persistent_workers
        self._indices = loader._indices()
        self._active = deque(range(loader.num_workers))
        self._exhausted: set[int] = set()
        self._pending: deque[int] = deque()
        self._finished = False
        for _ in range((loader.prefetch_factor or 2) * loader.num_workers):
            self._request_batch()

    def _request_batch(self) -> None:
        """Requests the next batch from the next worker."""
        while self._active and self._active[0] in self._exhausted:
            self._active.popleft()
        if not self._active:
            return
        try:
            indices = next(self._indices)
        except StopIteration:
            self._active.clear()
            return
        k = self._active[0]
        self._active.rotate(-1)
        self._workers.request(k, indices)
        self._pending.append(k)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while self._pending:
            k = self._pending.popleft()
            try:
                kind, batch = self._workers.receive(k, self._timeout)
            except BaseException:
                self._end()
                raise
            if kind == "end":
                self._exhausted.add(k)
                self._request_batch()
                continue
            self._request_batch()
            return batch
        self._end()
        raise StopIteration

    def drain(self) -> None:
        """Receives and discards all requested batches."""
        while self._pending:
            with contextlib.suppress(Exception):  # errors of discarded batches are ignored
                self._workers.receive(self._pending.popleft(), self._timeout)

    def _end(self) -> None:
        self._active.clear()
        if not self._persistent and not self._finished:
            self._pending.clear()
            self._workers.stop()
        self._finished = True


def _pinned(batch: Any) -> Any:
    """Returns the batch with its tensors in page-locked memory. Batches of user-defined classes are pinned by their own
    `pin_memory`."""
    pin = getattr(batch, "pin_memory", None)
    if pin is not None:
        return batch if isinstance(batch, Tensor) and batch.device_name != "cpu" else pin()
    if isinstance(batch, dict):
        return type(batch)((key, _pinned(value)) for key, value in batch.items())
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(_pinned, batch))
    return type(batch)(map(_pinned, batch)) if isinstance(batch, (tuple, list)) else batch
