"""Dtypes by name. NumPy is imported only for dtype-likes that only NumPy can interpret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

    DType = DTypeLike | str

#: Name -> kind ("b", "i", "u", "f" or "c") and bytes of an element.
TABLE: dict[str, tuple[str, int]] = {
    "bool": ("b", 1), "int8": ("i", 1), "int16": ("i", 2), "int32": ("i", 4), "int64": ("i", 8), "uint8": ("u", 1),
    "uint16": ("u", 2), "uint32": ("u", 4), "uint64": ("u", 8), "float16": ("f", 2), "bfloat16": ("f", 2),
    "float32": ("f", 4), "float64": ("f", 8), "complex64": ("c", 8), "complex128": ("c", 16),
}  # fmt: skip

#: The dtypes of Python's scalars.
OF_SCALARS: dict[type, str] = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}

_LETTERS = {
    "?": "bool", "b": "int8", "h": "int16", "i": "int32", "l": "int64", "q": "int64", "p": "int64", "n": "int64",
    "B": "uint8", "H": "uint16", "I": "uint32", "L": "uint64", "Q": "uint64", "P": "uint64", "N": "uint64",
    "e": "float16", "f": "float32", "d": "float64", "F": "complex64", "D": "complex128",
    "int": "int64", "uint": "uint64", "float": "float64", "complex": "complex128", "half": "float16",
    "single": "float32", "double": "float64", "intp": "int64", "uintp": "uint64", "long": "int64", "ulong": "uint64",
    "b1": "bool", "bf16": "bfloat16", "bool_": "bool",
}  # fmt: skip

#: Cache: dtype-like (string, type, numpy.dtype) -> name.
_NAMES: dict[Any, str] = {
    **{name: name for name in TABLE},
    **_LETTERS,
    **{f"{kind}{size}": name for name, (kind, size) in TABLE.items() if kind != "b" and name != "bfloat16"},
    **OF_SCALARS,
}

_COMPONENTS = {"complex64": "float32", "complex128": "float64"}


def name_of(dtype: Any) -> str:
    """Returns the name of a dtype-like ("float32", float, np.float32, np.dtype(...)); None means float64.

    Raises
    ------
    TypeError
        For dtypes that devices do not have (object, strings, dates, foreign byte orders).
    """
    if dtype is None:
        return "float64"
    try:
        return _NAMES[dtype]
    except KeyError:
        pass
    except TypeError:  # not hashable
        return _name_from_numpy(dtype)
    name = _name_from_numpy(dtype)
    if not hasattr(dtype, "item"):  # NumPy's scalars of different dtypes can be equal as keys
        _NAMES[dtype] = name
    return name


def _name_from_numpy(dtype: Any) -> str:
    import numpy as np

    if getattr(dtype, "__name__", None) == "bfloat16":
        return "bfloat16"
    # The attribute `dtype` of a class such as np.float32 is a descriptor, not a dtype.
    resolved = np.dtype(dtype if isinstance(dtype, type) else getattr(dtype, "dtype", dtype))
    name = resolved.name
    if name not in TABLE or not resolved.isnative:
        raise TypeError(f"dtype {resolved} is not supported on a device; use one of {', '.join(TABLE)}")
    return name


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Returns the `numpy.dtype` of a name."""
    import numpy as np

    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def kind(name: str) -> str:
    """Returns the kind: "b", "i", "u", "f" or "c"."""
    return TABLE[name][0]


def itemsize(name: str) -> int:
    """Returns the number of bytes of an element."""
    return TABLE[name][1]


def component(name: str) -> str:
    """Returns the dtype of the real part."""
    return _COMPONENTS.get(name, name)


def inexact(name: str) -> str:
    """Returns the dtype if it is floating or complex, otherwise float64."""
    return name if TABLE[name][0] in "fc" else "float64"


def accumulator(name: str) -> str:
    """Returns the dtype in which NumPy sums: bool and small integers widen to 64 bits."""
    letter = TABLE[name][0]
    return name if letter in "fc" else "uint64" if letter == "u" else "int64"


def lowest(name: str) -> Any:
    """Returns the least value of a real dtype (-inf for floats), as a Python scalar."""
    letter, size = TABLE[name]
    if letter == "b":
        return False
    if letter == "u":
        return 0
    return -(1 << (8 * size - 1)) if letter == "i" else float("-inf")


def highest(name: str) -> Any:
    """Returns the greatest value of a real dtype (inf for floats), as a Python scalar."""
    letter, size = TABLE[name]
    if letter == "b":
        return True
    if letter == "u":
        return (1 << (8 * size)) - 1
    return (1 << (8 * size - 1)) - 1 if letter == "i" else float("inf")
