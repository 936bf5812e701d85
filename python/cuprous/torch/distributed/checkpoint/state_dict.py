"""States of models and optimizers by names that do not depend on how they are distributed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed import _groups, _objects
from cuprous.torch.distributed.fsdp._fully_shard import FSDPModule
from cuprous.torch.distributed.tensor._api import distribute_tensor
from cuprous.torch.distributed.tensor._dtensor import DTensor
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parallel.distributed import DistributedDataParallel
from cuprous.torch.optim import Optimizer


@dataclass
class StateDictOptions:
    """Options of this module's functions.

    Parameters
    ----------
    full_state_dict : bool, default False
        Whole tensors in place of DTensors; with `cpu_offload` only rank 0 gets them.
    cpu_offload : bool, default False
        Tensors in host memory.
    ignore_frozen_params : bool, default False
        Leaves out parameters that do not require a gradient.
    keep_submodule_prefixes : bool, default True
        True.
    strict : bool, default True
        `set_model_state_dict` requires all names.
    broadcast_from_rank0 : bool, default False
        With `full_state_dict`, `set_…` takes the state of rank 0, and those of other ranks may be empty.
    flatten_optimizer_state_dict : bool, default False
        The state of optimizers has names such as "state.0.weight.exp_avg" and "param_groups.0.weight.lr" in place of
        nested dicts.
    dsd_fqn_modifiers : str, optional
        The name of PyTorch's method for changed names; it has no effect.

    See Also
    --------
    torch.distributed.checkpoint.state_dict.get_state_dict, torch.distributed.checkpoint.state_dict.set_state_dict

    Examples
    --------
    >>> from cuprous.torch.distributed.checkpoint import state_dict
    >>> state_dict.StateDictOptions(full_state_dict=True).cpu_offload
    False
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = field(default="_fqn_modifiers")


def _checked(options: StateDictOptions | None, submodules: Any = None) -> StateDictOptions:
    own = options or StateDictOptions()
    if not own.keep_submodule_prefixes:
        raise NotImplementedError("[StateDictOptions] keep_submodule_prefixes=False is not supported")
    if own.broadcast_from_rank0 and not own.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    if submodules is not None:
        raise NotImplementedError("[get_state_dict] submodules is deprecated in PyTorch and not supported")
    return own


def _bare(model: Module) -> Module:
    """Returns the module inside of wrappers, whose parameters are this rank's parts."""
    module: Any = model.module if isinstance(model, DistributedDataParallel) else model
    for part in module.modules():
        if isinstance(part, FSDPModule):
            part.reshard()
    return cast(Module, module)


def _names(model: Module) -> dict[int, str]:
    """Returns the names of parameters by id."""
    return {id(p): name for name, p in _bare(model).named_parameters()}


def _delivered(value: Any, options: StateDictOptions) -> Any:
    """Returns a tensor as the options want it."""
    if not isinstance(value, Tensor):
        return value
    whole = value.full_tensor() if options.full_state_dict and isinstance(value, DTensor) else value
    return whole.cpu() if options.cpu_offload else whole


def _is_for_rank0(options: StateDictOptions) -> bool:
    """Returns True if this rank gets nothing, because rank 0 has it all."""
    all_ = options.full_state_dict and options.cpu_offload and _groups.is_initialized()
    return all_ and _groups.get_rank() != 0


def get_model_state_dict(model: Module, *, submodules: Any = None,
                         options: StateDictOptions | None = None) -> dict[str, Any]:  # fmt: skip
    """Returns parameters and buffers by name, without the prefix of `DistributedDataParallel`.

    Raises
    ------
    NotImplementedError
        For an option that is not supported.

    See Also
    --------
    torch.distributed.checkpoint.state_dict.set_model_state_dict, torch.distributed.checkpoint.state_dict.get_state_dict

    Examples
    --------
    >>> from cuprous.torch.distributed.checkpoint import state_dict
    >>> model = nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    >>> sorted(state_dict.get_model_state_dict(model))
    ['bias', 'weight']
    """
    own = _checked(options, submodules)
    module = _bare(model)
    frozen = {name for name, p in module.named_parameters(remove_duplicate=False) if not p.requires_grad}
    state = {name: value for name, value in module.state_dict().items()
             if not (own.ignore_frozen_params and name in frozen)}  # fmt: skip
    with no_grad():
        state = {name: _delivered(value, own) for name, value in state.items()}
    return {} if _is_for_rank0(own) else state


