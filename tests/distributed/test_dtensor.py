"""`DTensor` against the same computation with whole tensors."""

from __future__ import annotations

import pytest

from tests.distributed.jobs import run

_BEGIN = """
from itertools import product
from cuprous.torch.distributed.tensor import *
from cuprous.torch.distributed.tensor.placement_types import Placement
F, nn = torch.nn.functional, torch.nn
mesh = dist.init_device_mesh("cpu", (n,))

def values(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))

def same(d, whole, tolerance=1e-12):
    whole = whole.detach()
    assert tuple(d.shape) == tuple(whole.shape), (d.shape, whole.shape)
    assert (d.full_tensor() - whole).abs().max().item() < tolerance

def fails(kind, text, function):
    try:
        function()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError("no error: " + text)
"""


def _run(program: str, n: int = 2) -> None:
    run(_BEGIN + program.replace("\n    ", "\n"), n)


@pytest.mark.parametrize("n", [2, 3])
def test_redistribute_between_all_placements(n: int) -> None:
    """Values and gradients, with rows that cannot be divided evenly."""
    _run(
        """
    whole = values(5, 7)
    for a, b in product([Shard(0), Shard(1), Replicate()], repeat=2):
        x = distribute_tensor(whole.clone().requires_grad_(), mesh, [a])
        y = x.redistribute(placements=[b])
        assert y.placements == (b,) and x.is_leaf
        same(y, whole)
        (y * y).sum().redistribute(placements=[Replicate()]).backward()
        assert x.grad.placements == (a,)
        same(x.grad, 2 * whole)
    for op, total in (("sum", n * (n + 1) / 2), ("avg", (n + 1) / 2), ("max", n), ("min", 1)):
        for b in (Shard(0), Shard(1), Replicate()):
            part = DTensor.from_local(torch.full((5, 7), rank + 1.0), mesh, [Partial(op)])
            same(part.redistribute(placements=[b]), torch.full((5, 7), total))
    same(distribute_tensor(whole, mesh, [Replicate()]).redistribute(placements=[Partial()]), whole)
    fails(RuntimeError, "not supported", lambda: distribute_tensor(whole, mesh, [Shard(0)]).redistribute(
        placements=[Partial()]))
    """,
        n,
    )


def test_a_mesh_of_two_dimensions() -> None:
    """Each pair of placements, also those that divide one dimension twice."""
    _run(
        """
    grid = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
    assert grid["b"].get_group().size() == 2 and grid.get_local_rank("a") == rank // 2
    whole = values(5, 6)
    each = list(product([Shard(0), Shard(1), Replicate()], repeat=2))
    for old, new in product(each, each):
        x = distribute_tensor(whole, grid, old)
        assert list(x.redistribute(placements=new).placements) == list(new)
        same(x.redistribute(placements=new), whole)
    x = distribute_tensor(whole.clone().requires_grad_(), grid, [Shard(0), Shard(1)])
    w = distribute_tensor(values(6, 4, seed=1).requires_grad_(), grid, [Replicate(), Shard(0)])
    y = x @ w
    assert y.placements == (Shard(0), Partial())
    loss = (y.redistribute(placements=[Shard(0), Replicate()]) ** 2).sum()
    loss.full_tensor().backward()
    a, b = values(5, 6).requires_grad_(), values(6, 4, seed=1).requires_grad_()
    ((a @ b) ** 2).sum().backward()
    same(x.grad, a.grad)
    same(w.grad, b.grad)
    """,
        4,
    )


