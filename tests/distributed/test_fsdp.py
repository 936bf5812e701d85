"""`fully_shard` against one process with the whole batch."""

from __future__ import annotations

import pytest

import cuprous.torch as torch
from cuprous import _core
from tests.distributed.jobs import run

_BEGIN = """
import gc
from cuprous import _core
from cuprous.torch import nn, optim
from cuprous.torch.distributed.fsdp import *
from cuprous.torch.distributed.tensor import *
F = nn.functional

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.ln1(x)).chunk(3, dim=-1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, w))
        return x + self.down(F.gelu(self.up(self.ln2(x))))

class GPT(nn.Module):
    def __init__(self, vocabulary=67, width=48, heads=4, layers=3, length=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.wte.weight
    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))

def gpt(**sizes):
    torch.manual_seed(0)
    return GPT(**sizes)

def sharded(model, **options):
    for block in model.blocks:
        fully_shard(block, **options)
    return fully_shard(model, **options)

def batch(step, size=8, length=16, vocabulary=67):
    ids = torch.from_numpy(np.random.default_rng(step).integers(0, vocabulary, (size, length + 1)))
    return ids[:, :-1], ids[:, 1:]

def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())

def mean(loss):
    total = loss.detach().clone()
    dist.all_reduce(total, dist.ReduceOp.AVG)
    return total.item()

def part(t):
    return t.chunk(n)[rank]
"""


def _run(program: str, n: int = 2) -> None:
    run(_BEGIN + program.replace("\n    ", "\n"), n)


def test_memory_comes_and_goes_without_a_write() -> None:
    """What the backward pass saved of a tensor is there again when its memory is."""
    w = torch.ones(4, 4, device="cpu", requires_grad=True)
    x = torch.full((2, 4), 2.0, device="cpu")
    y = (x @ w) @ w
    _core.t_replace_memory(w)
    with pytest.raises(RuntimeError, match="given up"):
        (w + 1).tolist()
    with pytest.raises(RuntimeError, match="another size"):
        _core.t_replace_memory(w, torch.ones(3, device="cpu"))
    _core.t_replace_memory(w, torch.full((4, 4), 0.5, device="cpu") * 2)
    y.sum().backward()
    assert w.grad.tolist() == [[32.0] * 4] * 4
    assert w.tolist() == [[1.0] * 4] * 4


@pytest.mark.parametrize("n", [2, 4])
def test_a_small_gpt_has_the_losses_of_one_process(n: int) -> None:
    """With tied weights, AdamW and a clipped norm, whether or not parameters are freed after the forward pass."""
    _run(
        """
    for again in (True, False, None):
        single, model = gpt(), sharded(gpt(), reshard_after_forward=again)
        a, b = optim.AdamW(single.parameters(), lr=3e-3), optim.AdamW(model.parameters(), lr=3e-3)
        for step in range(12):
            x, y = batch(step)
            losses = []
            for own, opt, xs, ys in ((single, a, x, y), (model, b, part(x), part(y))):
                opt.zero_grad()
                loss = loss_of(own, xs, ys)
                loss.backward()
                norm = nn.utils.clip_grad_norm_(own.parameters(), 0.5)
                opt.step()
                losses.append((loss, norm))
            assert abs(mean(losses[1][0]) - losses[0][0].item()) < 1e-5, step
            assert abs(losses[1][1].full_tensor().item() - losses[0][1].item()) < 1e-4
        whole = single.state_dict()
        for name, p in model.state_dict().items():
            assert isinstance(p, DTensor) and p.placements == (Shard(0),)
            # The gradient of the keys' bias is zero but for rounding, which Adam scales up.
            assert "qkv.bias" in name or (p.full_tensor() - whole[name]).abs().max().item() < 1e-4, name
        moments = a.state_dict()["state"]
        for number, entries in b.state_dict()["state"].items():
            assert (entries["exp_avg"].full_tensor() - moments[number]["exp_avg"]).abs().max().item() < 1e-4
        assert b.state[next(model.parameters())]["step"] == 12
    """,
        n,
    )


