"""Hooks, methods and attributes that Python gives to the native types `ndarray` and `ufunc`.

`register` is called once, when the package is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._array import display, interop, methods
from cuprous._array.array_api import device_object
from cuprous._array.flags import Flags
from cuprous._array.flat_iterator import flatiter
from cuprous._common import dlpack, dtypes, indexing, operands, pointers
from cuprous._common.arguments import ndarray
from cuprous._common.naming import join_sections
from cuprous._functions import (
    arg_reductions,
    choosing,
    complex_parts,
    counting,
    cumulative,
    elementwise,
    manipulation,
    matrix_indices,
    moments,
    printing,
    products,
    reductions,
    selection,
    sorting,
)
from cuprous._ufuncs import methods as ufunc_methods
from cuprous._ufuncs.at import at


class _Truth(int):
    """True or False that can also be called: an attribute here, a method of Numba's arrays."""

    __slots__ = ()

    def __call__(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return str(bool(self))


def _truth(name: str, doc: str) -> property:
    native = ndarray.__dict__[name].__get__
    both = _Truth(False), _Truth(True)
    return property(lambda self: both[native(self)], doc=doc)


def _set_real(self: ndarray, value: Any) -> None:
    complex_parts.real(self)[...] = value


def _set_imag(self: ndarray, value: Any) -> None:
    if dtypes.kind(self.dtype_name) != "c":
        raise TypeError("cannot set imaginary part of array with a real dtype")
    complex_parts.imag(self)[...] = value


def _set_flat(self: ndarray, value: Any) -> None:
    flatiter(self)[...] = value


def _device(self: ndarray) -> Any:
    return device_object(self.device_name)


def _documented(summary: str, expression: str, result: str) -> str:
    """Returns the docstring of an attribute, with an example."""
    return join_sections(summary, {"Examples": f">>> {expression}\n{result}\n"})


#: Methods that are functions of the module with the array as the first argument.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "all": reductions.all, "any": reductions.any, "argmax": arg_reductions.argmax, "argmin": arg_reductions.argmin,
    "cumprod": cumulative.cumprod, "cumsum": cumulative.cumsum, "max": reductions.max, "mean": moments.mean,
    "min": reductions.min, "prod": reductions.prod, "ptp": reductions.ptp, "std": moments.std,
    "sum": reductions.sum, "var": moments.var,
    "argpartition": sorting.argpartition, "argsort": sorting.argsort, "searchsorted": sorting.searchsorted,
    "sort": sorting.write_sorted,
    "choose": choosing.choose_of, "diagonal": matrix_indices.diagonal, "dot": products.dot,
    "nonzero": counting.nonzero, "put": selection.put, "take": selection.take, "trace": products.trace,
    "round": elementwise.round, "ravel": manipulation.ravel,
    "squeeze": manipulation.squeeze, "swapaxes": manipulation.swapaxes,
    "scatter_add": selection.scatter_add, "scatter_max": selection.scatter_max, "scatter_min": selection.scatter_min,
    "toDlpack": dlpack.to_dlpack,
}  # fmt: skip


#: Methods written for arrays.
METHODS: dict[str, Any] = {
    "astype": methods.astype, "view": methods.view, "flatten": methods.flatten, "fill": methods.fill,
    "tolist": methods.tolist, "tobytes": methods.tobytes, "tofile": methods.tofile, "dump": methods.dump,
    "dumps": methods.dumps, "byteswap": methods.byteswap, "partition": methods.partition, "clip": methods.clip,
    "compress": methods.compress, "repeat": methods.repeat, "to_device": methods.to_device, "get": interop.get,
    "set": interop.set, "copy_to_host": interop.copy_to_host, "copy_to_device": interop.copy_to_device,
    "split": interop.split_at, "bind": interop.bind, "getitem": interop.getitem, "setitem": interop.setitem,
    "get_ipc_handle": interop.get_ipc_handle, "__array__": interop.to_numpy_array,
    "__array_ufunc__": interop.array_ufunc, "__array_function__": interop.array_function,
    "__array_namespace__": methods.array_namespace, "__dlpack__": dlpack.dlpack,
    "__dlpack_device__": dlpack.dlpack_device, "__reduce__": interop.reduce, "__reduce_ex__": interop.reduce,
    "__copy__": lambda self: self.copy("K"), "__deepcopy__": methods.deepcopy, "__contains__": methods.contains,
    "__iter__": methods.iterate, "__divmod__": methods.divmod_, "__rdivmod__": methods.rdivmod,
    "__imatmul__": methods.matmul_in_place, "__hash__": methods.hash_value, "__round__": methods.rounded,
    "__trunc__": methods.truncated, "__floor__": methods.floored, "__ceil__": methods.ceiled,
    "__bytes__": methods.tobytes, "as_integer_ratio": methods.as_integer_ratio, "__format__": printing.format_array,
    "__repr__": printing.array_repr, "__str__": printing.array_str, "__array_priority__": 100,
    "_repr_html_": display.array_html,
    "conj": methods.conjugate, "conjugate": methods.conjugate, "getfield": methods.getfield,
    "setfield": methods.setfield,
}  # fmt: skip

