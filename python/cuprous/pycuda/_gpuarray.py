"""`GPUArray` over arrays of Cuprous, whose operations fuse and run on the CPU too."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import cuprous
from cuprous import _core
from cuprous._common.arguments import ndarray
from cuprous.pycuda._attributes import NO_TEXTURES
from cuprous.pycuda._memory import DeviceAllocation, PointerHolderBase, bytes_at, mem_alloc

#: A function of a number of bytes, whose result is memory: an allocation, an address, or what has one as `ptr`.
Allocator = Callable[[int], Any]


class _Pointer(PointerHolderBase):
    """Where an array is."""

    def __init__(self, array: ndarray) -> None:
        self._launch_argument = array

    def get_pointer(self) -> int:
        return self._launch_argument.address()


class _RecordFlags:
    """How an array of records lies in memory, whose bytes are an axis more."""

    def __init__(self, array: ndarray) -> None:
        self.c_contiguous = self.forc = bool(array.is_c_contiguous)
        self.f_contiguous = self.c_contiguous and array.ndim < 3


class GPUArray:
    """An array of the default device. Records (NumPy's structured dtypes) are moved and given to kernels; only those
    compute with them.

    Args:
        shape: its extents.
        dtype: its dtype.
        allocator: where its memory comes from, and that of results: called with a number of bytes. The engine's pool
            without one.
        base: kept alive with it.
        gpudata: memory to show: an allocation, or an address.
        strides: bytes between elements, of a contiguous array.
        order: "C" or "F".

    Raises:
        NotImplementedError: for `strides` with gaps, and for records in the order "F".
    """

    __array_priority__ = 100

    def __init__(
        self, shape: Any, dtype: Any, allocator: Allocator | None = mem_alloc, base: Any = None, gpudata: Any = None,
        strides: Any = None, order: str = "C",
    ) -> None:  # fmt: skip
        dtype = np.dtype(dtype)
        shape = (int(shape),) if np.ndim(shape) == 0 else tuple(map(int, shape))
        count = math.prod(shape)
        self._record = dtype if dtype.names is not None else None
        if strides is not None:
            order = _order_of(shape, tuple(map(int, strides)), dtype.itemsize)
        if self._record is not None:
            if order == "F" and len(shape) > 1:
                raise NotImplementedError("[GPUArray] records in the order 'F' are not supported; use 'C'")
            order, dtype, shape = "C", np.dtype(np.uint8), (*shape, dtype.itemsize)
        nbytes = count * (self._record or dtype).itemsize
        self.base = base
        self.allocator: Allocator = allocator or mem_alloc
        # Memory of the engine's own is not asked for before something is done with it.
        if gpudata is None and nbytes and self.allocator is not mem_alloc:
            gpudata = self.allocator(nbytes)
        self._gpudata = gpudata
        if gpudata is None:
            self._array: ndarray = cuprous.empty(shape, dtype, order)
            return
        owned = isinstance(gpudata, DeviceAllocation)
        memory: Any = gpudata.array if owned else bytes_at(_address(gpudata), nbytes, gpudata)
        flat = memory[:nbytes].view(dtype)
        self._array = flat.reshape(shape) if order == "C" else flat.reshape(shape[::-1]).T

    @property
    def _launch_argument(self) -> ndarray:
        return self._array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        found: dict[str, Any] = self._array.__cuda_array_interface__  # type: ignore[attr-defined]
        _core.synchronize()  # PyCUDA promises no work under way: it names no stream
        found = {**found, "strides": self.strides, "stream": None}
        if self._record is not None:
            found |= {"shape": self.shape, "typestr": self.dtype.str, "descr": self.dtype.descr}
        return found

    # --- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self._array.shape if self._record is None else self._array.shape[:-1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its dtype."""
        return self._record or self._array.dtype

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    mem_size = size

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return self._array.nbytes

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes between elements along each axis."""
        return self._array.strides if self._record is None else self._array.strides[:-1]

    @property
    def flags(self) -> Any:
        """Contiguity."""
        return self._array.flags if self._record is None else _RecordFlags(self._array)  # type: ignore[attr-defined]

    @property
    def gpudata(self) -> Any:
        """Where its first element is: what the allocator gave, where there was one."""
        return _Pointer(self._array) if self._gpudata is None else self._gpudata

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

    def __reduce__(self) -> Any:
        from cuprous.pycuda.gpuarray import to_gpu  # which imports this module

        return to_gpu, (self.get(),)

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
        self._array[...] = cuprous.asarray(ary if self._record is None else _bytes_of(ary))

    def set_async(self, ary: Any, stream: Any = None) -> None:
        """`set`: all work runs in order."""
        self.set(ary)

    def get(self, ary: Any = None, pagelocked: bool = False, async_: bool = False, stream: Any = None) -> Any:
        """A NumPy array with the elements; `ary` where it is given."""
        if ary is None:
            return self._host(cuprous.asnumpy(self._array, order="A"))
        if ary.size != self.size:
            raise ValueError("self and ary must be the same size")
        if ary.dtype != self.dtype:
            raise TypeError("self and ary must have the same dtype")
        ary[...] = self._host(cuprous.asnumpy(self._array)).reshape(ary.shape)
        return ary

    def _host(self, found: Any) -> Any:
        """What was copied to the host, as elements."""
        if self._record is None:
            return found
        return np.ascontiguousarray(found).view(self._record).reshape(self.shape)

    def get_async(self, stream: Any = None, ary: Any = None) -> Any:
        """`get`: the copy is finished on return."""
        return self.get(ary)

    def copy(self) -> GPUArray:
        """A copy."""
        return self._like(cuprous.copy(self._array), self._record)

    def fill(self, value: Any, stream: Any = None) -> GPUArray:
        """Sets all elements, and is the array."""
        self[...] = value
        return self

    def _like(self, array: Any, record: np.dtype[Any] | None = None) -> GPUArray:
        """A result: its memory comes from where that of this array came from."""
        return wrap(array, self.allocator, record)

    def _shown(self, array: Any, record: np.dtype[Any] | None = None) -> GPUArray:
        """The same memory, seen in another way."""
        result = wrap(array, record=record)
        result.base, result.allocator = self, self.allocator
        return result

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
        if self._record is not None:
            return self._shown(cuprous.reshape(array, _filled(wanted, self.size) + array.shape[-1:]), self._record)
        flat = cuprous.ravel(array if array.is_c_contiguous else array.T)
        return self._shown(cuprous.reshape(flat, wanted) if order == "C" else cuprous.reshape(flat, wanted[::-1]).T)

    def ravel(self) -> GPUArray:
        """All elements on one axis."""
        return self.reshape(-1) if self._record is not None else self._shown(cuprous.ravel(self._array))

    def view(self, dtype: Any = None) -> GPUArray:
        """The same memory as another dtype."""
        wanted = self.dtype if dtype is None else np.dtype(dtype)
        if self._record is None and wanted.names is None:
            return self._shown(self._array.view(wanted))  # type: ignore[attr-defined]
        if not self._array.is_c_contiguous:
            raise NotImplementedError("[view] of records with gaps between them is not supported; copy the array")
        size = wanted.itemsize
        last = self.shape[-1] * self.itemsize if self.shape else self.itemsize
        if last % size:
            raise ValueError("new type not compatible with array")
        flat: Any = cuprous.ravel(self._array).view("uint8")  # type: ignore[attr-defined]
        shape = (*self.shape[:-1], last // size)
        if wanted.names is None:
            return self._shown(flat.view(wanted).reshape(shape))
        return self._shown(flat.reshape((*shape, size)), wanted)

    def squeeze(self) -> GPUArray:
        """Without axes of length one."""
        alone = tuple(k for k, n in enumerate(self.shape) if n == 1)
        return self._shown(cuprous.squeeze(self._array, alone), self._record)

    def transpose(self, axes: Any = None) -> GPUArray:
        """A view with axes in another order, reversed if None."""
        if self._record is not None:
            axes = tuple(range(self.ndim))[::-1] if axes is None else tuple(int(k) % self.ndim for k in axes)
            return self._shown(cuprous.transpose(self._array, (*axes, self.ndim)), self._record)
        return self._shown(cuprous.transpose(self._array, axes))

    @property
    def T(self) -> GPUArray:
        """A view with axes reversed."""
        return self.transpose()

    def reverse(self, stream: Any = None) -> GPUArray:
        """A copy of an array of one axis from its end."""
        return self._like(cuprous.copy(cuprous.flip(raw(self))))

    def astype(self, dtype: Any, stream: Any = None) -> GPUArray:
        """A copy of another dtype."""
        return self._like(raw(self).astype(dtype))

    @property
    def real(self) -> GPUArray:
        """The real part."""
        return self._like(cuprous.copy(cuprous.real(self._array))) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> GPUArray:
        """The imaginary part."""
        return self._like(cuprous.copy(cuprous.imag(raw(self))))

    def conj(self, out: GPUArray | None = None) -> GPUArray:
        """The conjugate."""
        return into(out, cuprous.conj(raw(self)), self.allocator)

    def __getitem__(self, index: Any) -> GPUArray:
        if self._record is None:
            return self._shown(cuprous.asarray(self._array[raw(index)]))
        return self._shown(self._array[_of_records(index)], self._record)

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._record is None:
            self._array[raw(index)] = raw(value)
        elif isinstance(value, GPUArray):
            if value.dtype != self.dtype:
                raise TypeError(f"records of {self.dtype} cannot be set to {value.dtype}")
            self._array[_of_records(index)] = value._array
        else:
            self._array[_of_records(index)] = cuprous.asarray(_bytes_of(np.asarray(value, self._record)))

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    # --- arithmetic beyond operators

    def mul_add(
        self, selffac: Any, other: GPUArray, otherfac: Any, add_timer: Any = None, stream: Any = None,
        out: GPUArray | None = None,
    ) -> GPUArray:  # fmt: skip
        """`self * selffac + other * otherfac`.

        Raises:
            NotImplementedError: for `add_timer`.
        """
        if add_timer is not None:
            raise NotImplementedError("[mul_add] add_timer= is not supported; measure with driver.Event")
        return into(out, raw(self) * selffac + raw(other) * otherfac, self.allocator)

    def any(self, stream: Any = None, allocator: Allocator | None = None) -> GPUArray:
        """Whether any element is true."""
        return wrap(cuprous.any(raw(self)), allocator or self.allocator)

    def all(self, stream: Any = None, allocator: Allocator | None = None) -> GPUArray:
        """Whether all elements are true."""
        return wrap(cuprous.all(raw(self)), allocator or self.allocator)

    def bind_to_texref(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not supported: there are no texture references any more.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"[bind_to_texref] is not supported: {NO_TEXTURES}")

    bind_to_texref_ext = bind_to_texref


def raw(x: Any) -> Any:
    """An array of ours behind whatever is given, to compute with."""
    if isinstance(x, GPUArray):
        if x._record is not None:
            raise NotImplementedError(
                "[GPUArray] this is not supported for arrays of records; an ElementwiseKernel computes with them"
            )
        return x._array
    if isinstance(x, tuple):
        return tuple(map(raw, x))
    return cuprous.asarray(x) if isinstance(x, np.ndarray) and x.ndim else x


def wrap(array: Any, allocator: Allocator | None = None, record: np.dtype[Any] | None = None) -> GPUArray:
    """An array of ours as a `GPUArray`; written to memory of the allocator where there is one."""
    array = cuprous.asarray(array)
    if allocator is not None and allocator is not mem_alloc:
        shape = array.shape if record is None else array.shape[:-1]
        only_f = record is None and array.is_f_contiguous and not array.is_c_contiguous
        result = GPUArray(shape, record or array.dtype, allocator, order="F" if only_f else "C")
        result._array[...] = array
        return result
    result = GPUArray.__new__(GPUArray)
    result.base = result._gpudata = None
    result.allocator, result._array, result._record = mem_alloc, array, record
    return result


def into(out: GPUArray | None, array: Any, allocator: Allocator | None = None) -> GPUArray:
    """A result, in `out` where it is given."""
    if out is None:
        return wrap(array, allocator)
    raw(out)[...] = array
    return out


def allocator_of(*args: Any) -> Allocator | None:
    """Where the memory of the first array came from."""
    return next((a.allocator for a in args if isinstance(a, GPUArray)), None)


def _address(memory: Any) -> int:
    return int(memory if hasattr(memory, "__int__") or hasattr(memory, "__index__") else memory.ptr)


def _order_of(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> str:
    """The order that strides are of; extents of one have any."""
    for order, axes in (("C", range(len(shape))[::-1]), ("F", range(len(shape)))):
        step, fits = itemsize, len(shape) == len(strides)
        for k in axes:
            fits = fits and (shape[k] <= 1 or strides[k] == step)
            step *= shape[k]
        if fits:
            return order
    raise NotImplementedError(f"[GPUArray] strides={strides} of the shape {shape} are not supported; slice an array")


def _bytes_of(records: Any) -> Any:
    """Records of the host as bytes, which are one axis more."""
    whole = np.ascontiguousarray(records)
    return whole.view(np.uint8).reshape((*np.shape(records), whole.dtype.itemsize))


def _of_records(index: Any) -> Any:
    """An index of records as one of their bytes."""
    parts = index if isinstance(index, tuple) else (index,)
    if builtins.any(isinstance(part, (str, list, np.ndarray, GPUArray)) for part in parts):
        raise NotImplementedError("[GPUArray] records are chosen by numbers and slices; fields are read on the host")
    return (*parts, slice(None)) if builtins.any(part is Ellipsis for part in parts) else index


def _filled(shape: Any, size: int) -> tuple[int, ...]:
    """A shape with its -1 counted."""
    shape = tuple(map(int, shape))
    if -1 not in shape:
        return shape
    known = -math.prod(shape)
    return tuple(size // known if n == -1 and known > 0 else n for n in shape)


def _binary(function: Callable[[Any, Any], Any], reverse: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: GPUArray, other: Any) -> Any:
        if not isinstance(other, (GPUArray, np.ndarray, np.generic, bool, int, float, complex)):
            return NotImplemented
        a, b = raw(self), raw(other)
        return self._like(function(b, a) if reverse else function(a, b))

    return method


def _in_place(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: GPUArray, other: Any) -> GPUArray:
        self._array = function(raw(self), raw(other))
        return self

    return method


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: self._like(function(raw(self)))


for _name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]:
    _function = getattr(operator, f"{_name}_" if _name in ("and", "or") else _name)
    setattr(GPUArray, f"__{_name}__", _binary(_function))
    setattr(GPUArray, f"__r{_name}__", _binary(_function, reverse=True))
    setattr(GPUArray, f"__i{_name}__", _in_place(getattr(operator, f"i{_name}")))
for _name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    setattr(GPUArray, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ["neg", "pos", "abs", "invert"]:
    setattr(GPUArray, f"__{_name}__", _unary(getattr(operator, _name)))
