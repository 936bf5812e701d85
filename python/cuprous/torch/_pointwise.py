"""Elementwise functions under PyTorch's names, as functions, methods and in-place methods. Most map to one row of the
operation table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast
from cuprous.torch._args import astype, by_name, in_place, named, tensor_of, write_out
from cuprous.torch._indexing import nonzero
from cuprous.torch._info import finfo

#: Functions of one tensor: PyTorch's name, and the name in the operation table.
UNARY = {
    "abs": "absolute", "absolute": "absolute", "acos": "arccos", "acosh": "arccosh", "angle": "angle",
    "arccos": "arccos", "arccosh": "arccosh", "arcsin": "arcsin", "arcsinh": "arcsinh", "arctan": "arctan",
    "arctanh": "arctanh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh",
    "bitwise_not": "invert", "ceil": "ceil", "conj_physical": "conjugate", "cos": "cos", "cosh": "cosh",
    "deg2rad": "radians", "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp": "exp",
    "exp2": "exp2", "expm1": "expm1", "fix": "trunc", "floor": "floor", "frac": "modf_fraction", "i0": "i0",
    "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan", "lgamma": "gammaln", "log": "log", "log10": "log10",
    "log1p": "log1p", "log2": "log2", "logical_not": "logical_not", "neg": "negative", "negative": "negative",
    "rad2deg": "degrees", "reciprocal": "reciprocal", "rsqrt": "rsqrt", "sgn": "sign", "sigmoid": "expit",
    "sign": "sign", "signbit": "signbit", "sin": "sin", "sinc": "sinc", "sinh": "sinh", "sqrt": "sqrt",
    "square": "square", "tan": "tan", "tanh": "tanh", "trunc": "trunc",
}  # fmt: skip

#: Functions of two operands.
BINARY = {
    "arctan2": "arctan2", "atan2": "arctan2", "bitwise_and": "bitwise_and", "bitwise_left_shift": "left_shift",
    "bitwise_or": "bitwise_or", "bitwise_right_shift": "right_shift", "bitwise_xor": "bitwise_xor",
    "copysign": "copysign", "eq": "equal", "float_power": "float_power", "floor_divide": "floor_divide", "fmax": "fmax",
    "fmin": "fmin", "fmod": "fmod", "gcd": "gcd", "ge": "greater_equal", "greater": "greater",
    "greater_equal": "greater_equal", "gt": "greater", "heaviside": "heaviside", "hypot": "hypot", "lcm": "lcm",
    "le": "less_equal", "less": "less", "less_equal": "less_equal", "logaddexp": "logaddexp",
    "logaddexp2": "logaddexp2", "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "lt": "less", "maximum": "maximum", "minimum": "minimum", "mul": "multiply", "multiply": "multiply",
    "ne": "not_equal", "nextafter": "nextafter", "not_equal": "not_equal", "pow": "power", "remainder": "remainder",
    "true_divide": "divide",
}  # fmt: skip

_map = _core.t_map
_overwrite = _core.t_map_inplace


def _recorder(name: str) -> Callable[..., Tensor]:
    """Returns the native function that records rows of the operation table for a function."""
    return _core.t_map_wide if _autocast.POLICIES.get(name) == "float32 on GPUs" else _map


def _unary(name: str, row: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor], Callable[..., Tensor]]:
    record = _recorder(name)

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        return write_out(out, record(row, input))

    def method(self: Tensor) -> Tensor:
        return record(row, self)

    def in_place(self: Tensor) -> Tensor:
        _overwrite(row, self)
        return self

    return _named(name, f"Returns `{row}` of each element.", function, method, in_place)


def _binary(name: str, row: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor], Callable[..., Tensor]]:
    record = _recorder(name)

    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        return write_out(out, record(row, input, other))

    def method(self: Tensor, other: Any) -> Tensor:
        return record(row, self, other)

    def in_place(self: Tensor, other: Any) -> Tensor:
        _overwrite(row, self, other)
        return self

    if name == "pow":

        def function(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:  # type: ignore[misc]
            return write_out(out, record(row, input, exponent))

        def method(self: Tensor, exponent: Any) -> Tensor:  # type: ignore[misc]
            return record(row, self, exponent)

    return _named(name, f"Returns `{row}` of the elements of two operands.", function, method, in_place)


def _named(name: str, doc: str, *functions: Callable[..., Any]) -> Any:
    return [named(f, full, doc) for f, full in zip(functions, (name, name, name + "_"), strict=True)]


#: Functions by name, and methods by name.
FUNCTIONS: dict[str, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
for _name, _row in UNARY.items():
    FUNCTIONS[_name], METHODS[_name], METHODS[_name + "_"] = _unary(_name, _row)
for _name, _row in BINARY.items():
    FUNCTIONS[_name], METHODS[_name], METHODS[_name + "_"] = _binary(_name, _row)


def _rounded_once(formula: Callable[..., Tensor], *operands: Any) -> Tensor:
    """Evaluates a formula of several steps. Half precision is computed in float32 and rounded once at the end, as in
    PyTorch."""
    dtype = _core.t_result_type(*operands)
    if dtype not in ("float16", "bfloat16"):
        return formula(*operands)
    wide = formula(*(_core.t_cast(t, "float32") if isinstance(t, Tensor) and t.ndim else t for t in operands))
    return astype(wide, dtype)


def _add_scaled(row: str, input: Any, other: Any, alpha: Any, out: Tensor | None) -> Tensor:
    if alpha == 1:
        return write_out(out, _map(row, input, other))
    return write_out(out, _rounded_once(lambda a, b: _map(row, a, _map("multiply", b, alpha)), input, other))


def add(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """`input + alpha * other`."""
    return _add_scaled("add", input, other, alpha, out)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """`input - alpha * other`."""
    return _add_scaled("subtract", input, other, alpha, out)


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """`other - alpha * input`."""
    return sub(other, input, alpha=alpha)


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """Returns the quotient, optionally rounded down ("floor") or toward zero ("trunc")."""
    if rounding_mode is None:
        return write_out(out, _map("divide", input, other))
    if rounding_mode == "floor":
        return write_out(out, _map("floor_divide", input, other))
    if rounding_mode != "trunc":
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    quotient = _map("trunc", _map("divide", input, other))
    return write_out(out, astype(quotient, _core.t_result_type(input, other)))


def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Returns values rounded to the nearest integer, ties to even; with `decimals`, to multiples of a power of ten."""
    if not (input.is_floating_point() or input.is_complex()):
        return write_out(out, input.clone())
    if decimals == 0:
        return write_out(out, _map("rint", input))
    scale = 10.0 ** abs(decimals)
    up, down = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    return write_out(out, _map(down, _map("rint", _map(up, input, scale)), scale))


