"""How a module is divided over ranks that compute its parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from cuprous._core import Tensor
from cuprous.torch.distributed.device_mesh import DeviceMesh
from cuprous.torch.distributed.tensor._api import as_parameter, distribute_module, distribute_tensor
from cuprous.torch.distributed.tensor._dtensor import DTensor
from cuprous.torch.distributed.tensor.placement_types import Placement, Replicate, Shard
from cuprous.torch.nn.modules.linear import Linear
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.modules.sparse import Embedding


class ParallelStyle(ABC):
    """Base class of the ways to divide a module.

    See Also
    --------
    torch.distributed.tensor.parallel.ColwiseParallel, torch.distributed.tensor.parallel.RowwiseParallel,
    torch.distributed.tensor.parallel.parallelize_module

    Examples
    --------
    >>> from cuprous.torch.distributed.tensor import parallel
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> isinstance(parallel.ColwiseParallel(), parallel.ParallelStyle)
    True
    """

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Divides a module over a mesh of one dimension, in place."""


def _placed(x: Any, mesh: DeviceMesh, given: Placement, desired: Placement) -> Any:
    """Returns an input of a module as a DTensor with the desired placement."""
    if not isinstance(x, DTensor):
        x = DTensor.from_local(x, mesh, [given])
    return x if x.placements == (desired,) else x.redistribute(placements=[desired])


def _result(x: DTensor, wanted: Placement, use_local: bool) -> Tensor | DTensor:
    if x.placements != (_normal(wanted, x.ndim),):
        x = x.redistribute(placements=[wanted])
    return x.to_local() if use_local else x


def _normal(placement: Placement, ndim: int) -> Placement:
    return Shard(placement.dim % ndim) if isinstance(placement, Shard) else placement


class _OfWeights(ParallelStyle):
    """Divides the weights of a linear layer or an embedding.

    Parameters
    ----------
    input_layouts : Placement, optional
        The placement of inputs that are plain tensors.
    output_layouts : Placement, optional
        The placement of the result.
    use_local_output : bool, default True
        Returns this rank's part, a plain tensor.
    """

    #: Dimensions along which weight and bias are divided, by class of module; None means replicas.
    _DIMS: ClassVar[dict[type[Module], tuple[int, int | None]]]
    #: Default placements of inputs and results.
    _LAYOUTS: ClassVar[tuple[Placement, Placement]]

    def __init__(self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
                 use_local_output: bool = True) -> None:  # fmt: skip
        super().__init__()
        self.input_layouts = (input_layouts or self._LAYOUTS[0],)
        self.output_layouts = (output_layouts or self._LAYOUTS[1],)
        self.use_local_output = use_local_output

    def _desired(self, module: Module) -> Placement:
        """Returns the placement of inputs with which the module computes."""
        return Replicate()

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        dims = next((dims for kind, dims in self._DIMS.items() if isinstance(module, kind)), None)
        if dims is None:
            raise NotImplementedError(
                f"{type(self).__name__} currently only support nn.Linear and nn.Embedding, got {type(module).__name__}"
            )

        def partition(_: str, part: Module, mesh: DeviceMesh) -> None:
            for name, dim in zip(("weight", "bias"), dims, strict=True):
                parameter = part._parameters.get(name)
                if parameter is not None and not isinstance(parameter, DTensor):
                    placed: Placement = Replicate() if dim is None else Shard(dim)
                    own = distribute_tensor(parameter, mesh, [placed], src_data_rank=self.src_data_rank)
                    part._parameters[name] = as_parameter(own, parameter.requires_grad)

        desired = self._desired(module)

        def before(_: Module, inputs: Any, mesh: DeviceMesh) -> Any:
            return (_placed(inputs[0], mesh, self.input_layouts[0], _normal(desired, inputs[0].ndim)), *inputs[1:])

        def after(_: Module, result: Any, mesh: DeviceMesh) -> Any:
            return _result(result, self.output_layouts[0], self.use_local_output)

        return distribute_module(module, device_mesh, partition, before, after)


class ColwiseParallel(_OfWeights):
    """Divides the outputs of a linear layer, or the columns of an embedding: each rank computes some features of the
    result from the whole input. The bias is divided too.

    Parameters
    ----------
    input_layouts : Placement, optional
        The placement of inputs that are plain tensors; `Replicate()`.
    output_layouts : Placement, optional
        The placement of the result; `Shard(-1)`.
    use_local_output : bool, default True
        Returns this rank's part, a plain tensor.

    See Also
    --------
    torch.distributed.tensor.parallel.RowwiseParallel, torch.distributed.tensor.parallel.SequenceParallel,
    torch.distributed.tensor.parallel.parallelize_module

    Examples
    --------
    >>> ColwiseParallel(output_layouts=Replicate())  # doctest: +SKIP
    """

    _DIMS: ClassVar[dict[type[Module], tuple[int, int | None]]] = {Linear: (0, 0), Embedding: (1, None)}
    _LAYOUTS = (Replicate(), Shard(-1))


