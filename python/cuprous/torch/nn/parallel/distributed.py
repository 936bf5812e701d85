"""`DistributedDataParallel`: one copy of a module in each process, gradients averaged over them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _creation, _types
from cuprous.torch import distributed as dist
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed._groups import resolve
from cuprous.torch.distributed._options import unsupported
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parallel._buckets import Reducer, capacity
from cuprous.torch.nn.parallel._replicas import ReplicaCheck, interval

#: What a rank says at the beginning of each iteration in `join`.
_GONE, _ACTIVE, _WITHOUT_SYNC = 0, 1, 2


class DistributedDataParallel(Module):
    """Wraps a module so that each process computes with its part of a batch, and all have the same gradients: the
    averages over the ranks. The transfers run during the backward pass.

    The parameters and buffers of rank 0 are copied to all ranks first. Gradients are views of a few contiguous tensors.
    With `CUPROUS_DDP_CHECK=100` in the environment the bits of the parameters are compared every 100 iterations.

    Parameters
    ----------
    module : Module
        A module on the CPU or on one GPU, with the same parameters on all ranks.
    device_ids : list, optional
        A list with the GPU of the module, to which inputs are moved; None leaves them where they are.
    output_device : int or device, optional
        That GPU, or None.
    dim : int, default 0
        0.
    broadcast_buffers : bool, default True
        Copies the buffers of rank 0 to all ranks at the beginning of each forward pass. If not, each rank keeps its own
        from the beginning.
    init_sync : bool, default True
        Copies parameters and buffers of rank 0 to all ranks now.
    process_group : ProcessGroup, optional
        The ranks; all by default.
    bucket_cap_mb : float, optional
        The size of the tensors in which gradients are sent, in MiB; 25. The first one has 1.
    find_unused_parameters : bool, default False
        Lets iterations leave out parameters. Those that no rank uses keep their gradient.
    check_reduction : bool, default False
        False.
    gradient_as_bucket_view : bool, default False
        Gradients are views whatever is given.
    static_graph : bool, default False
        Each iteration uses the same parameters the same number of times.
    delay_all_reduce_named_params : object, optional
        None.
    param_to_hook_all_reduce : object, optional
        None.
    mixed_precision : object, optional
        None.
    device_mesh : DeviceMesh, optional
        None.

    Raises
    ------
    ValueError
        If the module is on several devices, or `device_ids` names another one.
    RuntimeError
        If no parameter requires a gradient; on all ranks, if their parameters differ, with the first one that does; at
        the end of a backward pass, if a parameter got no gradient.
    NotImplementedError
        For an option that is not supported.

    See Also
    --------
    torch.nn.parallel.data_parallel

    Examples
    --------
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(10, 2))  # doctest: +SKIP
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                 broadcast_buffers: bool = True, init_sync: bool = True, process_group: Any = None,
                 bucket_cap_mb: float | None = None, find_unused_parameters: bool = False,
                 check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False,
                 delay_all_reduce_named_params: Any = None, param_to_hook_all_reduce: Any = None,
                 mixed_precision: Any = None, device_mesh: Any = None,
                 skip_all_reduce_unused_params: bool = False, bucket_cap_mb_list: Any = None) -> None:  # fmt: skip
        super().__init__()
        unsupported("DistributedDataParallel", dim=dim or None, check_reduction=check_reduction,
                    delay_all_reduce_named_params=delay_all_reduce_named_params,
                    param_to_hook_all_reduce=param_to_hook_all_reduce, mixed_precision=mixed_precision,
                    device_mesh=device_mesh,
                    skip_all_reduce_unused_params=skip_all_reduce_unused_params or None,
                    bucket_cap_mb_list=bucket_cap_mb_list)  # fmt: skip
        group = resolve(process_group)
        if group is None:
            raise RuntimeError("[DistributedDataParallel] this process is not a rank of process_group")
        trained = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not trained:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that require a "
                "gradient."
            )
        self.device_ids = _device_ids(module, device_ids, output_device)
        self.output_device = None if self.device_ids is None else self.device_ids[0]
        group.native("DistributedDataParallel", [trained[0][1]])
        self.module = module
        self.process_group, self.broadcast_buffers = group, broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view, self.require_backward_grad_sync = True, True
        _check_same(module, group.host)
        if init_sync:
            with no_grad():
                for tensor in [*module.parameters(), *(module.buffers() if broadcast_buffers else [])]:
                    dist.broadcast(tensor.detach(), group=group, group_src=0)
        names = [name for name, _ in trained]
        parameters: list[Tensor] = [p for _, p in trained]
        cap = capacity(bucket_cap_mb)
        self._reducer = Reducer(names, parameters, group, cap, find_unused_parameters, static_graph)
        self._join: _Join | None = None
        #: The tables of the modules that have buffers.
        self._buffer_tables = [part._buffers for part in module.modules() if part._buffers]
        every = interval()
        self._check = ReplicaCheck(module, group.host, every) if every else None

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Returns the module's result."""
        reducer = self._reducer
        syncs = self.require_backward_grad_sync
        if _core.is_grad_enabled():
            reducer.is_enabled = syncs
            reducer.reset()
            if self._check is not None and syncs and self._join is None:
                self._check.step()
        if self._join is not None and _core.is_grad_enabled():
            self._join.begin(_ACTIVE if syncs else _WITHOUT_SYNC)
        if self._buffer_tables and self.broadcast_buffers and (syncs or not self.training):
            self._copy_buffers(0 if self._join is None else self._join.first)
        if self.device_ids is not None:
            device = f"cuda:{self.device_ids[0]}"
            inputs, kwargs = _moved(inputs, device), _moved(kwargs, device)
        return self.module(*inputs, **kwargs)

    def _copy_buffers(self, source: int) -> None:
        """Copies the buffers of one rank to all others, those of a device and dtype together."""
        alike: dict[tuple[str, str], list[Tensor]] = {}
        for buffer in (b for table in self._buffer_tables for b in table.values() if b is not None):
            alike.setdefault((buffer.device_name, buffer.dtype_name), []).append(buffer)
        with no_grad():
            for buffers in alike.values():
                flat = _core.t_cat([buffer.detach().reshape(-1) for buffer in buffers], 0)
                dist.broadcast(flat, group=self.process_group, group_src=source)
                if self.process_group.rank() == source:
                    continue
                at = 0
                for buffer in buffers:
                    part = flat[at : at + buffer.numel()]
                    buffer.detach().copy_(part.view(list(buffer.dims)))
                    at += buffer.numel()

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulates gradients on each rank alone. The next iteration outside of the context averages the sums."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextmanager
    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True,
             throw_on_early_termination: bool = False) -> Iterator[None]:  # fmt: skip
        """Lets ranks have different numbers of batches. A rank that leaves the context takes part with zeros until all
        have left, and then gets the parameters of a rank that left last.

        Parameters
        ----------
        divide_by_initial_world_size : bool, default True
            Averages divide by the number of ranks; else by those that have batches.
        enable : bool, default True
            False makes the context do nothing.
        throw_on_early_termination : bool, default False
            Raises on all ranks as soon as one has left.

        Raises
        ------
        RuntimeError
            With `throw_on_early_termination`.
        """
        if not enable:
            yield
            return
        self._join = _Join(self, divide_by_initial_world_size, throw_on_early_termination)
        try:
            yield
            self._join.end()
        finally:
            self._join, self._reducer.divisor = None, None

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Sends gradients with a function in place of the average: `hook(state, bucket)` returns a future of the
        vector that replaces the bucket's.

        Raises
        ------
        TypeError
            If the hook cannot be called.
        RuntimeError
            For a second hook.

        Examples
        --------
        >>> from cuprous.torch.nn.parallel import DistributedDataParallel
        >>> model = DistributedDataParallel(nn.Linear(2, 1))
        >>> from cuprous.torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        >>> model.register_comm_hook(None, default_hooks.bf16_compress_hook)
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._reducer.hook = (state, hook)


