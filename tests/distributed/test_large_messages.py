"""Messages of tens of MiB: `send`, `recv`, `isend`, `irecv`, `batch_isend_irecv`."""

from __future__ import annotations

import pytest

from tests.distributed import jobs

#: 24 MiB of each kind, which no transport holds at once. `made` gives other values to each rank and call.
_PROGRAM = """
SIZE = 6 << 20
BASE = np.arange(SIZE, dtype=np.int32) % 8191
def made(k, size=SIZE):
    return torch.from_numpy(BASE[:size] + np.int32(1000 * k))
def check(x, k):
    assert np.array_equal(x.numpy().ravel(), BASE[: x.numel()] + np.int32(1000 * k)), (rank, k, x)
right, left = (rank + 1) % n, (rank - 1) % n

# One after another, to the left and to the right.
for to, source in ((right, left), (left, right)):
    got = torch.zeros(SIZE, dtype=torch.int32)
    if rank == 0:
        dist.send(made(0), to)
        assert dist.recv(got, source) == source
    else:
        assert dist.recv(got, source) == source
        dist.send(made(rank), to)
    check(got, source)

# All send first, and write to what they have sent once it is sent.
out, got = made(rank), torch.zeros(SIZE, dtype=torch.int32)
sent, arriving = dist.isend(out, right), dist.irecv(got, left)
sent.wait()
out.zero_()
arriving.wait()
check(got, left)

# Several cross, received in another order than sent; a small one overtakes nothing of its own tag.
works = [dist.isend(made(10 * rank + tag), right, tag=tag) for tag in (1, 2)]
works += [dist.isend(made(10 * rank + 3, 5), right, tag=2)]
first, second, small = torch.zeros(SIZE, dtype=torch.int32), torch.zeros(SIZE, dtype=torch.int32), made(0, 5)
dist.recv(second, left, tag=2)
dist.recv(small, left, tag=2)
dist.recv(first, left, tag=1)
for work in works:
    work.wait()
check(first, 10 * left + 1), check(second, 10 * left + 2), check(small, 10 * left + 3)

# Neither side is contiguous, and what lies between stays as it is.
whole = torch.full((2048, 3072), -1, dtype=torch.int32)
given = torch.zeros(1536, 2048, 2, dtype=torch.int32)
given[..., 1] = made(rank, 1536 * 2048).reshape(1536, 2048)
if rank == 0:
    dist.send(given[..., 1], right)
    dist.recv(whole[:, 1::2].t(), left)
else:
    dist.recv(whole[:, 1::2].t(), left)
    dist.send(given[..., 1], right)
check(whole[:, 1::2].t(), left)
assert (whole[:, ::2] == -1).all()

# In several groups at once: the same peers, the same tag.
groups = [None, dist.new_group(), dist.new_group(list(range(n)))]
gots = [torch.zeros(SIZE, dtype=torch.int32) for _ in groups]
arriving = [dist.irecv(got, left, group) for got, group in zip(gots, groups)]
for k in (2, 0, 1):
    dist.send(made(10 * rank + k), right, groups[k])
for k, work in enumerate(arriving):
    work.wait()
    check(gots[k], 10 * left + k)

# A batch to and from all others, beside a collective of another group.
others = [k for k in range(n) if k != rank]
gots = {k: torch.zeros(SIZE, dtype=torch.int32) for k in others}
ops = [dist.P2POp(dist.irecv, gots[k], k) for k in others]
ops += [dist.P2POp(dist.isend, made(10 * rank + k), k) for k in reversed(others)]
works = dist.batch_isend_irecv(ops)
total = torch.ones(SIZE)
dist.all_reduce(total, group=groups[1])
for work in works:
    work.wait()
for k in others:
    check(gots[k], 10 * k + rank)
assert (total == n).all()

# From any rank.
if rank == 0:
    sources = set()
    for _ in others:
        got = torch.zeros(SIZE, dtype=torch.int32)
        sources.add(source := dist.recv(got))
        check(got, source)
    assert sources == set(others)
else:
    dist.send(made(rank), 0)
print("DONE")
dist.destroy_process_group()
"""


@pytest.mark.parametrize(("n", "transport"), [(2, ""), (3, "socket")])
def test_large_messages_arrive_whole_and_in_their_order(n: int, transport: str) -> None:
    """In any order of the two sides, not contiguous, in several groups, and beside collectives."""
    ended = jobs.run(_PROGRAM, n, CUPROUS_DISTRIBUTED_TRANSPORT=transport)
    assert all("DONE" in each.out for each in ended)


def test_a_large_message_of_another_size_is_an_error_that_names_both() -> None:
    """On both ranks, at once."""
    processes, _store, started = jobs.begin("""
    x = torch.zeros((6 << 20) + rank)
    dist.send(x, 1) if rank == 0 else dist.recv(x, 0)
    """)
    for each in jobs.finish(processes, started):
        assert each.code == 1 and "float32[6291456]" in each.out and "float32[6291457]" in each.out, each.out
