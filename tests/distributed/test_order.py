"""Operations on tensors that others read or write meanwhile: what waits, what does not, and what raises."""

from __future__ import annotations

import pytest

from tests.distributed.jobs import begin, finish, run


@pytest.mark.parametrize("transport", ["shm", "socket"])
def test_rows_of_one_tensor_are_sent_received_and_read_at_once(transport: str) -> None:
    """As where ranks exchange the borders of a grid: nothing waits for a message that touches other rows or only reads,
    and what is being received is never read too early."""
    run(
        """
    other, size = 1 - rank, 1_500_000
    for step in range(3):
        u = torch.zeros(4, size)
        u[1:3] = rank + 1.0
        works = [dist.isend(u[1], other), dist.irecv(u[0], other), dist.isend(u[2], other), dist.irecv(u[3], other)]
        for row in (0, 3):
            assert u[row, -1].item() == other + 1 and u[row, 0].item() == other + 1
        for work in works:
            work.wait()
    x = torch.full((size,), rank + 1.0)
    sent = dist.isend(x, other)             # both send first
    assert (x * 2)[-1].item() == 2 * rank + 2 and x[-1].item() == rank + 1 and x.sum().item() == (rank + 1) * size
    got = torch.zeros(size)
    arrives = dist.irecv(got, other)
    x.fill_(7.0)                            # waits until the other one has it
    assert got[-1].item() == other + 1 and got[0].item() == other + 1
    dist.barrier()
    """,
        CUPROUS_DISTRIBUTED_TRANSPORT=transport,
    )


def test_a_message_that_ends_does_not_hide_another_one_of_its_tensor() -> None:
    """The first is large and comes late, the second small: reads and writes still wait for the first."""
    run("""
    for k in range(4):
        x = torch.zeros(1_000_004)
        x[-4:] = 5.0
        large, small = x[:-4], x[-4:]
        if rank == 0:
            dist.batch_isend_irecv([dist.P2POp(dist.irecv, large, 1), dist.P2POp(dist.isend, small, 1)])
            reads = [lambda: x[999_999].item(), lambda: x.numpy()[999_999], lambda: x.tolist()[999_999],
                     lambda: large.mean().item()]
            assert reads[k]() == 7
        else:
            first = torch.zeros(4)
            dist.recv(first, 0)
            time.sleep(0.2)
            dist.send(torch.full((1_000_000,), 7.0), 0)
        x = torch.ones(1_000_004)
        large, small = x[:-4], x[-4:]
        if rank == 0:
            dist.batch_isend_irecv([dist.P2POp(dist.isend, large, 1), dist.P2POp(dist.isend, small, 1, tag=1)])
            writes = [lambda: x.fill_(9.0), lambda: x[:9].add_(8.0), lambda: torch.add(large, 1, out=large), x.zero_]
            writes[k]()
        else:
            dist.recv(small, 0, tag=1)
            time.sleep(0.2)
            dist.recv(large, 0)
            assert (x == 1).all().item()
    """)


def test_messages_under_way_when_their_group_ends_are_errors() -> None:
    """Nobody waits forever for what can never arrive, and an ended group is named."""
    processes, _store, started = begin(
        """
    group = dist.new_group([0, 1])
    x = torch.zeros(1000)
    if rank == 0:
        work = dist.irecv(x, 1, group)
    dist.destroy_process_group(group)
    for call in [lambda: dist.isend(x, 1 - rank, group), lambda: dist.all_reduce(x, group=group)]:
        try:
            raise SystemExit(f"accepted {call()}")
        except ValueError as error:
            assert "is not registered" in str(error), error
    if rank == 0:
        for call in [work.wait, lambda: x[0].item()]:
            try:
                raise SystemExit(f"accepted {call()}")
            except dist.DistBackendError as error:
                assert "group was destroyed" in str(error), error
    dist.barrier()
    """
    )
    for each in finish(processes, started):
        assert each.code == 0 and each.after < 20, each.out


def test_futures_of_operations_are_done_when_these_are() -> None:
    """Also those of a function of one, and of several; a failure is the value's error."""
    processes, _store, started = begin("""
    x = torch.full((1000,), rank + 1.0)
    future = dist.all_reduce(x, async_op=True).get_future()
    twice = future.then(lambda done: done.value()[0] * 2)
    both = torch.futures.collect_all([future, twice])
    while not both.done():
        time.sleep(0.001)
    assert future.value()[0] is x and twice.value()[0].item() == 6
    seen = []
    future.add_done_callback(seen.append)
    assert seen == [future]
    late = dist.irecv(torch.zeros(1), 1 - rank, tag=3).get_future()
    assert not late.done()
    dist.barrier()
    if rank == 1:
        os._exit(3)
    while not late.done():
        time.sleep(0.01)
    try:
        late.value()
    except dist.DistBackendError as error:
        print("RAISED", error)
    os._exit(0)
    """)
    first, _ = finish(processes, started)
    assert first.code == 0 and "RAISED rank 1 (" in first.out, first.out


@pytest.mark.parametrize("transport", ["shm", "socket"])
@pytest.mark.parametrize("call", ["dist.barrier()", "dist.all_reduce(x)", "dist.broadcast(x, 0)", "message()"])
def test_a_rank_that_was_stopped_gets_what_others_sent_before_they_left(call: str, transport: str) -> None:
    """It learns at once that the data has come and that its sender has left; the data counts."""
    processes, _store, started = begin(
        f"""
    x = torch.full((1000,), 1.0)
    def message():
        dist.send(x, 1) if rank == 0 else dist.recv(x, 0)
    process = torch.tensor(os.getpid())
    dist.broadcast(process, 1)
    if rank == 0:
        process = process.item()
        time.sleep(0.6)                     # the other one waits
        os.kill(process, signal.SIGSTOP)
    {call}
    if rank == 0:
        x[0].item()
        dist.destroy_process_group()
        os.kill(process, signal.SIGCONT)
        os._exit(0)
    print("SUM", x.sum().item())
    """,
        CUPROUS_DISTRIBUTED_TRANSPORT=transport,
    )
    first, second = finish(processes, started)
    total = 2000 if "reduce" in call else 1000
    assert first.code == 0, first.out
    assert second.code == 0 and f"SUM {total}" in second.out, second.out
