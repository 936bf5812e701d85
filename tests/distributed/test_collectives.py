"""Collectives against NumPy, in 2 to 4 processes, through shared memory and through sockets."""

from __future__ import annotations

import pytest

from tests.distributed.jobs import begin, finish, run
from tests.distributed.sequences import run_job


@pytest.mark.parametrize(("n", "transport"), [(2, "shm"), (3, "socket"), (4, "")])
def test_random_sequences_of_collectives_agree_with_numpy(n: int, transport: str) -> None:
    """Any operations, dtypes, sizes, groups, roots and layouts, in order and overlapping."""
    assert run_job(1000 * n, 12, n, CUPROUS_DISTRIBUTED_TRANSPORT=transport) > 100


@pytest.mark.parametrize(("n", "transport"), [(2, ""), (3, ""), (2, "shm")])
def test_large_collectives_agree_with_numpy(n: int, transport: str) -> None:
    """All operations on tensors that move directly between the ranks' own memory where the system permits it."""
    ended = run(
        """
    direct = "directly" in repr(dist.group.WORLD)
    print("direct" if direct else "streams")
    assert not (direct and os.environ["CUPROUS_DISTRIBUTED_TRANSPORT"]), dist.group.WORLD
    def of(r, size, dtype):
        return (np.random.default_rng([r, size]).integers(-8, 9, size)).astype(dtype)
    def check(got, want):
        np.testing.assert_array_equal(got.numpy(), want)
    for dtype in ("float32", "float16", "complex64"):
        for count in (70_001, 400_003):
            every = [of(r, count, dtype) for r in range(n)]
            total = sum(e.astype("complex64" if dtype == "complex64" else "float64") for e in every).astype(dtype)
            mine = torch.from_numpy(every[rank].copy())
            x = mine.clone()
            dist.all_reduce(x)
            check(x, total)
            x = torch.zeros(count + 5, dtype=mine.dtype)[3:-2]       # a part of a tensor
            x.copy_(mine)
            works = [dist.all_reduce(x, async_op=True), dist.all_reduce(mine2 := mine.clone(), async_op=True)]
            for work in works:
                work.wait()
            check(x, total)
            check(mine2, total)
            x = mine.clone()
            dist.reduce(x, n - 1)
            check(x, total if rank == n - 1 else every[rank])
            x = mine.clone()
            dist.broadcast(x, 1)
            check(x, every[1])
            outs = [torch.zeros_like(mine) for _ in range(n)]
            dist.all_gather(outs, mine)
            for got, want in zip(outs, every):
                check(got, want)
            outs = [torch.zeros_like(mine) for _ in range(n)] if rank == 0 else None
            dist.gather(mine, outs, 0)
            if rank == 0:
                for got, want in zip(outs, every):
                    check(got, want)
            given = [torch.from_numpy(e.copy()) for e in every] if rank == 1 else None
            dist.scatter(out := torch.zeros_like(mine), given, 1)
            check(out, every[rank])
            parts = [torch.from_numpy(np.roll(every[rank], k)) for k in range(n)]
            dist.reduce_scatter(out := torch.zeros_like(mine), parts)
            want = sum(np.roll(e, rank).astype("complex64" if dtype == "complex64" else "float64") for e in every)
            check(out, want.astype(dtype))
            # The result replaces what another rank still reads.
            whole = torch.cat(parts)
            out = whole[:count]
            dist.reduce_scatter_tensor(out, whole)
            check(out, want.astype(dtype))
            outs = [torch.zeros_like(mine) for _ in range(n)]
            dist.all_to_all(outs, parts)
            for r, got in enumerate(outs):
                check(got, np.roll(every[r], rank))
    dist.barrier()
    """,
        n,
        CUPROUS_DISTRIBUTED_TRANSPORT=transport,
    )
    assert len({each.out.splitlines()[0] for each in ended}) == 1


@pytest.mark.parametrize("event", ["os.kill(os.getpid(), signal.SIGKILL)", "raise KeyError(7)"])
def test_a_rank_that_ends_in_a_large_collective_is_named(event: str) -> None:
    """Nobody waits for the memory of a rank that is gone, and nobody gets wrong numbers."""
    processes, _store, started = begin(
        f"""
    import threading
    def end():
        time.sleep(2.0)
        {event}
    if rank == 1 and {"SIGKILL" in event}:
        threading.Thread(target=end, daemon=True).start()
    x, steps, start = torch.ones(4_000_000), 0, time.monotonic()
    try:
        while True:
            x.fill_(1)
            dist.all_reduce(x)
            assert x[3_999_999].item() == 3 and x[0].item() == 3
            steps += 1
            if rank == 1 and time.monotonic() - start > 2 and {"KeyError" in event}:
                raise KeyError(7)
    except dist.DistBackendError as e:
        print("ERROR", e)
    """,
        3,
    )
    ended = finish(processes, started)
    for rank in (0, 2):
        assert ended[rank].code == 0 and "ERROR rank 1 (" in ended[rank].out, ended[rank].out
        assert ("SIGKILL" if "SIGKILL" in event else "raised KeyError: 7") in ended[rank].out, ended[rank].out


