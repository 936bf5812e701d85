"""Cyclic schedulers, which also change the momentum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous.torch.optim._optimizer import Optimizer
from cuprous.torch.optim.lr_scheduler._base import LRScheduler, one_each


def _set_momentum(group: dict[str, Any], momentum: float) -> None:
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def _check_momentum(optimizer: Optimizer) -> None:
    if not any(name in optimizer.defaults for name in ("momentum", "betas")):
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")


_CYCLES: dict[str, tuple[Callable[[float, float], float], str]] = {
    "triangular": (lambda x, gamma: 1.0, "cycle"),
    "triangular2": (lambda x, gamma: 1 / 2.0 ** (x - 1), "cycle"),
    "exp_range": (lambda x, gamma: gamma**x, "iterations"),
}


class CyclicLR(LRScheduler):
    """A scheduler that varies the rate between two bounds (Smith, 2017). The momentum varies inversely.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    base_lr : float or sequence of floats
        The lower bound, or one for each group.
    max_lr : float or sequence of floats
        The upper bound, or one for each group.
    step_size_up : int, default 2000
        The number of steps from the lower to the upper bound.
    step_size_down : int, optional
        The number of steps back, by default the same.
    mode : str, default "triangular"
        "triangular", "triangular2" to halve the amplitude with each cycle, or "exp_range" to multiply it by `gamma`
        with each step.
    gamma : float, default 1.0
        The factor of "exp_range".
    scale_fn : callable, optional
        A function of the cycle or step that gives the amplitude, in place of `mode`.
    scale_mode : str, default "cycle"
        "cycle" or "iterations", the argument of `scale_fn`.
    cycle_momentum : bool, default True
        Whether the momentum varies.
    base_momentum : float or sequence of floats, default 0.8
        The lower bound of the momentum, or one for each group.
    max_momentum : float or sequence of floats, default 0.9
        The upper bound of the momentum, or one for each group.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    Raises
    ------
    ValueError
        For another mode, or an optimizer without momentum.

    See Also
    --------
    torch.optim.lr_scheduler.CosineAnnealingLR, torch.optim.lr_scheduler.CosineAnnealingWarmRestarts,
    torch.optim.lr_scheduler.OneCycleLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=0.1, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.1, max_lr=0.5, step_size_up=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _not_saved = ("optimizer", "scale_fn")

    def __init__(self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000,
                 step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0, scale_fn: Any = None,
                 scale_mode: str = "cycle", cycle_momentum: bool = True, base_momentum: Any = 0.8,
                 max_momentum: Any = 0.9, last_epoch: int = -1) -> None:  # fmt: skip
        if mode not in _CYCLES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        low = one_each("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, low, strict=True):
                group["lr"] = lr
        self.max_lrs = one_each("max_lr", max_lr, optimizer)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        self.mode, self.gamma, self.scale_fn = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _CYCLES[mode][1]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            _check_momentum(optimizer)
            self.base_momentums = one_each("base_momentum", base_momentum, optimizer)
            self.max_momentums = one_each("max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                for group, high in zip(optimizer.param_groups, self.max_momentums, strict=True):
                    _set_momentum(group, high)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = low

    def _height(self, cycle: int) -> float:
        at = cycle if self.scale_mode == "cycle" else self.last_epoch
        return self.scale_fn(at) if self.scale_fn is not None else _CYCLES[self.mode][0](at, self.gamma)

    def get_lr(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = part * self._height(cycle)
        if self.cycle_momentum:
            groups = self.optimizer.param_groups
            for group, low, high in zip(groups, self.base_momentums, self.max_momentums, strict=True):
                _set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]


class OneCycleLR(LRScheduler):
    """A scheduler that raises the rate once, and then lowers it to almost zero (Smith and Topin, 2019). The momentum
    varies inversely.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    max_lr : float or list of floats
        The highest rate, or one for each group.
    total_steps : int, optional
        The number of steps.
    epochs : int, optional
        The number of epochs, in place of `total_steps`.
    steps_per_epoch : int, optional
        The number of steps of an epoch.
    pct_start : float, default 0.3
        The part of the steps in which the rate rises.
    anneal_strategy : {"cos", "linear"}, default "cos"
        "cos" or "linear".
    cycle_momentum : bool, default True
        Whether the momentum varies.
    base_momentum : float or sequence of floats, default 0.85
        The lower bound of the momentum, or one for each group.
    max_momentum : float or sequence of floats, default 0.95
        The upper bound of the momentum, or one for each group.
    div_factor : float, default 25.0
        The ratio of the highest rate and the first one.
    final_div_factor : float, default 10000.0
        The ratio of the first rate and the last one.
    three_phase : bool, default False
        Whether the rate falls to the first one before it falls to the last one.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    Raises
    ------
    ValueError
        Without a number of steps, for another strategy, or an optimizer without momentum.

    See Also
    --------
    torch.optim.lr_scheduler.CyclicLR, torch.optim.lr_scheduler.CosineAnnealingLR,
    torch.optim.lr_scheduler.CosineAnnealingWarmRestarts

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=0.1, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None, epochs: int | None = None,
                 steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
                 cycle_momentum: bool = True, base_momentum: Any = 0.85, max_momentum: Any = 0.95,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1) -> None:  # fmt: skip
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
            if epochs <= 0 or steps_per_epoch <= 0:
                raise ValueError(f"Expected positive epochs and steps_per_epoch, but got {epochs}, {steps_per_epoch}")
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.total_steps, self.cycle_momentum, self._strategy = total_steps, cycle_momentum, anneal_strategy
        rise = float(pct_start * total_steps) - 1
        # For each phase: its last step, and the names of the settings at its ends.
        self._phases: list[tuple[float, str, str, str, str]] = [
            (rise, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        ]
        if three_phase:
            back = 2 * rise
            self._phases += [(back, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                             (total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]  # fmt: skip
        else:
            self._phases.append((total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        tops = one_each("max_lr", max_lr, optimizer)
        if cycle_momentum:
            _check_momentum(optimizer)
        if last_epoch == -1:
            bottoms = one_each("base_momentum", base_momentum, optimizer)
            peaks = one_each("max_momentum", max_momentum, optimizer)
            for group, top, bottom, peak in zip(optimizer.param_groups, tops, bottoms, peaks, strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
                if cycle_momentum:
                    group["max_momentum"], group["base_momentum"] = peak, bottom
                    _set_momentum(group, peak)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, part: float) -> float:
        if self._strategy == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self) -> list[Any]:
        """Returns the rates of step `last_epoch`, and sets the momenta.

        Returns
        -------
        list
            A list of one rate for each group.

        Raises
        ------
        ValueError
            After the last step.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=0.1, momentum=0.9)
        >>> torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10).get_lr()
        [0.040000000000000036]
        """
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        position = next((k for k, phase in enumerate(self._phases) if step <= phase[0]), len(self._phases) - 1)
        end, first, last, momentum, momentum_after = self._phases[position]
        begin = self._phases[position - 1][0] if position else 0.0
        part = (step - begin) / (end - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[first], group[last], part))
            if self.cycle_momentum:
                _set_momentum(group, self._between(group[momentum], group[momentum_after], part))
        return rates
