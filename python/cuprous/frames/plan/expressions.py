"""Expressions of a plan. Polars has resolved their dtypes; they are immutable and compared by identity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cuprous.frames.plan.windows import Interval


@dataclass(frozen=True, eq=False)
class Expression:
    """The base of all expressions; `dtype` is Polars' dtype of the result."""

    dtype: Any

    def inputs(self) -> tuple[Expression, ...]:
        """The expressions that this one is computed from."""
        return ()


@dataclass(frozen=True, eq=False)
class Name(Expression):
    """A column of the input."""

    name: str


@dataclass(frozen=True, eq=False)
class Literal(Expression):
    """A value of Python, or a Series where Polars holds one."""

    value: Any


@dataclass(frozen=True, eq=False)
class Length(Expression):
    """The number of rows, of the frame or of each group."""


@dataclass(frozen=True, eq=False)
class Call(Expression):
    """A function by its name in the tables of `cuprous.frames.expressions`, with its constant options."""

    function: str
    arguments: tuple[Expression, ...]
    options: tuple[Any, ...] = ()

    def inputs(self) -> tuple[Expression, ...]:
        """The arguments."""
        return self.arguments


@dataclass(frozen=True, eq=False)
class Aggregate(Expression):
    """A reduction of all rows, or of the rows of each group, to one value."""

    function: str
    argument: Expression
    options: tuple[Any, ...] = ()

    def inputs(self) -> tuple[Expression, ...]:
        """The argument."""
        return (self.argument,)


@dataclass(frozen=True, eq=False)
class Where(Expression):
    """The values of the rows in which a condition holds; only an aggregate takes it."""

    argument: Expression
    condition: Expression

    def inputs(self) -> tuple[Expression, ...]:
        """The values and the condition."""
        return (self.argument, self.condition)


@dataclass(frozen=True, eq=False)
class Window(Expression):
    """An expression of each group's rows, given back to those rows.

    Parameters
    ----------
    keys : tuple of Expression
        What groups rows; or the only one is an index that is in order.
    interval : Interval, optional
        The rows beside each row by that index that are its group; None if the keys group rows.
    """

    function: Expression
    keys: tuple[Expression, ...]
    interval: Interval | None = None

    def inputs(self) -> tuple[Expression, ...]:
        """The function and the keys."""
        return (self.function, *self.keys)


@dataclass(frozen=True)
class Named:
    """An expression and the name of its result."""

    name: str
    expression: Expression


def walk(expression: Expression) -> Iterator[Expression]:
    """Yields an expression and all that it is computed from."""
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(one.inputs())