@pytest.mark.parametrize(("n", "most"), [(2, 0.6), (4, 0.35)])
def test_memory_between_steps_is_that_of_the_parts(n: int, most: float) -> None:
    """All memory in use is counted, and that during the forward pass with and without freeing parameters."""
    _run(
        f"""
    def used(kind="used_bytes"):
        gc.collect()
        return _core.memory_stats("cpu")[kind]
    sizes = dict(vocabulary=512, width=256, layers=6)
    x, y = batch(0, 4, 4, 512)
    before = used()
    model = gpt(**sizes)
    whole = used() - before
    assert whole >= sum(p.numel() * 4 for p in model.parameters())
    peaks = []
    sharded(model)
    opt = optim.SGD(model.parameters(), lr=1e-3)
    for again in (True, True, False):
        model.set_reshard_after_forward(again)
        loss = loss_of(model, x, y)
        peaks.append(used() - before)
        loss.backward()
        opt.step()
        opt.zero_grad()
        del loss
        assert used() - before <= {most} * whole, ((used() - before) / whole)
    assert peaks[1] < 0.8 * whole < peaks[2], (peaks, whole)
    """,
        n,
    )


def test_gradients_accumulate_without_being_sent() -> None:
    """`set_requires_gradient_sync`, frozen and unused parameters, and parameters used twice."""
    _run(
        """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c, self.unused = (nn.Linear(6, 6) for _ in range(4))
        def forward(self, x): return self.b(self.a(self.a(x).tanh()) + self.c(x))
    torch.manual_seed(0)
    single = Net()
    torch.manual_seed(0)
    model = Net()
    for net in (single, model):
        net.c.weight.requires_grad_(False)
    fully_shard(model.a), fully_shard(model.unused), fully_shard(model)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(8, 6)).astype("float32"))
    for k, half in enumerate(part(x).chunk(2)):
        model.set_requires_gradient_sync(k == 1)
        assert k == 0 or model.a.weight.grad is None
        model(half).square().sum().backward()
    single(x).square().sum().backward()
    for (name, p), q in zip(model.named_parameters(), single.parameters()):
        assert isinstance(p, DTensor)
        assert (p.grad is None) == (q.grad is None), name
        if p.grad is not None:
            assert (p.grad.full_tensor() * n - q.grad).abs().max().item() < 1e-4, name
    """
    )


def test_mixed_precision_and_what_the_module_offers() -> None:
    """Dtypes of computation, reduction and result; `unshard`, `reshard`; a mesh of two dimensions; errors."""
    _run(
        """
    grid = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float32)
    seen = []
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(6, 5), nn.Linear(5, 3)
        def forward(self, x):
            seen.append((x.dtype, self.a.weight.dtype))
            return self.b(self.a(x).relu())
    torch.manual_seed(0)
    model = fully_shard(Net(), mesh=grid, mp_policy=policy, offload_policy=CPUOffloadPolicy())
    assert type(model).__name__ == "FSDPNet" and isinstance(model, Net) and isinstance(model, FSDPModule)
    assert model.a.weight.placements == (Replicate(), Shard(0)) and model.a.weight.to_local().shape[0] in (2, 3)
    x = torch.randn(4, 6) + rank
    y = model(x)
    y.sum().backward()
    assert y.dtype == torch.float32 and seen == [(torch.bfloat16, torch.bfloat16)]
    assert model.a.weight.grad.dtype == torch.float32
    grads = [torch.zeros(3) for _ in range(n)]
    dist.all_gather(grads, model.b.bias.grad.full_tensor())
    assert all((g == 4).all() for g in grads)
    model.unshard()
    assert not isinstance(model.a.weight, DTensor) and model.a.weight.shape == (5, 6)
    model.reshard()
    handle = model.unshard(async_op=True)
    assert isinstance(model.a.weight, DTensor)
    handle.wait()
    assert not isinstance(model.a.weight, DTensor)
    assert all(isinstance(p, DTensor) for p in model.state_dict().values())
    with torch.no_grad():
        model(x)
    assert isinstance(model.a.weight, DTensor)
    for error, make in ((ValueError, lambda: fully_shard(model)), (ValueError, lambda: fully_shard(nn.ParameterList([
            nn.Parameter(torch.ones(()))]))), (NotImplementedError, lambda: fully_shard(nn.Linear(2, 2),
            reshard_after_forward=2)), (TypeError, lambda: fully_shard(nn.Linear(2, 2), offload_policy=True))):
        try:
            make()
        except error:
            continue
        raise AssertionError("no error")
    """,
        4,
    )


@pytest.mark.parametrize("n", [2, 3])
def test_parameters_are_sharded_along_other_dimensions(n: int) -> None:
    """Also where the ranks' parts differ in size, or some have none."""
    _run(
        """
    def net():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(7, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    single, model = net(), net()
    last = lambda p: Shard(p.ndim - 1)
    fully_shard(model[2], shard_placement_fn=lambda p: Shard(-1))
    fully_shard(model, shard_placement_fn=last)
    assert model[0].weight.placements == (Shard(1),) and model[0].bias.placements == (Shard(0),)
    assert model[0].weight.to_local().shape == (5, min(-(-7 // n), 7 - rank * -(-7 // n)))
    a, b = optim.AdamW(single.parameters(), lr=1e-2), optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(5):
        x = torch.from_numpy(np.random.default_rng(step).normal(size=(6, 7)))
        for own, opt, xs in ((single, a, x), (model, b, part(x))):
            opt.zero_grad()
            own(xs).square().mean().backward()
            opt.step()
        for (name, p), q in zip(model.named_parameters(), single.parameters()):
            assert (p.grad.full_tensor() - q.grad).abs().max().item() < 1e-12, name
            assert (p.full_tensor() - q).abs().max().item() < 1e-12, name
    for chosen, text in ((Shard(2), "not a dimension"), (Replicate(), "must return Shard")):
        try:
            fully_shard(nn.Linear(3, 3), shard_placement_fn=lambda p: chosen)
        except ValueError as e:
            assert text in str(e), e
            continue
        raise AssertionError(text)
    """,
        n,
    )


def test_a_pass_that_raises_leaves_nothing_to_the_next_one() -> None:
    """A batch that all ranks skip: no gradients of it are added, none of the next ones are missing, and parameters that
    an optimizer has changed since are gathered again."""
    program = """
    from cuprous.torch import nn, optim
    from cuprous.torch.distributed.fsdp import fully_shard

    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()
        @staticmethod
        def backward(ctx, g):
            raise ValueError("skip this batch")

    def fails(*_):
        raise ValueError("skip this batch")

    def train(where):
        torch.manual_seed(0)
        model = nn.Sequential(*(nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(4)))
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        adam = optim.Adam(model.parameters(), lr=0.1)
        for step in range(4):
            torch.manual_seed(10 * step + rank)
            x, skipped = torch.randn(5, 8), torch.randn(5, 8)
            adam.zero_grad()
            model(x).square().sum().backward()
            if where is not None:
                layer, in_backward = where
                hook = (lambda _m, _a, out: Fails.apply(out)) if in_backward else fails
                handle = model[layer].register_forward_hook(hook)
                try:
                    model(skipped).sum().backward()
                except ValueError:
                    pass
                else:
                    raise AssertionError("nothing was raised")
                handle.remove()
                if in_backward:  # the gradients of layers behind it may have been reduced
                    adam.zero_grad()
                    model(x).square().sum().backward()
            adam.step()
        return [p.full_tensor().detach().to_numpy() for p in model.parameters()]

    expected = train(None)
    for where in [(3, True), (1, True), (0, True), (0, False), (2, False)]:
        for mine, right in zip(train(where), expected, strict=True):
            np.testing.assert_array_equal(mine, right, str(where))
    """
    run(program, 2)


@pytest.mark.parametrize("keeps", [False, True])
def test_a_forward_pass_before_the_step_does_not_hide_the_step(keeps: bool) -> None:
    """Whole parameters that such a pass has left are gathered again once an optimizer has updated the parts."""
    program = """
    from cuprous.torch import nn, optim
    from cuprous.torch.distributed.fsdp import fully_shard

    def train(looks):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4))
        if looks is not None:
            fully_shard(model[0], **OPTIONS)
            fully_shard(model, **OPTIONS)
        sgd, losses = optim.SGD(model.parameters(), lr=0.5), []
        for step in range(3):
            torch.manual_seed(step)
            x = torch.randn(5, 8)
            sgd.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            losses.append(loss.item())
            with torch.set_grad_enabled(looks != "without gradients"):
                if looks:
                    model(x + 1)
            sgd.step()
        return losses

    expected = train(None)
    for looks in ["", "with gradients", "without gradients"]:
        np.testing.assert_allclose(train(looks), expected, rtol=1e-5, err_msg=looks)
    """
    run(program.replace("OPTIONS", repr({"reshard_after_forward": False} if keeps else {})), 2)
