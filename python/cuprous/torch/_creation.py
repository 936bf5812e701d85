"""Creation of tensors: from values, constants and ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Union

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.dlpack import from_dlpack as import_
from cuprous._common.naming import named, related_names
from cuprous._core import Tensor
from cuprous.torch._args import sizes, unsupported, write_out
from cuprous.torch._memory_format import in_format
from cuprous.torch._storage import FileStorage
from cuprous.torch._types import (
    DTYPES,
    LEGACY,
    Size,
    dtype_name,
    is_meta_default,
    number_dtype,
    resolve_device,
    set_default_device,
)
from cuprous.torch._types import device as device_class


def _options(function: str, out: Any, dtype: Any, device: Any, layout: Any,
             default: str | None = None) -> tuple[str, str]:  # fmt: skip
    """Returns the engine's names of a dtype and a device, by default those of `out`. Raises for unsupported options."""
    unsupported(function, layout=(layout, None))
    if out is not None:
        dtype, device = out.dtype if dtype is None else dtype, out.device if device is None else device
    name = (default or _core.t_default_dtype()) if dtype is None else dtype_name(dtype)
    return name, resolve_device(device)


class MetaTensor(Tensor):
    """A tensor made while "meta" is the default device, which it names. What is computed from it is on the CPU."""

    def __new__(cls, data: Tensor) -> MetaTensor:
        """Creates a tensor that shares the memory of another one."""
        return super().__new__(cls, data, requires_grad=data.requires_grad)

    def __init__(self, data: Tensor) -> None:
        pass

    device = property(lambda self: device_class("meta"))
    is_meta = property(lambda self: True)