class RowwiseParallel(_OfWeights):
    """Divides the inputs of a linear layer, or the rows of an embedding: each rank computes a term of the result from
    some features, and the terms are summed. Every rank has the bias.

    Parameters
    ----------
    input_layouts : Placement, optional
        The placement of inputs that are plain tensors; `Shard(-1)`, for an embedding give `Replicate()`.
    output_layouts : Placement, optional
        The placement of the result; `Replicate()`. With `Shard(1)` each rank gets a part of a sequence.
    use_local_output : bool, default True
        Returns this rank's part, a plain tensor.

    See Also
    --------
    torch.distributed.tensor.parallel.SequenceParallel, torch.distributed.tensor.parallel.parallelize_module,
    torch.distributed.tensor.parallel.ColwiseParallel

    Examples
    --------
    >>> from cuprous.torch.distributed.tensor import parallel
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> layer = parallel.parallelize_module(nn.Linear(2, 3), mesh, parallel.RowwiseParallel())
    >>> layer(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    _DIMS: ClassVar[dict[type[Module], tuple[int, int | None]]] = {Linear: (1, None), Embedding: (0, None)}
    _LAYOUTS = (Shard(-1), Replicate())

    def _desired(self, module: Module) -> Placement:
        return Shard(-1) if isinstance(module, Linear) else Replicate()


class SequenceParallel(ParallelStyle):
    """Divides the sequence that a normalization layer computes on. Its parameters are replicas.

    Parameters
    ----------
    sequence_dim : int, default 1
        The dimension of the sequence; 1.
    use_local_output : bool, default False
        Returns this rank's part, a plain tensor.

    See Also
    --------
    torch.distributed.tensor.parallel.parallelize_module, torch.distributed.tensor.parallel.ColwiseParallel,
    torch.distributed.tensor.parallel.RowwiseParallel

    Examples
    --------
    >>> from cuprous.torch.distributed.tensor import parallel
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> layer = parallel.parallelize_module(nn.LayerNorm(2), mesh, parallel.SequenceParallel())
    >>> layer(torch.ones(1, 4, 2)).shape
    torch.Size([1, 4, 2])
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        super().__init__()
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        sharded = Shard(self.sequence_dim)

        def before(_: Module, inputs: Any, mesh: DeviceMesh) -> Any:
            return (_placed(inputs[0], mesh, sharded, sharded), *inputs[1:])

        def after(_: Module, result: Any, mesh: DeviceMesh) -> Any:
            return result.to_local() if self.use_local_output else result

        return distribute_module(module, device_mesh, None, before, after)


class PrepareModuleInput(ParallelStyle):
    """Makes inputs of a module DTensors, with the placements that it needs.

    Parameters
    ----------
    input_layouts : Placement or tuple of Placements, optional
        Placements of the positional inputs that are plain tensors; None leaves an input as it is.
    desired_input_layouts : Placement or tuple of Placements, optional
        The placements that the module needs.
    input_kwarg_layouts : dict of str to Placement, optional
        The same by name.
    desired_input_kwarg_layouts : dict of str to Placement, optional
        The same by name.
    use_local_output : bool, default False
        Passes this rank's parts, plain tensors.

    See Also
    --------
    torch.distributed.tensor.parallel.PrepareModuleOutput, torch.distributed.tensor.parallel.parallelize_module
    """

    def __init__(self, *, input_layouts: Any = None, desired_input_layouts: Any = None,
                 input_kwarg_layouts: dict[str, Placement] | None = None,
                 desired_input_kwarg_layouts: dict[str, Placement] | None = None,
                 use_local_output: bool = False) -> None:  # fmt: skip
        super().__init__()
        self.input_layouts, self.desired_input_layouts = _several(input_layouts), _several(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if len(self.input_layouts) != len(self.desired_input_layouts):
            raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        if self.input_kwarg_layouts.keys() != self.desired_input_kwarg_layouts.keys():
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same length!")

    def _one(self, x: Any, mesh: DeviceMesh, given: Placement | None, desired: Placement | None) -> Any:
        if given is None or desired is None or not isinstance(x, Tensor):
            return x
        placed = _placed(x, mesh, given, _normal(desired, x.ndim))
        return placed.to_local() if self.use_local_output else placed

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def before(_: Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
            if self.input_layouts and len(args) != len(self.input_layouts):
                raise ValueError("module inputs and input_layouts should have same length!")
            layouts = (
                zip(args, self.input_layouts, self.desired_input_layouts, strict=True) if self.input_layouts else ()
            )
            placed = tuple(self._one(x, device_mesh, a, b) for x, a, b in layouts) or args
            given, desired = self.input_kwarg_layouts, self.desired_input_kwarg_layouts
            named = {key: self._one(x, device_mesh, given.get(key), desired.get(key)) for key, x in kwargs.items()}
            return placed, named

        module.register_forward_pre_hook(before, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Gives results of a module other placements.

    Parameters
    ----------
    output_layouts : Placement or tuple of Placements
        Placements of the results that are plain tensors; None leaves a result as it is.
    desired_output_layouts : Placement or tuple of Placements
        The placements that are needed.
    use_local_output : bool, default True
        Returns this rank's parts, plain tensors.

    See Also
    --------
    torch.distributed.tensor.parallel.PrepareModuleInput, torch.distributed.tensor.parallel.parallelize_module
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        super().__init__()
        self.output_layouts, self.desired_output_layouts = _several(output_layouts), _several(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def after(_: Module, args: Any, result: Any) -> Any:
            several = isinstance(result, tuple)
            results = result if several else (result,)
            if len(results) != len(self.output_layouts):
                raise ValueError("module outputs and output_layouts should have same length!")
            placed = []
            for x, given, desired in zip(results, self.output_layouts, self.desired_output_layouts, strict=True):
                if given is not None and desired is not None and isinstance(x, Tensor):
                    x = _placed(x, device_mesh, given, _normal(desired, x.ndim))
                    x = x.to_local() if self.use_local_output else x
                placed.append(x)
            return tuple(placed) if several else placed[0]

        module.register_forward_hook(after)
        return module


def _several(layouts: Any) -> tuple[Placement | None, ...]:
    if layouts is None:
        return ()
    return (layouts,) if isinstance(layouts, Placement) else tuple(layouts)


__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleOutput", "RowwiseParallel",
           "SequenceParallel"]  # fmt: skip
