"""Parameters that several ranks hold get their first values where they are: `torch.nn.init`, and modules on "meta"."""

from __future__ import annotations

import pytest

from tests.distributed import jobs

_BEGIN = """
import cuprous.torch.distributed.tensor as dt
from cuprous.torch import nn
from cuprous.torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from cuprous.torch.distributed.fsdp import fully_shard
mesh = dist.init_device_mesh("cpu", (n,))
def agree(x):
    others = [torch.empty_like(x) for _ in range(n)]
    dist.all_gather(others, x.detach().contiguous())
    assert all(torch.equal(other, x) for other in others)
"""

_FILLS = """
def seeded(function, placement):
    torch.manual_seed(3 + rank)  # the mesh takes that of its first rank
    x = dt.empty(5, 4, device_mesh=mesh, placements=[placement])
    result = function(x)
    assert result is x or result.to_local() is x.to_local()
    return x.full_tensor()
functions = [lambda x: x.uniform_(2, 3), lambda x: x.normal_(1.0, std=0.1), lambda x: x.bernoulli_(0.5),
             lambda x: x.exponential_(),
             nn.init.xavier_uniform_, nn.init.kaiming_normal_, nn.init.trunc_normal_, nn.init.orthogonal_,
             lambda x: nn.init.sparse_(x, 0.5), lambda x: nn.init.normal_(x, std=2.0)]
seen = []
for function in functions:
    whole = seeded(function, Replicate())
    agree(whole)
    for placement in (Shard(0), Shard(1)):
        assert torch.equal(seeded(function, placement), whole), (function, placement)
    assert len(whole.unique()) > 1
    seen.append(whole)
assert 2 <= seen[0].min() and seen[0].max() < 3 and abs(seen[1].mean().item() - 1) < 0.2
assert (seen[7].T @ seen[7] - torch.eye(4)).abs().max() < 1e-5
assert seeded(nn.init.eye_, Shard(0)).tolist() == torch.eye(5, 4).tolist()
first, second = (dt.randn(6, device_mesh=mesh, placements=[Shard(0)]).full_tensor() for _ in range(2))
assert not torch.equal(first, second)
assert dt.rand((2, 2), device_mesh=mesh, requires_grad=True).requires_grad
own = dt.empty(5, 4, device_mesh=mesh, placements=[Shard(0)])
nn.init.uniform_(own, generator=torch.Generator().manual_seed(5))
expected = torch.empty(5, 4).uniform_(generator=torch.Generator().manual_seed(5))
assert torch.equal(own.full_tensor(), expected)
try:
    DTensor.from_local(torch.ones(2), mesh, [Partial()]).normal_()
    raise AssertionError
except RuntimeError as error:
    assert "Partial" in str(error)
try:
    torch.linalg.vector_norm(own)
    raise AssertionError
except NotImplementedError as error:
    assert "[vector_norm] does not support DTensor" in str(error)
"""


@pytest.mark.parametrize("n", [2, 3])
def test_random_values_do_not_depend_on_how_a_tensor_is_divided(n: int) -> None:
    """Whatever the ranks' own seeds are."""
    jobs.run(_BEGIN + _FILLS, n)


_META = """
def build():
    return nn.Sequential(nn.Linear(64, 6), nn.LayerNorm(6), nn.Conv1d(1, 2, 3), nn.Linear(4, 1))
with torch.device("meta"):
    model = build()
for part in (model[0], model):
    fully_shard(part, mesh=mesh, shard_placement_fn=lambda p: Shard(p.ndim - 1))
model.to_empty(device="cpu")
torch.manual_seed(5)
for module in model:
    module.reset_parameters()
weight = model[0].weight
assert isinstance(weight, DTensor) and weight.to_local().shape == (6, 64 // n)
whole = weight.full_tensor()
agree(whole)
# The bound follows from the whole width, not from that of a part.
assert 0.9 / 8 < whole.abs().max().item() <= 1 / 8 and whole.std().item() > 0.05
assert (model[1].weight.full_tensor() == 1).all() and (model[1].bias.full_tensor() == 0).all()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in range(20):
    optimizer.zero_grad()
    x = torch.linspace(-1, 1, 3 * 64).reshape(3, 1, 64)
    loss = (model(x) - 1).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] / 4, losses
"""


def test_a_module_on_meta_is_sharded_before_it_has_values() -> None:
    """PyTorch's order for models that one rank cannot hold: shard, `to_empty`, `reset_parameters`."""
    jobs.run(_BEGIN + _META)
