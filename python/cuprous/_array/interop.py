"""Other libraries: NumPy's protocols, the CUDA array interface, pickling."""

from __future__ import annotations

import weakref
from typing import Any

import cuprous
from cuprous import _core
from cuprous._common import dtypes, transfers
from cuprous._common.arguments import as_operands, ndarray
from cuprous._common.convert import asnumpy, convert
from cuprous._common.layout import axis_order, inverse, order_letter
from cuprous._common.operands import is_numpy_array
from cuprous._common.overrides import overrides

#: Arrays created by Numba's API, by their ids, with the streams that they are bound to (0: none). NumPy may copy them
#: to the host implicitly, as with Numba.
_of_numba: dict[int, tuple[weakref.ref[ndarray], Any]] = {}


def as_numba(array: ndarray, stream: Any = 0) -> ndarray:
    """Marks an array as created by Numba's API: `numpy.asarray` copies it and its views to the host, which is refused
    for all others as CuPy does, and it is bound to a stream.
    """
    key = id(array)
    _of_numba[key] = (weakref.ref(array, lambda _: _of_numba.pop(key, None)), stream or 0)
    return array


def _numba_stream(array: ndarray) -> Any:
    """Returns the stream that an array of Numba's API, or its base, is bound to; None for all other arrays."""
    found = _of_numba.get(id(array))
    if found is None:
        return None if array.base is None else _numba_stream(array.base)
    return found[1]


def check_buffer_export(self: ndarray) -> None:
    """Raises if an array on the CPU may not expose its memory to NumPy and other consumers of the buffer protocol (the
    native type's hook).

    Raises
    ------
    ImplicitConversionError
        In the mode "refuse" of `set_transfers`.
    TypeError
        For arrays created by `cuda.to_device` and the like, which NumPy copies, as with Numba.
    """
    transfers.refuse_reading()
    if _numba_stream(self) is not None:
        raise TypeError("a Numba device array does not expose its memory; use .copy_to_host()")


def to_numpy_array(self: ndarray, dtype: Any = None, copy: bool | None = None) -> Any:
    """`__array__`: a NumPy array with the elements.

    On the CPU it shares the memory, so that a write on either side is visible on the other. From another device it is
    a copy, read-only unless `copy` is true.

    Raises
    ------
    ImplicitConversionError
        In the mode "refuse" of `set_transfers`.
    ValueError
        For `copy=False` where a copy is needed.
    """
    import numpy as np

    numba = _numba_stream(self) is not None
    if self.device_name == "cpu" and not numba:
        raw = self if self.dtype_name != "bfloat16" else _core.as_strided(  # which has no letter in Python's buffers
            self, self.shape, self.element_strides, 0, "uint16")  # fmt: skip
        shown = np.asarray(memoryview(raw)).view(self.dtype)  # type: ignore[arg-type]
        return np.array(shown, dtype, copy=copy)
    if copy is False:
        raise ValueError("`copy=False` is not supported. A copy is always created.")
    if not numba:
        transfers.count_download(self)
    host = asnumpy(self)
    host = host if dtype is None else host.astype(dtype, copy=False)
    host.flags.writeable = bool(copy) or numba
    return host


def array_interface(self: ndarray) -> dict[str, Any]:
    """`__array_interface__`, version 3. On the CPU it points to the array's memory, which is shared from then on; on
    another device to a copy.
    """
    if self.dtype_name == "bfloat16" or transfers.refuses() or _numba_stream(self) is not None:
        raise AttributeError("this array has no attribute '__array_interface__'; use .get()")
    here = self.device_name == "cpu"
    host = None if here else to_numpy_array(self)
    return {
        "shape": self.shape, "typestr": self.dtype.str, "descr": self.dtype.descr, "version": 3,
        "strides": self.strides if here else host.strides,  # type: ignore[union-attr]
        "data": (self.address() if self.size else 0, False) if here else host.reshape(-1).view("uint8"),  # type: ignore[union-attr]
    }  # fmt: skip


