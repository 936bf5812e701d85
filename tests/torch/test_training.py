"""Training steps: optimizers against formulas, state, and steps that replay, repeat bit by bit and leak nothing."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import _core
from tests.support import resident

nn = torch.nn


def setup(make: Callable[[Any], Any] = lambda p: torch.optim.Adam(p, lr=0.01)) -> tuple[Any, Any, Callable[[], Any]]:
    """Returns a linear network, an optimizer, and a step that returns the loss."""
    model = nn.Linear(10, 2)
    optimizer = make(model.parameters())
    criterion = nn.MSELoss()
    x, y = torch.randn(100, 10), torch.randn(100, 2)

    def step() -> Any:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


def counters() -> tuple[int, int]:
    stats = _core.stats()
    return stats["planned"], stats["replayed"]


def test_a_step_is_one_program_that_is_recognised() -> None:
    _, _, step = setup()
    loss = step()
    loss = step()
    planned, replayed = counters()
    for _ in range(10):
        loss = step()
    assert counters() == (planned, replayed + 10)
    first = float(loss)
    for _ in range(200):
        loss = step()
    assert float(loss) < first


def test_schedules_and_branches_do_not_break_it() -> None:
    _, optimizer, step = setup(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))
    losses = [step() for _ in range(5)]
    planned, _ = counters()
    for k in range(10):
        optimizer.param_groups[0]["lr"] = 0.1 / (k + 2)
        losses.append(step())
        del losses[0]
    assert counters()[0] == planned
    values = [float(loss) for loss in losses]
    assert all(math.isfinite(v) for v in values)


def test_dropout_differs_in_replayed_steps() -> None:
    model = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.5))
    x = torch.ones(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    seen = []
    for _ in range(6):
        optimizer.zero_grad()
        out = model(x)
        out.sum().backward()
        optimizer.step()
        seen.append((out == 0).cpu().numpy())
    assert all((a != b).any() for a, b in pairwise(seen))


def test_accumulation_and_evaluation_in_between() -> None:
    model, optimizer, step = setup(lambda p: torch.optim.SGD(p, lr=0.1))
    x = torch.randn(6, 10)
    for k in range(6):
        step()
        optimizer.zero_grad()
        for part in x.split(2):
            (model(part).sum() / 3).backward()
        expected = x.cpu().numpy().sum(0) / 3
        np.testing.assert_allclose(model.weight.grad.cpu().numpy(), np.stack([expected] * 2), rtol=1e-5, atol=1e-6)
        optimizer.step()
        if k % 2:
            with torch.no_grad():
                assert not model.eval()(x).requires_grad
            model.train()


def test_the_same_seed_gives_the_same_bits() -> None:
    def run() -> bytes:
        torch.manual_seed(7)
        model, _, step = setup()
        for _ in range(20):
            step()
        return bytes(model.weight.detach().cpu().numpy().tobytes())

    assert run() == run()


def test_the_same_seed_gives_the_same_bits_of_every_kind_of_layer() -> None:
    """Also with gradients accumulated at repeated indices, random numbers and shuffled batches."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.lstm = nn.Embedding(7, 6), nn.LSTM(6, 8, batch_first=True)
            self.conv, self.norm, self.drop = nn.Conv1d(8, 4, 3), nn.BatchNorm1d(4), nn.Dropout(0.2)
            self.out = nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            x = self.lstm(self.table(x))[0].transpose(1, 2)
            return self.out(self.drop(self.norm(self.conv(x))).amax(2))

    def run() -> list[bytes]:
        torch.manual_seed(11)
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        data = torch.utils.data.TensorDataset(torch.randint(0, 7, (40, 9)), torch.randint(0, 3, (40,)))
        for _ in range(2):
            for x, y in torch.utils.data.DataLoader(data, 16, shuffle=True):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()
        return [value.cpu().numpy().tobytes() for value in model.state_dict().values()]

    assert run() == run()


def test_a_thousand_steps_leak_nothing() -> None:
    _, _, step = setup()
    for _ in range(300):
        step()
    gc.collect()
    before = resident()
    for _ in range(1000):
        step()
    assert resident() - before < 2000


def _reference(name: str, p: Any, gradients: list[Any]) -> Any:
    """Returns the update rules of the papers, in float64."""
    m, v, buffer = np.zeros_like(p), np.zeros_like(p), None
    for t, g in enumerate(gradients, 1):
        if name == "sgd":
            p = p - 0.1 * g
        elif name == "momentum":
            g = g + 0.01 * p
            buffer = g if buffer is None else 0.9 * buffer + g
            p = p - 0.1 * buffer
        else:
            if name == "adamw":
                p = p * (1 - 0.1 * 0.02)
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            p = p - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return p


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("sgd", lambda p: torch.optim.SGD(p, lr=0.1)),
        ("momentum", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01)),
        ("adam", lambda p: torch.optim.Adam(p, lr=0.1)),
        ("adamw", lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.02)),
    ],
)
def test_update_rules(name: str, make: Any) -> None:
    rng = np.random.default_rng(0)
    start, gradients = rng.normal(size=(3, 2)), [rng.normal(size=(3, 2)) for _ in range(5)]
    p = nn.Parameter(torch.tensor(start))
    idle = nn.Parameter(torch.tensor(start))
    optimizer = make([p, idle])
    for k, g in enumerate(gradients):
        p.grad = torch.tensor(g)
        if k == 2:  # the state moves to another optimizer in the middle
            state = optimizer.state_dict()
            optimizer = make([p, idle])
            optimizer.load_state_dict(state)
        optimizer.step()
    np.testing.assert_allclose(p.detach().cpu().numpy(), _reference(name, start, gradients), rtol=1e-9)
    np.testing.assert_array_equal(idle.detach().cpu().numpy(), start)


def test_groups_closures_and_errors() -> None:
    a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([{"params": [a], "lr": 1.0}, {"params": b}], lr=0.5)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (a + b).sum()
        loss.backward()
        return loss

    assert float(optimizer.step(closure)) == 4.0
    assert a.tolist() == [0.0, 0.0] and b.tolist() == [0.5, 0.5]
    for wrong, error in (([], ValueError), ([a * 1], ValueError), ([3], TypeError), (a, TypeError)):
        with pytest.raises(error):
            torch.optim.SGD(wrong, lr=0.1)
    with pytest.raises(ValueError, match="learning_rate"):
        torch.optim.Adam([a], lr=-1)
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [a]})


def test_unmodified_pytorch_training_loop() -> None:
    """Runs a published PyTorch program of which only the import is changed."""
    program = Path(__file__).parents[2] / "examples" / "seeds" / "001_training.py"
    names: dict[str, Any] = {}
    exec(compile(program.read_text(), str(program), "exec"), names)
    assert float(names["loss"]) < 1.2 and names["output"].shape == (100, 2)
