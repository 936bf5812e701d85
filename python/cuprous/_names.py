"""Names that are NumPy's own objects (dtypes, constants of types, helpers): looked up on first use only."""

from __future__ import annotations

import importlib
from typing import Any

from cuprous._unsupported import ABSENT, ALTERNATIVES, Unsupported

e = 2.718281828459045
euler_gamma = 0.5772156649015329
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793

#: Taken from `numpy` as they are.
_FROM_NUMPY = frozenset(
    {
        "dtype", "issubdtype", "ScalarType", "typecodes", "sctypeDict",
        "mintypecode", "typename", "errstate", "seterr", "geterr", "s_",
        "index_exp", "format_float_positional", "format_float_scientific", "get_printoptions",
        "set_printoptions", "printoptions", "base_repr", "binary_repr", "bool", "bool_", "byte", "ubyte",
        "short", "ushort", "intc", "uintc", "int_", "uint", "intp", "uintp", "long", "ulong", "longlong",
        "ulonglong", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "half",
        "float16", "single", "float32", "double", "float64", "csingle", "complex64", "cdouble", "complex128",
        "generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating",
        "complexfloating", "True_", "False_", "little_endian",
    }
)  # fmt: skip

#: Submodules, imported on first use.
_SUBMODULES = frozenset({"cuda", "cupyx", "exceptions", "fft", "lib", "linalg", "random", "scipy"})

#: Functions that need the compiler of kernels, which costs more than all else here.
_KERNELS = frozenset({"guvectorize", "vectorize"})

#: Submodules that a namespace is asked for under another name: the array API's extension-to-be for special functions,
#: by which SciPy finds them (data-apis/array-api#725).
_ALIASES = {"special": "scipy.special"}


def lookup(module: str, name: str) -> Any:
    """The value of a lazy name of the package; AttributeError if there is none."""
    if name in _SUBMODULES:
        try:
            return importlib.import_module(f"{module}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{module}.{name}":
                raise
    elif name in _ALIASES:
        return importlib.import_module(f"{module}.{_ALIASES[name]}")
    elif name in _KERNELS:
        return getattr(importlib.import_module(f"{module}._functions.vectorize"), name)
    elif name in _FROM_NUMPY:
        import numpy

        return getattr(numpy, name)
    elif name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    elif name == "AxisError":
        from numpy.exceptions import AxisError

        return AxisError
    elif name in ALTERNATIVES:
        return Unsupported(name)
    hint = f": {ABSENT[name]}" if name in ABSENT else ""
    raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")


def names() -> list[str]:
    """Every lazy name."""
    return [*_FROM_NUMPY, *_SUBMODULES, *_ALIASES, *_KERNELS, "AxisError", "bfloat16"]


def common_type(*arrays: Any) -> Any:
    """The floating or complex NumPy type that holds all arrays; integers count as float64.

    Raises:
        TypeError: for bool, and for what is no array.
    """
    from cuprous import _core
    from cuprous._common import dtypes
    from cuprous._common.arguments import target

    result = "float16"
    for a in arrays:
        if target(a, "common_type").dtype_name == "bool":
            raise TypeError("can't get common type for non-numeric array")
        result = _core.promote_types(result, dtypes.inexact(a.dtype_name))
    return dtypes.numpy_dtype(result).type


__all__ = ["common_type", "e", "euler_gamma", "inf", "nan", "newaxis", "pi"]
