"""`GPUArray` over arrays of Cuprous, whose operations fuse and run on the CPU too."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import cuprous
from cuprous import _core
from cuprous._args import ndarray
from cuprous.pycuda._memory import DeviceAllocation, PointerHolderBase, bytes_at


class _Pointer(PointerHolderBase):
    """Where an array is."""

    def __init__(self, array: ndarray) -> None:
        self._launch_argument = array

    def get_pointer(self) -> int:
        return self._launch_argument.address()


class GPUArray:
    """An array of the default device.

    Args:
        shape: its extents.
        dtype: its dtype.
        allocator: accepted: memory comes from the engine's pool.
        base: kept alive with it.
        gpudata: memory to show: an allocation, or an address.
        strides: not supported.
        order: "C" or "F".

    Raises:
        NotImplementedError: for `strides`.
    """

    __array_priority__ = 100

    def __init__(
        self, shape: Any, dtype: Any, allocator: Any = None, base: Any = None, gpudata: Any = None, strides: Any = None,
        order: str = "C",
    ) -> None:  # fmt: skip
        if strides is not None:
            raise NotImplementedError("[GPUArray] strides= is not supported; slice or transpose an array")
        shape = (int(shape),) if np.ndim(shape) == 0 else tuple(map(int, shape))
        self.base = base
        if gpudata is None:
            self._array: ndarray = cuprous.empty(shape, dtype, order)
            return
        itemsize, count = np.dtype(dtype).itemsize, int(np.prod(shape))
        owned = isinstance(gpudata, DeviceAllocation)
        memory: Any = gpudata.array if owned else bytes_at(int(gpudata), count * itemsize, gpudata)
        flat = memory[: count * itemsize].view(dtype)
        self._array = flat.reshape(shape) if order == "C" else flat.reshape(shape[::-1]).T

    @property
    def _launch_argument(self) -> ndarray:
        return self._array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        found: dict[str, Any] = self._array.__cuda_array_interface__  # type: ignore[attr-defined]
        _core.synchronize()  # PyCUDA promises no work under way: it names no stream
        return {**found, "strides": self._array.strides, "stream": None}

    # --- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its dtype."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """How many elements it has."""
        return self._array.size

    mem_size = size

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return self._array.nbytes

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._array.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes between elements along each axis."""
        return self._array.strides

    @property
    def flags(self) -> Any:
        """Contiguity."""
        return self._array.flags  # type: ignore[attr-defined]

    @property
    def gpudata(self) -> Any:
        """Where its first element is."""
        return _Pointer(self._array)

    @property
    def ptr(self) -> int:
        """The address of its first element."""
        return self._array.address()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __str__(self) -> str:
        return str(self.get())

    def __repr__(self) -> str:
        return repr(self.get())

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous. Use any() or all()")
        return bool(self.size and self.get().any())

    # --- to and from the host

    def set(self, ary: Any, async_: bool = False, stream: Any = None) -> None:
        """Takes the elements of a NumPy array of the same shape and dtype.

        Raises:
            ValueError: for another size or shape.
            TypeError: for another dtype.
        """
        ary = np.asarray(ary)
        if ary.size != self.size:
            raise ValueError("ary and self must be the same size")
        if ary.shape != self.shape:
            raise ValueError("ary and self must have the same shape")
        if ary.dtype != self.dtype:
            raise TypeError("ary and self must have the same dtype")
        self._array[...] = cuprous.asarray(ary)

    def set_async(self, ary: Any, stream: Any = None) -> None:
        """`set`: all work runs in order."""
        self.set(ary)

    def get(self, ary: Any = None, pagelocked: bool = False, async_: bool = False, stream: Any = None) -> Any:
        """A NumPy array with the elements; `ary` where it is given."""
        if ary is None:
            return cuprous.asnumpy(self._array, order="A")
        if ary.size != self.size:
            raise ValueError("self and ary must be the same size")
        if ary.dtype != self.dtype:
            raise TypeError("self and ary must have the same dtype")
        ary[...] = cuprous.asnumpy(self._array).reshape(ary.shape)
        return ary

    def get_async(self, stream: Any = None, ary: Any = None) -> Any:
        """`get`: the copy is finished on return."""
        return self.get(ary)

    def copy(self) -> GPUArray:
        """A copy."""
        return wrap(cuprous.copy(self._array))

    def fill(self, value: Any, stream: Any = None) -> GPUArray:
        """Sets all elements, and is the array."""
        self._array[...] = value
        return self

    # --- other views and orders

    def reshape(self, *shape: Any, order: str = "C") -> GPUArray:
        """The same memory in another shape; one extent may be -1. Elements keep their order in memory, as in PyCUDA.

        Raises:
            RuntimeError: for an array that is not contiguous.
            ValueError: for a shape of another size.
        """
        wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        array = self._array
        if not (array.is_c_contiguous or array.is_f_contiguous):
            raise RuntimeError("only contiguous arrays may be used as arguments to this operation")
        flat = cuprous.ravel(array if array.is_c_contiguous else array.T)
        return wrap(cuprous.reshape(flat, wanted) if order == "C" else cuprous.reshape(flat, wanted[::-1]).T)

    def ravel(self) -> GPUArray:
        """All elements on one axis."""
        return wrap(cuprous.ravel(self._array))

    def view(self, dtype: Any = None) -> GPUArray:
        """The same memory as another dtype."""
        return wrap(self._array.view(self.dtype if dtype is None else dtype))  # type: ignore[attr-defined]

    def squeeze(self) -> GPUArray:
        """Without axes of length one."""
        return wrap(cuprous.squeeze(self._array))

    def transpose(self, axes: Any = None) -> GPUArray:
        """A view with axes in another order, reversed if None."""
        return wrap(cuprous.transpose(self._array, axes))

    @property
    def T(self) -> GPUArray:
        """A view with axes reversed."""
        return self.transpose()

    def reverse(self, stream: Any = None) -> GPUArray:
        """A copy of an array of one axis from its end."""
        return wrap(cuprous.copy(cuprous.flip(self._array)))

    def astype(self, dtype: Any, stream: Any = None) -> GPUArray:
        """A copy of another dtype."""
        return wrap(self._array.astype(dtype))  # type: ignore[attr-defined]

    @property
    def real(self) -> GPUArray:
        """The real part."""
        return wrap(cuprous.copy(cuprous.real(self._array))) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> GPUArray:
        """The imaginary part."""
        return wrap(cuprous.copy(cuprous.imag(self._array)))

    def conj(self, out: GPUArray | None = None) -> GPUArray:
        """The conjugate."""
        return into(out, cuprous.conj(self._array))

    def __getitem__(self, index: Any) -> GPUArray:
        return wrap(cuprous.asarray(self._array[raw(index)]))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[raw(index)] = raw(value)

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    # --- arithmetic beyond operators

    def mul_add(
        self, selffac: Any, other: GPUArray, otherfac: Any, add_timer: Any = None, stream: Any = None,
        out: GPUArray | None = None,
    ) -> GPUArray:  # fmt: skip
        """`self * selffac + other * otherfac`."""
        return into(out, self._array * selffac + other._array * otherfac)

    def any(self, stream: Any = None, allocator: Any = None) -> GPUArray:
        """Whether any element is true."""
        return wrap(cuprous.any(self._array))

    def all(self, stream: Any = None, allocator: Any = None) -> GPUArray:
        """Whether all elements are true."""
        return wrap(cuprous.all(self._array))


