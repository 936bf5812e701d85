"""Averages of a model's weights during training (Izmailov et al., 2018)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.autograd._modes import no_grad
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.optim._optimizer import Optimizer
from cuprous.torch.optim.lr_scheduler import LRScheduler
from cuprous.torch.optim.lr_scheduler._base import one_each


def _lerp(average: Tensor, new: Tensor, weight: float) -> Tensor:
    return _core.t_map("add", average, _core.t_map("multiply", _core.t_map("subtract", new, average), weight))


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """Returns a function that computes an exponential moving average.

    Parameters
    ----------
    decay : float, default 0.999
        The part of the average that remains at each update.

    Returns
    -------
    callable
        A function of the average, a parameter and the number of updates.

    Raises
    ------
    ValueError
        Unless the decay is in [0, 1].

    See Also
    --------
    torch.optim.swa_utils.get_ema_multi_avg_fn, torch.optim.swa_utils.get_swa_avg_fn,
    torch.optim.swa_utils.get_swa_multi_avg_fn

    Examples
    --------
    >>> torch.optim.swa_utils.get_ema_avg_fn(0.9)(torch.tensor(1.0), torch.tensor(2.0), 1)
    tensor(1.1000)
    """
    if not 0 <= decay <= 1:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return lambda average, new, num_averaged: _lerp(average, new, 1 - decay)


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """Returns a function that computes the equal average of all updates.

    Returns
    -------
    callable
        A function of the average, a parameter and the number of updates.

    See Also
    --------
    torch.optim.swa_utils.get_swa_multi_avg_fn, torch.optim.swa_utils.get_ema_avg_fn,
    torch.optim.swa_utils.get_ema_multi_avg_fn

    Examples
    --------
    >>> torch.optim.swa_utils.get_swa_avg_fn()(torch.tensor(1.0), torch.tensor(2.0), 1)
    tensor(1.5000)
    """
    return lambda average, new, num_averaged: _lerp(average, new, 1 / (float(num_averaged) + 1))


def _all(avg_fn: Callable[..., Tensor]) -> Callable[..., None]:
    def multi_avg_fn(averages: list[Tensor], news: list[Tensor], num_averaged: Any) -> None:
        for average, new in zip(averages, news, strict=True):
            _core.t_update(average, avg_fn(average, new, num_averaged))

    return multi_avg_fn


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """Returns `get_ema_avg_fn` for lists of parameters, written into the averages.

    Parameters
    ----------
    decay : float, default 0.999
        The part of the average that remains at each update.

    Returns
    -------
    callable
        A function of the averages, the parameters and the number of updates.

    See Also
    --------
    torch.optim.swa_utils.get_swa_avg_fn, torch.optim.swa_utils.get_swa_multi_avg_fn,
    torch.optim.swa_utils.get_ema_avg_fn

    Examples
    --------
    >>> averages = [torch.tensor([1.0])]
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)(averages, [torch.tensor([2.0])], 1)
    >>> averages
    [tensor([1.1000])]
    """
    return _all(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """Returns `get_swa_avg_fn` for lists of parameters, written into the averages.

    Returns
    -------
    callable
        A function of the averages, the parameters and the number of updates.

    See Also
    --------
    torch.optim.swa_utils.get_ema_avg_fn, torch.optim.swa_utils.get_ema_multi_avg_fn,
    torch.optim.swa_utils.get_swa_avg_fn

    Examples
    --------
    >>> averages = [torch.tensor([1.0])]
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(averages, [torch.tensor([2.0])], 1)
    >>> averages
    [tensor([1.5000])]
    """
    return _all(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's, updated by `update_parameters`.

    Buffers are averaged only with `use_buffers`; otherwise they are copied from the model.

    Parameters
    ----------
    model : Module
        The model, which is copied.
    device : device or str, optional
        The device of the copy, by default that of the model.
    avg_fn : callable, optional
        A function of the average, a parameter and the number of updates; the equal average by default.
    multi_avg_fn : callable, optional
        A function of lists of them, in place of `avg_fn`.
    use_buffers : bool, default False
        Whether buffers are averaged as well.

    Shapes
    ------
    args
        The arguments of the model.
    kwargs
        Its keyword arguments.
    result
        That of the averaged model.

    See Also
    --------
    torch.optim.swa_utils.SWALR, torch.optim.swa_utils.update_bn

    Examples
    --------
    >>> model = nn.Linear(3, 2)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> averaged(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(self, model: Module, device: Any = None, avg_fn: Callable[..., Tensor] | None = None,
                 multi_avg_fn: Any = None, use_buffers: bool = False) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _core.t_full([], 0, "int64", "cpu" if device is None else str(device)))
        self.avg_fn = get_swa_avg_fn() if avg_fn is None and multi_avg_fn is None else avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the result of the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Updates the averages with the model's parameters.

        Parameters
        ----------
        model : Module
            The model.

        Examples
        --------
        >>> model = nn.Linear(3, 2)
        >>> averaged = torch.optim.swa_utils.AveragedModel(model)
        >>> averaged.update_parameters(model)
        >>> averaged.n_averaged
        tensor(1)
        """
        count = int(self.n_averaged)
        with no_grad():
            both = zip(self._averaged(self.module), self._averaged(model), strict=True)
            pairs = [(average.detach(), new.detach().to(average.device)) for average, new in both]
            mixed = [pair for pair in pairs if count > 0 and pair[0].is_floating_point()]
            if mixed and self.multi_avg_fn is not None:
                self.multi_avg_fn(*map(list, zip(*mixed, strict=True)), count)
            elif self.avg_fn is not None:
                for average, new in mixed:
                    _core.t_update(average, self.avg_fn(average, new, count))
            for average, new in pairs:
                if count == 0 or not average.is_floating_point():
                    _core.t_update(average, new)
            if not self.use_buffers:
                for own_buffer, model_buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                    _core.t_update(own_buffer, model_buffer.detach().to(own_buffer.device))
            _core.t_update(self.n_averaged, count + 1)
        _core.flush()

    def _averaged(self, model: Module) -> Iterable[Tensor]:
        return [*model.parameters(), *(model.buffers() if self.use_buffers else ())]


