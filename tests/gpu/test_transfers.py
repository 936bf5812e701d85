"""Tests host-to-device copies that overlap with GPU work: the data must arrive intact."""

from __future__ import annotations

import numpy as np
import pytest

import cuprous as cp
import cuprous.torch as torch

SIZES = [10, 60_000, 300_000, 5_000_000]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("pinned", [False, True])
def test_round_trip(n: int, pinned: bool) -> None:
    values = np.random.default_rng(n).standard_normal(n, dtype=np.float32)
    t = torch.from_numpy(values)
    if pinned:
        t = t.pin_memory()
        assert t.is_pinned() and t.pin_memory() is t
    for non_blocking in (False, True):
        there = t.to("cuda", non_blocking=non_blocking)
        assert np.array_equal(there.cpu().numpy(), values) and np.array_equal((there + 1).cpu().numpy(), values + 1)


def test_blocks_that_are_used_again_do_not_mix() -> None:
    """Each batch is dropped while the GPU still uses it, and the next one reuses its memory."""
    rng = np.random.default_rng(1)
    batches = [rng.standard_normal((512, 512), dtype=np.float32) for _ in range(4)]
    weight = torch.from_numpy(rng.standard_normal((512, 512), dtype=np.float32)).to("cuda")
    pins = [torch.from_numpy(b).pin_memory() for b in batches]
    sums = []
    for k in range(40):
        x = pins[k % 4].to("cuda", non_blocking=True) if k % 2 else torch.from_numpy(batches[k % 4]).to("cuda")
        y = x
        for _ in range(8):
            y = torch.tanh(y @ weight * 0.01 + x)
        sums.append((k % 4, y.sum()))
        del x, y
    for which in range(4):
        found = {float(s) for k, s in sums if k == which}
        assert len(found) == 1


def test_memory_is_given_back() -> None:
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    held = torch.zeros(1 << 20).to("cuda")
    assert torch.cuda.memory_allocated() >= before + (4 << 20)
    del held
    assert torch.cuda.memory_allocated() <= before
    for k in range(50):  # sizes for which no cached block exists
        cp.asarray(np.zeros(100_000 + 20_000 * k, np.float32)).sum()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() <= before


def test_a_peak_starts_at_what_is_used() -> None:
    """A cached block counts neither in the used bytes nor in the peak."""
    torch.zeros(1 << 20).to("cuda")
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()


def test_page_locked_memory_is_a_tensor_like_others() -> None:
    t = torch.arange(100_000.0).pin_memory()
    assert t.device.type == "cpu" and torch.equal(t, torch.arange(100_000.0))
    t += 1
    assert torch.equal(t.to("cuda", non_blocking=True).cpu(), torch.arange(100_000.0) + 1)
    assert torch.zeros(4, pin_memory=True).is_pinned() and not torch.zeros(4).is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        t.to("cuda").pin_memory()


def test_a_loader_pins_its_batches() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(1000.0), torch.arange(1000))
    total = 0.0
    for x, y in torch.utils.data.DataLoader(data, batch_size=100, pin_memory=True):
        assert x.is_pinned() and y.is_pinned()
        total += float(x.to("cuda", non_blocking=True).sum())
    assert total == 999 * 500
