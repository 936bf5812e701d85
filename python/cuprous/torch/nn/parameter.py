"""Tensors that are a module's parameters or buffers."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._sharded import Sharded
from cuprous.torch._types import dtype_name, resolve_device


class Parameter(Tensor):
    """A tensor that `Module.parameters()` returns. It requires a gradient by default.

    Parameters
    ----------
    data : Tensor, optional
        A tensor, by default an empty one.
    requires_grad : bool, default True
        Whether operations on the parameter are recorded for gradients.

    See Also
    --------
    torch.nn.Buffer, torch.nn.Module

    Examples
    --------
    >>> nn.Parameter(torch.ones(2)).requires_grad
    True
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Creates a parameter that shares the memory of a tensor."""
        if data is None:
            data = _core.t_empty([0], _core.t_default_dtype(), "cpu")
        if isinstance(data, Sharded):
            return data.as_parameter(requires_grad)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter data must be a Tensor, not {type(data).__name__}")
        return super().__new__(cls, data, requires_grad=requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    __str__ = __repr__

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class UninitializedParameter(Parameter):
    """A parameter whose shape is not known yet. The object stays the same when the shape becomes known.

    Parameters
    ----------
    requires_grad : bool, default True
        Whether operations on the result are recorded for gradients.
    device : device or str, optional
        The device, by default the default device.
    dtype : dtype, optional
        The dtype, by default the default dtype.

    See Also
    --------
    torch.nn.Parameter, torch.nn.LazyLinear

    Examples
    --------
    >>> nn.LazyLinear(5).weight.numel()
    0
    """

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        """Creates a parameter without elements."""
        name = _core.t_default_dtype() if dtype is None else dtype_name(dtype)
        data = _core.t_empty([0], name, resolve_device(device))
        return super().__new__(cls, data, requires_grad)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return "<UninitializedParameter>"


class Buffer(Tensor):
    """A tensor that a module registers as a buffer when it is set as an attribute.

    Parameters
    ----------
    data : Tensor, optional
        A tensor, by default an empty one.
    persistent : bool, default True
        Whether `state_dict` contains it.

    See Also
    --------
    torch.nn.Module, torch.nn.Parameter

    Examples
    --------
    >>> module = nn.Module()
    >>> module.mean = nn.Buffer(torch.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        """Creates a buffer that shares the memory of a tensor; it is part of the module's state if persistent."""
        if data is None:
            data = _core.t_empty([0], _core.t_default_dtype(), "cpu")
        self = super().__new__(cls, data, requires_grad=data.requires_grad)
        self.persistent = persistent
        return self

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


__all__ = ["Buffer", "Parameter", "UninitializedParameter"]
