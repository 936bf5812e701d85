"""Data sets, samplers, collation, and loaders with and without workers."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from tests.support import assert_errors

D = torch.utils.data
Point = namedtuple("Point", "x y")


class Squares(D.Dataset):
    """Arrays, numbers and strings."""

    def __init__(self, n: int = 10, size: int = 3) -> None:
        self.n, self.size = n, size

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, k: int) -> Any:
        return {"x": np.full(self.size, k * k, np.float32), "k": k, "name": str(k)}


class Tensors(Squares):
    """Items created by the engine in the worker."""

    def __getitem__(self, k: int) -> Any:
        return (torch.arange(4, dtype=torch.float32) * k).exp().log(), torch.tensor(k)


class Stream(D.IterableDataset):
    """Numbers, of which each worker returns every n-th."""

    def __iter__(self) -> Any:
        info = D.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, 11, step))

    def __len__(self) -> int:
        return 11


class Failing(Squares):
    def __getitem__(self, k: int) -> Any:
        if k == 5:
            raise KeyError("item five")
        return k


class Dying(Squares):
    def __getitem__(self, k: int) -> Any:
        os._exit(3)


class Slow(Squares):
    def __getitem__(self, k: int) -> Any:
        time.sleep(5)
        return k


class Random(Squares):
    def __getitem__(self, k: int) -> Any:
        info = D.get_worker_info()
        assert info is not None and info.dataset is self
        return np.random.rand(), float(torch.rand(1)), info.seed, os.getpid()


def flat(loader: Any) -> list[int]:
    return [k for batch in loader for k in (batch["k"] if isinstance(batch, dict) else batch).reshape(-1).tolist()]


def test_data_sets() -> None:
    a = D.TensorDataset(torch.arange(6).reshape(3, 2), torch.arange(3))
    assert len(a) == 3 and [t.tolist() for t in a[1]] == [[2, 3], 1]
    both = a + D.TensorDataset(torch.zeros(2, 2, dtype=torch.int64), torch.arange(2))
    assert len(both) == 5 and both[3][1].item() == 0 and both[-1][1].item() == 1
    with pytest.raises(IndexError):
        both[5]
    assert D.Subset(a, [2, 0])[0][1].item() == 2
    assert [t.item() for t in D.StackDataset(a.tensors[1], a.tensors[1])[2]] == [2, 2]
    assert D.StackDataset(u=range(3), v=range(3))[1] == {"u": 1, "v": 1}
    parts = D.random_split(range(10), [0.5, 0.25, 0.25], torch.Generator().manual_seed(1))
    assert [len(p) for p in parts] == [6, 2, 2] and sorted(k for p in parts for k in p) == list(range(10))
    assert [len(p) for p in D.random_split(range(10), [7, 3])] == [7, 3]
    assert list(D.ChainDataset([Stream(), Stream()])) == [*range(11)] * 2
    assert_errors(
        (lambda: D.TensorDataset(torch.ones(2), torch.ones(3)), AssertionError),
        (lambda: D.random_split(range(3), [1, 1]), ValueError),
        (lambda: D.StackDataset(range(2), range(3)), ValueError),
        (lambda: D.ConcatDataset([]), AssertionError),
        (lambda: D.Dataset()[0], NotImplementedError),
    )


def test_samplers() -> None:
    def seeded() -> Any:
        return torch.Generator().manual_seed(3)

    first = list(D.RandomSampler(range(20), generator=seeded()))
    assert sorted(first) == list(range(20)) and first != list(range(20))
    assert first == list(D.RandomSampler(range(20), generator=seeded()))
    assert len(list(D.RandomSampler(range(3), num_samples=7))) == 7
    assert set(D.RandomSampler(range(3), True, 50)) == {0, 1, 2}
    assert sorted(D.SubsetRandomSampler([4, 7])) == [4, 7]
    weighted = list(D.WeightedRandomSampler([0.0, 3.0, 1.0], 4000, generator=seeded()))
    assert 0 not in weighted and abs(weighted.count(1) / 4000 - 0.75) < 0.03
    assert sorted(D.WeightedRandomSampler(torch.ones(4), 4, False)) == [0, 1, 2, 3]
    assert list(D.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert len(D.BatchSampler(range(5), 2, True)) == 2 == len(list(D.BatchSampler(range(5), 2, True)))
    for wrong in (
        lambda: D.BatchSampler([1], 0, False),
        lambda: D.RandomSampler([1], num_samples=-1),
        lambda: D.WeightedRandomSampler([[1.0]], 1),
    ):
        with pytest.raises(ValueError):
            wrong()


@pytest.mark.parametrize("drop_last", [False, True])
def test_parts_of_several_processes(drop_last: bool) -> None:
    def parts(epoch: int, shuffle: bool) -> list[list[int]]:
        make = D.distributed.DistributedSampler
        samplers = [make(range(10), 3, rank, shuffle, drop_last=drop_last) for rank in range(3)]
        for sampler in samplers:
            sampler.set_epoch(epoch)
        return [list(sampler) for sampler in samplers]

    assert parts(0, False)[1] == ([1, 4, 7] if drop_last else [1, 4, 7, 0])
    first = parts(0, True)
    assert {len(part) for part in first} == {3 if drop_last else 4} and parts(0, True) == first != parts(1, True)
    assert len({k for part in first for k in part}) == (9 if drop_last else 10)
    with pytest.raises(RuntimeError, match="num_replicas"):
        D.distributed.DistributedSampler(range(3))
    with pytest.raises(ValueError, match="rank"):
        D.distributed.DistributedSampler(range(3), 2, 2)


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        ([1, 2], ("int64", [1, 2])),
        ([1.5, 2.0], ("float64", [1.5, 2.0])),
        ([True, False], ("bool", [True, False])),
        ([np.float32(1), np.float32(2)], ("float32", [1, 2])),
        ([np.ones(2, np.uint8)] * 2, ("uint8", [[1, 1]] * 2)),
    ],
)
def test_collation_of_numbers(batch: list[Any], expected: Any) -> None:
    t = D.default_collate(batch)
    assert (t.dtype_name, t.tolist()) == expected


def test_collation_of_structures() -> None:
    found = D.default_collate([Point(torch.ones(2), ["a", 1]), Point(torch.zeros(2), ["b", 2])])
    assert type(found) is Point and found.x.tolist() == [[1, 1], [0, 0]]
    assert found.y[0] == ("a", "b") and found.y[1].tolist() == [1, 2]
    assert type(D.default_collate([(1, 2), (3, 4)])) is list
    assert D.default_convert((np.ones(2), "s"))[0].tolist() == [1, 1]
    for wrong, error in (
        ([object()], TypeError),
        ([np.array(["a"])], TypeError),
        ([[1], [1, 2]], RuntimeError),
        ([torch.ones(2), torch.ones(3)], RuntimeError),
    ):
        with pytest.raises(error):
            D.default_collate(wrong)


@pytest.mark.parametrize("workers", [0, 2])
def test_loaders(workers: int) -> None:
    def make(data: Any, *args: Any, **kwargs: Any) -> Any:
        return D.DataLoader(data, *args, num_workers=workers, **kwargs)

    loader = make(Squares(), 4)
    batches = list(loader)
    assert len(loader) == len(batches) == 3
    assert [b["k"].tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert batches[1]["x"].dtype is torch.float32 and batches[1]["x"].tolist()[1] == [25.0] * 3
    assert batches[2]["name"] == ["8", "9"]
    assert len(list(make(Squares(), 4, drop_last=True))) == 2
    shuffled = make(Squares(), 4, shuffle=True, generator=torch.Generator().manual_seed(0))
    first, second = flat(shuffled), flat(shuffled)
    assert sorted(first) == sorted(second) == list(range(10)) and first != second
    assert [b.tolist() for b in make(Failing(), batch_sampler=[[1, 2], [3]])] == [[1, 2], [3]]
    assert [b["k"] for b in make(Squares(3), None)] == [0, 1, 2]
    assert [b for b in make(Failing(3), 2, collate_fn=tuple)] == [(0, 1), (2,)]
    for values, k in make(Tensors(3), 1):
        np.testing.assert_allclose(values.cpu().numpy()[0], np.arange(4) * k.item(), rtol=1e-6)
    assert sorted(flat(make(Stream(), 3))) == list(range(11)) and len(make(Stream(), 3)) == 4
    with pytest.raises(KeyError, match="item five"):
        list(make(Failing(), 4))


def test_large_batches_use_shared_memory() -> None:
    loader = D.DataLoader(Squares(12, 50_000), 4, num_workers=2)
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    for k, batch in enumerate(loader):
        assert batch["x"].dims == (4, 50_000)
        assert (batch["x"].cpu().numpy() == (np.arange(4 * k, 4 * k + 4) ** 2)[:, None]).all()
    if before:
        assert set(os.listdir("/dev/shm")) <= before


@pytest.mark.parametrize("shuffle", [False, True])
def test_tensors_are_gathered_at_once(shuffle: bool) -> None:
    x = torch.arange(22).reshape(11, 2)
    loader = D.DataLoader(D.TensorDataset(x, torch.arange(11)), 4, shuffle=shuffle)
    seen = []
    for rows, k in loader:
        assert torch.equal(rows, x[k])
        rows.zero_()  # a batch is a copy
        seen += k.tolist()
    assert sorted(seen) == list(range(11)) and (seen == list(range(11))) != shuffle
    assert x.sum().item() == 231
    part = D.Subset(D.Subset(D.TensorDataset(x), range(2, 10)), [5, 0, 7])
    assert sorted(v for (rows,) in D.DataLoader(part, 2, shuffle=shuffle) for v in rows[:, 0].tolist()) == [4, 14, 18]
    with pytest.raises(IndexError):
        list(D.DataLoader(D.TensorDataset(x), batch_sampler=[[1, 12]]))


def test_workers_have_seeds_and_stay() -> None:
    started: list[int] = []
    loader = D.DataLoader(Random(4), 2, num_workers=2, persistent_workers=True, collate_fn=list,
                          generator=torch.Generator().manual_seed(1), worker_init_fn=started.append)  # fmt: skip
    first, second = ([item for batch in loader for item in batch] for _ in range(2))
    assert len({item[0] for item in first + second}) == len({item[1] for item in first + second}) == 8
    assert {item[3] for item in first} == {item[3] for item in second} and not started
    assert len({item[2] for item in first}) == 2
    again = D.DataLoader(Random(4), 2, num_workers=2, collate_fn=list, generator=torch.Generator().manual_seed(1))
    assert [item[:3] for batch in again for item in batch] == [item[:3] for item in first]
    next(iter(loader))  # stopped early and restarted
    assert len(list(loader)) == 2
    del loader
    gc.collect()
    assert not multiprocessing.active_children()
    assert D.get_worker_info() is None


def test_worker_errors_are_reported() -> None:
    with pytest.raises(KeyError, match=r"(?s)worker process 1.*Traceback.*item five"):
        list(D.DataLoader(Failing(), 4, num_workers=2))
    with pytest.raises(RuntimeError, match=r"exited unexpectedly \(exit code 3\)"):
        list(D.DataLoader(Dying(), 4, num_workers=1))
    lost = D.DataLoader(Squares(400), 4, num_workers=2, persistent_workers=True)
    batches = iter(lost)
    next(batches)
    lost._workers.processes[1].kill()
    with pytest.raises(RuntimeError, match=r"exit code -9"):
        list(batches)
    assert len(list(lost)) == 100  # by new workers
    del lost, batches
    with pytest.raises(RuntimeError, match=r"timed out after 0.2 seconds"):
        list(D.DataLoader(Slow(), 4, num_workers=1, timeout=0.2))

    def broken(k: int) -> None:
        raise ValueError(f"no worker {k}")

    with pytest.raises(ValueError, match="no worker 0"):
        list(D.DataLoader(Squares(), num_workers=1, worker_init_fn=broken))
    gc.collect()
    assert not multiprocessing.active_children()


def test_spawned_workers() -> None:
    loader = D.DataLoader(Tensors(3), 2, num_workers=1, multiprocessing_context="spawn")
    assert [k.tolist() for _, k in loader] == [[0, 1], [2]]


def test_refusals() -> None:
    data = Squares()
    for kwargs in (
        {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"persistent_workers": True},
        {"sampler": [1], "shuffle": True}, {"batch_sampler": [[1]], "batch_size": 3},
        {"batch_size": None, "drop_last": True}, {"multiprocessing_context": "fork"},
        {"num_workers": 1, "multiprocessing_context": "threads"}, {"num_workers": 1, "prefetch_factor": 0},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            D.DataLoader(data, **kwargs)
    with pytest.raises(ValueError, match="IterableDataset"):
        D.DataLoader(Stream(), shuffle=True)
    with pytest.raises(NotImplementedError):
        D.DataLoader(data, in_order=False)


def test_pinning_asks_batches_of_other_classes() -> None:
    class Batch:
        pinned = False

        def __init__(self, items: Any) -> None:
            self.items = items

        def pin_memory(self) -> Any:
            self.pinned = True
            return self

    assert all(b.pinned for b in D.DataLoader([1, 2], collate_fn=Batch, pin_memory=True))
    assert [b.tolist() for b in D.DataLoader([1, 2], pin_memory=True)] == [[1], [2]]
