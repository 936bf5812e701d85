"""Comparisons of whole arrays and tests of the kinds of values."""

from __future__ import annotations

from typing import Any

import cuprous
from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, array, ndarray, operand, target
from cuprous._common.operands import is_scalar, on_array_device
from cuprous._functions.complex_parts import imag
from cuprous._functions.reductions import all as all_


def isclose(a: ArrayLike, b: ArrayLike, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> ndarray:
    """Returns true for each element with |a - b| <= atol + rtol |b|. Equal infinities are close.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    b : array_like
        An array or array-like.
    rtol : float, default 1e-05
        The tolerance relative to `b`.
    atol : float, default 1e-08
        The absolute tolerance.
    equal_nan : bool, default False
        Whether NaN equals NaN.

    Returns
    -------
    ndarray
        A bool array of the common shape.

    Raises
    ------
    ValueError
        For shapes that do not broadcast.

    See Also
    --------
    allclose

    Examples
    --------
    >>> cp.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1])
    array([ True, False])
    """
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
    """Returns true if all elements are close: |a - b| <= atol + rtol |b|.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    b : array_like
        An array or array-like.
    rtol : float, default 1e-05
        The tolerance relative to `b`.
    atol : float, default 1e-08
        The absolute tolerance.
    equal_nan : bool, default False
        Whether NaN equals NaN.

    Returns
    -------
    ndarray
        A 0-d bool array, as in CuPy. `bool()` waits for its value.

    Raises
    ------
    ValueError
        For shapes that do not broadcast.

    See Also
    --------
    isclose, all, any, equal

    Examples
    --------
    >>> cp.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9])
    array(True)
    """
    return all_(isclose(a, b, rtol, atol, equal_nan))


@on_array_device
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> ndarray:
    """Returns true if two arrays have the same shape and equal elements.

    Parameters
    ----------
    a1 : array_like
        An array or array-like.
    a2 : array_like
        An array or array-like.
    equal_nan : bool, default False
        Whether NaN equals NaN.

    Returns
    -------
    ndarray
        A 0-d bool array, as in CuPy. `bool()` waits for its value.

    See Also
    --------
    allclose, array_equiv

    Examples
    --------
    >>> cp.array_equal([1, 2], [1, 2])
    array(True)
    """
    a, b = array(a1), array(a2)
    if a.shape != b.shape:
        return _core.full((), False, "bool")
    same = _core.map("equal", a, b)
    if equal_nan:
        same = same | (_core.map("isnan", a) & _core.map("isnan", b))
    return all_(same)


@on_array_device
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> ndarray:
    """Returns true if two arrays broadcast to each other and have equal elements.

    Parameters
    ----------
    a1 : array_like
        An array or array-like.
    a2 : array_like
        An array or array-like.

    Returns
    -------
    ndarray
        A 0-d bool array, as in CuPy. `bool()` waits for its value.

    See Also
    --------
    array_equal

    Examples
    --------
    >>> cp.array_equiv([1, 1], [[1], [1]])
    array(True)
    """
    try:
        return all_(_core.map("equal", array(a1), array(a2)))
    except ValueError:
        return _core.full((), False, "bool")


def isscalar(element: Any) -> bool:
    """Returns true if `element` is a Python or NumPy scalar. 0-d arrays are not scalars.

    Parameters
    ----------
    element : object
        Any object.

    Returns
    -------
    bool

    See Also
    --------
    ndim

    Examples
    --------
    >>> cp.isscalar(3.0), cp.isscalar(cp.asarray(3.0))
    (True, False)
    """
    return is_scalar(element) or isinstance(element, (str, bytes))


def iscomplexobj(x: Any) -> bool:
    """Returns true if the dtype is complex.

    Parameters
    ----------
    x : array_like
        An array or array-like.

    Returns
    -------
    bool

    See Also
    --------
    isrealobj, iscomplex

    Examples
    --------
    >>> cp.iscomplexobj([1 + 1j, 1])
    True
    """
    return dtypes.kind(array(x).dtype_name) == "c"


def isrealobj(x: Any) -> bool:
    """Returns true if the dtype is not complex.

    Parameters
    ----------
    x : array_like
        An array or array-like.

    Returns
    -------
    bool

    See Also
    --------
    iscomplexobj, isreal

    Examples
    --------
    >>> cp.isrealobj([1.5, 1])
    True
    """
    return not iscomplexobj(x)


def iscomplex(x: ArrayLike) -> ndarray:
    """Returns true for each element with a nonzero imaginary part.

    Parameters
    ----------
    x : array_like
        An array or array-like.

    Returns
    -------
    ndarray
        A bool array of the shape of `x`.

    See Also
    --------
    isreal, iscomplexobj

    Examples
    --------
    >>> cp.iscomplex([1 + 1j, 1])
    array([ True, False])
    """
    x = array(x)
    if dtypes.kind(x.dtype_name) == "c":
        return imag(x) != 0
    return _core.full(x.shape, False, "bool", like=x)


def isreal(x: ArrayLike) -> ndarray:
    """Returns true for each element whose imaginary part is zero.

    Parameters
    ----------
    x : array_like
        An array or array-like.

    Returns
    -------
    ndarray
        A bool array of the shape of `x`.

    See Also
    --------
    iscomplex, isrealobj

    Examples
    --------
    >>> cp.isreal([1 + 1j, 1])
    array([False,  True])
    """
    x = array(x)
    if dtypes.kind(x.dtype_name) == "c":
        return imag(x) == 0
    return _core.full(x.shape, True, "bool", like=x)


def isfortran(a: ndarray) -> bool:
    """Returns true if an array is Fortran-contiguous and not C-contiguous.

    Parameters
    ----------
    a : ndarray
        An array.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        If `a` is not an array.

    See Also
    --------
    asfortranarray, ascontiguousarray

    Examples
    --------
    >>> cp.isfortran(cp.ones((2, 3), order="F"))
    True
    """
    return bool(target(a, "isfortran").is_f_contiguous and not a.is_c_contiguous)


def iterable(y: object) -> bool:
    """Returns true if `y` is iterable.

    Parameters
    ----------
    y : object
        Any object.

    Returns
    -------
    bool

    See Also
    --------
    isscalar

    Examples
    --------
    >>> cp.iterable([1, 2]), cp.iterable(2)
    (True, False)
    """
    try:
        iter(y)  # type: ignore[call-overload]
    except TypeError:
        return False
    return True


def get_array_module(*args: Any) -> Any:
    """Returns `cuprous` if any argument is one of its arrays or sparse matrices, otherwise `numpy`.

    Parameters
    ----------
    *args : any
        Any objects.

    Returns
    -------
    object
        The module `cuprous` or `numpy`.

    See Also
    --------
    asnumpy

    Examples
    --------
    >>> cp.get_array_module(cp.ones(2)).__name__
    'cuprous'
    >>> cp.get_array_module([1, 2]).__name__
    'numpy'
    """
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
