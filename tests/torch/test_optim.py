"""Compares optimizers with the formulas of PyTorch's documentation, and tests their common behavior."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import _core
from tests.support import assert_errors

nn, optim = torch.nn, torch.optim
STEPS = 20


def rmsprop(p: Any, grads: list[Any], *, centered: bool = False, momentum: float = 0.0) -> Any:
    v, mean, buffer = np.zeros_like(p), np.zeros_like(p), np.zeros_like(p)
    for g in grads:
        g = g + 0.1 * p
        v, mean = 0.9 * v + 0.1 * g**2, 0.9 * mean + 0.1 * g
        step = g / (np.sqrt(v - mean**2 if centered else v) + 1e-8)
        buffer = momentum * buffer + step
        p = p - 0.01 * (buffer if momentum else step)
    return p


def adagrad(p: Any, grads: list[Any]) -> Any:
    total = np.full_like(p, 0.5)
    for t, g in enumerate(grads):
        total = total + g**2
        p = p - 0.1 / (1 + 0.2 * t) * g / (np.sqrt(total) + 1e-10)
    return p


def adadelta(p: Any, grads: list[Any]) -> Any:
    v, u = np.zeros_like(p), np.zeros_like(p)
    for g in grads:
        v = 0.9 * v + 0.1 * g**2
        change = np.sqrt(u + 1e-6) / np.sqrt(v + 1e-6) * g
        u = 0.9 * u + 0.1 * change**2
        p = p - 0.5 * change
    return p


def adamax(p: Any, grads: list[Any]) -> Any:
    m, u = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        m, u = 0.8 * m + 0.2 * g, np.maximum(0.9 * u, np.abs(g) + 1e-8)
        p = p - 0.1 * m / (u * (1 - 0.8**t))
    return p


def nadam(p: Any, grads: list[Any]) -> Any:
    m, v, product = np.zeros_like(p), np.zeros_like(p), 1.0
    for t, g in enumerate(grads, 1):
        p = p * (1 - 0.1 * 0.02)
        mu, after = (0.9 * (1 - 0.5 * 0.96 ** (k * 0.004)) for k in (t, t + 1))
        product *= mu
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        m_hat = after * m / (1 - product * after) + (1 - mu) * g / (1 - product)
        p = p - 0.1 * m_hat / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
    return p


def radam(p: Any, grads: list[Any]) -> Any:
    m, v, limit = np.zeros_like(p), np.zeros_like(p), 2 / (1 - 0.99) - 1
    for t, g in enumerate(grads, 1):
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        length = limit - 2 * t * 0.99**t / (1 - 0.99**t)
        step = m / (1 - 0.9**t)
        if length > 5:
            r = np.sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))
            step = step * r * np.sqrt(1 - 0.99**t) / (np.sqrt(v) + 1e-8)
        p = p - 0.1 * step
    return p


def sgd(p: Any, grads: list[Any]) -> Any:
    buffer = None
    for g in grads:
        g = g + 0.01 * p
        buffer = g if buffer is None else 0.9 * buffer + g
        p = p - 0.1 * (g + 0.9 * buffer)
    return p


def adam(p: Any, grads: list[Any]) -> Any:
    m, v, top = np.zeros_like(p), np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        top = np.maximum(top, v)
        p = p - 0.1 * m / (1 - 0.9**t) / (np.sqrt(top / (1 - 0.99**t)) + 1e-8)
    return p


def asgd(p: Any, grads: list[Any]) -> Any:
    eta = 0.1
    for t, g in enumerate(grads, 1):
        p = p * (1 - 0.01 * eta) - eta * (g + 0.02 * p)
        eta = 0.1 / (1 + 0.01 * 0.1 * t) ** 0.75
    return p


def rprop(p: Any, grads: list[Any]) -> Any:
    before, size = np.zeros_like(p), np.full_like(p, 0.1)
    for g in grads:
        size = np.clip(size * np.where(g * before > 0, 1.5, np.where(g * before < 0, 0.4, 1)), 1e-3, 0.3)
        before = np.where(g * before < 0, 0, g)
        p = p - np.sign(before) * size
    return p


def adafactor(p: Any, grads: list[Any]) -> Any:
    rows, columns = np.zeros_like(p[:, :1]), np.zeros_like(p[:1])
    for t, g in enumerate(grads, 1):
        new = t**-0.5
        size = max(1e-2, np.sqrt((p**2).mean())) * min(0.1, t**-0.5)
        p = p * (1 - 0.1 * 0.2)
        rows += (np.mean(g**2, 1, keepdims=True) - rows) * new
        columns += (np.mean(g**2, 0, keepdims=True) - columns) * new
        step = g / np.sqrt(np.maximum(rows * columns / np.maximum(rows.mean(), 1e-3), 1e-6))
        p = p - size * step / max(1, np.sqrt((step**2).mean()) / 1.5)
    return p


RULES: dict[str, tuple[Any, Any]] = {
    "sgd": (lambda p, **k: optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True, **k), sgd),
    "adam": (lambda p, **k: optim.Adam(p, 0.1, (0.9, 0.99), amsgrad=True, **k), adam),
    "rmsprop": (lambda p, **k: optim.RMSprop(p, 0.01, 0.9, weight_decay=0.1, **k), rmsprop),
    "rmsprop_centered": (
        lambda p, **k: optim.RMSprop(p, 0.01, 0.9, weight_decay=0.1, momentum=0.7, centered=True, **k),
        lambda p, grads: rmsprop(p, grads, centered=True, momentum=0.7),
    ),
    "adagrad": (lambda p, **k: optim.Adagrad(p, 0.1, 0.2, initial_accumulator_value=0.5, **k), adagrad),
    "adadelta": (lambda p, **k: optim.Adadelta(p, 0.5, **k), adadelta),
    "adamax": (lambda p, **k: optim.Adamax(p, 0.1, (0.8, 0.9), **k), adamax),
    "nadam": (
        lambda p, **k: optim.NAdam(p, 0.1, (0.9, 0.99), weight_decay=0.02, decoupled_weight_decay=True, **k),
        nadam,
    ),
    "radam": (lambda p, **k: optim.RAdam(p, 0.1, (0.9, 0.99), **k), radam),
    "asgd": (lambda p, **k: optim.ASGD(p, 0.1, lambd=0.01, weight_decay=0.02, **k), asgd),
    "rprop": (lambda p, **k: optim.Rprop(p, 0.1, (0.4, 1.5), (1e-3, 0.3), **k), rprop),
    "adafactor": (
        lambda p, **k: optim.Adafactor(p, 0.1, -0.5, eps=(1e-3, 1e-2), d=1.5, weight_decay=0.2, **k),
        adafactor,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_rules(name: str) -> None:
    make, formula = RULES[name]
    rng = np.random.default_rng(0)
    start, grads = rng.normal(size=(3, 2)), [rng.normal(size=(3, 2)) for _ in range(STEPS)]
    p, q, idle = (nn.Parameter(torch.tensor(start)) for _ in range(3))
    first, second = make([p, idle]), make([q], maximize=True)
    planned = 0
    for k, g in enumerate(grads):
        p.grad, q.grad = torch.tensor(g), torch.tensor(-g)
        if k == STEPS // 2:  # the state moves to another optimizer in the middle
            state = copy.deepcopy(first.state_dict())
            first = make([p, idle])
            first.load_state_dict(state)
        first.step()
        second.step()
        if k == 13:
            planned = _core.stats()["planned"]
    assert _core.stats()["planned"] == planned  # the step number does not create a new program
    expected = formula(start, grads)
    np.testing.assert_allclose(p.detach().cpu().numpy(), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(q.detach().cpu().numpy(), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(idle.detach().cpu().numpy(), start)


def test_state_has_pytorchs_layout() -> None:
    p = nn.Parameter(torch.ones(2))
    optimizer = optim.Adam([("weight", p)], lr=0.1)
    p.grad = torch.ones(2)
    optimizer.step()
    state = optimizer.state_dict()
    assert list(state["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    step = state["state"][0]["step"]
    assert step.dtype is torch.float32 and step.dims == () and step.item() == 1.0 and step.device.type == "cpu"
    group = state["param_groups"][0]
    assert group["params"] == [0] and group["param_names"] == ["weight"] and group["betas"] == (0.9, 0.999)
    assert {"lr", "eps", "weight_decay", "amsgrad", "maximize", "foreach", "fused"} <= set(group)


def test_a_step_of_many_parameters_is_one_program() -> None:
    shapes = [(4, 3), (4,), (2, 4), (2,)]
    for make in (optim.RMSprop, optim.Adagrad, optim.Adadelta, optim.NAdam, optim.Adamax):
        params = [nn.Parameter(torch.ones(*shape)) for shape in shapes]
        optimizer = make(params)
        schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        steps = 0
        for k in range(6):
            for p in params:
                p.grad = torch.ones(*p.dims)
            optimizer.step()
            schedule.step()
            if k == 2:
                steps, planned = _core.stats()["steps"], _core.stats()["planned"]
        assert _core.stats()["steps"] - steps == 3 and _core.stats()["planned"] == planned


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize("search", ["strong_wolfe", None])
def test_lbfgs_finds_the_minimum(search: str | None) -> None:
    x = nn.Parameter(torch.tensor([-1.2, 1.0], dtype=torch.float64))
    optimizer = optim.LBFGS([x], lr=1.0 if search else 0.2, max_iter=25, tolerance_change=1e-14, line_search_fn=search)
    calls = 0

    def closure() -> Any:
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = rosenbrock(x)
        loss.backward()
        return loss

    first = float(optimizer.step(closure))
    assert first == pytest.approx(24.2)
    for _ in range(4 if search else 40):
        optimizer.step(closure)
    assert float(rosenbrock(x)) < (1e-12 if search else 1e-6)
    if search:
        assert calls < 80
        np.testing.assert_allclose(x.tolist(), [1, 1], rtol=1e-6)
    again = optim.LBFGS([x])
    again.load_state_dict(optimizer.state_dict())
    assert again.state[x]["n_iter"] == optimizer.state[x]["n_iter"]


def test_hooks_groups_and_refusals() -> None:
    a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    optimizer = optim.RMSprop([a], lr=0.5)
    optimizer.add_param_group({"params": [b], "lr": 0.25})
    order: list[str] = []
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: order.append("before")),
        optimizer.register_step_post_hook(lambda o, args, kwargs: order.append("after")),
    ]
    (a + b).sum().backward()
    optimizer.step()
    handles[0].remove()
    optimizer.step()
    assert order == ["before", "after", "after"]
    optimizer.zero_grad(set_to_none=False)
    assert a.grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert a.grad is None
    assert_errors(
        (lambda: optim.Adam([a], differentiable=True), NotImplementedError),
        (lambda: optim.Adam([a], foreach=True, fused=True), RuntimeError),
        (lambda: optim.RMSprop([a], alpha=-1), ValueError),
        (lambda: optim.NAdam([a], betas=(1.0, 0.9)), ValueError),
        (lambda: optim.LBFGS([{"params": [a]}, {"params": [b]}]), ValueError),
        (lambda: optim.LBFGS([a], line_search_fn="armijo"), RuntimeError),
        (lambda: optim.LBFGS([a]).step(), RuntimeError),
        (lambda: optimizer.load_state_dict(optim.SGD([a]).state_dict()), ValueError),
    )


def test_averaged_models() -> None:
    model = nn.Linear(2, 1)
    mean = optim.swa_utils.AveragedModel(model)
    moving = optim.swa_utils.AveragedModel(model, avg_fn=optim.swa_utils.get_ema_avg_fn(0.9))
    for value in (1.0, 2.0, 6.0):
        with torch.no_grad():
            model.weight.fill_(value)
        mean.update_parameters(model)
        moving.update_parameters(model)
    assert mean.module.weight.tolist()[0] == pytest.approx([3.0, 3.0])
    assert moving.module.weight.tolist()[0] == pytest.approx([1.59, 1.59])
    assert int(mean.n_averaged) == 3 and mean(torch.ones(1, 2)).dims == (1, 1)


def test_average_of_parameters() -> None:
    p = nn.Parameter(torch.tensor([1.0]))
    optimizer = optim.ASGD([p], lr=0.5, lambd=0.0, alpha=0.0, t0=1)
    for _ in range(4):
        p.grad = torch.ones(1)
        optimizer.step()
    # Parameters 0.5, 0, -0.5 and -1; the mean begins with the third step.
    assert p.item() == -1.0 and optimizer.state[p]["ax"].item() == pytest.approx((-0.5 - 1.0) / 2)


def test_muon_takes_orthogonal_steps() -> None:
    rng = np.random.default_rng(4)
    for shape, ratio in (((6, 3), 2**0.5), ((3, 6), 1.0)):
        p = nn.Parameter(torch.zeros(*shape))
        p.grad = torch.tensor(rng.normal(size=shape).astype("f"))
        optim.Muon([p], lr=1.0, weight_decay=0.0).step()
        values = torch.linalg.svdvals(p.detach()) / ratio
        assert float(values.min()) > 0.6 and float(values.max()) < 1.25  # the iteration does not go on to exactly 1
        u, _, vt = np.linalg.svd(p.grad.cpu().numpy(), full_matrices=False)
        assert float((-p.detach().cpu().numpy() / ratio * (u @ vt)).sum()) > 0.7 * 3
    with pytest.raises(ValueError, match="only supports 2D parameters"):
        optim.Muon([torch.zeros(3, requires_grad=True)])
