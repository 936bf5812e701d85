"""Functions of lists of tensors, `torch._foreach_add` and others: one operation for each tensor, which are fused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuprous._common.naming import named
from cuprous._core import Tensor
from cuprous.torch import _pointwise
from cuprous.torch.autograd._modes import no_grad
from cuprous.torch.linalg import vector_norm

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)
#: The second operand is a list of tensors, a list of numbers, a number or a tensor.
_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "pow", "maximum": "maximum",
           "minimum": "minimum", "clamp_min": "maximum", "clamp_max": "minimum"}  # fmt: skip


def _spread(operand: Any, count: int) -> list[Any]:
    """Returns an operand for each of the tensors.

    Raises
    ------
    RuntimeError
        For a list of another length.
    """
    if isinstance(operand, (list, tuple)):
        if len(operand) != count:
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(operand)}")
        return list(operand)
    return [operand] * count


def _pair(name: str, of_one: Callable[..., Tensor], doc: str) -> dict[str, Callable[..., Any]]:
    """Returns a function of lists, and the one that writes its results to the first list."""

    def make(self: Sequence[Tensor], *args: Any, **options: Any) -> tuple[Tensor, ...]:
        columns = [_spread(arg, len(self)) for arg in args]
        return tuple(of_one(*row, **options) for row in zip(self, *columns, strict=True))

    def write(self: Sequence[Tensor], *args: Any, **options: Any) -> None:
        with no_grad():
            for target, result in zip(self, make(self, *args, **options), strict=True):
                target.copy_(result)

    full = f"_foreach_{name}"
    return {
        full: named(make, full, f"Returns {doc} of each tensor."),
        f"{full}_": named(write, f"{full}_", f"Sets each tensor to {doc}."),
    }


FUNCTIONS: dict[str, Callable[..., Any]] = {}
for _name in _UNARY.split():
    FUNCTIONS |= _pair(_name, _pointwise.FUNCTIONS[_name], f"`{_name}`")
for _name, _of in _BINARY.items():
    FUNCTIONS |= _pair(_name, _pointwise.FUNCTIONS[_of], f"`{_name}`")
for _name in ("addcmul", "addcdiv"):

    def _combined(x: Tensor, a: Tensor, b: Tensor, value: Any = 1, _of: Any = _pointwise.FUNCTIONS[_name]) -> Tensor:
        result: Tensor = _of(x, a, b, value=value)
        return result

    FUNCTIONS |= _pair(_name, _combined, f"`{_name}`")
FUNCTIONS |= _pair("lerp", _pointwise.FUNCTIONS["lerp"], "`lerp`")


def _foreach_norm(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """Returns the norm of each tensor."""
    return tuple(vector_norm(x, ord, dtype=dtype) for x in self)


def _foreach_zero_(self: Sequence[Tensor]) -> None:
    """Sets each tensor to zero."""
    with no_grad():
        for x in self:
            x.zero_()


def _foreach_copy_(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> None:
    """Copies tensors into tensors."""
    with no_grad():
        for x, y in zip(self, src, strict=True):
            x.copy_(y)


FUNCTIONS |= {f.__name__: f for f in (_foreach_norm, _foreach_zero_, _foreach_copy_)}
