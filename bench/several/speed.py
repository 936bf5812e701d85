"""What is timed on each rank, written for both libraries."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.learning.models import GPT, SimpleNet
from bench.several.library import (
    DDP,
    DEVICE,
    KIND,
    RANK,
    F,
    MixedPrecisionPolicy,
    N,
    dist,
    fully_shard,
    nn,
    torch,
    wait,
)


def _together() -> None:
    """All ranks begin at the same time."""
    wait()
    dist.barrier()
    wait()


def _repeated(call: Callable[[], Any], count: int) -> dict[str, float]:
    """Returns microseconds for a call: until all is done, and of this thread alone."""
    _together()
    start = time.perf_counter()
    for _ in range(count):
        call()
    submitted = time.perf_counter()
    wait()
    return {"us": (time.perf_counter() - start) / count * 1e6, "host_us": (submitted - start) / count * 1e6}


def all_reduce(nbytes: int, count: int) -> dict[str, float]:
    """Sums float32 in place."""
    x = _data(nbytes)
    return _repeated(lambda: dist.all_reduce(x), count)


def _data(nbytes: int) -> Any:
    """Returns random numbers, small enough that sums of sums stay finite for long."""
    x = torch.empty(nbytes // 4, dtype=torch.float32, device=DEVICE).uniform_()
    x *= 1e-30
    dist.all_reduce(x)
    return x


class _Nccl:
    """A communicator of PyTorch's own libnccl.so.2, called without PyTorch."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libnccl.so.2")  # found by its name, because PyTorch has loaded it
        name = (ctypes.c_byte * 128)()
        if RANK == 0:
            self.check(self.library.ncclGetUniqueId(ctypes.byref(name)))
        shared = [bytes(name)]
        dist.broadcast_object_list(shared, src=0)
        unique = _UniqueId.from_buffer_copy(shared[0])
        self.handle = ctypes.c_void_p()
        self.library.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, _UniqueId, ctypes.c_int]
        self.check(self.library.ncclCommInitRank(ctypes.byref(self.handle), N, unique, RANK))
        self.library.ncclAllReduce.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                                               ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]  # fmt: skip

    def check(self, status: int) -> None:
        if status:
            raise RuntimeError(f"NCCL returned status {status}")

    def all_reduce(self, x: Any, stream: int) -> None:
        data, float32, sum_ = x.data_ptr(), 7, 0
        self.check(self.library.ncclAllReduce(data, data, x.numel(), float32, sum_, self.handle, stream))


class _UniqueId(ctypes.Structure):
    _fields_ = (("internal", ctypes.c_byte * 128),)


_STATE: dict[str, Any] = {}


def nccl_all_reduce(nbytes: int, count: int) -> dict[str, float]:
    """The same as `all_reduce` by NCCL alone, in PyTorch's processes, as nccl-tests does it."""
    if "nccl" not in _STATE:
        _STATE["nccl"] = _Nccl()
    library, x, stream = _STATE["nccl"], _data(nbytes), torch.cuda.current_stream().cuda_stream
    library.all_reduce(x, stream)
    return _repeated(lambda: library.all_reduce(x, stream), count)


@dataclass(frozen=True)
class Training:
    """A network, its batch, and how it is trained."""

    model: Callable[[], Any]
    data: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
    optimizer: Callable[[Any], Any]
    loss: Callable[[Any, Any], Any]
    autocast: bool = False


def _gpt(tokens: int, width: int, heads: int, layers: int, length: int, per_rank: int, **more: Any) -> Training:
    def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return rng.integers(0, tokens, (per_rank, length)), rng.integers(0, tokens, per_rank * length)

    def adamw(parameters: Any) -> Any:
        return torch.optim.AdamW(parameters, lr=1e-4, fused=KIND == "cuda")

    return Training(lambda: GPT(tokens, width, heads, layers, length), data, adamw,
                    lambda out, y: F.cross_entropy(out.float(), y), **more)  # fmt: skip


def _tied(training: Training) -> Training:
    def model() -> Any:
        made = training.model()
        made.out.weight = made.table.weight
        return made

    return Training(model, training.data, training.optimizer, training.loss, training.autocast)


