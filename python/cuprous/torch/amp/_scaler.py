"""Scaling of losses, so that small gradients do not underflow in float16."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.amp import _speculative
from cuprous.torch.autograd._modes import no_grad


class GradScaler:
    """Multiplies the loss by a scale, divides the gradients by it, and skips steps whose gradients are not finite.

    The program that computes the gradients also checks them. On a GPU, for networks of one to four million
    parameters, the same program keeps the old parameters if the check fails, so that no step waits. For other
    networks, and on the CPU, waiting is cheaper. The scale is stored on the device; `get_scale` waits for it.

    Parameters
    ----------
    device : {"cpu", "cuda"}, default "cuda"
        "cpu" or "cuda".
    init_scale : float, optional
        The first scale.
    growth_factor : float, default 2.0
        The factor by which the scale grows.
    backoff_factor : float, default 0.5
        The factor by which the scale shrinks after a skipped step.
    growth_interval : int, default 2000
        The number of successful steps after which the scale grows.
    enabled : bool, default True
        Whether there is a scale; the methods pass values on otherwise.

    See Also
    --------
    torch.amp.autocast

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer, scaler = torch.optim.SGD([x], lr=0.1), torch.amp.GradScaler("cpu")
    >>> scaler.scale((x * x).sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> x.detach()
    tensor([2.4000])
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
        #: Tensors of float32 and int32 without dimensions, created when the device is known.
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        #: For each optimizer, whether steps are speculative rather than waited for.
        self._uses_speculation: dict[int, bool] = {}
        self._new_round()

    def _new_round(self) -> None:
        #: For each optimizer since the last update: whether a gradient is not finite, and whether it has stepped.
        self._nonfinite: dict[int, Tensor] = {}
        self._stepped: set[int] = set()

    def _scale_on(self, device: str) -> Tensor:
        """Returns the scale, on a device."""
        if self._scale is None:
            self._set(self._init_scale, self._init_growth_tracker, device)
        assert self._scale is not None
        return _core.t_to_device(self._scale, device)

    def _set(self, scale: float, tracker: int, device: str) -> None:
        self._scale = _core.t_full([], scale, "float32", device)
        self._growth_tracker = _core.t_full([], tracker, "int32", device)

    def scale(self, outputs: Any) -> Any:
        """Returns a loss, or each of a sequence of losses, times the scale.

        Parameters
        ----------
        outputs : Tensor or sequence of Tensors
            A tensor, or a sequence of tensors.

        Returns
        -------
        Tensor
            A tensor, or a sequence of tensors.

        Raises
        ------
        ValueError
            For anything other than tensors.

        Examples
        --------
        >>> torch.amp.GradScaler("cpu", init_scale=4.0).scale(torch.tensor(0.5))
        tensor(2.)
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale_on(outputs.device_name)
        if isinstance(outputs, (tuple, list)):
            return type(outputs)(self.scale(x) for x in outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the scale, for example to clip them before `step`.

        Parameters
        ----------
        optimizer : Optimizer
            The optimizer.

        Raises
        ------
        RuntimeError
            If called twice, or after `step`.
        ValueError
            For float16 gradients, in which the scaled values may already have underflowed.

        Examples
        --------
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> optimizer, scaler = torch.optim.SGD([x], lr=0.1), torch.amp.GradScaler("cpu")
        >>> scaler.scale((x * x).sum()).backward()
        >>> scaler.unscale_(optimizer)
        >>> x.grad
        tensor([6.])
        """
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._nonfinite:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        with no_grad():
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
                        factors[g.device_name] = _core.t_map("reciprocal", self._scale_on(g.device_name))
                    _core.t_map_inplace("multiply", g, factors[g.device_name])
        if bad is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        self._nonfinite[id(optimizer)] = _core.t_map("greater", bad, 0.0)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Runs the optimizer's step unless a gradient is not finite.

        It waits for the check if that is cheaper than a speculative step, and for optimizers with a `step` or hooks
        of their own.

        Parameters
        ----------
        optimizer : Optimizer
            The optimizer.
        *args : any
            The arguments of the optimizer's `step`.
        **kwargs : any
            Its keyword arguments.

        Returns
        -------
        Tensor
            The result of the optimizer's `step`, or None.

        Raises
        ------
        RuntimeError
            If called twice before `update`, or with a closure.

        Examples
        --------
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> optimizer, scaler = torch.optim.SGD([x], lr=0.1), torch.amp.GradScaler("cpu")
        >>> scaler.scale(float("inf") * x.sum()).backward()
        >>> scaler.step(optimizer)
        >>> x.detach()
        tensor([3.])
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
        """Lowers the scale after a skipped step, and raises it after `growth_interval` successful ones.

        Parameters
        ----------
        new_scale : number, optional
            A scale to set instead.

        Raises
        ------
        AssertionError
            If there was no step since the last update.

        Examples
        --------
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> optimizer, scaler = torch.optim.SGD([x], lr=0.1), torch.amp.GradScaler("cpu", init_scale=8.0)
        >>> scaler.scale(float("inf") * x.sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> scaler.get_scale()
        4.0
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
            with no_grad():
                self._move(self._scale, self._growth_tracker)
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
        """Returns the scale, which is 1 if scaling is disabled.

        Returns
        -------
        float

        Examples
        --------
        >>> torch.amp.GradScaler("cpu", init_scale=8.0).get_scale()
        8.0
        """
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale)

    def get_growth_factor(self) -> float:
        """Returns the factor by which the scale grows.

        Returns
        -------
        float

        Examples
        --------
        >>> torch.amp.GradScaler("cpu").get_growth_factor()
        2.0
        """
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets the factor by which the scale grows.

        Parameters
        ----------
        new_factor : float
            The factor.

        Examples
        --------
        >>> torch.amp.GradScaler("cpu").set_growth_factor(4.0)
        """
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Returns the factor by which the scale shrinks.

        Returns
        -------
        float

        Examples
        --------
        >>> torch.amp.GradScaler("cpu").get_backoff_factor()
        0.5
        """
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets the factor by which the scale shrinks.

        Parameters
        ----------
        new_factor : float
            The factor.

        Examples
        --------
        >>> torch.amp.GradScaler("cpu").set_backoff_factor(0.25)
        """
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Returns the number of successful steps after which the scale grows.

        Returns
        -------
        int

        Examples
        --------
        >>> torch.amp.GradScaler("cpu").get_growth_interval()
        2000
        """
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets the number of successful steps after which the scale grows.

        Parameters
        ----------
        new_interval : int
            The number of steps.

        Examples
        --------
        >>> torch.amp.GradScaler("cpu").set_growth_interval(100)
        """
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Returns True if scaling is enabled.

        Returns
        -------
        bool

        Examples
        --------
        >>> torch.amp.GradScaler("cpu", enabled=False).is_enabled()
        False
        """
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Returns the scale and its settings.

        Returns
        -------
        dict
            A dict, which is empty if scaling is disabled.

        Examples
        --------
        >>> torch.amp.GradScaler("cpu", init_scale=8.0).state_dict()["scale"]
        8.0
        """
        if not self._enabled:
            return {}
        tracker = self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker)
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": tracker}  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores a state.

        Parameters
        ----------
        state_dict : dict
            What `state_dict` returned.

        Raises
        ------
        RuntimeError
            If the state is empty.

        Examples
        --------
        >>> scaler = torch.amp.GradScaler("cpu")
        >>> scaler.load_state_dict(torch.amp.GradScaler("cpu", init_scale=8.0).state_dict())
        >>> scaler.get_scale()
        8.0
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
