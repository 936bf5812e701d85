"""The backend "nccl" in 2 to 4 processes, each with a simulated GPU. The simulated NCCL compares nothing and stops for
nobody."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time

import pytest

from cuprous import _core
from tests.distributed.jobs import LIMIT, Ended, begin, finish, run
from tests.distributed.sequences import run_job
from tests.simulated import FOLDER

#: Seconds within which every rank knows, from the moment of a failure.
SOON = 2.0


def _run(program: str, n: int = 2, **more: str) -> None:
    """Runs a program whose tensors are on a GPU unless it says otherwise."""
    run(program, n, TEST_DEVICE="cuda", TEST_BACKEND="nccl", **more)


def _begin(program: str, n: int = 2, **more: str) -> tuple[list[subprocess.Popen[str]], _core.DistStore, float]:
    return begin(program, n, TEST_DEVICE="cuda", TEST_BACKEND="nccl", **more)


_NET = """
from torch_name import nn, optim
F = nn.functional

def batch(step, size):
    own = np.random.default_rng(step)
    return tuple(torch.tensor(own.normal(size=(size, k)).astype(np.float32)) for k in (10, 3))

def part(t):
    return t.chunk(n)[rank]

def net():
    return nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 3))

def bits(module):
    return b"".join(t.detach().cpu().numpy().tobytes() for t in [*module.parameters(), *module.buffers()])

def same_on_all_ranks(module):
    all_ = [None] * n
    dist.all_gather_object(all_, bits(module))
    assert all(one == all_[0] for one in all_)
