"""`DistributedDataParallel` against one process with the whole batch."""

from __future__ import annotations

import pytest

from tests.distributed.jobs import run

_NET = """
from torch_name import nn, optim
F = nn.functional

def net(dtype=None):
    layers = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))
    return layers.to(dtype) if dtype is not None else layers

def batch(step, size, dtype=torch.float64):
    own = np.random.default_rng(step)
    return tuple(torch.from_numpy(own.normal(size=(size, k))).to(dtype) for k in (10, 3))

def part(t):
    return t.chunk(n)[rank]

def same_on_all_ranks(module):
    for p in [*module.parameters(), *module.buffers()]:
        all_ = [torch.zeros_like(p) for _ in range(n)]
        dist.all_gather(all_, p.detach())
        assert all((q.numpy().tobytes() == p.detach().numpy().tobytes()) for q in all_)
""".replace("torch_name", "cuprous.torch")


@pytest.mark.parametrize("n", [2, 4])
def test_losses_and_parameters_are_those_of_one_process_with_the_whole_batch(n: int) -> None:
    """In float64 to 1e-12, with several buckets, an optimizer with states and a clipped norm."""
    run(
        _NET
        + """
    torch.manual_seed(rank)                    # rank 0's parameters are everybody's
    model = DDP(net(torch.float64), bucket_cap_mb=0.004)
    assert len(model._reducer.buckets) > 1
    single = net(torch.float64)
    single.load_state_dict(model.module.state_dict())
    a, b = optim.AdamW(model.parameters(), lr=1e-2), optim.AdamW(single.parameters(), lr=1e-2)
    for step in range(50):
        x, y = batch(step, 8 * n)
        for own, opt, xs, ys in (model, a, part(x), part(y)), (single, b, x, y):
            opt.zero_grad()
            loss = F.mse_loss(own(xs), ys)
            loss.backward()
            nn.utils.clip_grad_norm_(own.parameters(), 1.0)
            opt.step()
            if own is model:
                mean = loss.detach().clone()
                dist.all_reduce(mean, dist.ReduceOp.AVG)
        assert abs(mean.item() - loss.item()) < 1e-12, step
    for p, q in zip(model.parameters(), single.parameters()):
        assert (p - q).abs().max().item() < 1e-12
        assert p.grad.is_contiguous()
    same_on_all_ranks(model)
    """.replace("\n    ", "\n"),
        n,
    )


