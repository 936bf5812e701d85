"""Methods and attributes of arrays that Python writes, registered by `native`."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Iterator
from typing import Any

import cuprous
from cuprous import _core
from cuprous._array import interop
from cuprous._array.array_api import check_version
from cuprous._common import dtypes, pointers
from cuprous._common.arguments import ndarray, write_out
from cuprous._common.casting import check_casting, warn_of_lost_parts
from cuprous._common.device import device_word
from cuprous._common.layout import cast_in_order, fortran_or_c, order_letter, with_order
from cuprous._common.operands import is_numpy_array
from cuprous._functions import creation, elementwise, joining, manipulation, reductions, selection, sorting
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
    if source.size:
        raw = _core.as_strided(source, (source.size * parts, size), (size, 1), 0, "uint8")
        _core.update(raw, raw[:, ::-1].copy())
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
    interop.wait_for("to_device", stream)
    return _core.to_device(self, device_word(device))


def array_namespace(self: ndarray, *, api_version: str | None = None) -> Any:
    """`__array_namespace__`: the module `cuprous`.

    Raises:
        ValueError: for a version of the standard that is not supported.
    """
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
    return selection.compress(condition, self, axis, out)


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
