"""Optimizers that adapt the step size of each element to its gradients."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from cuprous import _core
from cuprous._common.naming import documented
from cuprous._core import Tensor
from cuprous.torch.optim._elementwise import Elementwise, _average, _scaled, _subtract
from cuprous.torch.optim._optimizer import check_betas, check_nonnegative

_map, _update = _core.t_map, _core.t_update


_documented = documented({
    "params : iterable of Tensors or of dicts":
        "The parameters, or groups of them as dicts with settings of their own.",
    "lr : float": "The learning rate.",
    "eps : float": "What is added to the divisor.",
    "weight_decay : float": "The factor of the parameters that is added to the gradients.",
    "capturable : bool": "Has no effect.",
    "foreach : bool": "Has no effect.",
    "maximize : bool": "Whether to follow the gradients up.",
    "differentiable : bool": "For PyTorch's signature; only False.",
    "betas : pair of floats": "The factors of the running means of the gradient and of its square.",
})  # fmt: skip


@_documented
class RMSprop(Elementwise):
    """An optimizer that divides the gradient by the root of its running mean square (Hinton, 2012).

    Parameters
    ----------
    alpha : float, default 0.99
        The factor of the running mean.
    momentum : float, default 0
        The factor of earlier steps.
    centered : bool, default False
        Whether the mean is subtracted, so that the divisor is a standard deviation (Graves, 2013).

    Raises
    ------
    ValueError
        For settings out of range.

    See Also
    --------
    torch.optim.Adagrad, torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([2.0000])
    """

    def __init__(self, params: Any, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
                 momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:  # fmt: skip
        check_nonnegative(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay,
                          momentum_value=momentum, alpha_value=alpha)  # fmt: skip
        super().__init__(params, {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                                  "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable})  # fmt: skip

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("square_avg", *(("momentum_buffer",) if group["momentum"] else ()),
                *(("grad_avg",) if group["centered"] else ()))  # fmt: skip

    def _rule(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        alpha = group["alpha"]
        square = _average(state["square_avg"], _map("square", g), alpha)
        if group["centered"]:
            square = _map("subtract", square, _map("square", _average(state["grad_avg"], g, alpha)))
        change = _map("divide", g, _map("add", _map("sqrt", square), group["eps"]))
        if group["momentum"]:
            buffer = state["momentum_buffer"]
            _update(buffer, _map("add", _scaled(buffer, group["momentum"]), change))
            change = buffer
        _subtract(p, _scaled(change, float(group["lr"])))


@_documented
class Adagrad(Elementwise):
    """An optimizer that divides the gradient by the root of the sum of its squares (Duchi, Hazan and Singer, 2011).

    Parameters
    ----------
    lr_decay : float, default 0
        How much the learning rate falls with each step.
    initial_accumulator_value : float, default 0
        The first value of the sum.
    fused : bool, optional
        Has no effect.

    Raises
    ------
    ValueError
        For settings out of range.

    See Also
    --------
    torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([2.9000])
    """

    def __init__(self, params: Any, lr: float = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:  # fmt: skip
        check_nonnegative(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay, lr_decay_value=lr_decay,
                          initial_accumulator_value=initial_accumulator_value)  # fmt: skip
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "fused": fused})  # fmt: skip

    def _start(self, state: dict[str, Any], p: Tensor, group: dict[str, Any]) -> None:
        start = group["initial_accumulator_value"]
        state["step"], state["sum"] = 0, _core.t_full(list(p.dims), start, p.dtype_name, p.device_name)

    def _rule(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        rate = float(group["lr"]) / (1 + (state["step"] - 1) * group["lr_decay"])
        _update(state["sum"], _map("add", state["sum"], _map("square", g)))
        _subtract(p, _map("divide", _scaled(g, rate), _map("add", _map("sqrt", state["sum"]), group["eps"])))


@_documented
class Adadelta(Elementwise):
    """An optimizer that multiplies the gradient by the ratio of the root mean squares of earlier steps and of gradients
    (Zeiler, 2012).

    Parameters
    ----------
    rho : float, default 0.9
        The factor of the running means.

    Raises
    ------
    ValueError
        For settings out of range.

    See Also
    --------
    torch.optim.Adafactor, torch.optim.Adamax, torch.optim.NAdam, torch.optim.RAdam

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([x])
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([2.9968])
    """

    _tensors = ("square_avg", "acc_delta")

    def __init__(self, params: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
                 foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False,
                 differentiable: bool = False) -> None:  # fmt: skip
        check_nonnegative(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay)
        if not 0 <= rho <= 1:
            raise ValueError(f"Invalid rho_value: {rho}")
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
                                  "capturable": capturable, "foreach": foreach,
                                  "differentiable": differentiable})  # fmt: skip

    def _rule(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        rho, eps, steps = group["rho"], group["eps"], state["acc_delta"]
        square = _average(state["square_avg"], _map("square", g), rho)
        ratio = _map("divide", _map("sqrt", _map("add", steps, eps)), _map("sqrt", _map("add", square, eps)))
        change = _map("multiply", ratio, g)
        _average(steps, _map("square", change), rho)
        _subtract(p, _scaled(change, float(group["lr"])))


@_documented
class Adamax(Elementwise):
    """Adam with the running maximum of the gradient in place of its mean square (Kingma and Ba, 2015).

    Raises
    ------
    ValueError
        For settings out of range.

    See Also
    --------
    torch.optim.NAdam, torch.optim.RAdam, torch.optim.Adadelta, torch.optim.Adafactor

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.Adamax([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([2.9000])
    """

    _tensors = ("exp_avg", "exp_inf")

    def __init__(self, params: Any, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:  # fmt: skip
        check_nonnegative(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                                  "capturable": capturable})  # fmt: skip

    def _rule(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        mean, top = _average(state["exp_avg"], g, beta1), state["exp_inf"]
        _update(top, _map("maximum", _scaled(top, beta2), _map("add", _map("absolute", g), group["eps"])))
        _subtract(p, _map("divide", _scaled(mean, float(group["lr"]) / (1 - beta1 ** state["step"])), top))


@_documented
class NAdam(Elementwise):
    """Adam with Nesterov momentum (Dozat, 2016).

    Parameters
    ----------
    momentum_decay : float, default 0.004
        How much the momentum grows with each step.
    decoupled_weight_decay : bool, default False
        Whether weight decay multiplies the parameters instead, as in `AdamW`.

    Raises
    ------
    ValueError
        For settings out of range.

    See Also
    --------
    torch.optim.RAdam, torch.optim.Adadelta, torch.optim.Adafactor, torch.optim.Adamax

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.NAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([2.8944])
    """

    _tensors = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: Any, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:  # fmt: skip
        check_nonnegative(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay)
        check_betas(betas)
        check_nonnegative(momentum_decay_value=momentum_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "differentiable": differentiable})  # fmt: skip

    def _start(self, state: dict[str, Any], p: Tensor, group: dict[str, Any]) -> None:
        super()._start(state, p, group)
        state["mu_product"] = 1.0

    def _rule(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        (beta1, beta2), t, lr = group["betas"], state["step"], float(group["lr"])
        now, after = (beta1 * (1 - 0.5 * 0.96 ** (k * group["momentum_decay"])) for k in (t, t + 1))
        state["mu_product"] *= now
        mean = _average(state["exp_avg"], g, beta1)
        square = _average(state["exp_avg_sq"], _map("square", g), beta2)
        size = _map("add", _scaled(_map("sqrt", square), 1 / math.sqrt(1 - beta2**t)), group["eps"])
        lookahead = _map("add", _scaled(g, lr * (1 - now) / (1 - state["mu_product"])),
                     _scaled(mean, lr * after / (1 - state["mu_product"] * after)))  # fmt: skip
        _subtract(p, _map("divide", lookahead, size))


@_documented
class RAdam(Elementwise):
    """Adam that adapts the step only once the variance of its mean square is small enough (Liu et al., 2020).

    Parameters
    ----------
    decoupled_weight_decay : bool, default False
        Whether weight decay multiplies the parameters instead, as in `AdamW`.

    Raises
    ------
    ValueError
        For settings out of range.

    See Also
    --------
    torch.optim.Adadelta, torch.optim.Adafactor, torch.optim.Adamax, torch.optim.NAdam

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.RAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([2.4000])
    """

    _tensors = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False) -> None:  # fmt: skip
        check_nonnegative(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "decoupled_weight_decay": decoupled_weight_decay,
                                  "differentiable": differentiable})  # fmt: skip

    def _rule(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        (beta1, beta2), t = group["betas"], state["step"]
        mean = _average(state["exp_avg"], g, beta1)
        square = _average(state["exp_avg_sq"], _map("square", g), beta2)
        rest = 1 - beta2**t
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * t * beta2**t / rest  # of the simple moving average with the same variance
        step = _scaled(mean, float(group["lr"]) / (1 - beta1**t))
        if length > 5:
            variance = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
            size = _map("add", _map("sqrt", square), group["eps"])
            step = _map("divide", _scaled(step, math.sqrt(variance) * math.sqrt(rest)), size)
        _subtract(p, step)


def _filled(p: Tensor, value: float) -> Tensor:
    return _core.t_full(list(p.dims), value, p.dtype_name, p.device_name)


@_documented
class Rprop(Elementwise):
    """Resilient propagation: the signs of gradients alone decide how far parameters move (Riedmiller and Braun, 1993).

    Parameters
    ----------
    lr : float, default 0.01
        The first step size of each element.
    etas : pair of floats, default (0.5, 1.2)
        The factors of a step size if the gradient has changed its sign, and if it has kept it.
    step_sizes : pair of floats, default (1e-06, 50)
        The least and the greatest step size.

    Raises
    ------
    ValueError
        For a negative rate, or factors that are not on both sides of 1.

    See Also
    --------
    torch.optim.LBFGS, torch.optim.Muon, torch.optim.SGD, torch.optim.ASGD

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.Rprop([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([2.5000])
    """

    _tensors: ClassVar[tuple[str, ...]] = ("prev",)

    def __init__(self, params: Any, lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False) -> None:  # fmt: skip
        check_nonnegative(learning_rate=lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
                                  "weight_decay": 0})  # fmt: skip

    def _start(self, state: dict[str, Any], p: Tensor, group: dict[str, Any]) -> None:
        super()._start(state, p, group)
        state["step_size"] = _filled(p, float(group["lr"]))

    def _rule(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        (shrink, grow), (least, greatest) = group["etas"], group["step_sizes"]
        agreement = _map("multiply", g, state["prev"])
        has_turned = _map("less", agreement, 0)
        size = state["step_size"]
        unturned = _map("where", _map("greater", agreement, 0), _scaled(size, grow), size)
        changed = _map("where", has_turned, _scaled(size, shrink), unturned)
        _update(size, _map("minimum", _map("maximum", changed, least), greatest))
        kept = _map("where", has_turned, 0.0, g)
        _subtract(p, _map("multiply", _map("sign", kept), size))
        _update(state["prev"], kept)


__all__ = ["Adadelta", "Adagrad", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop"]
