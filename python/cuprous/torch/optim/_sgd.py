"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous.torch.optim._optimizer import Optimizer, check_nonnegative, gradients

_map, _overwrite, _update = _core.t_map, _core.t_map_inplace, _core.t_update


class SGD(Optimizer):
    """Gradient descent with optional momentum, also Nesterov's, and weight decay.

    Parameters
    ----------
    params : iterable of Tensors or of dicts
        The parameters, or groups of them as dicts with settings of their own.
    lr : float, default 0.001
        The learning rate.
    momentum : float, default 0
        The factor of earlier steps.
    dampening : float, default 0
        The part of a gradient that does not count in the momentum.
    weight_decay : float, default 0
        The factor of the parameters that is added to the gradients.
    nesterov : bool, default False
        Whether the gradient is taken after the momentum's step.
    maximize : bool, default False
        Whether to follow the gradients up.
    foreach : bool, optional
        Has no effect.
    differentiable : bool, default False
        For PyTorch's signature; only False.
    fused : bool, optional
        Has no effect.

    Raises
    ------
    ValueError
        For negative settings, or Nesterov's momentum without momentum.

    See Also
    --------
    torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.ASGD

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([x], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x.detach()
    tensor([1.3800])
    """

    def __init__(self, params: Any, lr: float = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False,
                 fused: bool | None = None) -> None:  # fmt: skip
        check_nonnegative(learning_rate=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
                                  "differentiable": differentiable, "fused": fused})  # fmt: skip

    def _update(self, group: dict[str, Any]) -> None:
        lr, momentum, decay = float(group["lr"]), group["momentum"], group["weight_decay"]
        for p, g in gradients(group["params"]):
            if group["maximize"]:
                g = _map("negative", g)
            now = p
            if p.dtype_name in ("float16", "bfloat16"):
                # Half precision is computed in float32 and rounded only when a value is stored.
                now, g = _core.t_cast(p, "float32"), _core.t_cast(g, "float32")
            if decay:
                g = _map("add", g, _map("multiply", now, decay))
            if momentum:
                state = self.state[p]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = _core.t_cast(g, p.dtype_name)
                else:
                    _update(
                        buffer,
                        _map("add", _map("multiply", buffer, momentum), _map("multiply", g, 1 - group["dampening"])),
                    )
                g = _map("add", g, _map("multiply", buffer, momentum)) if group["nesterov"] else buffer
            _update(p, _map("subtract", now, _map("multiply", g, lr)))
