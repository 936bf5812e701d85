"""Methods and attributes of arrays that Python writes, given to the native type by one table."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from cuprous import _core
from cuprous._array import interop
from cuprous._common import dtypes, indexing, pointers
from cuprous._common.arguments import astype as cast
from cuprous._common.arguments import (
    cast_in_order,
    check_casting,
    fortran_or_c,
    is_numpy_array,
    is_scalar,
    ndarray,
    order_letter,
    warn_of_lost_parts,
    with_order,
    write_out,
)
from cuprous._common.convert import convert
from cuprous._functions import (
    counting,
    creation,
    elementwise,
    index_routines,
    joining,
    manipulation,
    printing,
    products,
    reductions,
    sorting,
)
from cuprous._ufuncs import gufuncs, two_outputs


def astype(
    self: ndarray, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True,
    *, device: Any = None,
) -> ndarray:  # fmt: skip
    """The elements cast to a dtype; a copy unless `copy` is False and none is needed."""
    name = dtypes.name_of(dtype)
    mine = self.dtype_name
    if casting != "unsafe":
        check_casting(mine, name, casting, "array data")
    elif order == "K":  # cast_in_order warns itself
        warn_of_lost_parts(mine, name)
    if subok is not True:
        operator.index(subok)  # checked as NumPy does; there are no subclasses to pass on
    if name == mine:
        result = with_order(self, order, fresh=copy)
    else:
        result = _core.cast(self, name) if order == "K" else cast_in_order(self, name, order)
    if device is not None:
        from cuprous._common.device import device_word

        result = _core.to_device(result, device_word(device))
    return result


def view(self: ndarray, dtype: Any = None) -> ndarray:
    """The same memory seen with another dtype; other sizes of elements change the last axis.

    Raises:
        ValueError: for another size of elements, where the array is 0-d, its last axis is not contiguous, or its length
            or the other strides do not divide.
    """
    if dtype is None or dtype is ndarray:
        return self[...]
    name = dtypes.name_of(dtype)
    old, new = self.itemsize, dtypes.itemsize(name)
    shape, strides = list(self.shape), list(self.element_strides)
    if old == new:
        return _core.as_strided(self, shape, strides, 0, name)
    if self.ndim == 0:
        raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
    if shape[-1] != 1 and strides[-1] != 1 and self.size:
        raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
    if new > old:
        factor = new // old
        if new % old or shape[-1] % factor:
            raise ValueError(
                "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the "
                "last axis of the array."
            )
        if any(s % factor for s in strides[:-1]):
            raise ValueError("[view] the strides are not multiples of the new item size")
        shape[-1] //= factor
        strides = [s // factor for s in strides[:-1]] + [1]
    else:
        if old % new:
            raise ValueError(
                "When changing to a smaller dtype, its size must be a divisor of the size of original dtype"
            )
        factor = old // new
        shape[-1] *= factor
        strides = [s * factor for s in strides[:-1]] + [1]
    return _core.as_strided(self, shape, strides, 0, name)


def flatten(self: ndarray, order: str = "C") -> ndarray:
    """A copy in one dimension."""
    flat = manipulation.ravel(self, order)
    return flat.copy() if flat.shares_storage(self) else flat


def fill(self: ndarray, value: Any) -> None:
    """Writes one value to all elements.

    Raises:
        ValueError: for an array that is not 0-d.
    """
    if getattr(value, "ndim", 0):
        raise ValueError("fill needs a scalar")
    value = value[()] if is_numpy_array(value) else value
    if isinstance(value, ndarray):
        warn_of_lost_parts(value.dtype_name, self.dtype_name)
    _core.update(self, value)


def tolist(self: ndarray) -> Any:
    """The elements as (nested lists of) Python scalars."""
    if self.dtype_name == "bfloat16":
        self = _core.cast(self, "float32")
    return _core.to_numpy(self).tolist()


def tobytes(self: ndarray, order: str = "C") -> bytes:
    """The elements' bytes, in C or Fortran order."""
    letter = order_letter(order, default="C")
    letter = fortran_or_c(self) if letter == "A" else letter
    return _core.to_bytes(self.T if letter == "F" else self)