def test_operations_and_gradients_are_those_of_whole_tensors() -> None:
    """Elementwise functions, products, reductions, views, normalization, embeddings and losses, in float64."""
    _run(
        """
    cases = [
        (lambda a, b: a * b + 2, [(4, 6), (4, 6)],
         [[Shard(0), Shard(0)], [Shard(1), Replicate()], [Replicate(), Shard(0)]]),
        (lambda a, b: F.gelu(a - b), [(4, 6), (6,)],
         [[Shard(0), Replicate()], [Shard(1), Shard(0)], [Replicate()] * 2]),
        (lambda a, b: a @ b, [(4, 6), (6, 8)],
         [[Shard(0), Replicate()], [Replicate(), Shard(1)], [Shard(1), Shard(0)], [Shard(1), Replicate()],
          [Replicate(), Shard(0)]]),
        (lambda a, b: a @ b, [(2, 4, 6), (2, 6, 8)],
         [[Shard(0), Shard(0)], [Shard(0), Replicate()], [Shard(1), Replicate()]]),
        (lambda x, w, b: F.linear(x, w, b), [(3, 4, 6), (8, 6), (8,)],
         [[Replicate(), Shard(0), Shard(0)], [Replicate(), Shard(0), Replicate()], [Shard(2), Shard(1), Replicate()],
          [Shard(1), Replicate(), Replicate()], [Replicate(), Shard(1), Replicate()]]),
        (lambda a: a.sum(0), [(4, 6)], [[Shard(0)], [Shard(1)]]),
        (lambda a: a.mean(), [(4, 6)], [[Shard(0)], [Shard(1)], [Replicate()]]),
        (lambda a: a.mean(1, keepdim=True), [(4, 6)], [[Shard(0)], [Shard(1)]]),
        (lambda a: (-a).t().reshape(3, 2, 4).transpose(0, 2), [(4, 6)], [[Shard(0)], [Replicate()]]),
        (lambda a: a.view(2, 4, 2, 3).transpose(1, 2).flatten(2), [(2, 4, 6)], [[Shard(2)], [Shard(0)]]),
        (lambda a: a.view(8, 6)[:, 1:3], [(2, 4, 6)], [[Shard(0)]]),
        (lambda a: a.softmax(-1) + F.log_softmax(a, dim=-1), [(4, 6)], [[Shard(0)], [Replicate()]]),
        (lambda x, w, b: F.layer_norm(x, (6,), w, b), [(4, 6), (6,), (6,)], [[Shard(0), Replicate(), Replicate()]]),
        (lambda a, b: F.mse_loss(a, b), [(4, 6), (4, 6)], [[Shard(0), Shard(0)], [Shard(1), Shard(1)]]),
        (lambda a: torch.cat(a.chunk(3, dim=1)[::2], 1), [(4, 6)], [[Shard(0)]]),
        (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [(2, 4, 3, 5)] * 3,
         [[Shard(1)] * 3]),
    ]
    for function, shapes, every in cases:
        for placed in every:
            plain = [values(*s, seed=k).requires_grad_() for k, s in enumerate(shapes)]
            own = [distribute_tensor(p.detach().clone().requires_grad_(), mesh, [q]) for p, q in zip(plain, placed)]
            got, want = function(*own), function(*plain)
            same(got, want)
            weight = values(*want.shape, seed=9)
            (got.full_tensor() * weight).sum().backward()
            (want * weight).sum().backward()
            for p, d in zip(plain, own):
                assert d.grad.placements == d.placements
                same(d.grad, p.grad)
    table, ids = values(7, 4), torch.tensor([[0, 6, 3], [5, 2, 2]])
    for p, q, out in ((Replicate(), Shard(0), Partial()), (Replicate(), Shard(1), Shard(2)),
                      (Shard(0), Replicate(), Shard(0))):
        w, t = distribute_tensor(table.clone().requires_grad_(), mesh, [q]), table.clone().requires_grad_()
        y, z = F.embedding(distribute_tensor(ids, mesh, [p]), w, 2), F.embedding(ids, t, 2)
        assert y.placements == (out,)
        same(y, z)
        (y.full_tensor() ** 2).sum().backward(), (z ** 2).sum().backward()
        same(w.grad, t.grad)
    logits, targets = values(4, 5), torch.tensor([0, 3, 1, 4])
    x, y = distribute_tensor(logits.clone().requires_grad_(), mesh, [Shard(0)]), logits.clone().requires_grad_()
    loss = F.cross_entropy(x, distribute_tensor(targets, mesh, [Shard(0)]))
    assert loss.placements == (Partial("avg"),)
    loss.backward(), F.cross_entropy(y, targets).backward()
    same(x.grad, y.grad)
    """
    )


