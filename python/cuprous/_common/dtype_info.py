"""Queries about dtypes: `finfo`, `iinfo`, `isdtype`, casting and promotion. NumPy's rules, extended by bfloat16.

Dtypes that devices do not have (strings, dates, long doubles) are left to NumPy.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ndarray, target
from cuprous._common.operands import is_scalar

#: The array API standard's names for groups of dtypes, with the kind letters of `dtypes.TABLE`.
KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "c", "numeric": "iufc",
}  # fmt: skip


def _device_name(dtype: Any) -> str | None:
    """Returns the name of a dtype or of an array's dtype; None for dtypes that devices do not support."""
    if isinstance(dtype, ndarray):
        return dtype.dtype_name
    if is_scalar(dtype) and hasattr(dtype, "dtype"):  # one of NumPy's
        dtype = dtype.dtype
    try:
        return dtypes.name_of(dtype)
    except TypeError:
        return None


class finfo:
    """Limits of a floating dtype, or of a complex dtype's parts.

    Numbers (`bits`, `eps`, `max`, `min`, `smallest_normal`, …) are Python scalars, as the array API standard requires,
    so that they promote weakly. The other attributes are those of `numpy.finfo`.

    Parameters
    ----------
    dtype : dtype
        A dtype, an array or a scalar.

    Raises
    ------
    ValueError
        For other dtypes.

    See Also
    --------
    iinfo, spacing, nextafter

    Examples
    --------
    >>> cp.finfo(cp.float32).eps
    1.1920928955078125e-07
    >>> cp.finfo(cp.float64).max
    1.7976931348623157e+308
    """

    __slots__ = {"_info": "The object of NumPy or ml_dtypes.", "dtype": "The dtype that the limits belong to."}

    def __init__(self, dtype: Any) -> None:
        import numpy as np

        source = dtype.dtype if hasattr(dtype, "dtype") and not isinstance(dtype, type) else dtype
        self._info: Any
        if _device_name(source) == "bfloat16":
            import ml_dtypes

            self._info = ml_dtypes.finfo(ml_dtypes.bfloat16)
        else:
            self._info = np.finfo(source)
        self.dtype = self._info.dtype

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._info, name)
        return value.item() if type(value).__name__ in ("float16", "float32", "float64") else _plain(value)

    def __dir__(self) -> list[str]:
        return dir(self._info)

    def __eq__(self, other: object) -> bool:
        return self.dtype == other.dtype if isinstance(other, finfo) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return repr(self._info)


def _plain(value: Any) -> Any:
    return float(value) if type(value).__name__ == "bfloat16" else value


def iinfo(type: Any) -> Any:
    """Returns the limits of an integer dtype.

    Parameters
    ----------
    type : dtype
        A dtype, an array or a scalar.

    Returns
    -------
    numpy.iinfo

    Raises
    ------
    ValueError
        For other dtypes.

    See Also
    --------
    finfo

    Examples
    --------
    >>> cp.iinfo(cp.int16).max
    32767
    """
    import numpy as np

    return np.iinfo(type.dtype if isinstance(type, (ndarray, np.ndarray)) else type)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Returns true if a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype
        A NumPy dtype or scalar type.
    kind : dtype, str or tuple
        The standard's name for a group of dtypes ("bool", "signed integer", "unsigned integer", "integral", "real
        floating", "complex floating", "numeric"), a dtype, or a tuple of these.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        If `dtype` is not a dtype, or `kind` is neither a string nor a dtype.
    ValueError
        For an unknown name of a kind.

    See Also
    --------
    issubdtype

    Examples
    --------
    >>> cp.isdtype(cp.float32, "real floating")
    True
    >>> cp.isdtype(cp.int64, ("bool", "complex floating"))
    False
    """
    import numpy as np

    if not isinstance(dtype, np.dtype) and not (isinstance(dtype, type) and issubclass(dtype, np.generic)):
        raise TypeError(f"dtype argument must be a NumPy dtype, but it is a {type(dtype)}.")
    return any(_is_kind(np.dtype(dtype), k) for k in (kind if isinstance(kind, tuple) else (kind,)))


def _is_kind(dtype: Any, kind: Any) -> bool:
    import numpy as np

    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"kind argument is a string, but {kind!r} is not a known kind name.")
        name = _device_name(dtype)
        return np.isdtype(dtype, kind) if name is None else dtypes.kind(name) in KINDS[kind]
    if not isinstance(kind, np.dtype) and not (isinstance(kind, type) and issubclass(kind, np.generic)):
        raise TypeError(f"kind argument must be comprised of NumPy dtypes or strings only, but is a {type(kind)}.")
    return bool(dtype == np.dtype(kind))


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Returns true if a casting rule allows a cast.

    Parameters
    ----------
    from_ : dtype
        A dtype, or an array.
    to : dtype
        A dtype.
    casting : str, default "safe"
        The rule for casts: "no", "equiv", "safe", "same_kind" or "unsafe".

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        For None.

    See Also
    --------
    result_type

    Examples
    --------
    >>> cp.can_cast(cp.int32, cp.float64), cp.can_cast(cp.float64, cp.int32)
    (True, False)
    """
    if from_ is None or to is None:
        raise TypeError("did not understand one of the types; 'None' not accepted")
    source, target = (None if type(x) in dtypes.OF_SCALARS else _device_name(x) for x in (from_, to))
    if source is None or target is None:
        import numpy as np

        return np.can_cast(_dtype_of(from_), _dtype_of(to), casting)  # type: ignore[arg-type]
    return _core.can_cast(source, target, casting)


