"""Speculative optimizer steps: a step is undone on the device if a gradient is not finite, without a synchronization.

The program computes the step, and keeps the old values where the flag is set. What the host counts (step numbers, which
state exists) is updated as if the step succeeded. It is corrected before it is next read, when the flag is known.
"""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.autograd._modes import no_grad

#: Range of the number of parameters within which keeping old values is cheaper than waiting for a GPU. For smaller
#: networks a step takes longer on the host than on the GPU, and recording the copies costs more than the wait (H200,
#: 0.2 million parameters: 1.49 instead of 1.12 ms a step if the host is the bottleneck, 2.76 instead of 3.05 if the GPU
#: is). For larger networks the copies take longer: 24 bytes an element, with Adam's state.
SMALL, LARGE = 1 << 20, 4 << 20


def is_worthwhile(optimizer: Any) -> bool:
    """Returns True if waiting for the flag would take longer than a speculative step. Never true on the CPU, which has
    no work left to wait for."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    count = sum(p.numel() for p in parameters)
    return all(p.device_name != "cpu" for p in parameters) and SMALL <= count <= LARGE


def is_supported(optimizer: Any) -> bool:
    """Returns True if the optimizer's `step` is not overridden and has no hooks."""
    from cuprous.torch.optim import Optimizer

    hooked = getattr(optimizer, "_pre_hooks", None) or getattr(optimizer, "_step_hooks", None)
    return isinstance(optimizer, Optimizer) and type(optimizer).step is Optimizer.step and not hooked and (
        "step" not in vars(optimizer)
    )  # fmt: skip


class SpeculativeStep:
    """A speculative step, and the host state that must be restored if it is undone."""

    def __init__(self, optimizer: Any, bad: Tensor) -> None:
        if optimizer._unresolved is not None:
            optimizer._unresolved.resolve()
        self._optimizer, self._nonfinite = optimizer, bad
        #: For each updated parameter, the entries of its state that are not tensors; None if it had no state.
        self._counts: dict[Tensor, dict[str, Any] | None] = {}
        with no_grad():
            self._step()
        optimizer._opt_called = True
        optimizer._unresolved = self
        _core.flush()

    def _step(self) -> None:
        optimizer, written = self._optimizer, []
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = optimizer.state.get(p)
                written += [p, *(value for value in (state or {}).values() if isinstance(value, Tensor))]
                self._counts[p] = (
                    {name: value for name, value in state.items() if not isinstance(value, Tensor)} if state else None
                )
        olds = [_core.t_cast(t, t.dtype_name) for t in written]
        for group in optimizer.param_groups:
            optimizer._update(group)
        flags: dict[str, Tensor] = {}
        for t, old in zip(written, olds, strict=True):
            flag = flags.setdefault(t.device_name, self._nonfinite.to(t.device))
            _core.t_update(t, _core.t_map("where", flag, old, t))

    def resolve(self) -> None:
        """Waits for the flag, and restores the host state if the step was undone."""
        self._optimizer._unresolved = None
        if not bool(self._nonfinite):
            return
        for p, counts in self._counts.items():
            if counts is None:
                self._optimizer.state.pop(p, None)
            else:
                self._optimizer.state[p].update(counts)