class SWALR(LRScheduler):
    """A scheduler that changes the rate to a constant one.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    swa_lr : float or list of floats
        The last rate, or one for each group.
    anneal_epochs : int, default 10
        The number of steps of the change.
    anneal_strategy : {"cos", "linear"}, default "cos"
        "cos" or "linear".
    last_epoch : int, default -1
        The index of the last step, -1 to start.

    Raises
    ------
    ValueError
        For another strategy, or a negative number of steps.

    See Also
    --------
    torch.optim.swa_utils.update_bn, torch.optim.swa_utils.AveragedModel

    Examples
    --------
    >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
                 last_epoch: int = -1) -> None:  # fmt: skip
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must by one of 'cos' or 'linear', instead got {anneal_strategy}")
        if anneal_epochs < 0 or not isinstance(anneal_epochs, int):
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        for group, rate in zip(optimizer.param_groups, one_each("swa_lr", swa_lr, optimizer), strict=True):
            group["swa_lr"] = rate
        super().__init__(optimizer, last_epoch)

    def _annealing_fraction(self, step: int) -> float:
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        step = self._step_count - 1 if self.anneal_epochs else max(1, self._step_count - 1)
        before, now = self._annealing_fraction(max(0, step - 1)), self._annealing_fraction(step)
        rates = []
        for group in self.optimizer.param_groups:
            # The current rate is a mixture of the initial one and swa_lr, from which the initial one is recovered.
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recomputes the running statistics of batch normalizations, in one pass over the data.

    Parameters
    ----------
    loader : iterable
        The batches, or sequences whose first element is a batch.
    model : Module
        The model.
    device : device or str, optional
        The device to which batches are moved.

    See Also
    --------
    torch.optim.swa_utils.AveragedModel, torch.optim.swa_utils.SWALR

    Examples
    --------
    >>> model = nn.Sequential(nn.BatchNorm1d(1))
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model[0].running_mean
    tensor([2.])
    """
    layers: dict[Any, Any] = {}
    for module in model.modules():
        if hasattr(module, "running_mean") and hasattr(module, "reset_running_stats"):
            module.reset_running_stats()
            layers[module] = module.momentum
    if not layers:
        return
    training = model.training
    model.train()
    for layer in layers:
        layer.momentum = None
    for given in loader:
        batch = given[0] if isinstance(given, (list, tuple)) else given
        model(batch if device is None else batch.to(device))
    for layer, momentum in layers.items():
        layer.momentum = momentum
    model.train(training)


__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip
