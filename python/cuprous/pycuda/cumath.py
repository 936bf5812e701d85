"""PyCUDA's `cumath`: functions of the elements of a `GPUArray`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cuprous
from cuprous.pycuda.gpuarray import GPUArray, _into, _raw, _wrap

#: PyCUDA's name -> NumPy's.
_UNARY = {
    "fabs": "absolute", "ceil": "ceil", "floor": "floor", "exp": "exp", "log": "log", "log10": "log10", "sqrt": "sqrt",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh",
}  # fmt: skip


def _unary(name: str, ours: str) -> Callable[..., GPUArray]:
    def function(array: GPUArray, stream_or_out: Any = None, *, out: Any = None, stream: Any = None) -> GPUArray:
        given = stream_or_out if isinstance(stream_or_out, GPUArray) else out
        return _into(given, getattr(cuprous, ours)(_raw(array)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's `{ours}` of each element, into `out` if it is given."
    return function


for _name, _ours in _UNARY.items():
    globals()[_name] = _unary(_name, _ours)


def fmod(arg: GPUArray, mod: GPUArray, stream: Any = None) -> GPUArray:
    """What is left of a division, with the sign of `arg`."""
    return _wrap(cuprous.fmod(_raw(arg), _raw(mod)))


def atan2(y: GPUArray, x: GPUArray, stream: Any = None) -> GPUArray:
    """The angle of a point."""
    return _wrap(cuprous.arctan2(_raw(y), _raw(x)))


def frexp(arg: GPUArray, stream: Any = None) -> tuple[GPUArray, GPUArray]:
    """Significand and exponent, both of the array's dtype."""
    significand, exponent = cuprous.frexp(_raw(arg))
    return _wrap(significand), _wrap(exponent).astype(arg.dtype)


def ldexp(significand: GPUArray, exponent: GPUArray, stream: Any = None) -> GPUArray:
    """`significand * 2**exponent`."""
    return _wrap(cuprous.ldexp(_raw(significand), _raw(exponent).astype("int32")))


def modf(arg: GPUArray, stream: Any = None) -> tuple[GPUArray, GPUArray]:
    """Fraction and whole part."""
    fraction, whole = cuprous.modf(_raw(arg))
    return _wrap(fraction), _wrap(whole)


__all__ = [*_UNARY, "atan2", "fmod", "frexp", "ldexp", "modf"]