""".replace("torch_name", "cuprous.torch")


@pytest.mark.parametrize(("n", "sequences"), [(2, 10), (3, 6), (4, 3)])
def test_random_sequences_of_collectives_agree_with_numpy(n: int, sequences: int) -> None:
    """Any operations, dtypes, sizes, groups, roots and layouts, in order and overlapping, with streams that run
    late."""
    more = {"TEST_DEVICE": "cuda", "TEST_BACKEND": "nccl", **_simulator(f"seed={n}")}
    assert run_job(2000 * n, sequences, n, **more) > 30


def _simulator(setting: str) -> dict[str, str]:
    return {"CUPROUS_SIM": f"{os.environ['CUPROUS_SIM']},{setting}"}


def test_tensors_wait_for_operations_and_keep_what_autograd_saved() -> None:
    """An operation under way is a write like any other, and its memory stays its own until it has ended."""
    _run(
        """
    for round in range(20):
        x = torch.full((30_000,), float(rank + 1))
        before = x * 1
        w = torch.ones(30_000, requires_grad=True)
        y = (w * x).sum()                       # saves x
        work = dist.all_reduce(x, async_op=True)
        x += 1                                  # ordered after it
        assert x[0].item() == 4 and before[0].item() == rank + 1
        y.backward()
        assert w.grad[0].item() == rank + 1
        assert work.wait() and work.is_success() and work.result()[0] is x
        # Nobody waits for these: their memory must not be used again before they have ended.
        for _ in range(3):
            dist.all_reduce(torch.full((30_000,), float(rank)), async_op=True)
        z = torch.full((30_000,), 7.0) * 2
        assert z.sum().item() == 14 * 30_000
    assert work.wait(timedelta(seconds=20)) and work.is_completed()
    columns = torch.arange(12.0).reshape(3, 4).t()
    dist.all_reduce(columns)                    # not contiguous
    assert columns[1, 0].item() == 2 and columns.shape == (4, 3)
    parts = [torch.zeros(5) for _ in range(2 * n)][::2]   # not next to each other
    dist.all_gather(parts, torch.full((5,), float(rank)))
    assert [p[0].item() for p in parts] == list(range(n))
    # On one rank they are: what the library is given must not depend on it.
    rows = torch.zeros(n, 5) if rank == 0 else torch.zeros(2 * n, 5)[::2]
    dist.all_gather(list(rows), torch.full((5,), float(rank)))
    assert rows[:, 4].tolist() == list(range(n))
    out = torch.zeros(4)
    dist.reduce_scatter(out, [torch.full((4,), float(k)) for k in range(n)])
    assert out.tolist() == [float(rank * n)] * 4
    dist.barrier()
    dist.destroy_process_group()
    """,
    )


def test_messages_of_a_batch_do_not_wait_for_each_other() -> None:
    """Rings of large tensors, several messages in order, empty ones."""
    _run(
        """
    right, left = (rank + 1) % n, (rank - 1) % n
    for size in (100_000, 3, 0):
        out, got = torch.full((size,), float(rank)), torch.zeros(size)
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, out, right), dist.P2POp(dist.irecv, got, left)])
        for w in works:
            w.wait()
        assert (got == left).all().item()
    if rank == 0:
        for k in range(5):
            dist.send(torch.full((2, 3), float(k)).t(), 1, tag=k)
    elif rank == 1:
        for k in range(5):
            one = torch.zeros(3, 2)
            assert dist.recv(one, 0, tag=k) == 0 and one[2, 1].item() == k
        try:
            dist.recv(one)
        except ValueError as e:
            assert "src=" in str(e)
    dist.barrier()
    """,
        3,
    )


def test_backends_by_device() -> None:
    """CPU and GPU tensors in one group, GPUs connected at once, wrong devices, objects, barriers, what NCCL lacks."""
    _run(
        """
    def fails(error, text, call):
        try:
            call()
        except error as e:
            assert text in str(e), e
        else:
            raise SystemExit(text)
    assert dist.get_backend() == "nccl" and dist.is_nccl_available() and dist.is_backend_available("cuda:nccl")
    x = torch.ones(3)
    fails(RuntimeError, "No backend type associated with device type cpu", lambda: dist.all_reduce(torch.ones(3).cpu()))
    objects = [None] * n
    dist.all_gather_object(objects, {"rank": rank, "t": x.cpu()})
    assert [o["rank"] for o in objects] == [0, 1]
    dist.monitored_barrier()
    fails(ValueError, "ReduceOp.BAND with NCCL", lambda: dist.all_reduce(x.int(), dist.ReduceOp.BAND))
    fails(TypeError, "not supported for NCCL process group: int16", lambda: dist.all_reduce(x.to(torch.int16)))
    fails(RuntimeError, "same size", lambda: dist.all_gather([torch.ones(2), torch.ones(3)], x))
    fails(ValueError, "ReduceOp.BXOR with NCCL", lambda: dist.all_reduce(x, dist.ReduceOp.BXOR))
    fails(TypeError, "ReduceOp.AVG with boolean", lambda: dist.all_reduce(x > 0, dist.ReduceOp.AVG))
    fails(ValueError, "not supported for complex64", lambda: dist.all_reduce(x + 1j, dist.ReduceOp.PRODUCT))
    both_ways = [dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.isend, x, rank)]
    fails(ValueError, "same as the rank", lambda: dist.batch_isend_irecv(both_ways))
    fails(ValueError, "contiguous", lambda: dist.all_reduce(torch.ones(3, 4).t(), async_op=True))
    fails(ValueError, "same as the rank", lambda: dist.send(x, rank))
    dist.all_reduce(x)                          # the group is still usable
    assert x.tolist() == [2, 2, 2]
    short = torch.full((4,), rank + 1, dtype=torch.int16)
    dist.broadcast(short, src=1)                # moved, not reduced
    assert short.tolist() == [2] * 4
    flags = torch.tensor([rank == 1, False])
    dist.all_reduce(flags)
    assert flags.tolist() == [True, False]
    both = dist.new_group(backend="cpu:gloo,cuda:nccl", device_id=0)
    assert dist.get_backend(both) == "cpu:ring,cuda:nccl" and both.bound_device == "cuda:0"
    for device in ("cpu", "cuda"):
        t = torch.full((5,), float(rank + 1), device=device)
        dist.all_reduce(t, dist.ReduceOp.AVG, group=both)
        assert t.tolist() == [1.5] * 5
    dist.barrier(both)
    dist.barrier(both, device_ids=[0])
    only_cpu = dist.new_group(backend="gloo")
    fails(RuntimeError, "No backend type associated with device type cuda", lambda: dist.all_reduce(x, group=only_cpu))
    dist.destroy_process_group(both)
    dist.destroy_process_group()
    dist.init_process_group(device_id=torch.device("cuda", 0))   # again, with the default backends
    y = torch.ones(2)
    dist.all_reduce(y)
    assert y.tolist() == [2, 2]
    """,
    )


@pytest.mark.parametrize("n", [2, 4])
def test_ddp_has_the_losses_of_one_process_and_the_same_bits_on_all_ranks(n: int) -> None:
    """With several buckets, buffers, accumulated gradients, and a rank that alone reads, hooks, profiles and saves."""
    _run(
        _NET
        + """
