"""Seed 001's training loop, 1,000 steps, by `cuprous.torch` and by PyTorch where it is installed.

python -m bench.learning [--device cuda]
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from typing import Any

STEPS, ROUNDS = 1000, 7


def microseconds_a_step(torch: Any, device: str) -> list[float]:
    """Of each round, with a final synchronize inside."""
    nn = torch.nn

    class SimpleNet(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(10, 2)

        def forward(self, x: Any) -> Any:
            return self.fc(x)

    model = SimpleNet().to(device)
    inputs, target = torch.randn(100, 10).to(device), torch.randn(100, 2).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.MSELoss()
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(STEPS):
            optimizer.zero_grad()
            output = model(inputs)
            loss = criterion(output, target)
            loss.backward()
            optimizer.step()
        if device != "cpu":
            torch.cuda.synchronize()
        rounds.append((time.perf_counter() - begin) / STEPS * 1e6)
    return rounds


def main() -> None:
    """Prints a row for each library."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    print("| library | first round, µs a step | median of the others |\n|---|---|---|")
    for name in ("cuprous.torch", "torch"):
        try:
            torch = importlib.import_module(name)
        except ImportError:
            continue
        first, *others = microseconds_a_step(torch, device)
        print(f"| {name} | {first:.1f} | {statistics.median(others):.1f} |")


if __name__ == "__main__":
    main()
