"""Training steps on a GPU: what only its graphs can get wrong."""

from __future__ import annotations

import cuprous.torch as torch
from cuprous import _core


def test_a_step_stays_a_graph_for_any_number_of_models() -> None:
    """Each model has addresses of its own, for which routines of the graph are captured anew."""
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