@pytest.mark.parametrize("n", [3, 4])
def test_reductions_of_parts_that_differ_in_size(n: int) -> None:
    """Means weigh the parts, also where two dimensions of the mesh divide one; a rank with nothing takes part."""
    _run(
        """
    meshes = [(mesh, [Shard(0)])]
    if n == 4:
        meshes.append((dist.init_device_mesh("cpu", (2, 2)), [Shard(0), Shard(0)]))
        meshes.append((meshes[-1][0], [Shard(0), Shard(1)]))
    for (m, placements), rows in product(meshes, (1, 2, 5, 6, 8)):
        whole = values(rows, 3)
        for reduce in (torch.mean, lambda x: x.mean(0), lambda x: x.mean((0, 1), True), lambda x: x.sum(0)):
            x, y = distribute_tensor(whole.clone().requires_grad_(), m, placements), whole.clone().requires_grad_()
            same(reduce(x), reduce(y))
            (reduce(x).full_tensor() ** 2).sum().backward(), (reduce(y) ** 2).sum().backward()
            same(x.grad, y.grad)
        try:
            same(distribute_tensor(whole, m, placements).max(), whole.max())
        except RuntimeError as error:  # on all ranks
            assert "some ranks have no elements" in str(error)
        try:
            same(distribute_tensor(whole.reshape(-1), m, [Shard(0)] * m.ndim).reshape(rows, 3), whole)
        except RuntimeError as error:
            assert "mixes the parts of different ranks" in str(error)
    for targets in ([0, 3, 1, 4, 2, 2, 1], [0, -100, -100, 4, 2, -100, 1], [-100, -100, -100, 1, 2, 3, 4]):
        logits, targets = values(7, 5), torch.tensor(targets)
        x, y = distribute_tensor(logits.clone().requires_grad_(), mesh, [Shard(0)]), logits.clone().requires_grad_()
        loss, expected = F.cross_entropy(x, distribute_tensor(targets, mesh, [Shard(0)])), F.cross_entropy(y, targets)
        same(loss, expected)
        loss.backward(), expected.backward()
        same(x.grad, y.grad)
    soft = values(7, 5, seed=1).softmax(1)
    same(F.cross_entropy(x, distribute_tensor(soft, mesh, [Shard(0)])), F.cross_entropy(y, soft))
    """,
        n,
    )


def test_what_needs_a_redistribution_says_so() -> None:
    """A function that would need data of other ranks raises and names the placements; a plain function never takes the
    part for the whole."""
    _run(
        """
    a, b, r = (distribute_tensor(values(4, 4), mesh, [p]) for p in (Shard(0), Shard(1), Replicate()))
    p = a.sum(0)
    first = "Redistribute first"
    fails(RuntimeError, first, lambda: a + b)
    fails(RuntimeError, first, lambda: a.softmax(0))
    fails(RuntimeError, first, lambda: b @ b)
    fails(RuntimeError, "Partial(sum)", lambda: p.relu())
    fails(RuntimeError, first, lambda: p + 1)
    fails(RuntimeError, first, lambda: a.t().reshape(16))
    fails(RuntimeError, first, lambda: a[0])
    fails(RuntimeError, "mixed torch.Tensor and DTensor", lambda: a + torch.ones(4, 4))
    fails(RuntimeError, "mixed torch.Tensor and DTensor", lambda: torch.ones(4, 4) + a)
    fails(RuntimeError, "mixed torch.Tensor and DTensor", lambda: nn.Linear(4, 4)(a.float()))
    fails(NotImplementedError, "does not support DTensor", lambda: torch.sort(a))
    fails(AttributeError, "does not support DTensor", lambda: a.sort())
    fails(RuntimeError, "full_tensor().item()", lambda: a.sum().item())
    fails(NotImplementedError, "[norm] does not support DTensor", lambda: torch.linalg.norm(a))
    fails(ValueError, "same length", lambda: distribute_tensor(values(4), mesh, [Shard(0), Shard(0)]))
    fails(ValueError, "Partial", lambda: distribute_tensor(values(4), mesh, [Partial()]))
    same(p * 2 - p, values(4, 4).sum(0))
    same(torch.ones(()) * a, values(4, 4))
    assert isinstance(a, torch.Tensor) and isinstance(a, DTensor) and not isinstance(a, nn.Parameter)
    assert isinstance(nn.Parameter(a), nn.Parameter) and nn.Parameter(a).requires_grad
    a *= 2
    a.add_(r)
    same(a, 3 * values(4, 4))
    """
    )


