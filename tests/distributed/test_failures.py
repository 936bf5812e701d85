"""What the other ranks raise, and how soon, when a rank dies, fails, leaves, disagrees or is stuck."""

from __future__ import annotations

import os
import platform
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.distributed.jobs import begin, finish, run

#: Seconds within which every rank knows, from the moment of the failure.
SOON = 2.0

_LOOP = """
x = torch.ones(1000)
print("READY", flush=True)
for step in range(1_000_000):
    dist.all_reduce(x)
    x.fill_(1.0)
    {event}
"""


def _fails(event: str, n: int = 3, **more: str) -> list[str]:
    """Runs a loop in which something happens on rank 1 after 20 steps. Returns the outputs of the ranks."""
    program = _LOOP.format(event=f"if step == 20 and rank == 1: {event}")
    processes, _store, started = begin(program, n, **more)
    ended = finish(processes, started)
    assert all(each.code != 0 for rank, each in enumerate(ended) if rank != 1), ended
    return [each.out for each in ended]


@pytest.mark.parametrize("transport", ["shm", "socket"])
def test_a_killed_rank_is_named_on_all_others_with_its_signal_and_last_call(transport: str) -> None:
    """Within two seconds, with host and line."""
    processes, _store, started = begin(_LOOP.format(event="pass"), 3, CUPROUS_DISTRIBUTED_TRANSPORT=transport)
    assert processes[1].stdout is not None
    while "READY" not in processes[1].stdout.readline():
        pass
    time.sleep(0.3)
    killed = time.monotonic()
    os.kill(processes[1].pid, signal.SIGKILL)
    # Not reaped before the others have ended, as under mpirun: the system says how the process ended.
    for process in (processes[0], processes[2]):
        out, _ = process.communicate(timeout=30)
        assert time.monotonic() - killed < SOON + 1, out
        assert process.returncode == 1 and "DistBackendError: rank 1 (host " in out, out
        assert "died: killed by signal 9 (SIGKILL)" in out and "its last call was #" in out, out
        assert "all_reduce float32[1000] sum at" in out and "program.py:" in out, out
    finish(processes[1:2], started)


def test_an_exception_on_one_rank_is_the_error_of_all() -> None:
    """With its class, message, rank and line."""
    outs = _fails("raise KeyError('no such column')")
    assert "KeyError: 'no such column'" in outs[1]
    for out in outs[0], outs[2]:
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
def test_ranks_that_disagree_fail_at_once_with_both_calls_and_lines(event: str, text: str) -> None:
    """Sizes, dtypes, reductions and operations: never wrong numbers, never a hang."""
    for out in _fails(event):
        assert "the ranks disagree at #22: " in out and text in out, out
        assert "calls all_reduce float32[1000] sum at" in out and "same order" in out, out


def test_a_collective_of_some_ranks_only_is_a_mismatch() -> None:
    """`if rank == 1` around a collective: the ranks' calls are one apart."""
    for out in _fails("dist.all_gather([torch.ones(2) for _ in range(n)], torch.ones(2))"):
        assert "rank 1 calls all_gather float32[2] at" in out, out


def test_messages_that_do_not_fit_fail_on_both_sides() -> None:
    """Of another size."""
    processes, _store, started = begin("""
    if rank == 0:
        dist.send(torch.ones(5), 1)
        dist.recv(torch.ones(1), 1)
    else:
        dist.recv(torch.ones(4), 0)
    """)
    for each in finish(processes, started):
        assert each.code == 1 and "rank 0 calls send float32[5] at" in each.out, each.out
        assert "but rank 1 in recv float32[4] from rank 0, tag 0" in each.out, each.out


@pytest.mark.parametrize(
    "begin_work", ["dist.all_reduce(x, async_op=True)", "dist.irecv(x, 1)", "dist.broadcast(x, 1, async_op=True)"]
)
@pytest.mark.parametrize("transport", ["", "socket"])
def test_what_failed_work_wrote_is_never_read_without_its_error(begin_work: str, transport: str) -> None:
    """Nobody waits for the work; it has failed long before the tensor is read, through whatever view, each time."""
    program = f"""
    x, kept = torch.arange(300_000.0), torch.arange(300_000.0)
    part = x[-1]
    if rank == 1:
        dist.recv(torch.ones(1), 0)
        os._exit(3)
    work = {begin_work}
    sent = dist.isend(kept, 1, tag=7)
    dist.send(torch.ones(1), 1)
    while not (work.is_completed() and sent.is_completed()):
        time.sleep(0.01)
    time.sleep(0.1)
    for read in [lambda: x[-1].item(), lambda: part.item(), lambda: x.numpy(), lambda: (x + 1).sum().item(),
                 lambda: x.add_(1), lambda: x[-1].item()]:
        try:
            print("SILENT", read())
        except dist.DistBackendError as error:
            assert "rank 1" in str(error), error
    assert kept[-1].item() == 299_999
    print("DONE", flush=True)
    os._exit(0)
    """
    processes, _store, started = begin(program, 2, CUPROUS_DISTRIBUTED_TRANSPORT=transport)
    first, _ = finish(processes, started)
    assert first.code == 0 and "DONE" in first.out and "SILENT" not in first.out, first.out


