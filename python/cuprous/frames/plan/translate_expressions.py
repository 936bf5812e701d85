"""Polars' expressions as our own. A name that is in no table is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import polars as pl

from cuprous.frames.columns.dtypes import refuse_dtype
from cuprous.frames.expressions.aggregates import refuse_aggregate
from cuprous.frames.expressions.functions import refuse_call
from cuprous.frames.expressions.rule import kind_of
from cuprous.frames.expressions.sequences import has_sequence
from cuprous.frames.plan.adapters import Adapter
from cuprous.frames.plan.correlation import correlation
from cuprous.frames.plan.expressions import Aggregate, Call, Expression, Length, Literal, Name, Where, Window, walk
from cuprous.frames.plan.windows import Interval, count_of
from cuprous.frames.reasons import refuse_unless

#: Functions of Polars that are aggregates here, with the name of ours.
_AGGREGATING = {
    "null_count": "null_count", "boolean.any": "any", "boolean.all": "all", "quantile": "quantile",
}  # fmt: skip
#: Classes of expressions that have the name of a class of nodes.
_NAMES_OF_NODES = ("Filter", "Slice", "Sort")
_CASTS = ("strict", "non-strict", "overflow")


class ExpressionTranslator:
    """Translates expressions of the node at which a traverser stands."""

    def __init__(self, traverser: Any, adapter: Adapter) -> None:
        self._traverser = traverser
        self.adapter = adapter

    def expression(self, handle: int) -> Expression:
        """Translates one expression.

        Raises
        ------
        Refused
            If it, or a part of it, is not supported.
        """
        view = self._traverser.view_expression(handle)
        dtype = self._traverser.get_dtype(handle)
        kind = type(view).__name__
        kind = self.adapter.check(view, f"Expr{kind}" if kind in _NAMES_OF_NODES else kind)
        refuse_unless(kind in _EXPRESSIONS, f"expressions of kind {kind} are not supported")
        result = _EXPRESSIONS[kind](self, view, dtype)
        if not isinstance(result, Literal):
            refuse_dtype(result.dtype, "the result of an expression")
        return result

    def all(self, handles: Any) -> tuple[Expression, ...]:
        """Translates several expressions."""
        return tuple(self.expression(handle) for handle in handles)


def _name(_: ExpressionTranslator, view: Any, dtype: Any) -> Expression:
    return Name(dtype, view.name)


def _literal(_: ExpressionTranslator, view: Any, dtype: Any) -> Expression:
    value = view.value
    if type(value).__name__ == "PySeries":
        value = pl.Series._from_pyseries(value)
    elif value is not None:
        # Python's times have no nanoseconds; only a duration is given as a count.
        inner = getattr(view.dtype, "inner", view.dtype)
        exact = inner.base_type() != pl.Time and (getattr(inner, "time_unit", "us") != "ns" or isinstance(value, int))
        refuse_unless(exact, f"a literal of {view.dtype} is not supported")
    return Literal(view.dtype if isinstance(view.dtype, pl.DataType) else dtype, value)


def _alias(to: ExpressionTranslator, view: Any, dtype: Any) -> Expression:
    return to.expression(view.expr)


def _length(_: ExpressionTranslator, view: Any, dtype: Any) -> Expression:
    return Length(dtype)


def _binary(to: ExpressionTranslator, view: Any, dtype: Any) -> Expression:
    name = f"op.{str(view.op).split('.')[-1]}"
    return _checked(Call(dtype, name, to.all((view.left, view.right))))


def _cast(to: ExpressionTranslator, view: Any, dtype: Any) -> Expression:
    argument = to.expression(view.expr)
    if isinstance(argument, Literal) and argument.value is None:
        return Literal(dtype, None)
    return _checked(Call(dtype, "cast", (argument,), (_CASTS[view.options],)))


def _ternary(to: ExpressionTranslator, view: Any, dtype: Any) -> Expression:
    return _checked(Call(dtype, "ternary", to.all((view.predicate, view.truthy, view.falsy))))


def _function(to: ExpressionTranslator, view: Any, dtype: Any) -> Expression:
    name, *options = view.function_data
    if not isinstance(name, str):  # BooleanFunction.IsNull
        family, _, member = str(name).partition(".")
        name = f"{family.removesuffix('Function').lower()}.{member.lower()}"
    if name.startswith("rollingfunctionby."):
        return _rolling_by(name.partition(".")[2], options, to.all(view.input), dtype)
    if name == "dynamic_pred":  # a hint of a sort above: rows that it may leave out already
        return Literal(dtype, True)
    arguments = to.all(view.input)
    if name in _AGGREGATING:
        constants = [one.value for one in arguments[1:] if isinstance(one, Literal)]
        refuse_unless(len(constants) == len(arguments) - 1, f"{name} with an argument that is not constant")
        return _aggregated(Aggregate(dtype, _AGGREGATING[name], arguments[0], (*options, *constants)))
    if name == "corr":
        kinds = {kind_of(one) for one in arguments}
        known = options == ["pearson"] and kinds <= {"int", "float"} and dtype == pl.Float64
        refuse_unless(known, f"corr of {' and '.join(str(one.dtype) for one in arguments)} is not supported")
        return correlation(*arguments)
    return _checked(Call(dtype, name, arguments, tuple(options)))


def _aggregate(to: ExpressionTranslator, view: Any, dtype: Any) -> Expression:
    refuse_unless(len(view.arguments) == 1, f"{view.name} of several columns is not supported")
    return _aggregated(Aggregate(dtype, view.name, to.expression(view.arguments[0]), (view.options,)))


def _where(to: ExpressionTranslator, view: Any, dtype: Any) -> Expression:
    return Where(dtype, *to.all((view.input, view.by)))


def _window(to: ExpressionTranslator, view: Any, dtype: Any) -> Expression:
    refuse_unless(view.order_by is None, "over(order_by=...) is not supported")
    refuse_unless(
        view.options.kind == "groups_to_rows", f"over(mapping_strategy={view.options.kind!r}) is not supported"
    )
    return _not_nested(Window(dtype, to.expression(view.function), to.all(view.partition_by)))


def _not_nested(result: Window) -> Window:
    nested = [one for inner in result.inputs() for one in walk(inner) if isinstance(one, Window)]
    refuse_unless(not nested, "a window inside a window is not supported")
    return result


def _rolling(to: ExpressionTranslator, view: Any, dtype: Any) -> Expression:
    index, function = to.expression(view.index_column), to.expression(view.function)
    interval = Interval(count_of(view.offset, index.dtype), count_of(view.period, index.dtype), view.closed_window)
    if not to.adapter.settled_windows:
        refuse_floats([function])
    return _near(dtype, function, index, interval)


def refuse_floats(expressions: Iterable[Expression]) -> None:
    """Raises `Refused` if one has the least or largest of floats, which is NaN in windows of Polars 1."""
    found = [one for expression in expressions for one in walk(expression) if isinstance(one, Aggregate)]
    floats = any(one.function in ("min", "max") and one.argument.dtype.is_float() for one in found)
    refuse_unless(not floats, "min and max of floats in windows over an index differ in this version of Polars")


def _near(dtype: Any, function: Expression, index: Expression, interval: Interval) -> Expression:
    """A function of the rows near each row, by an index."""
    refuse_unless(interval.period > 0, "windows without a length are left to Polars")
    refuse_unless(isinstance(index, Name), "windows over an expression are not supported")
    refuse_unless(not has_sequence(function), "a function of other rows inside rolling() is not supported")
    return _not_nested(Window(dtype, function, (index,), interval))


#: Functions of the rows near each row, by the column that says how near -> the aggregate of those rows.
_NEAR = {"sumby": "sum", "meanby": "mean", "minby": "min", "maxby": "max"}


def _rolling_by(name: str, options: list[Any], arguments: tuple[Expression, ...], dtype: Any) -> Expression:
    duration, least, closed, parameters = options
    value, index = arguments
    known = name in _NEAR and not parameters and kind_of(value) == "int"
    refuse_unless(known, f"rolling_{name.removesuffix('by')}_by of {value.dtype} is not supported")
    period = count_of(duration, index.dtype)
    number = Aggregate(pl.UInt32(), "count", value, (False,))
    enough = Call(pl.Boolean(), "op.GtEq", (number, Literal(pl.UInt32(), least)))
    found = _aggregated(Aggregate(dtype, _NEAR[name], value))
    function = Call(dtype, "ternary", (enough, found, Literal(dtype, None)))
    return _near(dtype, function, index, Interval(-period, period, closed))


def _checked(call: Call) -> Call:
    refuse_call(call)
    return call


def _aggregated(aggregate: Aggregate) -> Aggregate:
    refuse_aggregate(aggregate)
    return aggregate


#: Class of an expression -> its translation.
_EXPRESSIONS: dict[str, Callable[[ExpressionTranslator, Any, Any], Expression]] = {
    "Agg": _aggregate,
    "Alias": _alias,
    "BinaryExpr": _binary,
    "Cast": _cast,
    "Column": _name,
    "ExprFilter": _where,
    "Function": _function,
    "Len": _length,
    "Literal": _literal,
    "Rolling": _rolling,
    "Ternary": _ternary,
    "Window": _window,
}