def wait_for(function: str, stream: Any) -> None:
    """Waits for other libraries' work on a stream, before memory that they may use is read or written.

    Raises
    ------
    TypeError
        If `stream` is not a stream.
    """
    if stream is None:
        return
    if not hasattr(stream, "synchronize"):
        raise TypeError(f"[{function}] stream must be a cuprous.cuda.Stream or None, not {type(stream)}")
    stream.synchronize()


def get(self: ndarray, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
    """Returns a NumPy array with the elements. The copy is finished on return.

    Parameters
    ----------
    stream : Stream, optional
        A stream of another library, whose work is waited for first.
    order : str, default "C"
        The memory order of the result: "C", "F", "A" or "K".
    out : ndarray, optional
        A NumPy array to write to, of the same shape and dtype.
    blocking : bool, default True
        Has no effect, because a transfer always ends before the call returns.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    TypeError
        For an `out` that is not a NumPy array.
    ValueError
        For an `out` of another shape or dtype.

    Examples
    --------
    >>> (cp.arange(3) * 2).get()
    array([0, 2, 4])
    """
    wait_for("get", stream)
    order = order_letter(order)
    if out is not None:
        if not is_numpy_array(out):
            raise TypeError(f"Only numpy.ndarray can be obtained from cuprous.ndarray, not {type(out)}")
        if out.dtype != self.dtype or out.shape != self.shape:
            raise ValueError(
                f"[get] out has shape {out.shape} and dtype {out.dtype}, expected {self.shape} and {self.dtype}"
            )
        return _core.to_numpy(self, out)
    if order == "F" or (order in "AK" and self.is_f_contiguous and not self.is_c_contiguous):
        return _core.to_numpy(self.T).T
    return _core.to_numpy(self)


def set(self: ndarray, arr: Any, stream: Any = None) -> None:
    """Copies a NumPy array of the same shape and dtype into this one.

    Parameters
    ----------
    arr : array_like
        The NumPy array.
    stream : Stream, optional
        A stream of another library, whose work is waited for first.

    Raises
    ------
    TypeError
        For anything but a NumPy array, and for another dtype.
    ValueError
        For another shape.

    Examples
    --------
    >>> a = cp.zeros(3)
    >>> a.set(np.asarray([1.0, 2.0, 3.0]))
    >>> a
    array([1., 2., 3.])
    """
    if not is_numpy_array(arr):
        raise TypeError("Only numpy.ndarray can be set to cuprous.ndarray")
    if arr.dtype != self.dtype:
        raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
    if arr.shape != self.shape:
        raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
    wait_for("set", stream)
    _core.update(self, _core.from_numpy(arr, self.device_name))
    if stream is not None:
        _core.synchronize()


def copy_to_host(self: ndarray, ary: Any = None, stream: Any = 0) -> Any:
    """Copies the elements to a NumPy array. This is Numba's name of `get`.

    Parameters
    ----------
    ary : array_like, optional
        A NumPy array to write to, of the same shape and dtype; by default a new one.
    stream : Stream, default 0
        A stream of another library, whose work is waited for first.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> cp.arange(3).copy_to_host()
    array([0, 1, 2])
    """
    # By rows or by columns, as it lies there.
    return get(self, stream if hasattr(stream, "synchronize") else None, "A", out=ary)


def copy_to_device(self: ndarray, ary: Any, stream: Any = 0) -> None:
    """Copies the elements of another array into this one. This is Numba's name of `array[...] = ary`.

    Parameters
    ----------
    ary : array_like
        A NumPy or device array of the same shape.
    stream : Stream, default 0
        A stream of another library, whose work is waited for first.

    Raises
    ------
    ValueError
        For another shape.

    Examples
    --------
    >>> a = cp.zeros(3)
    >>> a.copy_to_device(np.asarray([1.0, 2.0, 3.0]))
    >>> a
    array([1., 2., 3.])
    """
    wait_for("copy_to_device", stream if hasattr(stream, "synchronize") else None)
    source = convert(ary)
    if source.shape != self.shape:
        raise ValueError(f"[copy_to_device] shapes {source.shape} and {self.shape} differ")
    _core.update(self, source if source.device_name == self.device_name else _core.to_device(source, self.device_name))


def split_at(self: ndarray, section: int, stream: Any = 0) -> list[ndarray]:
    """Returns views of a 1-d array with so many elements each, as Numba's `split`. The last one may be shorter.

    Parameters
    ----------
    section : int
        The number of elements.
    stream : int, default 0
        Has no effect, because all work runs in order on one stream.

    Returns
    -------
    list of ndarrays
        A list of views.

    Raises
    ------
    ValueError
        For an array that is not 1-d.

    Examples
    --------
    >>> cp.arange(5).split(2)
    [array([0, 1]), array([2, 3]), array([4])]
    """
    if self.ndim != 1:
        raise ValueError("only support 1d array")
    return [self[k : k + section] for k in range(0, self.size, section)]


def bind(self: ndarray, stream: Any = 0) -> ndarray:
    """Returns a view that is bound to a stream, as Numba's `bind`.

    All work runs in order, so results are the same with any stream. Other libraries that see the memory wait for it.

    Parameters
    ----------
    stream : Stream, default 0
        A stream, or 0 for none.

    Returns
    -------
    ndarray
        A view.

    Examples
    --------
    >>> cp.arange(3).bind().stream
    0
    """
    return as_numba(self[...], stream)


def bound_stream(self: ndarray) -> Any:
    """Numba's `stream`: the stream that the array is bound to; 0 if there is none."""
    return _numba_stream(self) or 0


def getitem(self: ndarray, item: Any, stream: Any = 0) -> Any:
    """Returns `array[item]`, as Numba's method.

    Parameters
    ----------
    item : index
        An index.
    stream : int, default 0
        Has no effect, because all work runs in order on one stream.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> cp.arange(3).getitem(1)
    array(1)
    """
    return self[item]


def setitem(self: ndarray, key: Any, value: Any, stream: Any = 0) -> None:
    """Sets `array[key] = value`, as Numba's method.

    Parameters
    ----------
    key : index
        An index.
    value : array_like
        A scalar or an array that broadcasts to the indexed elements.
    stream : int, default 0
        Has no effect, because all work runs in order on one stream.

    Examples
    --------
    >>> a = cp.arange(3)
    >>> a.setitem(0, 9)
    >>> a
    array([9, 1, 2])
    """
    self[key] = value


def get_ipc_handle(self: ndarray) -> Any:
    """Returns a handle of an array on a GPU. It can be pickled, and `with handle as array:` opens it in another
    process.

    Returns
    -------
    int
        A handle.

    Raises
    ------
    NotImplementedError
        For an array with gaps.
    RuntimeError
        For one on the CPU.

    Examples
    --------
    >>> handle = cp.arange(3).get_ipc_handle()  # doctest: +SKIP
    """
    from cuprous.cuda._ipc import handle_of  # imports NumPy

    return handle_of(self)


# --- NumPy's protocols


def array_ufunc(self: ndarray, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """A ufunc of NumPy's or SciPy's called with one of our arrays: runs ours of that name. If it does not exist, and if
    results go to a NumPy array, NumPy's own runs on the host. Operands of other classes are asked instead.
    """
    if any(overrides(type(x), "__array_ufunc__") for x in (*inputs, *(kwargs.get("out") or ()))):
        return NotImplemented
    name = ufunc.__name__
    ours = getattr(cuprous, name, None) or getattr(cuprous.special, name, None)  # NumPy's, or SciPy's
    outs: tuple[Any, ...] = kwargs.get("out") or ()  # a tuple, as the protocol has it
    if ours is None or any(map(is_numpy_array, outs)) or (method == "at" and is_numpy_array(inputs[0])):
        if any(isinstance(x, ndarray) for x in outs):
            raise TypeError(f"the ufunc {name} is not supported for cuprous arrays")
        return getattr(ufunc, method)(*map(_on_host, inputs), **_on_host(kwargs))
    if len(outs) == 1:
        kwargs["out"] = outs[0]
    # A NumPy scalar on the left of a comparison arrives as a 0-d array.
    given = [x[()] if is_numpy_array(x) and x.ndim == 0 else x for x in inputs]
    if method != "at":
        given = as_operands(given)
    if method == "__call__":
        return ours(*given, **kwargs)
    return getattr(ours, method)(*given, **kwargs)


#: NumPy's functions that write to their first argument, and its name.
_WRITERS = {
    "copyto": "dst", "fill_diagonal": "a", "place": "arr", "put": "a", "put_along_axis": "arr", "putmask": "a",
}  # fmt: skip
#: NumPy's functions whose result is to be an array like an argument: one on the host would be none.
_LIKE = {"empty_like", "full_like", "ones_like", "zeros_like"}


def array_function(self: ndarray, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A NumPy function called with one of our arrays: runs ours of that name. If it does not exist, or does not take
    these arguments, NumPy's own runs on the host, except for functions such as `empty_like`. Arguments of other classes
    are asked instead."""
    if any(overrides(kind, "__array_function__") for kind in types):
        return NotImplemented
    module: Any = cuprous
    for part in func.__module__.split(".")[1:]:
        module = getattr(module, part, None)
    ours = getattr(module, func.__name__, None)
    written = _WRITERS.get(func.__name__)
    written = kwargs.get("out") if written is None else args[0] if args else kwargs.get(written)
    to_host = is_numpy_array(written)
    if ours is not None and ours is not func and not to_host:
        try:
            return ours(*args, **kwargs)
        except TypeError:  # of objects that no device holds, for example
            if transfers.refuses() or func.__name__ in _LIKE:
                raise
    return func(*_on_host(args), **_on_host(kwargs))


def _on_host(x: Any) -> Any:
    """Arguments with NumPy arrays in place of ours."""
    if isinstance(x, ndarray):
        return to_numpy_array(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(_on_host, x))
    if isinstance(x, (list, tuple)):
        return type(x)(map(_on_host, x))
    if isinstance(x, dict):
        return {key: _on_host(value) for key, value in x.items()}
    return x


# --- the CUDA array interface


def cuda_array_interface(self: ndarray) -> dict[str, Any]:
    """Version 3 of the interface; arrays on the CPU do not have the attribute."""
    if self.device_name == "cpu":
        raise AttributeError("array on the CPU has no attribute '__cuda_array_interface__'")
    dtype = self.dtype
    return {
        "shape": self.shape,
        "typestr": dtype.str if self.dtype_name != "bfloat16" else "<V2",
        "descr": dtype.descr if self.dtype_name != "bfloat16" else [("", "<V2")],
        "data": (self.address() if self.size else 0, False),
        "version": 3,
        "strides": None if self.is_c_contiguous else self.strides,
        "stream": _stream_of_interface(_numba_stream(self)),
    }


def _stream_of_interface(bound: Any) -> int | None:
    own = _core.Stream().ptr or 1
    handle = own if bound is None else (bound.handle or 1) if bound else None
    if handle != own:
        # Numba promises no work under way, or on the stream that the array is bound to only; ours is on its own.
        _core.synchronize()
    return handle


# --- pickling and copying


def reduce(self: ndarray, protocol: int = 4) -> tuple[Any, ...]:
    """`__reduce__` and `__reduce_ex__`: pickled as bytes, unpickled on the default device.

    From protocol 5 on the elements are a buffer of their own, which a sender may hand over without a copy (PEP 574), if
    the array is contiguous in some order of its axes. The order stays.
    """
    axes = axis_order(self, "K")
    if axes is not None and (upright := self.transpose(axes)).is_c_contiguous:
        return _rebuild_transposed, (*reduce(upright, protocol)[1], inverse(axes))
    if protocol < 5 or not self.is_c_contiguous:
        return _rebuild, (_core.to_bytes(self), self.shape, self.dtype_name)
    import pickle  # its caller has it already; importing this package need not

    data: Any = _core.to_numpy(self).reshape(-1).view("uint8")  # bytes: bfloat16 has no letter in Python's buffers
    return _rebuild, (pickle.PickleBuffer(data), self.shape, self.dtype_name)


def _rebuild(data: Any, shape: tuple[int, ...], dtype: str) -> ndarray:
    import numpy as np

    return _core.from_numpy(np.frombuffer(data, dtypes.numpy_dtype(dtype)).reshape(shape))


def _rebuild_transposed(data: Any, shape: tuple[int, ...], dtype: str, axes: tuple[int, ...]) -> ndarray:
    return _core.without_base(_rebuild(data, shape, dtype).transpose(axes))
