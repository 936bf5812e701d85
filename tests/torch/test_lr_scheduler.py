"""Compares learning rate schedules with formulas of the step number."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import cuprous.torch as torch
from tests.support import assert_errors

S = torch.optim.lr_scheduler
LR = 0.8


def optimizer(**settings: Any) -> Any:
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=LR, **settings)


def rates(schedule: Any, o: Any, steps: int, *args: Any) -> list[float]:
    found = []
    for _ in range(steps):
        found.append(o.param_groups[0]["lr"])
        o.step()
        schedule.step(*args)
        assert schedule.get_last_lr() == [o.param_groups[0]["lr"]]
    return found


def cosine(t: float, top: float = LR, low: float = 0.1, n: int = 5) -> float:
    return low + (top - low) * (1 + math.cos(math.pi * t / n)) / 2


def between(a: float, b: float, part: float) -> float:
    return b + (a - b) / 2 * (1 + math.cos(math.pi * part))


FORMULAS: dict[str, tuple[Callable[[Any], Any], Callable[[int], float]]] = {
    "lambda": (lambda o: S.LambdaLR(o, lambda t: 1 / (t + 1)), lambda t: LR / (t + 1)),
    "multiplicative": (lambda o: S.MultiplicativeLR(o, [lambda t: 0.9]), lambda t: LR * 0.9**t),
    "step": (lambda o: S.StepLR(o, 3, 0.5), lambda t: LR * 0.5 ** (t // 3)),
    "multistep": (
        lambda o: S.MultiStepLR(o, [2, 5, 5], 0.5),
        lambda t: LR * 0.5 ** ((t >= 2) + 2 * (t >= 5)),
    ),
    "constant": (lambda o: S.ConstantLR(o, 0.25, 4), lambda t: LR * (0.25 if t < 4 else 1)),
    "linear": (lambda o: S.LinearLR(o, 0.25, 0.75, 4), lambda t: LR * (0.25 + 0.5 * min(t / 4, 1))),
    "exponential": (lambda o: S.ExponentialLR(o, 0.7), lambda t: LR * 0.7**t),
    "polynomial": (lambda o: S.PolynomialLR(o, 6, 2.0), lambda t: LR * (1 - min(t, 6) / 6) ** 2),
    "cosine": (lambda o: S.CosineAnnealingLR(o, 5, 0.1), cosine),
    "restarts": (
        lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2, 0.1),
        lambda t: cosine(t, n=2) if t < 2 else cosine(t - 2, n=4) if t < 6 else cosine(t - 6, n=8),
    ),
    "cyclic": (
        lambda o: S.CyclicLR(o, 0.1, 0.5, 2, 4, mode="triangular2", cycle_momentum=False),
        lambda t: 0.1 + 0.4 / 2 ** (t // 6) * ((t % 6) / 2 if t % 6 <= 2 else (6 - t % 6) / 4),
    ),
    "one_cycle": (
        lambda o: S.OneCycleLR(o, 1.0, 13, pct_start=4 / 13, cycle_momentum=False),
        lambda t: between(0.04, 1.0, t / 3) if t <= 3 else between(1.0, 4e-6, (t - 3) / 9),
    ),
    "sequential": (
        lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.5, 20), S.ExponentialLR(o, 0.5)], [3]),
        lambda t: LR * 0.5 if t < 3 else LR * 0.5 ** (t - 3),
    ),
    "chained": (
        lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.5, 4), S.ExponentialLR(o, 0.9)]),
        lambda t: LR * 0.9**t * (0.5 if t < 4 else 1),
    ),
    "swa": (
        lambda o: torch.optim.swa_utils.SWALR(o, 0.2, 4, "linear"),
        lambda t: LR + (0.2 - LR) * min(t / 4, 1),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name: str) -> None:
    make, formula = FORMULAS[name]
    o = optimizer()
    schedule = make(o)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rates(schedule, o, 13, *()) == pytest.approx([formula(t) for t in range(13)], rel=1e-12)
    # Saved and loaded in the middle, a schedule continues in the same way.
    first, second = optimizer(), optimizer()
    one, two = make(first), make(second)
    rates(one, first, 4)
    file = io.BytesIO()
    torch.save(one.state_dict(), file)
    two.load_state_dict(torch.load(file))
    second.load_state_dict(first.state_dict())
    assert rates(one, first, 5) == rates(two, second, 5)


def test_given_epochs() -> None:
    for name in ("step", "multistep", "constant", "linear", "exponential", "polynomial", "cosine", "restarts"):
        make, formula = FORMULAS[name]
        o = optimizer()
        schedule = make(o)
        o.step()
        schedule.step(9)
        assert o.param_groups[0]["lr"] == pytest.approx(formula(9)), name


def test_momentum_cycles_inversely() -> None:
    o = optimizer(momentum=0.5)
    o.step()
    schedule = S.CyclicLR(o, 0.1, 0.5, 2, base_momentum=0.8, max_momentum=0.9)
    seen = []
    for _ in range(5):
        seen.append(o.param_groups[0]["momentum"])
        schedule.step()
    assert seen == pytest.approx([0.9, 0.85, 0.8, 0.85, 0.9])
    adam = torch.optim.Adam([torch.nn.Parameter(torch.ones(1))])
    S.OneCycleLR(adam, 0.1, 10)
    assert adam.param_groups[0]["betas"] == (0.95, 0.999)


def test_plateau() -> None:
    o = optimizer()
    schedule = S.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1, min_lr=0.15)
    seen = []
    for loss in (1.0, 0.9, 0.9, torch.tensor(0.9), 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9):
        schedule.step(loss)
        seen.append(o.param_groups[0]["lr"])
    assert seen == [0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.15, 0.15]
    other = S.ReduceLROnPlateau(optimizer(), mode="max", threshold_mode="abs")
    other.load_state_dict(schedule.state_dict())
    assert other.mode == "min" and other.best == 0.9


def test_order_and_refusals() -> None:
    o = optimizer()
    schedule = S.StepLR(o, 2)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()
    assert_errors(
        (lambda: S.StepLR(object(), 2), TypeError),
        (lambda: S.StepLR(optimizer(), 2, last_epoch=3), KeyError),
        (lambda: S.LambdaLR(o, [abs, abs]), ValueError),
        (lambda: S.ConstantLR(o, 2.0), ValueError),
        (lambda: S.CyclicLR(o, 0.1, 0.2, mode="square"), ValueError),
        (lambda: S.OneCycleLR(o, 0.1), ValueError),
        (lambda: S.SequentialLR(o, [schedule], [3]), ValueError),
        (lambda: S.ChainedScheduler([S.StepLR(o, 1), S.StepLR(optimizer(), 1)]), ValueError),
        (lambda: S.ReduceLROnPlateau(o, factor=1.0), ValueError),
    )