import contextlib, io
from cuprous.torch import profiler
from cuprous.torch.nn.parallel import _buckets
_buckets._LATE = int(os.environ["TEST_LATE"])
torch.manual_seed(rank)                         # rank 0's parameters are everybody's
model = DDP(nn.Sequential(net(), nn.BatchNorm1d(3, affine=False, momentum=0.0)), device_ids=[0], bucket_cap_mb=0.001)
assert len(model._reducer.buckets) > 1 and model.device_ids == [0]
assert model._reducer._is_late == (n == 2)
single = net()
single.load_state_dict(model.module[0].state_dict())
a, b = optim.AdamW(model.parameters(), lr=1e-2), optim.AdamW(single.parameters(), lr=1e-2)
norms = []
if rank == 0:
    model.module[0][0].weight.register_hook(lambda g: norms.append(g.norm().item()))
for step in range(int(os.environ["TEST_STEPS"])):
    x, y = batch(step, 8 * n)
    a.zero_grad(), b.zero_grad()
    half = part(x).chunk(2)[0]
    if step % 5 == 4:
        with model.no_sync():
            model(half)
            F.mse_loss(model.module[0](half), part(y).chunk(2)[0]).backward()
        F.mse_loss(single(torch.cat([c.chunk(2)[0] for c in x.chunk(n)])),
                   torch.cat([c.chunk(2)[0] for c in y.chunk(n)])).backward()
    model.train()
    model(part(x).cpu())                        # inputs are moved; buffers are broadcast
    with profiler.profile() if rank == 0 and step % 20 == 7 else contextlib.nullcontext():
        loss = F.mse_loss(model.module[0](part(x)), part(y))
        loss.backward()
    one = F.mse_loss(single(x), y)
    one.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0), nn.utils.clip_grad_norm_(single.parameters(), 1.0)
    a.step(), b.step()
    if rank == 0:
        if step % 3 == 0:
            print(step, loss.item(), model.module[0][4].bias)
        if step % 7 == 0:
            torch.save(model.state_dict(), io.BytesIO())
        assert np.isfinite(norms[-1])
    if step % 10 == 0:
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        assert abs(mean.item() - one.item()) < 1e-4 * max(1, one.item()), (step, mean, one)
same_on_all_ranks(model.module[0])
for p, q in zip(model.module[0].parameters(), single.parameters()):
    assert (p - q).abs().max().item() < 1e-2
""",
        n,
        TEST_STEPS=os.environ.get("TEST_STEPS", "60" if n == 2 else "25"),
        TEST_LATE="0" if n == 2 else "4000000",
    )


def test_the_last_bucket_is_reduced_while_other_parameters_are_updated() -> None:
    """With optimizers that wait for it in their own ways, clipping, and gradients that are read or dropped."""
    _run(
        _NET
        + """
