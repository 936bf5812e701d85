"""Averaged gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.optim._elementwise import Elementwise, _scaled
from cuprous.torch.optim._optimizer import check_nonnegative

_map, _update = _core.t_map, _core.t_update


class ASGD(Elementwise):
    """Gradient descent with a falling rate that also keeps the average of the parameters (Polyak and Juditsky, 1992).
    The average is `optimizer.state[parameter]["ax"]`.

    Parameters
    ----------
    params : iterable of Tensors or of dicts
        The parameters, or groups of them as dicts with settings of their own.
    lr : float, default 0.01
        The learning rate.
    lambd : float, default 0.0001
        How much parameters decay with each step, and how fast the rate falls.
    alpha : float, default 0.75
        The power by which the rate falls.
    t0 : float, default 1000000.0
        The step after which parameters are averaged.
    weight_decay : float, default 0
        The factor of the parameters that is added to the gradients.
    foreach : bool, optional
        Has no effect.
    maximize : bool, default False
        Whether to follow the gradients up.
    differentiable : bool, default False
        For PyTorch's signature; only False.
    capturable : bool, default False
        Has no effect.

    Raises
    ------
    ValueError
        For a negative rate or weight decay.

    See Also
    --------
    torch.optim.Rprop, torch.optim.LBFGS, torch.optim.Muon, torch.optim.SGD

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.ASGD([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([2.4000])
    """

    _tensors: ClassVar[tuple[str, ...]] = ("ax",)

    def __init__(self, params: Any, lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
                 weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:  # fmt: skip
        check_nonnegative(learning_rate=lr, weight_decay_value=weight_decay)
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                                  "capturable": capturable})  # fmt: skip

    def _start(self, state: dict[str, Any], p: Tensor, group: dict[str, Any]) -> None:
        super()._start(state, p, group)
        state["eta"], state["mu"] = float(group["lr"]), 1.0

    def _rule(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        t, rate = state["step"], float(group["lr"])
        _update(p, _map("subtract", _scaled(p, 1 - group["lambd"] * state["eta"]), _scaled(g, state["eta"])))
        mean = state["ax"]
        _update(mean, _map("add", mean, _scaled(_map("subtract", p, mean), state["mu"])))
        state["eta"] = rate / (1 + group["lambd"] * rate * t) ** group["alpha"]
        state["mu"] = 1 / max(1, t - group["t0"])


__all__ = ["ASGD"]