def tofile(self: ndarray, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Writes the elements to a file, raw or as text."""
    _core.to_numpy(self).tofile(fid, sep, format)


def dumps(self: ndarray) -> bytes:
    """The array, pickled."""
    import pickle

    return pickle.dumps(self)


def dump(self: ndarray, file: Any) -> None:
    """Pickles the array to a file, given by name or opened."""
    data = dumps(self)
    if hasattr(file, "write"):
        file.write(data)
    else:
        with open(file, "wb") as f:
            f.write(data)


def byteswap(self: ndarray, inplace: bool = False) -> ndarray:
    """The elements with their bytes reversed."""
    parts = 2 if self.dtype_name.startswith("complex") else 1
    size = self.itemsize // parts
    source = self.copy("A")
    raw = _core.as_strided(source, (source.size * parts, size), (size, 1), 0, "uint8") if source.size else source
    swapped = raw[:, ::-1].copy() if source.size else source
    if source.size:
        _core.update(raw, swapped)
    if inplace:
        _core.update(self, source)
        return self
    return source


def partition(self: ndarray, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    """Sorts in place, as far as `partition` asks."""
    _core.update(self, sorting.partition(self, kth, operator.index(axis), kind, order))


def conjugate(self: ndarray, out: ndarray | None = None) -> ndarray:
    """The complex conjugate; of real arrays the array itself."""
    result = _core.map("conjugate", self) if dtypes.kind(self.dtype_name) == "c" else self
    return write_out(out, result, "conjugate")


def to_device(self: ndarray, device: Any, /, *, stream: Any = None) -> ndarray:
    """The array on another device ("cpu", "cuda"), after a `stream`'s work; itself if it is there already."""
    from cuprous._common.device import device_word

    interop.wait_for("to_device", stream)
    return _core.to_device(self, device_word(device))


def array_namespace(self: ndarray, *, api_version: str | None = None) -> Any:
    """`__array_namespace__`: the module `cuprous`.

    Raises:
        ValueError: for a version of the standard that is not supported.
    """
    import cuprous
    from cuprous._array.array_api import check_version

    check_version(api_version)
    return cuprous


def contains(self: ndarray, item: Any) -> bool:
    """`item in array`."""
    found = self == item
    return bool(reductions.any(found)) if isinstance(found, ndarray) else bool(found)


def iterate(self: ndarray) -> Iterator[ndarray]:
    """Iterates over the first axis: views of the subarrays, or the elements of a 1-d array."""
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    return (self[i] for i in range(self.shape[0]))


def clip(
    self: ndarray, min: Any = None, max: Any = None, out: ndarray | None = None, *, casting: str = "same_kind"
) -> ndarray:
    """The elements limited to an interval; either bound may be None."""
    return elementwise.clip(self, min, max, out, casting=casting)


def compress(self: ndarray, condition: Any, axis: int | None = None, out: ndarray | None = None) -> ndarray:
    """Slices along an axis where a condition holds."""
    return counting.compress(condition, self, axis, out)


def repeat(self: ndarray, repeats: Any, axis: int | None = None) -> ndarray:
    """Each element repeated."""
    return joining.repeat(self, repeats, axis)


def divmod_(self: ndarray, other: Any) -> Any:
    """`divmod(array, other)`."""
    return two_outputs.divmod(self, other)


def rdivmod(self: ndarray, other: Any) -> Any:
    """`divmod(other, array)`."""
    return two_outputs.divmod(other, self)


def matmul_in_place(self: ndarray, other: Any) -> ndarray:
    """`a @= b`."""
    if not isinstance(other, ndarray):
        return NotImplemented
    if not self.ndim or other.ndim < 2:
        common = _core.promote_types(self.dtype_name, other.dtype_name)
        check_casting(common, self.dtype_name, "same_kind", "ufunc 'matmul' output")
        raise ValueError(
            "inplace matrix multiplication requires the first operand to have at least one and the second at least two "
            f"dimensions; they have {self.ndim} and {other.ndim}."
        )
    return gufuncs.matmul(self, other, out=self)


def hash_value(self: ndarray) -> int:
    """The hash of a 0-d array's value, so that elements can be keys of dictionaries. Waits for the value.

    Raises:
        TypeError: for an array with axes, as NumPy.
    """
    if self.ndim:
        raise TypeError("unhashable type: 'cuprous.ndarray'")
    return hash(self.item())


def rounded(self: ndarray, ndigits: int | None = None) -> Any:
    """`round(a)`: of a 0-d array a Python integer, or with `ndigits` a 0-d array; of others, each element rounded."""
    if ndigits is None and not self.ndim and dtypes.kind(self.dtype_name) != "c":
        return builtins.round(self.item())  # type: ignore[arg-type]
    return elementwise.round(self, 0 if ndigits is None else operator.index(ndigits))


def truncated(self: ndarray) -> int:
    """`math.trunc(a)` of an array of one element."""
    return math.trunc(_real(self))


def floored(self: ndarray) -> int:
    """`math.floor(a)` of an array of one element."""
    return math.floor(_real(self))


def ceiled(self: ndarray) -> int:
    """`math.ceil(a)` of an array of one element."""
    return math.ceil(_real(self))


def _real(self: ndarray) -> Any:
    """The one element of an array as a Python int or float."""
    return int(self) if dtypes.kind(self.dtype_name) in "biu" else float(self)


def as_integer_ratio(self: ndarray) -> tuple[int, int]:
    """The one element as a fraction in lowest terms, as `float.as_integer_ratio`."""
    ratio: tuple[int, int] = _real(self).as_integer_ratio()
    return ratio


def deepcopy(self: ndarray, memo: Any = None) -> ndarray:
    """`copy.deepcopy`; the order of the axes in memory stays, as in NumPy."""
    return self.copy("K")


# --- attributes


class _Truth(int):
    """True or False, which is also called: an attribute here, a method of Numba's arrays."""

    __slots__ = ()

    def __call__(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return str(bool(self))


def _truth(name: str, doc: str) -> property:
    native = ndarray.__dict__[name].__get__
    both = _Truth(False), _Truth(True)
    return property(lambda self: both[native(self)], doc=doc)


class Flags:
    """How an array lies in memory, by attribute and by NumPy's keys. Arrays are always aligned and can be written."""

    __slots__ = ("_known",)
    writeable = aligned = behaved = True
    writebackifcopy = False

    def __init__(self, array: ndarray) -> None:
        owner = array.base is None and not array.is_external
        self._known = bool(array.is_c_contiguous), bool(array.is_f_contiguous), owner

    @property
    def c_contiguous(self) -> bool:
        """Contiguous in C order."""
        return self._known[0]

    @property
    def f_contiguous(self) -> bool:
        """Contiguous in Fortran order."""
        return self._known[1]

    @property
    def owndata(self) -> bool:
        """No view of another array's memory."""
        return self._known[2]

    @property
    def forc(self) -> bool:
        """Contiguous either way."""
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        """Fortran- and not C-contiguous."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def contiguous(self) -> bool:
        """C-contiguous."""
        return self.c_contiguous

    carray = contiguous

    @property
    def fortran(self) -> bool:
        """Fortran-contiguous."""
        return self.f_contiguous

    @property
    def farray(self) -> bool:
        """Not C-contiguous: NumPy says so of every other array that is aligned or can be written."""
        return not self.c_contiguous

    @property
    def num(self) -> int:
        """The flags as bits of NumPy's C interface."""
        return sum(bit for bit, flag in _FLAG_BITS.items() if getattr(self, flag))

    def __getitem__(self, key: str) -> bool:
        if key not in _FLAGS:
            raise KeyError("Unknown flag")
        return bool(getattr(self, _FLAGS[key]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and other.num == self.num

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
        return "".join(f"  {key} : {self[key]}\n" for key in shown)


_FLAGS = {
    "C_CONTIGUOUS": "c_contiguous", "C": "c_contiguous", "CONTIGUOUS": "c_contiguous",
    "F_CONTIGUOUS": "f_contiguous", "F": "f_contiguous", "FORTRAN": "f_contiguous",
    "OWNDATA": "owndata", "O": "owndata", "WRITEABLE": "writeable", "W": "writeable",
    "ALIGNED": "aligned", "A": "aligned", "WRITEBACKIFCOPY": "writebackifcopy", "X": "writebackifcopy",
    "BEHAVED": "behaved", "B": "behaved", "CARRAY": "carray", "CA": "carray", "FARRAY": "farray", "FA": "farray",
    "FORC": "forc", "FNC": "fnc",
}  # fmt: skip
_FLAG_BITS = {0x1: "c_contiguous", 0x2: "f_contiguous", 0x4: "owndata", 0x100: "aligned", 0x400: "writeable"}


class FlatIterator:
    """`array.flat`: the elements in C order, to read, write and iterate over."""

    __slots__ = ("_next", "base")

    def __init__(self, base: ndarray) -> None:
        self.base = base
        self._next = 0

    def __len__(self) -> int:
        return self.base.size

    def __getitem__(self, key: Any) -> ndarray:
        found = self.base.reshape(-1)[self._index(key)]
        return found.copy() if found.ndim else found

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, tuple) and (not key or key == (Ellipsis,)):
            raise IndexError("Assigning to a flat iterator with a 0-D index is not supported")
        index = _core.iota((self.base.size,), (1,), 0)[self._index(key)]
        source = value if is_scalar(value) else convert(value)
        if isinstance(source, ndarray):  # values repeat as needed
            source = cast(source, self.base.dtype_name)
            source = source.reshape(()) if source.size == 1 else manipulation.resize(source, index.shape)
        _core.scatter(self.base, indexing.flat_offsets(self.base, index.copy()), source)

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")

    def _index(self, key: Any) -> Any:
        """The key for the flattened array, checked by NumPy's rules for flat iterators.

        Raises:
            IndexError: for other keys.
        """
        if isinstance(key, tuple):
            if len(key) > 1:
                raise IndexError(
                    f"too many indices for flat iterator: flat iterator is 1-dimensional, but {len(key)} were indexed"
                )
            key = key[0] if key else Ellipsis
        if isinstance(key, FlatIterator):
            key = key.copy()
        if isinstance(key, bool):
            return 0 if key else slice(0, 0)
        if key is Ellipsis or isinstance(key, slice):
            return key
        size = self.base.size
        if hasattr(key, "__index__") and not getattr(key, "shape", ()) and getattr(key, "dtype", None) != "bool":
            i = operator.index(key)
            if not -size <= i < size:
                raise IndexError(f"index {i} is out of bounds for size {size}")
            return i
        if isinstance(key, (list, ndarray)) or is_numpy_array(key):
            given, key = key, convert(key)
            if not key.size:
                return _core.cast(key, "int64")
            if dtypes.kind(key.dtype_name) in "iu":
                return given  # the range of what comes from the host is checked there, on every device
            if key.dtype_name == "bool" and key.shape == (size,):
                return key
            if key.ndim > 1:
                raise IndexError(
                    f"too many indices for flat iterator: flat iterator is 1-dimensional, but {key.ndim} were indexed"
                )
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are valid indices"
        )

    def __iter__(self) -> FlatIterator:
        return self

    def __next__(self) -> ndarray:
        if self._next >= self.base.size:
            raise StopIteration
        self._next += 1
        return self.base.reshape(-1)[self._next - 1]

    def copy(self) -> ndarray:
        """A copy of the elements."""
        return flatten(self.base)


def _set_real(self: ndarray, value: Any) -> None:
    elementwise.real(self)[...] = value


def _set_imag(self: ndarray, value: Any) -> None:
    if dtypes.kind(self.dtype_name) != "c":
        raise TypeError("cannot set imaginary part of array with a real dtype")
    elementwise.imag(self)[...] = value


def _set_flat(self: ndarray, value: Any) -> None:
    FlatIterator(self)[...] = value


def _device(self: ndarray) -> Any:
    from cuprous._array.array_api import device_object

    return device_object(self.device_name)


#: Methods that are functions of the module with the array as the first argument.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "all": reductions.all, "any": reductions.any, "argmax": reductions.argmax, "argmin": reductions.argmin,
    "cumprod": reductions.cumprod, "cumsum": reductions.cumsum, "max": reductions.max, "mean": reductions.mean,
    "min": reductions.min, "prod": reductions.prod, "ptp": reductions.ptp, "std": reductions.std,
    "sum": reductions.sum, "var": reductions.var,
    "argpartition": sorting.argpartition, "argsort": sorting.argsort, "searchsorted": sorting.searchsorted,
    "sort": sorting.write_sorted,
    "choose": index_routines.choose, "diagonal": index_routines.diagonal, "dot": products.dot,
    "nonzero": counting.nonzero, "put": indexing.put, "take": indexing.take, "trace": products.trace,
    "round": elementwise.round, "ravel": manipulation.ravel,
    "squeeze": manipulation.squeeze, "swapaxes": manipulation.swapaxes,
    "scatter_add": indexing.scatter_add, "scatter_max": indexing.scatter_max, "scatter_min": indexing.scatter_min,
    "toDlpack": interop.to_dlpack,
}  # fmt: skip

#: Methods written for arrays.
_METHODS: dict[str, Any] = {
    "astype": astype, "view": view, "flatten": flatten, "fill": fill, "tolist": tolist, "tobytes": tobytes,
    "tofile": tofile, "dump": dump, "dumps": dumps, "byteswap": byteswap, "partition": partition,
    "clip": clip, "compress": compress, "repeat": repeat, "to_device": to_device,
    "get": interop.get, "set": interop.set,
    "copy_to_host": interop.copy_to_host, "copy_to_device": interop.copy_to_device,
    "split": interop.split_at, "bind": interop.bind, "getitem": interop.getitem, "setitem": interop.setitem,
    "get_ipc_handle": interop.get_ipc_handle,
    "__array__": interop.to_numpy_array, "__array_ufunc__": interop.array_ufunc,
    "__array_function__": interop.array_function, "__array_namespace__": array_namespace,
    "__dlpack__": interop.dlpack, "__dlpack_device__": interop.dlpack_device,
    "__reduce__": interop.reduce, "__reduce_ex__": interop.reduce,
    "__copy__": lambda self: self.copy("K"), "__deepcopy__": deepcopy, "__contains__": contains, "__iter__": iterate,
    "__divmod__": divmod_, "__rdivmod__": rdivmod, "__imatmul__": matmul_in_place, "__hash__": hash_value,
    "__round__": rounded, "__trunc__": truncated, "__floor__": floored, "__ceil__": ceiled, "__bytes__": tobytes,
    "as_integer_ratio": as_integer_ratio,
    "__format__": printing.format_array, "__repr__": printing.array_repr, "__str__": printing.array_str,
    "__array_priority__": 100,
    "conj": conjugate, "conjugate": conjugate,
}  # fmt: skip

_PROPERTIES: dict[str, property] = {
    "real": property(elementwise.real, _set_real, doc="The real part; a view of complex arrays."),
    "imag": property(elementwise.imag, _set_imag, doc="The imaginary part; a view of complex arrays."),
    "mT": property(manipulation.matrix_transpose, doc="A view with the last two axes exchanged."),
    "flat": property(FlatIterator, _set_flat, doc="The elements in C order."),
    "flags": property(Flags, doc="Contiguity, ownership and what else NumPy's flags say."),
    "data": property(pointers.MemoryPointer, doc="Where the first element is (`.ptr`)."),
    "is_c_contiguous": _truth("is_c_contiguous", "Whether elements lie row after row, without gaps."),
    "is_f_contiguous": _truth("is_f_contiguous", "Whether elements lie column after column, without gaps."),
    "device": property(_device, doc='"cpu", or the `cuda.Device`.'),
    "gpu_data": property(pointers.MemoryPointer, doc="Numba's word for `data`."),
    "stream": property(interop.bound_stream, doc="The stream that Numba's words bound the array to, or 0."),
    "alloc_size": property(lambda self: self.nbytes, doc="Numba's word for `nbytes`."),
    "__cuda_array_interface__": property(interop.cuda_array_interface),
    "__array_interface__": property(interop.array_interface),
}


def construct(
    cls: type, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str | None = "C"
) -> ndarray:
    """`cp.ndarray(shape, dtype)`: a new array with arbitrary contents; with `memptr` (what has `.ptr`, such as
    `cuda.alloc` gives) one of that memory, with `strides` in bytes.
    """
    if memptr is None and strides is None:
        return creation.empty(shape, dtype, order or "C")
    if memptr is None:
        raise NotImplementedError("[ndarray] strides= without memptr= is not supported; use views")
    shape = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    return pointers.at(memptr, shape, dtypes.name_of(dtype), strides, order or "C")


def attach() -> None:
    """Gives the native type everything above."""
    native: Any = ndarray
    native.__new__ = staticmethod(construct)
    for name, function in _FUNCTIONS.items():
        setattr(native, name, function)  # plain functions bind the array as their first argument
    for name, method in _METHODS.items():
        setattr(native, name, method)
    for name, prop in _PROPERTIES.items():
        setattr(native, name, prop)