from cuprous.torch.nn.parallel import _buckets
_buckets._LATE = 0
for make in (lambda p: optim.Adam(p, lr=1e-2), lambda p: optim.AdamW(p, lr=1e-2, amsgrad=True, maximize=True),
             lambda p: optim.SGD(p, lr=1e-1, momentum=0.9), lambda p: optim.RMSprop(p, lr=1e-3)):
    torch.manual_seed(1)
    model = DDP(net(), bucket_cap_mb=0.001)
    single = net()
    single.load_state_dict(model.module.state_dict())
    a, b = make(model.parameters()), make(single.parameters())
    reducer, waited = model._reducer, set()
    reducer._wait = lambda bucket, sent, wait=reducer._wait: (waited.add(bucket.index), wait(bucket, sent))
    for step in range(8):
        x, y = batch(step, 8 * n)
        a.zero_grad(), b.zero_grad()
        F.mse_loss(model(part(x)), part(y)).backward()
        assert waited == set(range(len(reducer.buckets) - 1))
        F.mse_loss(single(x), y).backward()
        if step == 3:
            for p, q in zip(model.parameters(), single.parameters()):
                assert (p.grad - q.grad).abs().max().item() < 1e-5
        if step == 4:
            nn.utils.clip_grad_norm_(model.parameters(), 0.1), nn.utils.clip_grad_norm_(single.parameters(), 0.1)
        if step != 5:                            # the gradients of step 5 are not used
            a.step(), b.step()
    same_on_all_ranks(model.module)
    for p, q in zip(model.parameters(), single.parameters()):
        assert (p - q).abs().max().item() < 1e-3
""",
        2,
    )


def test_hooks_compress_and_errors_name_the_device() -> None:
    """bfloat16 on the wire, unused parameters, and modules that DDP cannot have."""
    _run(
        _NET
        + """
from cuprous.torch.distributed.algorithms.ddp_comm_hooks import default_hooks
model = DDP(net(), find_unused_parameters=True)
model.register_comm_hook(None, default_hooks.bf16_compress_hook)
x, y = batch(0, 8 * n)
F.mse_loss(model(part(x)), part(y)).backward()
grads = [torch.zeros_like(model.module[0].weight) for _ in range(n)]
dist.all_gather(grads, model.module[0].weight.grad)
assert torch.equal(grads[0], grads[1]) and grads[0].abs().max().item() > 0
for error, text, call in (
    (ValueError, "single element", lambda: DDP(net(), device_ids=[0, 1])),
    (ValueError, "on one device", lambda: DDP(nn.Sequential(net(), nn.Linear(3, 3).cpu()))),
    (ValueError, "only work with", lambda: DDP(net(), device_ids=[1])),
    (RuntimeError, "No backend type associated with device type cpu", lambda: DDP(net().cpu())),
):
    try:
        call()
    except error as e:
        assert text in str(e), e
    else:
        raise SystemExit(text)
""",
    )


_LOOP = """
x = torch.ones(1000)
print("READY", flush=True)
for step in range(1_000_000):
    dist.all_reduce(x)
    x.fill_(1.0)
    if step % 4 == 3:
        assert x[0].item() == 1
    {event}