def _configured(result: Tensor, requires_grad: bool, pin_memory: bool = False, out: Any = None) -> Tensor:
    if out is not None:
        if pin_memory:
            raise RuntimeError("pin_memory=True makes new memory, whereas out= is written to; pass one of them")
        if out.dtype_name != result.dtype_name:
            raise RuntimeError(f"dtype {result.dtype} does not match dtype of out parameter ({out.dtype})")
        result = write_out(out, result)
    elif is_meta_default():
        result = MetaTensor(result)
    if pin_memory:
        result = result.pin_memory()
    if requires_grad:
        result.requires_grad = True
    return result


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """Returns a tensor with a copy of numbers, nested sequences, arrays or tensors.

    Floats without a dtype get the default dtype, and integers get int64.

    Parameters
    ----------
    data : array_like
        A number, nested sequences of numbers, an array or a tensor.
    dtype : dtype, optional
        The dtype, by default that of the data.
    device : device or str, optional
        The device, by default that of a tensor, otherwise the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor
        A tensor of the shape of the data.

    See Also
    --------
    torch.from_numpy, torch.from_dlpack, torch.as_tensor, torch.asarray

    Examples
    --------
    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> torch.tensor([1, 2], dtype=torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    if isinstance(data, _core.ndarray):
        data = _core.t_wrap(data)
    name = None if dtype is None else dtype_name(dtype)
    if isinstance(data, Tensor):
        copy = _core.t_cast(data.detach(), name or data.dtype_name)
        result = _core.t_to_device(copy, resolve_device(data.device if device is None else device))
    elif isinstance(data, (bool, int, float, complex)):
        result = _core.t_full([], data, name or number_dtype(type(data)), resolve_device(device))
    else:
        result = _core.t_wrap(_core.from_numpy(_host(data, name), resolve_device(device)))
    return _configured(result, requires_grad, pin_memory)


def _host(data: Any, name: str | None) -> Any:
    """Returns a NumPy array with the dtype that PyTorch would choose."""
    import numpy as np

    if isinstance(data, (list, tuple)):
        data = _plain(data)
        host = np.asarray(data)
        if host.dtype.kind == "O":
            raise ValueError(f"expected sequence of equal length at every dimension, got {data!r:.60}")
        if name is None and host.dtype.kind in "fc" and not _has_numpy(data):
            name = number_dtype(float if host.dtype.kind == "f" else complex)
        if name is None and not host.size and host.dtype.kind == "f":
            name = _core.t_default_dtype()
    else:
        host = np.asarray(data)
    return host if name is None else host.astype(_dtypes.numpy_dtype(name))


def _plain(data: Any) -> Any:
    if isinstance(data, Tensor):
        return data.item() if data.numel() == 1 and data.ndim == 0 else data.tolist()
    if isinstance(data, (list, tuple)):
        return [_plain(x) for x in data]
    return data


def _has_numpy(data: Any) -> bool:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return hasattr(data, "dtype")


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Returns a tensor that shares the memory of a tensor or array if dtype and device allow it, otherwise a copy.

    Parameters
    ----------
    data : array_like
        A number, nested sequences of numbers, an array or a tensor.
    dtype : dtype, optional
        The dtype, by default that of the data.
    device : device or str, optional
        The device, by default that of the data.

    Returns
    -------
    Tensor
        A tensor of the shape of the data.

    See Also
    --------
    torch.asarray, torch.tensor, torch.from_numpy, torch.from_dlpack

    Examples
    --------
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.as_tensor(x) is x
    True
    """
    if isinstance(data, _core.ndarray):
        data = _core.t_wrap(data)
    if not isinstance(data, Tensor):
        return tensor(data, dtype=dtype, device=device)
    return data.to(data.device if device is None else device, data.dtype if dtype is None else dtype)


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Returns a tensor of values, arrays or tensors.

    Parameters
    ----------
    obj : array_like
        The values.
    dtype : dtype, optional
        The dtype, by default the default dtype.
    device : device or str, optional
        The device, by default that of the values.
    copy : bool, optional
        True for a copy in any case; False to raise where a copy would be needed.
    requires_grad : bool, default False
        Whether the tensor requires gradients.

    Returns
    -------
    Tensor
        A tensor of the shape of the values.

    Raises
    ------
    ValueError
        For `copy=False` and values that have to be copied.

    See Also
    --------
    torch.tensor, torch.from_numpy, torch.from_dlpack, torch.as_tensor

    Examples
    --------
    >>> torch.asarray([1, 2], dtype=torch.float32)
    tensor([1., 2.])
    """
    if isinstance(obj, FileStorage):
        obj = obj.content.copy()
    result = as_tensor(obj, dtype, device)
    shares = isinstance(obj, Tensor) and result.shares_storage(obj)
    if copy is False and not shares and not isinstance(obj, _core.ndarray):
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    if copy and shares:
        result = _core.t_cast(result, result.dtype_name)
    return _configured(result.detach() if result.requires_grad != requires_grad else result, requires_grad)


def from_numpy(ndarray: Any) -> Tensor:
    """Returns a tensor with a copy of a NumPy array's values. PyTorch's CPU tensors share the memory instead.

    Parameters
    ----------
    ndarray : numpy.ndarray
        A NumPy array.

    Returns
    -------
    Tensor
        A tensor of the array's shape and dtype, in host memory.

    Raises
    ------
    TypeError
        For other objects.

    See Also
    --------
    torch.from_dlpack, torch.as_tensor, torch.asarray, torch.tensor, torch.frombuffer

    Examples
    --------
    >>> torch.from_numpy(np.arange(3))
    tensor([0, 1, 2])
    """
    import numpy as np

    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return _core.t_wrap(_core.from_numpy(ndarray, "cpu"))


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Returns a tensor that shares the memory of another library's array.

    Parameters
    ----------
    ext_tensor : object
        An object with the DLPack protocol.
    device : device or str, optional
        The device of the result; by default that of the memory.
    copy : bool, optional
        True always copies, False never, None (the default) only if needed.

    Returns
    -------
    Tensor
        A tensor of its shape and dtype, on its device.

    See Also
    --------
    torch.as_tensor, torch.asarray, torch.tensor, torch.from_numpy

    Examples
    --------
    >>> torch.from_dlpack(cp.arange(3.0, device="cpu")).shape
    torch.Size([3])
    """
    target = None if device is None else resolve_device(device)
    return _core.t_wrap(import_(ext_tensor, device=target, copy=copy))


def _extents(given: tuple[Any, ...], size: Any) -> list[int]:
    """Returns a shape that was given as separate integers, as a sequence, or as the argument `size`."""
    return sizes(given if size is None else (size,))


