"""Converts array-like objects to device arrays: lists, NumPy arrays, buffers, DLPack, `__cuda_array_interface__`."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.casting import common_dtype
from cuprous._common.device import current_device
from cuprous._common.dlpack import from_dlpack
from cuprous._common.layout import MAX_NDIM, cast_in_order, order_letter, with_order
from cuprous._core import ndarray


def convert(x: Any, dtype: Any = None, order: str = "K", copy: bool | None = None) -> ndarray:
    """Converts an array-like object to a device array. Shares its memory if `copy` is not True and the object allows
    it.

    Raises
    ------
    TypeError
        For objects whose elements are not numbers or bool.
    ValueError
        If `copy` is False and a copy is needed.
    """
    name = None if dtype is None else dtypes.name_of(dtype)
    order = order_letter(order)
    copy = copy_rule(copy)
    scalar = dtypes.OF_SCALARS.get(type(x))
    if scalar is not None:
        _forbid_copy(copy)
        return _from_scalar(x, scalar, name)
    shared = _shared(x)
    if shared is None:
        _forbid_copy(copy)
        return with_order(_copied(x, name, order), order)
    if name is not None and shared.dtype_name != name:
        _forbid_copy(copy)
        return cast_in_order(shared, name, "K" if order == "A" else order)  # as in NumPy
    if copy:
        return with_order(shared, order, fresh=True)
    result = with_order(shared, order)
    if result is not shared:
        _forbid_copy(copy)
    return result


def copy_rule(copy: Any) -> bool | None:
    """Normalizes `copy=`: True (always copy), False (never copy) or None (copy if needed).

    Raises
    ------
    ValueError
        For a string.
    """
    if copy is None or copy is True or copy is False:
        return copy
    if isinstance(copy, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
    if type(copy).__name__ == "_CopyMode":  # NumPy's enumeration of the three
        return copy.value if isinstance(copy.value, bool) else None
    return bool(copy)


def _forbid_copy(copy: bool | None) -> None:
    if copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")


def check_range(x: int, name: str) -> None:
    """Raises NumPy's OverflowError for a Python integer out of the range of an integer dtype."""
    if dtypes.kind(name) in "iu" and not dtypes.lowest(name) <= x <= dtypes.highest(name):
        raise OverflowError(f"Python integer {x} out of bounds for {name}")


def _from_scalar(x: Any, scalar: str, name: str | None) -> ndarray:
    if scalar == "int64" and name is None and not -(1 << 63) <= x < 1 << 63:
        name = "uint64"
    if scalar == "int64" and name is not None:
        check_range(x, name)
    if scalar == "complex128" and name is not None and dtypes.kind(name) in "iuf":
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    return _core.full((), x, name or scalar)


def _shared(x: Any) -> ndarray | None:
    """Returns a device array that shares the object's memory; None if the object is not on a device."""
    if isinstance(x, ndarray):
        return x
    if isinstance(x, _core.Tensor):
        if x.requires_grad:
            raise RuntimeError("a tensor that requires grad cannot be an array; use tensor.detach()")
        return x.as_array()
    interface = getattr(x, "__cuda_array_interface__", None)
    if interface is not None:
        return from_cuda_interface(x, interface)
    if hasattr(x, "__cupy_get_ndarray__"):
        return _shared(x.__cupy_get_ndarray__())
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] != 1:
        return from_dlpack(x)
    return None


def _copied(x: Any, name: str | None, order: str) -> ndarray:
    """Copies an object in host memory to a device array."""
    if isinstance(x, (list, tuple)) and _holds_device_array(x):
        return _from_nested(x, name)
    import numpy as np

    if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray) and not hasattr(x, "__array__"):
        x = np.from_dlpack(x)
    host = np.asarray(x, dtype=None if name is None else dtypes.numpy_dtype(name))
    if host.dtype.name not in dtypes.TABLE:
        if host.dtype.kind == "O":
            raise TypeError(f"Unsupported type {type(x)}: it would become an array of Python objects")
        raise TypeError(f"Unsupported dtype {host.dtype}; a device holds {', '.join(dtypes.TABLE)}")
    if not host.dtype.isnative:
        host = host.astype(host.dtype.newbyteorder("="))
    if order == "F" or (order in "AK" and host.flags.f_contiguous and not host.flags.c_contiguous):
        return _core.without_base(_core.from_numpy(host.T).T)
    return _core.from_numpy(host)


def _holds_device_array(x: Any, depth: int = 0) -> bool:
    while isinstance(x, (list, tuple)):
        depth += 1
        if not x or depth > MAX_NDIM:  # a list can contain itself
            return False
        if any(_on_device(item) for item in x):
            return True
        nested = [item for item in x if isinstance(item, (list, tuple))]
        if not nested:
            return False
        if len(nested) > 1 and any(_holds_device_array(item, depth) for item in nested[1:]):
            return True
        x = nested[0]
    return False


def _on_device(x: Any) -> bool:
    return isinstance(x, ndarray) or getattr(x, "__cuda_array_interface__", None) is not None


def _from_nested(x: Any, name: str | None) -> ndarray:
    """Stacks nested lists that hold device arrays."""
    parts = [convert(item, name) for item in x]
    shapes = {part.shape for part in parts}
    if len(shapes) > 1:
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous shape "
            f"after 1 dimensions: its parts have shapes {', '.join(map(str, sorted(shapes)))}"
        )
    wanted = common_dtype(parts)
    result = _core.empty((len(parts), *parts[0].shape), wanted if name is None else name)
    for i, part in enumerate(parts):
        result[i] = part
    return result


def from_cuda_interface(owner: Any, interface: dict[str, Any]) -> ndarray:
    """Returns a view of another library's device memory; waits for the stream that the interface names."""
    if interface.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported: __cuda_array_interface__ has a mask")
    stream = interface.get("stream")
    if stream is not None:
        _core.Stream(stream).synchronize()
    typestr = interface["typestr"]
    name = "bfloat16" if typestr.endswith("V2") else dtypes.name_of(typestr)  # the type string of ml_dtypes
    itemsize = dtypes.itemsize(name)
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is None:
        elements = c_strides(shape)
    else:
        if any(s % itemsize for s in strides):
            raise ValueError("__cuda_array_interface__: strides are not multiples of the item size")
        elements = tuple(s // itemsize for s in strides)
    device = current_device()
    return _core.from_address(
        interface["data"][0], shape, elements, name, "cuda" if device in ("cpu", "auto") else device, owner
    )


def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the strides of a C-contiguous array, in elements."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * max(shape[i + 1], 1)
    return tuple(strides)


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    """Converts to a NumPy array. Device arrays are copied to the host, other objects are converted by `numpy.asarray`.

    Parameters
    ----------
    a : array_like
        An array, or another object that NumPy converts.
    stream : Stream, optional
        A stream whose work is waited for first; None (the default) stands for none.
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

    See Also
    --------
    asarray, get_array_module

    Examples
    --------
    >>> cp.asnumpy(cp.arange(3) * 2)
    array([0, 2, 4])
    """
    if isinstance(a, ndarray):
        return a.get(stream, order, out, blocking)
    import numpy as np

    interface = getattr(a, "__cuda_array_interface__", None)
    if interface is not None:
        return asnumpy(from_cuda_interface(a, interface), stream, order, out)
    host = np.asarray(a, order=order)  # type: ignore[call-overload]
    if out is None:
        return host
    out[...] = host
    return out


__all__ = ["asnumpy"]
