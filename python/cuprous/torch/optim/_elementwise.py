"""Optimizers whose step is one formula for each parameter. All formulas of a step are recorded before anything runs, so
that they become one program. Values that change with the step number are scalar parameters of it."""

from __future__ import annotations

from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import zeros_like
from cuprous.torch.optim._optimizer import Optimizer, gradients

_map, _update = _core.t_map, _core.t_update


def _scaled(x: Tensor, factor: float) -> Tensor:
    return _map("multiply", x, factor)


def _subtract(p: Tensor, change: Tensor) -> None:
    """`p -= change`."""
    _update(p, _map("subtract", p, change))


def _average(running: Tensor, new: Tensor, keep: float) -> Tensor:
    """`running = keep * running + (1 - keep) * new`."""
    _update(running, _map("add", _scaled(running, keep), _scaled(new, 1 - keep)))
    return running


class Elementwise(Optimizer):
    """Base class with one formula for each parameter; subclasses define the initial state and the formula."""

    #: The names of the state's tensors.
    _tensors: ClassVar[tuple[str, ...]] = ()

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return self._tensors

    def _start(self, state: dict[str, Any], p: Tensor, group: dict[str, Any]) -> None:
        state["step"] = 0
        for name in self._names(group):
            state[name] = zeros_like(p)

    def _update(self, group: dict[str, Any]) -> None:
        decay = group["weight_decay"]
        for p, g in gradients(group["params"]):
            if p.is_complex():
                raise NotImplementedError(f"[{type(self).__name__}] complex parameters are not supported")
            state = self.state[p]
            if not state:
                self._start(state, p, group)
            state["step"] += 1
            if group["maximize"]:
                g = _map("negative", g)
            if decay:
                if group.get("decoupled_weight_decay"):
                    _update(p, _scaled(p, 1 - float(group["lr"]) * decay))
                else:
                    g = _map("add", g, _scaled(p, decay))
            self._rule(p, g, state, group)

    def _rule(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError


__all__ = ["Elementwise"]
