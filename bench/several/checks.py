"""Training on several GPUs against one: functions of each rank, which raise AssertionError or return figures."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.learning.models import GPT
from bench.several.library import DDP, DEVICE, KIND, RANK, F, N, dist, fully_shard, nn, torch, wait

TOKENS, LENGTH = 67, 16


def filled(module: Any) -> Any:
    """Returns the module on this rank's device, with values that depend on the names of its parameters alone."""
    with torch.no_grad():
        for k, (name, p) in enumerate(module.named_parameters()):
            values = np.random.default_rng(k).standard_normal(tuple(p.shape), dtype=np.float32)
            scale = 0.1 if p.ndim == 1 else 0.5 / float(np.sqrt(np.prod(p.shape[1:])))
            p.copy_(torch.from_numpy(values * np.float32(scale) + np.float32("norm" in name and "weight" in name)))
    return module.to(DEVICE)


def gpt() -> Any:
    return filled(GPT(TOKENS, 48, 4, 3, LENGTH))


def batch(step: int) -> tuple[Any, Any]:
    """Returns four sequences for each rank, the same ones on all ranks."""
    ids = torch.from_numpy(np.random.default_rng(step).integers(0, TOKENS, (4 * N, LENGTH + 1))).to(DEVICE)
    return ids[:, :-1], ids[:, 1:]


def part(t: Any) -> Any:
    return t.chunk(N)[RANK]


def loss_of(model: Any, x: Any, y: Any) -> Any:
    return F.cross_entropy(model(x), y.flatten())


def mean(loss: Any) -> float:
    """Returns the mean of a loss over all ranks."""
    total = loss.detach().clone()
    dist.all_reduce(total)
    return float(total.item()) / N


def bits(module: Any) -> bytes:
    return b"".join(t.detach().cpu().numpy().tobytes() for t in [*module.parameters(), *module.buffers()])


def assert_same_on_all_ranks(module: Any) -> None:
    found: list[Any] = [None] * N
    dist.all_gather_object(found, bits(module).hex())
    differing = [rank for rank, one in enumerate(found) if one != found[0]]
    assert not differing, f"parameters of ranks {differing} differ from those of rank 0"


def losses(model: Any, optimizer: Any, single: Any, alone: Any, steps: int) -> Iterator[tuple[float, float]]:
    """Trains a model on all ranks and one with the whole batch on each. Yields the losses of both."""
    for step in range(steps):
        x, y = batch(step)
        found = []
        for own, opt, xs, ys in ((model, optimizer, part(x), part(y)), (single, alone, x, y)):
            opt.zero_grad()
            loss = loss_of(own, xs, ys)
            loss.backward()
            nn.utils.clip_grad_norm_(own.parameters(), 0.5)
            opt.step()
            found.append(loss)
        yield mean(found[0]), found[1].item()


def far_apart(pairs: Iterator[tuple[float, float]], bound: float) -> dict[str, Any]:
    """Returns the largest relative difference of losses, which must be within a bound."""
    found = list(pairs)
    worst = max(abs(a - b) / abs(b) for a, b in found)
    assert worst <= bound, f"losses differ by {worst:.1e} (bound {bound:g}): {found}"
    assert found[-1][1] < found[0][1] * 1.5, f"the loss grew: {found}"
    return {"difference": worst, "first": found[0][1], "last": found[-1][1]}


def optimizer_of(model: Any, rate: float = 3e-3) -> Any:
    return torch.optim.AdamW(model.parameters(), lr=rate)


def ddp(steps: int, bound: float) -> dict[str, Any]:
    """DistributedDataParallel with several buckets has the losses of one GPU and the same bits on all ranks."""
    single, model = gpt(), DDP(gpt(), device_ids=[RANK] if KIND == "cuda" else None, bucket_cap_mb=0.05)
    found = far_apart(losses(model, optimizer_of(model), single, optimizer_of(single), steps), bound)
    assert_same_on_all_ranks(model.module)
    return found


