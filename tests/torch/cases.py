"""PyTorch programs whose results PyTorch has written to golden.json (`make_golden.py`).

Each case is a function of the module `torch`, real or ours, and returns numbers and texts for JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

CASES: dict[str, Callable[[Any], Any]] = {}


def case(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Adds a case."""
    CASES[function.__name__] = function
    return function


def numbers(x: Any) -> Any:
    """Returns values as nested lists, with the digits of float32."""
    values = x.detach().cpu().tolist() if hasattr(x, "detach") else x
    if isinstance(values, list):
        return [numbers(v) for v in values]
    return float(f"{values:.8g}") if isinstance(values, float) else values


def random(seed: int, *shape: int) -> Any:
    """Returns numbers that are the same with every library."""
    return np.random.RandomState(seed).uniform(-1, 1, shape)


def fill(torch: Any, model: Any) -> None:
    """Sets weights that are the same with every library."""
    with torch.no_grad():
        for k, p in enumerate(model.parameters()):
            p.copy_(torch.tensor(random(100 + k, *p.shape) * 0.5))


# --- gradients defined by convention: ties, bounds, zeros

CONVENTIONS: dict[str, Any] = {
    "maximum_tie": lambda t, x, y: t.maximum(x, y), "minimum_tie": lambda t, x, y: t.minimum(x, y),
    "fmax_tie": lambda t, x, y: t.fmax(x, y), "amax_tie": lambda t, x, y: t.amax(x, 1),
    "amin_tie": lambda t, x, y: t.amin(x, 0), "max_dim": lambda t, x, y: x.max(1).values,
    "max_all": lambda t, x, y: x.max(), "abs": lambda t, x, y: x.abs(), "sign": lambda t, x, y: x.sign() * x,
    "relu": lambda t, x, y: t.relu(x), "clamp": lambda t, x, y: x.clamp(0.0, 1.0),
    "clamp_tensor": lambda t, x, y: t.clamp(x, y - 1, y + 1), "hardtanh": lambda t, x, y: t.nn.functional.hardtanh(x),
    "relu6": lambda t, x, y: t.nn.functional.relu6(x * 3),
    "leaky_relu": lambda t, x, y: t.nn.functional.leaky_relu(x, 0.1),
    "elu": lambda t, x, y: t.nn.functional.elu(x, 0.5), "gelu": lambda t, x, y: t.nn.functional.gelu(x),
    "softplus": lambda t, x, y: t.nn.functional.softplus(x * 30), "prod": lambda t, x, y: x.prod(1),
    "cumprod": lambda t, x, y: x.cumprod(1), "cummax": lambda t, x, y: x.cummax(1).values,
    "norm_zero": lambda t, x, y: (x * 0).norm(), "norm_dim": lambda t, x, y: x.norm(dim=1),
    "std": lambda t, x, y: x.std(1), "var": lambda t, x, y: x.var(unbiased=False),
    "pow_zero": lambda t, x, y: (x.abs() + 1) ** y, "pow_number": lambda t, x, y: x**3,
    "remainder": lambda t, x, y: t.remainder(x, y + 2.5), "fmod": lambda t, x, y: t.fmod(x, y + 2.5),
    "atan2": lambda t, x, y: t.atan2(x + 0.5, y + 0.25), "where": lambda t, x, y: t.where(x > 0, x, y),
    "sort": lambda t, x, y: x.sort(1).values * y, "topk": lambda t, x, y: (x + y * 0.01).topk(2).values,
    "logsumexp": lambda t, x, y: t.logsumexp(x, 0), "softmax": lambda t, x, y: t.softmax(x, 1),
    "smooth_l1": lambda t, x, y: t.nn.functional.smooth_l1_loss(x, y, reduction="none"),
    "huber": lambda t, x, y: t.nn.functional.huber_loss(x, y, reduction="none", delta=0.5),
    "l1": lambda t, x, y: t.nn.functional.l1_loss(x, y),
}  # fmt: skip


