"""Comparisons of whole arrays and questions about kinds of values."""

from __future__ import annotations

from typing import Any

import cuprous
from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, array, ndarray, operand, target
from cuprous._common.operands import is_scalar
from cuprous._functions.complex_parts import imag
from cuprous._functions.reductions import all as all_


def isclose(a: ArrayLike, b: ArrayLike, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> ndarray:
    """Where |a - b| <= atol + rtol |b|; equal infinities are close, NaN only on request."""
    a, b, rtol, atol = map(operand, (a, b, rtol, atol))
    if not isinstance(a, ndarray) and not isinstance(b, ndarray):
        b = array(b)
    # Python's numbers stay weak: beside float32 all is computed in float32.
    if isinstance(b, int):
        b = float(b)
    elif not isinstance(b, (float, complex)):
        b = array(b)
        b = _core.cast(b, "float64") if dtypes.kind(b.dtype_name) in "biu" else b
    near = _core.map("less_equal", _core.map("absolute", _core.map("subtract", a, b)), atol + rtol * abs(b))
    result = (near & _core.map("isfinite", b)) | _core.map("equal", a, b)
    if equal_nan:
        result = result | (_core.map("isnan", a) & _core.map("isnan", b))
    return result


def allclose(a: ArrayLike, b: ArrayLike, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> ndarray:
    """Whether all elements are close (a 0-d array, as CuPy)."""
    return all_(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> ndarray:
    """Whether two arrays have one shape and equal elements (a 0-d array, as CuPy)."""
    a, b = array(a1), array(a2)
    if a.shape != b.shape:
        return _core.full((), False, "bool")
    same = _core.map("equal", a, b)
    if equal_nan:
        same = same | (_core.map("isnan", a) & _core.map("isnan", b))
    return all_(same)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> ndarray:
    """Whether two arrays broadcast to each other with equal elements (a 0-d array, as CuPy)."""
    try:
        return all_(_core.map("equal", array(a1), array(a2)))
    except ValueError:
        return _core.full((), False, "bool")


def isscalar(element: Any) -> bool:
    """Whether something is a Python or NumPy scalar (0-d arrays are not)."""
    return is_scalar(element) or isinstance(element, (str, bytes))


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return dtypes.kind(array(x).dtype_name) == "c"


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def iscomplex(x: ArrayLike) -> ndarray:
    """Where elements have a nonzero imaginary part."""
    x = array(x)
    if dtypes.kind(x.dtype_name) == "c":
        return imag(x) != 0
    return _core.full(x.shape, False, "bool")


def isreal(x: ArrayLike) -> ndarray:
    """Where elements have no imaginary part."""
    x = array(x)
    if dtypes.kind(x.dtype_name) == "c":
        return imag(x) == 0
    return _core.full(x.shape, True, "bool")


def isfortran(a: ndarray) -> bool:
    """Whether an array is Fortran-contiguous and not C-contiguous; TypeError for what is no array."""
    return bool(target(a, "isfortran").is_f_contiguous and not a.is_c_contiguous)


def iterable(y: object) -> bool:
    """Whether something can be iterated over."""
    try:
        iter(y)  # type: ignore[call-overload]
    except TypeError:
        return False
    return True


def get_array_module(*args: Any) -> Any:
    """Returns `cuprous` if any argument is one of its arrays or sparse matrices, otherwise `numpy`."""
    if any(isinstance(a, ndarray) or _is_sparse(a) for a in args):
        return cuprous
    import numpy

    return numpy


def _is_sparse(a: Any) -> bool:
    return any(base.__module__.startswith("cuprous.scipy.sparse") for base in type(a).__mro__)


__all__ = [
    "allclose", "array_equal", "array_equiv", "get_array_module", "isclose", "iscomplex", "iscomplexobj",
    "isfortran", "isreal", "isrealobj", "isscalar", "iterable",
]  # fmt: skip
