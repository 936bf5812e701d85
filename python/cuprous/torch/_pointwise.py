"""Elementwise functions under PyTorch's names, as functions, methods and in-place methods. Most map to one row of the
operation table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common.naming import named
from cuprous._core import Tensor
from cuprous.torch import _autocast
from cuprous.torch._args import astype, by_name, in_place, tensor_of, write_out
from cuprous.torch._indexing import nonzero
from cuprous.torch._info import finfo
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


def _in_common(record: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a function that records a row of floats, whose result has the dtype of its operands all the same."""

    def recorded(row: str, *operands: Any) -> Tensor:
        return astype(record(row, *operands), _core.t_result_type(*operands))

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


def _with_complex(record: Callable[..., Tensor], formula: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Returns a function that records a row, and a formula for complex numbers."""
    return lambda row, input: formula(input) if input.is_complex() else record(row, input)


def _recorder(name: str) -> Callable[..., Tensor]:
    """Returns the native function that records rows of the operation table for a function."""
    record = _core.t_map_wide if _autocast.POLICIES.get(name) == "float32 on GPUs" else _map
    if name in _BOOLS:
        return _of_bools(record, _BOOLS[name])
    if name in _COMPLEX:
        return _with_complex(record, _COMPLEX[name])
    if name == "heaviside":
        return _in_common(record)
    return _in_floats(record) if name in ("angle", "reciprocal") else record


_NUMBERS = frozenset((bool, int, float, complex))


def _operand(input: Any, other: Any) -> Any:
    """Returns the first operand; a tensor of it if both are numbers."""
    return tensor_of(input) if type(input) in _NUMBERS and type(other) in _NUMBERS else input


def _unary(name: str, row: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor], Callable[..., Tensor]]:
    record = _recorder(name)

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        return write_out(out, record(row, input))

    def method(self: Tensor) -> Tensor:
        return record(row, self)

    def in_place(input: Tensor) -> Tensor:  # `input`, because it is a function of `torch` as well
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


def _rounded_once(formula: Callable[..., Tensor], *operands: Any) -> Tensor:
    """Evaluates a formula of several steps. Half precision is computed in float32 and rounded once at the end, as in
    PyTorch."""
    dtype = _core.t_result_type(*operands)
    if dtype not in ("float16", "bfloat16"):
        return formula(*operands)
    wide = formula(*(_core.t_cast(t, "float32") if isinstance(t, Tensor) and t.ndim else t for t in operands))
    return astype(wide, dtype)


def _add_scaled(row: str, input: Any, other: Any, alpha: Any, out: Tensor | None) -> Tensor:
    input = _operand(input, other)
    if alpha == 1:
        return write_out(out, _map(row, input, other))
    return write_out(out, _rounded_once(lambda a, b: _map(row, a, _map("multiply", b, alpha)), input, other))


def add(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """Returns `input + alpha * other`.

    Parameters
    ----------
    input : Tensor or number
        A tensor or number.
    other : Tensor or number
        A tensor or number that broadcasts with `input`.
    alpha : number, default 1
        The factor of `other`.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.sub, torch.addcmul, torch.addmm, torch.sum

    Examples
    --------
    >>> torch.add(torch.tensor([1, 2]), torch.tensor([10, 20]), alpha=2)
    tensor([21, 42])
    """
    return _add_scaled("add", input, other, alpha, out)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """Returns `input - alpha * other`.

    Parameters
    ----------
    input : Tensor or number
        A tensor or number.
    other : Tensor or number
        A tensor or number that broadcasts with `input`.
    alpha : number, default 1
        The factor of `other`.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.rsub, torch.add, torch.diff

    Examples
    --------
    >>> torch.sub(torch.tensor([10, 20]), 1)
    tensor([ 9, 19])
    """
    return _add_scaled("subtract", input, other, alpha, out)


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """Returns `other - alpha * input`.

    Parameters
    ----------
    input : Tensor or number
        A tensor or number.
    other : Tensor or number
        A tensor or number that broadcasts with `input`.
    alpha : number, default 1
        The factor of `input`.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.sub, torch.subtract

    Examples
    --------
    >>> torch.rsub(torch.tensor([1, 2]), 10)
    tensor([9, 8])
    """
    return sub(other, input, alpha=alpha)


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """Returns the quotient. Integers are divided in the default dtype unless the quotient is rounded.

    Parameters
    ----------
    input : Tensor or number
        A tensor or number, the dividend.
    other : Tensor or number
        A tensor or number, the divisor.
    rounding_mode : str, optional
        None, "floor" to round down, or "trunc" to round toward zero.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    Raises
    ------
    RuntimeError
        For another rounding mode.

    See Also
    --------
    torch.true_divide, torch.floor_divide

    Examples
    --------
    >>> torch.div(torch.tensor([7, -7]), 2)
    tensor([ 3.5000, -3.5000])
    >>> torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc")
    tensor([ 3, -3])
    """
    input = _operand(input, other)
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
    """Returns elements rounded to the nearest integer. Of two nearest ones it is the even one.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype; integers are returned as they are.
    decimals : int, default 0
        The number of decimal places, which may be negative.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.floor, torch.ceil, torch.trunc, torch.fix

    Examples
    --------
    >>> torch.round(torch.tensor([0.5, 1.5, 2.7]))
    tensor([0., 2., 3.])
    >>> torch.round(torch.tensor([1.234]), decimals=2)
    tensor([1.2300])
    """
    if not (input.is_floating_point() or input.is_complex()):
        return write_out(out, input.clone())
    if decimals == 0:
        return write_out(out, _map("rint", input))
    scale = 10.0 ** abs(decimals)
    up, down = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    return write_out(out, _map(down, _map("rint", _map(up, input, scale)), scale))


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


def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """Returns `input` where the condition is true, otherwise `other`.

    Parameters
    ----------
    condition : Tensor
        A bool tensor.
    input : Tensor or number, optional
        A tensor or number; None for the indices where the condition is true.
    other : Tensor or number, optional
        A tensor or number.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the arguments broadcast to; with only a condition, a tuple of int64 tensors, one for
        each dimension.

    See Also
    --------
    torch.masked_select, torch.nonzero

    Examples
    --------
    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([0., 2.])
    >>> torch.where(x > 0)
    (tensor([1]),)
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = tensor_of(input, condition)
    return write_out(out, _map("where", condition, input, other))


def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Returns elements clamped to the range from `min` to `max`. The gradient is passed on where an element is within
    the bounds.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    min : Tensor or number, optional
        The lower bound, a number or tensor; None for no bound.
    max : Tensor or number, optional
        The upper bound, a number or tensor; None for no bound.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the arguments broadcast to.

    Raises
    ------
    RuntimeError
        If neither bound is given.

    See Also
    --------
    torch.clamp_min, torch.clamp_max, torch.maximum

    Examples
    --------
    >>> torch.clamp(torch.tensor([-1, 2, 5]), min=0, max=3)
    tensor([0, 2, 3])
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
    """Returns `clamp` with a lower bound only.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    min : Tensor or number
        The lower bound, a number or tensor.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the arguments broadcast to.

    See Also
    --------
    torch.clamp, torch.clamp_max, torch.maximum

    Examples
    --------
    >>> torch.clamp_min(torch.tensor([-1, 2]), 0)
    tensor([0, 2])
    """
    return clamp(input, min, None, out=out)


def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Returns `clamp` with an upper bound only.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    max : Tensor or number
        The upper bound, a number or tensor.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the arguments broadcast to.

    See Also
    --------
    torch.clamp, torch.clamp_min, torch.minimum

    Examples
    --------
    >>> torch.clamp_max(torch.tensor([-1, 2]), 0)
    tensor([-1,  0])
    """
    return clamp(input, None, max, out=out)


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
    """Returns `input + value * tensor1 * tensor2`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    tensor1 : Tensor
        A tensor that broadcasts with `input`.
    tensor2 : Tensor
        A tensor that broadcasts with `input`.
    value : number, default 1
        The factor of the product.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.addcdiv, torch.mul, torch.add

    Examples
    --------
    >>> torch.addcmul(torch.ones(2), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), value=0.5)
    tensor([2.5000, 5.0000])
    """
    return _add_combined("multiply", input, tensor1, tensor2, value, out)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
    """Returns `input + value * tensor1 / tensor2`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    tensor1 : Tensor
        A tensor that broadcasts with `input`.
    tensor2 : Tensor
        A tensor that broadcasts with `input`.
    value : number, default 1
        The factor of the quotient.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.addcmul, torch.div, torch.add

    Examples
    --------
    >>> torch.addcdiv(torch.ones(2), torch.tensor([4.0, 6.0]), torch.tensor([2.0, 3.0]))
    tensor([3., 3.])
    """
    return _add_combined("divide", input, tensor1, tensor2, value, out)


def _add_combined(row: str, input: Tensor, first: Tensor, second: Tensor, value: Any, out: Tensor | None) -> Tensor:
    def formula(a: Any, b: Any, c: Any) -> Tensor:
        return add(a, _map(row, b, c), alpha=value)

    return write_out(out, _rounded_once(formula, input, first, second))


def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
    """Returns `input + weight * (end - input)`, the linear interpolation of two tensors.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    end : Tensor
        A tensor that broadcasts with `input`.
    weight : Tensor or number
        A number or a tensor that broadcasts with `input`.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.add, torch.linspace

    Examples
    --------
    >>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([1.0, 20.0]), 0.5)
    tensor([ 0.5000, 15.0000])
    """

    def formula(a: Any, b: Any, c: Any) -> Tensor:
        return _map("add", a, _map("multiply", _map("subtract", b, a), c))

    return write_out(out, _rounded_once(formula, input, end, weight))


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
    x = input if eps is None else clamp(input, eps, 1 - eps)
    return write_out(out, _map("log", _map("divide", x, _map("subtract", 1, x))))


def nan_to_num(input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None,
               *, out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the tensor with finite numbers in place of NaN and infinities.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    nan : float, default 0.0
        What replaces NaN.
    posinf : float, optional
        What replaces infinity, by default the greatest number of the dtype.
    neginf : float, optional
        What replaces minus infinity, by default the least number of the dtype.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.isnan, torch.isinf, torch.isfinite

    Examples
    --------
    >>> torch.nan_to_num(torch.tensor([1.0, float("nan"), float("inf")]), posinf=9.0)
    tensor([1., 0., 9.])
    """
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


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Returns, for each element, whether |input - other| ≤ atol + rtol · |other|.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    other : Tensor
        A tensor that broadcasts with `input`.
    rtol : float, default 1e-05
        The relative tolerance.
    atol : float, default 1e-08
        The absolute tolerance.
    equal_nan : bool, default False
        Whether NaN is close to NaN.

    Returns
    -------
    Tensor
        A bool tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.allclose, torch.equal, torch.eq

    Examples
    --------
    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    if input.dtype_name == other.dtype_name == "bool":
        return _map("equal", input, other)
    near = _map("less_equal", _map("absolute", input - other), _map("add", _map("absolute", other) * rtol, atol))
    near = _map("logical_or", _map("logical_and", near, _map("isfinite", other)), _map("equal", input, other))
    if equal_nan:
        near = _map("logical_or", near, _map("logical_and", _map("isnan", input), _map("isnan", other)))
    return near


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Returns True if all elements are close, as `isclose` defines it.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    other : Tensor
        A tensor that broadcasts with `input`.
    rtol : float, default 1e-05
        The relative tolerance.
    atol : float, default 1e-08
        The absolute tolerance.
    equal_nan : bool, default False
        Whether NaN is close to NaN.

    Returns
    -------
    bool

    See Also
    --------
    torch.isclose, torch.equal, torch.testing.assert_close

    Examples
    --------
    >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Returns True if the shapes and all elements are equal.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    other : Tensor
        A tensor of the same dtype.

    Returns
    -------
    bool

    See Also
    --------
    torch.eq, torch.allclose

    Examples
    --------
    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    return input.dims == other.dims and bool(_map("equal", input, other).all())


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