def raw(x: Any) -> Any:
    """An array of ours behind whatever is given."""
    if isinstance(x, GPUArray):
        return x._array
    if isinstance(x, tuple):
        return tuple(map(raw, x))
    return cuprous.asarray(x) if isinstance(x, np.ndarray) and x.ndim else x


def wrap(array: Any) -> GPUArray:
    result = GPUArray.__new__(GPUArray)
    result.base = None
    result._array = cuprous.asarray(array)
    return result


def into(out: GPUArray | None, array: Any) -> GPUArray:
    if out is None:
        return wrap(array)
    out._array[...] = array
    return out


def _binary(function: Callable[[Any, Any], Any], reverse: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: GPUArray, other: Any) -> Any:
        if not isinstance(other, (GPUArray, np.ndarray, np.generic, bool, int, float, complex)):
            return NotImplemented
        a, b = self._array, raw(other)
        return wrap(function(b, a) if reverse else function(a, b))

    return method


def _in_place(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: GPUArray, other: Any) -> GPUArray:
        self._array = function(self._array, raw(other))
        return self

    return method


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: wrap(function(self._array))


for _name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]:
    _function = getattr(operator, f"{_name}_" if _name in ("and", "or") else _name)
    setattr(GPUArray, f"__{_name}__", _binary(_function))
    setattr(GPUArray, f"__r{_name}__", _binary(_function, reverse=True))
    setattr(GPUArray, f"__i{_name}__", _in_place(getattr(operator, f"i{_name}")))
for _name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    setattr(GPUArray, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ["neg", "pos", "abs", "invert"]:
    setattr(GPUArray, f"__{_name}__", _unary(getattr(operator, _name)))