def test_parts_and_their_gradients() -> None:
    """`from_local` and `to_local`, with `grad_placements` for terms of a loss."""
    _run(
        """
    x = torch.full((2, 3), rank + 1.0, requires_grad=True)
    d = DTensor.from_local(x, mesh, [Shard(0)])
    assert d.shape == (2 * n, 3)
    (d * d).sum().full_tensor().backward()
    assert (x.grad == 2 * x).all()
    w = distribute_tensor(torch.ones(3).requires_grad_(), mesh)
    (w.to_local(grad_placements=[Partial()]) * (rank + 1)).sum().backward()
    assert w.grad.full_tensor().tolist() == [3.0] * 3
    uneven = torch.ones(3 if rank == 0 else 2, 2)
    assert DTensor.from_local(uneven, mesh, [Shard(0)], shape=(5, 2), stride=(2, 1)).sum().full_tensor().item() == 10
    fails(ValueError, "part of a tensor of shape", lambda: DTensor.from_local(
        torch.ones(4, 2), mesh, [Shard(0)], shape=(5, 2), stride=(2, 1)))
    """
    )


@pytest.mark.parametrize("n", [2, 3])
def test_dropout_is_that_of_the_whole_tensor(n: int) -> None:
    """The same elements whatever the placement, equal replicas, gradients of what is kept, any seed on other ranks."""
    _run(
        """
    whole, masks = values(40, 30), []
    for placement in (Shard(0), Shard(1), Replicate()):
        torch.manual_seed(5 + rank)                 # the first rank's counts
        x = distribute_tensor(whole.clone().requires_grad_(), mesh, [placement])
        y = F.dropout(x, 0.25)
        F.dropout(torch.ones(rank))                 # numbers of one rank alone change nothing
        z = F.dropout(x, 0.25)
        y.sum().redistribute(placements=[Replicate()]).backward()
        kept = y.full_tensor() != 0
        assert y.placements == (placement,) and 0.65 < kept.double().mean().item() < 0.85
        same(y, torch.where(kept, whole / 0.75, torch.zeros(())))
        same(x.grad, kept.double() / 0.75)
        assert not torch.equal(kept, z.full_tensor() != 0)
        masks.append((kept, z.full_tensor() != 0))
        all_ = [torch.empty(40, 30) for _ in range(n)]
        dist.all_gather(all_, y.full_tensor().float())
        assert all(torch.equal(one, all_[0]) for one in all_)
    assert all(torch.equal(a, b) for pair in masks for a, b in zip(pair, masks[0]))
    x = distribute_tensor(whole, mesh, [Shard(0)])
    assert torch.equal(F.dropout(x, training=False).full_tensor(), whole)
    assert F.dropout(x, 0.5, inplace=True) is x and (x.full_tensor() == 0).any().item()
    assert (nn.Dropout(1.0)(x).full_tensor() == 0).all().item()
    fails(RuntimeError, "Partial", lambda: F.dropout(DTensor.from_local(whole, mesh, [Partial()])))
    fails(ValueError, "between 0 and 1", lambda: F.dropout(x, 1.5))
    """,
        n,
    )