class _Join:
    """A rank's part in iterations in which some ranks have no more batches."""

    def __init__(self, module: DistributedDataParallel, divides_by_all: bool, throws: bool) -> None:
        self._module, self._divides_by_all, self._throws = module, divides_by_all, throws
        #: The first rank that is active, from which buffers are copied.
        self.first = 0
        self._was_last = False

    def begin(self, own: int) -> list[int]:
        """Exchanges what the ranks are about to do."""
        group = self._module.process_group.host
        all_ = _creation.zeros(group.size(), dtype=_types.DTYPES["int32"], device="cpu")
        state = _creation.tensor([own], dtype=_types.DTYPES["int32"], device="cpu")
        dist.all_gather_into_tensor(all_, state, group)
        states: list[int] = all_.tolist()
        active = [rank for rank, state in enumerate(states) if state != _GONE]
        if self._throws and len(active) < len(states):
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks. Ranks without inputs: "
                f"{[rank for rank, state in enumerate(states) if state == _GONE]}"
            )
        if active:
            self.first = active[0]
            self._module._reducer.divisor = None if self._divides_by_all else len(active)
        return states

    def end(self) -> None:
        """Takes part until no rank has batches, and then copies the parameters of a rank that was active last."""
        module = self._module
        has_buffers = module.broadcast_buffers and bool(module._buffer_tables)
        while any(states := self.begin(_GONE)):
            if has_buffers and _ACTIVE in states:
                module._copy_buffers(self.first)
            if _ACTIVE in states:
                module._reducer.shadow()
        with no_grad():
            for tensor in [*module.module.parameters(), *module.module.buffers()]:
                dist.broadcast(tensor.detach(), group=module.process_group, group_src=self.first)


