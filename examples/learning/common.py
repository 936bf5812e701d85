"""Common parts of the scripts in this folder: the import of PyTorch or Cuprous, options, the training loop and its
check.

`python simple_net.py` trains with Cuprous, and `python simple_net.py --torch` trains the same program with PyTorch.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

if "--torch" in sys.argv:
    import torch
    from torch import nn, optim
else:
    import cuprous.torch as torch
    from cuprous.torch import nn, optim

__all__ = ["Setting", "descend", "nn", "optim", "run", "torch"]


class Setting:
    """The number of steps, the device and the dtype; `prepare` may replace the initial values of a model."""

    def __init__(self, steps: int, device: str = "cpu", dtype: Any = torch.float32,
                 prepare: Callable[[Any], None] | None = None) -> None:  # fmt: skip
        self.steps, self.device, self.dtype, self.prepare = steps, torch.device(device), dtype, prepare

    def model(self, model: Any) -> Any:
        """Returns the model on the device, with its dtype."""
        model = model.to(self.device).to(self.dtype)
        if self.prepare is not None:
            self.prepare(model)
        return model

    def floats(self, values: Any) -> Any:
        """Returns NumPy numbers as floats on the device."""
        return torch.tensor(values, dtype=self.dtype, device=self.device)

    def whole(self, values: Any) -> Any:
        """Returns NumPy numbers as int64 on the device."""
        return torch.tensor(values, dtype=torch.int64, device=self.device)


def descend(setting: Setting, optimizer: Any, loss_of: Callable[[int], Any]) -> list[float]:
    """The training loop. Losses are read at the end, so that no step waits for the previous one."""
    losses = []
    for step in range(setting.steps):
        optimizer.zero_grad()
        loss = loss_of(step)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [float(loss) for loss in losses]


def run(train: Callable[[Setting], list[float]], steps: int, fall: float) -> None:
    """Trains, prints losses and time, and checks that the last losses are at most `fall` times the first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--torch", action="store_true", help="by PyTorch instead of Cuprous")
    options = parser.parse_args()
    torch.manual_seed(0)
    start = time.perf_counter()
    losses = train(Setting(options.steps, options.device))
    seconds = time.perf_counter() - start
    for k in range(0, len(losses), max(len(losses) // 8, 1)):
        print(f"step {k:5d}  loss {losses[k]:.5f}")
    last = sum(losses[-5:]) / len(losses[-5:])
    print(f"last         {last:.5f}  ({len(losses)} steps in {seconds:.2f} s on {options.device})")
    bound = fall if options.steps >= steps else 1.0  # fewer steps must still lower the loss
    if not last < bound * losses[0]:
        raise SystemExit(f"the loss did not fall: {losses[0]:.5f} at first, {last:.5f} at last")