def _constant(name: str, value: int) -> Callable[..., Tensor]:
    def make(*sizes_: Any, size: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
        kind, device_name = _options(name, out, dtype, device, layout)
        return _configured(
            _core.t_full(_extents(sizes_, size), value, kind, device_name), requires_grad, pin_memory, out
        )

    return named(
        make,
        name,
        f"""Returns a tensor filled with {name}.

    Parameters
    ----------
    *sizes_ : int or sequence of ints
        The extents, as integers or as one sequence.
    size : int or sequence of ints, optional
        The extents as a sequence, in place of `sizes_`.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor
        A tensor of the given extents.

    See Also
    --------
    torch.{name}_like, {related_names(name, "zeros ones empty full")}

    Examples
    --------
    >>> torch.{name}(2, 3)
    tensor([[{value}., {value}., {value}.],
            [{value}., {value}., {value}.]])
    """,
    )


zeros, ones = _constant("zeros", 0), _constant("ones", 1)


def empty(*sizes_: Any, size: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
          requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None) -> Tensor:  # fmt: skip
    """Returns a tensor whose elements are not set to anything in particular.

    Parameters
    ----------
    *sizes_ : int or sequence of ints
        The extents, as integers or as one sequence.
    size : int or sequence of ints, optional
        The extents as a sequence, in place of `sizes_`.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.
    memory_format : memory_format, optional
        The order of dimensions in memory, by default row-major.

    Returns
    -------
    Tensor
        A tensor of the given extents.

    See Also
    --------
    torch.zeros, torch.ones, torch.full, torch.eye, torch.empty_strided

    Examples
    --------
    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """
    name, device_name = _options("empty", out, dtype, device, layout)
    result = in_format(_core.t_empty(_extents(sizes_, size), name, device_name), memory_format)
    return _configured(result, requires_grad, pin_memory, out)


def full(size: Sequence[int], fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None,
         device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Returns a tensor filled with a value, whose type determines the dtype unless one is given.

    Parameters
    ----------
    size : sequence of ints
        The extents.
    fill_value : number
        The value.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The dtype, by default that of the value: bool, int64 or the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor
        A tensor of the given extents.

    See Also
    --------
    torch.eye, torch.empty, torch.zeros, torch.ones

    Examples
    --------
    >>> torch.full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
    """
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    name, device_name = _options("full", out, dtype, device, layout, number_dtype(type(fill_value)))
    return _configured(_core.t_full(sizes((size,)), fill_value, name, device_name), requires_grad, pin_memory, out)


# --- tensors like another one


_FILLED, _RANDOM = "zeros_like ones_like empty_like full_like", "rand_like randn_like randint_like"


def _like(function: str, make: Callable[..., Tensor], *arguments: str) -> Callable[..., Tensor]:
    def like(input: Tensor, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False, memory_format: Any = None, **options: Any) -> Tensor:  # fmt: skip
        result = make(input, *args, dtype=input.dtype if dtype is None else dtype, layout=layout,
                      device=input.device if device is None else device, requires_grad=requires_grad,
                      **options)  # fmt: skip
        return in_format(result, memory_format)

    source = function.removesuffix("_like")
    call = ", ".join(["x", *arguments])
    return named(
        like,
        function,
        f"""Returns `{source}` with the shape, dtype and device of a tensor.

    Parameters
    ----------
    input : Tensor
        The tensor, of any shape and dtype.
    *args : any
        The arguments of `{source}` after the extents.
    dtype : dtype, optional
        Another dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        Another device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    memory_format : memory_format, optional
        The order of dimensions in memory, by default row-major.
    **options : any
        Further keywords of `{source}`.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.{source}, {related_names(function, _RANDOM if "rand" in function else _FILLED)}

    Examples
    --------
    >>> x = torch.zeros(2, 3, dtype=torch.float64)
    >>> y = torch.{function}({call})
    >>> y.shape, y.dtype
    (torch.Size([2, 3]), torch.float64)
    """,
    )


zeros_like = _like("zeros_like", lambda t, **options: zeros(t.dims, **options))
ones_like = _like("ones_like", lambda t, **options: ones(t.dims, **options))
empty_like = _like("empty_like", lambda t, **options: empty(t.dims, **options))
full_like = _like("full_like", lambda t, fill_value, **options: full(t.dims, fill_value, **options), "7")


def complex_(real: Tensor, imag: Tensor) -> Tensor:
    """Returns a complex tensor made from real and imaginary parts."""
    return _core.t_map("make_complex", real, imag)


def tensor_new(*args: Any, device: Any = None) -> Tensor:
    """`torch.Tensor(...)`: a tensor of the given sizes, or of the given values in the default dtype."""
    if len(args) > 1 and not all(isinstance(a, int) for a in args):
        raise TypeError("new(): expected sizes or one sequence of values")
    return of_sizes_or_values(args, DTYPES[_core.t_default_dtype()], device)


def of_sizes_or_values(args: tuple[Any, ...], dtype: Any, device: Any) -> Tensor:
    """Returns an empty tensor if the arguments are sizes, otherwise a tensor of the values."""
    if all(isinstance(a, int) for a in args):
        return empty(*(args or (0,)), dtype=dtype, device=device)
    if len(args) == 1 and isinstance(args[0], Size):
        return empty(args[0], dtype=dtype, device=device)
    return tensor(*args, dtype=dtype, device=device)


class legacy:
    """Legacy tensor types: `torch.FloatTensor`, `torch.cuda.FloatTensor` and so on.

    Calling one with sizes or values creates a tensor. `x.type(…)` converts to it, and `isinstance` checks for it.

    Parameters
    ----------
    name : str
        The name of the dtype.
    device : device or str, optional
        The device, by default the CPU.

    Examples
    --------
    >>> torch.LongTensor([1, 2])
    tensor([1, 2])
    >>> isinstance(torch.tensor([1.0]), torch.FloatTensor)
    True
    """

    def __init__(self, name: str, device: Any = None) -> None:
        self.dtype, self.device = DTYPES[name], device

    def __call__(self, *args: Any) -> Tensor:
        """Returns a tensor of the given sizes or values."""
        return of_sizes_or_values(args, self.dtype, self.device)

    @property
    def is_cuda(self) -> bool:
        """True for a type of CUDA tensors.

        Examples
        --------
        >>> torch.FloatTensor.is_cuda
        False
        """
        return self.device is not None

    def __instancecheck__(self, x: Any) -> bool:
        kind = "cuda" if self.is_cuda else "cpu"
        return isinstance(x, Tensor) and x.dtype is self.dtype and x.device_name.startswith(kind)

    def __or__(self, other: Any) -> Any:
        """Returns a union of types, for annotations."""
        return Union[self, other]  # noqa: UP007

    __ror__ = __or__

    def __repr__(self) -> str:
        name = next(name for name, of in LEGACY.items() if of == self.dtype.name)
        return f"<class 'torch.{'cuda.' if self.is_cuda else ''}{name}Tensor'>"


def set_default_tensor_type(t: Any) -> None:
    """Sets the default dtype and device from a legacy type such as `torch.cuda.FloatTensor`, or from its name.

    Parameters
    ----------
    t : type or str
        The type or its name.

    Raises
    ------
    TypeError
        If the type is not one of floats.

    See Also
    --------
    torch.set_default_device, torch.get_default_device, torch.set_default_dtype, torch.get_default_dtype

    Examples
    --------
    >>> torch.set_default_tensor_type(torch.FloatTensor)
    """
    if isinstance(t, str):
        path, _, name = t.removeprefix("torch.").rpartition(".")
        t = legacy(LEGACY[name.removesuffix("Tensor")], path or None)
    if not isinstance(t, legacy) or not t.dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, not {t!r}")
    _core.t_set_default_dtype(t.dtype.name)
    set_default_device("cuda" if t.is_cuda else "cpu")


__all__ = [
    "as_tensor", "asarray", "empty", "empty_like", "from_dlpack", "from_numpy", "full", "full_like", "ones",
    "ones_like", "set_default_tensor_type", "tensor", "zeros", "zeros_like",
]  # fmt: skip
