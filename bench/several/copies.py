"""Copies between the GPUs of one process: functions of a process that sees all of them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bench.several.library import torch


def exact(gpus: int, rounds: int) -> dict[str, Any]:
    """Copies of any size between all pairs are exact and in order with the work on both sides; gradients come back."""
    rng = np.random.default_rng(0)
    peers = []
    for a in range(gpus):
        for b in range(gpus):
            if a != b:
                peers.append(torch.cuda.can_device_access_peer(a, b))
                for _ in range(rounds):
                    _round_trip(
                        rng.integers(0, 1000, int(rng.choice([1, 7, 5000, 3_000_000]))), f"cuda:{a}", f"cuda:{b}"
                    )
    x = torch.arange(12.0, device="cuda:0").reshape(3, 4).t().requires_grad_()
    y = x.to(f"cuda:{gpus - 1}")
    assert y.device == torch.device("cuda", gpus - 1) and y.tolist() == x.tolist()
    (y * y).sum().backward()
    assert x.grad.device == torch.device("cuda:0") and torch.equal(x.grad, 2 * x.detach())
    return {"peer access": all(peers)}


def _round_trip(host: np.ndarray, there: str, here: str) -> None:
    a = torch.from_numpy(host).to(there) * 2
    b = a.to(here)
    a += 1  # after the copy
    back = (b + 1).to(there)
    del b  # its memory is used again, after the copy back
    c = torch.zeros(host.size, dtype=torch.int64, device=here)
    assert (a == back).all().item() and not c.any().item(), f"{host.size} elements from {there} to {here} and back"
    np.testing.assert_array_equal(back.cpu().numpy(), host * 2 + 1)


def rate(nbytes: int, count: int, how: str) -> dict[str, float]:
    """Returns GB/s from GPU 0 to GPU 1: "direct" by `x.to()`, "into" by `y.copy_()`, or "host", down and up again."""
    x = torch.empty(nbytes // 4, dtype=torch.float32, device="cuda:0").uniform_()
    y = torch.empty(nbytes // 4, dtype=torch.float32, device="cuda:1").uniform_()
    copy = {"direct": lambda: x.to("cuda:1"), "into": lambda: y.copy_(x), "host": lambda: x.cpu().to("cuda:1")}[how]
    assert torch.equal(copy().cpu(), x.cpu())
    times = []
    for _ in range(4):
        _wait()
        start = time.perf_counter()
        kept = [copy() for _ in range(count)]
        _wait()
        times.append((time.perf_counter() - start) / count)
        del kept
    return {"gb_s": nbytes / min(times[1:]) / 1e9}


def _wait() -> None:
    for gpu in (0, 1):
        torch.cuda.synchronize(gpu)
