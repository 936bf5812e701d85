"""Measures the rates of the hardware with the simplest possible code."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bench.context import Floors
from bench.peers import Peer, nothing
from bench.timing import median_seconds


def measure(peers: dict[str, Peer], device: str, quick: bool) -> Floors:
    """Measures copy bandwidth (bytes read plus written), matrix product rates, and pinned uploads."""
    return on_gpu(peers, quick) if device == "cuda" else on_cpu(quick)


def on_cpu(quick: bool) -> Floors:
    """Measures a CPU. All cores copy; NumPy's copy is memcpy and releases the GIL."""
    import os

    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    n = (1 << 24) if quick else (1 << 28)
    source, target = np.ones(n, np.uint8), np.zeros(n, np.uint8)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:

        def copy() -> np.ndarray:
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), parts))
            return target

        seconds = median_seconds(copy, nothing)
    floors = Floors(copy_bytes_per_s=2 * n / seconds)
    for dtype in ("float32", "float64"):
        a = np.random.default_rng(0).random((1024, 1024)).astype(dtype)
        seconds = median_seconds(lambda a=a: a @ a, nothing)  # type: ignore[misc]
        floors.matmul_flops[dtype] = 2 * 1024**3 / seconds
    return floors


def on_gpu(peers: dict[str, Peer], quick: bool) -> Floors:
    """Measures a GPU with PyTorch, else CuPy, else Cuprous."""
    floors = Floors()
    n = (1 << 24) if quick else (1 << 28)
    if "torch" in peers:
        torch: Any = peers["torch"].module
        sync = peers["torch"].sync
        a = torch.empty(n, dtype=torch.float32, device="cuda").normal_()
        b = torch.empty_like(a)
        floors.copy_bytes_per_s = 8 * n / (median_seconds(lambda: [b.copy_(a) for _ in range(5)], sync) / 5)
        size = 1024 if quick else 8192
        for dtype in ("bfloat16", "float32", "float64"):
            m = size if dtype == "bfloat16" else size // 2
            x = torch.randn(m, m, device="cuda", dtype=torch.float32).to(getattr(torch, dtype))
            seconds = median_seconds(lambda x=x: [x @ x for _ in range(3)], sync) / 3  # type: ignore[misc]
            floors.matmul_flops[dtype] = 2 * m**3 / seconds
        host = torch.empty(1 << 28, dtype=torch.uint8).pin_memory()
        seconds = median_seconds(lambda: host.to("cuda", non_blocking=True), sync)
        floors.upload_bytes_per_s = (1 << 28) / seconds
        del a, b, x, host
        torch.cuda.empty_cache()
        return floors
    peer = peers.get("cupy", peers["cuprous"])
    c = peer.asarray(np.random.default_rng(0).random(n, dtype=np.float32))
    floors.copy_bytes_per_s = 8 * n / median_seconds(lambda: c.copy(), peer.sync)
    return floors
