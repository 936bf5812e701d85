"""Elementwise functions under PyTorch's names, as functions, methods and in-place methods. Most map to one row of the
operation table."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common.naming import named
from cuprous._core import Tensor
from cuprous.torch import _autocast
from cuprous.torch._args import astype, by_name, in_place, tensor_of, write_out
from cuprous.torch._arithmetic import _operand, add, addcdiv, addcmul, div, lerp, round, rsub, sub
from cuprous.torch._comparisons import allclose, clamp, clamp_max, clamp_min, equal, isclose, nan_to_num, where
from cuprous.torch._pointwise_docs import docstrings

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


def _in_floats(record: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a function that records rows of floats, to which PyTorch casts integers. Angles of half precision numbers
    have their dtype, whereas the row's are float32."""

    def recorded(row: str, input: Tensor) -> Tensor:
        x = input if input.is_floating_point() or input.is_complex() else astype(input, _core.t_default_dtype())
        result = record(row, x)
        return astype(result, x.dtype_name) if row == "angle" and not x.is_complex() else result

    return recorded


def _of_bools(record: Callable[..., Tensor], dtype: str) -> Callable[..., Tensor]:
    """Returns a function that records a row without bools, which are their own result, of another dtype if need be."""

    def recorded(row: str, input: Tensor) -> Tensor:
        if input.dtype_name != "bool":
            return record(row, input)
        return _core.t_map("logical_and", input, True) if dtype == "bool" else astype(input, dtype)

    return recorded


#: The dtype of functions of bools whose result is the bool itself.
_BOOLS = {"conj_physical": "bool", "sgn": "bool", "sign": "bool", "square": "int64"}


def _complex_sinc(x: Tensor) -> Tensor:
    zero = _map("equal", x, 0)
    scaled = _map("where", zero, 1, x * math.pi)
    return _map("where", zero, 1, _map("divide", _map("sin", scaled), scaled))


#: Functions of complex numbers whose row is for real ones.
_COMPLEX: dict[str, Callable[[Tensor], Tensor]] = {
    "rsqrt": lambda x: _map("divide", 1, _map("sqrt", x)),
    "sigmoid": lambda x: _map("divide", 1, 1 + _map("exp", -x)),
    "sinc": _complex_sinc,
}


