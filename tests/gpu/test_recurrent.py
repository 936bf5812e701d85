"""Compares recurrent layers by cuDNN with step-by-step computation."""

from __future__ import annotations

from typing import Any

import pytest

import cuprous.torch as torch

nn = torch.nn
CUDNN = torch.backends.cudnn
SHAPES: list[dict[str, Any]] = [
    {}, {"num_layers": 2}, {"bidirectional": True}, {"num_layers": 3, "bidirectional": True}, {"bias": False},
    {"batch_first": True}, {"num_layers": 2, "bias": False, "bidirectional": True, "batch_first": True},
]  # fmt: skip


@pytest.fixture(autouse=True)
def _by_cudnn() -> None:
    if not CUDNN.is_available():
        pytest.skip("cuDNN is not installed")


def run(model: Any, x: Any, by_cudnn: bool, states: Any = None) -> list[Any]:
    """Returns outputs, last states, and the gradients of inputs, states and parameters."""
    for p in model.parameters():
        p.grad = None
    x = x.detach().clone().requires_grad_(True)
    states = [s.detach().clone().requires_grad_(True) for s in states or []]
    with CUDNN.flags(enabled=by_cudnn, allow_tf32=False):
        given = (tuple(states) if len(states) > 1 else states[0],) if states else ()
        out, last = model(x, *given)
        last = last if isinstance(last, tuple) else (last,)
        loss = (out * out).sum() + sum((s * (k + 1)).sum() for k, s in enumerate(last))
        loss.backward()
    return [out.detach(), *(s.detach() for s in last), x.grad, *(s.grad for s in states),
            *(p.grad for p in model.parameters())]  # fmt: skip


def make(mode: str, dtype: Any = None, **options: Any) -> Any:
    torch.manual_seed(1)
    name, _, kind = mode.partition("_")
    more = {"nonlinearity": kind} if kind else {}
    return getattr(nn, name)(5, 7, **more, **options).to("cuda", dtype or torch.float64)


@pytest.mark.parametrize("mode", ["RNN_tanh", "RNN_relu", "GRU", "LSTM"])
@pytest.mark.parametrize("options", SHAPES, ids=str)
def test_values_and_gradients(mode: str, options: dict[str, Any]) -> None:
    model, x = make(mode, **options), torch.randn(4, 6, 5, dtype=torch.float64, device="cuda")
    for ours, theirs in zip(run(model, x, True), run(model, x, False), strict=True):
        assert ours.shape == theirs.shape and float((ours - theirs).abs().max()) < 1e-11


@pytest.mark.parametrize("mode", ["GRU", "LSTM"])
def test_first_states_and_single_sequences(mode: str) -> None:
    model = make(mode, num_layers=2)
    states = [torch.randn(2, 6, 7, dtype=torch.float64, device="cuda") for _ in range(1 + (mode == "LSTM"))]
    x = torch.randn(4, 6, 5, dtype=torch.float64, device="cuda")
    for ours, theirs in zip(run(model, x, True, states), run(model, x, False, states), strict=True):
        assert float((ours - theirs).abs().max()) < 1e-11
    for ours, theirs in zip(run(model, x[:, 0], True), run(model, x[:, 0], False), strict=True):
        assert ours.shape == theirs.shape and float((ours - theirs).abs().max()) < 1e-11


def test_training_and_inference_agree_in_float32() -> None:
    model, x = make("LSTM", torch.float32, num_layers=2), torch.randn(4, 6, 5, device="cuda")
    with CUDNN.flags(enabled=True, allow_tf32=False):
        noted = model(x)[0]
        with torch.no_grad():
            plain = model(x)[0]
    with CUDNN.flags(enabled=False):
        formula = model(x)[0]
    assert noted.requires_grad and not plain.requires_grad
    assert float((noted - plain).abs().max()) < 1e-5 and float((noted - formula).abs().max()) < 1e-5


def test_dropout_between_layers() -> None:
    model, x = make("LSTM", num_layers=3, dropout=0.5), torch.randn(4, 6, 5, dtype=torch.float64, device="cuda")
    got = []
    for by_cudnn in (True, False):
        torch.manual_seed(7)
        got.append(run(model, x, by_cudnn))
    for ours, theirs in zip(*got, strict=True):
        assert float((ours - theirs).abs().max()) < 1e-11


def test_second_backward_pass() -> None:
    model, x = make("GRU"), torch.randn(4, 6, 5, dtype=torch.float64, device="cuda", requires_grad=True)
    loss = model(x)[0].sum()
    loss.backward(retain_graph=True)
    first = x.grad.clone()
    loss.backward()
    assert torch.equal(x.grad, first + first)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    with pytest.raises(NotImplementedError, match=r"cudnn\.flags"):
        torch.autograd.grad(model(x)[0].sum(), [x], create_graph=True)


def test_overwritten_outputs_are_kept() -> None:
    model, x = make("GRU"), torch.randn(4, 6, 5, dtype=torch.float64, device="cuda", requires_grad=True)
    model(x)[0].sum().backward()
    wanted = x.grad.clone()
    x.grad = None
    out = model(x)[0]
    total = out.sum()
    with torch.no_grad():
        out.mul_(0)
    total.backward()
    assert torch.equal(x.grad, wanted)


def test_steps_are_replayed() -> None:
    model, x = make("LSTM", torch.float32), torch.randn(4, 6, 5, device="cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        out, _ = model(x)
        loss = (out - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True)
    torch.manual_seed(1)
    model = make("LSTM", torch.float32)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    with CUDNN.flags(enabled=False):
        for k in range(20):
            optimizer.zero_grad()
            out, _ = model(x)
            loss = (out - 1).square().mean()
            loss.backward()
            optimizer.step()
            assert abs(float(loss) - losses[k]) < 1e-3 * losses[k]
