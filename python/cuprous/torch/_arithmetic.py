"""Arithmetic of tensors: sums, quotients, rounding and interpolation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import astype, tensor_of, write_out

_map = _core.t_map


_NUMBERS = frozenset((bool, int, float, complex))


def _operand(input: Any, other: Any) -> Any:
    """Returns the first operand; a tensor of it if both are numbers."""
    return tensor_of(input) if type(input) in _NUMBERS and type(other) in _NUMBERS else input


def _rounded_once(formula: Callable[..., Tensor], *operands: Any) -> Tensor:
    """Evaluates a formula of several steps. Half precision is computed in float32 and rounded once at the end, as in
    PyTorch."""
    dtype = _core.t_result_type(*operands)
    if dtype not in ("float16", "bfloat16"):
        return formula(*operands)
    wide = formula(*(_core.t_cast(t, "float32") if isinstance(t, Tensor) and t.ndim else t for t in operands))
    return astype(wide, dtype)


def wrapped_factor(alpha: Any, *operands: Any) -> Any:
    """Returns a factor of sums. Unsigned integers take a negative one modulo their range, as in C."""
    if isinstance(alpha, int) and alpha < 0:
        dtype = _core.t_result_type(*operands)
        return alpha % (1 << int(dtype[4:])) if dtype.startswith("uint") else alpha
    return alpha


def _add_scaled(row: str, input: Any, other: Any, alpha: Any, out: Tensor | None) -> Tensor:
    input = _operand(input, other)
    if alpha == 1:
        return write_out(out, _map(row, input, other))
    alpha = wrapped_factor(alpha, input, other)
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
