"""`DTensor`: a tensor that the ranks of a mesh hold together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _types
from cuprous.torch._sharded import Sharded
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed import _collectives
from cuprous.torch.distributed.device_mesh import DeviceMesh
from cuprous.torch.distributed.tensor import _redistribute
from cuprous.torch.distributed.tensor._layout import checked, local_part
from cuprous.torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from cuprous.torch.nn.parameter import Parameter


class DTensor(Sharded):
    """A tensor that the ranks of a mesh hold together. `distribute_tensor` and `DTensor.from_local` return one.

    Operations compute on each rank's part, by the placements of their operands. An operation that would need other
    placements raises: nothing is sent between ranks except by `redistribute`, `full_tensor`, and in the backward pass
    where each rank has computed with its part of one operand and the whole of another. Gradients have the placements of
    their tensors, with `Replicate` in place of `Partial`.

    `isinstance(x, torch.Tensor)` is True, but a function that does not support it raises, and never takes the part of
    this rank for the whole.

    See Also
    --------
    torch.distributed.tensor.distribute_tensor, torch.distributed.tensor.distribute_module

    Examples
    --------
    >>> from cuprous.torch.distributed import tensor as dt
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> x = dt.distribute_tensor(torch.arange(4.0), mesh, [dt.Shard(0)])
    >>> (x * 2).full_tensor()
    tensor([0., 2., 4., 6.])
    """

    def __init__(self, local: Tensor, device_mesh: DeviceMesh, placements: Sequence[Placement], shape: Sequence[int],
                 is_parameter: bool = False) -> None:  # fmt: skip
        self._local, self.device_mesh = local, device_mesh
        self.placements: tuple[Placement, ...] = tuple(placements)
        self.dims: tuple[int, ...] = tuple(int(n) for n in shape)
        self._is_parameter = is_parameter

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` sees beside `DTensor`: `Parameter` or `Tensor`."""
        return Parameter if self._is_parameter else Tensor

    # --- construction
    @staticmethod
    def from_local(local_tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Any = None, *,
                   run_check: bool = False, shape: Any = None, stride: Any = None) -> DTensor:  # fmt: skip
        """Returns the tensor whose part on this rank is given. Gradients flow to it.

        Parameters
        ----------
        local_tensor : Tensor
            This rank's part. It is moved to the mesh's kind of device.
        device_mesh : DeviceMesh, optional
            The ranks.
        placements : sequence of Placements, optional
            One for each dimension of the mesh; `Replicate` by default.
        run_check : bool, default False
            Copies replicas from the first rank of each dimension, so that they are equal.
        shape : int or sequence of ints, optional
            The shape of the whole; by default, all ranks have parts of the same size.
        stride : sequence of ints, optional
            Not used without `shape`; must be that of a contiguous tensor.

        Raises
        ------
        ValueError
            For a shape of which this rank has another part, or one of `shape` and `stride` alone.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> dt.DTensor.from_local(torch.ones(2), mesh, [dt.Shard(0)]).shape
        torch.Size([2])
        """
        mesh = _mesh(device_mesh)
        local_tensor, ndim = on_mesh(local_tensor, mesh), local_tensor.ndim
        placed = checked(placements, mesh, ndim)
        if (shape is None) != (stride is None):
            raise ValueError("Please pass both shape and stride at the same time.")
        if shape is None:
            whole = list(local_tensor.dims)
            for k, placement in enumerate(placed):
                if isinstance(placement, Shard):
                    whole[placement.dim] *= mesh.size(k)
        else:
            whole = [int(n) for n in shape]
            if tuple(stride) != row_major(whole):
                raise NotImplementedError(f"[from_local] stride={tuple(stride)} is not that of a contiguous tensor")
        expected, _ = local_part(whole, mesh, placed)
        if list(local_tensor.dims) != expected:
            raise ValueError(
                f"this rank's part of a tensor of shape {whole} with {placed} has shape {expected}, but local_tensor "
                f"has {list(local_tensor.dims)}"
            )
        if run_check:
            with no_grad():
                for k, placement in enumerate(placed):
                    if isinstance(placement, Replicate):
                        _collectives.broadcast(local_tensor.detach(), group=mesh.get_group(k), group_src=0)
        # A view, so that a leaf's gradient stays its own.
        return DTensor(local_tensor.permute(list(range(ndim))), mesh, placed, whole)

    def like(self, local: Tensor) -> DTensor:
        """Returns the tensor whose part on this rank is `local`, distributed as this one."""
        return DTensor(local, self.device_mesh, self.placements, self.dims)

    def as_parameter(self, requires_grad: bool) -> Parameter:
        """Returns a parameter on the same memory."""
        leaf = self._local.detach()
        leaf.requires_grad = requires_grad
        return cast(Parameter, DTensor(leaf, self.device_mesh, self.placements, self.dims, is_parameter=True))

    # --- the parts
    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """Returns this rank's part.

        Parameters
        ----------
        grad_placements : sequence of Placements, optional
            What the gradient of the part is in the backward pass; by default the placements of this tensor. Give
            `Partial()` if each rank computes a term of the loss from a replica.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dt.distribute_tensor(torch.arange(4.0), mesh, [dt.Shard(0)])
        >>> x.to_local()
        tensor([0., 1., 2., 3.])
        """
        if grad_placements is None:
            return self._local.permute(list(range(self.ndim))) if self._local.requires_grad else self._local
        placed = checked(grad_placements, self.device_mesh, self.ndim)
        for own, other in zip(self.placements, placed, strict=True):
            if other != own and not isinstance(other, Partial):
                raise ValueError(f"grad_placements must be those of the tensor or Partial(), got {other!r} for {own!r}")
        groups = []
        for k, (own, other) in enumerate(zip(self.placements, placed, strict=True)):
            if isinstance(other, Partial) and isinstance(own, Replicate):
                groups.append(self.device_mesh.get_group(k))
        return _redistribute.vary(self._local, groups)

    def redistribute(self, device_mesh: DeviceMesh | None = None, placements: Any = None, *, async_op: bool = False,
                     forward_dtype: Any = None, backward_dtype: Any = None) -> DTensor:  # fmt: skip
        """Returns the tensor with other placements, which sends data between the ranks. All ranks call it.

        `Shard` to `Replicate` gathers, `Partial` to `Replicate` reduces, `Partial` to `Shard` reduces and scatters,
        `Shard` to another `Shard` exchanges; `Replicate` to anything sends nothing. The backward pass does the
        opposite.

        Raises
        ------
        RuntimeError
            For `Shard` to `Partial`, or a placement of which there is no gradient.
        NotImplementedError
            For another mesh, or a dtype for the transfer.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dt.distribute_tensor(torch.arange(4.0), mesh, [dt.Shard(0)])
        >>> x.redistribute(mesh, [dt.Replicate()]).placements
        (Replicate(),)
        """
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        for name, value in (("forward_dtype", forward_dtype), ("backward_dtype", backward_dtype)):
            if value is not None:
                raise NotImplementedError(f"[redistribute] {name}={value!r} is not supported")
        placed = checked(placements, self.device_mesh, self.ndim)
        local = _redistribute.redistribute(self._local, self.dims, self.device_mesh, self.placements, placed)
        return DTensor(local, self.device_mesh, placed, self.dims)

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """Returns the whole tensor on each rank. All ranks call it.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dt.distribute_tensor(torch.arange(4.0), mesh, [dt.Shard(0)])
        >>> x.full_tensor()
        tensor([0., 1., 2., 3.])
        """
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    # --- attributes
    @property
    def shape(self) -> Any:
        """The shape of the whole."""
        return _types.Size(self.dims)

    def size(self, dim: int | None = None) -> Any:
        """Returns the shape of the whole, or one extent.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dt.distribute_tensor(torch.arange(4.0), mesh, [dt.Shard(0)])
        >>> x.size(0)
        4
        """
        return self.shape if dim is None else self.dims[dim]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    def dim(self) -> int:
        """Returns the number of dimensions.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dt.distribute_tensor(torch.arange(4.0), mesh, [dt.Shard(0)])
        >>> x.dim()
        1
        """
        return len(self.dims)

    def numel(self) -> int:
        """Returns the number of elements of the whole.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dt.distribute_tensor(torch.arange(4.0), mesh, [dt.Shard(0)])
        >>> x.numel()
        4
        """
        count = 1
        for extent in self.dims:
            count *= extent
        return count

    def stride(self, dim: int | None = None) -> Any:
        """Returns the strides of the whole.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dt.distribute_tensor(torch.arange(4.0), mesh, [dt.Shard(0)])
        >>> x.stride()
        (1,)
        """
        strides = row_major(self.dims)
        return strides if dim is None else strides[dim]

    def is_contiguous(self) -> bool:
        """Returns True if this rank's part is contiguous.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dt.distribute_tensor(torch.arange(4.0), mesh, [dt.Shard(0)])
        >>> x.is_contiguous()
        True
        """
        return self._local.is_contiguous()

    @property
    def requires_grad(self) -> bool:
        """True if gradients flow to the tensor."""
        return bool(self._local.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._local.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> DTensor:
        """Sets whether gradients flow to the tensor.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dt.distribute_tensor(torch.arange(4.0), mesh, [dt.Shard(0)])
        >>> x.requires_grad_().requires_grad
        True
        """
        self._local.requires_grad = requires_grad
        return self

    @property
    def grad(self) -> DTensor | None:
        """The gradient, with the placements of the tensor (`Replicate` in place of `Partial`)."""
        gradient = self._local.grad
        if gradient is None:
            return None
        return DTensor(gradient, self.device_mesh, _redistribute.of_gradient(self.placements), self.dims)

    @grad.setter
    def grad(self, value: DTensor | None) -> None:
        if value is not None and (type(value) is not DTensor or value.placements != self.placements):
            raise TypeError(f"the gradient of a DTensor with {self.placements} must be a DTensor with them or None")
        self._local.grad = None if value is None else value._local

    @property
    def data(self) -> DTensor:
        """The tensor without its graph."""
        return self.detach()

    @data.setter
    def data(self, value: DTensor) -> None:
        self._same(value, "data")
        self._local.data = value._local

    def _same(self, value: Any, what: str) -> None:
        if type(value) is not DTensor:
            raise RuntimeError(
                f"{what}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before "
                "calling distributed operators! Use distribute_tensor"
            )
        if value.placements != self.placements or value.device_mesh != self.device_mesh or value.dims != self.dims:
            raise RuntimeError(f"{what}: {value._text()} is not distributed as {self._text()}; redistribute it first")

    def detach(self) -> DTensor:
        """Returns the tensor without its graph, on the same memory.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dt.distribute_tensor(torch.arange(4.0), mesh, [dt.Shard(0)])
        >>> x.requires_grad_().detach().requires_grad
        False
        """
        return self.like(self._local.detach())

    def retain_grad(self) -> None:
        """Keeps the gradient of a tensor that is not a leaf."""
        self._local.retain_grad()

    def backward(self, gradient: DTensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
                 inputs: Any = None) -> None:  # fmt: skip
        """Computes gradients. Without `gradient` the tensor is a scalar.

        Raises
        ------
        RuntimeError
            For a scalar that is a maximum, minimum or product over ranks, or a gradient with other placements.

        Examples
        --------
        >>> from cuprous.torch.distributed import tensor as dt
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dt.distribute_tensor(torch.arange(4.0), mesh, [dt.Shard(0)])
        >>> _ = x.requires_grad_()
        >>> (x * x).sum().backward()
        >>> x.grad.full_tensor()
        tensor([0., 2., 4., 6.])
        """
        if gradient is None:
            scale = 1.0
            for k, placement in enumerate(self.placements):
                if isinstance(placement, Partial) and placement.reduce_op not in ("sum", "avg"):
                    raise RuntimeError(f"{placement!r} has no gradient; redistribute the operand of the reduction")
                if isinstance(placement, Partial) and placement.reduce_op == "avg":
                    scale /= self.device_mesh.size(k)
            if self.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            start = _core.t_full(list(self._local.dims), scale, self._local.dtype_name, self._local.device_name)
        else:
            expected = _redistribute.of_gradient(self.placements)
            if type(gradient) is not DTensor or gradient.placements != expected:
                raise RuntimeError(f"the gradient of {self._text()} must be a DTensor with {expected}")
            start = gradient._local
        if inputs is not None:
            inputs = [x._local if isinstance(x, Sharded) else x for x in inputs]
        self._local.backward(start, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs)

    def register_hook(self, hook: Callable[[DTensor], DTensor | None]) -> Any:
        """Calls a function with the gradient; a tensor that it returns replaces the gradient."""
        placed = _redistribute.of_gradient(self.placements)

        def on_local(gradient: Tensor) -> Tensor | None:
            given = DTensor(gradient, self.device_mesh, placed, self.dims)
            answer = hook(given)
            if answer is None:
                return None
            given._same(answer, "register_hook")
            return answer._local

        return self._local.register_hook(on_local)

    def register_post_accumulate_grad_hook(self, hook: Callable[[DTensor], None]) -> Any:
        """Calls a function with this parameter after its gradient was accumulated."""
        return self._local.register_post_accumulate_grad_hook(lambda _: hook(self))

    # --- values
    def item(self) -> Any:
        """Returns the value of a replicated tensor of one element.

        Raises
        ------
        RuntimeError
            For other placements, because it would be the value of this rank's part.
        """
        if not all(isinstance(p, Replicate) for p in self.placements):
            raise RuntimeError(f"item() needs replicas, but this is {self._text()}; call full_tensor().item()")
        return self._local.item()

    def __bool__(self) -> bool:
        return bool(self.item())

    # No __float__, and a __setitem__: native functions would take the tensor for a number, without its graph.
    def __setitem__(self, key: Any, value: Any) -> None:
        raise NotImplementedError("assignment to a part of a DTensor is not supported; write to to_local()")

    def __len__(self) -> int:
        if not self.dims:
            raise TypeError("len() of a 0-d tensor")
        return self.dims[0]

    def __deepcopy__(self, memo: dict[int, Any]) -> DTensor:
        leaf = self._local.detach().clone()
        leaf.requires_grad = self.requires_grad
        copy = DTensor(leaf, self.device_mesh, self.placements, self.dims, self._is_parameter)
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotImplementedError(
            "a DTensor cannot be pickled, because its mesh is this job's; save it with torch.distributed.checkpoint, "
            "or its full_tensor()"
        )

    def __hash__(self) -> int:
        return id(self)

    def _text(self) -> str:
        return f"DTensor of shape {list(self.dims)} with {list(self.placements)}"

    def __repr__(self) -> str:
        return (f"DTensor(local_tensor={self._local!r}, device_mesh={self.device_mesh!r}, "
                f"placements={self.placements!r})")  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        # Attributes that do not depend on placements; methods are those of `_operators.METHODS`.
        if name in ("dtype", "dtype_name", "device", "device_name", "is_leaf", "grad_fn", "is_floating_point",
                    "is_complex", "element_size", "itemsize", "is_cuda", "is_cpu", "layout"):  # fmt: skip
            return getattr(self._local, name)
        if name.startswith("__") or name == "_local" or not hasattr(Tensor, name):
            raise AttributeError(f"'DTensor' object has no attribute '{name}'")
        raise AttributeError(
            f"{name} does not support DTensor; call it on full_tensor(), or on to_local() for this rank's part"
        )


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides of a contiguous tensor."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return tuple(strides)


def _mesh(given: DeviceMesh | None) -> DeviceMesh:
    if given is None:
        raise NotImplementedError("device_mesh=None is not supported: pass the mesh of init_device_mesh")
    return given


def on_mesh(tensor: Tensor, mesh: DeviceMesh) -> Tensor:
    """Returns a tensor on the kind of device that a mesh has: the current GPU, or the CPU."""
    return tensor if tensor.device.type == mesh.device_type else tensor.to(mesh.device_type)


__all__ = ["DTensor", "on_mesh", "row_major"]
