"""Functions of strings: Polars computes them on the dictionary, and the rows take the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from cuprous.frames.columns.column import Column, both
from cuprous.frames.columns.transfer import upload
from cuprous.frames.expressions.rule import Rule, constant
from cuprous.frames.plan.expressions import Call, Literal
from cuprous.frames.reasons import Refused

#: Name -> Polars' own function of (expression, constant arguments, options).
_FUNCTIONS: dict[str, Callable[[pl.Expr, list[Any], tuple[Any, ...]], pl.Expr]] = {
    "contains": lambda e, a, o: e.str.contains(a[0], literal=o[0], strict=o[1]),
    "startswith": lambda e, a, o: e.str.starts_with(a[0]),
    "endswith": lambda e, a, o: e.str.ends_with(a[0]),
    "slice": lambda e, a, o: e.str.slice(a[0], a[1]),
    "head": lambda e, a, o: e.str.head(a[0]),
    "tail": lambda e, a, o: e.str.tail(a[0]),
    "lenbytes": lambda e, a, o: e.str.len_bytes(),
    "lenchars": lambda e, a, o: e.str.len_chars(),
    "lowercase": lambda e, a, o: e.str.to_lowercase(),
    "uppercase": lambda e, a, o: e.str.to_uppercase(),
    "reverse": lambda e, a, o: e.str.reverse(),
    "stripchars": lambda e, a, o: e.str.strip_chars(a[0]),
    "stripcharsstart": lambda e, a, o: e.str.strip_chars_start(a[0]),
    "stripcharsend": lambda e, a, o: e.str.strip_chars_end(a[0]),
    "stripprefix": lambda e, a, o: e.str.strip_prefix(a[0]),
    "stripsuffix": lambda e, a, o: e.str.strip_suffix(a[0]),
    "replace": lambda e, a, o: e.str.replace(a[0], a[1], n=o[0], literal=o[1]),
    "countmatches": lambda e, a, o: e.str.count_matches(a[0], literal=o[0]),
}


def _of_dictionary(name: str) -> Callable[[Call, list[Column]], Column]:
    def compute(call: Call, columns: list[Column]) -> Column:
        column = columns[0]
        constants = [one.value for one in call.arguments[1:] if isinstance(one, Literal)]
        assert column.dictionary is not None
        dictionary = column.dictionary
        if len(dictionary) == 0:  # all rows are null
            dictionary = pl.Series([""])
        try:
            expression = _FUNCTIONS[name](pl.col("text"), constants, call.options)
            found = dictionary.to_frame("text").select(expression).to_series()
        except PolarsError as error:
            raise Refused(f"Polars raises for a string: {str(error).splitlines()[0]}") from error
        if found.dtype != call.dtype:
            raise Refused(f"{name} gives {found.dtype} instead of {call.dtype}")
        table = upload(found)
        result = table.take(column.values)
        return result.with_values(result.values, both(result.valid, column.valid))

    return compute


def _concatenated(call: Call, columns: list[Column]) -> Column:
    """One column of strings between constant ones."""
    delimiter, ignore_nulls = call.options
    parts = [one.value if isinstance(one, Literal) else None for one in call.arguments]
    (at,) = (i for i, one in enumerate(call.arguments) if not isinstance(one, Literal))
    column = columns[at]
    assert column.dictionary is not None
    dictionary = column.dictionary if len(column.dictionary) else pl.Series([""])
    expressions = [pl.col("text") if i == at else pl.lit(part, pl.String) for i, part in enumerate(parts)]
    found = dictionary.to_frame("text").select(
        pl.concat_str(expressions, separator=delimiter, ignore_nulls=ignore_nulls)
    )
    result = upload(found.to_series()).take(column.values)
    return result.with_values(result.values, both(result.valid, column.valid))


def _refuse_concatenated(call: Call) -> str:
    variable = [one for one in call.arguments if not constant(one)]
    if len(variable) != 1 or any(one.dtype != pl.String for one in call.arguments) or call.options[1]:
        return "a concatenation of several columns of strings is not supported"
    return ""


def _refuse(call: Call) -> str:
    if call.arguments[0].dtype != pl.String:
        return f"functions of strings of {call.arguments[0].dtype} are not supported"
    if not all(constant(one) for one in call.arguments[1:]):
        return "functions of strings with arguments that are not constant are not supported"
    return ""


#: Name -> rule.
TEXT = {
    **{f"string.{name}": Rule(_of_dictionary(name), _refuse) for name in _FUNCTIONS},
    "string.concathorizontal": Rule(_concatenated, _refuse_concatenated),
}
