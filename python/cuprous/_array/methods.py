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
from cuprous._functions import (
    creation,
    elementwise,
    from_buffers,
    manipulation,
    reductions,
    repetition,
    selection,
    sorting,
)
from cuprous._ufuncs import gufuncs, two_outputs


def astype(
    self: ndarray, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True,
    *, device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the elements cast to a dtype.

    Parameters
    ----------
    dtype : dtype
        The new dtype.
    order : str, default "K"
        The memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the array).
    casting : str, default "unsafe"
        The rule for the cast, by default "unsafe".
    subok : bool, default True
        Has no effect, because arrays have no subclasses.
    copy : bool, default True
        False returns the array itself if nothing changes.
    device : str or Device, optional
        The device of the result; by default that of the array.

    Returns
    -------
    ndarray
        An array of the same shape.

    Raises
    ------
    TypeError
        If `casting` forbids the cast.

    Examples
    --------
    >>> cp.asarray([1.7, -1.7]).astype(int)
    array([ 1, -1])
    """
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
    """Returns a view of the same memory with another dtype. Another size of elements changes the last axis.

    Parameters
    ----------
    dtype : dtype, optional
        The dtype of the view; None (the default) keeps it.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        For another size of elements, where the array is 0-d, its last axis is not contiguous, or its length or the
        other strides do not divide.

    Examples
    --------
    >>> cp.asarray([1.0], dtype=cp.float32).view(cp.int32)
    array([1065353216], dtype=int32)
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
    """Returns a copy in one dimension.

    Parameters
    ----------
    order : str, default "C"
        The order in which elements are read: "C", "F", "A" or "K" (as in memory).

    Returns
    -------
    ndarray
        A 1-d array.

    See Also
    --------
    ravel

    Examples
    --------
    >>> cp.asarray([[1, 2], [3, 4]]).flatten()
    array([1, 2, 3, 4])
    """
    flat = manipulation.ravel(self, order)
    return flat.copy() if flat.shares_storage(self) else flat


def fill(self: ndarray, value: Any) -> None:
    """Writes one value to all elements.

    Parameters
    ----------
    value : array_like
        A scalar or a 0-d array.

    Raises
    ------
    ValueError
        For an array with axes as the value.

    Examples
    --------
    >>> a = cp.zeros(3)
    >>> a.fill(2)
    >>> a
    array([2., 2., 2.])
    """
    if getattr(value, "ndim", 0):
        raise ValueError("fill needs a scalar")
    value = value[()] if is_numpy_array(value) else value
    if isinstance(value, ndarray):
        warn_of_lost_parts(value.dtype_name, self.dtype_name)
    _core.update(self, value)


def tolist(self: ndarray) -> Any:
    """Returns the elements as Python scalars in nested lists. They are copied to the host.

    Returns
    -------
    list
        A list, or a scalar for a 0-d array.

    Examples
    --------
    >>> cp.asarray([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    if self.dtype_name == "bfloat16":
        self = _core.cast(self, "float32")
    return _core.to_numpy(self).tolist()


def tobytes(self: ndarray, order: str = "C") -> bytes:
    r"""Returns the bytes of the elements. They are copied to the host.

    Parameters
    ----------
    order : str, default "C"
        The order of the elements: "C", "F" or "A".

    Returns
    -------
    bytes

    Examples
    --------
    >>> cp.asarray([1, 2], dtype=cp.uint8).tobytes()
    b'\x01\x02'
    """
    letter = order_letter(order, default="C")
    letter = fortran_or_c(self) if letter == "A" else letter
    return _core.to_bytes(self.T if letter == "F" else self)


def tofile(self: ndarray, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Writes the elements to a file, in C order.

    Parameters
    ----------
    fid : str, path-like or file
        The name of a file, or an open file.
    sep : str, default ""
        The separator of a text file; an empty one (the default) writes raw elements.
    format : str, default "%s"
        The format of an element in a text file.

    Examples
    --------
    >>> import os, tempfile
    >>> name = os.path.join(tempfile.mkdtemp(), "numbers")
    >>> cp.arange(3).tofile(name, sep=" ")
    >>> with open(name) as file:
    ...     file.read()
    '0 1 2'
    """
    _core.to_numpy(self).tofile(fid, sep, format)


def dumps(self: ndarray) -> bytes:
    """Returns the pickled array.

    Returns
    -------
    bytes

    Examples
    --------
    >>> import pickle
    >>> pickle.loads(cp.arange(3).dumps())
    array([0, 1, 2])
    """
    import pickle

    return pickle.dumps(self)


def dump(self: ndarray, file: Any) -> None:
    """Pickles the array to a file.

    Parameters
    ----------
    file : str, path-like or file
        The name of a file, or a file opened for writing bytes.

    Examples
    --------
    >>> import io, pickle
    >>> file = io.BytesIO()
    >>> cp.arange(3).dump(file)
    >>> pickle.loads(file.getvalue())
    array([0, 1, 2])
    """
    data = dumps(self)
    if hasattr(file, "write"):
        file.write(data)
    else:
        with open(file, "wb") as f:
            f.write(data)