def test_a_rank_that_ends_before_the_others_is_named() -> None:
    """Uneven numbers of batches: the text says what to do."""
    for rank, out in enumerate(_fails("sys.exit(0)")):
        assert rank == 1 or ("rank 1 left the job (its last call was #21 " in out and "join()" in out), out


@pytest.mark.slow
def test_a_stuck_rank_is_named_after_ten_seconds_and_an_error_at_the_timeout() -> None:
    """SIGSTOP, and a rank that computes for long."""
    processes, _store, started = begin(_LOOP.format(event="pass"), 2, TEST_TIMEOUT="12")
    assert processes[1].stdout is not None
    while "READY" not in processes[1].stdout.readline():
        pass
    time.sleep(0.5)
    os.kill(processes[1].pid, signal.SIGSTOP)
    out, _ = processes[0].communicate(timeout=30)
    os.kill(processes[1].pid, signal.SIGKILL)
    finish(processes[1:], started)
    assert "[cuprous] rank 0 has waited 10 s in #" in out and "for rank 1; rank 1: its last call was #" in out, out
    assert "DistBackendError: rank 0 has waited 12 s" in out and "the timeout is 12 s" in out, out


@pytest.mark.parametrize("transport", ["shm", "socket"])
def test_a_rank_that_stops_in_the_middle_of_a_message_is_named(transport: str) -> None:
    """What has arrived in part is waited for no longer than what has not begun."""
    program = """
    x = torch.zeros(10_000_000)
    if rank == 1:
        dist.isend(x, 0)
        time.sleep(0.5)
        os.kill(os.getpid(), 19)
    time.sleep(1.5)
    dist.recv(x, 1)
    """
    processes, _store, started = begin(program, 2, TEST_TIMEOUT="3", CUPROUS_DISTRIBUTED_TRANSPORT=transport)
    out, _ = processes[0].communicate(timeout=30)
    os.kill(processes[1].pid, signal.SIGKILL)
    finish(processes[1:], started)
    assert "DistBackendError: rank 0 in recv float32[10000000] from rank 1, " in out, out
    assert "has waited 3 s; rank 1 does not answer" in out and "the timeout is 3 s" in out, out


def test_a_chain_of_waits_ends_in_the_name_of_the_rank_that_stopped() -> None:
    """Whichever rank's time is over first."""
    program = """
    if rank == 2:
        print("READY", flush=True)
        os.kill(os.getpid(), 19)
    x = torch.zeros(3)
    dist.recv(x, {0: 1, 1: 2}[rank])
    """
    processes, _store, started = begin(program, 3, TEST_TIMEOUT="3")
    outs = [process.communicate(timeout=30)[0] for process in processes[:2]]
    os.kill(processes[2].pid, signal.SIGKILL)
    finish(processes[2:], started)
    for out in outs:
        assert re.search(r"Error: rank \d in recv .*; rank 2 does not answer.*; the timeout is 3 s", out), out


def test_ctrl_c_ends_a_wait_and_is_an_error_on_the_others() -> None:
    """At once, not when the others come."""
    processes, _store, started = begin("""
    print("READY", flush=True)
    if rank == 1:
        time.sleep(2)
    dist.all_reduce(torch.ones(3))
    """)
    assert processes[0].stdout is not None
    while "READY" not in processes[0].stdout.readline():
        pass
    time.sleep(0.3)
    sent = time.monotonic()
    processes[0].send_signal(signal.SIGINT)
    out, _ = processes[0].communicate(timeout=10)
    assert "KeyboardInterrupt" in out and time.monotonic() - sent < 1.5, out
    other = finish(processes[1:], started)[0]
    assert "DistBackendError: rank 0 was interrupted by its user in #1 all_reduce" in other.out, other.out


