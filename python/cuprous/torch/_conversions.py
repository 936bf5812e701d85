"""Methods that convert tensors: to other dtypes and devices, to NumPy's arrays and to Python's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _creation, _types
from cuprous.torch._args import astype, by_name
from cuprous.torch._memory_format import has_format, in_format


def to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False,
       copy: bool = False, memory_format: Any = None) -> Tensor:  # fmt: skip
    """Returns the tensor with another dtype, on another device, or both. It is the tensor itself if nothing changes.

    Parameters
    ----------
    *args : dtype, device or Tensor
        A dtype, a device or a tensor that has both, and then `non_blocking` and `copy`.
    dtype : dtype, optional
        The dtype, by default that of the tensor.
    device : device or str, optional
        The device, by default that of the tensor.
    non_blocking : bool, default False
        Whether a copy from pinned memory may still be running on return.
    copy : bool, default False
        Whether to return a copy in any case.
    memory_format : memory_format, optional
        The order of dimensions in memory, by default row-major.

    Returns
    -------
    Tensor
        A tensor of the same shape.

    Raises
    ------
    TypeError
        For arguments that are neither a dtype nor a device.

    Examples
    --------
    >>> torch.tensor([1, 2]).to(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    >>> torch.ones(2).to("cpu").device
    device(type='cpu')
    """
    switches = 0  # positional arguments: non_blocking, copy
    for position, arg in enumerate(args):
        if isinstance(arg, Tensor):
            dtype, device = arg.dtype, arg.device
        elif isinstance(arg, bool) and position:
            non_blocking, copy = (arg, copy) if switches == 0 else (non_blocking, arg)
            switches += 1
        elif isinstance(arg, (str, int, _types.device)):
            device = arg
        elif arg is not None:
            dtype = arg
    result = self
    if dtype is not None and _types.dtype_name(dtype) != self.dtype_name:
        result = _core.t_cast(result, _types.dtype_name(dtype))
    if device is not None:
        result = _core.t_to_device(result, _types.resolve_device(device), non_blocking)
    result = _core.t_cast(result, result.dtype_name) if copy and result is self else result
    return in_format(result, memory_format)


def _casting(method: str, name: str) -> Callable[..., Tensor]:
    def cast(self: Tensor, memory_format: Any = None) -> Tensor:
        return in_format(astype(self, name), memory_format)

    cast.__doc__ = f"""Returns the tensor cast to {name}.

    Parameters
    ----------
    memory_format : memory_format, optional
        The order of dimensions in memory, by default that of the tensor.

    Returns
    -------
    Tensor
        A tensor of {name}; the tensor itself if it has the dtype.

    Examples
    --------
    >>> torch.tensor([1, 0]).{method}().dtype
    torch.{name}
    """
    return cast


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Returns the legacy name of the tensor's type. With a dtype it returns the tensor cast to it.

    Parameters
    ----------
    dtype : dtype, optional
        A dtype, a legacy type or its name.
    non_blocking : bool, default False
        Has no effect.

    Returns
    -------
    str
        A string, or a tensor.

    Examples
    --------
    >>> torch.ones(2).type()
    'torch.FloatTensor'
    >>> torch.ones(2).type(torch.int64)
    tensor([1, 1])
    """
    if dtype is None:
        name = next((legacy for legacy, of in _types.LEGACY.items() if of == self.dtype_name), self.dtype_name)
        return f"torch.{'cuda.' if self.device_name != 'cpu' else ''}{name}Tensor"
    if isinstance(dtype, str):
        legacy = dtype.removeprefix("torch.").removeprefix("cuda.").removesuffix("Tensor")
        device = "cuda" if ".cuda." in dtype else "cpu"
        return to(
            self, _types.DTYPES[_types.LEGACY[legacy]], device=self.device if device in self.device_name else device
        )
    if isinstance(dtype, _creation.legacy):
        stays = dtype.is_cuda == (self.device_name != "cpu")
        return to(self, dtype.dtype, device=self.device if stays else dtype.device or "cpu")
    return to(self, dtype)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Returns the tensor with another tensor's dtype, on its device.

    Parameters
    ----------
    other : Tensor
        The tensor whose dtype and device the result gets.

    Returns
    -------
    Tensor
        A tensor of the same shape.

    Examples
    --------
    >>> torch.tensor([1, 2]).type_as(torch.tensor(0.5))
    tensor([1., 2.])
    """
    return to(self, other)


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Returns the tensor on a GPU.

    With `non_blocking` the copy of a pinned tensor may still be running on return. Computations that use the result
    wait for it.

    Parameters
    ----------
    device : device or str, optional
        The GPU, by default the current one.
    non_blocking : bool, default False
        Whether a copy from pinned memory may still be running on return.
    memory_format : memory_format, optional
        The order of dimensions in memory, by default row-major.

    Returns
    -------
    Tensor
        A tensor of the same shape and dtype.

    Raises
    ------
    RuntimeError
        On a machine without a GPU, or if the device is the CPU.

    Examples
    --------
    >>> x = torch.ones(2)
    >>> x = x.cuda() if torch.cuda.is_available() else x
    """
    place = _types.device("cuda" if device is None else device)
    if place.type == "cpu":
        raise RuntimeError("Invalid device, must be cuda device")
    return to(self, device=place, non_blocking=non_blocking, memory_format=memory_format)


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """Returns the tensor in host memory.

    Parameters
    ----------
    memory_format : memory_format, optional
        The order of dimensions in memory, by default row-major.

    Returns
    -------
    Tensor
        A tensor of the same shape and dtype; the tensor itself if it is there.

    Examples
    --------
    >>> torch.ones(2).cpu().device
    device(type='cpu')
    """
    return in_format(_core.t_to_device(self, "cpu"), memory_format)


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Returns a copy in page-locked memory, from which a GPU copies while the host continues (`non_blocking=True`).

    It is the tensor itself without a GPU or if the tensor is already pinned. Other tensors are copied through
    page-locked staging memory anyway.

    Parameters
    ----------
    device : device or str, optional
        The kind of accelerator, which has to be a GPU; page-locked memory serves all of them.

    Returns
    -------
    Tensor
        A tensor of the same shape and dtype.

    Raises
    ------
    RuntimeError
        If the tensor is not on the host, or for a device that is not a GPU.

    Examples
    --------
    >>> torch.ones(2).pin_memory().device
    device(type='cpu')
    """
    if device is not None and _types.device(device).type != "cuda":
        raise RuntimeError(f"page-locked memory is that of GPUs, not of {device}; leave the device out")
    if self.device_name != "cpu":
        raise RuntimeError(f"cannot pin 'torch.cuda.{self.dtype_name}Tensor' only dense CPU tensors can be pinned")
    if _core.t_is_pinned(self) or not _core.device_count():
        return self
    return _core.t_pin(self)


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Returns True if the tensor is in page-locked memory from `pin_memory`.

    Parameters
    ----------
    device : device or str, optional
        For PyTorch's signature; it has no effect.

    Returns
    -------
    bool

    Examples
    --------
    >>> torch.ones(2).is_pinned()
    False
    """
    return _core.t_is_pinned(self)


def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """Returns the tensor if it is contiguous in a memory format (row-major by default), otherwise a copy that is.

    Parameters
    ----------
    memory_format : memory_format, optional
        The order of dimensions in memory, by default row-major.

    Returns
    -------
    Tensor
        A tensor of the same shape and dtype.

    Examples
    --------
    >>> torch.ones(2, 3).t().contiguous().stride()
    (2, 1)
    """
    return _core.t_contiguous(self) if memory_format is None else in_format(self, memory_format)


def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Returns True if the tensor lies in memory in the order of a format (row-major by default), without gaps.

    Parameters
    ----------
    memory_format : memory_format, optional
        The order of dimensions in memory, by default row-major.

    Returns
    -------
    bool

    Examples
    --------
    >>> torch.ones(2, 3).t().is_contiguous()
    False
    """
    return has_format(self, memory_format)


def to_numpy(self: Tensor) -> Any:
    """Returns a NumPy array of the values, from any device.

    Returns
    -------
    numpy.ndarray
        A NumPy array of the same shape.

    Examples
    --------
    >>> torch.tensor([1, 2]).to_numpy()
    array([1, 2])
    """
    return _core.to_numpy(self.as_array())


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """Returns a NumPy array with a copy of the values. PyTorch's CPU tensors share the memory instead.

    Parameters
    ----------
    force : bool, default False
        Whether tensors on a GPU and tensors that require gradients are copied as well.

    Returns
    -------
    numpy.ndarray
        A NumPy array of the same shape.

    Raises
    ------
    RuntimeError
        If the tensor requires a gradient, unless gradients are disabled.
    TypeError
        If it is on a GPU.

    Examples
    --------
    >>> torch.tensor([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    if not force:
        if self.requires_grad and _core.is_grad_enabled():
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.device_name != "cpu":
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                "memory first."
            )
    return to_numpy(self)


def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """Implements NumPy's conversion protocol.

    Raises
    ------
    ValueError
        For `copy=False`.
    """
    if copy is False:
        raise ValueError("cannot convert a tensor to a NumPy array without a copy; use copy=None")
    host = numpy(self)
    return host if dtype is None else host.astype(dtype, copy=False)


def tolist(self: Tensor) -> Any:
    """Returns nested lists of Python numbers.

    Returns
    -------
    Tensor
        Nested lists, or a number for a tensor without dimensions.

    Examples
    --------
    >>> torch.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return self.detach().to_numpy().tolist()


_CASTS = {
    **{short.lower(): name for short, name in _types.LEGACY.items()}, "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip


METHODS: dict[str, Callable[..., Any]] = by_name(
    to, type_as, cuda, cpu, pin_memory, is_pinned, contiguous, is_contiguous, to_numpy, numpy, __array__, tolist
) | {"type": type_} | {name: _casting(name, dtype) for name, dtype in _CASTS.items()}  # fmt: skip