#: Attributes.
PROPERTIES: dict[str, property] = {
    "real": property(complex_parts.real, _set_real, doc=_documented(
        "The real part; a view of complex arrays.", "cp.asarray([1 + 2j]).real", "array([1.])")),
    "imag": property(complex_parts.imag, _set_imag, doc=_documented(
        "The imaginary part; a view of complex arrays.", "cp.asarray([1 + 2j]).imag", "array([2.])")),
    "mT": property(manipulation.matrix_transpose, doc=_documented(
        "A view with the last two axes exchanged.", "cp.ones((4, 2, 3)).mT.shape", "(4, 3, 2)")),
    "flat": property(flatiter, _set_flat, doc=_documented(
        "The elements in C order, to iterate over and to index.", "cp.asarray([[1, 2], [3, 4]]).flat[2]", "array(3)")),
    "flags": property(Flags, doc=_documented(
        "Contiguity, ownership and the other flags of NumPy.", "cp.ones((2, 3)).T.flags.f_contiguous", "True")),
    "data": property(pointers.MemoryPointer, doc=_documented(
        "The memory of the first element, with its address (`.ptr`).", "cp.ones(3).data.ptr % 8", "0")),
    "is_c_contiguous": _truth("is_c_contiguous", _documented(
        "True if elements lie row after row, without gaps.", "cp.ones((2, 3)).is_c_contiguous", "True")),
    "is_f_contiguous": _truth("is_f_contiguous", _documented(
        "True if elements lie column after column, without gaps.", "cp.ones((2, 3)).is_f_contiguous", "False")),
    "device": property(_device, doc=_documented(
        'The device: "cpu", or a `cuda.Device`.', 'cp.ones(3).to_device("cpu").device', "'cpu'")),
    "gpu_data": property(pointers.MemoryPointer, doc="Numba's name of `data`."),
    "stream": property(interop.bound_stream, doc="The stream that Numba's `bind` bound the array to, or 0."),
    "alloc_size": property(lambda self: self.nbytes, doc="Numba's name of `nbytes`."),
    "__cuda_array_interface__": property(interop.cuda_array_interface),
    "__array_interface__": property(interop.array_interface),
}  # fmt: skip

#: Methods of ufuncs.
UFUNC_METHODS: tuple[Callable[..., Any], ...] = (
    ufunc_methods.reduce, ufunc_methods.accumulate, ufunc_methods.outer, ufunc_methods.reduceat, at,
    ufunc_methods.resolve_dtypes,
)  # fmt: skip

#: Attributes of ufuncs.
UFUNC_ATTRIBUTES: dict[str, Any] = {
    "identity": property(ufunc_methods.identity, doc="The result of a reduction of no elements, or None."),
    "nargs": property(lambda self: self.nin + self.nout, doc="Number of operands and results."),
    "types": property(ufunc_methods.types, doc="The dtypes of operands and results, as NumPy's letters."),
    "ntypes": property(lambda self: len(self.types), doc="Number of combinations of dtypes."),
    "signature": None,
    "__doc__": ufunc_methods.Documentation(_core.ufunc.__doc__ or ""),
    "__signature__": ufunc_methods.CallSignature(""),
    "__repr__": lambda self: f"<ufunc '{self.__name__}'>",
}

#: Functions that the native types call for the cases that they do not handle themselves.
HOOKS: dict[str, Callable[..., Any]] = {
    "buffer": interop.check_buffer_export,
    "compare": operands.compare,
    "getitem": indexing.getitem,
    "matmul": products.matmul_operator,
    "operand": operands.operand_like,
    "setitem": indexing.setitem,
    "ufunc_call": ufunc_methods.call,
}


def register() -> None:
    """Gives the native types everything above."""
    array: Any = ndarray
    array.__new__ = staticmethod(methods.construct)
    array.__doc__ = methods.construct.__doc__
    for name, value in {**FUNCTIONS, **METHODS, **PROPERTIES}.items():  # plain functions bind the array first
        setattr(array, name, value)
    ufunc: Any = _core.ufunc
    for method in UFUNC_METHODS:
        setattr(ufunc, method.__name__, method)
    for name, value in UFUNC_ATTRIBUTES.items():
        setattr(ufunc, name, value)
    for name, hook in HOOKS.items():
        _core.set_hook(name, hook)