def test_a_missing_rank_ends_the_start_with_its_number() -> None:
    """`init_process_group` and `monitored_barrier`."""
    processes, _store, started = begin("", 3, TEST_TIMEOUT="1.5")
    processes[2].kill()
    ended = finish(processes, started)
    for each in ended[:2]:
        assert "s for rank 2 of 3 to join" in each.out, each.out
    processes, _store, started = begin("""
    if rank == 1:
        time.sleep(3)
    dist.monitored_barrier(timeout=timedelta(seconds=0.5))
    """)
    first = finish(processes, started)[0]
    assert "rank 0 has waited 0 s in #1 barrier at" in first.out and "for rank 1" in first.out, first.out


def test_a_taken_port_is_an_error_at_once() -> None:
    """With the address and what to do."""
    import cuprous.torch.distributed as dist

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(dist.DistNetworkError, match=rf"127\.0\.0\.1:{port}.*--standalone or port 0"):
            dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    with pytest.raises(ValueError, match="from everywhere"):
        dist.init_process_group("gloo", init_method="tcp://0.0.0.0:0", rank=0, world_size=1)
    with pytest.raises(NotImplementedError, match=r"ucc.*ring"):
        dist.init_process_group("ucc")
    with pytest.raises(ValueError, match="RANK expected, but not set"):
        dist.init_process_group()


def test_full_shared_memory_is_replaced_by_sockets() -> None:
    """In a container with a small /dev/shm: here a limit on the size of files stands for it."""
    ended = run("""
    x = torch.ones(10)
    dist.all_reduce(x)
    assert x[0].item() == 2
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    g = dist.new_group()
    dist.all_reduce(x, group=g)
    assert x[0].item() == 4
    print(g)
    """)
    assert "use sockets, because shared memory in /dev/shm failed" in ended[0].out and "sockets)" in ended[0].out


_REFUSE = """
import ctypes, struct
def refuse(number):
    # As the policy of a container: a call fails with EPERM in this thread and in its children.
    code = b"".join(struct.pack("HBBI", *each) for each in
                    [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)])
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(Program(4, code)), 0, 0) == 0
"""
_ALL_REFUSE = (
    _REFUSE
    + """
refuse(310)  # process_vm_readv
from tests.distributed.jobs import run
print(run('''
x = torch.ones(400_000)
dist.all_reduce(x)
assert (x == n).all().item()
print(dist.group.WORLD)
''', 2)[0].out)
"""
)
_on_x86_64 = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the filter names system calls by their number on x86-64"
)


@_on_x86_64
def test_ranks_that_may_not_reach_each_others_memory_use_streams() -> None:
    """Where the system forbids direct copies, all ranks use shared memory alone."""
    done = subprocess.run([sys.executable, "-c", _ALL_REFUSE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "shared memory)" in done.stdout and "directly" not in done.stdout, done.stdout


@_on_x86_64
def test_a_rank_that_may_not_reach_memory_is_respected_or_named() -> None:
    """One rank may no longer write to the others: groups that are made later use streams on all ranks, and what a group
    from before can no longer do is an error at once."""
    processes, _store, started = begin(
        _REFUSE.replace("\n", "\n    ")
        + """
    assert "directly" in repr(dist.group.WORLD)
    x = torch.ones(400_000)
    dist.all_reduce(x)
    if rank == 1:
        refuse(311)  # process_vm_writev
    later = dist.new_group()
    dist.all_reduce(x, group=later)
    assert (x == n * n).all().item()
    print(later)
    at = time.monotonic()
    try:
        dist.all_reduce(x)
    except dist.DistBackendError as error:
        print("ERROR", error, "AFTER", time.monotonic() - at < 5)
    """,
        2,
    )
    for each in finish(processes, started):
        assert "shared memory)" in each.out and "AFTER True" in each.out, each.out
        text = r"rank 1 cannot reach the memory of rank 0 in #2 all_reduce float32\[400000\].*permitted.*=shm"
        assert re.search(text, each.out), each.out


def test_children_of_a_fork_are_no_ranks_and_do_not_hide_the_death_of_their_parent() -> None:
    """As the workers of a data loader."""
    processes, _store, started = begin("""
    if rank == 1:
        child = os.fork()
        if child == 0:
            try:
                dist.barrier()
            except ValueError as e:
                print(e, flush=True)
            os.close(1); os.close(2)
            time.sleep(20)
            os._exit(0)
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()
    """)
    ended = finish(processes, started)
    assert "forked after init_process_group" in ended[1].out
    assert "rank 1 (host " in ended[0].out and "died" in ended[0].out and ended[0].after < 8, ended[0]


def test_nothing_is_left_in_shared_memory() -> None:
    """Not even after the failures above."""
    assert not [name for name in os.listdir("/dev/shm") if name.startswith("cuprous-") and _is_ours(name)]


def _is_ours(name: str) -> bool:
    return os.stat(f"/dev/shm/{name}").st_size > 1 << 20
