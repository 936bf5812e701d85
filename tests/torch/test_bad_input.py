"""Errors in training programs name cause and location, and leave models and optimizers usable."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import _core
from tests.conftest import DEVICE

nn, F = torch.nn, torch.nn.functional
#: A device other than the CPU; without a GPU, a second CPU as a stand-in.
OTHER = DEVICE if DEVICE != "cpu" else _core.stand_in_device()

#: A layer, the shape of a bad input, and the message with the layer and both shapes.
SHAPES: list[tuple[Any, Any, str]] = [
    (lambda: nn.Linear(10, 2), (3, 4), r"Linear\(in_features=10, out_features=2.*3x4 and 10x2"),
    (lambda: nn.Bilinear(3, 4, 2), ((2, 3), (2, 5)), r"Bilinear\(in1_features=3.*5.*4"),
    (lambda: nn.Conv2d(3, 8, 3), (2, 4, 9, 9), r"Conv2d\(3, 8.*\[8, 3, 3, 3\].*\[2, 4, 9, 9\]"),
    (lambda: nn.Conv1d(3, 8, 3), (2, 3, 9, 9), r"Conv1d\(3, 8.*\[2, 3, 9, 9\]"),
    (lambda: nn.Conv2d(3, 8, 5), (2, 3, 4, 4), r"Conv2d\(3, 8.*\(4 x 4\).*\(5 x 5\)"),
    (lambda: nn.ConvTranspose2d(3, 8, 3), (2, 4, 9, 9), r"ConvTranspose2d\(3, 8.*\[2, 4, 9, 9\]"),
    (lambda: nn.MaxPool2d(5), (1, 1, 3, 3), r"MaxPool2d\(kernel_size=5.*\[1, 1, 3, 3\]"),
    (lambda: nn.BatchNorm2d(3), (2, 4, 5, 5), r"BatchNorm2d\(3.*\[2, 4, 5, 5\]"),
    (lambda: nn.BatchNorm1d(3), (2, 3, 5, 5), r"BatchNorm1d\(3.*\[2, 3, 5, 5\]"),
    (lambda: nn.LayerNorm(6), (2, 5), r"LayerNorm\(\(6,\).*2, 5"),
    (lambda: nn.GroupNorm(2, 4), (2, 6, 3), r"GroupNorm\(2, 4.*\[2, 6, 3\]"),
    (lambda: nn.RMSNorm(6), (2, 5), r"RMSNorm\(\(6,\).*2, 5"),
    (lambda: nn.LSTM(4, 5), (3, 2, 6), r"LSTM\(4, 5\).*Expected 4, got 6"),
    (lambda: nn.GRUCell(4, 5), (2, 6), r"GRUCell\(4, 5\).*6"),
    (lambda: nn.MultiheadAttention(4, 2), ((3, 2, 6),) * 3, r"MultiheadAttention.*of 4, but got 6"),
    (lambda: nn.TransformerEncoderLayer(4, 2), (3, 2, 6), r"MultiheadAttention.*of 4, but got 6"),
    (lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(6, 2)), (3, 4), r"Linear\(in_features=6.*3x5 and 6x2"),
    (lambda: nn.PixelShuffle(2), (1, 6, 2, 2), r"PixelShuffle\(upscale_factor=2\).*size\(-3\)=6"),
    (lambda: nn.Flatten(5), (2, 3), r"Flatten|Dimension out of range"),
]


@pytest.mark.parametrize(("make", "shape", "text"), SHAPES, ids=lambda x: getattr(x, "pattern", None))
def test_shapes_that_do_not_fit_name_the_layer_and_both_shapes(make: Any, shape: Any, text: str) -> None:
    shapes = shape if isinstance(shape[0], tuple) else (shape,)
    with pytest.raises((RuntimeError, ValueError, IndexError, AssertionError), match=f"(?s){text}"):
        make()(*(torch.ones(*s) for s in shapes))


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: F.mse_loss(torch.ones(3, 2), torch.ones(4, 2)), RuntimeError, r"3.*4|size"),
    (lambda: F.cross_entropy(torch.ones(3, 2), torch.zeros(4, dtype=torch.int64)), ValueError, r"\(3\).*\(4\)"),
    (lambda: F.cross_entropy(torch.ones(3, 2), torch.ones(3)), RuntimeError, "[Ll]ong|int64"),
    (lambda: F.nll_loss(torch.ones(3), torch.zeros(2, dtype=torch.int64)), (ValueError, RuntimeError), "size"),
    (lambda: F.binary_cross_entropy(torch.ones(3), torch.ones(2)), ValueError, r"target size"),
    (lambda: F.glu(torch.ones(2, 3)), RuntimeError, "must be even, but dimension -1 is size 3"),
    (lambda: torch.finfo(torch.int32), TypeError, "int32; use torch.iinfo"),
    (lambda: torch.iinfo(torch.float32), TypeError, "float32; use torch.finfo"),
    (lambda: torch.iinfo(torch.bool), TypeError, "integer dtype, got bool"),
    (lambda: torch.bincount(torch.tensor([1, -1])), RuntimeError, "non-negative"),
    (lambda: torch.bincount(torch.ones(2)), RuntimeError, "integral"),
    (lambda: nn.init.eye_(torch.ones(2)), ValueError, "2 dimensions"),
    (lambda: torch.ones(2, 3) @ torch.ones(2, 3), RuntimeError, "2x3 and 2x3"),
    (lambda: torch.cat([torch.ones(2, 3), torch.ones(2, 4)]), RuntimeError, "3.*4|4.*3"),
    (lambda: torch.ones(2, 3) + torch.ones(4), RuntimeError, r"3.*4"),
    (lambda: torch.ones(2, 3).view(4), RuntimeError, r"\[4\].*6"),
    (lambda: torch.optim.SGD([torch.ones(2) * torch.ones(2, requires_grad=True)]), ValueError, "non-leaf"),
    (lambda: torch.ones(2).backward(), RuntimeError, "does not require grad"),
    (lambda: torch.ones(2, requires_grad=True).exp().backward(), RuntimeError, "scalar outputs"),
])  # fmt: skip
def test_calls_that_do_not_fit(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=f"(?s){text}"):
        call()


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU does not look at indices")
def test_embedding_index_errors() -> None:
    with pytest.raises(IndexError, match=r"out of (range|bounds)"):
        nn.Embedding(5, 2)(torch.tensor([1, 7])).sum().item()


def test_leaf_writes_and_second_backward_raise() -> None:
    w = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        w += 1
    with torch.no_grad():
        w += 1
    loss = (w * w).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match=r"backward through the graph a second time.*retain_graph=True"):
        loss.backward()
    assert w.grad.tolist() == [4.0] * 3


def test_anomalies_of_a_layer_name_the_line() -> None:
    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.log(x - 1).sum()

    line = inspect.getsourcelines(Net.forward)[1] + 1
    x = torch.tensor([1.0, 0.5], requires_grad=True)
    with (
        torch.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match=rf"LogBackward0.*nan(?s:.*)test_bad_input\.py:{line}"),
    ):
        Net()(x).mul(0.0).backward()


@pytest.fixture
def _limited() -> Iterator[None]:
    yield
    _core.set_memory_limit(DEVICE, 0)


@pytest.mark.usefixtures("_limited")
@pytest.mark.parametrize("where", ["forward", "gradient"])
def test_out_of_memory_in_a_step_leaves_model_and_optimizer_usable(where: str) -> None:
    """After a batch that is too large, smaller ones behave as if it had not happened."""

    def run(hit: bool) -> Any:
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 2))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        x, y = torch.randn(64, 16), torch.randn(64, 2)

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        losses = [float(step(x, y)) for _ in range(4)]
        if hit:
            before = [p.detach().clone() for p in model.parameters()]
            rows = 1 << 22
            _core.synchronize()
            used = _core.memory_stats(DEVICE)["used_bytes"]
            _core.set_memory_limit(DEVICE, used + (48 << 20))
            with pytest.raises(MemoryError, match=r"requested|limit") as raised:
                if where == "forward":
                    float(step(torch.ones(1, 16).expand(rows, 16), torch.zeros(rows, 2)))
                else:
                    loss = F.mse_loss(model(x), y)
                    optimizer.zero_grad()
                    big = torch.zeros(rows, 16, requires_grad=True)
                    (loss + (big.exp() * big.cos()).sum()).backward()
                    optimizer.step()
                    float(big.grad.sum())
            assert len(str(raised.value)) < 1500
            del raised
            gc.collect()
            _core.set_memory_limit(DEVICE, 0)
            if where == "forward":
                # Parameters that fit have made the step, which is at most about the learning rate.
                for p, old in zip(model.parameters(), before, strict=True):
                    assert float((p - old).abs().max()) < 0.02
            losses += [float(step(x, y)) for _ in range(4)]
            assert losses[-1] < losses[3]
        return losses

    assert all(np.isfinite(run(True)))


def test_tensors_on_different_devices() -> None:
    a, b = torch.ones(3, device="cpu"), torch.ones(3, device=OTHER)
    model = nn.Linear(3, 2, device=OTHER)
    for call in (
        lambda: a + b, lambda: a @ b, lambda: torch.cat([a, b]), lambda: model(a), lambda: F.mse_loss(a, b),
        lambda: torch.where(a > 0, a, b), lambda: nn.Conv1d(1, 1, 1, device=OTHER)(a.view(1, 1, 3)),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=r"(?s)same device"):
            call()
    for number in (lambda: torch.tensor(1.0, device="cpu").add_(b[0]), lambda: torch.stack([a[0], b[0]])):
        with pytest.raises(RuntimeError, match=r"(?s)same device"):
            number()
    with pytest.raises(RuntimeError, match="Expected out tensor to have device"):
        torch.add(b, b, out=a)


def _number(value: object, **options: Any) -> Any:
    return torch.tensor(value, device="cpu", **options)


@pytest.mark.parametrize(("call", "wanted"), [
    (lambda b: b * _number(2.0), [2.0, 4.0]),
    (lambda b: _number(2.0) - b, [1.0, 0.0]),
    (lambda b: torch.add(_number(3), b, alpha=2), [5.0, 7.0]),
    (lambda b: b.clamp(_number(1.5), _number(9.0)), [1.5, 2.0]),
    (lambda b: torch.where(b > _number(1), _number(7.0), b), [1.0, 7.0]),
    (lambda b: torch.where(b > 1, _number(7.0), _number(8.0)), [8.0, 7.0]),
    (lambda b: b.masked_fill(b > 1, _number(0.5)), [1.0, 0.5]),
    (lambda b: torch.lerp(b, b + 2, _number(0.5)), [2.0, 3.0]),
    (lambda b: b.addcmul(b, b, value=2) / _number(3), [1.0, 10 / 3]),
    (lambda b: b ** _number(2), [1.0, 4.0]),
    (lambda b: torch.atan2(b, _number(0.0)), [np.pi / 2] * 2),
    (lambda b: b.sum() + _number(1.0), 4.0),
    (lambda b: b[0] * _number(4.0), 4.0),
    (lambda b: b.mul_(_number(3.0)), [3.0, 6.0]),
    (lambda b: b.fill_(_number(3)), [3.0, 3.0]),
    (lambda b: b.copy_(_number(4.0)), [4.0, 4.0]),
])  # fmt: skip
def test_a_number_on_the_host_goes_with_any_device(call: Any, wanted: Any) -> None:
    result = call(torch.tensor([1.0, 2.0], device=OTHER))
    assert result.device.type == "cuda"
    assert result.dtype == torch.float32
    np.testing.assert_allclose(result.tolist(), wanted, rtol=1e-6)


def test_a_number_on_the_host_is_written_anywhere() -> None:
    b = torch.zeros(4, device=OTHER)
    b[0], b[torch.tensor([1])], b[b > 4] = _number(1.0), _number(2.0), _number(3.0)
    b[2:] = torch.tensor([5.0, 6.0], device="cpu")
    b[b > 5.5] = _number(8)
    assert b.tolist() == [1.0, 2.0, 5.0, 8.0]
    assert b[_number(2)].item() == 5.0
    assert b.index_fill(0, torch.tensor([0], device=OTHER), _number(9.0)).tolist() == [9.0, 2.0, 5.0, 8.0]


def test_a_number_on_the_host_is_a_tensor_for_promotion() -> None:
    half = torch.ones(2, dtype=torch.float16, device=OTHER)
    assert (half * _number(2.0, dtype=torch.float64)).dtype == torch.float16
    assert (half.sum() * _number(2.0, dtype=torch.float64)).dtype == torch.float64
    whole = torch.ones(2, dtype=torch.int32, device=OTHER)
    assert (whole + _number(2, dtype=torch.int64)).dtype == torch.int32
    assert (whole + _number(2.5, dtype=torch.float64)).dtype == torch.float64
    assert (whole * _number(1 + 2j)).tolist() == [1 + 2j] * 2
    for dtype in (torch.bool, torch.uint8, torch.bfloat16, torch.complex128):
        assert (whole[0] * _number(1, dtype=dtype)).item() == 1


def test_a_number_on_the_host_gets_its_gradient_there() -> None:
    scale = _number(3.0, requires_grad=True)
    x = torch.tensor([1.0, 2.0], device=OTHER, requires_grad=True)
    (scale * x * scale).sum().backward()
    assert (scale.grad.device.type, scale.grad.item()) == ("cpu", 18.0)
    assert (x.grad.device.type, x.grad.tolist()) == ("cuda", [9.0, 9.0])
    (second,) = torch.autograd.grad(torch.autograd.grad((scale**3 * x).sum(), scale, create_graph=True)[0], scale)
    assert second.item() == 54.0
    step = torch.zeros(2, device=OTHER)
    for k in range(4):
        step += _number(float(k)) * x.detach()
    assert step.tolist() == [6.0, 12.0]


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU does not look at targets")
def test_invalid_class_targets() -> None:
    x, y = torch.ones(2, 3), torch.tensor([0, 5])
    for loss in (F.cross_entropy, F.nll_loss, nn.CrossEntropyLoss(reduction="sum"), nn.CrossEntropyLoss(torch.ones(3))):
        with pytest.raises(IndexError, match=r"Target 5 is out of bounds\."):
            loss(x, y)
    with pytest.raises(IndexError, match="Target -1 is"):
        F.cross_entropy(x, torch.tensor([0, -1]))
    assert F.cross_entropy(x, torch.tensor([0, -100])).item() == pytest.approx(np.log(3))
    assert F.cross_entropy(x, torch.tensor([5, 0]), ignore_index=5).item() == pytest.approx(np.log(3))
