"""Tests autocast and its lists of operations, and the gradient scaler."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from tests.conftest import DEVICE

nn, F = torch.nn, torch.nn.functional
KIND = DEVICE.split(":")[0]
HALVES = [torch.float16, torch.bfloat16]

PRODUCTS: dict[str, Callable[[Any], Any]] = {
    "matmul": lambda x: torch.matmul(x, x), "operator": lambda x: x @ x, "mm": lambda x: x.mm(x),
    "linear": lambda x: F.linear(x, x, x[0]), "bmm": lambda x: torch.bmm(x[None], x[None]),
    "addmm": lambda x: torch.addmm(x[0], x, x), "layer": lambda x: nn.Linear(4, 2)(x),
    "convolution": lambda x: nn.Conv1d(4, 2, 3)(x[None]), "recurrence": lambda x: nn.LSTM(4, 2)(x)[0],
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
}  # fmt: skip
SAFE: dict[str, Callable[[Any], Any]] = {
    "mse_loss": lambda h: F.mse_loss(h, h), "cross_entropy": lambda h: F.cross_entropy(h, h.softmax(1)),
    "l1_loss": lambda h: F.l1_loss(h, h), "layer": lambda h: nn.MSELoss()(h, h), "prod": lambda h: h.prod(),
}  # fmt: skip
SAFE_ON_GPU: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda h: F.softmax(h, 1), "method": lambda h: h.softmax(1), "exp": torch.exp, "sum": lambda h: h.sum(),
    "pow": lambda h: h**2, "layer_norm": lambda h: F.layer_norm(h, (4,)), "log_softmax": lambda h: h.log_softmax(1),
}  # fmt: skip


@pytest.mark.parametrize("dtype", HALVES)
def test_lists(dtype: Any) -> None:
    x = torch.randn(4, 4)
    h = x.to(dtype)
    safe = SAFE | (SAFE_ON_GPU if KIND == "cuda" else {})
    with torch.autocast(KIND, dtype):
        for name, f in PRODUCTS.items():
            assert f(x).dtype is dtype, name
        for name, f in safe.items():
            assert f(h).dtype is torch.float32, name
        assert (h + h).dtype is dtype and (h + x).dtype is torch.float32 and F.relu(h).dtype is dtype
        assert torch.matmul(x.double(), x.double()).dtype is torch.float64
        assert (torch.ones(2, 2, dtype=torch.int64) @ torch.ones(2, 2, dtype=torch.int64)).dtype is torch.int64
    for f in PRODUCTS.values():
        assert f(x).dtype is torch.float32
    assert F.mse_loss(h, h).dtype is dtype


def test_nesting_decorating_and_the_other_device() -> None:
    x = torch.randn(2, 2)
    other = "cpu" if KIND == "cuda" else "cuda"
    with torch.autocast(KIND, torch.bfloat16):
        assert torch.is_autocast_enabled(KIND) and torch.get_autocast_dtype(KIND) is torch.bfloat16
        with torch.autocast(KIND, enabled=False):
            assert (x @ x).dtype is torch.float32
        with torch.autocast(KIND, torch.float16):
            assert (x @ x).dtype is torch.float16
        assert (x @ x).dtype is torch.bfloat16
    with torch.autocast(other, torch.bfloat16):
        assert (x @ x).dtype is torch.float32
    assert not torch.is_autocast_enabled(KIND) and torch.get_autocast_dtype("cpu") is torch.bfloat16
    assert torch.amp.autocast(KIND, torch.float16)(lambda: x @ x)().dtype is torch.float16
    with pytest.raises(KeyError), torch.autocast(KIND):
        raise KeyError
    assert (x @ x).dtype is torch.float32
    for wrong in (lambda: torch.autocast("tpu"), lambda: torch.autocast(KIND, torch.float64)):
        with pytest.raises(RuntimeError):
            wrong()


def test_custom_functions() -> None:
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type=KIND, cast_inputs=torch.float32)
        def forward(ctx: Any, a: Any) -> Any:
            seen.append((a.dtype, torch.is_autocast_enabled(KIND)))
            return a * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type=KIND)
        def backward(ctx: Any, g: Any) -> Any:
            seen.append((g.dtype, torch.is_autocast_enabled(KIND)))
            return g * 2

    with torch.autocast(KIND, torch.bfloat16):
        y = Product.apply(torch.ones(2, dtype=torch.bfloat16, requires_grad=True))
    y.sum().backward()
    assert seen == [(torch.float32, False), (torch.float32, False)]


@pytest.mark.parametrize("dtype", HALVES)
def test_training(dtype: Any) -> None:
    def train(mixed: bool) -> float:
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        scaler = torch.amp.GradScaler(KIND, init_scale=64.0, growth_interval=4, enabled=mixed)
        x, y = torch.randn(32, 8), torch.randint(0, 3, (32,))
        for _ in range(15):
            optimizer.zero_grad()
            with torch.autocast(KIND, dtype, enabled=mixed):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            assert model[0].weight.grad.dtype is torch.float32
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            scaler.step(optimizer)
            scaler.update()
        return float(loss)

    assert train(True) == pytest.approx(train(False), abs=0.03)


def test_scaler_skips_infinite_steps() -> None:
    p = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=0.5)
    scaler = torch.amp.GradScaler(KIND, init_scale=8.0, growth_interval=2)
    scales = []
    for factor in (1.0, math.inf, 1.0, math.nan, 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((p * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    np.testing.assert_allclose(p.detach().cpu().numpy(), 1 - 4 * 0.5)
    assert scales == [8, 4, 4, 2, 2, 4]
    other = torch.amp.GradScaler(KIND)
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 4 and other.get_growth_interval() == 2
    off = torch.amp.GradScaler(KIND, enabled=False)
    assert off.scale(p) is p and off.state_dict() == {} and off.get_scale() == 1.0


def test_scaler_rejects_calls_out_of_order() -> None:
    p = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=0.5)
    scaler = torch.amp.GradScaler(KIND)
    with pytest.raises(AssertionError, match="inf checks"):
        scaler.step(optimizer)
    with pytest.raises(AssertionError, match="inf checks"):
        scaler.update()
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    scaler.update()
    half = nn.Parameter(torch.ones(2, dtype=torch.float16))
    (half * 2).sum().backward()
    with pytest.raises(ValueError, match="FP16"):
        scaler.unscale_(torch.optim.SGD([half]))
    for wrong in ({"growth_factor": 1.0}, {"backoff_factor": 1.0}):
        with pytest.raises(AssertionError):
            torch.amp.GradScaler(KIND, **wrong)


def test_older_names() -> None:
    from cuprous.torch.cuda.amp import GradScaler, autocast, custom_bwd, custom_fwd

    assert isinstance(GradScaler(init_scale=2.0), torch.amp.GradScaler)
    assert callable(custom_fwd) and callable(custom_bwd)
    with autocast(dtype=torch.bfloat16):
        assert torch.is_autocast_enabled("cuda") and not torch.is_autocast_enabled("cpu")
        assert torch.get_autocast_dtype("cuda") is torch.bfloat16
