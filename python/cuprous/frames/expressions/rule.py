"""A row of the tables of functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from cuprous.frames.columns.column import Column
from cuprous.frames.plan.expressions import Call, Expression, Literal


@dataclass(frozen=True)
class Rule:
    """How a function is computed, and what of it is refused.

    Parameters
    ----------
    compute : callable
        The result of columns of one height, or of one value each.
    refuse : callable, optional
        The reason why a call is left to Polars, or "".
    """

    compute: Callable[[Call, list[Column]], Column]
    refuse: Callable[[Call], str] = lambda _: ""


def kind_of(expression: Expression) -> str:
    """Returns "bool", "int", "float", "decimal", "temporal" or "text" for the dtype of an expression."""
    return kind_of_dtype(expression.dtype)


def kind_of_dtype(dtype: Any) -> str:
    """Returns "bool", "int", "float", "decimal", "temporal", "text" or "other"."""
    if dtype == pl.Boolean:
        return "bool"
    if dtype.is_integer():
        return "int"
    if dtype.is_float():
        return "float"
    if dtype.is_decimal():
        return "decimal"
    if dtype.is_temporal():
        return "temporal"
    return "text" if dtype.base_type() in (pl.String, pl.Categorical, pl.Enum) else "other"


def only(*kinds: str, same: bool = True) -> Callable[[Call], str]:
    """Returns a check that all arguments are of some kinds, and of one dtype."""

    def refuse(call: Call) -> str:
        name = call.function.split(".")[-1]
        for argument in call.arguments:
            if kind_of(argument) not in kinds:
                return f"{name} of {argument.dtype} is not supported"
        if same and any(argument.dtype != call.arguments[0].dtype for argument in call.arguments[1:]):
            return f"{name} of {' and '.join(str(argument.dtype) for argument in call.arguments)} is not supported"
        return ""

    return refuse


def constant(expression: Expression) -> bool:
    """Returns true if an expression is a literal."""
    return isinstance(expression, Literal)