def test_tensors_wait_for_operations_and_keep_what_autograd_saved() -> None:
    """An operation under way is a write like any other: later reads see it, earlier ones and saved values do not."""
    run("""
    x = torch.full((300_000,), float(rank + 1))
    before = x * 1
    w = torch.ones(300_000, requires_grad=True)
    y = (w * x).sum()                       # saves x
    work = dist.all_reduce(x, async_op=True)
    x += 1                                  # ordered after it
    assert x[0].item() == 4 and before[0].item() == rank + 1
    y.backward()
    assert w.grad[0].item() == rank + 1
    assert work.wait() and work.is_completed() and work.is_success() and work.result()[0] is x
    columns = torch.arange(12.0).reshape(3, 4).t()
    dist.all_reduce(columns)                # not contiguous
    assert columns[1, 0].item() == 2 and columns.shape == (4, 3)
    try:
        dist.all_reduce(columns, async_op=True)
        raise SystemExit("accepted")
    except ValueError as e:
        assert "contiguous" in str(e)
    dist.barrier()
    dist.destroy_process_group()
    """)


def test_sums_of_half_precision_are_rounded_once() -> None:
    """bfloat16 accumulates in float32."""
    run(
        """
    x = torch.full((40_000,), 1.0 if rank == 0 else 1 / 512, dtype=torch.bfloat16)
    dist.all_reduce(x)
    assert x[39_999].item() == torch.tensor(1 + 3 / 512).to(torch.bfloat16).item()
    m = torch.tensor([-3, 4]) if rank == 0 else torch.tensor([0, 0])
    dist.all_reduce(m, dist.ReduceOp.AVG)
    assert m.tolist() == [0, 1], m
    z = torch.tensor([float("nan") if rank == 2 else 1.0])
    dist.all_reduce(z, dist.ReduceOp.MAX)
    assert z.isnan().item()
    """,
        4,
    )


@pytest.mark.parametrize("transport", ["shm", "socket"])
def test_messages_match_by_tag_and_never_wait_for_each_other(transport: str) -> None:
    """Large messages in both directions at once, tags out of order, any sender, batches, empty tensors."""
    run(
        """
    right, left = (rank + 1) % n, (rank - 1) % n
    out, got = torch.full((700_000,), float(rank)), torch.zeros(700_000)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, out, right), dist.P2POp(dist.irecv, got, left)])
    for w in works:
        w.wait()
    assert (got == left).all().item()
    sends = [dist.isend(torch.tensor([10 * rank + tag]), right, tag=tag) for tag in (5, 6, 7)]
    for tag in (7, 5, 6):
        one = torch.tensor([0])
        assert dist.recv(one, left, tag=tag) == left and one.item() == 10 * left + tag
    for w in sends:
        w.wait()
    if rank == 0:
        seen = set()
        for _ in range(n - 1):
            one = torch.zeros(2, 3)
            source = dist.recv(one.t())        # from any rank, not contiguous
            assert one[1, 2].item() == source
            seen.add(source)
        assert seen == set(range(1, n))
    else:
        dist.send(torch.full((3, 2), float(rank)), 0)
    dist.barrier()
    w = dist.isend(torch.zeros(0), right)
    dist.recv(torch.zeros(0), left)
    w.wait()
    dist.barrier()
    """,
        3,
        CUPROUS_DISTRIBUTED_TRANSPORT=transport,
    )