@case
def conventions(torch: Any) -> Any:
    """Returns values and gradients of functions at their kinks."""
    x0 = [[0.0, 1.0, -1.0, 2.0], [1.0, 1.0, 0.0, 0.0], [-2.0, 0.5, 0.5, 2.0]]
    y0 = [[0.0, 1.0, 1.0, -2.0], [1.0, 2.0, 0.0, 0.0], [2.0, 0.5, 0.25, 2.0]]
    result = {}
    for name, function in CONVENTIONS.items():
        x = torch.tensor(x0, dtype=torch.float64, requires_grad=True)
        y = torch.tensor(y0, dtype=torch.float64, requires_grad=True)
        value = function(torch, x, y)
        weights = torch.arange(1.0, value.numel() + 1, dtype=torch.float64).view(value.shape)
        (value * weights).sum().backward()
        result[name] = [numbers(g) for g in (value, x.grad, y.grad) if g is not None]
    return result


# --- dtypes


HALVES = ("float16", "complex64")


@case
def promotion(torch: Any) -> Any:
    """The dtypes of operations between tensors, tensors without axes, and numbers."""
    names = ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
    result = {}
    for a in names:
        x = torch.ones(2, dtype=getattr(torch, a))
        row = [str((x * other).dtype) for other in (2, 1.5)]
        row += [str((x * torch.ones(2, dtype=getattr(torch, b))).dtype) for b in names]
        # Only PyTorch has half-precision complex numbers.
        row += [str((x * torch.tensor(1, dtype=getattr(torch, b))).dtype) for b in names if (a, b) != HALVES]
        row += [str((x / 2).dtype)]
        if "complex" not in a:
            row += [str(torch.exp(x).dtype), str((x > 0.5).dtype), str(x.sum().dtype)]
        result[a] = row
    return result


# --- texts


@case
def texts(torch: Any) -> Any:
    """How tensors and modules are printed."""
    nn = torch.nn
    x = torch.tensor([[1.0, -2.5], [3.25, 4.0]], requires_grad=True)
    things = [
        x, (x * 2).sum(), torch.arange(3), torch.tensor([1.5, 2e9]), torch.tensor([True, False]), torch.zeros(2, 0),
        torch.tensor(3.14159), torch.eye(2, dtype=torch.float64), torch.arange(2000.0), torch.zeros(2, 2, 2),
        torch.tensor([1e-5, 1.0]), torch.tensor([float("nan"), float("inf"), 1.0]), torch.tensor([1, -20, 300]),
        torch.arange(40.0), torch.ones(3, dtype=torch.int32), torch.tensor([1 + 2j, 0.5 - 1j]), x.shape,
        torch.float32, torch.device("cuda:1"),
        nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.2), nn.Linear(4, 2, bias=False)),
        nn.ModuleList([nn.GELU(), nn.Softmax(dim=1)]), nn.ModuleDict({"a": nn.Embedding(3, 4, padding_idx=0)}),
        nn.LayerNorm(4), nn.ELU(), nn.LeakyReLU(0.2), nn.Tanh(), nn.Flatten(), nn.Identity(), nn.CrossEntropyLoss(),
        nn.ReLU(inplace=True), nn.Hardtanh(), nn.Softplus(), nn.SiLU(), nn.PReLU(),
    ]  # fmt: skip
    return [repr(thing) for thing in things]


# --- losses


