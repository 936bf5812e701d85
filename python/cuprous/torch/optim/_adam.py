"""Adam and AdamW."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import zeros_like
from cuprous.torch.optim._optimizer import Optimizer, check_betas, check_nonnegative


class Adam(Optimizer):
    """An optimizer that divides the running mean of the gradient by the root of that of its square (Kingma and Ba,
    2015).

    Parameters
    ----------
    params : iterable of Tensors or of dicts
        The parameters, or groups of them as dicts with settings of their own.
    lr : float, default 0.001
        The learning rate.
    betas : pair of floats, default (0.9, 0.999)
        The factors of the running means of the gradient and of its square.
    eps : float, default 1e-08
        What is added to the root of the mean square.
    weight_decay : float, default 0
        The factor of the parameters that is added to the gradients.
    amsgrad : bool, default False
        Whether the largest mean square so far is used.
    foreach : bool, optional
        Has no effect.
    maximize : bool, default False
        Whether to follow the gradients up.
    capturable : bool, default False
        Has no effect.
    differentiable : bool, default False
        For PyTorch's signature; only False.
    fused : bool, optional
        Has no effect.
    decoupled_weight_decay : bool, default False
        Whether weight decay multiplies the parameters instead, as in `AdamW`.

    Raises
    ------
    ValueError
        For settings out of range.

    See Also
    --------
    torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.SGD

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([2.9000])
    """

    _decoupled = False

    def __init__(self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
                 decoupled_weight_decay: bool = False) -> None:  # fmt: skip
        check_nonnegative(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
                                  "capturable": capturable, "differentiable": differentiable, "fused": fused,
                                  "decoupled_weight_decay": self._decoupled or decoupled_weight_decay})  # fmt: skip

    def _update(self, group: dict[str, Any]) -> None:
        amsgrad, maximize, states = group["amsgrad"], group["maximize"], self.state
        # Parameters with the same step number share a call: parameters, gradients, means, squares, largest squares.
        batches: dict[int, tuple[list[Tensor], ...]] = {}
        for p in _core.t_with_gradients(group["params"]):
            state = states[p]
            if not state:
                self._start(state, p, amsgrad)
            state["step"] = step = state["step"] + 1
            columns = batches.get(step)
            if columns is None:
                columns = batches[step] = ([], [], [], [], [])
            columns[0].append(p)
            if maximize and p.grad is not None:
                columns[1].append(-p.grad)
            columns[2].append(state["exp_avg"])
            columns[3].append(state["exp_avg_sq"])
            if amsgrad:
                columns[4].append(state["max_exp_avg_sq"])
        beta1, beta2 = group["betas"]
        lr, decay, decoupled = float(group["lr"]), group["weight_decay"], group["decoupled_weight_decay"]
        for step, (params, grads, means, squares, tops) in batches.items():
            settings = (beta1, beta2, group["eps"], lr / (1 - beta1**step), math.sqrt(1 - beta2**step),
                        0.0 if decoupled else decay, 1 - lr * decay if decoupled else 1.0)  # fmt: skip
            _core.t_adam(params, grads if maximize else None, means, squares, tops if amsgrad else None, settings)

    @staticmethod
    def _start(state: dict[str, Any], p: Tensor, amsgrad: bool) -> None:
        state["step"] = 0
        for name in ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if amsgrad else ())):
            state[name] = zeros_like(p)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    Parameters
    ----------
    params : iterable of Tensors or of dicts
        The parameters, or groups of them as dicts with settings of their own.
    lr : float, default 0.001
        The learning rate.
    betas : pair of floats, default (0.9, 0.999)
        The factors of the running means of the gradient and of its square.
    eps : float, default 1e-08
        What is added to the root of the mean square.
    weight_decay : float, default 0.01
        The part of the parameters, relative to the learning rate, that a step subtracts.
    amsgrad : bool, default False
        Whether the largest mean square so far is used.
    maximize : bool, default False
        Whether to follow the gradients up.
    foreach : bool, optional
        Has no effect.
    capturable : bool, default False
        Has no effect.
    differentiable : bool, default False
        For PyTorch's signature; only False.
    fused : bool, optional
        Has no effect.

    Raises
    ------
    ValueError
        For settings out of range.

    See Also
    --------
    torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.SGD, torch.optim.Adam

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.AdamW([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([2.8970])
    """

    _decoupled = True

    def __init__(self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None) -> None:  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused)  # fmt: skip