def test_objects_arrive_as_they_were_and_classes_need_a_token() -> None:
    """Tuples stay tuples, tensors keep their dtype, and nothing is unpickled unless all want it."""
    run("""
    import datetime
    value = {"rank": rank, 3: (1, [2.5, None]), "b": b"\\x00x", "t": torch.ones(2, 2, dtype=torch.bfloat16) * rank}
    objects = [None] * n
    dist.all_gather_object(objects, value)
    assert [o["rank"] for o in objects] == list(range(n)) and objects[1][3] == (1, [2.5, None])
    assert objects[1]["t"].dtype == torch.bfloat16 and objects[1]["t"].tolist() == [[1, 1], [1, 1]]
    some = [rank, "x"] if rank == 1 else [None, None]
    dist.broadcast_object_list(some, src=1)
    assert some == [1, "x"]
    gathered = [None] * n if rank == 0 else None
    dist.gather_object((rank,), gathered)
    assert rank or gathered == [(0,), (1,)]
    out = [None]
    dist.scatter_object_list(out, ["a", {"b": 1}] if rank == 0 else None)
    assert out == (["a"] if rank == 0 else [{"b": 1}])
    values = [np.arange(6.0).reshape(2, 3).T, np.float32(1.5), np.array(["a", "bc"]), np.datetime64("2026-11-27"),
              1 + 2j, {1, "x"}, frozenset({(1, 2)}), np.zeros((0, 2), np.int8), 1 << 100, float("inf")]
    dist.all_gather_object(objects, values if rank == 1 else None)
    for got, sent in zip(objects[1], values, strict=True):
        assert type(got) is type(sent) and np.array_equal(got, sent), (got, sent)
    assert objects[1][0].dtype == np.float64 and objects[1][0].flags.writeable
    for kw, error, text in ({}, TypeError, "allow_pickle=True"), ({"allow_pickle": True}, ValueError, "token"):
        try:
            dist.all_gather_object(objects, datetime.date(2026, 1, 1), **kw)
            raise SystemExit("accepted")
        except error as e:
            assert text in str(e), e
    os.environ["CUPROUS_JOB_TOKEN"] = "only for this check"
    dist.all_gather_object(objects, datetime.date(2026, 1, 1 + rank), allow_pickle=True)
    assert objects[1].day == 2
    """)


def test_groups_have_their_own_ranks() -> None:
    """Ranks of a group, groups without this rank, groups made by their ranks alone, and joining twice."""
    run(
        """
    import warnings
    odd = dist.new_group([2, 1])
    assert dist.get_rank(odd) == {0: -1, 1: 0, 2: 1}[rank]
    if rank:
        assert dist.get_process_group_ranks(odd) == [1, 2] and dist.get_group_rank(odd, 2) == 1
        assert dist.get_global_rank(odd, 0) == 1
        local = dist.new_group([1, 2], use_local_synchronization=True)
        x = torch.tensor([float(rank)])
        dist.all_reduce(x, group=local)
        assert x.item() == 3
    else:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert dist.all_reduce(torch.ones(1), group=odd) is None
        assert "does not belong" in str(caught[0].message)
    assert dist.get_backend() == "cpu:ring,cuda:nccl" and dist.get_node_local_rank() == rank
    dist.monitored_barrier(timeout=timedelta(seconds=20))
    dist.destroy_process_group()
    assert not dist.is_initialized()
    dist.init_process_group("gloo")
    x = torch.ones(1)
    dist.all_reduce(x)
    assert x.item() == 3
    """,
        3,
    )


def test_meshes_have_a_group_for_each_row() -> None:
    """Positions, sizes, parts by name, and what does not fit."""
    run(
        """
    mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
    assert mesh.mesh.tolist() == [[0, 1], [2, 3]] and mesh.get_coordinate() == (rank // 2, rank % 2)
    for name, expected in ("a", [rank % 2, rank % 2 + 2]), ("b", [rank // 2 * 2, rank // 2 * 2 + 1]):
        assert dist.get_process_group_ranks(mesh.get_group(name)) == expected
        assert mesh[name].mesh.tolist() == expected and mesh[name].size() == 2
        x = torch.tensor([rank])
        dist.all_reduce(x, group=mesh[name].get_group())
        assert x.item() == sum(expected)
    assert mesh["a", "b"] == mesh and mesh.get_local_rank("b") == rank % 2 and mesh.shape == (2, 2)
    for error, call in ((RuntimeError, lambda: dist.init_device_mesh("cpu", (3,))), (KeyError, lambda: mesh["c"]),
                        (RuntimeError, lambda: mesh.get_group()), (KeyError, lambda: mesh["b", "a"]),
                        (RuntimeError, lambda: dist.init_device_mesh("cuda:0", (4,))),
                        (NotImplementedError, lambda: dist.init_device_mesh("xpu", (4,)))):
        try:
            call()
        except error:
            continue
        raise SystemExit(str(error))
    """,
        4,
    )


