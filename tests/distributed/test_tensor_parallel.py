"""`parallelize_module` against the whole module in one process."""

from __future__ import annotations

import pytest

from tests.distributed.jobs import run

_BEGIN = """
import warnings
from cuprous.torch import nn, optim
from cuprous.torch.distributed.tensor import *
from cuprous.torch.distributed.tensor.parallel import *
F = nn.functional
mesh = dist.init_device_mesh("cpu", (n,))

class Block(nn.Module):
    def __init__(self, width=24, heads=6, ways=False):
        super().__init__()
        self.width, self.head = width, width // heads
        self.table = nn.Embedding(30, width)
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
    def forward(self, ids):
        x = self.table(ids)
        y = self.ln1(x)
        q, k, v = (f(y).unflatten(-1, (-1, self.head)).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.ln2(x))))

def blocks(**options):
    for _ in range(2):
        torch.manual_seed(0)
        yield Block(**options).double()

def train_alike(model, single, read=lambda y: y):
    a, b = optim.AdamW(model.parameters(), lr=1e-2), optim.AdamW(single.parameters(), lr=1e-2)
    for step in range(4):
        ids = torch.from_numpy(np.random.default_rng(step).integers(0, 30, (2, 12)))
        y, z = read(model(ids)), single(ids)
        assert (y - z).abs().max().item() < 1e-10, (step, (y - z).abs().max().item())
        (y ** 2).mean().backward(), (z ** 2).mean().backward()
        for (name, p), q in zip(model.named_parameters(), single.parameters()):
            g = p.grad.full_tensor() if isinstance(p, DTensor) else p.grad
            assert (g - q.grad).abs().max().item() < 1e-10, name
        # The gradient of the keys' bias is zero but for rounding, which Adam scales up.
        for own in (model, single):
            own.k.bias.grad.zero_()
        for opt in (a, b):
            opt.step(), opt.zero_grad()
"""


def _run(program: str, n: int = 2) -> None:
    run(_BEGIN + program.replace("\n    ", "\n"), n)


@pytest.mark.parametrize("n", [2, 3])
def test_a_transformer_block_is_computed_together(n: int) -> None:
    """Outputs, gradients and updates are those of one process, in float64."""
    _run(
        """
    model, single = blocks()
    plan = {"table": RowwiseParallel(input_layouts=Replicate()), "[qkv]": ColwiseParallel(), "o": RowwiseParallel(),
            "up": ColwiseParallel(), "down": RowwiseParallel()}
    assert parallelize_module(model, mesh, plan) is model
    assert model.up.weight.placements == (Shard(0),) and model.down.weight.placements == (Shard(1),)
    assert model.down.bias.placements == (Replicate(),) and isinstance(model.up.weight, nn.Parameter)
    assert model.up.weight.to_local().shape == (4 * 24 // n, 24)
    train_alike(model, single)
    """,
        n,
    )


def test_sequences_are_divided_between_the_layers() -> None:
    """`SequenceParallel` with the layouts of PyTorch's own plans."""
    _run(
        """
    model, single = blocks()
    col = dict(input_layouts=Shard(1))
    parallelize_module(model, mesh, {
        "table": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1), use_local_output=False),
        "ln1": SequenceParallel(), "ln2": SequenceParallel(),
        "q": ColwiseParallel(**col), "k": ColwiseParallel(**col), "v": ColwiseParallel(**col),
        "o": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
        "up": ColwiseParallel(**col), "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False)})
    assert isinstance(model.ln1.weight, DTensor)
    train_alike(model, single, lambda y: y.full_tensor())
    """
    )


def test_inputs_and_results_are_prepared() -> None:
    """`PrepareModuleInput` and `PrepareModuleOutput`, and errors of plans."""
    _run(
        """
    class Twice(nn.Module):
        def forward(self, x, y=None):
            self.seen = x, y
            return x
    m = parallelize_module(Twice(), mesh, PrepareModuleInput(input_layouts=Shard(0), desired_input_layouts=Replicate(),
        input_kwarg_layouts={"y": Replicate()}, desired_input_kwarg_layouts={"y": Shard(0)}))
    parallelize_module(m, mesh, PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(1)))
    out = m(torch.full((1, 4), float(rank)), y=torch.ones(n, 3))
    assert m.seen[0].placements == (Replicate(),) and m.seen[0].shape == (n, 4) and m.seen[1].placements == (Shard(0),)
    assert out.shape == (n, 4 // n) and out[:, 0].tolist() == [float(k) for k in range(n)]
    for error, make in ((NotImplementedError, lambda: parallelize_module(nn.LayerNorm(3), mesh, ColwiseParallel())),
                        (TypeError, lambda: parallelize_module(m, mesh, {"a": 3})),
                        (ValueError, lambda: parallelize_module(m, dist.init_device_mesh("cpu", (n, 1)), {}))):
        try:
            make()
        except error:
            continue
        raise AssertionError("no error")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parallelize_module(m, mesh, {"missing": ColwiseParallel()})
    assert "could not be resolved" in str(caught[0].message)
    """
    )


def test_what_tensor_parallelism_divides_is_sharded_again() -> None:
    """`fully_shard` over the other dimension of a mesh: rows of columns, rows of rows, and replicas."""
    _run(
        """
    from cuprous.torch.distributed.fsdp import fully_shard
    from cuprous.torch.distributed.checkpoint.state_dict import get_model_state_dict, StateDictOptions
    grid = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model, single = blocks()
    parallelize_module(model, grid["tp"], {"table": RowwiseParallel(input_layouts=Replicate()),
        "[qkv]": ColwiseParallel(), "o": RowwiseParallel(), "up": ColwiseParallel(), "down": RowwiseParallel()})
    for part in (model.up, model.down):
        fully_shard(part, mesh=grid["dp"])
    fully_shard(model, mesh=grid["dp"])
    up, down = model.up.weight, model.down.weight
    assert up.placements == (Shard(0), Shard(0)) and down.placements == (Shard(1), Shard(0))
    assert up.to_local().shape == (24, 24) and down.to_local().shape == (12, 48)
    assert model.ln1.weight.placements == (Shard(0),) and model.down.bias.placements == (Replicate(), Shard(0))
    assert torch.equal(up.full_tensor(), single.up.weight) and torch.equal(down.full_tensor(), single.down.weight)
    a, b = optim.AdamW(model.parameters(), lr=1e-2), optim.AdamW(single.parameters(), lr=1e-2)
    row = grid.get_coordinate()[0]
    for step in range(4):
        ids = torch.from_numpy(np.random.default_rng(step).integers(0, 30, (4, 12)))
        y, z = model(ids.chunk(2)[row]), single(ids)
        assert (y - z.chunk(2)[row]).abs().max().item() < 1e-10, step
        (y ** 2).mean().backward(), (z ** 2).mean().backward()
        for (name, p), q in zip(model.named_parameters(), single.parameters()):
            assert (p.grad.full_tensor() - q.grad).abs().max().item() < 1e-10, name
        for own in (model, single):
            own.k.bias.grad.zero_()
        for opt in (a, b):
            opt.step(), opt.zero_grad()
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    for name, p in single.state_dict().items():
        assert (whole[name] - p).abs().max().item() < 1e-10, name
    for mesh in (None, dist.init_device_mesh("cpu", (4,), mesh_dim_names=("dp",))):
        other = parallelize_module(nn.Linear(8, 8), grid["tp"], ColwiseParallel())
        try:
            fully_shard(other, mesh=mesh)
        except ValueError as e:
            assert "mesh_2d['dp']" in str(e)
            continue
        raise AssertionError("no error")
    """,
        4,
    )
