"""`GPUArray`, a wrapper of Cuprous arrays, whose operations fuse and also run on the CPU."""

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

#: A function that takes a number of bytes and returns memory: an allocation, an address, or an object with `ptr`.
Allocator = Callable[[int], Any]


class _Pointer(PointerHolderBase):
    """The address of an array."""

    def __init__(self, array: ndarray) -> None:
        self._launch_argument = array

    def get_pointer(self) -> int:
        return self._launch_argument.address()


class _RecordFlags:
    """The memory layout of a record array, which is stored as bytes with an additional axis."""

    def __init__(self, array: ndarray) -> None:
        self.c_contiguous = self.forc = bool(array.is_c_contiguous)
        self.f_contiguous = self.c_contiguous and array.ndim < 3


class GPUArray:
    """An array on the default device. Records (NumPy's structured dtypes) can be copied and passed to kernels; only
    kernels can compute with them.

    Parameters
    ----------
    shape : int or tuple of ints
        The shape.
    dtype : dtype
        The dtype.
    allocator : callable or None, optional
        The allocator of its memory and that of results, called with a number of bytes; the engine's pool if None.
    base : object, optional
        An object to keep alive with the array.
    gpudata : DeviceAllocation or int, optional
        Existing memory to wrap: an allocation, or an address.
    strides : tuple of ints, optional
        The strides in bytes, of a contiguous array.
    order : {"C", "F"}, default "C"
        "C" or "F".

    Raises
    ------
    NotImplementedError
        For `strides` with gaps, and for records in order "F".

    See Also
    --------
    pycuda.gpuarray.to_gpu, pycuda.gpuarray.empty, pycuda.gpuarray.zeros

    Examples
    --------
    >>> a = gpuarray.GPUArray((2, 2), np.float32)
    >>> a.fill(1)
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    >>> 2 * a + 1
    array([[3., 3.],
           [3., 3.]], dtype=float32)
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
        # The engine's own memory is allocated only when it is first used.
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
        found: dict[str, Any] = self._array.__cuda_array_interface__
        _core.synchronize()  # like PyCUDA, the interface names no stream, so no work may be pending
        found = {**found, "strides": self.strides, "stream": None}
        if self._record is not None:
            found |= {"shape": self.shape, "typestr": self.dtype.str, "descr": self.dtype.descr}
        return found

    # --- attributes

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._array.shape if self._record is None else self._array.shape[:-1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        return self._record or self._array.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    mem_size = size

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        return self._array.nbytes

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        return self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """The number of bytes between elements along each axis."""
        return self._array.strides if self._record is None else self._array.strides[:-1]

    @property
    def flags(self) -> Any:
        """The contiguity flags."""
        return self._array.flags if self._record is None else _RecordFlags(self._array)

    @property
    def gpudata(self) -> Any:
        """The memory of the first element: the allocator's result, if an allocator was used."""
        return _Pointer(self._array) if self._gpudata is None else self._gpudata

    @property
    def ptr(self) -> int:
        """The address of the first element."""
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
        return to_gpu, (self.get(),)

    # --- copies to and from the host

    def set(self, ary: Any, async_: bool = False, stream: Any = None) -> None:
        """Copies a NumPy array of the same shape and dtype to the array.

        Raises
        ------
        ValueError
            For another size or shape.
        TypeError
            For another dtype.

        Examples
        --------
        >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
        >>> a.set(np.zeros(3))
        >>> a
        array([0., 0., 0.])
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
        """Performs `set`. All work runs in order, so it needs no synchronization.

        Examples
        --------
        >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
        >>> a.set_async(np.zeros(3))
        >>> a
        array([0., 0., 0.])
        """
        self.set(ary)

    def get(self, ary: Any = None, pagelocked: bool = False, async_: bool = False, stream: Any = None) -> Any:
        """Copies the elements to the host: to `ary` if given, otherwise to a new NumPy array.

        Examples
        --------
        >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
        >>> a.get()
        array([3., 1., 2.])
        """
        if ary is None:
            return self._host(cuprous.asnumpy(self._array, order="A"))
        if ary.size != self.size:
            raise ValueError("self and ary must be the same size")
        if ary.dtype != self.dtype:
            raise TypeError("self and ary must have the same dtype")
        ary[...] = self._host(cuprous.asnumpy(self._array)).reshape(ary.shape)
        return ary

    def _host(self, found: Any) -> Any:
        """Converts data copied to the host to elements."""
        if self._record is None:
            return found
        return np.ascontiguousarray(found).view(self._record).reshape(self.shape)

    def get_async(self, stream: Any = None, ary: Any = None) -> Any:
        """Performs `get`; the copy is complete on return.

        Examples
        --------
        >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
        >>> a.get_async()
        array([3., 1., 2.])
        """
        return self.get(ary)

    def copy(self) -> GPUArray:
        """Returns a copy.

        Examples
        --------
        >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
        >>> b = a.copy()
        >>> b.fill(0)
        array([0., 0., 0.])
        >>> a
        array([3., 1., 2.])
        """
        return self._like(cuprous.copy(self._array), self._record)

    def fill(self, value: Any, stream: Any = None) -> GPUArray:
        """Sets all elements. Returns the array itself.

        Examples
        --------
        >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
        >>> a.fill(7)
        array([7., 7., 7.])
        """
        self[...] = value
        return self

    def _like(self, array: Any, record: np.dtype[Any] | None = None) -> GPUArray:
        """Wraps a result, using this array's allocator."""
        return wrap(array, self.allocator, record)

    def _view_of(self, array: Any, record: np.dtype[Any] | None = None) -> GPUArray:
        """Wraps a view of this array's memory."""
        result = wrap(array, record=record)
        result.base, result.allocator = self, self.allocator
        return result

    # --- views and reordering

    def reshape(self, *shape: Any, order: str = "C") -> GPUArray:
        """Returns a view with another shape; one extent may be -1. As in PyCUDA, elements keep their order in memory.

        Raises
        ------
        RuntimeError
            For an array that is not contiguous.
        ValueError
            For a shape of another size.

        Examples
        --------
        >>> gpuarray.arange(6, dtype=np.int32).reshape(2, 3)
        array([[0, 1, 2],
               [3, 4, 5]], dtype=int32)
        """
        wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        array = self._array
        if not (array.is_c_contiguous or array.is_f_contiguous):
            raise RuntimeError("only contiguous arrays may be used as arguments to this operation")
        if self._record is not None:
            return self._view_of(cuprous.reshape(array, _filled(wanted, self.size) + array.shape[-1:]), self._record)
        flat = cuprous.ravel(array if array.is_c_contiguous else array.T)
        return self._view_of(cuprous.reshape(flat, wanted) if order == "C" else cuprous.reshape(flat, wanted[::-1]).T)

    def ravel(self) -> GPUArray:
        """Returns a flattened view.

        Examples
        --------
        >>> gpuarray.zeros((2, 2), np.float32).ravel()
        array([0., 0., 0., 0.], dtype=float32)
        """
        return self.reshape(-1) if self._record is not None else self._view_of(cuprous.ravel(self._array))

    def view(self, dtype: Any = None) -> GPUArray:
        """Returns a view of the same memory as another dtype.

        Examples
        --------
        >>> gpuarray.ones(2, np.float32).view(np.int32)
        array([1065353216, 1065353216], dtype=int32)
        """
        wanted = self.dtype if dtype is None else np.dtype(dtype)
        if self._record is None and wanted.names is None:
            return self._view_of(self._array.view(wanted))
        if not self._array.is_c_contiguous:
            raise NotImplementedError("[view] of records with gaps between them is not supported; copy the array")
        size = wanted.itemsize
        last = self.shape[-1] * self.itemsize if self.shape else self.itemsize
        if last % size:
            raise ValueError("new type not compatible with array")
        flat: Any = cuprous.ravel(self._array).view("uint8")
        shape = (*self.shape[:-1], last // size)
        if wanted.names is None:
            return self._view_of(flat.view(wanted).reshape(shape))
        return self._view_of(flat.reshape((*shape, size)), wanted)

    def squeeze(self) -> GPUArray:
        """Returns a view without axes of length one.

        Examples
        --------
        >>> gpuarray.zeros((1, 3), np.float32).squeeze().shape
        (3,)
        """
        alone = tuple(k for k, n in enumerate(self.shape) if n == 1)
        return self._view_of(cuprous.squeeze(self._array, alone), self._record)

    def transpose(self, axes: Any = None) -> GPUArray:
        """Returns a view with permuted axes, reversed if None.

        Examples
        --------
        >>> gpuarray.arange(6, dtype=np.int32).reshape(2, 3).transpose()
        array([[0, 3],
               [1, 4],
               [2, 5]], dtype=int32)
        """
        if self._record is not None:
            axes = tuple(range(self.ndim))[::-1] if axes is None else tuple(int(k) % self.ndim for k in axes)
            return self._view_of(cuprous.transpose(self._array, (*axes, self.ndim)), self._record)
        return self._view_of(cuprous.transpose(self._array, axes))

    @property
    def T(self) -> GPUArray:
        """A view with reversed axes."""
        return self.transpose()

    def reverse(self, stream: Any = None) -> GPUArray:
        """Returns a reversed copy of a 1-d array.

        Examples
        --------
        >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
        >>> a.reverse()
        array([2., 1., 3.])
        """
        return self._like(cuprous.copy(cuprous.flip(raw(self))))

    def astype(self, dtype: Any, stream: Any = None) -> GPUArray:
        """Returns a copy with another dtype.

        Examples
        --------
        >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
        >>> a.astype(np.int32)
        array([3, 1, 2], dtype=int32)
        """
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
        """Returns the complex conjugate.

        Examples
        --------
        >>> gpuarray.to_gpu(np.array([1 + 2j])).conj()
        array([1.-2.j])
        """
        return into(out, cuprous.conj(raw(self)), self.allocator)

    def __getitem__(self, index: Any) -> GPUArray:
        if self._record is None:
            return self._view_of(cuprous.asarray(self._array[raw(index)]))
        return self._view_of(self._array[_of_records(index)], self._record)

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

    # --- arithmetic without operators

    def mul_add(
        self, selffac: Any, other: GPUArray, otherfac: Any, add_timer: Any = None, stream: Any = None,
        out: GPUArray | None = None,
    ) -> GPUArray:  # fmt: skip
        """Computes `self * selffac + other * otherfac`.

        Raises
        ------
        NotImplementedError
            For `add_timer`.

        Examples
        --------
        >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
        >>> a.mul_add(2, a, 10)
        array([36., 12., 24.])
        """
        if add_timer is not None:
            raise NotImplementedError("[mul_add] add_timer= is not supported; measure with driver.Event")
        return into(out, raw(self) * selffac + raw(other) * otherfac, self.allocator)

    def any(self, stream: Any = None, allocator: Allocator | None = None) -> GPUArray:
        """Returns whether any element is true.

        Examples
        --------
        >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
        >>> (a > 2).any()
        array(True)
        """
        return wrap(cuprous.any(raw(self)), allocator or self.allocator)

    def all(self, stream: Any = None, allocator: Allocator | None = None) -> GPUArray:
        """Returns whether all elements are true.

        Examples
        --------
        >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
        >>> (a > 2).all()
        array(False)
        """
        return wrap(cuprous.all(raw(self)), allocator or self.allocator)

    def bind_to_texref(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not supported: current CUDA versions have no texture references.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(f"[bind_to_texref] is not supported: {NO_TEXTURES}")

    bind_to_texref_ext = bind_to_texref


def raw(x: Any) -> Any:
    """Returns the Cuprous array behind an operand, for computations."""
    if isinstance(x, GPUArray):
        if x._record is not None:
            raise NotImplementedError(
                "[GPUArray] this is not supported for arrays of records; use an ElementwiseKernel"
            )
        return x._array
    if isinstance(x, tuple):
        return tuple(map(raw, x))
    return cuprous.asarray(x) if isinstance(x, np.ndarray) and x.ndim else x


def wrap(array: Any, allocator: Allocator | None = None, record: np.dtype[Any] | None = None) -> GPUArray:
    """Wraps a Cuprous array in a `GPUArray`; with an allocator, copies it to the allocator's memory."""
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
    """Wraps a result, written to `out` if given."""
    if out is None:
        return wrap(array, allocator)
    raw(out)[...] = array
    return out


def allocator_of(*args: Any) -> Allocator | None:
    """Returns the allocator of the first array among the arguments."""
    return next((a.allocator for a in args if isinstance(a, GPUArray)), None)


def _address(memory: Any) -> int:
    return int(memory if hasattr(memory, "__int__") or hasattr(memory, "__index__") else memory.ptr)


def _order_of(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> str:
    """Returns the memory order of strides; axes with extent one are compatible with any."""
    for order, axes in (("C", range(len(shape))[::-1]), ("F", range(len(shape)))):
        step, fits = itemsize, len(shape) == len(strides)
        for k in axes:
            fits = fits and (shape[k] <= 1 or strides[k] == step)
            step *= shape[k]
        if fits:
            return order
    raise NotImplementedError(f"[GPUArray] strides={strides} of the shape {shape} are not supported; slice an array")


def _bytes_of(records: Any) -> Any:
    """Returns host records as bytes, with an additional axis."""
    whole = np.ascontiguousarray(records)
    return whole.view(np.uint8).reshape((*np.shape(records), whole.dtype.itemsize))


def _of_records(index: Any) -> Any:
    """Converts an index of records to one of their bytes."""
    parts = index if isinstance(index, tuple) else (index,)
    if builtins.any(isinstance(part, (str, list, np.ndarray, GPUArray)) for part in parts):
        raise NotImplementedError("[GPUArray] only integers and slices can index records; read fields on the host")
    return (*parts, slice(None)) if builtins.any(part is Ellipsis for part in parts) else index


def _filled(shape: Any, size: int) -> tuple[int, ...]:
    """Returns a shape with its -1 replaced by the missing extent."""
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


def to_gpu(ary: Any, allocator: Allocator | None = None) -> GPUArray:
    """Copies a NumPy array to the default device.

    See Also
    --------
    pycuda.gpuarray.to_gpu_async, pycuda.gpuarray.GPUArray, pycuda.gpuarray.empty

    Examples
    --------
    >>> gpuarray.to_gpu(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    ary = np.asarray(ary)
    if ary.dtype.names is None:
        return wrap(cuprous.array(ary, order="K"), allocator)
    result = GPUArray(ary.shape, ary.dtype, allocator)
    result.set(ary)
    return result
