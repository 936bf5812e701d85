"""Networks, training, data and tensors, typed strictly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import cuprous.torch as torch
import cuprous.torch.nn.functional as F
from cuprous.torch import Tensor, nn, optim
from cuprous.torch.utils.data import DataLoader, Dataset, TensorDataset


@dataclass
class Settings:
    """How a network is trained."""

    width: int = 16
    depth: int = 2
    rate: float = 1e-2
    epochs: int = 2
    batch: int = 8
    losses: list[float] = field(default_factory=list)


class Block(nn.Module):
    """A residual block."""

    def __init__(self, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.first = nn.Linear(width, 2 * width)
        self.second = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Adds a perceptron's output to the input."""
        hidden = F.gelu(self.first(self.norm(x)))
        return x + self.dropout(self.second(hidden))


class Network(nn.Module):
    """Blocks between two linear layers."""

    def __init__(self, inputs: int, outputs: int, settings: Settings) -> None:
        super().__init__()
        self.enter = nn.Linear(inputs, settings.width)
        self.blocks = nn.ModuleList([Block(settings.width, 0.1) for _ in range(settings.depth)])
        self.leave = nn.Sequential(nn.ReLU(), nn.Linear(settings.width, outputs))
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        """Computes the scores of classes."""
        x = self.enter(x)
        for block in self.blocks:
            x = block(x)
        scores: Tensor = self.leave(x) * self.scale
        return scores


class Convolutions(nn.Module):
    """A small network for images."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, kernel_size=3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3), nn.SiLU(), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(),
        )  # fmt: skip
        self.classify = nn.Linear(8, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Computes the scores of classes."""
        scores: Tensor = self.classify(self.features(images))
        return scores


class Squares(Dataset[tuple[Tensor, Tensor]]):
    """Numbers and their squares."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        x = torch.tensor([index / self.n])
        return x, x**2


def creation() -> list[torch.Size]:
    """Makes tensors in the usual ways."""
    made = [
        torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.zeros(2, 3), torch.ones((4,), dtype=torch.int64),
        torch.full((2, 2), math.pi), torch.arange(0, 10, 2), torch.linspace(0, 1, 5), torch.eye(3),
        torch.randn(2, 3), torch.rand(4), torch.randint(0, 5, (3,)), torch.randperm(6), torch.empty(0),
        torch.from_numpy(np.ones((3, 1))), torch.zeros_like(torch.ones(2)), torch.tensor(3),
    ]  # fmt: skip
    return [t.shape for t in made]


def operations(a: Tensor, b: Tensor) -> Tensor:
    """Uses operators, methods and functions."""
    c = (a + b) * 2 - a / (1 + b**2)
    c += 1
    c = -c.abs() + torch.sqrt(b.square() + 1) @ torch.eye(b.shape[-1])
    d = torch.where(c > 0, c, torch.zeros_like(c)).clamp(min=0.0, max=10.0)
    e = torch.cat([c, d], dim=0).transpose(0, 1).contiguous().view(-1, 2)
    f = torch.stack([e, e]).permute(1, 0, 2).reshape(e.shape[0], -1).unsqueeze(0).squeeze(0)
    values, indices = f.max(dim=1)
    ordered, order = torch.sort(values, descending=True)
    best, where = torch.topk(ordered, k=2)
    chosen = f[indices > 0][:, :1].flatten()
    f[0, 0] = 1.0
    mean, deviation = f.mean(), f.std(dim=0, keepdim=True)
    total = best.sum() + chosen.sum() + mean + deviation.norm() + where.float().mean() + order.double().mean()
    parts = torch.chunk(f, 2, dim=1)
    assert len(parts) == 2 and f.numel() == f.size(0) * f.size(1) and f.dim() == 2
    return total + torch.einsum("ij,ij->", f, f) + F.softmax(f, dim=-1).sum() + torch.logsumexp(f, 1).sum()


def gradients() -> list[Tensor]:
    """Differentiates."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x**3).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    first.sum().backward()
    assert x.grad is not None
    gradient = x.grad
    with torch.no_grad():
        x -= 0.1 * gradient
    detached = x.detach().cpu().numpy()
    assert detached.shape == (2,) and x.is_leaf and first.grad_fn is not None
    return [gradient, first.detach()]


def train(model: nn.Module, data: DataLoader[tuple[Tensor, ...]], settings: Settings) -> float:
    """Trains a classifier and returns the last loss."""
    optimizer = optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=1e-2)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    model.train()
    for _ in range(settings.epochs):
        for inputs, labels in data:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            settings.losses.append(loss.item())
        scheduler.step()
    return settings.losses[-1]


@torch.no_grad()
def accuracy(model: nn.Module, inputs: Tensor, labels: Tensor) -> float:
    """Returns the share of right answers."""
    model.eval()
    right = (model(inputs).argmax(dim=1) == labels).float().mean()
    return float(right)