def _device_ids(module: Module, device_ids: Any, output_device: Any) -> list[int] | None:
    """Returns the GPU to which inputs are moved, after checking that the module is there."""
    devices = sorted({p.device_name for p in module.parameters()})
    if len(devices) > 1:
        raise ValueError(
            f"DistributedDataParallel's input module must be on one device, but its parameters are on {devices}"
        )
    if not device_ids:
        if output_device is not None and _types.device(output_device) != _types.device(devices[0]):
            raise ValueError(f"output_device={output_device!r} is not the device of the module, {devices[0]}")
        return None
    if len(device_ids) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    names = {str(_types.device(f"cuda:{d}" if isinstance(d, int) else d))
             for d in (device_ids[0], device_ids[0] if output_device is None else output_device)}  # fmt: skip
    if names != set(devices):
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments only work with "
            "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
            f"{device_ids}, output_device {output_device}, and module parameters {set(devices)}."
        )
    return [int(devices[0].partition(":")[2] or 0)]


def _moved(value: Any, device: str) -> Any:
    """Returns inputs with their tensors on a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return type(value)((key, _moved(item, device)) for key, item in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_moved(item, device) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(item, device) for item in value)
    return value


def _check_same(module: Module, group: dist.ProcessGroup) -> None:
    """Raises on all ranks if parameters or buffers differ, and names the first that does."""
    own = [f"{name} {p.dtype_name}{list(p.dims)} requires_grad={p.requires_grad}"
           for name, p in [*module.named_parameters(), *module.named_buffers()]]  # fmt: skip
    digest = list(hashlib.sha256("\n".join(own).encode()).digest())
    all_ = _creation.zeros([group.size(), len(digest)], dtype=_types.DTYPES["int32"], device="cpu")
    dist.all_gather_into_tensor(all_, _creation.tensor(digest, dtype=_types.DTYPES["int32"], device="cpu"), group)
    digests = all_.tolist()
    if all(each == digests[0] for each in digests):
        return
    lists: list[Any] = [None] * group.size()
    dist.all_gather_object(lists, own, group)
    for other, theirs in enumerate(lists):
        for k in range(max(len(theirs), len(lists[0]))):
            a, b = (each[k] if k < len(each) else "nothing" for each in (lists[0], theirs))
            if a != b:
                raise RuntimeError(
                    f"DistributedDataParallel needs the same module on all ranks, but its tensor number {k} is {a} on "
                    f"rank 0 and {b} on rank {other}"
                )


__all__ = ["DistributedDataParallel"]