def conj(input: Tensor) -> Tensor:
    """Returns the complex conjugate; a real tensor is returned as is."""
    return _map("conjugate", input) if input.is_complex() else input


def real(input: Tensor) -> Tensor:
    """Returns the real part as a copy; a real tensor is returned as is."""
    return _map("real", input) if input.is_complex() else input


def imag(input: Tensor) -> Tensor:
    """Returns the imaginary part as a copy.

    Raises:
        RuntimeError: for real tensors.
    """
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _map("imag", input)


def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """Returns `input` where the condition is True, otherwise `other`; given only a condition, the indices where it is
    True."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = tensor_of(input, condition)
    return write_out(out, _map("where", condition, input, other))


def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Returns each element clamped to [min, max]. The gradient is passed on where the element was within the bounds.

    Raises:
        RuntimeError: if neither bound is given.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    result = input
    if min is not None:
        result = _map("where", _map("less", result, min), min, result)
    if max is not None:
        result = _map("where", _map("greater", result, max), max, result)
    return write_out(out, result)


def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """`clamp` with a lower bound only."""
    return clamp(input, min, None, out=out)


def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """`clamp` with an upper bound only."""
    return clamp(input, None, max, out=out)


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 * tensor2`."""
    return _add_combined("multiply", input, tensor1, tensor2, value, out)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 / tensor2`."""
    return _add_combined("divide", input, tensor1, tensor2, value, out)


def _add_combined(row: str, input: Tensor, first: Tensor, second: Tensor, value: Any, out: Tensor | None) -> Tensor:
    def formula(a: Any, b: Any, c: Any) -> Tensor:
        return add(a, _map(row, b, c), alpha=value)

    return write_out(out, _rounded_once(formula, input, first, second))


def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
    """`input + weight * (end - input)`."""

    def formula(a: Any, b: Any, c: Any) -> Tensor:
        return _map("add", a, _map("multiply", _map("subtract", b, a), c))

    return write_out(out, _rounded_once(formula, input, end, weight))


def xlogy(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Returns `input * log(other)`, and 0 where the input is 0."""
    zero = _map("equal", tensor_of(input), 0)
    safe = _map("where", zero, 1, other)
    return write_out(out, _map("multiply", input, _map("log", safe)))


def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Returns `log(x / (1 - x))`, with x clamped to [eps, 1 - eps]."""
    x = input if eps is None else clamp(input, eps, 1 - eps)
    return write_out(out, _map("log", _map("divide", x, _map("subtract", 1, x))))


def nan_to_num(input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None,
               *, out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Replaces NaN and infinities by finite numbers."""
    if not input.is_floating_point():
        return write_out(out, input.clone())

    info = finfo(input.dtype)
    result = _map("where", _map("isnan", input), nan, input)
    result = _map("where", _map("equal", result, math.inf), info.max if posinf is None else posinf, result)
    return write_out(
        out, _map("where", _map("equal", result, -math.inf), info.min if neginf is None else neginf, result)
    )


@_autocast.policy
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Returns a complex tensor from absolute values and angles."""
    return _map("make_complex", _map("multiply", abs, _map("cos", angle)), _map("multiply", abs, _map("sin", angle)))


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Returns, for each element, whether |input - other| ≤ atol + rtol · |other|."""
    near = _map("less_equal", _map("absolute", input - other), _map("add", _map("absolute", other) * rtol, atol))
    near = _map("logical_or", _map("logical_and", near, _map("isfinite", other)), _map("equal", input, other))
    if equal_nan:
        near = _map("logical_or", near, _map("logical_and", _map("isnan", input), _map("isnan", other)))
    return near


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Returns True if all elements are close, as `isclose` defines it."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Returns True if the shapes and all elements are equal."""
    return input.dims == other.dims and bool(_map("equal", input, other).all())


def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns a complex tensor made from real and imaginary parts."""
    return write_out(out, _map("make_complex", real, imag))


_ALSO_IN_PLACE = by_name(
    add, sub, div, round, clamp, clamp_min, clamp_max, addcmul, addcdiv, lerp, xlogy, logit, nan_to_num
)  # fmt: skip
_BOTH = _ALSO_IN_PLACE | by_name(conj, isclose, allclose, equal)
METHODS |= _BOTH | by_name(*map(in_place, _ALSO_IN_PLACE.values()))
FUNCTIONS |= _BOTH | by_name(real, imag, where, polar, complex, rsub)
for _name in (*UNARY, *_ALSO_IN_PLACE, "gcd", "lcm"):
    FUNCTIONS[_name + "_"] = METHODS[_name + "_"]
for _alias, _of in {"subtract": "sub", "divide": "div", "clip": "clamp"}.items():
    FUNCTIONS[_alias] = METHODS[_alias] = FUNCTIONS[_of]
    METHODS[_alias + "_"] = METHODS[_of + "_"]
