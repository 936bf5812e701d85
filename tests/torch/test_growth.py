"""Caches that grow: writes into a preallocated buffer move what is new and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import cuprous as cp
import cuprous.torch as torch


def by_slice(cache: torch.Tensor, at: int, new: torch.Tensor) -> None:
    cache[:, :, at : at + 1] = new


def by_index(cache: torch.Tensor, at: int, new: torch.Tensor) -> None:
    cache[:, :, torch.tensor([at])] = new


def by_index_copy(cache: torch.Tensor, at: int, new: torch.Tensor) -> None:
    cache.index_copy_(2, torch.tensor([at]), new)


WRITES = [by_slice, by_index, by_index_copy]


@pytest.mark.parametrize("write", WRITES)
def test_a_write_moves_what_is_new(write: Callable[[torch.Tensor, int, torch.Tensor], None]) -> None:
    def moved(length: int) -> tuple[float, float]:
        cache, new = torch.zeros(1, 8, length, 64), torch.ones(1, 8, 1, 64)
        assert float(cache[0, 0, 0, 0]) == 0
        cost = cp.estimate(lambda: write(cache, length // 2, new))
        return cost.bytes_read, cost.bytes_written

    read, written = moved(64)
    assert written >= 8 * 64 * 4
    assert moved(4096) == (read, written)
    assert read + written < 32 * 8 * 64 * 4


@pytest.mark.parametrize("write", WRITES)
def test_a_grown_cache_equals_its_parts(write: Callable[[torch.Tensor, int, torch.Tensor], None]) -> None:
    parts = [torch.full((1, 2, 1, 3), float(k + 1)) for k in range(6)]
    buffer = torch.zeros(1, 2, 8, 3)
    grown = buffer[:, :, :0]
    earlier = []
    for k, part in enumerate(parts):
        write(buffer, k, part)
        grown = torch.cat([grown, part], 2)
        earlier.append(grown)
        assert torch.equal(buffer[:, :, : k + 1], grown)
    # Caches of earlier steps are values of their own.
    earlier[2].zero_()
    assert torch.equal(earlier[3], torch.cat(parts[:4], 2))
    assert torch.equal(grown, torch.cat(parts, 2))