def _start(optimizer: Optimizer) -> None:
    """Gives an optimizer that has not stepped its state, as a step without any effect does."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    rates = [group["lr"] for group in optimizer.param_groups]
    with no_grad():
        for p in params:
            if p.requires_grad:
                local = p._local if isinstance(p, DTensor) else p
                local.grad = _core.t_full(list(local.dims), 0, local.dtype_name, local.device_name)
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _optimizers(given: Optimizer | Iterable[Optimizer]) -> list[Optimizer]:
    return [given] if isinstance(given, Optimizer) else list(given)


def get_optimizer_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: Any = None,
                             options: StateDictOptions | None = None) -> dict[str, Any]:  # fmt: skip
    """Returns the state and settings of optimizers by names of parameters. An optimizer that has not stepped gets its
    state first, so that a checkpoint can be loaded into it.

    Raises
    ------
    RuntimeError
        If an optimizer has a parameter that the model does not have.
    NotImplementedError
        For an option that is not supported.

    See Also
    --------
    torch.distributed.checkpoint.state_dict.set_optimizer_state_dict,
    torch.distributed.checkpoint.state_dict.get_state_dict

    Examples
    --------
    >>> from cuprous.torch.distributed.checkpoint import state_dict
    >>> model = nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    >>> sorted(state_dict.get_optimizer_state_dict(model, optimizer))
    ['param_groups', 'state']
    """
    own = _checked(options, submodules)
    names = _names(model)
    result: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _optimizers(optimizers):
        _start(optimizer)
        params = [p for group in optimizer.param_groups for p in group["params"]]
        strangers = [k for k, p in enumerate(params) if id(p) not in names]
        if strangers:
            raise RuntimeError(
                f"parameter {strangers[0]} of {type(optimizer).__name__} is not a parameter of the model"
            )
        state = optimizer.state_dict()
        with no_grad():
            for number, entries in state["state"].items():
                delivered = {key: _delivered(value, own) for key, value in entries.items()}
                result["state"][names[id(params[number])]] = delivered
        for group in state["param_groups"]:
            result["param_groups"].append(group | {"params": [names[id(params[k])] for k in group["params"]]})
    if _is_for_rank0(own):
        return {}
    return _flat(result) if own.flatten_optimizer_state_dict else result


def _flat(nested: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the state of optimizers under one name for each entry."""
    flat = {f"state.{name}.{key}": value for name, state in nested["state"].items() for key, value in state.items()}
    for group in nested["param_groups"]:
        settings = {key: value for key, value in group.items() if key != "params"}
        flat |= {f"param_groups.{name}.{key}": value for name in group["params"] for key, value in settings.items()}
    return flat