def byteswap(self: ndarray, inplace: bool = False) -> ndarray:
    """Returns the elements with their bytes reversed.

    Parameters
    ----------
    inplace : bool, default False
        Whether to change the array itself.

    Returns
    -------
    ndarray
        An array of the same shape and dtype.

    Examples
    --------
    >>> cp.asarray([1], dtype=cp.int16).byteswap()
    array([256], dtype=int16)
    """
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
    """Moves elements in place so that the kth ones are where sorting would put them.

    Parameters
    ----------
    kth : array_like
        The position or positions.
    axis : int, default -1
        The axis, by default the last.
    kind : str, default "introselect"
        "introselect", the only one.
    order : None, optional
        None, because arrays have no fields.

    Raises
    ------
    ValueError
        For a position out of bounds.

    See Also
    --------
    argpartition, sort

    Examples
    --------
    >>> a = cp.asarray([7, 1, 5, 3])
    >>> a.partition(1)
    >>> a[1]
    array(3)
    """
    _core.update(self, sorting.partition(self, kth, operator.index(axis), kind, order))


def conjugate(self: ndarray, out: ndarray | None = None) -> ndarray:
    """Returns the complex conjugate. For a real array, returns the array itself.

    Parameters
    ----------
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        An array of the same shape and dtype.

    Examples
    --------
    >>> cp.asarray([1 + 2j]).conjugate()
    array([1.-2.j])
    """
    result = _core.map("conjugate", self) if dtypes.kind(self.dtype_name) == "c" else self
    return write_out(out, result, "conjugate")


def to_device(self: ndarray, device: Any, /, *, stream: Any = None) -> ndarray:
    """Returns the array on another device, or itself if it is there already.

    Parameters
    ----------
    device : str or Device
        "cpu", "cuda", "cuda:1", or a `cuprous.cuda.Device`.
    stream : Stream, optional
        A stream whose work is waited for first; None (the default) stands for none.

    Returns
    -------
    ndarray

    Raises
    ------
    RuntimeError
        If the device cannot be used, with the cause.

    Examples
    --------
    >>> cp.arange(3).to_device("cpu")
    array([0, 1, 2])
    """
    interop.wait_for("to_device", stream)
    return _core.to_device(self, device_word(device))