def same_bits(steps: int) -> dict[str, Any]:
    """Parameters are equal bit for bit on all ranks though rank 0 alone logs, reads and saves."""
    torch.manual_seed(RANK)  # rank 0's parameters are everybody's
    net = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3)).to(DEVICE)
    model = DDP(net, device_ids=[RANK] if KIND == "cuda" else None, bucket_cap_mb=0.01)
    optimizer = optimizer_of(model)
    norms: list[float] = []
    if RANK == 0:
        net[2].weight.register_hook(lambda g: norms.append(g.norm().item()))
    rng = np.random.default_rng(RANK)
    start = time.perf_counter()
    for step in range(steps):
        x, y = (torch.from_numpy(rng.standard_normal((16, k), dtype=np.float32)).to(DEVICE) for k in (10, 3))
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if RANK == 0:
            if step % 3 == 0:
                print(step, loss.item(), net[4].bias)
            if step % 50 == 0:
                torch.save(model.state_dict(), io.BytesIO())
        if step % 100 == 99:
            assert_same_on_all_ranks(net)
    wait()
    assert_same_on_all_ranks(net)
    assert RANK or len(norms) == steps
    return {"steps": steps, "seconds": time.perf_counter() - start}


def fsdp(steps: int, bound: float) -> dict[str, Any]:
    """`fully_shard` has the losses and the parameters of one GPU, whether or not parameters are freed in between."""
    worst: dict[str, Any] = {"difference": -1.0}
    for again in (True, False):
        single, model = gpt(), gpt()
        for block in model.blocks:
            fully_shard(block, reshard_after_forward=again)
        fully_shard(model, reshard_after_forward=again)
        alone = optimizer_of(single)
        found = far_apart(losses(model, optimizer_of(model), single, alone, steps), bound)
        whole = single.state_dict()
        off = max(
            ((p.full_tensor() - whole[name]).norm() / whole[name].norm()).item()
            for name, p in model.state_dict().items()
            if "qkv.bias" not in name
        )  # the gradient of the keys' bias is rounding, which Adam scales up
        assert off <= bound, f"parameters differ by {off:.1e} (bound {bound:g})"
        worst = max(worst, found | {"parameters": off}, key=lambda each: each["difference"])
    return worst


class Net(nn.Module):
    """An attention with separate projections and a two-layer network, with residual sums."""

    def __init__(self, width: int = 48, heads: int = 8) -> None:
        super().__init__()
        self.head = width // heads
        self.table = nn.Embedding(32, width)
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, ids: Any) -> Any:
        x = self.table(ids)
        y = self.ln1(x)
        q, k, v = (f(y).unflatten(-1, (-1, self.head)).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


def tensor_parallel(steps: int, bound: float) -> dict[str, Any]:
    """`parallelize_module` has the outputs, gradients and updates of one GPU."""
    from cuprous.torch.distributed.tensor import DTensor, Replicate
    from cuprous.torch.distributed.tensor.parallel import (
        ColwiseParallel,
        ParallelStyle,
        RowwiseParallel,
        parallelize_module,
    )

    single, model = filled(Net()), filled(Net())
    plan: dict[str, ParallelStyle] = {
        "table": RowwiseParallel(input_layouts=Replicate()), "[qkv]": ColwiseParallel(), "o": RowwiseParallel(),
        "up": ColwiseParallel(), "down": RowwiseParallel(),
    }  # fmt: skip
    parallelize_module(model, dist.init_device_mesh(KIND, (N,)), plan)
    assert model.up.weight.to_local().shape == (4 * 48 // N, 48)
    optimizers = optimizer_of(model), optimizer_of(single)
    worst = 0.0
    for step in range(steps):
        ids = torch.from_numpy(np.random.default_rng(step).integers(0, 32, (4, 12))).to(DEVICE)
        y, z = model(ids), single(ids)
        for optimizer in optimizers:
            optimizer.zero_grad()
        (y**2).mean().backward(), (z**2).mean().backward()
        worst = max(worst, ((y - z).abs().max() / z.abs().max()).item())
        for (name, p), q in zip(model.named_parameters(), single.parameters(), strict=True):
            g: Any = p.grad
            g = g.full_tensor() if isinstance(p, DTensor) else g
            off = ((g - q.grad).abs().max() / q.grad.abs().max().clamp(min=1e-3)).item()
            assert off <= bound, f"the gradient of {name} differs by {off:.1e} in step {step}"
        for own in (model, single):  # the gradient of the keys' bias is rounding, which Adam scales up
            own.k.bias.grad.zero_()
        for optimizer in optimizers:
            optimizer.step()
    assert worst <= bound, f"outputs differ by {worst:.1e} (bound {bound:g})"
    return {"difference": worst}


def collectives(sequences: int) -> dict[str, Any]:
    """Random collectives of any dtype, size and group, in order and overlapping, have NumPy's results."""
    from tests.distributed.sequences import run_sequences

    os.environ["TEST_DEVICE"] = DEVICE
    run_sequences(5000, sequences)
    return {"sequences": sequences}