@case
def losses(torch: Any) -> Any:
    """Every loss with its settings, and its gradient."""
    F = torch.nn.functional
    target = torch.tensor([0, 3, 1, -100, 2])
    weight = torch.tensor([1.0, 2.0, 0.5, 3.0], dtype=torch.float64)
    soft = torch.tensor(np.abs(random(3, 5, 4)))
    table: dict[str, Any] = {}
    for reduction in ("none", "mean", "sum"):
        table |= {
            f"cross_entropy_{reduction}": lambda x, r=reduction: F.cross_entropy(x, target, reduction=r),
            f"cross_entropy_weight_{reduction}": lambda x, r=reduction: F.cross_entropy(x, target, weight, reduction=r),
            f"cross_entropy_smooth_{reduction}": lambda x, r=reduction: F.cross_entropy(
                x, target, weight, reduction=r, label_smoothing=0.1
            ),
            f"cross_entropy_soft_{reduction}": lambda x, r=reduction: F.cross_entropy(
                x, soft, weight, reduction=r, label_smoothing=0.2
            ),
            f"nll_{reduction}": lambda x, r=reduction: F.nll_loss(F.log_softmax(x, 1), target, weight, reduction=r),
            f"bce_{reduction}": lambda x, r=reduction: F.binary_cross_entropy(x.sigmoid(), soft, reduction=r),
            f"bce_logits_{reduction}": lambda x, r=reduction: F.binary_cross_entropy_with_logits(
                x, soft, pos_weight=weight, reduction=r
            ),
            f"mse_{reduction}": lambda x, r=reduction: F.mse_loss(x, soft, reduction=r),
            f"kl_{reduction}": lambda x, r=reduction: F.kl_div(F.log_softmax(x, 1), soft, reduction=r),
        }
    result = {}
    for name, loss in table.items():
        x = torch.tensor(random(2, 5, 4) * 3, requires_grad=True)
        value = loss(x)
        value.sum().backward()
        result[name] = [numbers(value), numbers(x.grad.sum(1))]
    return result


# --- training


def _train(torch: Any, model: Any, optimizer: Any, loss_of: Any, steps: int) -> list[float]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [numbers(loss) for loss in losses[:: max(steps // 5, 1)]] + [numbers(losses[-1])]


def _simple(torch: Any, dtype: Any, make: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(10, 2)).to(dtype)
    fill(torch, model)
    x = torch.tensor(random(0, 100, 10), dtype=dtype)
    y = torch.tensor(random(1, 100, 2), dtype=dtype)
    losses = _train(torch, model, make(model.parameters()), lambda m: torch.nn.MSELoss()(m(x), y), 100)
    return [losses, numbers(model[0].weight[0])]


@case
def simple_net_adam(torch: Any) -> Any:
    """Trains a linear network for 100 steps in float32."""
    return _simple(torch, torch.float32, lambda p: torch.optim.Adam(p, lr=0.01))


@case
def optimizers(torch: Any) -> Any:
    """The network by each optimizer's settings, 100 steps in float64."""
    optim = torch.optim
    makers = {
        "sgd": lambda p: optim.SGD(p, lr=0.1),
        "momentum": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
        "nesterov": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
        "dampening": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, dampening=0.3, maximize=False),
        "adam": lambda p: optim.Adam(p, lr=0.01, weight_decay=0.05, betas=(0.8, 0.95), eps=1e-6),
        "amsgrad": lambda p: optim.Adam(p, lr=0.05, amsgrad=True),
        "adamw": lambda p: optim.AdamW(p, lr=0.02),
    }
    return {name: _simple(torch, torch.float64, make) for name, make in makers.items()}


@case
def classifier(torch: Any) -> Any:
    """Embedding, layer norm, attention, dropout that does nothing, clipping: 30 steps in float64."""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(7, 8)
            self.norm = nn.LayerNorm(8)
            self.mix = nn.Linear(8, 24)
            self.out = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.0), nn.Linear(16, 5))

        def forward(self, tokens: Any) -> Any:
            x = self.norm(self.table(tokens))
            q, k, v = self.mix(x).chunk(3, dim=-1)
            x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(x.mean(1))

    model = Net().double()
    fill(torch, model)
    tokens = torch.tensor(np.random.RandomState(5).randint(0, 7, (12, 6)))
    target = torch.tensor(np.random.RandomState(6).randint(0, 5, (12,)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    norms = []

    def loss_of(m: Any) -> Any:
        return F.cross_entropy(m(tokens), target, label_smoothing=0.05)

    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5))
        optimizer.step()
        losses.append(loss.detach())
    return [[numbers(x) for x in series[::6]] for series in (losses, norms)] + [list(model.state_dict())]
