"""The parameters that `fully_shard` puts together: they are gathered by one collective, and so are their gradients
reduced."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _types
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed import _collectives
from cuprous.torch.distributed._options import ReduceOp
from cuprous.torch.distributed._work import Work
from cuprous.torch.distributed.device_mesh import DeviceMesh
from cuprous.torch.distributed.fsdp._policies import MixedPrecisionPolicy
from cuprous.torch.distributed.tensor._dtensor import DTensor, on_mesh
from cuprous.torch.distributed.tensor._layout import chunk
from cuprous.torch.distributed.tensor._redistribute import own_part
from cuprous.torch.distributed.tensor.placement_types import Placement, Replicate, Shard
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter


class ShardedParameter:
    """A parameter of which each rank keeps its rows along some dimension, and the whole while a module computes. If
    ranks of another mesh hold the parameter together, the whole is this rank's part of it."""

    def __init__(self, name: str, parameter: Parameter, mesh: DeviceMesh, slots: list[tuple[Module, str]],
                 dim: int = 0) -> None:  # fmt: skip
        self.name, self.slots, self.dim = name, slots, dim
        self._outer = parameter if isinstance(parameter, DTensor) else None
        whole: Tensor = parameter if self._outer is None else self._outer._local
        group = mesh.get_group(mesh.ndim - 1)
        n, rows = group.size(), whole.dims[dim]
        #: The other extents, the elements of a row, and rows of this rank's part with those that only pad it.
        self.rest = [extent for k, extent in enumerate(whole.dims) if k != dim]
        self.width = whole.numel() // max(rows, 1)
        self.most = -(-rows // n)
        self.chunks = [chunk(rows, n, k)[1] for k in range(n)]
        self.own_rows = self.chunks[group.rank()]
        local = own_part(on_mesh(whole.detach(), mesh), dim, group)
        local.requires_grad = parameter.requires_grad
        placements: list[Placement] = [*[Replicate()] * (mesh.ndim - 1), Shard(dim)]
        if self._outer is not None:
            other = self._outer.device_mesh
            joined = other._joined(mesh)
            if joined is None:
                raise ValueError(
                    f"[fully_shard] {name} is a DTensor on {other!r}; mesh must have other dimensions of that mesh, "
                    "by name, such as mesh_2d['dp'] where the parameter has mesh_2d['tp']"
                )
            # What the other mesh divides is divided again, so its dimensions come first.
            mesh, placements = joined, [*self._outer.placements, *placements]
        self.sharded = DTensor(local, mesh, placements, parameter.dims, is_parameter=True)
        self.whole: Parameter | None = None
        #: How often the part had been updated when the whole was gathered.
        self.gathered = 0
        #: True if the whole has the hook that waits for its gradient.
        self.is_hooked = False
        self.put(self.sharded)

    @property
    def padded(self) -> int:
        """The number of elements that each rank sends."""
        return self.most * self.width

    def put(self, parameter: Any) -> None:
        """Makes a tensor the parameter of the modules that have this one."""
        for module, name in self.slots:
            module._parameters[name] = parameter

    def put_whole(self, whole: Parameter) -> None:
        """Makes the whole the parameter of the modules."""
        outer = self._outer
        self.put(whole if outer is None else DTensor(whole, outer.device_mesh, outer.placements, outer.dims, True))

    def _rows(self, t: Tensor, dtype: str) -> Tensor:
        """Returns the elements of a tensor, row by row."""
        return _core.t_cast(t.detach(), dtype).movedim(self.dim, 0).reshape(-1)

    def from_rows(self, vector: Tensor, at: int, rows: int) -> Tensor:
        """Returns the tensor of so many rows that begin at a position of a vector."""
        return vector[at : at + rows * self.width].view([rows, *self.rest]).movedim(0, self.dim)

    def flat(self, dtype: str) -> Tensor:
        """Returns this rank's rows as a padded vector."""
        return _pad(self._rows(self.sharded._local, dtype), self.padded)

    def from_gathered(self, gathered: Tensor, at: int) -> Tensor:
        """Returns the whole from the vectors of all ranks, one in each row, in memory of its own."""
        parts = [self.from_rows(gathered[k], at, rows) for k, rows in enumerate(self.chunks) if rows]
        return _core.t_cat(parts, self.dim) if len(parts) > 1 else parts[0].clone()

    def spread(self, gradient: Tensor, dtype: str) -> Tensor:
        """Returns a gradient with the padded rows of each rank in a row."""
        flat = self._rows(gradient, dtype)
        return _pad(flat, self.padded * len(self.chunks)).view([len(self.chunks), self.padded])


def _pad(flat: Tensor, size: int) -> Tensor:
    missing = size - flat.numel()
    return _core.t_cat([flat, _core.t_full([missing], 0, flat.dtype_name, flat.device_name)], 0) if missing else flat


@dataclass
class _Reduction:
    """Gradients under way to the ranks that keep them."""

    out: Tensor
    work: Work
    parameters: list[ShardedParameter]


class _BackwardPass:
    """What a backward pass calls at its end. The pass drops it, called or not, when it has ended."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self.has_reached_end = False

    def __call__(self) -> None:
        self.has_reached_end = True
        self._shared.end_backward()


@dataclass(eq=False)
class Shared:
    """What all groups under one root share."""

    groups: list[ParameterGroup] = field(default_factory=list)
    #: The group of the outermost module, once that was called.
    root: ParameterGroup | None = None
    #: The order in which the groups were used in the forward pass, and in the one that runs.
    order: list[ParameterGroup] = field(default_factory=list)
    running: list[ParameterGroup] = field(default_factory=list)
    pending: _Reduction | None = None
    #: The group that owns `pending`.
    reducing: ParameterGroup | None = None
    #: True while the outermost module computes.
    is_forward: bool = False
    #: The backward pass that runs, or has failed: the pass alone keeps the object.
    backward: weakref.ref[_BackwardPass] | None = None

    @property
    def is_backward(self) -> bool:
        """True while a backward pass runs that has reached a module."""
        own = None if self.backward is None else self.backward()
        return own is not None and not own.has_reached_end

    def begin_forward(self) -> None:
        """Notes that the outermost module begins to compute."""
        self.drop_failed()
        self.running, self.is_forward = [], True

    def begin_backward(self) -> None:
        """Notes that a backward pass has reached a module, and asks to be called at its end."""
        if self.is_backward:
            return
        if self.backward is not None:
            self.drop_failed()
        own = _BackwardPass(self)
        _core.t_at_backward_end(own)
        self.backward = weakref.ref(own)

    def end_backward(self) -> None:
        """Reduces what is left, and shards every group that should be."""
        for group in reversed(self.groups):
            group.reduce_gradients()
            if group.reshards_after_backward:
                group.reshard()
        self.finish_reduction()
        self.backward = None

    def drop_failed(self) -> None:
        """Shards all groups after a forward or backward pass that has raised, and drops gradients of the latter
        that are not complete: they would be added to those of the next."""
        if not self.is_forward and self.backward is None:
            return
        if self.backward is not None:
            if self.pending is not None:
                self.pending.work.wait()
            self.pending = self.backward = None
            for group in self.groups:
                group.drop_gradients()
        self.is_forward = False
        for group in self.groups:
            group.reshard()

    def finish_reduction(self) -> None:
        """Waits for the gradients under way, and adds them to those of the parts."""
        if self.pending is not None and self.reducing is not None:
            reduction, self.pending = self.pending, None
            self.reducing.accept(reduction)

    def neighbor(self, group: ParameterGroup, step: int) -> ParameterGroup | None:
        """Returns the group that the forward pass uses after (or before) another."""
        if group not in self.order:
            return None
        at = self.order.index(group) + step
        return self.order[at] if 0 <= at < len(self.order) else None


class ParameterGroup:
    """The parameters of a module that no module inside of it shards itself."""

    def __init__(self, parameters: list[ShardedParameter], mesh: DeviceMesh, policy: MixedPrecisionPolicy,
                 reshards_after_forward: bool | None) -> None:  # fmt: skip
        self.parameters, self.mesh, self.policy = parameters, mesh, policy
        self.reshards_after_forward = reshards_after_forward
        self.reshards_after_backward, self.syncs, self.all_reduces = True, True, True
        self.divisor: float | None = None
        self.prefetches_forward: list[ParameterGroup] | None = None
        self.prefetches_backward: list[ParameterGroup] | None = None
        self.shared = Shared(groups=[self])
        self._gathering: tuple[Work, list[tuple[Tensor, list[ShardedParameter]]]] | None = None
        self.is_whole = False
        self._ready: set[str] = set()
        self.group = mesh.get_group(mesh.ndim - 1)

    def _dtype(self, parameter: ShardedParameter) -> str:
        wanted = self.policy.param_dtype
        own = parameter.sharded.dtype_name
        return own if wanted is None or not _types.DTYPES[own].is_floating_point else _types.dtype_name(wanted)

    def _by_dtype(self, parameters: list[ShardedParameter], kind: str) -> Iterator[tuple[str, list[ShardedParameter]]]:
        tables: dict[str, list[ShardedParameter]] = {}
        for p in parameters:
            dtype = self._dtype(p)
            if kind == "reduce" and self.policy.reduce_dtype is not None:
                dtype = _types.dtype_name(self.policy.reduce_dtype)
            tables.setdefault(dtype, []).append(p)
        yield from tables.items()

    @property
    def is_root(self) -> bool:
        """True for the group of the outermost module."""
        return self.shared.root is self

    # --- parameters
    def begin_unshard(self) -> None:
        """Begins to gather the parameters, unless they are whole or on their way and were not updated since."""
        if self.is_whole or self._gathering is not None:
            if all(p.sharded.updates == p.gathered for p in self.parameters):
                return
            self.reshard()
        for p in self.parameters:
            p.gathered = p.sharded.updates
        sent, works = [], []
        with no_grad():
            for dtype, parameters in self._by_dtype(self.parameters, "gather"):
                flat = _core.t_cat([p.flat(dtype) for p in parameters], 0)
                out = _core.t_empty([self.group.size(), flat.numel()], dtype, flat.device_name)
                works.append(_collectives.all_gather_into_tensor(out, flat.contiguous(), self.group, async_op=True))
                sent.append((out, parameters))
        if works:
            self._gathering = cast(Work, works[-1]), sent

    def unshard(self) -> None:
        """Makes the parameters whole, and those of the modules."""
        self.begin_unshard()
        self._end_gathering()
        self.is_whole = True

    def _end_gathering(self) -> None:
        """Takes the parameters that are on their way, if any are."""
        if self._gathering is None:
            return
        (work, sent), self._gathering = self._gathering, None
        work.wait()
        with no_grad():
            for out, parameters in sent:
                at = 0
                for p in parameters:
                    self._fill(p, p.from_gathered(out, at))
                    at += p.padded

    def _fill(self, p: ShardedParameter, values: Tensor) -> None:
        """Makes gathered values the whole of a parameter: always one tensor, whose memory comes and goes, so that the
        backward pass finds it again."""
        if p.whole is None or p.whole.dtype_name != values.dtype_name:
            p.whole, p.is_hooked = Parameter(values, requires_grad=p.sharded.requires_grad), False
        else:
            _core.t_replace_memory(p.whole, values)
            if p.whole.requires_grad != p.sharded.requires_grad:
                p.whole.requires_grad = p.sharded.requires_grad
        if p.whole.requires_grad and not p.is_hooked:
            p.whole.register_post_accumulate_grad_hook(partial(lambda q, _: self._accumulated(q), p))
            p.is_hooked = True
        p.put_whole(p.whole)

    def reshard(self) -> None:
        """Frees the whole parameters and makes the parts those of the modules."""
        if self._gathering is not None:
            self._end_gathering()
            self.is_whole = True
        if not self.is_whole:
            return
        for p in self.parameters:
            if p.whole is not None:
                _core.t_replace_memory(p.whole)
            p.put(p.sharded)
        self.is_whole = False

    # --- gradients
    def before_backward(self) -> None:
        """Prepares for the backward pass of the module."""
        self.shared.begin_backward()
        self.unshard()
        following = self.prefetches_backward
        if following is None:
            previous = self.shared.neighbor(self, -1)
            following = [] if previous is None else [previous]
        for group in following:
            group.begin_unshard()

    def _accumulated(self, p: ShardedParameter) -> None:
        """Reduces the gradients when all of them are complete: nothing reads the parameters after that."""
        self.shared.begin_backward()
        self._ready.add(p.name)
        if len(self._ready) < sum(q.sharded.requires_grad for q in self.parameters):
            return
        self.reduce_gradients()
        # A parameter without a gradient may still be read by the backward pass, for the gradients of its layer's input.
        if self.reshards_after_backward and all(q.sharded.requires_grad for q in self.parameters):
            self.reshard()

    def reduce_gradients(self) -> None:
        """Begins to reduce the gradients of the whole parameters, if they are to be sent."""
        self._ready.clear()
        if not self.syncs:
            return
        with no_grad():
            present = [p for p in self.parameters if p.whole is not None and p.whole.grad is not None]
            for dtype, parameters in self._by_dtype(present, "reduce"):
                rows = [p.spread(cast(Tensor, cast(Parameter, p.whole).grad), dtype) for p in parameters]
                sent = _core.t_cat(rows, 1).contiguous()
                out = _core.t_empty([sent.dims[1]], dtype, sent.device_name)
                for p in parameters:
                    cast(Parameter, p.whole).grad = None
                self.shared.finish_reduction()  # at most one is under way, for the memory that it takes
                op = ReduceOp.AVG if self.divisor is None else ReduceOp.SUM
                work = _collectives.reduce_scatter_tensor(out, sent, op, self.group, async_op=True)
                self.shared.pending, self.shared.reducing = _Reduction(out, cast(Work, work), parameters), self

    def drop_gradients(self) -> None:
        """Drops the gradients of the whole parameters, unless they accumulate until a later pass reduces them."""
        self._ready.clear()
        if self.syncs:
            for p in self.parameters:
                if p.whole is not None:
                    p.whole.grad = None

    def accept(self, reduction: _Reduction) -> None:
        """Adds reduced gradients to those of this rank's parts."""
        reduction.work.wait()
        out = reduction.out
        with no_grad():
            if self.all_reduces:
                for k in range(self.mesh.ndim - 1):
                    op = ReduceOp.AVG if self.divisor is None else ReduceOp.SUM
                    _collectives.all_reduce(out, op, self.mesh.get_group(k))
            if self.divisor is not None:
                out = out / self.divisor
            at = 0
            for p in reduction.parameters:
                local = p.sharded._local
                gradient = _core.t_cast(p.from_rows(out, at, p.own_rows), local.dtype_name)
                local.grad = gradient.clone() if local.grad is None else local.grad + gradient
                at += p.padded
