"""PyCUDA's `cumath`: functions of the elements of a `GPUArray`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cuprous
from cuprous.pycuda._gpuarray import GPUArray, into, raw, wrap

#: PyCUDA's name -> NumPy's.
_UNARY = {
    "fabs": "absolute", "ceil": "ceil", "floor": "floor", "exp": "exp", "log": "log", "log10": "log10", "sqrt": "sqrt",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh",
}  # fmt: skip


def _unary(name: str, ours: str) -> Callable[..., GPUArray]:
    def function(array: GPUArray, stream_or_out: Any = None, *, out: Any = None, stream: Any = None) -> GPUArray:
        output = stream_or_out if isinstance(stream_or_out, GPUArray) else out
        return into(output, getattr(cuprous, ours)(raw(array)), array.allocator)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's `{ours}` of each element, into `out` if it is given."
    return function


for _name, _ours in _UNARY.items():
    globals()[_name] = _unary(_name, _ours)


def fmod(arg: GPUArray, mod: GPUArray, stream: Any = None) -> GPUArray:
    """What is left of a division, with the sign of `arg`."""
    return wrap(cuprous.fmod(raw(arg), raw(mod)), arg.allocator)


def atan2(y: GPUArray, x: GPUArray, stream: Any = None) -> GPUArray:
    """The angle of a point."""
    return wrap(cuprous.arctan2(raw(y), raw(x)), y.allocator)


def frexp(arg: GPUArray, stream: Any = None) -> tuple[GPUArray, GPUArray]:
    """Significand and exponent, both of the array's dtype."""
    significand, exponent = cuprous.frexp(raw(arg))
    return wrap(significand, arg.allocator), wrap(raw(exponent).astype(arg.dtype), arg.allocator)


def ldexp(significand: GPUArray, exponent: GPUArray, stream: Any = None) -> GPUArray:
    """`significand * 2**exponent`."""
    return wrap(cuprous.ldexp(raw(significand), raw(exponent).astype("int32")), significand.allocator)


def modf(arg: GPUArray, stream: Any = None) -> tuple[GPUArray, GPUArray]:
    """Fraction and whole part."""
    fraction, whole = cuprous.modf(raw(arg))
    return wrap(fraction, arg.allocator), wrap(whole, arg.allocator)


__all__ = [*_UNARY, "atan2", "fmod", "frexp", "ldexp", "modf"]
