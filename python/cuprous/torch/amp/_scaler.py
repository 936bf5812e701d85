"""Scaling of losses, so that small gradients do not vanish in float16."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import Tensor


class GradScaler:
    """Multiplies the loss by a scale, divides the gradients by it, and leaves out steps with infinite gradients.

    Whether there are any is found by the program that computes the gradients; `step` waits for the answer. The scale is
    a scalar of the programs, so its changes make none anew.
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:  # fmt: skip
        if enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._device, self._enabled, self._scale = device, enabled, float(init_scale)
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._new_round()

    def _new_round(self) -> None:
        #: Of each optimizer since the last update: how many gradients are not finite, and whether it has stepped.
        self._found: dict[int, Any] = {}
        self._stepped: set[int] = set()

    def scale(self, outputs: Any) -> Any:
        """A loss, or all of a sequence, times the scale.

        Raises:
            ValueError: for anything else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (tuple, list)):
            return type(outputs)(self.scale(x) for x in outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients by the scale, for clipping before `step`.

        Raises:
            RuntimeError: a second time, or after `step`.
            ValueError: for gradients of float16, which have lost what scaling saves.
        """
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._found:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        before = _core.set_grad_enabled(False)
        try:
            bad = None
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    g = p.grad.detach()
                    if g.dtype_name == "float16":
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    count = _core.t_fold("max", _core.t_map("where", _core.t_map("isfinite", g), 0.0, 1.0))
                    bad = count if bad is None else _core.t_map("maximum", bad, count.to(bad.device))
                    _core.t_overwrite("multiply", g, 1.0 / self._scale)
        finally:
            _core.set_grad_enabled(before)
        if bad is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        self._found[id(optimizer)] = bad

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The optimizer's step, unless a gradient is not finite.

        Raises:
            RuntimeError: a second time before `update`, or with a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if args or "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        self._found[id(optimizer)] = bad = bool(self._found[id(optimizer)])
        return None if bad else optimizer.step(**kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Lowers the scale after a step that was left out, raises it after many that were not; or sets it.

        Raises:
            AssertionError: if there was no step since the last time.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._found:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(bool(found) for found in self._found.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale *= self._growth_factor
                self._growth_tracker = 0
        self._new_round()

    def get_scale(self) -> float:
        """The scale; 1 where scaling is off."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """By what the scale is raised."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets by what the scale is raised."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By what the scale is lowered."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets by what the scale is lowered."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the scale is raised."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets after how many good steps the scale is raised."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether there is any scaling."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and its settings; empty where scaling is off."""
        if not self._enabled:
            return {}
        return {"scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker}  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from what `state_dict` gave.

        Raises:
            RuntimeError: if it is empty.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance "
                               "of GradScaler.")  # fmt: skip
        self._scale, self._growth_tracker = float(state_dict["scale"]), state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
