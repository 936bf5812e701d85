"""The base class of learning rate schedulers."""

from __future__ import annotations

import warnings
from typing import Any

from cuprous.torch.optim._optimizer import Optimizer


class LRScheduler:
    """Base class of schedulers, which set the learning rate of each group at each `step()`.

    A subclass computes the rates of step `last_epoch` in `get_lr`, usually from the current rates, so that several
    schedulers can be combined. If a formula gives the rates without the current ones, it is `_closed_form`.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer, whose rates are set.
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    See Also
    --------
    torch.optim.Optimizer

    Examples
    --------
    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [group["lr"] * (0.5 if self.last_epoch else 1.0) for group in self.optimizer.param_groups]
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=0.1)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> optimizer.param_groups[0]["lr"]
    0.05
    """

    #: Attributes that `state_dict` excludes.
    _not_saved: tuple[str, ...] = ("optimizer",)

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for k, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError("param 'initial_lr' is not specified in param_groups"
                               f"[{k}] when resuming scheduler with last_epoch >= 0.")  # fmt: skip
        self.base_lrs: list[Any] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._warned = False
        self.step()

    @property
    def _rates(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def _all(self, factor: float) -> list[Any]:
        """Returns the current rates times a factor."""
        return [lr * factor for lr in self._rates]

    def get_lr(self) -> list[Any]:
        """Returns the rates of step `last_epoch`. It is called by `step`.

        Returns
        -------
        list
            A list of one rate for each group.

        Raises
        ------
        NotImplementedError
            Unless a subclass implements it.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=0.1)
        >>> torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5).get_lr()
        [0.1]
        """
        raise NotImplementedError

    def _closed_form(self) -> list[Any] | None:
        """Returns the rates of step `last_epoch` from the initial ones, or None if there is no such formula."""
        return None

    def get_last_lr(self) -> list[Any]:
        """Returns the rates that were set last.

        Returns
        -------
        list
            A list of one rate for each group.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=0.1)
        >>> torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5).get_last_lr()
        [0.05]
        """
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Sets the rates of the next epoch.

        Parameters
        ----------
        epoch : int, optional
            An epoch to set the rates of instead.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=0.1)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.05]
        """
        self._step_count += 1
        if self._step_count == 2 and not (self._warned or getattr(self.optimizer, "_opt_called", True)):
            # An optimizer that overrides `step` does not record that it was called.
            if type(self.optimizer).step is Optimizer.step:
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite "
                    "order: `optimizer.step()` before `lr_scheduler.step()`; otherwise the first value of the schedule "
                    "is skipped.", stacklevel=2)  # fmt: skip
            self._warned = True
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            closed_form = self._closed_form()
            rates = self.get_lr() if closed_form is None else closed_form
        self._set(rates)

    def _set(self, rates: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = lr
        self._last_lr: list[Any] = self._rates

    def state_dict(self) -> dict[str, Any]:
        """Returns the state, without the optimizer.

        Returns
        -------
        dict

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=0.1)
        >>> torch.optim.lr_scheduler.StepLR(optimizer, step_size=3).state_dict()["step_size"]
        3
        """
        return {name: value for name, value in self.__dict__.items() if name not in self._not_saved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores a state.

        Parameters
        ----------
        state_dict : dict
            What `state_dict` returned.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=0.1)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3)
        >>> scheduler.load_state_dict({"step_size": 5})
        >>> scheduler.step_size
        5
        """
        self.__dict__.update(state_dict)


def own_values(functions: list[Any]) -> list[Any]:
    """Returns the saved form of functions: the attributes of callable objects, None for plain functions."""
    return [None if type(f).__name__ in ("function", "method", "builtin_function_or_method") else f.__dict__.copy()
            for f in functions]  # fmt: skip


def one_each(name: str, given: Any, optimizer: Optimizer) -> list[Any]:
    """Returns a value for each group, from one value for all or from a sequence.

    Raises
    ------
    ValueError
        If the number of values differs from that of the groups.
    """
    groups = len(optimizer.param_groups)
    if not isinstance(given, (list, tuple)):
        return [given] * groups
    if len(given) != groups:
        raise ValueError(f"expected {groups} values for {name}, got {len(given)}")
    return list(given)