@pytest.mark.parametrize("n", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_parameters_stay_equal_bit_for_bit_while_one_rank_logs_and_saves(n: int) -> None:
    """After 1,000 steps: what rank 0 reads, hooks, prints, profiles and saves changes its programs, not its numbers."""
    run(
        _NET
        + """
    import contextlib, io
    from cuprous.torch import profiler
    model = DDP(nn.Sequential(net(), nn.LayerNorm(3)))
    opt = optim.AdamW(model.parameters(), lr=1e-3)
    if rank == 0:
        norms = []
        model.module[0][0].weight.register_hook(lambda g: norms.append(g.norm().item()))
    for step in range(1000):
        x, y = batch(step, 8 * n, torch.float32)
        opt.zero_grad()
        with profiler.profile() if rank == 0 and step % 50 == 7 else contextlib.nullcontext():
            out = model(part(x))
            loss = F.mse_loss(out, part(y))
            loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        if rank == 0 and step % 3 == 0:
            loss.item(), float(norm), out.std().item(), model.module[0][2].weight.grad.abs().mean().item()
        opt.step()
        if rank == 0 and step % 100 == 0:
            torch.save({"model": model.state_dict(), "opt": opt.state_dict()}, io.BytesIO())
            print(loss, sum(p.abs().sum() for p in model.parameters()).item())
    same_on_all_ranks(model)
    """.replace("\n    ", "\n"),
        n,
    )


def test_transfers_begin_during_the_backward_pass() -> None:
    """The last layer's gradients are sent before the first layer's are computed."""
    run(
        _NET
        + """
    order = []
    class Note(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x): return x * 1
        @staticmethod
        def backward(ctx, g):
            order.append("first layer")
            return g
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(10, 32), nn.Linear(32, 3)
        def forward(self, x): return self.b(Note.apply(self.a(x)))
    model = DDP(Net(), bucket_cap_mb=0.0001)
    model.register_comm_hook(None, lambda state, bucket: (order.append(bucket.index()), hook(None, bucket))[1])
    from cuprous.torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook as hook
    x, y = batch(0, 8, torch.float32)
    F.mse_loss(model(part(x)), part(y)).backward()
    assert order == [0, "first layer", 1, 2], order
    """.replace("\n    ", "\n")
    )


def test_gradients_accumulate_without_sync_and_sum_up() -> None:
    """`no_sync()`, then an iteration that averages all; gradients kept by `zero_grad(set_to_none=False)`."""
    run(
        _NET
        + """
    model, single = DDP(net(torch.float64)), net(torch.float64)
    single.load_state_dict(model.module.state_dict())
    for keep in (False, True, False):
        for m in (model, single):
            m.zero_grad(set_to_none=not keep)
        for step in range(3):
            x, y = batch(step, 4 * n)
            F.mse_loss(single(x), y).backward()
            if step < 2:
                with model.no_sync():
                    F.mse_loss(model(part(x)), part(y)).backward()
            else:
                F.mse_loss(model(part(x)), part(y)).backward()
        for p, q in zip(model.parameters(), single.parameters()):
            assert (p.grad - q.grad).abs().max().item() < 1e-14
    """.replace("\n    ", "\n")
    )


def test_unused_parameters_are_named_or_averaged() -> None:
    """Without the option an error at the end of that backward pass; with it zeros of the ranks that do not use them."""
    run(
        _NET
        + """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = (nn.Linear(10, 3).double() for _ in "abc")
        def forward(self, x, both):
            return self.a(x) + (self.b(x) if both else 0)
    x, y = batch(0, 4 * n)
    model = DDP(Net())
    try:
        F.mse_loss(model(part(x), True), part(y)).backward()
        raise SystemExit("accepted")
    except RuntimeError as e:
        assert "no gradient to 'c.weight', 'c.bias'" in str(e) and "find_unused_parameters=True" in str(e), e
    model = DDP(Net(), find_unused_parameters=True)
    single = Net()
    single.load_state_dict(model.module.state_dict())
    for _ in range(2):
        model.zero_grad(); single.zero_grad()
        F.mse_loss(model(part(x), rank == 1), part(y)).backward()
        sum(F.mse_loss(single(xs, k == 1), ys) / n for k, (xs, ys) in enumerate(zip(x.chunk(n), y.chunk(n)))).backward()
        assert (model.module.b.weight.grad - single.b.weight.grad).abs().max().item() < 1e-14
        assert model.module.c.weight.grad is None and model.module.a.bias.grad is not None
    """.replace("\n    ", "\n")
    )


def test_ranks_with_fewer_batches_join() -> None:
    """They take part with zeros, and get the parameters of a rank that trained to the end."""
    run(
        _NET
        + """
    for by_all in (True, False):
        model, single = DDP(net(torch.float64)), net(torch.float64)
        single.load_state_dict(model.module.state_dict())
        a, b = optim.SGD(model.parameters(), lr=0.1), optim.SGD(single.parameters(), lr=0.1)
        with model.join(divide_by_initial_world_size=by_all):
            for step in range(3 + 2 * rank):
                x, y = batch(step, 4 * n)
                a.zero_grad()
                F.mse_loss(model(part(x)), part(y)).backward()
                a.step()
        for step in range(5):
            x, y = batch(step, 4 * n)
            active = [0, 1] if step < 3 else [1]
            b.zero_grad()
            for k in active:
                (F.mse_loss(single(x.chunk(n)[k]), y.chunk(n)[k]) / (n if by_all else len(active))).backward()
            b.step()
        for p, q in zip(model.parameters(), single.parameters()):
            assert (p - q).abs().max().item() < 1e-12
        same_on_all_ranks(model)
    model = DDP(nn.Sequential(net(), nn.BatchNorm1d(3)), find_unused_parameters=True)
    with model.join():
        for step in range(4 - 2 * rank):
            F.mse_loss(model(torch.randn(4, 10)), torch.zeros(4, 3)).backward()
    same_on_all_ranks(model)
    model = DDP(net())
    try:
        with model.join(throw_on_early_termination=True):
            for step in range(2 + rank):
                model(torch.zeros(2, 10)).sum().backward()
        raise SystemExit("accepted")
    except RuntimeError as e:
        assert "exhausted inputs" in str(e)
    """.replace("\n    ", "\n")
    )


def test_static_graphs_may_use_parameters_several_times() -> None:
    """Checkpointed layers that share parameters; without the option the error says so, or all is sent at the end."""
    run(
        _NET
        + """
    from cuprous.torch.utils.checkpoint import checkpoint
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(10, 10).double(), nn.Linear(10, 3).double()
        def forward(self, x):
            x = checkpoint(lambda t: self.a(t).tanh(), x, use_reentrant=False)
            x = checkpoint(lambda t: self.a(t).tanh(), x, use_reentrant=False)
            return self.b(x)
    model = DDP(Net(), static_graph=True, bucket_cap_mb=0.0001)
    single = Net()
    single.load_state_dict(model.module.state_dict())
    for step in range(3):
        x, y = batch(step, 4 * n)
        for m, xs, ys in (model, part(x), part(y)), (single, x, y):
            m.zero_grad()
            F.mse_loss(m(xs), ys).backward()
        for p, q in zip(model.parameters(), single.parameters()):
            assert (p.grad - q.grad).abs().max().item() < 1e-14
    """.replace("\n    ", "\n")
    )


def test_hooks_compress_gradients() -> None:
    """bfloat16 and float16: close to the average, the same bits on all ranks."""
    run(
        _NET
        + """
    from cuprous.torch.distributed.algorithms.ddp_comm_hooks import default_hooks as hooks
    x, y = batch(0, 8 * n, torch.float32)
    exact = DDP(net())
    F.mse_loss(exact(part(x)), part(y)).backward()
    for hook in (hooks.allreduce_hook, hooks.bf16_compress_hook, hooks.fp16_compress_hook,
                 hooks.bf16_compress_wrapper(hooks.allreduce_hook)):
        model = DDP(net())
        model.module.load_state_dict(exact.module.state_dict())
        model.register_comm_hook(None, hook)
        F.mse_loss(model(part(x)), part(y)).backward()
        for p, q in zip(model.parameters(), exact.parameters()):
            assert torch.allclose(p.grad, q.grad, rtol=0.02, atol=1e-3)
            with torch.no_grad():
                p.copy_(p.grad)
        same_on_all_ranks(model)
    """.replace("\n    ", "\n")
    )


def test_modules_that_differ_and_options_that_do_not_exist_are_named() -> None:
    """On all ranks, with the first tensor that differs."""
    run(
        _NET
        + """
    def fails(error, text, call):
        try:
            call()
        except error as e:
            assert text in str(e), e
        else:
            raise SystemExit(text)
    fails(RuntimeError, "its tensor number 2 is 2.weight float32[32, 32] requires_grad=True on rank 0 and 2.weight "
          "float32[5, 32]", lambda: DDP(nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 5 if rank else 32))))
    fails(RuntimeError, "require a gradient", lambda: DDP(nn.Tanh()))
    fails(ValueError, "only work with", lambda: DDP(net(), device_ids=[0]))
    fails(ValueError, "bucket_cap_mb", lambda: DDP(net(), bucket_cap_mb=-1))
    fails(TypeError, "callable", lambda: DDP(net()).register_comm_hook(None, 3))
    """.replace("\n    ", "\n")
    )


def test_batch_statistics_and_samplers_span_the_ranks() -> None:
    """`SyncBatchNorm` equals one process with the whole batch, `DistributedSampler` covers all indices; buffers are
    rank 0's."""
    run(
        _NET
        + """
    from cuprous.torch.utils.data.distributed import DistributedSampler
    plain, synced = (nn.Sequential(nn.Linear(10, 6), nn.BatchNorm1d(6), nn.Linear(6, 3)).double() for _ in "ab")
    synced = nn.SyncBatchNorm.convert_sync_batchnorm(synced)
    model = DDP(synced)
    plain.load_state_dict(model.module.state_dict())
    for step in range(3):
        x, y = batch(step, 8 * n)
        for m, xs, ys in (model, part(x), part(y)), (plain, x, y):
            m.zero_grad()
            F.mse_loss(m(xs), ys).backward()
        for p, q in zip(model.parameters(), plain.parameters()):
            assert (p.grad - q.grad).abs().max().item() < 1e-12
    for p, q in zip(model.module.buffers(), plain.buffers()):
        assert (p - q).abs().max().item() < 1e-12
    model.eval(), plain.eval()
    assert (model(x) - plain(x)).abs().max().item() < 1e-12
    own = DDP(nn.BatchNorm1d(10))
    own(part(batch(rank, 8 * n, torch.float32)[0]))
    own(part(batch(rank, 8 * n, torch.float32)[0]))
    seen = [None] * n
    dist.all_gather_object(seen, list(DistributedSampler(range(10))))
    assert sorted(set(sum(seen, []))) == list(range(10)) and len(seen[0]) == 5
    """.replace("\n    ", "\n")
    )


def test_replicas_that_drift_are_named() -> None:
    """`CUPROUS_DDP_CHECK`: the iteration, the rank and the parameter, on all ranks; equal parameters pass."""
    run(
        _NET
        + """
    model = DDP(net())
    opt = optim.SGD(model.parameters(), lr=1e-2)
    for step in range(12):
        try:
            loss = model(part(batch(step, 8 * n, torch.float32)[0])).square().mean()
        except RuntimeError as e:
            text = str(e)
            break
        opt.zero_grad()
        loss.backward()
        opt.step()
        if rank == 1 and step == 6:
            with torch.no_grad():
                model.module[2].bias[3] += 1
                model.module[4].bias[0] += 1
    else:
        raise SystemExit("not noticed")
    assert step == 8 and "after 8 iterations the parameter '2.bias' of rank 1 differs from that of rank 0" in text, text
    assert "1 of 32 elements, the first at [3]: " in text, text
    os.environ["CUPROUS_DDP_CHECK"] = "often"
    try:
        DDP(net())
        raise SystemExit("accepted")
    except ValueError as e:
        assert "CUPROUS_DDP_CHECK must be a number of iterations" in str(e)
    """.replace("\n    ", "\n"),
        3,
        CUPROUS_DDP_CHECK="4",
    )


def test_ranks_keep_their_own_buffers_if_these_are_not_broadcast() -> None:
    """From the beginning. A second backward pass of one forward pass is averaged as the first one."""
    run("""
    def module():
        made = torch.nn.BatchNorm1d(2)
        made.running_mean.fill_(rank)
        made.weight.data.fill_(1 + rank)
        return made
    kept, copied = DDP(module(), broadcast_buffers=False), DDP(module())
    assert kept.module.running_mean.tolist() == [rank] * 2 and copied.module.running_mean.tolist() == [0, 0]
    assert kept.module.weight.tolist() == [1, 1]
    layer = DDP(torch.nn.Linear(1, 1))
    loss = layer(torch.full((1, 1), 1.0 + rank)).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert layer.module.weight.grad.item() == 3.0
    """)


def test_hooks_that_return_something_else_are_errors() -> None:
    """Nothing that they return is dropped."""
    run("""
    def failing(text, hook):
        model = DDP(torch.nn.Linear(3, 2, bias=False))
        model.register_comm_hook(None, hook)
        try:
            model(torch.ones(1, 3)).sum().backward()
        except RuntimeError as e:
            assert text in str(e), e
        else:
            raise SystemExit("accepted: " + text)
    def done(value):
        future = torch.futures.Future()
        future.set_result(value)
        return future
    failing("must return a torch.futures.Future object, but got <class 'NoneType'>", lambda state, bucket: None)
    failing("must return a torch.futures.Future object", lambda state, bucket: bucket.buffer())
    failing("Tensor or a TensorList, found <class 'int'>", lambda state, bucket: done(3))
    failing("returned 1 elements for a bucket of 6", lambda state, bucket: done(torch.ones(1)))
    model = DDP(torch.nn.Linear(3, 2, bias=False))
    model.register_comm_hook(None, lambda state, bucket: done([bucket.buffer() * 5]))
    model(torch.ones(1, 3)).sum().backward()
    assert model.module.weight.grad.tolist() == [[5.0] * 3] * 2
    """)
