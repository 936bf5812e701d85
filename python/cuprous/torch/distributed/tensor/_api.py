"""Functions that distribute tensors and modules over a mesh, or make distributed tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from cuprous._core import Tensor
from cuprous.torch import _creation, _types
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed import _collectives
from cuprous.torch.distributed.device_mesh import DeviceMesh
from cuprous.torch.distributed.tensor import _redistribute
from cuprous.torch.distributed.tensor._dtensor import DTensor, _mesh, on_mesh
from cuprous.torch.distributed.tensor._layout import checked, coordinate, local_part
from cuprous.torch.distributed.tensor.placement_types import Partial, Placement, Replicate
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter


def distribute_tensor(tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Any = None, *,
                      src_data_rank: int | None = 0) -> DTensor:  # fmt: skip
    """Distributes a tensor over a mesh. Gradients do not flow to it: the result is a leaf.

    Parameters
    ----------
    tensor : Tensor
        The whole tensor, of the same shape on all ranks. It is moved to the mesh's kind of device.
    device_mesh : DeviceMesh, optional
        The ranks.
    placements : sequence of Placements, optional
        One for each dimension of the mesh; `Replicate` by default. Uneven sizes are those of `torch.chunk`.
    src_data_rank : int or None, default 0
        The rank in each dimension of the mesh whose values are taken. With None each rank takes its own, which sends
        nothing.

    Raises
    ------
    ValueError
        For a `Partial` placement, or not one for each dimension of the mesh.
    RuntimeError
        For a tensor that is not a leaf.

    See Also
    --------
    torch.distributed.tensor.distribute_module, torch.distributed.tensor.DTensor

    Examples
    --------
    >>> w = distribute_tensor(torch.ones(8, 4), mesh, [Shard(0)])  # doctest: +SKIP
    """
    mesh = _mesh(device_mesh)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh or (placements is not None and tensor.placements != tuple(placements)):
            raise ValueError(f"Cannot distribute a {tensor._text()} again; use redistribute")
        return tensor
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    placed = checked(placements, mesh, tensor.ndim)
    if any(isinstance(p, Partial) for p in placed):
        raise ValueError("a tensor cannot be distributed as Partial; use DTensor.from_local for the parts of a sum")
    coordinate(mesh)
    with no_grad():
        whole = on_mesh(tensor.detach(), mesh)
        if src_data_rank is not None and any(mesh.size(k) > 1 for k in range(mesh.ndim)):
            whole = whole.contiguous().clone()
            for k in reversed(range(mesh.ndim)):
                _collectives.broadcast(whole, group=mesh.get_group(k), group_src=src_data_rank)
        local = _redistribute.move(whole, tensor.dims, mesh, tuple(Replicate() for _ in placed), placed)
        local = local.clone() if local.shares_storage(tensor) else local
    local.requires_grad = tensor.requires_grad
    return DTensor(local, mesh, placed, tensor.dims, is_parameter=isinstance(tensor, Parameter))


def distribute_module(module: Module, device_mesh: DeviceMesh | None = None,
                      partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
                      input_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
                      output_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None) -> Module:  # fmt: skip
    """Replaces the parameters and buffers of a module by DTensors, in place.

    Parameters
    ----------
    module : Module
        The module.
    device_mesh : DeviceMesh, optional
        The ranks.
    partition_fn : callable, optional
        `fn(name, submodule, mesh)` replaces the parameters of a submodule. The others are replicated.
    input_fn : callable, optional
        `fn(module, inputs, mesh)` returns the inputs of `forward`.
    output_fn : callable, optional
        `fn(module, outputs, mesh)` returns its result.

    See Also
    --------
    torch.distributed.tensor.DTensor, torch.distributed.tensor.distribute_tensor

    Examples
    --------
    >>> from cuprous.torch.distributed import tensor as dt
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> layer = dt.distribute_module(nn.Linear(2, 3), mesh)
    >>> type(layer.weight).__name__
    'DTensor'
    """
    mesh = _mesh(device_mesh)
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for table in (part._parameters, part._buffers):
            for key, value in table.items():
                if value is not None and not isinstance(value, DTensor):
                    table[key] = distribute_tensor(value, mesh)
    if input_fn is not None:
        before = input_fn
        module.register_forward_pre_hook(lambda own, inputs: before(own, inputs, mesh))
    if output_fn is not None:
        after = output_fn
        module.register_forward_hook(lambda own, inputs, outputs: after(own, outputs, mesh))
    return module


def _filled(fill: Callable[..., Tensor]) -> Callable[..., DTensor]:
    def create(*size: Any, dtype: Any = None, layout: Any = None, requires_grad: bool = False,
               device_mesh: DeviceMesh | None = None, placements: Any = None) -> DTensor:  # fmt: skip
        if layout is not None:
            raise NotImplementedError(f"layout={layout!r} is not supported")
        shape = [int(n) for n in (size[0] if len(size) == 1 and not isinstance(size[0], int) else size)]
        mesh = _mesh(device_mesh)
        placed: tuple[Placement, ...] = checked(placements, mesh, len(shape))
        if any(isinstance(p, Partial) for p in placed):
            raise ValueError("a new tensor cannot be Partial")
        dtype = None if dtype is None else _types.DTYPES[_types.dtype_name(dtype)]
        local = fill(local_part(shape, mesh, placed)[0], dtype=dtype, device=mesh.device_type)
        local.requires_grad = requires_grad
        return DTensor(local, mesh, placed, shape)

    return create


zeros = _filled(_creation.zeros)
zeros.__doc__ = "Returns a distributed tensor of zeros, of which each rank makes its part."
ones = _filled(_creation.ones)
ones.__doc__ = "Returns a distributed tensor of ones, of which each rank makes its part."
empty = _filled(_creation.empty)
empty.__doc__ = "Returns a distributed tensor without values."


def full(size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, requires_grad: bool = False,
         device_mesh: DeviceMesh | None = None, placements: Any = None) -> DTensor:  # fmt: skip
    """Returns a distributed tensor of one value, of which each rank makes its part.

    See Also
    --------
    torch.distributed.tensor.ones, torch.distributed.tensor.zeros, torch.distributed.tensor.rand,
    torch.distributed.tensor.randn, torch.distributed.tensor.empty

    Examples
    --------
    >>> from cuprous.torch.distributed import tensor as dt
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> dt.full((2,), 3.0, device_mesh=mesh).full_tensor()
    tensor([3., 3.])
    """
    make = _filled(lambda shape, **options: _creation.full(shape, fill_value, **options))
    return make(size, dtype=dtype, layout=layout, requires_grad=requires_grad, device_mesh=device_mesh,
                placements=placements)  # fmt: skip


def rand(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = None,
         device_mesh: DeviceMesh | None = None, placements: Any = None) -> DTensor:  # fmt: skip
    """Returns a distributed tensor of uniform random numbers in [0, 1). They do not depend on the placements.

    See Also
    --------
    torch.distributed.tensor.randn, torch.distributed.tensor.empty, torch.distributed.tensor.full,
    torch.distributed.tensor.ones, torch.distributed.tensor.zeros

    Examples
    --------
    >>> from cuprous.torch.distributed import tensor as dt
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> dt.rand(2, 3, device_mesh=mesh, placements=[dt.Shard(0)]).shape
    torch.Size([2, 3])
    """
    made: Any = empty(*size, dtype=dtype, layout=layout, device_mesh=device_mesh, placements=placements)
    drawn: DTensor = made.uniform_()
    return drawn.requires_grad_(requires_grad)


def randn(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = None,
          device_mesh: DeviceMesh | None = None, placements: Any = None) -> DTensor:  # fmt: skip
    """Returns a distributed tensor of normal random numbers. They do not depend on the placements.

    See Also
    --------
    torch.distributed.tensor.empty, torch.distributed.tensor.full, torch.distributed.tensor.ones,
    torch.distributed.tensor.zeros, torch.distributed.tensor.rand

    Examples
    --------
    >>> from cuprous.torch.distributed import tensor as dt
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> dt.randn(2, 3, device_mesh=mesh, placements=[dt.Shard(0)]).shape
    torch.Size([2, 3])
    """
    made: Any = empty(*size, dtype=dtype, layout=layout, device_mesh=device_mesh, placements=placements)
    drawn: DTensor = made.normal_()
    return drawn.requires_grad_(requires_grad)


def as_parameter(tensor: DTensor, requires_grad: bool = True) -> Parameter:
    """Returns a distributed tensor as a module's parameter."""
    return Parameter(cast(Tensor, tensor), requires_grad)


__all__ = ["as_parameter", "distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn",
           "zeros"]  # fmt: skip
