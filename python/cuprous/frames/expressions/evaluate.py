"""Expressions of a frame: of its rows, or of groups of its rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import GROUPS, ONE, ROWS, Column, both
from cuprous.frames.columns.dtypes import array_dtype
from cuprous.frames.columns.frame import Frame
from cuprous.frames.columns.groups import Groups, Whole
from cuprous.frames.columns.segments import segments
from cuprous.frames.columns.transfer import from_value
from cuprous.frames.columns.windows import in_frame_order, rolling_members
from cuprous.frames.expressions.aggregates import Rows, expect, reduce
from cuprous.frames.expressions.functions import apply
from cuprous.frames.expressions.sequences import SEQUENCES
from cuprous.frames.plan.expressions import Aggregate, Call, Expression, Length, Literal, Name, Where, Window
from cuprous.frames.reasons import refuse_unless


@dataclass
class Context:
    """What expressions are evaluated in.

    Parameters
    ----------
    frame : Frame
        The rows.
    rows : Rows
        The groups that aggregates reduce.
    mask : array_like, optional
        The rows of a filter that has not been applied to the columns; None for all.
    """

    frame: Frame
    rows: Rows
    mask: Any = None
    _found: dict[Expression, Column] = field(default_factory=dict)

    def expect(self, expression: Expression) -> None:
        """Looks at the aggregates of an expression that will be evaluated, so that they are computed together."""
        if isinstance(expression, Aggregate):
            expect(expression, _reduced(self, expression), self.rows)
        elif not isinstance(expression, Window):
            for one in expression.inputs():
                self.expect(one)

    def evaluate(self, expression: Expression) -> Column:
        """Returns the values of an expression; each is computed once."""
        if expression not in self._found:
            self._found[expression] = _KINDS[type(expression)](self, expression)
        return self._found[expression]


def whole(frame: Frame, mask: Any = None) -> Context:
    """Returns a context in which aggregates reduce all rows."""
    return Context(frame, Whole(frame.height), mask)


def _name(context: Context, expression: Any) -> Column:
    return context.frame.columns[expression.name]


def _literal(context: Context, expression: Literal) -> Column:
    refuse_unless(not isinstance(expression.value, pl.Series), "a literal of several values is not supported")
    refuse_unless(expression.dtype != pl.Null, "a null without a dtype is not supported here")
    return from_value(expression.value, expression.dtype).at_level(ONE)


def _length(context: Context, expression: Length) -> Column:
    sizes = context.rows.reduce("count", None, context.mask)
    return Column(sizes.astype(array_dtype(expression.dtype)), None, expression.dtype, level=context.rows.level)


def _call(context: Context, expression: Call) -> Column:
    # Constant arguments that a function takes from the call itself have no columns.
    columns = [
        Column(cp.zeros(1, "bool"), _all_null(one), one.dtype, level=ONE) if _is_option(one) else context.evaluate(one)
        for one in expression.arguments
    ]
    if expression.function in SEQUENCES:
        whole_column = columns[0].level == ROWS and columns[0].selected is None and context.mask is None
        refuse_unless(whole_column, f"{expression.function} of a part of the rows is not supported")
        return _sequence(context, expression, columns)
    columns, level = _aligned(context, columns)
    return replace(_of_one_shape(apply(expression, columns)), level=level, selected=_selection(columns))


def _of_one_shape(column: Column) -> Column:
    """A column with as many values as it has places in its mask: either may come from one value for all rows."""
    if column.valid is None or column.valid.shape == column.values.shape:
        return column
    height = max(column.valid.shape[0], len(column)) if len(column) and column.valid.shape[0] else 0
    values, valid = (cp.broadcast_to(one, (height,)) for one in (column.values, column.valid))
    return replace(column, values=values, valid=valid)


def _sequence(context: Context, expression: Call, columns: list[Column]) -> Column:
    """A function in which a value depends on other rows of the frame, or of its group."""
    of = segments(context.rows)
    columns = [column if column.level == ONE else of.placed(column) for column in columns]
    return of.of_rows(SEQUENCES[expression.function].compute(expression, columns, of))


def _all_null(option: Expression) -> Any:
    """The validity of a constant argument: a literal null may also be an operand."""
    return cp.zeros(1, "bool") if option.dtype == pl.Null else None


def _is_option(expression: Expression) -> bool:
    return isinstance(expression, Literal) and (expression.dtype.is_nested() or expression.dtype == pl.Null)


def _selection(columns: list[Column]) -> Any:
    """The selection of all columns of rows, which must be the same."""
    found = [column.selected for column in columns if column.level != ONE]
    refuse_unless(all(one is found[0] for one in found), "values of different filters are combined")
    return found[0] if found else None


def _aligned(context: Context, columns: list[Column]) -> tuple[list[Column], str]:
    """Columns of one level, apart from those of one value."""
    levels = {column.level for column in columns}
    if levels >= {ROWS, GROUPS}:
        columns = [_to_rows(context, column) if column.level == GROUPS else column for column in columns]
    level = ROWS if ROWS in levels else GROUPS if GROUPS in levels else ONE
    return columns, level


def _to_rows(context: Context, column: Column) -> Column:
    numbers = context.rows.numbers
    valid = None if column.valid is None else column.valid[numbers]
    return column.with_values(column.values[numbers], valid, level=ROWS)


def _aggregate(context: Context, expression: Aggregate) -> Column:
    return reduce(expression, _reduced(context, expression), context.rows)


def _reduced(context: Context, expression: Aggregate) -> Column:
    """The column that an aggregate reduces."""
    column = context.evaluate(expression.argument)
    refuse_unless(column.level == ROWS, f"{expression.function} of one value is not supported")
    if context.mask is not None:
        column = replace(column, selected=both(context.mask, column.selected))
    return column


def _where(context: Context, expression: Where) -> Column:
    column, condition = (context.evaluate(one) for one in expression.inputs())
    refuse_unless(column.level == condition.level == ROWS, "a filter of one value is not supported")
    refuse_unless(column.selected is None and condition.selected is None, "a filter of a filter is not supported")
    return replace(column, selected=both(condition.values, condition.valid))


def _window(context: Context, expression: Window) -> Column:
    keys = [context.evaluate(key) for key in expression.keys]
    refuse_unless(all(key.level == ROWS for key in keys), "over() of one value is not supported")
    if expression.interval is not None and context.frame.height:
        return _rolling(context, expression, keys[0])
    if context.frame.height == 0:
        groups: Rows = Whole(0)
    else:
        groups = Groups(keys)
    inner = Context(context.frame, groups)
    found = inner.evaluate(expression.function)
    refuse_unless(found.selected is None, "a filter inside over() is not supported")
    if context.frame.height == 0:
        return found.at_level(ONE).to_height(0)
    return _to_rows(inner, found) if found.level == GROUPS else found.to_height(context.frame.height)


def _rolling(context: Context, expression: Window, index: Column) -> Column:
    """The function of the rows near each row."""
    assert expression.interval is not None
    refuse_unless(isinstance(context.rows, Whole) and context.mask is None, "rolling() inside groups is not supported")
    near = rolling_members(in_frame_order(index), expression.interval)
    inner = Context(context.frame.take(near.rows), Groups.numbered(near.windows, near.count))
    found = inner.evaluate(expression.function)
    refuse_unless(found.level != ROWS, "rolling() of values that are not aggregated is not supported")
    return found.to_height(context.frame.height)


#: Class of an expression -> its value in a context.
_KINDS: dict[type[Expression], Any] = {
    Aggregate: _aggregate,
    Call: _call,
    Length: _length,
    Literal: _literal,
    Name: _name,
    Where: _where,
    Window: _window,
}


def finished(column: Column, height: int) -> Column:
    """Returns a column of rows; one value is repeated.

    Raises
    ------
    Refused
        If it is the result of a filter, which has a length of its own.
    """
    refuse_unless(column.selected is None, "a filter inside an expression is supported in aggregates only")
    return column.to_height(height)
