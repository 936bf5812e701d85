"""Comparisons of whole arrays and tests of the kinds of values."""

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
    """Returns true for each element with |a - b| <= atol + rtol |b|. Equal infinities are close. NaN equals NaN only
    with `equal_nan`."""
    a, b, rtol, atol = map(operand, (a, b, rtol, atol))
    if not isinstance(a, ndarray) and not isinstance(b, ndarray):
        b = array(b)
    # Python numbers promote weakly: with float32 arrays everything is computed in float32.
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
    """Returns true if all elements are close, as a 0-d array like CuPy."""
    return all_(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> ndarray:
    """Returns true if two arrays have the same shape and equal elements, as a 0-d array like CuPy."""
    a, b = array(a1), array(a2)
    if a.shape != b.shape:
        return _core.full((), False, "bool")
    same = _core.map("equal", a, b)
    if equal_nan:
        same = same | (_core.map("isnan", a) & _core.map("isnan", b))
    return all_(same)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> ndarray:
    """Returns true if two arrays broadcast to each other and have equal elements, as a 0-d array like CuPy."""
    try:
        return all_(_core.map("equal", array(a1), array(a2)))
    except ValueError:
        return _core.full((), False, "bool")


def isscalar(element: Any) -> bool:
    """Returns true if `element` is a Python or NumPy scalar. 0-d arrays are not scalars."""
    return is_scalar(element) or isinstance(element, (str, bytes))


def iscomplexobj(x: Any) -> bool:
    """Returns true if the dtype is complex."""
    return dtypes.kind(array(x).dtype_name) == "c"


def isrealobj(x: Any) -> bool:
    """Returns true if the dtype is not complex."""
    return not iscomplexobj(x)


def iscomplex(x: ArrayLike) -> ndarray:
    """Returns true for each element with a nonzero imaginary part."""
    x = array(x)
    if dtypes.kind(x.dtype_name) == "c":
        return imag(x) != 0
    return _core.full(x.shape, False, "bool")


def isreal(x: ArrayLike) -> ndarray:
    """Returns true for each element whose imaginary part is zero."""
    x = array(x)
    if dtypes.kind(x.dtype_name) == "c":
        return imag(x) == 0
    return _core.full(x.shape, True, "bool")


def isfortran(a: ndarray) -> bool:
    """Returns true if an array is Fortran-contiguous and not C-contiguous. Raises TypeError if `a` is not an array."""
    return bool(target(a, "isfortran").is_f_contiguous and not a.is_c_contiguous)


def iterable(y: object) -> bool:
    """Returns true if `y` is iterable."""
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