def _nested(flat: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Returns the state of optimizers as nested dicts, with a group for each parameter."""
    result: dict[str, Any] = {"state": {}, "param_groups": []}
    for name in names:
        own = [{key.removeprefix(f"{table}.{name}."): value for key, value in flat.items()
                if key.startswith(f"{table}.{name}.") and "." not in key.removeprefix(f"{table}.{name}.")}
               for table in ("state", "param_groups")]  # fmt: skip
        if own[0]:
            result["state"][name] = own[0]
        if own[1]:
            result["param_groups"].append({**own[1], "params": [name]})
    return result


def _of_rank0(value: Any) -> Any:
    """Returns a value of rank 0 on all ranks."""
    box = [value]
    _objects.broadcast_object_list(box, 0)
    return box[0]


def _spread(given: Mapping[str, Any], options: StateDictOptions, target: Callable[[str], Any]) -> dict[str, Any]:
    """Returns entries by name, each distributed as its target; with `broadcast_from_rank0` those of rank 0, of which a
    rank has one at a time as a whole."""
    if not options.broadcast_from_rank0:
        return {name: _like(target(name), value) for name, value in given.items()}
    return {name: _like(target(name), _of_rank0(given.get(name))) for name in _of_rank0(list(given))}


def get_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: Any = None,
                   options: StateDictOptions | None = None) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """Returns the states of a model and its optimizers, for `torch.distributed.checkpoint.save`.

    See Also
    --------
    torch.distributed.checkpoint.state_dict.set_state_dict,
    torch.distributed.checkpoint.state_dict.get_model_state_dict,
    torch.distributed.checkpoint.state_dict.get_optimizer_state_dict

    Examples
    --------
    >>> model_state, optimizer_state = get_state_dict(model, optimizer)  # doctest: +SKIP
    """
    return (get_model_state_dict(model, submodules=submodules, options=options),
            get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options))  # fmt: skip


def _like(target: Any, value: Any) -> Any:
    """Returns a value distributed as the tensor that it is for."""
    if not isinstance(target, DTensor) or isinstance(value, DTensor) or not isinstance(value, Tensor) or not value.ndim:
        return value
    if value.dims != target.dims:
        return value  # the caller's check of shapes names it
    return distribute_tensor(value.detach(), target.device_mesh, target.placements, src_data_rank=None)


def set_model_state_dict(model: Module, model_state_dict: Mapping[str, Any], *,
                         options: StateDictOptions | None = None) -> Any:  # fmt: skip
    """Copies a state into a model. Whole tensors are sharded as the parameters are.

    Returns
    -------
    pair of lists
        Names that are missing, and those that are not expected.

    Raises
    ------
    RuntimeError
        Listing what does not fit, if strict.

    See Also
    --------
    torch.distributed.checkpoint.state_dict.get_model_state_dict, torch.distributed.checkpoint.state_dict.set_state_dict

    Examples
    --------
    >>> from cuprous.torch.distributed.checkpoint import state_dict
    >>> model = nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    >>> state_dict.set_model_state_dict(model, state_dict.get_model_state_dict(model))
    <All keys matched successfully>
    """
    own = _checked(options)
    module = _bare(model)
    targets = module.state_dict(keep_vars=True)
    state = _spread(model_state_dict, own, targets.get)
    return module.load_state_dict(state, strict=own.strict and not own.ignore_frozen_params)


def set_optimizer_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer],
                             optim_state_dict: Mapping[str, Any], *,
                             options: StateDictOptions | None = None) -> None:  # fmt: skip
    """Restores optimizers from a state by names of parameters. Whole tensors are sharded as the parameters are.

    Raises
    ------
    RuntimeError
        If the state lacks a group of parameters, or the state of one.

    See Also
    --------
    torch.distributed.checkpoint.state_dict.get_optimizer_state_dict,
    torch.distributed.checkpoint.state_dict.set_state_dict

    Examples
    --------
    >>> from cuprous.torch.distributed.checkpoint import state_dict
    >>> model = nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    >>> found = state_dict.get_optimizer_state_dict(model, optimizer)
    >>> state_dict.set_optimizer_state_dict(model, optimizer, found)
    """
    own = _checked(options)
    names = _names(model)
    params = {names[id(p)]: p for o in _optimizers(optimizers) for group in o.param_groups for p in group["params"]}

    def target(entry: str) -> Any:
        table, _, name = entry.partition(".")
        return params.get(name.rpartition(".")[0]) if table == "state" else None

    is_flat = own.flatten_optimizer_state_dict or not optim_state_dict
    given = optim_state_dict if is_flat else _flat(optim_state_dict)
    received = _nested(_spread(given, own, target), params)
    groups = {group["params"][0]: group for group in received["param_groups"]}
    for optimizer in _optimizers(optimizers):
        number, state, settings = 0, {}, []
        for group in optimizer.param_groups:
            numbers = []
            for p in group["params"]:
                name = names[id(p)]
                if name not in groups:
                    raise RuntimeError(f"optim_state_dict lacks the parameter {name!r} in its param_groups")
                if name in received["state"]:
                    state[number] = received["state"][name]
                numbers.append(number)
                number += 1
            first = groups[names[id(group["params"][0])]] if numbers else group
            settings.append({**first, "params": numbers})
        optimizer.load_state_dict({"state": state, "param_groups": settings})


def set_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *,
                   model_state_dict: Mapping[str, Any], optim_state_dict: Mapping[str, Any],
                   options: StateDictOptions | None = None) -> Any:  # fmt: skip
    """Restores a model and its optimizers from their states.

    Returns
    -------
    pair of lists
        Names that the model's state lacks, and those that the model does not have.

    See Also
    --------
    torch.distributed.checkpoint.state_dict.get_state_dict,
    torch.distributed.checkpoint.state_dict.set_model_state_dict,
    torch.distributed.checkpoint.state_dict.set_optimizer_state_dict

    Examples
    --------
    >>> from cuprous.torch.distributed.checkpoint import state_dict
    >>> model = nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    >>> of_model, of_optimizer = state_dict.get_state_dict(model, optimizer)
    >>> state_dict.set_state_dict(model, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer)
    <All keys matched successfully>
    """
    is_sent = options is not None and options.broadcast_from_rank0
    found = set_model_state_dict(model, model_state_dict, options=options) if model_state_dict or is_sent else None
    if optim_state_dict or is_sent:
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found


__all__ = ["StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
           "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict"]  # fmt: skip
