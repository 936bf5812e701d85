"""Reductions of exponentials along axes, without overflow."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.arguments import array, broadcast_shapes, normalize_axes
from cuprous.scipy.special._function import floats, ndarray

_map = _core.map


def _greatest(a: ndarray, axes: tuple[int, ...]) -> ndarray:
    """Returns maxima along axes (kept); 0 where they are not finite, so that subtracting them gives no NaN."""
    greatest = _core.reduce("max", a, axes, True)
    return _map("where", _map("isfinite", greatest), greatest, 0.0)


def _half(*operands: Any) -> bool:
    """Returns true if all operands with a dtype are float16, in which case SciPy's result is float16 too."""
    names = [x.dtype_name for x in operands if isinstance(x, ndarray)]
    return bool(names) and all(name == "float16" for name in names)


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> ndarray | tuple[ndarray, ndarray]:
    """Computes log(sum(b * exp(a))) along axes, without overflow.

    Parameters
    ----------
    a : array_like
        A real array.
    axis : int or tuple of ints, optional
        The axis or axes; None for all.
    b : array_like, optional
        Weights that broadcast with `a`; elements of weight zero are ignored, whatever the value of `a`.
    keepdims : bool, default False
        Whether to keep the axes with extent one.
    return_sign : bool, default False
        Whether to return also the sign of the sum, and the logarithm of its absolute value; otherwise the logarithm of
        a negative sum is NaN.

    Returns
    -------
    ndarray or pair of ndarrays
        An array without the axes, or a pair of it and the signs.

    Raises
    ------
    TypeError
        For complex numbers.
    numpy.exceptions.AxisError
        For axes that do not exist.

    See Also
    --------
    scipy.special.softmax, scipy.special.log_softmax

    Examples
    --------
    >>> cp.special.logsumexp([1000.0, 1000.0])
    array(1000.69314718)
    """
    half = _half(array(a), b)
    a = floats(a)
    weights = None
    if b is not None:
        weights = floats(b)
        shape = broadcast_shapes(a.shape, weights.shape)
        a, weights = _core.broadcast_to(a, shape), _core.broadcast_to(weights, shape)
        a = _map("where", weights == 0, float("-inf"), a)
    axes = normalize_axes(axis, a.ndim)
    if a.size == 0 and any(a.shape[i] == 0 for i in axes):
        total = _core.reduce("sum", a, axes, keepdims)
        logarithm, sign = _map("log", total), total
    else:
        shift = _greatest(a, axes)
        terms = _map("exp", a - shift)
        total = _core.reduce("sum", terms if weights is None else terms * weights, axes, True)
        sign = _map("sign", total)
        logarithm = _map("log", _map("absolute", total) if return_sign else total) + shift
        if not keepdims:
            left = [n for i, n in enumerate(total.shape) if i not in axes]
            logarithm, sign = logarithm.reshape(left), sign.reshape(left)
    if half:
        logarithm, sign = _core.cast(logarithm, "float16"), _core.cast(sign, "float16")
    return (logarithm, sign) if return_sign else logarithm


def softmax(x: Any, axis: Any = None) -> ndarray:
    """Computes exp(x) / sum(exp(x)) along axes (None for all).

    Parameters
    ----------
    x : array_like
        An array of real numbers.
    axis : int or tuple of ints, optional
        The axis or axes; None (the default) takes all.

    Returns
    -------
    ndarray
        An array of the shape of `x`, which sums to one.

    See Also
    --------
    scipy.special.log_softmax, scipy.special.logsumexp

    Examples
    --------
    >>> cp.special.softmax([0.0, 1.0])
    array([0.26894142, 0.73105858])
    """
    half = _half(x := array(x))
    x = floats(x)
    axes = normalize_axes(axis, x.ndim)
    if x.size == 0:
        return _core.cast(x, "float16") if half else x.copy()
    terms = _map("exp", x - _core.reduce("max", x, axes, True))
    value = terms / _core.reduce("sum", terms, axes, True)
    return _core.cast(value, "float16") if half else value


def log_softmax(x: Any, axis: Any = None) -> ndarray:
    """Computes log(softmax(x)) along axes (None for all), accurately even where the softmax underflows.

    Parameters
    ----------
    x : array_like
        An array of real numbers.
    axis : int or tuple of ints, optional
        The axis or axes; None (the default) takes all.

    Returns
    -------
    ndarray
        An array of the shape of `x`.

    See Also
    --------
    scipy.special.logsumexp, scipy.special.softmax

    Examples
    --------
    >>> cp.special.log_softmax([0.0, 1.0])
    array([-1.31326169, -0.31326169])
    """
    half = _half(x := array(x))
    x = floats(x)
    axes = normalize_axes(axis, x.ndim)
    if x.size == 0:
        return _core.cast(x, "float16") if half else x.copy()
    shifted = x - _greatest(x, axes)
    value = shifted - _map("log", _core.reduce("sum", _map("exp", shifted), axes, True))
    return _core.cast(value, "float16") if half else value