def points(n: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yields points and the quadrants that they lie in."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(n):
        x = torch.randn(2, generator=generator)
        yield x, (x > 0).long() @ torch.tensor([1, 2])


def regression() -> float:
    """Fits squares with SGD and a data set of one's own."""
    model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    loader = DataLoader(Squares(32), batch_size=8, shuffle=True, drop_last=True)
    loss = torch.tensor(0.0)
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def sequences() -> torch.Size:
    """Runs recurrent layers and attention."""
    tokens = torch.randint(0, 10, (2, 5))
    embedded = nn.Embedding(10, 8)(tokens)
    output, (hidden, cell) = nn.LSTM(8, 8, batch_first=True)(embedded)
    attended, weights = nn.MultiheadAttention(8, 2, batch_first=True)(output, output, output)
    encoded = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)(attended)
    scores = F.scaled_dot_product_attention(encoded, encoded, encoded)
    assert hidden.shape == cell.shape and weights.shape == (2, 5, 5)
    shape: torch.Size = scores.shape
    return shape


def algebra(a: Tensor) -> Tensor:
    """Uses linear algebra and Fourier transforms."""
    q, r = torch.linalg.qr(a)
    values = torch.linalg.svdvals(a)
    solved = torch.linalg.solve(a + 5 * torch.eye(a.shape[0]), a)
    spectrum = torch.fft.rfft(a, dim=-1).abs()
    return torch.linalg.norm(q @ r - a) + values.sum() + solved.trace() + spectrum.sum() + torch.linalg.det(a)


def stored(model: nn.Module) -> int:
    """Saves and loads the parameters."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt"
        torch.save(model.state_dict(), path)
        state = torch.load(path)
    result = model.load_state_dict(state)
    assert not result.missing_keys
    named = {name: parameter.shape for name, parameter in model.named_parameters()}
    assert len(named) == len(list(model.parameters()))
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def devices() -> str:
    """Moves a model and tensors to the best device."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(2, 2).to(device)
    x = torch.ones(1, 2, device=device, dtype=torch.float32).to(torch.float64).float()
    with torch.autocast(device_type=device.type, enabled=False):
        y = model(x)
    assert y.device.type == device.type and y.dtype is torch.float32
    return device.type


class Clipped(torch.autograd.Function):
    """The identity, whose gradient is clipped."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, limit: float) -> Tensor:
        """Returns a copy of the input."""
        ctx.limit = limit
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Clips the gradient."""
        return gradients[0].clamp(-ctx.limit, ctx.limit), None


def transformed() -> Tensor:
    """Differentiates functions of functions."""

    def energy(x: Tensor) -> Tensor:
        return (x**2).sum()

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    each = torch.func.vmap(torch.func.grad(energy))(x)
    hessian = torch.func.hessian(energy)(x[0])
    clipped = x.clone().requires_grad_()
    Clipped.apply(clipped * 10, 0.5).sum().backward()
    assert clipped.grad is not None
    result: Tensor = each + hessian + clipped.grad
    return result


def sampled() -> float:
    """Draws from distributions and compares them."""
    normal = torch.distributions.Normal(torch.zeros(3), torch.ones(3))
    wide = torch.distributions.Normal(0.0, 2.0)
    draws = normal.rsample((100,))
    likelihood = normal.log_prob(draws).sum(-1).mean()
    distance = torch.distributions.kl_divergence(normal, wide).sum()
    labels = torch.distributions.Categorical(logits=torch.zeros(4)).sample((5,))
    assert labels.dtype is torch.int64
    return float(likelihood + distance)


def grouped(model: nn.Module) -> list[float]:
    """Trains the parts of a model at rates of their own, with hooks."""
    seen: list[torch.Size] = []

    def note(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        seen.append(output.shape)

    handle = model.register_forward_hook(note)
    parameters = list(model.parameters())
    optimizer = optim.Adam(
        [{"params": parameters[:1], "lr": 1e-4}, {"params": parameters[1:]}], lr=1e-3, betas=(0.9, 0.99)
    )
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=[1e-3, 1e-2], total_steps=4)
    loss = model(torch.randn(4, 2)).square().mean()
    loss.backward()
    optimizer.step()
    scheduler.step()
    handle.remove()
    assert len(seen) == 1 and optimizer.state_dict()["param_groups"]
    return [group["lr"] for group in optimizer.param_groups]


def main() -> None:
    """Runs everything."""
    torch.manual_seed(0)
    settings = Settings()
    inputs, labels = (torch.stack(list(part)) for part in zip(*points(64), strict=True))
    loader = DataLoader(TensorDataset(inputs, labels), batch_size=settings.batch, shuffle=True)
    network = Network(2, 4, settings)
    last = train(network, loader, settings)
    print(len(creation()), operations(torch.ones(2, 4), torch.ones(2, 4)).shape, len(gradients()))
    print(last < settings.losses[0] * 2, accuracy(network, inputs, labels) > 0, regression() >= 0, sequences())
    print(Convolutions(3)(torch.randn(2, 1, 8, 8)).shape, algebra(torch.eye(3)).shape, stored(network), devices())
    print(transformed().shape, sampled() < 0, len(grouped(nn.Linear(2, 3))))


if __name__ == "__main__":
    main()