def promote_types(type1: Any, type2: Any) -> Any:
    """Returns the smallest `numpy.dtype` that both dtypes cast to safely.

    Parameters
    ----------
    type1 : dtype
        A dtype.
    type2 : dtype
        A dtype.

    Returns
    -------
    numpy.dtype

    Raises
    ------
    TypeError
        For None, and for dtypes without a common dtype.

    See Also
    --------
    result_type, dtype, can_cast

    Examples
    --------
    >>> cp.promote_types(cp.int32, cp.float32)
    dtype('float64')
    """
    if type1 is None or type2 is None:
        raise TypeError("did not understand one of the types; 'None' not accepted")
    first, second = _device_name(type1), _device_name(type2)
    if first is None or second is None:
        import numpy as np

        return np.promote_types(type1, type2)
    return dtypes.numpy_dtype(_core.promote_types(first, second))


def result_type(*arrays_and_dtypes: Any) -> Any:
    """Returns the `numpy.dtype` that arrays and dtypes promote to; Python scalars are weak.

    Parameters
    ----------
    *arrays_and_dtypes : array_like
        Arrays, dtypes and scalars.

    Returns
    -------
    numpy.dtype

    Raises
    ------
    ValueError
        Without arguments.

    See Also
    --------
    promote_types, can_cast

    Examples
    --------
    >>> cp.result_type(cp.ones(3, cp.float32), 2.5)
    dtype('float32')
    """
    strong = [None if type(x) in dtypes.OF_SCALARS else _device_name(_dtype_of(x)) for x in arrays_and_dtypes]
    if "bfloat16" not in strong:  # NumPy does not promote it with float16 and Python scalars
        import numpy as np

        return np.result_type(*(_dtype_of(x) for x in arrays_and_dtypes))
    name = "bfloat16"
    for other in strong:
        name = name if other is None else _core.promote_types(name, other)
    if any(type(x) is complex for x in arrays_and_dtypes) and dtypes.kind(name) != "c":
        name = "complex128" if name == "float64" else "complex64"
    return dtypes.numpy_dtype(name)


def _dtype_of(x: Any) -> Any:
    return x.dtype if isinstance(x, ndarray) else x


def min_scalar_type(a: Any) -> Any:
    """Returns the smallest dtype that holds a scalar's value. The value is copied to the host. For an array, returns
    its dtype.

    Parameters
    ----------
    a : array_like
        A scalar or an array.

    Returns
    -------
    numpy.dtype

    See Also
    --------
    result_type, promote_types, dtype, can_cast

    Examples
    --------
    >>> cp.min_scalar_type(300)
    dtype('uint16')
    """
    import numpy as np

    if isinstance(a, ndarray):
        return np.min_scalar_type(a.get()) if a.ndim == 0 else a.dtype
    return np.min_scalar_type(a)


@lru_cache
def dtypes_of(kind: Any = None) -> dict[str, Any]:
    """Returns the array API's dtypes of a kind (None: all), by name.

    Raises
    ------
    ValueError
        For an unknown kind.
    """
    letters = ""
    for word in kind if isinstance(kind, tuple) else ("bool", "numeric") if kind is None else (kind,):
        if word not in KINDS:
            raise ValueError(f"unsupported kind: {word!r}")
        letters += KINDS[word]
    return {
        name: dtypes.numpy_dtype(name)
        for name, (letter, _) in dtypes.TABLE.items()
        if letter in letters and name not in ("float16", "bfloat16")
    }


def common_type(*arrays: Any) -> Any:
    """Returns the floating or complex type that arrays promote to. Integers count as float64.

    Parameters
    ----------
    *arrays : array_like
        Arrays.

    Returns
    -------
    numpy.ndarray
        A NumPy scalar type.

    Raises
    ------
    TypeError
        For bool arrays, and for objects that are not arrays.

    See Also
    --------
    dtype, mintypecode

    Examples
    --------
    >>> cp.common_type(cp.ones(2, cp.float32), cp.ones(2, int)).__name__
    'float64'
    """
    result = "float16"
    for a in arrays:
        if target(a, "common_type").dtype_name == "bool":
            raise TypeError("can't get common type for non-numeric array")
        result = _core.promote_types(result, dtypes.inexact(a.dtype_name))
    return dtypes.numpy_dtype(result).type


__all__ = ["can_cast", "common_type", "finfo", "iinfo", "isdtype", "min_scalar_type", "promote_types", "result_type"]
