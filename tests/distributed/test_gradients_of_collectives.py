"""`torch.distributed.nn.functional`: collectives in the forward pass, and what they send back."""

from __future__ import annotations

from tests.distributed import jobs

#: Each collective is linear: the derivative of the sum of <output, weight> over all ranks in any direction is the sum
#: of <direction, gradient>. `check` also compares what it returns with `expected`, a function of all ranks' inputs.
_PROGRAM = """
import cuprous.torch.distributed.nn.functional as F
def inputs(of, seed, count):
    rng = np.random.default_rng([of, seed])
    return [rng.normal(size=(n, 3)) for _ in range(count)]
def total(value):
    value = torch.tensor(float(value), dtype=torch.float64)
    dist.all_reduce(value)
    return value.item()
def flat(out):
    return torch.stack(out if isinstance(out, tuple) else (out,))
def check(name, function, expected, count=1):
    xs = [torch.from_numpy(x).requires_grad_() for x in inputs(rank, 0, count)]
    out = flat(function(*xs))
    want = expected([inputs(k, 0, count) for k in range(n)])
    if want is not None:
        np.testing.assert_allclose(out.detach().numpy(), np.stack(want), rtol=1e-13, err_msg=name)
    weight = torch.from_numpy(np.random.default_rng([rank, 9]).normal(size=tuple(out.shape)))
    (out * weight).sum().backward()
    directions = inputs(rank, 5, count)
    moved = flat(function(*map(torch.from_numpy, directions)))
    along = total((moved * weight).sum().item())
    back = total(sum((x.grad.numpy() * d).sum() for x, d in zip(xs, directions)))
    assert abs(along - back) < 1e-11 * max(abs(along), 1), (name, along, back)

zeros = lambda: torch.zeros(n, 3, dtype=torch.float64)
for root in range(n):
    at_root = lambda value: value if rank == root else None
    check("broadcast", lambda x: F.broadcast(x, root), lambda all: [all[root][0]])
    # PyTorch leaves what other ranks get from reduce undefined.
    check("reduce", lambda x: F.reduce(x, root) * (rank == root), lambda all: at_root([sum(k[0] for k in all)]))
    check("gather", lambda x: F.gather(x, root), lambda all: at_root([k[0] for k in all]))
    check("scatter", lambda *xs: F.scatter(xs, root), lambda all: [all[root][rank]], n)
check("all_reduce", F.all_reduce, lambda all: [sum(k[0] for k in all)])
check("all_gather", F.all_gather, lambda all: [k[0] for k in all])
check("reduce_scatter", lambda *xs: F.reduce_scatter(zeros(), xs), lambda all: [sum(k[rank] for k in all)], n)
check("all_to_all", lambda *xs: F.all_to_all([zeros() for _ in xs], xs), lambda all: [k[rank] for k in all], n)
check("all_to_all_single", lambda x: F.all_to_all_single(zeros(), x), lambda all: [np.stack([k[0][rank] for k in all])])
# Rank k sends one row more to rank 0 than to the others; what arrives has another size than what was sent.
sizes = [1] * n
sent = [sizes[0] + rank, *sizes[1:]]
received = [1 + k for k in range(n)] if rank == 0 else sizes
x = torch.full((sum(sent), 2), 1.0 + rank, requires_grad=True)
out = F.all_to_all_single(torch.zeros(sum(received), 2), x, received, sent)
assert out[:, 0].tolist() == [1.0 + k for k, size in enumerate(received) for _ in range(size)]
(out * (10.0 + rank)).sum().backward()
assert x.grad[:, 1].tolist() == [10.0 + k for k, size in enumerate(sent) for _ in range(size)]
dist.destroy_process_group()
"""


def test_gradients_are_those_of_the_sum_over_all_ranks() -> None:
    """Every root, and parts of different sizes."""
    jobs.run(_PROGRAM, 3)
