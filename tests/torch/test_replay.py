"""Replayed training steps must do what the program wrote. Each scenario is a way to be silently wrong, run op by op,
fused and replayed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import _core
from cuprous.torch.amp import _speculative
from tests.conftest import DEVICE
from tests.support import resident

nn, F, optim = torch.nn, torch.nn.functional, torch.optim
STEPS = 12


def data(n: int = 40) -> tuple[Any, Any]:
    return torch.randn(n, 6), torch.randint(0, 3, (n,))


def network(*middle: Any) -> Any:
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), *middle, nn.Linear(16, 3))


def step(model: Any, optimizer: Any, x: Any, y: Any) -> Any:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def schedules() -> Iterator[Any]:
    """The learning rate falls to 0, so that the last steps change nothing."""
    model, (x, y) = network(), data()
    optimizer = optim.AdamW(model.parameters(), lr=0.05)
    schedule = optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, STEPS - 4)
    for k in range(STEPS):
        before = model[0].weight.detach().clone()
        yield step(model, optimizer, x, y)
        assert torch.equal(before, model[0].weight) == (k >= STEPS - 4)
        schedule.step()


def dropout() -> Iterator[Any]:
    """Each step has a different mask."""
    model, (x, y) = network(nn.Dropout(0.5)), data()
    optimizer = optim.SGD(model.parameters(), lr=0.0)
    losses = []
    for _ in range(STEPS):
        losses.append(step(model, optimizer, x, y))
        yield losses[-1]
    assert len({float(loss) for loss in losses}) == STEPS


def ragged_batches() -> Iterator[Any]:
    """The last batch of an epoch is shorter."""
    model, (x, y) = network(), data(22)
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    for _ in range(4):
        for inputs, labels in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 8, shuffle=True):
            assert inputs.dims[0] == labels.dims[0]
            yield step(model, optimizer, inputs, labels)


def training_and_evaluation() -> Iterator[Any]:
    """Training and evaluation alternate; evaluation draws no mask and changes nothing."""
    model, (x, y) = network(nn.Dropout(0.5)), data()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(STEPS // 2):
        model.train()
        yield step(model, optimizer, x, y)
        model.eval()
        with torch.no_grad():
            outputs = [model(x) for _ in range(2)]
        assert torch.equal(*outputs) and not outputs[0].requires_grad
        yield F.cross_entropy(outputs[0], y)


def branches() -> Iterator[Any]:
    """Python branches differ between steps, also depending on computed values."""
    model, (x, y) = network(), data()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for k in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        if k % 3 == 2:
            loss = loss + 0.01 * sum(p.square().sum() for p in model.parameters())
        if loss.item() > 1.0:
            loss = loss * 2
        loss.backward()
        optimizer.step()
        yield loss


def accumulation() -> Iterator[Any]:
    """Gradients of three parts are summed before a step."""
    model, (x, y) = network(), data(36)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for k in range(STEPS):
        loss = F.cross_entropy(model(x[k % 3 :: 3]), y[k % 3 :: 3]) / 3
        loss.backward()
        if k % 3 == 2:
            optimizer.step()
            optimizer.zero_grad(set_to_none=k % 2 == 0)
        yield loss


def clipping() -> Iterator[Any]:
    """Gradients are clipped to a norm that changes."""
    model, (x, y) = network(), data()
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    for k in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x * 10), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0 / (k + 1))
        norm = sum(float(p.grad.square().sum()) for p in model.parameters()) ** 0.5
        assert norm <= 1.0 / (k + 1) * 1.001
        optimizer.step()
        yield loss


def data_written_in_place() -> Iterator[Any]:
    """One buffer holds each batch in turn."""
    model, (x, y) = network(), data()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    inputs, labels = torch.zeros(8, 6), torch.zeros(8, dtype=torch.int64)
    for k in range(STEPS):
        inputs.copy_(x[k % 5 * 8 : k % 5 * 8 + 8])
        labels.copy_(y[k % 5 * 8 : k % 5 * 8 + 8])
        yield step(model, optimizer, inputs, labels)


def weights_changed_from_outside() -> Iterator[Any]:
    """A state is loaded in the middle, a layer is frozen and a weight is written."""
    model, (x, y) = network(), data()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    saved = {name: t.clone() for name, t in model.state_dict().items()}
    for k in range(STEPS):
        if k == 4:
            model.load_state_dict(saved)
        if k == 6:
            with torch.no_grad():
                model[2].bias[0] = 3.0
        frozen = k in (8, 9)
        model[0].requires_grad_(not frozen)
        before = model[0].weight.detach().clone()
        yield step(model, optimizer, x, y)
        assert torch.equal(before, model[0].weight) == frozen


def constants_that_count() -> Iterator[Any]:
    """Python numbers in the loss are read in each step."""
    model, (x, y) = network(), data()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for k in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y) * (k + 1) + k
        loss.backward()
        optimizer.step()
        assert float(loss) >= k
        yield loss


def two_networks() -> Iterator[Any]:
    """Two networks train alternately with one optimizer each; the gradient of one remains in the other."""
    maker, judge = nn.Linear(4, 6), network()
    steps = [optim.Adam(net.parameters(), lr=0.02) for net in (maker, judge)]
    x, y = data()
    for k in range(STEPS):
        made = maker(torch.randn(40, 4))
        steps[1].zero_grad()
        loss = F.cross_entropy(judge(x), y) + judge(made.detach()).square().mean()
        loss.backward()
        steps[1].step()
        if k % 3:
            steps[0].zero_grad()
            own = F.cross_entropy(judge(made), y)
            own.backward()
            steps[0].step()
            assert judge[0].weight.grad is not None
            yield own
        yield loss


def running_statistics() -> Iterator[Any]:
    """Batch normalization updates buffers in training and reads them in evaluation; weights have a running mean."""
    model, (x, y) = network(nn.BatchNorm1d(16)), data()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5))
    for k in range(STEPS):
        batch = slice(k % 4 * 10, k % 4 * 10 + 10)
        yield step(model.train(), optimizer, x[batch], y[batch])
        mean.update_parameters(model)
        with torch.no_grad():
            yield F.cross_entropy(model.eval()(x), y)
            yield F.cross_entropy(mean.eval()(x), y)
    assert int(model[2].num_batches_tracked) == STEPS


def outputs_that_are_kept() -> Iterator[Any]:
    """The next step does not overwrite the results of a step, including views."""
    model, (x, y) = network(), data()
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    kept, copies = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        output = model(x)
        loss = F.cross_entropy(output, y)
        loss.backward()
        kept += [output.detach()[1:3], model[0].weight.grad, loss.detach()]
        copies += [t.cpu().numpy().copy() for t in kept[-3:]]
        optimizer.step()
        yield loss
    for t, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(t.cpu().numpy(), copy)


def infinite_gradients() -> Iterator[Any]:
    """Skipped steps are not counted; the scale changes."""
    model, (x, y) = network(), data()
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler(DEVICE.split(":")[0], init_scale=64.0, growth_interval=3)
    scales = []
    for k in range(STEPS):
        before = model[0].weight.detach().clone()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x * (float("inf") if k in (0, 5) else 1.0)), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert torch.equal(before, model[0].weight) == (k in (0, 5))
        scales.append(scaler.get_scale())
        if k not in (0, 5):
            yield loss
    assert scales == [32, 32, 32, 64, 64, 32, 32, 32, 64, 64, 64, 128]
    assert [int(state["step"]) for state in optimizer.state_dict()["state"].values()] == [STEPS - 2] * 4


SCENARIOS: dict[str, Callable[[], Iterator[Any]]] = {
    f.__name__: f
    for f in (
        schedules, dropout, ragged_batches, training_and_evaluation, branches, accumulation, clipping,
        data_written_in_place, weights_changed_from_outside, constants_that_count, two_networks, running_statistics,
        outputs_that_are_kept, infinite_gradients,
    )
}  # fmt: skip


@pytest.mark.parametrize(("name", "taken_back"), [*((name, False) for name in SCENARIOS), ("infinite_gradients", True)])
def test_scenarios(name: str, taken_back: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_speculative, "is_worthwhile", lambda optimizer: taken_back)

    def run(mode: str) -> list[float]:
        _core.set_replay(mode)
        torch.manual_seed(11)
        return [float(loss) for loss in list(SCENARIOS[name]())]

    expected = run("single")
    assert all(np.isfinite(expected))
    np.testing.assert_allclose(run("fused"), expected, rtol=1e-4)
    first = run("auto")
    np.testing.assert_allclose(first, expected, rtol=1e-4)
    assert run("auto") == first  # the same seed gives the same bits, whether or not steps were replayed


def test_steps_match_a_numpy_formula() -> None:
    """Compares thirty steps with a schedule with NumPy in float64."""
    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=3)
    p = nn.Parameter(torch.tensor(w))
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    inputs, targets = torch.tensor(x), torch.tensor(y)
    buffer = np.zeros(3)
    for k in range(30):
        optimizer.zero_grad()
        loss = F.mse_loss(inputs @ p, targets)
        loss.backward()
        optimizer.step()
        schedule.step()
        assert loss.item() == pytest.approx(((x @ w - y) ** 2).mean(), rel=1e-10)
        buffer = 0.9 * buffer + 2 * x.T @ (x @ w - y) / 20
        w = w - 0.05 * (1 + np.cos(np.pi * k / 10)) * buffer
    np.testing.assert_allclose(p.tolist(), w, rtol=1e-10)


def test_a_thousand_steps_leak_nothing() -> None:
    """Also with a loader, a schedule, dropout, clipping and a read loss in each step."""
    model, (x, y) = network(nn.Dropout(0.1)), data(64)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    schedule = optim.lr_scheduler.StepLR(optimizer, 100, 0.9)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 16, shuffle=True)

    def epochs(n: int) -> None:
        for _ in range(n):
            for inputs, labels in loader:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(inputs), labels)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                assert loss.item() > 0

    epochs(75)
    gc.collect()
    objects = len(gc.get_objects())
    used, planned = _core.memory_stats(DEVICE)["used_bytes"], _core.stats()["planned"]
    grown = []
    for _ in range(3):  # a leak grows each time, while an allocator takes a larger block once
        memory = resident()
        epochs(250)
        gc.collect()
        grown.append(resident() - memory)
        if grown[-1] < 2000:
            break
    assert min(grown) < 2000, grown
    assert abs(len(gc.get_objects()) - objects) < 50
    assert _core.memory_stats(DEVICE)["used_bytes"] <= used
    assert _core.stats()["planned"] == planned


@pytest.mark.parametrize("amsgrad", [False, True])
def test_a_step_of_many_parameters_is_one_program(amsgrad: bool) -> None:
    """For any number of parameters, although the tape repeats itself within the step."""
    torch.manual_seed(3)
    shapes = [(8, 8), (8,), (16, 8), (16,)] * 10
    parameters = [nn.Parameter(torch.randn(*shape)) for shape in shapes]
    for p in parameters:
        p.grad = torch.randn(*p.shape)
    optimizer = optim.AdamW(parameters, lr=0.01, amsgrad=amsgrad)
    optimizer.step()
    for _ in range(3):
        before = _core.stats()
        optimizer.step()
        after = _core.stats()
        assert after["planned"] + after["replayed"] - before["planned"] - before["replayed"] == 1


def test_optimizer_steps_with_noncontiguous_gradients() -> None:
    """Parameters whose gradient or state has another memory order are updated by single operations."""
    torch.manual_seed(4)
    start, slope = torch.randn(5, 3), torch.randn(3, 5)
    got = []
    for gradient in (slope.T, slope.T.contiguous()):
        p, q = nn.Parameter(start.clone()), nn.Parameter(start.clone())
        p.grad, q.grad = gradient, slope.T.contiguous()
        optimizer = optim.Adam([p, q], lr=0.1, weight_decay=0.01)
        for _ in range(3):
            optimizer.step()
        got += [p.detach(), q.detach()]
    assert all(torch.equal(got[0], other) for other in got[1:])


def test_a_step_keeps_what_a_graph_still_needs() -> None:
    """The step overwrites a parameter while a graph needs its old values."""
    w = nn.Parameter(torch.tensor([2.0, 3.0]))
    x = torch.tensor([1.0, 1.0], requires_grad=True)
    optimizer = optim.Adam([w], lr=0.5)
    loss = (w * x).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    x.grad = None
    loss.backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 3.0]
