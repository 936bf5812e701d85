"""The base class of optimizers: parameter groups, their state, and the step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._sharded import Sharded, local_parts
from cuprous.torch.autograd._modes import enable_grad
from cuprous.torch.nn.modules._hooks import registered


class _States(defaultdict[Any, dict[str, Any]]):
    """The state of each parameter. That of a parameter that several ranks hold belongs to this rank's part."""

    def __missing__(self, key: Any) -> dict[str, Any]:
        return self[key._local] if isinstance(key, Sharded) else super().__missing__(key)


class Optimizer:
    """Base class of optimizers, which update parameters by their gradients.

    A step records ordinary operations for all parameters and then ends the tape, so that forward pass, backward pass
    and update are one program. Settings such as the learning rate are scalar parameters of that program, so a
    schedule does not change it. The arguments `foreach`, `fused` and `capturable` select PyTorch's implementations
    and have no effect here.

    Parameters
    ----------
    params : iterable of Tensors or of dicts
        The parameters, or groups of them as dicts with settings of their own.
    defaults : dict
        The settings of groups that have none of their own.

    See Also
    --------
    torch.optim.lr_scheduler.LRScheduler

    Examples
    --------
    >>> isinstance(torch.optim.SGD([torch.zeros(2)]), torch.optim.Optimizer)
    True
    """

    #: The last speculative step whose success is not known yet (amp/_speculative.py).
    _unresolved: Any = None

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            f"{type(params).__name__}")  # fmt: skip
        if defaults.get("differentiable"):
            raise NotImplementedError(f"[{type(self).__name__}] differentiable=True is not supported")
        if defaults.get("fused") and defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Any]] = _States(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._pre_hooks: dict[int, Any] = {}
        self._step_hooks: dict[int, Any] = {}
        self._opt_called = False
        #: True if a parameter is a DTensor; the update computes with this rank's parts.
        self._has_shards = False
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters with settings of their own.

        Parameters
        ----------
        param_group : dict
            A dict of "params" and of settings.

        Raises
        ------
        ValueError
            For tensors that are not leaves, or that are already in a group.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=0.1)
        >>> optimizer.add_param_group({"params": [torch.ones(3)], "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.01]
        """
        params = param_group["params"]
        group = dict(param_group, params=[params] if isinstance(params, Tensor) else list(params))
        if group["params"] and all(isinstance(p, tuple) for p in group["params"]):
            group["param_names"] = [name for name, _ in group["params"]]
            group["params"] = [p for _, p in group["params"]]
        known = {id(p) for other in self.param_groups for p in other["params"]}
        for p in group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
            if id(p) in known:
                raise ValueError("some parameters appear in more than one parameter group")
            self._has_shards = self._has_shards or isinstance(p, Sharded)
        self.param_groups.append({**group, **{name: group.get(name, value) for name, value in self.defaults.items()}})

    def _on_parts(self, group: dict[str, Any]) -> dict[str, Any]:
        """Returns a group with this rank's parts of the parameters."""
        return {**group, "params": local_parts(group["params"])} if self._has_shards else group

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the gradients of all parameters to None, or to 0.

        Parameters
        ----------
        set_to_none : bool, default True
            Whether gradients become None.

        Examples
        --------
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> torch.optim.SGD([x], lr=0.1).zero_grad()
        >>> x.grad is None
        True
        """
        for group in map(self._on_parts, self.param_groups):
            if set_to_none:
                _core.t_clear_gradients(group["params"])
                continue
            for p in group["params"]:
                if p.grad is not None:
                    _core.t_update(p.grad.detach(), 0)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once.

        Parameters
        ----------
        closure : callable, optional
            A function that computes the loss and its gradients again, and returns the loss.

        Returns
        -------
        Tensor
            The result of `closure`, or None.

        Examples
        --------
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> optimizer = torch.optim.SGD([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([2.4000])
        """
        if self._unresolved is not None:
            self._unresolved.resolve()
        if self._pre_hooks:
            for hook in list(self._pre_hooks.values()):
                hook(self, () if closure is None else (closure,), {})
        self._opt_called = True
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        before = _core.set_grad_enabled(False)
        try:
            for group in self.param_groups:
                self._update(self._on_parts(group))
        finally:
            _core.set_grad_enabled(before)
        if self._has_shards:
            for p in (p for group in self.param_groups for p in group["params"] if isinstance(p, Sharded)):
                p.updates += 1
        _core.flush()
        if self._step_hooks:
            for hook in list(self._step_hooks.values()):
                hook(self, () if closure is None else (closure,), {})
        return loss

    def _update(self, group: dict[str, Any]) -> None:
        raise NotImplementedError

    def register_step_pre_hook(self, hook: Any) -> Any:
        """Registers a function that is called before each step.

        Parameters
        ----------
        hook : callable
            A function of the optimizer, the tuple of arguments and the dict of keyword arguments.

        Returns
        -------
        RemovableHandle
            A handle whose `remove` removes the function.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)])
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
        >>> optimizer.step()
        before
        """
        return registered(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: Any) -> Any:
        """Registers a function that is called after each step.

        Parameters
        ----------
        hook : callable
            A function of the optimizer, the tuple of arguments and the dict of keyword arguments.

        Returns
        -------
        RemovableHandle
            A handle whose `remove` removes the function.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)])
        >>> handle = optimizer.register_step_post_hook(lambda optimizer, args, kwargs: print("after"))
        >>> optimizer.step()
        after
        """
        return registered(self._step_hooks, hook)

    # --- state
    def state_dict(self) -> dict[str, Any]:
        """Returns the state and the settings, with parameters as numbers.

        Returns
        -------
        dict
            A dict of "state" and "param_groups".

        Examples
        --------
        >>> torch.optim.SGD([torch.zeros(2)], lr=0.1).state_dict()["param_groups"][0]["lr"]
        0.1
        """
        if self._unresolved is not None:
            self._unresolved.resolve()
        params = [p for group in self.param_groups for p in group["params"]]
        numbers = {id(p): k for k, p in enumerate(params)}
        owners = {id(p._local): p for p in params if isinstance(p, Sharded)}
        groups = [
            {**{name: value for name, value in group.items() if name != "params"},
             "params": [numbers[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]  # fmt: skip
        state = {}
        for p, own in self.state.items():
            owner = owners.get(id(p), p)
            state[numbers[id(owner)]] = {k: _of(owner, _in_pytorch_layout(k, v)) for k, v in own.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores a state of an optimizer with parameters of the same shapes.

        Parameters
        ----------
        state_dict : dict
            What `state_dict` returned.

        Raises
        ------
        ValueError
            If the sizes of the groups differ.

        Examples
        --------
        >>> optimizer = torch.optim.SGD([torch.zeros(2)], lr=0.1)
        >>> optimizer.load_state_dict(torch.optim.SGD([torch.ones(2)], lr=0.5).state_dict())
        >>> optimizer.param_groups[0]["lr"]
        0.5
        """
        saved = state_dict["param_groups"]
        if [len(g["params"]) for g in saved] != [len(g["params"]) for g in self.param_groups]:
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        self._unresolved = None
        parameters: dict[int, Tensor] = {}
        for group, other in zip(self.param_groups, saved, strict=True):
            parameters.update(zip(other["params"], group["params"], strict=True))
            group.update(deepcopy({name: value for name, value in other.items() if name != "params"}))
        self.state.clear()
        for number, state in state_dict["state"].items():
            p = parameters[number]
            parts = {name: _part_of(p, name, value) for name, value in state.items()}
            own = p._local if isinstance(p, Sharded) else p
            self.state[own] = {name: _copied(name, value, own) for name, value in parts.items()}

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for k, group in enumerate(self.param_groups):
            text += f"\nParameter Group {k}\n"
            text += "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
        return text + ")"


#: Entries that are numbers here, because they are known without the device, and tensors in PyTorch's format.
_NUMBERS = ("step", "mu_product")


def _in_pytorch_layout(name: str, value: Any) -> Any:
    return _core.t_full([], float(value), "float32", "cpu") if name in _NUMBERS else value


def _of(p: Any, value: Any) -> Any:
    """Returns an entry of the state as a tensor like its parameter, if several ranks hold that."""
    is_part = isinstance(p, Sharded) and isinstance(value, Tensor) and value.ndim and value.dims == p._local.dims
    return p.like(value) if is_part else value


def _part_of(p: Any, name: str, value: Any) -> Any:
    """Returns this rank's part of an entry of the state.

    Raises
    ------
    ValueError
        For a whole tensor, or one that is distributed in another way.
    """
    if isinstance(value, Sharded):
        if not isinstance(p, Sharded) or p.like(value._local).placements != value.placements:  # type: ignore[attr-defined]
            raise ValueError(f"loaded state dict has an entry {name!r} that is not distributed as its parameter")
        return value._local
    if isinstance(p, Sharded) and isinstance(value, Tensor) and value.ndim:
        raise ValueError(
            f"loaded state dict has a plain tensor {name!r} for a parameter that is a DTensor; load it with "
            "torch.distributed.checkpoint.state_dict.set_optimizer_state_dict"
        )
    return value


def _copied(name: str, value: Any, p: Tensor) -> Any:
    if name in _NUMBERS:
        number = value.item() if isinstance(value, Tensor) else value
        return int(number) if name == "step" else number
    if not isinstance(value, Tensor):
        return deepcopy(value)
    return value.detach().to(device=p.device, dtype=p.dtype if value.is_floating_point() else None, copy=True)


def gradients(params: Iterable[Tensor]) -> list[tuple[Tensor, Tensor]]:
    """Returns pairs of parameter and gradient for parameters that have a gradient; the parameter is detached."""
    return [(p, gradient) for p in params if (gradient := p.grad) is not None]


def check_nonnegative(**settings: Any) -> None:
    """Raises ValueError for the first setting that is negative."""
    for name, value in settings.items():
        if not value >= 0:
            raise ValueError(f"Invalid {name}: {value}")


def check_betas(betas: tuple[float, float]) -> None:
    """Raises ValueError for a factor of a running average that is not in [0, 1)."""
    for k, beta in enumerate(betas):
        if not 0 <= beta < 1:
            raise ValueError(f"Invalid beta parameter at index {k}: {beta}")
