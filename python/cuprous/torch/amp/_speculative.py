"""An optimizer step that is undone if a gradient is not finite, without waiting for the answer.

The program computes the step and keeps the old values where the flag holds. What the host counts (steps, which state
there is) is counted as if all went well, and set right before anybody looks at it again: by then the flag is known.
"""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import Tensor

#: Elements of parameters from which and up to which keeping old values is cheaper than waiting for a GPU. Steps of
#: small networks take the host longer than the GPU, and what is recorded for this costs more than the wait (H200, 0.2
#: million parameters: 1.49 beside 1.12 ms a step where the host is the bound, 2.76 beside 3.05 where the GPU is). Of
#: large ones the copies take longer: 24 bytes an element, with Adam's state.
SMALL, LARGE = 1 << 20, 4 << 20


def is_worthwhile(optimizer: Any) -> bool:
    """Whether waiting would take longer: never on the CPU, whose work is done when it is asked."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    count = sum(p.numel() for p in parameters)
    return all(p.device_name != "cpu" for p in parameters) and SMALL <= count <= LARGE


def is_supported(optimizer: Any) -> bool:
    """Returns true if steps are the engine's own, without hooks."""
    from cuprous.torch.optim import Optimizer

    hooked = getattr(optimizer, "_pre_hooks", None) or getattr(optimizer, "_step_hooks", None)
    return isinstance(optimizer, Optimizer) and type(optimizer).step is Optimizer.step and not hooked and (
        "step" not in vars(optimizer)
    )  # fmt: skip


class SpeculativeStep:
    """A step, and what the host must know to take its part back."""

    def __init__(self, optimizer: Any, bad: Tensor) -> None:
        if optimizer._unresolved is not None:
            optimizer._unresolved.resolve()
        self._optimizer, self._nonfinite = optimizer, bad
        #: Of each parameter that steps: what its state held that is no tensor; None where there was no state.
        self._counts: dict[Tensor, dict[str, Any] | None] = {}
        before = _core.set_grad_enabled(False)
        try:
            self._step()
        finally:
            _core.set_grad_enabled(before)
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
        """Sets right what the host counts."""
        self._optimizer._unresolved = None
        if not bool(self._nonfinite):
            return
        for p, counts in self._counts.items():
            if counts is None:
                self._optimizer.state.pop(p, None)
            else:
                self._optimizer.state[p].update(counts)