def _sgn(record: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a function that records signs: 0 of NaN, and of a complex number the one of length 1 in its direction."""

    def recorded(row: str, input: Tensor) -> Tensor:
        if input.is_complex():
            size = _map("absolute", input)
            return _map("where", _map("equal", size, 0), 0, _map("divide", input, size))
        sign = record(row, input)
        return _map("where", _map("isnan", input), 0, sign) if input.is_floating_point() else sign

    return recorded


def _frac(_: str, input: Tensor) -> Tensor:
    """Returns fractions: NaN of infinite numbers, unlike NumPy's `modf`."""
    return _map("subtract", input, _map("trunc", input))


def _neg(record: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a function that records negation and has PyTorch's error for bools."""

    def recorded(row: str, input: Tensor) -> Tensor:
        if input.dtype_name == "bool":
            raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
                               "invert a mask, use the `~` or `logical_not()` operator instead.")  # fmt: skip
        return record(row, input)

    return recorded


def _i0(record: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a function that records i0, and that of `torch.special`, which has a derivative, where one is needed."""

    def recorded(row: str, input: Tensor) -> Tensor:
        if not input.requires_grad:
            return record(row, input)
        special = importlib.import_module("cuprous.torch._special_functions")  # whose import takes long
        found: Tensor = special.FUNCTIONS["i0"](input)
        return found

    return recorded


def _lgamma(row: str, input: Tensor) -> Tensor:
    """Returns logarithms of the gamma function's magnitude: infinity at minus infinity, unlike SciPy's."""
    return _map("where", _map("equal", input, -math.inf), math.inf, _map(row, input))


def _heaviside(row: str, input: Any, values: Any) -> Tensor:
    """Returns steps in the dtype of the operands: 0 of NaN, unlike NumPy's."""
    step = _map(row, input, values)
    if isinstance(input, Tensor) and input.is_floating_point():
        step = _map("where", _map("isnan", input), 0, step)
    return astype(step, _core.t_result_type(input, values))


def _with_complex(record: Callable[..., Tensor], formula: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Returns a function that records a row, and a formula for complex numbers."""
    return lambda row, input: formula(input) if input.is_complex() else record(row, input)


#: Functions that are computed by formulas.
_FORMULAS: dict[str, Callable[..., Tensor]] = {"frac": _frac, "heaviside": _heaviside, "lgamma": _lgamma}
#: Functions of which PyTorch's rules for NaN or infinite numbers differ from the row's.
_OWN_RULES = {*_FORMULAS, "sgn", "sign"}
#: Functions of floats whose row keeps integers.
_IN_FLOATS = ("angle", "reciprocal")
#: What is done beside recording the row, for single functions.
_WRAPPERS = {"i0": _i0, "neg": _neg, "negative": _neg}


def _replaced(input: Tensor, result: Tensor) -> Tensor:
    """Returns a tensor after it was overwritten.

    Raises
    ------
    RuntimeError
        If the result is not of a kind that it can hold.
    """
    if result.is_floating_point() and not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            f"result type {result.dtype_name} can't be cast to the desired output type {input.dtype_name}"
        )
    return input.copy_(result)


def _recorder(name: str) -> Callable[..., Tensor]:
    """Returns the native function that records rows of the operation table for a function."""
    record = _core.t_map_wide if _autocast.POLICIES.get(name) == "float32 on GPUs" else _map
    if name in ("sgn", "sign"):
        record = _sgn(record)
    if name in _BOOLS:
        return _of_bools(record, _BOOLS[name])
    if name in _COMPLEX:
        return _with_complex(record, _COMPLEX[name])
    if name in _FORMULAS:
        return _FORMULAS[name]
    if name in _WRAPPERS:
        return _WRAPPERS[name](record)
    return _in_floats(record) if name in _IN_FLOATS else record


def _unary(name: str, row: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor], Callable[..., Tensor]]:
    record = _recorder(name)

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        return write_out(out, record(row, input))

    def method(self: Tensor) -> Tensor:
        return record(row, self)

    def in_place(input: Tensor) -> Tensor:  # `input`, because it is a function of `torch` as well
        if name in _OWN_RULES or (name in _IN_FLOATS and not input.is_floating_point()):
            return _replaced(input, record(row, input))
        _overwrite(row, input)
        return input

    return _named(name, docstrings(name, row), function, method, in_place)


def _binary(name: str, row: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor], Callable[..., Tensor]]:
    record = _recorder(name)

    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        return write_out(out, record(row, _operand(input, other), other))

    def method(self: Tensor, other: Any) -> Tensor:
        return record(row, self, other)

    def in_place(input: Tensor, other: Any) -> Tensor:
        if name in _OWN_RULES:
            return _replaced(input, record(row, input, other))
        _overwrite(row, input, other)
        return input

    if name == "pow":

        def function(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:  # type: ignore[misc]
            return write_out(out, record(row, _operand(input, exponent), exponent))

        def method(self: Tensor, exponent: Any) -> Tensor:  # type: ignore[misc]
            return record(row, self, exponent)

        def in_place(input: Tensor, exponent: Any) -> Tensor:  # type: ignore[misc]
            _overwrite(row, input, exponent)
            return input

    second = "exponent" if name == "pow" else "other"
    return _named(name, docstrings(name, row, second), function, method, in_place)


def _named(name: str, docs: tuple[str, str, str], *functions: Callable[..., Any]) -> Any:
    names = (name, name, name + "_")
    return [named(f, full, doc) for f, full, doc in zip(functions, names, docs, strict=True)]


#: Functions by name, and methods by name.
FUNCTIONS: dict[str, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
for _name, _row in UNARY.items():
    FUNCTIONS[_name], METHODS[_name], METHODS[_name + "_"] = _unary(_name, _row)
for _name, _row in BINARY.items():
    FUNCTIONS[_name], METHODS[_name], METHODS[_name + "_"] = _binary(_name, _row)


def conj(input: Tensor) -> Tensor:
    """Returns the complex conjugate. A real tensor is returned as it is.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.resolve_conj, torch.resolve_neg

    Notes
    -----
    PyTorch's result shares memory with the input and is computed when it is read; this one is a copy.

    Examples
    --------
    >>> torch.conj(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return _map("conjugate", input) if input.is_complex() else input


def real(input: Tensor) -> Tensor:
    """Returns the real part as a copy. A real tensor is returned as it is.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.

    Returns
    -------
    Tensor
        A real tensor of the shape of `input`.

    See Also
    --------
    torch.imag, torch.polar, torch.complex

    Examples
    --------
    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
    """
    return _map("real", input) if input.is_complex() else input


def imag(input: Tensor) -> Tensor:
    """Returns the imaginary part as a copy.

    Parameters
    ----------
    input : Tensor
        A complex tensor.

    Returns
    -------
    Tensor
        A real tensor of the shape of `input`.

    Raises
    ------
    RuntimeError
        For real tensors.

    See Also
    --------
    torch.polar, torch.complex, torch.real

    Examples
    --------
    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
    """
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _map("imag", input)


def xlogy(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Returns `input * log(other)`, and 0 where the input is 0.

    Parameters
    ----------
    input : Tensor or number
        A tensor or number, the factor.
    other : Tensor or number
        A tensor or number, whose logarithm is taken.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.special.xlog1py, torch.special.entr, torch.log

    Examples
    --------
    >>> torch.xlogy(torch.tensor([0.0, 2.0]), torch.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    return write_out(out, _map("multiply", input, _map("log", without_logarithm(input, other, 0))))


def without_logarithm(input: Any, other: Any, least: float) -> Any:
    """Returns the second factor's argument, with 1 + least where the first is 0 and there is no finite logarithm."""
    other = tensor_of(other)
    infinite = _map("less_equal", other, least) | _map("equal", other, math.inf)
    return _map("where", _map("equal", tensor_of(input), 0) & infinite, least + 1, other)


def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Returns `log(x / (1 - x))`, the inverse of the logistic function.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    eps : float, optional
        Elements are clamped to the range from `eps` to `1 - eps` before; None for no bounds.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.sigmoid, torch.special.expit

    Examples
    --------
    >>> torch.logit(torch.tensor([0.5, 0.75]))
    tensor([0.0000, 1.0986])
    """
    x = input if input.is_floating_point() or input.is_complex() else astype(input, _core.t_default_dtype())
    x = x if eps is None else clamp(x, eps, 1 - eps)
    return write_out(out, _map("log", _map("divide", x, _map("subtract", 1, x))))


@_autocast.policy
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Returns a complex tensor from absolute values and angles.

    Parameters
    ----------
    abs : Tensor
        The absolute values, a float32 or float64 tensor.
    angle : Tensor
        The angles in radians, of the same shape and dtype.

    Returns
    -------
    Tensor
        A complex tensor of the same shape.

    See Also
    --------
    torch.complex, torch.real, torch.imag

    Examples
    --------
    >>> torch.polar(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]))
    tensor([1.+0.j, 2.+0.j])
    """
    return _map("make_complex", _map("multiply", abs, _map("cos", angle)), _map("multiply", abs, _map("sin", angle)))


def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns a complex tensor made from real and imaginary parts.

    Parameters
    ----------
    real : Tensor
        The real parts, a float32 or float64 tensor.
    imag : Tensor
        The imaginary parts, of the same dtype.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A complex tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.real, torch.imag, torch.polar

    Examples
    --------
    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
    if real.dtype_name != imag.dtype_name:
        raise RuntimeError(f"torch.complex: both parts must have one dtype, but got {real.dtype} and {imag.dtype}")
    return write_out(out, _map("make_complex", real, imag))


#: Functions that have an in-place method, with an example of it.
_IN_PLACE_EXAMPLES: dict[Callable[..., Any], str] = {
    add: "torch.tensor([1, 2]).add_(10) -> tensor([11, 12])",
    sub: "torch.tensor([1, 2]).sub_(1) -> tensor([0, 1])",
    div: "torch.tensor([1.0, 2.0]).div_(2) -> tensor([0.5000, 1.0000])",
    round: "torch.tensor([0.4, 1.7]).round_() -> tensor([0., 2.])",
    clamp: "torch.tensor([-1, 5]).clamp_(0, 3) -> tensor([0, 3])",
    clamp_min: "torch.tensor([-1, 5]).clamp_min_(0) -> tensor([0, 5])",
    clamp_max: "torch.tensor([-1, 5]).clamp_max_(3) -> tensor([-1,  3])",
    addcmul: "torch.ones(2).addcmul_(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])) -> tensor([4., 9.])",
    addcdiv: "torch.ones(2).addcdiv_(torch.tensor([4.0, 6.0]), torch.tensor([2.0, 3.0])) -> tensor([3., 3.])",
    lerp: "torch.tensor([0.0, 2.0]).lerp_(torch.tensor([1.0, 4.0]), 0.5) -> tensor([0.5000, 3.0000])",
    xlogy: "torch.tensor([0.0, 2.0]).xlogy_(1.0) -> tensor([0., 0.])",
    logit: "torch.tensor([0.5, 0.5]).logit_() -> tensor([0., 0.])",
    nan_to_num: "torch.tensor([1.0, float('nan')]).nan_to_num_() -> tensor([1., 0.])",
}
_ALSO_IN_PLACE = by_name(*_IN_PLACE_EXAMPLES)
_BOTH = _ALSO_IN_PLACE | by_name(conj, isclose, allclose, equal)
METHODS |= _BOTH | by_name(*map(in_place, _IN_PLACE_EXAMPLES, _IN_PLACE_EXAMPLES.values()))
FUNCTIONS |= _BOTH | by_name(real, imag, where, polar, complex, rsub)
for _name in (*UNARY, *_ALSO_IN_PLACE, "gcd", "lcm"):
    FUNCTIONS[_name + "_"] = METHODS[_name + "_"]
for _alias, _of in {"subtract": "sub", "divide": "div", "clip": "clamp"}.items():
    FUNCTIONS[_alias] = METHODS[_alias] = FUNCTIONS[_of]
    METHODS[_alias + "_"] = METHODS[_of + "_"]
