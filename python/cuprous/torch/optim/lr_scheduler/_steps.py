"""Schedulers that depend only on the step number."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from cuprous.torch.optim._optimizer import Optimizer
from cuprous.torch.optim.lr_scheduler._base import LRScheduler, one_each, own_values


class _ByFunctions(LRScheduler):
    _not_saved = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas: list[Callable[[int], float]] = one_each("lr_lambda", lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state, without the optimizer and plain functions. Functions that are objects are saved with their
        attributes.

        Returns
        -------
        dict

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
        >>> torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step).state_dict()["lr_lambdas"]
        [None]
        """
        return {**super().state_dict(), "lr_lambdas": own_values(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores a state.

        Parameters
        ----------
        state_dict : dict
            What `state_dict` returned.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
        >>> scheduler.load_state_dict(scheduler.state_dict())
        """
        state = dict(state_dict)
        for function, own in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            if own is not None:
                function.__dict__.update(own)
        super().load_state_dict(state)


class LambdaLR(_ByFunctions):
    """A scheduler that sets the first rate times a function of the step.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    lr_lambda : callable or list of callables
        The function, or one for each group.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    Raises
    ------
    ValueError
        For another number of functions than groups.

    See Also
    --------
    torch.optim.lr_scheduler.MultiplicativeLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Any]:
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_ByFunctions):
    """A scheduler that multiplies the rate by a function of the step.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    lr_lambda : callable or list of callables
        The function, or one for each group.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    Raises
    ------
    ValueError
        For another number of functions than groups.

    See Also
    --------
    torch.optim.lr_scheduler.LambdaLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda step: 0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._rates
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self._rates, strict=True)]


class StepLR(LRScheduler):
    """A scheduler that multiplies the rate by a factor after each number of steps.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    step_size : int
        The number of steps.
    gamma : float, default 0.1
        The factor.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    See Also
    --------
    torch.optim.lr_scheduler.MultiStepLR, torch.optim.lr_scheduler.ConstantLR, torch.optim.lr_scheduler.ExponentialLR,
    torch.optim.lr_scheduler.LinearLR, torch.optim.lr_scheduler.PolynomialLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return self._all(self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1.0)

    def _closed_form(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """A scheduler that multiplies the rate by a factor at each milestone.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    milestones : iterable of ints
        The steps.
    gamma : float, default 0.1
        The factor.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    See Also
    --------
    torch.optim.lr_scheduler.ConstantLR, torch.optim.lr_scheduler.ExponentialLR, torch.optim.lr_scheduler.LinearLR,
    torch.optim.lr_scheduler.PolynomialLR, torch.optim.lr_scheduler.StepLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 2], gamma=0.5)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return self._all(self.gamma ** self.milestones[self.last_epoch])

    def _closed_form(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """A scheduler that multiplies the rate by a factor for some steps.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    factor : float, optional
        The factor.
    total_iters : int, default 5
        The number of steps.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    See Also
    --------
    torch.optim.lr_scheduler.ExponentialLR, torch.optim.lr_scheduler.LinearLR, torch.optim.lr_scheduler.PolynomialLR,
    torch.optim.lr_scheduler.StepLR, torch.optim.lr_scheduler.MultiStepLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5).get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5,
                 last_epoch: int = -1) -> None:  # fmt: skip
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._all(self.factor)
        return self._all(1.0 / self.factor if self.last_epoch == self.total_iters else 1.0)

    def _closed_form(self) -> list[Any]:
        return [base * (1.0 if self.last_epoch >= self.total_iters else self.factor) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """A scheduler that multiplies the rate by a factor that changes linearly.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    start_factor : float, optional
        The first factor.
    end_factor : float, default 1.0
        The last factor.
    total_iters : int, default 5
        The number of steps.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    See Also
    --------
    torch.optim.lr_scheduler.PolynomialLR, torch.optim.lr_scheduler.StepLR, torch.optim.lr_scheduler.MultiStepLR,
    torch.optim.lr_scheduler.ConstantLR, torch.optim.lr_scheduler.ExponentialLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1) -> None:  # fmt: skip
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.start_factor + (self.end_factor - self.start_factor) * min(epoch / self.total_iters, 1.0)

    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._all(self.start_factor)
        if self.last_epoch > self.total_iters:
            return self._rates
        return self._all(self._factor(self.last_epoch) / self._factor(self.last_epoch - 1))

    def _closed_form(self) -> list[Any]:
        return [base * self._factor(self.last_epoch) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """A scheduler that multiplies the rate by a factor at each step.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    gamma : float
        The factor.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    See Also
    --------
    torch.optim.lr_scheduler.LinearLR, torch.optim.lr_scheduler.PolynomialLR, torch.optim.lr_scheduler.StepLR,
    torch.optim.lr_scheduler.MultiStepLR, torch.optim.lr_scheduler.ConstantLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return self._all(self.gamma if self.last_epoch else 1.0)

    def _closed_form(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """A scheduler that sets the first rate times `(1 - step / total_iters) ** power`, which ends at 0.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    total_iters : int, default 5
        The number of steps.
    power : float, default 1.0
        The exponent.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    See Also
    --------
    torch.optim.lr_scheduler.StepLR, torch.optim.lr_scheduler.MultiStepLR, torch.optim.lr_scheduler.ConstantLR,
    torch.optim.lr_scheduler.ExponentialLR, torch.optim.lr_scheduler.LinearLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return self._rates
        now, before = (1.0 - k / self.total_iters for k in (self.last_epoch, self.last_epoch - 1))
        return self._all((now / before) ** self.power)

    def _closed_form(self) -> list[Any]:
        rest = 1.0 - min(self.last_epoch, self.total_iters) / self.total_iters
        return [base * rest**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """A scheduler that lowers the rate by half a cosine wave, and then raises it again (Loshchilov and Hutter, 2017).

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    T_max : int
        The number of steps of half a wave.
    eta_min : float, default 0.0
        The lowest rate.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    See Also
    --------
    torch.optim.lr_scheduler.CosineAnnealingWarmRestarts, torch.optim.lr_scheduler.OneCycleLR,
    torch.optim.lr_scheduler.CyclicLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _cosine(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list[Any]:
        t, low = self.last_epoch, self.eta_min
        if t == 0:
            return self._rates
        if self._step_count == 1 and t > 0:
            return self._closed_form()
        if (t - 1 - self.T_max) % (2 * self.T_max) == 0:  # one step after the minimum, where the previous value was 0
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - low) * rise for lr, base in zip(self._rates, self.base_lrs, strict=True)]
        factor = self._cosine(t) / self._cosine(t - 1)
        return [low + (lr - low) * factor for lr in self._rates]

    def _closed_form(self) -> list[Any]:
        return [self.eta_min + (base - self.eta_min) * self._cosine(self.last_epoch) / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """A scheduler with cosine annealing that starts again after each period (Loshchilov and Hutter, 2017).

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    T_0 : int
        The number of steps of the first period.
    T_mult : int, default 1
        The ratio of successive periods.
    eta_min : float, default 0.0
        The lowest rate.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    Raises
    ------
    ValueError
        For a period or ratio that is not a positive integer.

    See Also
    --------
    torch.optim.lr_scheduler.OneCycleLR, torch.optim.lr_scheduler.CyclicLR, torch.optim.lr_scheduler.CosineAnnealingLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0,
                 last_epoch: int = -1) -> None:  # fmt: skip
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, float(last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        wave = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Sets the rates of the next epoch.

        Parameters
        ----------
        epoch : float, optional
            An epoch to set the rates of instead, which may have a fraction.

        Raises
        ------
        ValueError
            For a negative epoch.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> optimizer.step()
        >>> scheduler.step(1.0)
        >>> scheduler.get_last_lr()
        [0.5]
        """
        self._step_count += 1
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self.T_cur, self.T_i = float(epoch), self.T_0
            while self.T_cur >= self.T_i:
                if self.T_mult == 1:
                    self.T_cur %= self.T_0
                else:
                    self.T_cur -= self.T_i
                    self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())
