"""Tests training steps on a GPU for errors that only CUDA graphs can cause."""

from __future__ import annotations

from typing import Any

import numpy as np

import cuprous.torch as torch
from cuprous import _core


def test_a_step_stays_a_graph_for_any_number_of_models() -> None:
    """Each model has its own addresses, for which library routines of the graph are captured again."""
    nn = torch.nn

    def train(steps: int) -> None:
        model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 8)).cuda()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        x, y = torch.randn(64, 256, device="cuda"), torch.randn(64, 8, device="cuda")
        for _ in range(steps):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        _core.synchronize()

    for _ in range(24):
        train(80)
    before = _core.stats()["graph_launches"]
    train(80)
    assert _core.stats()["graph_launches"] - before > 60


def test_gradients_at_equal_indices_are_the_same_in_every_run() -> None:
    rng = np.random.default_rng(8)
    index, given = rng.integers(0, 50, 20_000), rng.standard_normal((20_000, 16)).astype(np.float32)
    expected = np.zeros((60, 16))
    np.add.at(expected, index, given.astype(np.float64))

    def run(dtype: Any, scale: float) -> Any:
        table = torch.zeros(60, 16, dtype=dtype, device="cuda").requires_grad_(True)
        rows = table[torch.from_numpy(index).to("cuda")]
        rows.backward(torch.from_numpy(given).to("cuda", dtype) * scale)
        return table.grad.cpu().numpy()

    for scale in (1.0, 1e-30, 1e30):
        first = run(torch.float32, scale)
        assert all((run(torch.float32, scale) == first).all() for _ in range(5))
        np.testing.assert_allclose(first / scale, expected, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(run(torch.float64, 1.0), expected, rtol=1e-12, atol=1e-12)
    assert (run(torch.float32, 0.0) == 0).all()
    bad = run(torch.float32, float("inf"))
    assert not np.isfinite(bad[:50]).any() and (bad[50:] == 0).all()


def test_convolution_without_a_cudnn_engine() -> None:
    """cuDNN has no engine for the gradient of these weights in float64 within the limit on its workspace."""
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((1, 64, 8, 56, 56)), rng.standard_normal((64, 64, 3, 7, 7))

    def run(device: str) -> Any:
        inputs, weights = (torch.tensor(a, device=device).requires_grad_(True) for a in (x, w))
        y = torch.nn.functional.conv3d(inputs, weights, stride=(1, 2, 2), padding=(1, 3, 3))
        y.backward(torch.ones_like(y))
        return [t.detach().cpu().numpy() for t in (y, inputs.grad, weights.grad)]

    for found, expected in zip(run("cuda"), run("cpu"), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_loss_is_read_during_the_backward_pass() -> None:
    import cuprous as cp

    x, a = cp.ones((4096, 4096), dtype="float32"), cp.full((4096, 4096), 1e-4, dtype="float32")
    stream = cp.cuda.get_current_stream()
    busy = []
    for turn in range(8):  # planned, run, built as a graph, replayed
        loss = (x * (turn + 1)).mean()
        y = a
        for _ in range(40):
            y = cp.tanh(y @ a)
        assert float(loss) == turn + 1
        busy.append(not stream.done)
        cp.synchronize()
        assert float(loss) == turn + 1
    assert sum(busy) >= 6