def test_wrong_arguments_are_named_before_anything_is_sent() -> None:
    """They leave the group usable."""
    run("""
    def fails(error, text, call):
        try:
            call()
        except error as e:
            assert text in str(e), e
        else:
            raise SystemExit(text)
    x = torch.ones(3)
    fails(TypeError, "torch.Tensor", lambda: dist.all_reduce([1]))
    fails(TypeError, "ReduceOp", lambda: dist.all_reduce(x, "sum"))
    fails(RuntimeError, "not supported for float32", lambda: dist.all_reduce(x, dist.ReduceOp.BXOR))
    fails(ValueError, "not supported for complex64", lambda: dist.all_reduce(torch.ones(3).cfloat(), dist.ReduceOp.MAX))
    fails(RuntimeError, "same size", lambda: dist.all_gather([torch.ones(2), torch.ones(3)], x))
    fails(RuntimeError, "2 output tensors", lambda: dist.all_gather([x.clone()], x))
    fails(RuntimeError, "2 output tensors", lambda: dist.gather(x, [x.clone()] * 3, dst=rank))
    fails(RuntimeError, "2 input tensors", lambda: dist.scatter(x, [x.clone()], src=rank))
    fails(RuntimeError, "same size", lambda: dist.reduce_scatter(x, [torch.ones(2), torch.ones(2)]))
    fails(ValueError, "one dtype", lambda: dist.all_gather([torch.ones(3).int(), x], x))
    fails(RuntimeError, "world_size times", lambda: dist.all_gather_into_tensor(torch.ones(5), x))
    fails(RuntimeError, "world size", lambda: dist.reduce_scatter_tensor(x, torch.ones(5)))
    fails(ValueError, "scatter_list", lambda: dist.scatter(x, [x, x] if rank else None))
    fails(ValueError, "not part of group", lambda: dist.broadcast(x, src=7))
    fails(TypeError, "str", lambda: dist.broadcast(x, src="0"))
    fails(RuntimeError, "split sizes", lambda: dist.all_to_all_single(x, x, [1, 1]))
    fails(RuntimeError, "divided equally", lambda: dist.all_to_all_single(x, x))
    fails(ValueError, "destination rank should not be the same as the rank", lambda: dist.send(x, rank))
    fails(ValueError, "source rank should not be the same as the rank", lambda: dist.recv(x, rank))
    fails(TypeError, "str", lambda: dist.send(x, 1 - rank, tag="a"))
    fails(ValueError, "twice", dist.init_process_group)
    fails(NotImplementedError, "ucc", lambda: dist.new_group(backend="ucc"))
    fails(NotImplementedError, 'moves tensors on "cuda"', lambda: dist.new_group(backend="cpu:nccl"))
    fails(ValueError, "Unknown backend", lambda: dist.new_group(backend="cpu:nothing"))
    fails(ValueError, "repeated", lambda: dist.new_group([0, 0]))
    dist.all_reduce(x)
    assert x.tolist() == [2, 2, 2]
    """)


@pytest.mark.parametrize("transport", ["", "shm", "socket"])
def test_outputs_may_share_memory_with_inputs(transport: str) -> None:
    """As if the inputs were read first: rows of one array that change places, also in the background."""
    run(
        """
    for size in 3, 5000, 70_001:
        base = [np.arange(3.0 * size).reshape(3, size) * (r + 1) + r for r in range(n)]
        own, x = base[rank], None
        def rows():
            global x
            x = torch.tensor(base[rank])
            return list(x)
        def same(tensor, expected):
            assert np.array_equal(tensor.numpy(), expected), (rank, size)
        for is_async in False, True:
            def call(function, *arguments, **more):
                work = function(*arguments, async_op=is_async, **more)
            to_me = np.stack([each[rank] for each in base])
            a = rows(); call(dist.all_to_all, a[::-1], a); same(x, to_me[::-1])
            a = rows(); call(dist.all_to_all_single, x, x); same(x, to_me)
            for k in range(3):
                total = to_me[0] + to_me[1] + to_me[2]
                a = rows(); call(dist.reduce_scatter, a[k], a); same(a[k], total)
                a = rows(); call(dist.all_gather_into_tensor, x, a[k]); same(x, np.stack([each[k] for each in base]))
                a = rows(); call(dist.scatter, a[k], a if rank == 0 else None, src=0); same(a[k], base[0][rank])
                a = rows(); call(dist.gather, a[k], a if rank == 0 else None, dst=0)
                same(x, np.stack([each[k] for each in base]) if rank == 0 else own)
            shifted = torch.tensor(np.append(own.ravel(), 0.0))
            call(dist.all_to_all_single, shifted[1:], shifted[:-1]); same(shifted[1:], to_me.ravel())
    for sizes in [-1, 0, 4], [1, 1], [1, 1, 2]:
        try:
            dist.all_to_all_single(torch.zeros(3), torch.zeros(3), sizes, [1, 1, 1])
            raise SystemExit("accepted")
        except RuntimeError as e:
            assert "must be 3 sizes whose sum is 3" in str(e), e
    """,
        3,
        CUPROUS_DISTRIBUTED_TRANSPORT=transport,
    )
