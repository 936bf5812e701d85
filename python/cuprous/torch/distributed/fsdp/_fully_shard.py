"""`fully_shard`: each rank keeps a part of every parameter, gradient and optimizer state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _types
from cuprous.torch._pytree import tree_map
from cuprous.torch.distributed._groups import get_world_size, init_process_group, is_initialized
from cuprous.torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from cuprous.torch.distributed.fsdp._group import ParameterGroup, ShardedParameter, Shared
from cuprous.torch.distributed.fsdp._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from cuprous.torch.distributed.tensor._dtensor import DTensor, on_mesh
from cuprous.torch.distributed.tensor.placement_types import Shard
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter


class UnshardHandle:
    """What `FSDPModule.unshard(async_op=True)` returns.

    See Also
    --------
    torch.distributed.fsdp.FSDPModule, torch.distributed.fsdp.fully_shard

    Examples
    --------
    >>> from cuprous.torch.distributed import fsdp
    >>> model = nn.Linear(2, 3)
    >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
    >>> model.unshard(async_op=True).wait()
    """

    def __init__(self, group: ParameterGroup) -> None:
        self._group = group

    def wait(self) -> None:
        """Waits until the parameters are whole, and makes them those of the module.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> model.unshard(async_op=True).wait()
        """
        self._group.unshard()


class FSDPModule:
    """What `fully_shard` adds to the class of a module.

    See Also
    --------
    torch.distributed.fsdp.MixedPrecisionPolicy, torch.distributed.fsdp.CPUOffloadPolicy,
    torch.distributed.fsdp.OffloadPolicy, torch.distributed.fsdp.fully_shard

    Examples
    --------
    >>> from cuprous.torch.distributed import fsdp
    >>> model = nn.Linear(2, 3)
    >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
    >>> model(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    _fsdp: ParameterGroup

    def _fsdp_groups(self, recurse: bool = True) -> list[ParameterGroup]:
        modules = cast(Module, self).modules() if recurse else [self]
        return [m._fsdp for m in modules if isinstance(m, FSDPModule)]

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gathers the module's own parameters. With `async_op` they are on their way when this returns a handle.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> _ = model.unshard()
        >>> model.weight.shape
        torch.Size([3, 2])
        """
        if async_op:
            self._fsdp.begin_unshard()
            return UnshardHandle(self._fsdp)
        self._fsdp.unshard()
        return None

    def reshard(self) -> None:
        """Frees the module's own whole parameters.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> _ = model.unshard()
        >>> model.reshard()
        """
        self._fsdp.reshard()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Sets whether backward passes reduce gradients. Without, each rank accumulates whole gradients, which the next
        backward pass that reduces includes.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> model.set_requires_gradient_sync(False)
        """
        for group in self._fsdp_groups(recurse):
            group.syncs = requires_gradient_sync

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Has no effect: the end of each backward pass waits for its reductions.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> model.set_is_last_backward(False)
        """

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Sets whether backward passes on a mesh of two dimensions reduce over the first one too.

        Raises
        ------
        NotImplementedError
            For False on a mesh of two dimensions.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> model.set_requires_all_reduce(False)
        """
        for group in self._fsdp_groups(recurse):
            if not requires_all_reduce and group.mesh.ndim > 1:
                raise NotImplementedError(
                    "[set_requires_all_reduce] False is not supported; use set_requires_gradient_sync(False)"
                )
            group.all_reduces = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Sets whether the whole parameters are freed between forward and backward pass.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> model.set_reshard_after_forward(False)
        """
        for group in self._fsdp_groups(recurse):
            group.reshards_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Sets whether the whole parameters are freed after the backward pass; not for gradient accumulation.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> model.set_reshard_after_backward(False)
        """
        for group in self._fsdp_groups(recurse):
            group.reshards_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Sets the modules whose parameters are gathered while this one computes; by default the next one.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> model.set_modules_to_forward_prefetch([])
        """
        self._fsdp.prefetches_forward = [m._fsdp for m in _all_sharded(modules)]

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Sets the modules whose parameters are gathered during this one's backward pass; by default the previous
        one.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> model.set_modules_to_backward_prefetch([])
        """
        self._fsdp.prefetches_backward = [m._fsdp for m in _all_sharded(modules)]

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Sets the number by which sums of gradients are divided; by default, the number of ranks.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> model.set_gradient_divide_factor(2.0)
        """
        self._fsdp.divisor = float(factor)

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Returns parameters, as DTensors, and buffers by name.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> sorted(model.state_dict())
        ['bias', 'weight']
        """
        for group in self._fsdp_groups():
            group.reshard()
        return super().state_dict(*args, **kwargs)  # type: ignore[misc]

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Copies a state whose parameters are DTensors; `set_model_state_dict` loads whole tensors.

        Examples
        --------
        >>> from cuprous.torch.distributed import fsdp
        >>> model = nn.Linear(2, 3)
        >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        >>> model.load_state_dict(model.state_dict())
        <All keys matched successfully>
        """
        for group in self._fsdp_groups():
            group.reshard()
        return super().load_state_dict(*args, **kwargs)  # type: ignore[misc]


def _all_sharded(modules: list[Any]) -> list[FSDPModule]:
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"set_modules_to_*_prefetch needs modules with fully_shard, got {type(module).__name__}")
    return modules


_FULL_PRECISION, _NO_OFFLOAD = MixedPrecisionPolicy(), OffloadPolicy()


def fully_shard(module: Module, *, mesh: DeviceMesh | None = None, reshard_after_forward: bool | int | None = None,
                shard_placement_fn: Callable[[Parameter], Shard | None] | None = None,
                mp_policy: MixedPrecisionPolicy = _FULL_PRECISION, offload_policy: OffloadPolicy = _NO_OFFLOAD,
                ignored_params: set[Parameter] | None = None) -> Any:  # fmt: skip
    """Shards a module's parameters over the ranks, in place. Apply it to the layers first, then to the whole module.

    Each rank keeps the rows of a parameter that `torch.chunk` gives it, as a `DTensor`. The parameters are gathered
    before `forward` and before the backward pass, while the module before them computes, and freed after it. Gradients
    are averaged and each rank gets those of its rows, so the optimizer, which is made afterwards, has a part of the
    state.

    Parameters
    ----------
    module : Module
        A module with the same parameters on all ranks. Each rank keeps its own values: use one seed, or load a state.
    mesh : DeviceMesh, optional
        Ranks of one dimension, or of two, of which parameters are replicated over the first; all by default. For
        parameters that `parallelize_module` has divided over `mesh_2d["tp"]`, such as `mesh_2d["dp"]`. Parameters and
        buffers are moved to its kind of device. By default they stay where the first one is, and the job is joined if
        that has not been done.
    reshard_after_forward : bool or int, optional
        Frees the whole parameters between forward and backward pass, and gathers them again. None means True, except
        for the outermost module, whose backward pass comes first.
    shard_placement_fn : callable, optional
        Returns the dimension along which a parameter is sharded, as `Shard(dim)`, or None for `Shard(0)`.
    mp_policy : MixedPrecisionPolicy, optional
        Dtypes of the computation and the reduction.
    offload_policy : OffloadPolicy, optional
        `CPUOffloadPolicy()` keeps the parts in host memory, where those of a mesh of CPUs always are.
    ignored_params : set of Parameters, optional
        Parameters to leave as they are.

    Returns
    -------
    Module
        The module, whose class is now a subclass of `FSDPModule` and its own.

    Raises
    ------
    ValueError
        For a parameter without dimensions or without the dimension to shard, a module that is sharded already, or a
        DTensor whose mesh and `mesh` are not dimensions of one mesh.
    TypeError
        For an `offload_policy` that is none.
    NotImplementedError
        For `reshard_after_forward` as a number.

    See Also
    --------
    torch.distributed.fsdp.FSDPModule, torch.distributed.fsdp.MixedPrecisionPolicy,
    torch.distributed.fsdp.CPUOffloadPolicy, torch.distributed.fsdp.OffloadPolicy

    Examples
    --------
    >>> for block in model.blocks:  # doctest: +SKIP
    ...     fully_shard(block)
    >>> fully_shard(model)  # doctest: +SKIP
    """
    if not isinstance(module, Module):
        raise ValueError(f"fully_shard expects nn.Module, got {type(module).__name__}")
    if isinstance(module, FSDPModule):
        raise ValueError("fully_shard has been applied to this module already")
    if type(reshard_after_forward) is int:
        raise NotImplementedError(f"[fully_shard] reshard_after_forward={reshard_after_forward!r}: pass a bool or None")
    if not isinstance(offload_policy, OffloadPolicy):
        raise TypeError(f"offload_policy must be an OffloadPolicy, got {offload_policy!r}")
    if mesh is None:
        if not is_initialized():
            init_process_group()
        first = next(module.parameters(), None)
        mesh = init_device_mesh("cpu" if first is None else first.device.type, (get_world_size(),))
    if isinstance(offload_policy, CPUOffloadPolicy) and mesh.device_type != "cpu":
        raise NotImplementedError(
            f"[fully_shard] {offload_policy!r} is supported on meshes of CPUs only: pass OffloadPolicy()"
        )
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh!r}")
    parameters = _shard(module, mesh, shard_placement_fn, ignored_params or set())
    group = ParameterGroup(parameters, mesh, mp_policy, cast("bool | None", reshard_after_forward))
    own = type(module)
    object.__setattr__(module, "__class__", type(f"FSDP{own.__name__}", (FSDPModule, own), {}))
    object.__setattr__(module, "_fsdp", group)
    module.register_forward_pre_hook(_before_forward, prepend=True, with_kwargs=True)
    module.register_forward_hook(_after_forward)
    return module


def _shard(module: Module, mesh: DeviceMesh, placement: Callable[[Parameter], Shard | None] | None,
           ignored: Iterable[Parameter]) -> list[ShardedParameter]:  # fmt: skip
    """Shards the parameters that no module inside shards itself."""
    found: dict[int, tuple[str, Parameter, list[tuple[Module, str]]]] = {}
    left_out = {id(p) for p in ignored}
    for path, part in _own_modules(module, ""):
        for name, p in part._parameters.items():
            if p is None or id(p) in left_out:
                continue
            found.setdefault(id(p), (f"{path}{name}", p, []))[2].append((part, name))
        for name, buffer in part._buffers.items():
            if buffer is not None and not isinstance(buffer, DTensor):
                part._buffers[name] = on_mesh(buffer, mesh)
    for name, p, _ in found.values():
        if p.ndim == 0:
            raise ValueError(
                f"fully_shard doesn't support scalar parameters. Change {name} to a 1D tensor with numel equal to 1."
            )
    return [ShardedParameter(name, p, mesh, slots, _dimension(name, p, placement)) for name, p, slots in found.values()]


def _dimension(name: str, p: Parameter, placement: Callable[[Parameter], Shard | None] | None) -> int:
    """Returns the dimension along which a parameter is sharded."""
    chosen = None if placement is None else placement(p)
    if chosen is None:
        return 0
    if not isinstance(chosen, Shard):
        raise ValueError(f"[fully_shard] shard_placement_fn must return Shard(dim) or None, got {chosen!r} for {name}")
    if not -p.ndim <= chosen.dim < p.ndim:
        raise ValueError(f"[fully_shard] {chosen!r} is not a dimension of {name}, whose shape is {tuple(p.dims)}")
    return chosen.dim % p.ndim


def _own_modules(module: Module, prefix: str) -> list[tuple[str, Module]]:
    found = [(prefix, module)]
    for name, child in module._modules.items():
        if child is not None and not isinstance(child, FSDPModule):
            found += _own_modules(child, f"{prefix}{name}.")
    return found


def _adopt(module: FSDPModule) -> None:
    """Makes a module the root of the groups inside of it, when it is called first."""
    shared = Shared(root=module._fsdp)
    for group in module._fsdp_groups():
        group.shared = shared
        shared.groups.append(group)


def _before_forward(module: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    group: ParameterGroup = module._fsdp
    if group.shared.root is None:
        _adopt(module)
    shared = group.shared
    if group.is_root and not shared.is_backward:
        shared.begin_forward()
    if not shared.is_backward:
        shared.running.append(group)
    group.unshard()
    if not shared.is_backward:
        following = group.prefetches_forward
        if following is None:
            after = shared.neighbor(group, 1)
            following = [] if after is None else [after]
        for other in following:
            other.begin_unshard()
    wanted = group.policy.param_dtype
    if wanted is not None and group.policy.cast_forward_inputs:
        args, kwargs = tree_map(lambda x: _cast(x, wanted), (args, kwargs))
    return args, kwargs


def _after_forward(module: Any, args: Any, result: Any) -> Any:
    group: ParameterGroup = module._fsdp
    shared = group.shared
    if not shared.is_backward:
        reshards = group.reshards_after_forward
        # What the outermost module's backward pass needs first is not freed before it.
        if reshards or (reshards is None and (not group.is_root or not _core.is_grad_enabled())):
            group.reshard()
        if group.is_root:
            shared.is_forward = False
            shared.order = list(dict.fromkeys(shared.running))
            for other in shared.groups:
                if other._gathering is not None and other not in shared.order:
                    other.reshard()
    if group.policy.output_dtype is not None:
        result = tree_map(lambda x: _cast(x, group.policy.output_dtype), result)
    if _core.is_grad_enabled():
        result = tree_map(lambda x: _hooked(x, group), result)
    return result


def _cast(x: Any, dtype: Any) -> Any:
    return (
        x.to(dtype)
        if isinstance(x, Tensor) and x.is_floating_point() and x.dtype_name != _types.dtype_name(dtype)
        else x
    )


def _hooked(x: Any, group: ParameterGroup) -> Any:
    if isinstance(x, Tensor) and x.requires_grad:
        x.register_hook(lambda _: group.before_backward())
    return x


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Makes a method of a module gather and free the parameters as `forward` does.

    Raises
    ------
    ValueError
        If the module has no such method.

    See Also
    --------
    torch.distributed.fsdp.fully_shard, torch.distributed.fsdp.FSDPModule

    Examples
    --------
    >>> from cuprous.torch.distributed import fsdp
    >>> model = nn.Linear(2, 3)
    >>> _ = fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
    >>> fsdp.register_fsdp_forward_method(model, "forward")
    """
    if not isinstance(module, FSDPModule):
        return
    method = getattr(module, method_name, None)
    if method is None:
        raise ValueError(f"{type(module).__name__} does not have a method {method_name}")

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _before_forward(module, args, kwargs)
        return _after_forward(module, args, method(*args, **kwargs))

    object.__setattr__(module, method_name, wrapped)


__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]