def _pairs(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((100, 10), dtype=np.float32), rng.standard_normal((100, 2), dtype=np.float32)


#: By name; the small ones try the script out.
TRAININGS: dict[str, Callable[[], Training]] = {
    "gpt2": lambda: _tied(_gpt(50304, 768, 12, 12, 1024, 12, autocast=True)),
    "gpt2 quick": lambda: _tied(_gpt(64, 32, 2, 2, 16, 2, autocast=True)),
    "gpt1b": lambda: _gpt(50304, 2048, 16, 16, 1024, 4),
    "gpt1b quick": lambda: _gpt(64, 32, 2, 2, 16, 2),
    "linear": lambda: Training(SimpleNet, _pairs, lambda p: torch.optim.Adam(p, lr=0.01), nn.MSELoss()),
}


def _filled(training: Training) -> Any:
    """Returns the network on this rank's device, with the same numbers in both libraries."""
    with torch.device(DEVICE):
        model = training.model()
    noise = torch.from_numpy(np.random.default_rng(0).standard_normal(1_000_003, dtype=np.float32)).to(DEVICE)
    with torch.no_grad():
        for name, p in model.named_parameters():
            values = noise.repeat(p.numel() // noise.numel() + 1)[: p.numel()].view(p.shape)
            scale = 0.1 if p.ndim == 1 else 0.5 / float(np.sqrt(np.prod(p.shape[1:])))
            p.copy_(values * scale + float("norm" in name and "weight" in name))
    return model


def begin(name: str, how: str, steps: int) -> dict[str, Any]:
    """Prepares a training and does its first steps.

    Parameters
    ----------
    name : str
        Of `TRAININGS`.
    how : str
        "alone", "ddp" or "fsdp", with " compiled" behind it for PyTorch's compiler, or with the MiB of a bucket.
    steps : int
        The number of steps whose losses are returned.
    """
    training = TRAININGS[name]()
    way, _, more = how.partition(" ")
    model = _filled(training)
    if way == "ddp":
        buckets = {"bucket_cap_mb": int(more)} if more.isdigit() else {}
        model = DDP(model, device_ids=[RANK] if KIND == "cuda" else None, **buckets)
    elif way == "fsdp":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for block in model.blocks:
            fully_shard(block, mp_policy=policy)
        fully_shard(model, mp_policy=policy)
    optimizer = training.optimizer(model.parameters())
    called = torch.compile(model) if more == "compiled" else model
    x, y = (torch.from_numpy(values).to(DEVICE) for values in training.data(np.random.default_rng(RANK)))

    def step() -> Any:
        optimizer.zero_grad()
        with torch.autocast(KIND, dtype=torch.bfloat16) if training.autocast else nullcontext():
            loss = training.loss(called(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    if KIND == "cuda":
        wait()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    losses = [float(step()) for _ in range(steps)]
    wait()
    _STATE[f"{name} {how}"] = step
    return {"warm_s": time.perf_counter() - start, "losses": losses}


def go(name: str, how: str, count: int) -> dict[str, float]:
    """Returns milliseconds for a step, and the most MiB that tensors had since `begin`."""
    step = _STATE[f"{name} {how}"]
    _together()
    start = time.perf_counter()
    # Losses are held until the work is done, because a lazy library does not compute what is dropped.
    kept = [step() for _ in range(count)]
    wait()
    seconds = time.perf_counter() - start
    del kept
    peak = torch.cuda.max_memory_allocated() / 2**20 if KIND == "cuda" else 0.0
    return {"ms": seconds / count * 1e3, "peak_mib": peak}


def end(name: str, how: str) -> None:
    """Frees what `begin` made."""
    del _STATE[f"{name} {how}"]
    if KIND == "cuda":
        torch.cuda.empty_cache()


def captured(width: int, layers: int, count: int) -> dict[str, float]:
    """Returns microseconds for a training step of a small network from CUDA graphs made by PyTorch.

    In "whole" the all-reduce of the gradients is in the graph, in "parts" between two graphs. All else is equal.
    """
    model = nn.Sequential(*(layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.Tanh()))).to(DEVICE)
    parameters = list(model.parameters())
    bucket = torch.zeros(sum(p.numel() for p in parameters), device=DEVICE)
    for p, part in zip(parameters, bucket.split([p.numel() for p in parameters]), strict=True):
        p.grad = part.view_as(p)
    x, y = torch.randn(64, width, device=DEVICE), torch.randn(64, width, device=DEVICE)

    def gradients() -> None:
        bucket.zero_()
        F.mse_loss(model(x), y).backward()

    def update() -> None:
        with torch.no_grad():
            torch._foreach_add_(parameters, [p.grad for p in parameters], alpha=-1e-3)

    def captured_(*functions: Callable[[], Any]) -> Any:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            for function in functions:
                function()
        return graph

    def reduce() -> None:
        dist.all_reduce(bucket)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):  # NCCL connects, and libraries allocate, before anything is captured
            gradients()
            reduce()
            update()
    torch.cuda.current_stream().wait_stream(stream)
    whole = captured_(gradients, reduce, update)
    first, last = captured_(gradients), captured_(update)

    def in_parts() -> None:
        first.replay()
        reduce()
        last.replay()

    found: dict[str, list[float]] = {"whole": [], "parts": []}
    for _ in range(5):
        found["whole"].append(_repeated(whole.replay, count)["us"])
        found["parts"].append(_repeated(in_parts, count)["us"])
    return {way: float(np.median(values)) for way, values in found.items()}
