"""PyCUDA's `cumath`: elementwise functions of `GPUArray`s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cuprous
from cuprous._common.naming import named
from cuprous.pycuda._gpuarray import GPUArray, into, raw, wrap

#: PyCUDA's names and NumPy's.
_UNARY = {
    "fabs": "absolute", "ceil": "ceil", "floor": "floor", "exp": "exp", "log": "log", "log10": "log10", "sqrt": "sqrt",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh",
}  # fmt: skip


def _unary(name: str, ours: str) -> Callable[..., GPUArray]:
    def function(array: GPUArray, stream_or_out: Any = None, *, out: Any = None, stream: Any = None) -> GPUArray:
        output = stream_or_out if isinstance(stream_or_out, GPUArray) else out
        return into(output, getattr(cuprous, ours)(raw(array)), array.allocator)

    return named(
        function,
        name,
        f"""Applies NumPy's `{ours}` to each element.

    Parameters
    ----------
    array : GPUArray
        The elements.
    stream_or_out : GPUArray or Stream, optional
        An array to write to, or a stream, which is ignored, as all work runs in order.
    out : ndarray, optional
        The array to write to.
    stream : Stream, optional
        A stream, which is ignored.

    Returns
    -------
    GPUArray
        `out`, or a new array.

    See Also
    --------
    cuprous.{ours}

    Examples
    --------
    >>> x = np.array([0.25, 0.5])
    >>> np.allclose(cumath.{name}(gpuarray.to_gpu(x)).get(), np.{ours}(x))
    True
    """,
    )


for _name, _ours in _UNARY.items():
    globals()[_name] = _unary(_name, _ours)


def fmod(arg: GPUArray, mod: GPUArray, stream: Any = None) -> GPUArray:
    """Returns the remainder of a division, with the sign of `arg`.

    See Also
    --------
    pycuda.cumath.modf, pycuda.cumath.floor

    Examples
    --------
    >>> cumath.fmod(gpuarray.to_gpu(np.array([5.0, -5.0])), gpuarray.to_gpu(np.array([3.0, 3.0])))
    array([ 2., -2.])
    """
    return wrap(cuprous.fmod(raw(arg), raw(mod)), arg.allocator)


def atan2(y: GPUArray, x: GPUArray, stream: Any = None) -> GPUArray:
    """Returns the angle of the point (x, y).

    See Also
    --------
    pycuda.cumath.atan

    Examples
    --------
    >>> cumath.atan2(gpuarray.to_gpu(np.array([0.0, 1.0])), gpuarray.to_gpu(np.array([1.0, 0.0])))
    array([0.        , 1.57079633])
    """
    return wrap(cuprous.arctan2(raw(y), raw(x)), y.allocator)


def frexp(arg: GPUArray, stream: Any = None) -> tuple[GPUArray, GPUArray]:
    """Returns significand and exponent, both of the array's dtype.

    See Also
    --------
    pycuda.cumath.ldexp, pycuda.cumath.modf

    Examples
    --------
    >>> cumath.frexp(gpuarray.to_gpu(np.array([8.0, 3.0])))
    (array([0.5 , 0.75]), array([4., 2.]))
    """
    significand, exponent = cuprous.frexp(raw(arg))
    return wrap(significand, arg.allocator), wrap(raw(exponent).astype(arg.dtype), arg.allocator)


def ldexp(significand: GPUArray, exponent: GPUArray, stream: Any = None) -> GPUArray:
    """Computes `significand * 2**exponent`.

    See Also
    --------
    pycuda.cumath.frexp, pycuda.cumath.exp

    Examples
    --------
    >>> cumath.ldexp(gpuarray.to_gpu(np.array([0.5, 0.75])), gpuarray.to_gpu(np.array([4.0, 2.0])))
    array([8., 3.])
    """
    return wrap(cuprous.ldexp(raw(significand), raw(exponent).astype("int32")), significand.allocator)


def modf(arg: GPUArray, stream: Any = None) -> tuple[GPUArray, GPUArray]:
    """Returns the fractional and integral parts.

    See Also
    --------
    pycuda.cumath.frexp, pycuda.cumath.fmod

    Examples
    --------
    >>> cumath.modf(gpuarray.to_gpu(np.array([1.5, -2.25])))
    (array([ 0.5 , -0.25]), array([ 1., -2.]))
    """
    fraction, whole = cuprous.modf(raw(arg))
    return wrap(fraction, arg.allocator), wrap(whole, arg.allocator)


__all__ = [*_UNARY, "atan2", "fmod", "frexp", "ldexp", "modf"]