"""


def _fails(event: str, n: int = 3, **more: str) -> list[str]:
    """Runs a loop in which something happens on rank 1 after 20 steps. Returns the outputs of the ranks."""
    program = _LOOP.format(event=f"if step == 20 and rank == 1: {event}")
    processes, _store, started = _begin(program, n, **more)
    ended = finish(processes, started)
    assert all(each.code == 1 for rank, each in enumerate(ended) if rank != 1), ended
    return [each.out for each in ended]


def _ended(program: str, n: int = 2, **more: str) -> list[Ended]:
    """Runs a program in processes that may fail."""
    processes, _store, started = _begin(program, n, **more)
    return finish(processes, started)


def test_a_killed_rank_is_named_on_all_others_with_its_signal_and_last_call() -> None:
    """While they wait for their GPUs: within two seconds, with host and line."""
    processes, _store, started = _begin(_LOOP.format(event="pass"), 3)
    assert processes[1].stdout is not None
    while "READY" not in processes[1].stdout.readline():
        pass
    time.sleep(1.5)
    killed = time.monotonic()
    os.kill(processes[1].pid, signal.SIGKILL)
    for process in (processes[0], processes[2]):
        out, _ = process.communicate(timeout=30)
        assert time.monotonic() - killed < SOON + 2, out
        assert process.returncode == 1 and "DistBackendError: rank 1 (host " in out, out
        assert "died: killed by signal 9 (SIGKILL)" in out and "its last call was #" in out, out
        assert "all_reduce float32[1000] sum at" in out and "program.py:" in out, out
    finish(processes[1:2], started)


def test_an_exception_on_one_rank_is_the_error_of_all() -> None:
    """With its class, message, rank and line, also for ranks that only read."""
    for rank, out in enumerate(_fails("raise KeyError('no such column')")):
        if rank != 1:
            assert "DistBackendError: rank 1 (host " in out and "raised KeyError: 'no such column' (at " in out, out
            assert re.search(r"\(at .*program.py:\d+\)", out), out


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("dist.all_reduce(torch.ones(999))", "rank 1 calls all_reduce float32[999] sum at"),
        ("dist.all_reduce(torch.ones(1000, dtype=torch.float64))", "rank 1 calls all_reduce float64[1000] sum at"),
        ("dist.all_reduce(x, dist.ReduceOp.MAX)", "rank 1 calls all_reduce float32[1000] max at"),
        ("dist.broadcast(x, src=0)", "rank 1 calls broadcast float32[1000] root=0 at"),
        ("dist.barrier()", "rank 1 calls barrier at"),
    ],
)
def test_ranks_that_disagree_fail_with_both_calls_and_lines(event: str, text: str) -> None:
    """Though the library compares nothing: sizes, dtypes, reductions and operations."""
    for out in _fails(event):
        assert "the ranks disagree at #22: " in out and text in out, out
        assert "calls all_reduce float32[1000] sum at" in out and "same order" in out, out


def test_messages_and_parts_that_do_not_fit_fail() -> None:
    """Of another size; and exchanges of all with all in which two ranks differ."""
    for program, text in (
        ("dist.send(torch.ones(5), 1) if rank == 0 else dist.recv(torch.ones(4), 0)\ntorch.ones(3).tolist()\n"
         "time.sleep(5)\ndist.barrier()",
         r"rank 0 calls send float32\[5\] at .* but rank 1 expects recv float32\[4\]"),
        ("dist.all_to_all([torch.ones(2 + rank)] * 2 if rank else [torch.ones(2), torch.ones(9)],\n"
         "                [torch.ones(2 + rank)] * 2)\ntime.sleep(5)\ndist.barrier()",
         r"rank (1 sends 12 bytes to rank 0, which expects 36|0 sends 8 bytes to rank 1, which expects 12)"),
    ):  # fmt: skip
        processes, _store, started = _begin(program)
        for each in finish(processes, started):
            assert each.code == 1 and re.search(text, each.out), each.out


def test_a_rank_that_ends_before_the_others_is_named() -> None:
    """Uneven numbers of batches: the text says what to do."""
    for rank, out in enumerate(_fails("sys.exit(0)")):
        assert rank == 1 or ("rank 1 left the job (its last call was #21 " in out and "join()" in out), out


def test_a_rank_that_leaves_ends_although_the_library_waits_for_all() -> None:
    """At once if the others go on, which is their error; after some seconds if they do something else first."""
    processes, _store, started = _begin(_LOOP.format(event="if step == 20 and rank == 1: sys.exit(3)"), 2)
    other, left = finish(processes, started)
    assert other.code == 1 and "rank 1 left the job" in other.out and left.code == 3, (other, left)
    assert left.after - other.after < SOON
    _run(
        """
    x = torch.ones(4)
    dist.all_reduce(x)
    assert x.tolist() == [2] * 4
    if rank == 0:
        time.sleep(8)                           # writes a checkpoint
    """
    )


def test_a_group_that_one_rank_has_destroyed_is_an_error_for_the_others() -> None:
    """Before its GPU has anything to wait for."""
    for each in _ended(
        """
    group = dist.new_group(device_id=0)
    x = torch.ones(4)
    dist.all_reduce(x, group=group)
    assert x.tolist() == [2] * 4
    if rank == 1:
        dist.destroy_process_group(group)
    else:
        time.sleep(2)
        dist.all_reduce(x, group=group)
        x.tolist()
    dist.barrier()
    """
    ):
        assert each.code == 1 and "rank 1 left the group (its last call was #" in each.out, each.out
        assert "while rank 0 waits for it in #2 all_reduce float32[4] sum at" in each.out, each.out


def test_the_first_collective_of_a_group_has_the_timeout_too() -> None:
    """The library connects in it, and the call does not return before all ranks have made it."""
    for each in _ended(
        """
    group = dist.new_group(device_id=0, timeout=timedelta(seconds=3))
    if rank == 1:
        time.sleep(6)
    dist.all_reduce(torch.ones(4), group=group)
    """
    ):
        assert each.code == 1 and "DistBackendError: rank 0 has waited 3 s in #1 all_reduce" in each.out, each.out
        assert each.after < LIMIT - 20


def test_a_stuck_rank_is_named_after_ten_seconds_and_an_error_at_the_timeout() -> None:
    """SIGSTOP: the others' GPUs are freed."""
    processes, _store, started = _begin(_LOOP.format(event="pass"), 2, TEST_TIMEOUT="12")
    assert processes[1].stdout is not None
    while "READY" not in processes[1].stdout.readline():
        pass
    time.sleep(1.5)
    os.kill(processes[1].pid, signal.SIGSTOP)
    out, _ = processes[0].communicate(timeout=LIMIT - 10)
    os.kill(processes[1].pid, signal.SIGKILL)
    finish(processes[1:], started)
    assert re.search(r"\[cuprous\] rank 0 has waited 10 s in #\d+ all_reduce float32\[1000\] sum at ", out), out
    assert "for rank 1; rank 1: its last call was #" in out, out
    assert "DistBackendError: rank 0 has waited 12 s" in out and "the timeout is 12 s" in out, out


