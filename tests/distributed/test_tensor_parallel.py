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