def array_namespace(self: ndarray, *, api_version: str | None = None) -> Any:
    """`__array_namespace__`: the module `cuprous`.

    Raises
    ------
    ValueError
        For a version of the standard that is not supported.
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
    """Returns the elements limited to an interval. Either bound may be None.

    Parameters
    ----------
    min : array_like, optional
        The lower bound, a scalar or an array-like.
    max : array_like, optional
        The upper bound, a scalar or an array-like.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    casting : str, default "same_kind"
        The rule for the cast to the dtype of `out`.

    Returns
    -------
    ndarray
        An array of the common shape.

    Examples
    --------
    >>> cp.asarray([1, 5, 9]).clip(2, 6)
    array([2, 5, 6])
    """
    return elementwise.clip(self, min, max, out, casting=casting)


def compress(self: ndarray, condition: Any, axis: int | None = None, out: ndarray | None = None) -> ndarray:
    """Returns the slices along an axis where a condition is true.

    Parameters
    ----------
    condition : array_like
        A 1-d array-like of truth values.
    axis : int, optional
        The axis; None (the default) takes the flattened array.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        A new array.

    Examples
    --------
    >>> cp.asarray([10, 20, 30]).compress([True, False, True])
    array([10, 30])
    """
    return selection.compress(condition, self, axis, out)


def repeat(self: ndarray, repeats: Any, axis: int | None = None) -> ndarray:
    """Returns each element repeated.

    Parameters
    ----------
    repeats : int or sequence of ints
        The count, or a count for each element.
    axis : int, optional
        The axis; None (the default) flattens the array.

    Returns
    -------
    ndarray
        A new array.

    Examples
    --------
    >>> cp.asarray([1, 2]).repeat(2)
    array([1, 1, 2, 2])
    """
    return repetition.repeat(self, repeats, axis)


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

    Raises
    ------
    TypeError
        For an array with axes, as NumPy.
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
    """Returns the one element as a fraction in lowest terms.

    Returns
    -------
    pair of ints

    Raises
    ------
    TypeError
        If the array does not have exactly one element.
    OverflowError
        For infinity.

    Examples
    --------
    >>> cp.asarray(0.75).as_integer_ratio()
    (3, 4)
    """
    ratio: tuple[int, int] = _real(self).as_integer_ratio()
    return ratio


def deepcopy(self: ndarray, memo: Any = None) -> ndarray:
    """`copy.deepcopy`; the order of the axes in memory stays, as in NumPy."""
    return self.copy("K")


def _in_buffer(
    buffer: Any, offset: int, shape: tuple[int, ...], name: str, strides: tuple[Any, ...] | None, order: str
) -> ndarray:
    """Returns a view of the memory of an array, or of a copy of other memory, that begins `offset` bytes in."""
    memory = (
        buffer if isinstance(buffer, ndarray) else from_buffers.frombuffer(buffer, "uint8") if len(buffer) else None
    )
    if memory is not None and not memory.is_c_contiguous:
        raise ValueError("ndarray is not C-contiguous")
    own, size = dtypes.itemsize(name), 0 if memory is None else memory.nbytes
    if strides is None:
        if offset < 0 or offset + own * math.prod(shape) > size:
            raise TypeError("buffer is too small for requested array")
        strides = creation.empty(shape, name, order).strides
    strides = tuple(int(step) for step in strides)
    moves = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    low, high = offset + sum(min(0, m) for m in moves), offset + sum(max(0, m) for m in moves) + own
    if 0 in shape:
        return creation.empty(shape, name, order)
    if memory is None or low < 0 or high > size:
        raise ValueError("strides is incompatible with shape of requested array and size of buffer")
    if offset % own or any(step % own for step in strides):
        raise ValueError(f"[ndarray] offset= and strides= are not multiples of the item size, {own}")
    return _core.as_strided(memory, shape, [step // own for step in strides], offset // own, name)


def getfield(self: ndarray, dtype: Any, offset: int = 0) -> ndarray:
    """Returns a view of a part of each element.

    Parameters
    ----------
    dtype : dtype
        The dtype of the part.
    offset : int, default 0
        The byte of an element at which the part begins.

    Returns
    -------
    ndarray
        A view of the same shape.

    Raises
    ------
    ValueError
        If the part does not lie within an element, or begins at a byte that is not a multiple of its size.

    Examples
    --------
    >>> cp.asarray([1 + 2j, 3 + 4j]).getfield(float, 8)
    array([2., 4.])
    """
    name = dtypes.name_of(dtype)
    own, size = self.itemsize, dtypes.itemsize(name)
    if offset < 0:
        raise ValueError("offset is negative")
    if offset + size > own:
        raise ValueError("new type plus offset is larger than original type")
    if offset % size or own % size:
        raise ValueError(f"[getfield] byte {offset} of an element is not a multiple of {name}'s size")
    return _core.as_strided(self, self.shape, [s * own // size for s in self.element_strides], offset // size, name)


def setfield(self: ndarray, val: Any, dtype: Any, offset: int = 0) -> None:
    """Writes a part of each element.

    Parameters
    ----------
    val : array_like
        The values, which broadcast to the array's shape.
    dtype : dtype
        The dtype of the part.
    offset : int, default 0
        The byte of an element at which the part begins.

    Raises
    ------
    ValueError
        If the part does not lie within an element, or begins at a byte that is not a multiple of its size.

    Examples
    --------
    >>> a = cp.zeros(2, dtype=complex)
    >>> a.setfield([1, 2], float, 8)
    >>> a
    array([0.+1.j, 0.+2.j])
    """
    getfield(self, dtype, offset)[...] = val


def construct(
    cls: type, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str | None = "C",
    *, buffer: Any = None, offset: int = 0,
) -> ndarray:  # fmt: skip
    """An N-dimensional array on a device. Operations on it are recorded and run when a value is needed.

    `cp.array`, `cp.zeros` and similar functions create arrays. The class itself returns one with arbitrary contents.

    Parameters
    ----------
    shape : int or tuple of ints
        The shape, an integer or a sequence of integers.
    dtype : dtype, optional
        The dtype, float64 by default.
    memptr : MemoryPointer, optional
        The memory, an object with `.ptr` such as that of `cuda.alloc`; by default new memory.
    strides : tuple of ints, optional
        Bytes from one element to the next along each axis, for `memptr` and `buffer`.
    order : str or None, default "C"
        The memory order, "C" or "F".
    buffer : ndarray or bytes, optional
        Another way to give the memory: a contiguous array, which is shared, or an object with a buffer, whose bytes are
        copied to the device.
    offset : int, default 0
        The byte of `buffer` at which the first element begins, a multiple of the size of an element.

    Raises
    ------
    TypeError
        If `buffer` is too small.
    ValueError
        If `strides` do not fit to `shape` or to the size of `buffer`.
    NotImplementedError
        For `strides` without memory.

    Examples
    --------
    >>> a = cp.ndarray((2, 3), dtype=cp.float32)
    >>> a.shape, a.dtype
    ((2, 3), dtype('float32'))
    """
    if strides is not None:
        strides = (strides,) if not hasattr(strides, "__len__") else tuple(strides)
        if len(strides) != (1 if isinstance(shape, int) else len(shape)):
            raise ValueError("strides, if given, must be the same length as shape")
    if memptr is None and strides is None and buffer is None:
        return creation.empty(shape, dtype, order or "C")
    if memptr is None and buffer is None:
        raise NotImplementedError("[ndarray] strides= without memptr= or buffer= is not supported; use views")
    shape = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    if buffer is not None:
        return _in_buffer(buffer, offset, shape, dtypes.name_of(dtype), strides, order or "C")
    return pointers.at(memptr, shape, dtypes.name_of(dtype), strides, order or "C")