@pytest.mark.parametrize(
    ("function", "after"),
    [("ncclGetUniqueId", 0), ("ncclCommInitRankConfig", 0), ("ncclAllReduce", 5),
     ("ncclCommGetAsyncError", 5), ("cuStreamWaitEvent", 3)],
)  # fmt: skip
def test_an_error_of_the_library_is_the_error_of_all_ranks(function: str, after: int) -> None:
    """When ranks are connected and later: its name and status, and no rank waits for the one that has it."""
    fail = f"""
    import ctypes
    simulator = ctypes.CDLL({str(FOLDER / "libcuda.so.1")!r})
    simulator.cuprous_sim_fail.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int]
    torch.ones(3).tolist()
    if rank == 0:
        simulator.cuprous_sim_fail({function.encode()!r}, {after}, 2)
    """
    processes, _store, started = _begin(fail + _LOOP.format(event="pass").replace("\n", "\n    "), 2)
    for each in finish(processes, started):
        assert each.code == 1 and f"{function}" in each.out and "DistBackendError" in each.out, each.out
        assert each.after < LIMIT - 20


def test_profiles_have_the_collectives_of_gpus() -> None:
    """Their times are those of events on the stream; what has ended unnoticed is there too."""
    _run(
        """
import cuprous as cp
x, y = torch.ones(1000), torch.ones(500)
with cp.profile() as p:
    for _ in range(3):
        dist.all_reduce(x)
    work = dist.all_reduce(y, async_op=True)
    work.wait()
    torch.cuda.synchronize()
assert (p.total.collectives, p.total.collective_bytes) == (4, 3 * 4000 + 2000), p.total
assert 0 < p.total.collective_time < p.total.wall, p.total
assert x[0].item() == n ** 3 and y[0].item() == n
with cp.profile() as p:
    x.sum().item()
assert p.total.collectives == 0
        """,
    )
