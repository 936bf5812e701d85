"""Scaling of losses, so that small gradients do not vanish in float16."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.amp import _speculative


class GradScaler:
    """Multiplies the loss by a scale, divides the gradients by it, and leaves out steps with infinite gradients.

    Whether there are any is found by the program that computes the gradients, and on a GPU the same program keeps the
    parameters of networks of middling size (one to four million) as they are where there are: no step waits. For
    others, and on the CPU, waiting is cheaper. The scale lives on the device too; `get_scale` waits for it.
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:  # fmt: skip
        if enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._device, self._enabled, self._init_scale = device, enabled, float(init_scale)
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._init_growth_tracker = growth_interval, 0
        #: float32 and int32 without dimensions, once it is known on which device.
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        #: Of each optimizer: whether steps are taken back rather than waited for.
        self._uses_speculation: dict[int, bool] = {}
        self._new_round()

    def _new_round(self) -> None:
        #: Of each optimizer since the last update: whether some gradient is not finite, and whether it has stepped.
        self._nonfinite: dict[int, Tensor] = {}
        self._stepped: set[int] = set()

    def _on(self, device: str) -> Tensor:
        """The scale, beside a tensor."""
        if self._scale is None:
            self._set(self._init_scale, self._init_growth_tracker, device)
        assert self._scale is not None
        return _core.t_to_device(self._scale, device)

    def _set(self, scale: float, tracker: int, device: str) -> None:
        self._scale = _core.t_full([], scale, "float32", device)
        self._growth_tracker = _core.t_full([], tracker, "int32", device)

    def scale(self, outputs: Any) -> Any:
        """A loss, or all of a sequence, times the scale.

        Raises:
            ValueError: for anything else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._on(outputs.device_name)
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
        if id(optimizer) in self._nonfinite:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        before = _core.set_grad_enabled(False)
        try:
            bad, factors = None, {}
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    g = p.grad.detach()
                    if g.dtype_name == "float16":
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    found = _core.t_reduce("max", _core.t_map("where", _core.t_map("isfinite", g), 0.0, 1.0))
                    bad = found if bad is None else _core.t_map("maximum", bad, found.to(bad.device))
                    if g.device_name not in factors:
                        factors[g.device_name] = _core.t_map("reciprocal", self._on(g.device_name))
                    _core.t_map_inplace("multiply", g, factors[g.device_name])
        finally:
            _core.set_grad_enabled(before)
        if bad is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        self._nonfinite[id(optimizer)] = _core.t_map("greater", bad, 0.0)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The optimizer's step, unless a gradient is not finite. Waits where that is cheaper than taking a step back,
        and for optimizers with a `step` or hooks of their own.

        Raises:
            RuntimeError: a second time before `update`, or with a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if args or "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._nonfinite:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        bad = self._nonfinite[id(optimizer)]
        if id(optimizer) not in self._uses_speculation:
            self._uses_speculation[id(optimizer)] = _speculative.is_worthwhile(optimizer)
        if self._uses_speculation[id(optimizer)] and not kwargs and _speculative.is_supported(optimizer):
            _speculative.SpeculativeStep(optimizer, bad)
            return None
        return None if bool(bad) else optimizer.step(**kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Lowers the scale after a step that was left out, raises it after many that were not; or sets it.

        Raises:
            AssertionError: if there was no step since the last time.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            device = self._device if self._scale is None else self._scale.device_name
            tracker = self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker)
            self._set(float(new_scale), tracker, device)
        elif not self._nonfinite or self._scale is None or self._growth_tracker is None:
            raise AssertionError("No inf checks were recorded prior to update.")
        else:
            before = _core.set_grad_enabled(False)
            try:
                self._move(self._scale, self._growth_tracker)
            finally:
                _core.set_grad_enabled(before)
        self._new_round()

    def _move(self, scale: Tensor, tracker: Tensor) -> None:
        bad = None
        for found in self._nonfinite.values():
            found = found.to(scale.device)
            bad = found if bad is None else _core.t_map("logical_or", bad, found)
        good = _core.t_map("where", bad, 0, _core.t_map("add", tracker, 1))
        due = _core.t_map("equal", good, self._growth_interval)
        grown = _core.t_map("multiply", scale, self._growth_factor)
        grown = _core.t_map("where", _core.t_map("logical_and", due, _core.t_map("isfinite", grown)), grown, scale)
        lowered = _core.t_map("multiply", scale, self._backoff_factor)
        self._scale = _core.t_map("where", bad, lowered, grown)
        self._growth_tracker = _core.t_map("where", due, 0, good, dtype="int32")

    def get_scale(self) -> float:
        """The scale; 1 where scaling is off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale)

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
        tracker = self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker)
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": tracker}  # fmt: skip

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
        self._init_scale, self._init_growth_tracker = float(state_dict["scale"]), int(state_dict["_growth_tracker"])
        if self._scale is not None:
            self._set(self._init_scale, self._init_growth_tracker, self._scale.device_name)
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
