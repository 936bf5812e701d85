"""Optimizers of matrices: the steps of Adafactor and Muon depend on rows and columns."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import astype, zeros_like
from cuprous.torch._info import finfo
from cuprous.torch.optim._elementwise import Elementwise, _average, _scaled, _subtract

_map = _core.t_map


def _mean(x: Tensor, dim: int) -> Tensor:
    return _map("divide", _core.t_reduce("sum", x, [dim], True), float(x.dims[dim]))


def _root_mean_square(x: Tensor) -> Tensor:
    return _map("sqrt", _map("divide", _core.t_reduce("sum", _map("square", x), None, False), float(x.numel())))


class Adafactor(Elementwise):
    """Adam with the second moments of matrices stored as one vector of rows and one of columns (Shazeer and Stern,
    2018).

    Parameters
    ----------
    params : iterable of Tensors or of dicts
        The parameters, or groups of them as dicts with settings of their own.
    lr : float, default 0.01
        The bound of the relative step size.
    beta2_decay : float, default -0.8
        The power of the step number that new second moments count with.
    eps : pair, optional
        The least factor of the moments, by default the dtype's epsilon, and the least size of parameters.
    d : float, default 1.0
        The bound of the root mean square of a step, before the rate.
    weight_decay : float, default 0.0
        How much parameters decay with each step, times the rate.
    foreach : bool, optional
        Has no effect.
    maximize : bool, default False
        Whether to follow the gradients up.

    Raises
    ------
    ValueError
        For settings out of range.

    See Also
    --------
    torch.optim.Adamax, torch.optim.NAdam, torch.optim.RAdam, torch.optim.Adadelta

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([2.7000])
    """

    def __init__(self, params: Any, lr: float = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: bool | None = None, maximize: bool = False) -> None:  # fmt: skip
        if not lr >= 0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
                                  "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
                                  "decoupled_weight_decay": True})  # fmt: skip

    def _start(self, state: dict[str, Any], p: Tensor, group: dict[str, Any]) -> None:
        state["step"] = 0
        if p.ndim > 1:
            state["row_var"] = zeros_like(p[..., :1])
            state["col_var"] = zeros_like(p[..., :1, :])
        else:
            state["variance"] = zeros_like(p)

    def _sizes(self, p: Tensor, group: dict[str, Any]) -> Tensor:
        # PyTorch takes the size of parameters before they decay.
        before = 1 - float(group["lr"]) * group["weight_decay"]
        return _map("divide", _root_mean_square(p), before) if before else _root_mean_square(p)

    def _rule(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        t, (least, smallest) = state["step"], group["eps"]
        least = finfo(p.dtype).eps if least is None else least
        new = t ** group["beta2_decay"]
        rate = min(float(group["lr"]), 1 / math.sqrt(t))
        size = _map("maximum", self._sizes(p, group), smallest)
        if p.ndim > 1:
            rows = _average(state["row_var"], _mean(_map("square", g), -1), 1 - new)
            columns = _average(state["col_var"], _mean(_map("square", g), -2), 1 - new)
            scale = _map("maximum", _mean(rows, -2), least)
            moments = _map("divide", _map("multiply", rows, columns), scale)
        else:
            moments = _average(state["variance"], _map("square", g), 1 - new)
        step = _map("multiply", g, _map("rsqrt", _map("maximum", moments, least * least)))
        bound = _map("maximum", _map("divide", _root_mean_square(step), group["d"]), 1.0)
        _subtract(p, _map("multiply", step, _map("divide", _scaled(size, rate), bound)))


def _orthogonal(g: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Returns about the nearest matrix with orthonormal rows or columns, by Newton-Schulz iterations in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    is_tall = g.dims[0] > g.dims[1]
    x = astype(g, "bfloat16")
    x = x.T if is_tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = gram.addmm(gram, gram, beta=b, alpha=c).mm(x) + _scaled(x, a)
    return x.T if is_tall else x


class Muon(Elementwise):
    """An optimizer of matrices: the step is the momentum's nearest orthogonal matrix (Jordan, 2024).

    Parameters
    ----------
    params : iterable of Tensors or of dicts
        Matrices, or groups of them as dicts with settings of their own.
    lr : float, default 0.001
        The learning rate.
    weight_decay : float, default 0.1
        How much parameters decay with each step, times the rate.
    momentum : float, default 0.95
        The factor of the running mean of gradients.
    nesterov : bool, default True
        Whether the gradient is taken after the momentum's step.
    ns_coefficients : tuple of floats, default (3.4445, -4.775, 2.0315)
        The coefficients of the iteration's polynomial of the powers 1, 3 and 5.
    eps : float, default 1e-07
        The least norm.
    ns_steps : int, default 5
        The number of iterations.
    adjust_lr_fn : str, optional
        How the rate depends on the shape: "original", which is the default, or "match_rms_adamw".

    Raises
    ------
    ValueError
        For settings out of range, or parameters that are not matrices.

    See Also
    --------
    torch.optim.SGD, torch.optim.ASGD, torch.optim.Rprop, torch.optim.LBFGS

    Examples
    --------
    >>> x = torch.eye(2, requires_grad=True)
    >>> optimizer = torch.optim.Muon([x], lr=0.1)
    >>> x.square().sum().backward()
    >>> optimizer.step()
    >>> bool((x.detach().diagonal() < 0.95).all())
    True
    """

    _tensors: ClassVar[tuple[str, ...]] = ("momentum_buffer",)

    def __init__(self, params: Any, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
                 nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
                 eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None) -> None:  # fmt: skip
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
                                  "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
                                  "adjust_lr_fn": adjust_lr_fn, "maximize": False,
                                  "decoupled_weight_decay": True})  # fmt: skip
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.shape}"
                    )

    def _rule(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        keep, (rows, columns) = group["momentum"], p.dims
        step = _average(state["momentum_buffer"], g, keep)
        if group["nesterov"]:
            step = _map("add", _scaled(g, 1 - keep), _scaled(step, keep))
        step = _orthogonal(step, group["ns_coefficients"], group["ns_steps"], group["eps"])
        adjusted = group["adjust_lr_fn"] == "match_rms_adamw"
        ratio = 0.2 * math.sqrt(max(p.dims)) if adjusted else math.sqrt(max(1, rows / columns))
        _subtract(p, astype(_scaled(step, float(group["lr"]) * ratio), p.dtype_name))


__all__ = ["Adafactor", "Muon"]
