"""Differences, integrals, interpolation, convolution, covariance, phases."""

from __future__ import annotations

import math
import operator
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    NO_BOOLEAN_SUBTRACT,
    ArrayLike,
    Axes,
    along,
    array,
    ndarray,
    normalize_axes,
    normalize_axis,
    result_name,
    spread,
)
from cuprous._common.casting import astype, check_casting, common_dtype
from cuprous._common.indexing import gather_flat
from cuprous._common.layout import axis_order, empty_in_order
from cuprous._common.operands import is_scalar, on_array_device
from cuprous._functions.complex_parts import imag, real
from cuprous._functions.cumulative import cumsum
from cuprous._functions.elementwise import clip
from cuprous._functions.joining import concatenate
from cuprous._functions.manipulation import atleast_1d
from cuprous._functions.matrices import diagonal_view
from cuprous._functions.moments import mean
from cuprous._functions.reductions import any as any_
from cuprous._functions.reductions import sum as sum_
from cuprous._ufuncs.gufuncs import matmul


@on_array_device
def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> ndarray:
    """Returns the n-th difference of adjacent elements along an axis.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    n : int, default 1
        How often differences are taken.
    axis : int, default -1
        The axis, by default the last.
    prepend : array_like, optional
        Values to put before the array along the axis.
    append : array_like, optional
        Values to put after the array along the axis.

    Returns
    -------
    ndarray
        An array that is shorter by `n` along the axis. Differences of bool are "not equal".

    Raises
    ------
    ValueError
        For a negative `n`, or a 0-d array.

    See Also
    --------
    gradient, ediff1d, cumsum

    Examples
    --------
    >>> cp.diff([1, 4, 9, 16])
    array([3, 5, 7])
    >>> cp.diff([1, 4, 9, 16], n=2)
    array([2, 2])
    """
    if n == 0:
        return a
    a = array(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis(axis, a.ndim)
    parts = [array(value) for value in (prepend, a, append) if value is not None]
    if len(parts) > 1:
        single = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
        a = concatenate([part if part.ndim else _core.broadcast_to(part, single) for part in parts], axis)
    later, earlier = along(axis, 1), along(axis, None, -1)
    op = "not_equal" if a.dtype_name == "bool" else "subtract"
    for _ in range(n):
        a = _core.map(op, a[later], a[earlier])
    return a


@on_array_device
def ediff1d(ary: ArrayLike, to_end: ArrayLike = None, to_begin: ArrayLike = None) -> ndarray:
    """Returns the differences of adjacent elements of the flattened array.

    Parameters
    ----------
    ary : array_like
        An array or array-like.
    to_end : array_like, optional
        Values to put after the differences.
    to_begin : array_like, optional
        Values to put before the differences.

    Returns
    -------
    ndarray
        A 1-d array.

    Raises
    ------
    TypeError
        For values that do not cast to the array's dtype.

    See Also
    --------
    diff, gradient

    Examples
    --------
    >>> cp.ediff1d([1, 4, 9], to_begin=0)
    array([0, 3, 5])
    """
    flat = array(ary).reshape(-1)
    steps = flat[1:] - flat[:-1]

    def edge(values: ArrayLike, what: str) -> ndarray:
        values = array(values).reshape(-1)
        if not _core.can_cast(values.dtype_name, flat.dtype_name, "same_kind"):
            raise TypeError(f"dtype of `{what}` must be compatible with input `ary` under the `same_kind` rule.")
        return astype(values, flat.dtype_name)

    parts = [] if to_begin is None else [edge(to_begin, "to_begin")]
    parts.append(steps)
    if to_end is not None:
        parts.append(edge(to_end, "to_end"))
    return steps if len(parts) == 1 else concatenate(parts)


def gradient(f: ArrayLike, *varargs: Any, axis: Axes = None, edge_order: int = 1) -> Any:
    """Returns central differences along axes, and one-sided differences at the edges.

    Parameters
    ----------
    f : array_like
        An array or array-like.
    *varargs : scalar or array_like
        The spacings: one number for all axes, or a number or 1-d coordinates for each axis.
    axis : int or tuple of ints, optional
        The axis or axes; None (the default) takes all.
    edge_order : int, default 1
        The order of accuracy at the edges, 1 or 2.

    Returns
    -------
    ndarray
        An array of the shape of `f`, or a tuple with one for each axis.

    Raises
    ------
    ValueError
        For an `edge_order` over 2, or an axis with too few elements.
    TypeError
        If the number of spacings is not the number of axes.

    See Also
    --------
    diff

    Examples
    --------
    >>> cp.gradient([1.0, 4.0, 9.0, 16.0])
    array([3., 4., 6., 7.])
    >>> cp.gradient([1.0, 4.0, 9.0, 16.0], 0.5)
    array([ 6.,  8., 12., 14.])
    """
    f = array(f)
    axes = normalize_axes(axis, f.ndim)
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    if not varargs:
        spacings: list[Any] = [1.0] * len(axes)
    elif len(varargs) == 1 and (is_scalar(varargs[0]) or getattr(varargs[0], "ndim", 1) == 0):
        spacings = [varargs[0]] * len(axes)
    elif len(varargs) == len(axes):
        spacings = list(varargs)
    else:
        raise TypeError("invalid number of arguments")
    results = [_derivative(f, i, h, edge_order) for i, h in zip(axes, spacings, strict=True)]
    return results[0] if len(results) == 1 else tuple(results)


@on_array_device
def _derivative(f: ndarray, axis: int, spacing: Any, edge_order: int) -> ndarray:
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    if f.dtype_name == "bool":
        raise TypeError(NO_BOOLEAN_SUBTRACT)
    f = astype(f, dtypes.inexact(f.dtype_name))

    def at(start: int | None, stop: int | None) -> ndarray:
        return f[along(axis, start, stop)]

    steps: Any = spacing
    uniform = is_scalar(spacing) or getattr(spacing, "ndim", 1) == 0
    if not uniform:
        x = array(spacing)
        if x.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if x.size != n:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        steps = spread(diff(astype(x, dtypes.inexact(x.dtype_name))), axis, f.ndim)
    result = empty_in_order(f.shape, f.dtype_name, axis_order(f, "K"))

    def put(start: int | None, stop: int | None, value: ndarray) -> None:
        _core.update(result[along(axis, start, stop)], value)

    def step(i: int, j: int | None) -> Any:
        return steps if uniform else steps[along(axis, i, j)]

    if n > 2:
        if uniform:
            put(1, -1, (at(2, None) - at(None, -2)) / (2.0 * spacing))
        else:
            h, k = step(0, -1), step(1, None)
            put(1, -1, -k / (h * (h + k)) * at(None, -2) + (k - h) / (h * k) * at(1, -1)
                + h / (k * (h + k)) * at(2, None))  # fmt: skip
    if edge_order == 1:
        put(0, 1, (at(1, 2) - at(0, 1)) / step(0, 1))
        put(-1, None, (at(-1, None) - at(-2, -1)) / step(-1, None))
        return result
    h, k = (spacing, spacing) if uniform else (step(0, 1), step(1, 2))
    put(0, 1, -(2.0 * h + k) / (h * (h + k)) * at(0, 1) + (h + k) / (h * k) * at(1, 2) - h / (k * (h + k)) * at(2, 3))
    h, k = (spacing, spacing) if uniform else (step(-2, -1), step(-1, None))
    put(-1, None, k / (h * (k + h)) * at(-3, -2) - (k + h) / (h * k) * at(-2, -1)
        + (2.0 * k + h) / (k * (h + k)) * at(-1, None))  # fmt: skip
    return result


def trapezoid(y: ArrayLike, x: ArrayLike = None, dx: Any = 1.0, axis: int = -1) -> ndarray:
    """Returns the integral along an axis by the trapezoidal rule.

    Parameters
    ----------
    y : array_like
        The values, an array-like.
    x : array_like, optional
        The coordinates, 1-d or of the shape of `y`.
    dx : float, default 1.0
        The spacing where there are no coordinates.
    axis : int, default -1
        The axis, by default the last.

    Returns
    -------
    ndarray
        An array without the axis.

    See Also
    --------
    sum, cumsum

    Examples
    --------
    >>> cp.trapezoid([1, 2, 3])
    array(4.)
    >>> cp.trapezoid([1, 2, 3], x=[0, 2, 4])
    array(8.)
    """
    y = array(y)
    axis = normalize_axis(axis, y.ndim)
    width: Any = dx
    if x is not None:
        x = array(x)
        width = spread(diff(x), axis, y.ndim) if x.ndim == 1 else diff(x, axis=axis)
    pairs = y[along(axis, 1)] + y[along(axis, None, -1)]
    return sum_(width * pairs / 2.0, axis)


def interp(
    x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: Any = None, right: Any = None, period: float | None = None
) -> ndarray:
    """Returns the values of a piecewise linear function through points.

    Parameters
    ----------
    x : array_like
        Where to evaluate, an array-like of any shape.
    xp : array_like
        The coordinates of the points, 1-d and increasing.
    fp : array_like
        The values at the points, real or complex.
    left : scalar, optional
        The value below the first point; by default that of the first point.
    right : scalar, optional
        The value above the last point; by default that of the last point.
    period : float, optional
        The period of the coordinates. The points need not be sorted then.

    Returns
    -------
    ndarray
        An array of the shape of `x`.

    Raises
    ------
    ValueError
        If xp and fp differ in length or are empty.

    See Also
    --------
    searchsorted, digitize

    Examples
    --------
    >>> cp.interp([0.5, 1.5, 9.0], [0, 1, 2], [0, 10, 40])
    array([ 5., 25., 40.])
    """
    x, xp, fp = array(x), astype(array(xp), "float64"), array(fp)
    check_casting(x.dtype_name, "float64", "safe", "array data")
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError(
            "Data points must be 1-D sequences" if period is not None else "object too deep for desired array"
        )
    if xp.size != fp.size:
        raise ValueError("fp and xp are not of the same length.")
    if xp.size == 0:
        raise ValueError("array of sample points is empty")
    fp = astype(fp, "complex128" if dtypes.kind(fp.dtype_name) == "c" else "float64")
    x = astype(x, "float64")
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period = abs(period)
        x, xp = x % period, xp % period
        order = _core.argsort(xp)
        xp, fp = gather_flat(xp, order), gather_flat(fp, order)
        xp = concatenate((xp[-1:] - period, xp, xp[:1] + period))
        fp = concatenate((fp[-1:], fp, fp[:1]))
        left = right = None
    n = xp.size
    low = fp[:1].reshape(()) if left is None else left
    high = fp[n - 1 :].reshape(()) if right is None else right
    if n == 1:
        result = _core.map("where", x < xp[0], low, _core.map("where", x > xp[0], high, fp[0]))
        return _core.map("where", _core.map("isnan", x), x, result)
    i = _core.map("minimum", _core.map("maximum", _core.searchsorted(xp, x, True) - 1, 0), n - 2)
    x0, f0 = gather_flat(xp, i), gather_flat(fp, i)
    x1, f1 = gather_flat(xp, i + 1), gather_flat(fp, i + 1)
    if dtypes.kind(fp.dtype_name) == "c":
        lines = [_between(x, x0, x1, part(f0), part(f1)) for part in (real, imag)]
        line = _core.map("make_complex", *lines)
    else:
        line = _between(x, x0, x1, f0, f1)
    inner = _core.map("where", x == xp[n - 1], fp[n - 1], _core.map("where", x == x0, f0, line))
    result = _core.map("where", x < xp[0], low, _core.map("where", x > xp[n - 1], high, inner))
    return _core.map("where", _core.map("isnan", x), x, result)


def _between(x: ndarray, x0: ndarray, x1: ndarray, f0: ndarray, f1: ndarray) -> ndarray:
    """Returns the values at `x` of lines from (x0, f0) to (x1, f1). Starts from the right end where the left end gives
    NaN, as NumPy does."""
    slope = (f1 - f0) / (x1 - x0)
    line = slope * (x - x0) + f0
    line = _core.map("where", _core.map("isnan", line), slope * (x - x1) + f1, line)
    return _core.map("where", _core.map("isnan", line) & (f0 == f1), f0, line)


# --- convolution

#: The dtype in which each other dtype is convolved. Small integers use int32, whose low bits equal those of the exact
#: result.
_WIDE = {"float16": "float32", "bfloat16": "float32", "int64": "int64", "uint64": "int64"}
#: The number of elements of a matrix of windows.
_WINDOWS = 1 << 20


def _windows(a: ndarray, length: int) -> ndarray:
    """Returns the overlapping windows of a 1-d array as rows of a view."""
    stride = a.element_strides[0]
    return _core.as_strided(a, (a.size - length + 1, length), (stride, stride), 0)


_MODES = ("valid", "same", "full")


def _mode(mode: Any) -> str:
    """Returns the name of a mode. NumPy also accepts a number."""
    if mode in _MODES:
        return str(mode)
    if isinstance(mode, str):
        raise ValueError(f"mode must be one of 'full', 'same', or 'valid' (got '{mode}')")
    if isinstance(mode, bool) or not hasattr(mode, "__index__"):
        raise TypeError("convolve/correlate mode not understood")
    if not 0 <= operator.index(mode) < len(_MODES):
        raise ValueError("integer convolve/correlate mode must be 0, 1, or 2")
    return _MODES[operator.index(mode)]


def _slide(a: ndarray, v: ndarray, mode: Any) -> ndarray:
    """Returns the sums of a[i + j] v[j] over j, for the indices i that `mode` selects."""
    mode = _mode(mode)
    name = common_dtype((a, v))
    if dtypes.kind(name) == "c":
        part = dtypes.component(name)
        (x, y), (p, q) = ((astype(real(z), part), astype(imag(z), part)) for z in (a, v))
        parts = (_direct(x, p, mode) - _direct(y, q, mode), _direct(x, q, mode) + _direct(y, p, mode))
        return _core.map("make_complex", *parts)
    wide = name if name in ("float32", "float64") else _WIDE.get(name, "int32")
    sums = _direct(astype(a, wide), astype(v, wide), mode)
    return astype(sums != 0 if name == "bool" else sums, name)


def _direct(a: ndarray, v: ndarray, mode: str) -> ndarray:
    """As `_slide`, for a dtype whose correlation the engine supports. Needs no memory besides the result."""
    n, m = a.size, v.size
    if mode == "same":
        return _core.correlate(a, v, "constant", 0.0, [m // 2])
    if mode == "full":
        return _core.correlate(a, v, "constant", 0.0, [m - 1], [n + m - 1])
    count = n - m + 1
    if 4 * count >= n:
        return _core.correlate(a, v, "constant", 0.0, [0], [count])
    # A few long sums: multiplies by matrices of windows, in blocks of columns that fit into the cache.
    step = max(1, _WINDOWS // count)
    total: Any = None
    for start in range(0, m, step):
        stop = min(start + step, m)
        part = matmul(_windows(a[start : stop + count - 1], stop - start), v[start:stop])
        total = part if total is None else total + part
    return total


def _check_vectors(a: ndarray, v: ndarray, first: str, second: str) -> None:
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError("object too deep for desired array")
    if a.ndim == 0 or v.ndim == 0:
        raise ValueError("object of too small depth for desired array")
    if a.size == 0:
        raise ValueError(f"{first} cannot be empty")
    if v.size == 0:
        raise ValueError(f"{second} cannot be empty")


def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> ndarray:
    """Returns the discrete convolution of two 1-d arrays.

    Parameters
    ----------
    a : array_like
        A 1-d array-like of N elements.
    v : array_like
        A 1-d array-like of M elements.
    mode : str, default "full"
        "full" for N + M - 1 elements, "same" for max(N, M), "valid" for those without an edge, max(N, M) - min(N, M) +
        1.

    Returns
    -------
    ndarray
        A 1-d array of the dtype that both promote to.

    Raises
    ------
    ValueError
        For empty arrays, arrays that are not 1-d, or another mode.

    See Also
    --------
    scipy.signal.fftconvolve, scipy.linalg.toeplitz, polymul

    Examples
    --------
    >>> cp.convolve([1, 2, 3], [0, 1, 2])
    array([0, 1, 4, 7, 6])
    >>> cp.convolve([1, 2, 3], [0, 1, 2], "same")
    array([1, 4, 7])
    """
    a, v = atleast_1d(a, v)
    _check_vectors(a, v, "a", "v")
    if v.size > a.size:
        a, v = v, a
    return _slide(a, v[::-1], mode)


def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> ndarray:
    """Returns the cross-correlation of two 1-d arrays, the second one conjugated.

    Parameters
    ----------
    a : array_like
        A 1-d array-like of N elements.
    v : array_like
        A 1-d array-like of M elements.
    mode : str, default "valid"
        "full" for N + M - 1 elements, "same" for max(N, M), "valid" for those without an edge, max(N, M) - min(N, M) +
        1.

    Returns
    -------
    ndarray
        A 1-d array of the dtype that both promote to.

    Raises
    ------
    ValueError
        For empty arrays, arrays that are not 1-d, or another mode.

    See Also
    --------
    convolve, scipy.signal.correlate

    Examples
    --------
    >>> cp.correlate([1, 2, 3], [0, 1, 2], "full")
    array([2, 5, 8, 3, 0])
    """
    a, v = array(a), array(v)
    _check_vectors(a, v, "first array argument", "second array argument")
    if dtypes.kind(v.dtype_name) == "c":
        v = _core.map("conjugate", v)
    if v.size > a.size:
        return _slide(v, a, mode)[::-1].copy()
    return _slide(a, v, mode)


# --- covariance


def cov(
    m: ArrayLike, y: ArrayLike = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
    fweights: ArrayLike = None, aweights: ArrayLike = None, *, dtype: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the covariance matrix of variables in rows (or columns), with optional weights of observations.

    Parameters
    ----------
    m : array_like
        Variables and observations, an array with at most two axes.
    y : array_like, optional
        Further variables, of the same form.
    rowvar : bool, default True
        Whether rows are variables, otherwise columns are.
    bias : bool, default False
        Whether to divide by N instead of N - 1, where N is the number of observations.
    ddof : int, optional
        Divides by N - ddof; overrides `bias`.
    fweights : array_like, optional
        How often each observation occurs, a 1-d array of integers.
    aweights : array_like, optional
        The weight of each observation, a 1-d array.
    dtype : dtype, optional
        The dtype of the result, at least float64 by default.

    Returns
    -------
    ndarray
        A square matrix with a row for each variable.

    Raises
    ------
    ValueError
        For more than two axes, a `ddof` that is not an integer, or negative weights.
    RuntimeError
        If the shape of the weights does not fit.
    TypeError
        For `fweights` that are not integers.

    See Also
    --------
    corrcoef

    Examples
    --------
    >>> cp.cov([[0, 1, 2], [2, 1, 0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    m = array(m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = m.reshape((1, -1)) if m.ndim < 2 else m if rowvar else m.T
    if y is not None:
        y = array(y)
        if y.ndim > 2:
            raise ValueError("y has more than 2 dimensions")
        x = concatenate((x, y.reshape((1, -1)) if y.ndim < 2 else y if rowvar else y.T), 0)
    x = astype(x, _core.promote_types(x.dtype_name, "float64") if dtype is None else dtypes.name_of(dtype))
    check_casting("float64", x.dtype_name, "same_kind", "ufunc 'subtract' output")
    if ddof is None:
        ddof = 0 if bias else 1
    w: Any = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        part = astype(array(given), "float64")
        if name == "fweights" and bool(any_(part != _core.map("rint", part))):
            raise TypeError("fweights must be integer")
        if part.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if part.size != x.shape[1]:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if bool(any_(part < 0)):
            raise ValueError(f"{name} cannot be negative")
        w = part if w is None else w * part
    if w is None:
        average = mean(x, 1, keepdims=True)
        factor: Any = x.shape[1] - ddof
    else:
        total = sum_(w)
        average = sum_(x * w, 1, keepdims=True) / total
        factor = total - ddof * sum_(w * array(aweights)) / total if aweights is not None and ddof else total - ddof
    centered = x - average
    weighted = centered if w is None else centered * w
    right = _core.map("conjugate", weighted).T if dtypes.kind(x.dtype_name) == "c" else weighted.T
    if not isinstance(factor, ndarray):
        factor = max(factor, 0)
    result = matmul(centered, right) / factor
    return result.reshape(()) if result.shape == (1, 1) else result


def corrcoef(x: ArrayLike, y: ArrayLike = None, rowvar: bool = True, *, dtype: Any = None) -> ndarray:
    """Returns the matrix of Pearson's correlation coefficients.

    Parameters
    ----------
    x : array_like
        Variables and observations, an array with at most two axes.
    y : array_like, optional
        Further variables, of the same form.
    rowvar : bool, default True
        Whether rows are variables, otherwise columns are.
    dtype : dtype, optional
        The dtype of the result, at least float64 by default.

    Returns
    -------
    ndarray
        A square matrix with a row for each variable.

    See Also
    --------
    cov

    Examples
    --------
    >>> cp.corrcoef([[1, 2, 3], [3, 2, 1]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = _core.map("sqrt", real(diagonal_view(c)))
    result = c / deviation.reshape((-1, 1)) / deviation
    parts = (real(result), imag(result)) if dtypes.kind(result.dtype_name) == "c" else (result,)
    for part in parts:
        _core.update(part, clip(part, -1, 1))
    return result


def unwrap(p: ArrayLike, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi) -> ndarray:
    """Returns phases without jumps of more than half a period along an axis.

    Parameters
    ----------
    p : array_like
        The phases, an array-like.
    discont : float, optional
        The least jump to remove; values below half the period (the default) count as this.
    axis : int, default -1
        The axis, by default the last.
    period : float, optional
        The period.

    Returns
    -------
    ndarray
        An array of the shape of `p`.

    See Also
    --------
    rad2deg, deg2rad

    Examples
    --------
    >>> cp.unwrap([0.0, 3.0, 6.0, 2.0], period=6.0)
    array([0., 3., 6., 8.])
    """
    p = array(p)
    i = normalize_axis(axis, p.ndim)
    steps = diff(p, axis=i)
    name = result_name(steps, period)
    if discont is None:
        discont = period / 2
    high, ambiguous = (period // 2, period % 2 == 0) if dtypes.kind(name) in "iu" else (period / 2, True)
    low = -high
    wrapped = _core.map("remainder", steps - low, period) + low
    if ambiguous:
        wrapped = _core.map("where", _core.map("logical_and", wrapped == low, steps > 0), high, wrapped)
    correction = wrapped - steps
    zero = _core.full((), 0, correction.dtype_name, like=correction)
    correction = _core.map("where", _core.map("absolute", steps) < discont, zero, correction)
    result = astype(p, name).copy("K")
    tail = result[along(i, 1)]
    _core.update(tail, tail + cumsum(correction, axis=i))
    return result


__all__ = ["convolve", "corrcoef", "correlate", "cov", "diff", "ediff1d", "gradient", "interp", "trapezoid", "unwrap"]
