"""Schedulers that combine others, and one that monitors a metric."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from cuprous.torch.optim._optimizer import Optimizer
from cuprous.torch.optim.lr_scheduler._base import LRScheduler, one_each


class _Combined(LRScheduler):
    """Base class of combinations of schedulers of one optimizer."""

    _not_saved = ("optimizer", "_schedulers")

    def _take(self, schedulers: Sequence[Any], optimizer: Optimizer | None) -> None:
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got none.")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        for k, scheduler in enumerate(schedulers):
            if scheduler.optimizer is not self.optimizer:
                raise ValueError(
                    f"{type(self).__name__} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {k} for another one"
                )
        self._schedulers = list(schedulers)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state, without the optimizer, with the states of the schedulers.

        Returns
        -------
        dict

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
        >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> len(torch.optim.lr_scheduler.ChainedScheduler([decay]).state_dict()["_schedulers"])
        1
        """
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores a state.

        Parameters
        ----------
        state_dict : dict
            What `state_dict` returned.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
        >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([decay])
        >>> scheduler.load_state_dict(scheduler.state_dict())
        """
        state = dict(state_dict)
        for scheduler, own in zip(self._schedulers, state.pop("_schedulers"), strict=True):
            scheduler.load_state_dict(own)
        super().load_state_dict(state)


class SequentialLR(_Combined):
    """A scheduler that runs others one after another. At each milestone the next one starts from its beginning.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    schedulers : sequence of LRScheduler
        The schedulers, all of the same optimizer.
    milestones : sequence of ints
        The steps at which the next scheduler starts, one less than schedulers.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    Raises
    ------
    ValueError
        For schedulers of other optimizers, or another number of milestones.

    See Also
    --------
    torch.optim.lr_scheduler.ChainedScheduler

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> warmup = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
    >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[2])
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int],
                 last_epoch: int = -1) -> None:  # fmt: skip
        self._take(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        # Every scheduler took its first step when it was created; only that of the first one may remain.
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0]._step_count = 0
        self._schedulers[0].step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Sets the rates of the next epoch.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
        >>> warmup = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
        >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[2])
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.1]
        """
        self.last_epoch += 1
        position = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[position]
        if position > 0 and self._milestones[position - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """A scheduler that applies several at once. Each modifies the rates of the one before.

    Parameters
    ----------
    schedulers : sequence of LRScheduler
        The schedulers, all of the same optimizer.
    optimizer : Optimizer, optional
        The optimizer, whose rates are set.

    Raises
    ------
    ValueError
        For no schedulers, or schedulers of other optimizers.

    See Also
    --------
    torch.optim.lr_scheduler.SequentialLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([
    ...     torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=5),
    ...     torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)])
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.05]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._take(schedulers, optimizer)
        self._last_lr = self._rates

    def step(self) -> None:  # type: ignore[override]
        """Sets the rates of the next epoch.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler(
        ...     [torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)])
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
        """
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates


class ReduceLROnPlateau(LRScheduler):
    """A scheduler that lowers the rate when a metric has not improved for some steps.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    mode : str, default "min"
        "min" if a lower metric is better, "max" if a higher one is.
    factor : float, default 0.1
        The factor of the rates.
    patience : int, default 10
        The number of steps without an improvement that are allowed.
    threshold : float, default 0.0001
        The least improvement that counts.
    threshold_mode : str, default "rel"
        "rel" for an improvement relative to the best metric, "abs" for an absolute one.
    cooldown : int, default 0
        The number of steps after a reduction before counting begins again.
    min_lr : float or sequence of floats, default 0
        The least rate, or one for each group.
    eps : float, default 1e-08
        The least change of a rate.

    Raises
    ------
    ValueError
        For a factor of at least 1, or another mode.

    See Also
    --------
    torch.optim.lr_scheduler.StepLR

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (3.0, 3.0, 3.0):
    ...     optimizer.step()
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0,
                 eps: float = 1e-8) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer = optimizer
        self.mode, self.factor, self.patience, self.threshold = mode, factor, patience, threshold
        self.threshold_mode, self.cooldown, self.eps = threshold_mode, cooldown, eps
        self.min_lrs = one_each("min_lr", min_lr, optimizer)
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = self._rates

    def is_better(self, a: float, best: float) -> bool:
        """Returns True if a value improves on the best one by more than the threshold.

        Parameters
        ----------
        a : float
            The value.
        best : float
            The best value.

        Returns
        -------
        bool

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
        >>> torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer).is_better(0.5, 1.0)
        True
        """
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "abs":
            return sign * a > sign * best + self.threshold
        return sign * a > sign * best * (1 + sign * self.threshold)

    @property
    def in_cooldown(self) -> bool:
        """True during the cooldown after a reduction."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Compares a metric with the best one, and lowers the rates if it has not improved for too long.

        Parameters
        ----------
        metrics : Tensor or number
            The metric, a number or a tensor of one element.
        epoch : int, optional
            The index of the step, by default the next one.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        >>> for loss in (3.0, 4.0):
        ...     optimizer.step()
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.1]
        """
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, low in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                old = float(group["lr"])
                new = max(old * self.factor, low)
                if old - new > self.eps:
                    group["lr"] = new
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates
