"""Training workloads: networks, data and optimizers, with the same numbers for every library."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.learning import models
from bench.learning.library import F, nn, torch


@dataclass(frozen=True)
class Work:
    """A row. `data` draws a batch: the network's input and the target."""

    model: Callable[[], Any]
    data: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
    steps: int  # steps per timed round
    optimizer: Callable[[Any], Any] = lambda parameters: torch.optim.Adam(parameters, lr=1e-3)
    loss: Callable[[Any, Any], Any] = F.cross_entropy
    autocast: Any = None
    mode: str | None = "reduce-overhead"  # of torch.compile


def images(
    batch: int, side: int = 28, kinds: int = 10
) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    return lambda rng: (rng.standard_normal((batch, 3, side, side), dtype=np.float32), rng.integers(0, kinds, batch))


def tokens(kinds: int, batch: int, length: int) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    return lambda rng: (rng.integers(0, kinds, (batch, length)), rng.integers(0, kinds, batch * length))


def pairs(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((100, 10), dtype=np.float32), rng.standard_normal((100, 2), dtype=np.float32)


def momentum(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


WORKS: dict[str, Work] = {
    "simple": Work(models.SimpleNet, pairs, 1000, lambda p: torch.optim.Adam(p, lr=0.01), nn.MSELoss()),
    "cnn64": Work(models.CNN, images(64), 200),
    "cnn4096": Work(models.CNN, images(4096), 50),
    "resnet50": Work(models.ResNet50, images(64, 224, 1000), 10, momentum),
    "resnet50b": Work(models.ResNet50, images(64, 224, 1000), 10, momentum, autocast=torch.bfloat16),
    "lstm": Work(models.LanguageModel, tokens(1000, 32, 64), 50),
    "gpt": Work(lambda: models.GPT(65, 384, 6, 6, 256), tokens(65, 64, 256), 20),
    "gpt2": Work(
        lambda: models.GPT(50304, 768, 12, 12, 1024), tokens(50304, 12, 1024), 5,
        lambda p: torch.optim.AdamW(p, lr=1e-4, fused=True), autocast=torch.bfloat16, mode=None,
    ),
}  # fmt: skip


def stage(work: Work, device: str) -> tuple[Any, Any, Any]:
    """Returns the network and a batch on the device. Initial values depend only on parameter names."""
    model = work.model()
    with torch.no_grad():
        for k, (name, p) in enumerate(model.named_parameters()):
            values = np.random.default_rng(k).standard_normal(tuple(p.shape), dtype=np.float32)
            if p.ndim == 1:
                values = 0.1 * values + (1.0 if "norm" in name and "weight" in name else 0.0)
            else:
                values *= 0.5 / np.sqrt(np.prod(p.shape[1:]))
            p.copy_(torch.from_numpy(values))
    x, y = (torch.from_numpy(values).to(device) for values in work.data(np.random.default_rng(0)))
    return model.to(device), x, y


def stepper(work: Work, device: str, how: str) -> Callable[[], Any]:
    """Returns a training step that returns its loss. `how`: "eager", "channels_last" (as the program lays out images),
    "compile" or "graph" (captured by hand)."""
    torch.backends.cudnn.benchmark = True  # PyTorch's advice for shapes that stay the same
    model, x, y = stage(work, device)
    if how == "channels_last":
        model, x = (of.to(memory_format=torch.channels_last) for of in (model, x))
    optimizer = work.optimizer(model.parameters())
    called = torch.compile(model, mode=work.mode) if how == "compile" else model

    def context() -> Any:
        return torch.autocast(device, dtype=work.autocast) if work.autocast is not None else nullcontext()

    def step() -> Any:
        optimizer.zero_grad()
        with context():
            loss = work.loss(called(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step if how != "graph" else captured(work, model, x, y)


def captured(work: Work, model: Any, x: Any, y: Any) -> Callable[[], Any]:
    """Returns a replay of PyTorch's CUDA graph of the whole step, captured by hand as in its documentation."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, capturable=True)

    def step() -> Any:
        optimizer.zero_grad()
        loss = work.loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    optimizer.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = work.loss(model(x), y)
        loss.backward()
        optimizer.step()

    def replay() -> Any:
        graph.replay()
        return loss

    return replay
