"""Gaussian filters and derivatives as products of 1-d correlations, one native call per axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from cuprous import _core
from cuprous._common.arguments import normalize_axis
from cuprous._common.operands import on_array_device
from cuprous.scipy.ndimage._linear import correlated, line
from cuprous.scipy.ndimage._parameters import documented
from cuprous.scipy.ndimage._support import (
    ArrayLike,
    Mode,
    Output,
    check_axes,
    converted,
    deliver,
    edge,
    ndarray,
    per_axis,
    prepared,
    source,
    spread,
    target,
)


@lru_cache(maxsize=256)
def _kernel(sigma: float, order: int, radius: int) -> tuple[float, ...]:
    """Returns the correlation weights of the `order`-th derivative of a Gaussian that is normalized to sum 1.

    The derivative of q(x) exp(-x²/2s²) is (q' - q x/s²) times the Gaussian; the polynomial q is stored lowest power
    first.
    """
    import math

    points = range(-radius, radius + 1)
    bell = [math.exp(-0.5 / (sigma * sigma) * x * x) for x in points]
    total = math.fsum(bell)
    q = [1.0]
    for _ in range(order):
        derivative = [*(k * c for k, c in enumerate(q) if k), 0.0, 0.0]
        times_x = [0.0, *q]
        q = [d - t / (sigma * sigma) for d, t in zip(derivative, times_x, strict=True)]
    values = [b / total * math.fsum(c * x**k for k, c in enumerate(q)) for b, x in zip(bell, points, strict=True)]
    return tuple(values[::-1])


def _blurred(
    a: ndarray, sigma: float, axis: int, order: int, mode: Mode, cval: Any, truncate: float, radius: Any, name: str
) -> ndarray:
    sigma = float(sigma)
    reach = int(truncate * sigma + 0.5) if radius is None else radius
    if not hasattr(reach, "__index__") or reach < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    if order < 0:
        raise ValueError("order must be non-negative")
    reach = int(reach)
    middle = [reach if i == axis else 0 for i in range(a.ndim)]
    return correlated(a, line(_kernel(sigma, int(order), reach), axis, a.ndim), edge(mode), cval, middle, name)


@documented
def gaussian_filter1d(
    input: ArrayLike, sigma: float, axis: int = -1, order: int = 0, output: Output = None, mode: str = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: int | None = None,
) -> ndarray:  # fmt: skip
    """Filters along one axis with a Gaussian, or with its `order`-th derivative.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    sigma : float
        The standard deviation, in elements.
    order : int, default 0
        0 for the Gaussian, n for its n-th derivative.
    mode : str, default "reflect"
        The extension beyond the edges, as for `correlate1d`.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    ValueError
        For a negative order or radius.

    See Also
    --------
    scipy.ndimage.gaussian_gradient_magnitude, scipy.ndimage.gaussian_laplace, scipy.ndimage.gaussian_filter

    Examples
    --------
    >>> cp.scipy.ndimage.gaussian_filter1d(cp.asarray([0.0, 0.0, 1.0, 0.0, 0.0]), 1.0).round(6)
    array([0.058423, 0.242105, 0.398943, 0.242105, 0.058423])
    """
    a, name, out = prepared(input, output)
    axis = normalize_axis(axis, a.ndim)
    return deliver(_blurred(a, sigma, axis, order, mode, cval, truncate, radius, name), out)


def _gaussian(
    a: ndarray, sigma: Any, order: Any, mode: Mode, cval: Any, truncate: float, radius: Any, axes: Any, name: str
) -> ndarray:
    found = check_axes(axes, a.ndim)
    columns = [per_axis(v, len(found)) for v in (sigma, order, mode, radius)]
    result = None
    for axis, s, o, m, r in zip(found, *columns, strict=True):
        if s > 1e-15:
            result = _blurred(a if result is None else result, s, axis, o, m, cval, truncate, r, name)
    return _core.cast(a, name) if result is None else result


@documented
def gaussian_filter(
    input: ArrayLike, sigma: Any, order: Any = 0, output: Output = None, mode: Mode = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Filters with a Gaussian, axis by axis.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    sigma : array_like
        The standard deviation, in elements; one for all axes or one for each.
    order : int or sequence of ints, default 0
        0 for the Gaussian, n for its n-th derivative; one for all axes or one for each.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; one for
        all axes or one for each.
    axes : int or tuple of ints, optional
        The axes to filter along; None for all.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    ValueError
        For a negative order or radius.

    See Also
    --------
    scipy.ndimage.gaussian_filter1d, scipy.ndimage.gaussian_gradient_magnitude, scipy.ndimage.gaussian_laplace,
    scipy.ndimage.uniform_filter, scipy.ndimage.uniform_filter1d

    Examples
    --------
    >>> cp.scipy.ndimage.gaussian_filter(cp.asarray([0.0, 0.0, 1.0, 0.0, 0.0]), 1.0).round(6)
    array([0.058423, 0.242105, 0.398943, 0.242105, 0.058423])
    """
    a, name, out = prepared(input, output)
    return deliver(_gaussian(a, sigma, order, mode, cval, truncate, radius, axes, name), out)


def _stencils(input: ArrayLike, axis: int, output: Output, mode: Mode, cval: Any, across: tuple[float, ...]) -> ndarray:
    a, name, out = prepared(input, output)
    axis = normalize_axis(axis, a.ndim)
    modes = per_axis(mode, a.ndim)
    result = a
    for i in (axis, *(i for i in range(a.ndim) if i != axis)):
        weights = (-1.0, 0.0, 1.0) if i == axis else across
        middle = [1 if k == i else 0 for k in range(a.ndim)]
        result = correlated(result, line(weights, i, a.ndim), edge(modes[i]), cval, middle, name)
    return deliver(result, out)


@documented
def sobel(input: ArrayLike, axis: int = -1, output: Output = None, mode: Mode = "reflect", cval: Any = 0.0) -> ndarray:
    """Returns the derivative along `axis` by Sobel's stencil: (-1, 0, 1) along it, (1, 2, 1) along the other axes.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; one for
        all axes or one for each.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    See Also
    --------
    scipy.ndimage.prewitt, scipy.ndimage.gaussian_laplace, scipy.ndimage.laplace

    Examples
    --------
    >>> cp.scipy.ndimage.sobel(cp.asarray([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]))
    array([[4., 8., 4.],
           [4., 8., 4.]])
    """
    return _stencils(input, axis, output, mode, cval, (1.0, 2.0, 1.0))


@documented
def prewitt(
    input: ArrayLike, axis: int = -1, output: Output = None, mode: Mode = "reflect", cval: Any = 0.0
) -> ndarray:
    """Returns the derivative along `axis` by Prewitt's stencil: (-1, 0, 1) along it, (1, 1, 1) along the other axes.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; one for
        all axes or one for each.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    See Also
    --------
    sobel

    Examples
    --------
    >>> cp.scipy.ndimage.prewitt(cp.asarray([0.0, 1.0, 4.0, 9.0]))
    array([1., 4., 8., 5.])
    """
    return _stencils(input, axis, output, mode, cval, (1.0, 1.0, 1.0))


def _combined(
    input: ArrayLike, part: Callable[[ndarray, int, Mode, str], ndarray], output: Output, mode: Mode, axes: Any,
    magnitude: bool,
) -> ndarray:  # fmt: skip
    """Returns the sum over the axes of a derivative, or the root of the sum of squares, in the output's dtype."""
    a = source(input)
    name, out = target(a, output)
    found = check_axes(axes, a.ndim)
    modes = per_axis(mode, len(found))
    total = None
    for axis, m in zip(found, modes, strict=True):
        term = part(a, axis, m, name)
        if magnitude:
            term = term * term
        total = term if total is None else total + term
    if total is None:
        return deliver(_core.cast(a, name), out)
    return deliver(converted(_core.map("sqrt", total), name) if magnitude else total, out)


@documented
def laplace(
    input: ArrayLike, output: Output = None, mode: Mode = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> ndarray:
    """Returns the sum of the second differences (1, -2, 1) along the axes.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; one for
        all axes or one for each.
    axes : int or tuple of ints, optional
        The axes to filter along; None for all.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    See Also
    --------
    scipy.ndimage.generic_gradient_magnitude, scipy.ndimage.generic_laplace,
    scipy.ndimage.gaussian_gradient_magnitude, scipy.ndimage.sobel, scipy.ndimage.prewitt

    Examples
    --------
    >>> cp.scipy.ndimage.laplace(cp.asarray([0.0, 1.0, 4.0, 9.0]))
    array([ 1.,  2.,  2., -5.])
    """

    def second_difference(a: ndarray, axis: int, m: Mode, name: str) -> ndarray:
        middle = [1 if k == axis else 0 for k in range(a.ndim)]
        return correlated(a, line((1.0, -2.0, 1.0), axis, a.ndim), edge(m), cval, middle, name)

    return _combined(input, second_difference, output, mode, axes, False)


@documented
def gaussian_laplace(
    input: ArrayLike, sigma: Any, output: Output = None, mode: Mode = "reflect", cval: Any = 0.0, *, axes: Any = None,
    truncate: float = 4.0, radius: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the Laplacian by second derivatives of Gaussians.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    sigma : array_like
        The standard deviation, in elements; one for all axes or one for each.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; one for
        all axes or one for each.
    axes : int or tuple of ints, optional
        The axes to filter along; None for all.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    ValueError
        For a negative radius.

    See Also
    --------
    scipy.ndimage.gaussian_filter, scipy.ndimage.gaussian_filter1d, scipy.ndimage.gaussian_gradient_magnitude,
    scipy.ndimage.laplace, scipy.ndimage.sobel

    Examples
    --------
    >>> cp.scipy.ndimage.gaussian_laplace(cp.asarray([0.0, 0.0, 1.0, 0.0, 0.0]), 1.0).round(6)
    array([ 0.197428,  0.002007, -0.398943,  0.002007,  0.197428])
    """
    a = source(input)
    found = check_axes(axes, a.ndim)
    sigmas = spread(per_axis(sigma, len(found)), found, a.ndim, 0)

    def derivative(a: ndarray, axis: int, m: Mode, name: str) -> ndarray:
        orders = [2 if k == axis else 0 for k in range(a.ndim)]
        return _gaussian(a, sigmas, orders, m, cval, truncate, radius, None, name)

    return _combined(a, derivative, output, mode, found, False)


@documented
def gaussian_gradient_magnitude(
    input: ArrayLike, sigma: Any, output: Output = None, mode: Mode = "reflect", cval: Any = 0.0, *, axes: Any = None,
    truncate: float = 4.0, radius: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the gradient's magnitude by first derivatives of Gaussians.

    As in SciPy, each derivative smooths along all axes, so `sigma` and `radius` cover all of them.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    sigma : array_like
        The standard deviation, in elements; one for all axes or one for each.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; one for
        all axes or one for each.
    axes : int or tuple of ints, optional
        The axes of the derivatives; None for all.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    ValueError
        For a negative radius.

    See Also
    --------
    scipy.ndimage.gaussian_laplace, scipy.ndimage.gaussian_filter, scipy.ndimage.gaussian_filter1d,
    scipy.ndimage.laplace, scipy.ndimage.generic_gradient_magnitude

    Examples
    --------
    >>> cp.scipy.ndimage.gaussian_gradient_magnitude(cp.asarray([0.0, 0.0, 1.0, 1.0]), 1.0).round(6)
    array([0.107982, 0.363249, 0.363249, 0.107982])
    """
    a = source(input)
    sigmas = per_axis(sigma, a.ndim)

    def derivative(a: ndarray, axis: int, m: Mode, name: str) -> ndarray:
        orders = [1 if k == axis else 0 for k in range(a.ndim)]
        return _gaussian(a, sigmas, orders, m, cval, truncate, radius, None, name)

    return _combined(a, derivative, output, mode, axes, True)


def _generic(
    input: ArrayLike, function: Callable[..., Any], output: Output, mode: Mode, cval: Any, arguments: Any,
    keywords: Any, axes: Any, magnitude: bool,
) -> ndarray:  # fmt: skip
    """Computes `_combined` for a user function. As in SciPy, its first call gets the output array, the others its
    dtype."""
    a = source(input)
    name, out = target(a, output)
    found = check_axes(axes, a.ndim)
    modes = per_axis(mode, len(found))
    total = _core.empty(a.shape, name) if out is None else out
    for k, (axis, m) in enumerate(zip(found, modes, strict=True)):
        destination: Any = total.dtype if k else total
        term = function(a, axis, destination, m, cval, *arguments, **(keywords or {}))
        term = term if k else total
        term = term * term if magnitude else term
        _core.update(total, total + term if k else term)
    if not found:
        _core.update(total, a)
    elif magnitude:
        _core.update(total, converted(_core.map("sqrt", total), name))
    return total


@on_array_device
@documented
def generic_laplace(
    input: ArrayLike, derivative2: Callable[..., Any], output: Output = None, mode: Mode = "reflect",
    cval: Any = 0.0, extra_arguments: Any = (), extra_keywords: Any = None, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the sum of second derivatives along the axes, each computed by a function.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    derivative2 : callable
        `derivative2(input, axis, output, mode, cval, *extra_arguments, **extra_keywords)`. In the first call `output`
        is the array for the result; in the others it is the dtype of the result to return.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; one for
        all axes or one for each.
    extra_arguments : tuple, optional
        Further arguments of the function.
    extra_keywords : dict, optional
        Keyword arguments of the function.
    axes : int or tuple of ints, optional
        The axes to filter along; None for all.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    See Also
    --------
    scipy.ndimage.gaussian_gradient_magnitude, scipy.ndimage.laplace, scipy.ndimage.generic_gradient_magnitude

    Examples
    --------
    >>> def second(a, axis, output, mode, cval):
    ...     return cp.scipy.ndimage.correlate1d(a, [1, -2, 1], axis, output, mode, cval)
    >>> cp.scipy.ndimage.generic_laplace(cp.asarray([0.0, 1.0, 4.0, 9.0]), second)
    array([ 1.,  2.,  2., -5.])
    """
    return _generic(input, derivative2, output, mode, cval, extra_arguments, extra_keywords, axes, False)


@on_array_device
@documented
def generic_gradient_magnitude(
    input: ArrayLike, derivative: Callable[..., Any], output: Output = None, mode: Mode = "reflect",
    cval: Any = 0.0, extra_arguments: Any = (), extra_keywords: Any = None, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the gradient's magnitude of components that a function computes.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    derivative : callable
        `derivative(input, axis, output, mode, cval, *extra_arguments, **extra_keywords)`, as for `generic_laplace`.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; one for
        all axes or one for each.
    extra_arguments : tuple, optional
        Further arguments of the function.
    extra_keywords : dict, optional
        Keyword arguments of the function.
    axes : int or tuple of ints, optional
        The axes to filter along; None for all.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    See Also
    --------
    scipy.ndimage.generic_laplace, scipy.ndimage.gaussian_gradient_magnitude, scipy.ndimage.laplace

    Examples
    --------
    >>> image = cp.asarray([[0.0, 1.0], [2.0, 3.0]])
    >>> cp.scipy.ndimage.generic_gradient_magnitude(image, cp.scipy.ndimage.prewitt).round(6)
    array([[6.708204, 6.708204],
           [6.708204, 6.708204]])
    """
    return _generic(input, derivative, output, mode, cval, extra_arguments, extra_keywords, axes, True)
