"""Functions in which a value depends on other rows: of the frame, or of a group inside `over`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import Column, both, validity
from cuprous.frames.columns.dtypes import array_dtype
from cuprous.frames.columns.keys import bounds, ordered
from cuprous.frames.columns.segments import Segments
from cuprous.frames.expressions.casts import fits
from cuprous.frames.expressions.rule import kind_of, only
from cuprous.frames.plan.expressions import Call, Expression, Literal, walk
from cuprous.frames.reasons import refuse_unless

#: Rows of the largest window that is computed here: each is one more operation.
_LARGEST_WINDOW = 64
#: Integers up to this are float64 without a rounding.
_EXACT = 2**53
_WIDEST = 1 << 62


@dataclass(frozen=True)
class SequenceRule:
    """How a function of other rows is computed, and what of it is refused.

    Parameters
    ----------
    compute : callable
        The result at the positions of segments, of columns there.
    refuse : callable
        The reason why a call is left to Polars, or "".
    """

    compute: Callable[[Call, list[Column], Segments], Column]
    refuse: Callable[[Call], str]


def _at(column: Column, positions: Any, of: Segments) -> Column:
    """The values at other positions of the same group, null where these are outside of it."""
    present = (positions >= of.begin) & (positions < of.end)
    return column.take_or_null(positions, present)


def _shift(call: Call, columns: list[Column], of: Segments) -> Column:
    return _at(columns[0], of.positions - _distance(call), of)


def _distance(call: Call) -> int:
    distance = call.arguments[1]
    assert isinstance(distance, Literal)
    return distance.value


def _refuse_shift(call: Call) -> str:
    distance = call.arguments[1]
    constant = isinstance(distance, Literal) and isinstance(distance.value, int)
    return "" if constant else f"{call.function} by what is not constant is not supported"


def _diff(call: Call, columns: list[Column], of: Segments) -> Column:
    column = columns[0]
    if column.dtype == pl.UInt64:  # what int64 does not hold is null
        column = column.with_values(column.values, both(column.valid, fits(column.values, "int64")))
    before = _shift(call, [column, *columns[1:]], of)
    dtype = array_dtype(call.dtype)
    return Column(
        column.values.astype(dtype) - before.values.astype(dtype), both(column.valid, before.valid), call.dtype
    )


def _refuse_diff(call: Call) -> str:
    if call.options != ("ignore",):
        return f"diff(null_behavior={call.options[0]!r}) is not supported"
    if kind_of(call.arguments[0]) not in ("int", "float"):
        return f"diff of {call.arguments[0].dtype} is not supported"
    return _refuse_shift(call)


def _accumulated(numbers: Any, reverse: bool, of: Segments) -> Any:
    """The sums of numbers up to each position, or from each position to the end of its group."""
    found = of.from_begin(numbers)
    if not reverse or of.height == 0:
        return found
    return found[of.end - 1] - found + numbers


def _cum_sum(call: Call, columns: list[Column], of: Segments) -> Column:
    (column,) = columns
    values = column.values.astype(array_dtype(call.dtype))
    if column.valid is not None:
        values = cp.where(column.valid, values, 0).astype(values.dtype)
    return Column(_accumulated(values, call.options[0], of), column.valid, call.dtype)


def _cum_count(call: Call, columns: list[Column], of: Segments) -> Column:
    numbers = validity(columns[0]).astype(array_dtype(call.dtype))
    return Column(_accumulated(numbers, call.options[0], of), None, call.dtype)


def _cum_extreme(name: str) -> Callable[[Call, list[Column], Segments], Column]:
    """The least or largest value so far in each group; nulls are left out, and stay."""

    def compute(call: Call, columns: list[Column], of: Segments) -> Column:
        (column,) = columns
        if of.height == 0:
            return column
        codes = ordered(column)
        refuse_unless(codes.domain is not None, f"{name} of values so far apart is not supported")
        assert codes.domain is not None
        width = codes.domain + 1
        refuse_unless(width * of.height < _WIDEST, f"{name} of values so far apart is not supported")
        # Code 0 is for nulls, which are passed by; positions of a group have numbers above those of the groups before.
        known = codes.values + 1 if name == "cum_max" else codes.domain - codes.values
        if column.valid is not None:
            known = cp.where(column.valid, known, 0)
        reverse = call.options[0]
        group = of.height - of.end if reverse else of.begin
        keys = group * width + known
        found = cp.maximum.accumulate(keys[::-1])[::-1] if reverse else cp.maximum.accumulate(keys)
        best = found - group * width
        low = bounds(column)[0] if column.values.dtype.kind in "iu" else 0
        values = (best - 1 if name == "cum_max" else codes.domain - best) + low
        return column.with_values(values.astype(column.values.dtype), column.valid)

    return compute


def _rank(call: Call, columns: list[Column], of: Segments) -> Column:
    (column,) = columns
    method, descending, _ = call.options
    codes = ordered(column).values
    if descending:
        codes = ~codes
    if column.valid is not None:
        codes = cp.where(column.valid, codes, 0)
    order = cp.argsort(codes, kind="stable")
    if column.valid is not None:  # nulls come last, and count for nothing
        order = order[cp.argsort(~column.valid[order], kind="stable")]
    if of.order is not None:
        order = order[cp.argsort(of.begin[order], kind="stable")]
    # From here on, a place is a position of the sorted values; groups have the same places as positions.
    found = _RANKS[method](_is_first(codes[order], column, order, of), of).astype(array_dtype(call.dtype))
    values = cp.zeros(of.height, found.dtype)
    values[order] = found
    return Column(values, column.valid, call.dtype)


def _is_first(codes: Any, column: Column, order: Any, of: Segments) -> Any:
    """Where another value begins, or another group."""
    changed = codes[1:] != codes[:-1]
    if column.valid is not None:
        valid = column.valid[order]
        changed = changed | (valid[1:] != valid[:-1])
    return cp.concatenate([cp.ones(min(1, of.height), "bool"), changed]) | (of.positions == of.begin)


def _least_rank(is_first: Any, of: Segments) -> Any:
    """One more than the number of smaller values."""
    return cp.maximum.accumulate(cp.where(is_first, of.positions, 0)) - of.begin + 1


def _greatest_rank(is_first: Any, of: Segments) -> Any:
    """The number of values that are not greater."""
    if of.height == 0:
        return of.positions
    is_last = cp.concatenate([is_first[1:], cp.ones(1, "bool")])
    last = cp.minimum.accumulate(cp.where(is_last, of.positions, of.height)[::-1])[::-1]
    return last - of.begin + 1


#: Name of a method -> the ranks of sorted values, by where another value begins.
_RANKS: dict[str, Callable[[Any, Segments], Any]] = {
    "average": lambda first, of: (_least_rank(first, of) + _greatest_rank(first, of)) / 2,
    "dense": lambda first, of: of.from_begin(first.astype("int64")),
    "max": _greatest_rank,
    "min": _least_rank,
    "ordinal": lambda _, of: of.positions - of.begin + 1,
}


def _refuse_rank(call: Call) -> str:
    if call.options[0] not in _RANKS:
        return f"rank(method={call.options[0]!r}) is not supported"
    return only("bool", "int", "float", "decimal", "temporal")(call)


def _rolling(name: str) -> Callable[[Call, list[Column], Segments], Column]:
    def compute(call: Call, columns: list[Column], of: Segments) -> Column:
        size, least, _, center, _ = call.options
        dtype = array_dtype(call.dtype)
        if name == "mean":  # Polars adds to and subtracts from one float
            exact = size * max(map(abs, bounds(columns[0]))) <= _EXACT
            refuse_unless(exact, "a rolling mean of more than 53 bits is not supported")
        last = of.positions + (size - 1 - size // 2 if center else 0)
        total: Any = cp.zeros(of.height, "int64" if name == "sum" else "float64")
        count: Any = cp.zeros(of.height, "int64")
        for k in range(size - 1, -1, -1):
            one = _at(columns[0], last - k, of)
            total = total + cp.where(one.valid, one.values, 0).astype(total.dtype)
            count = count + one.valid.astype("int64")
        values = total / cp.maximum(count, 1) if name == "mean" else total
        return Column(values.astype(dtype), count >= max(1, least), call.dtype)

    return compute


def _rolling_extreme(better: Callable[[Any, Any], Any]) -> Callable[[Call, list[Column], Segments], Column]:
    def compute(call: Call, columns: list[Column], of: Segments) -> Column:
        size, least, _, center, _ = call.options
        last = of.positions + (size - 1 - size // 2 if center else 0)
        found: Any = None
        count: Any = cp.zeros(of.height, "int64")
        for k in range(size - 1, -1, -1):
            one = _at(columns[0], last - k, of)
            valid = validity(one)
            if found is not None:
                found = cp.where((count > 0) & valid, better(found, one.values), cp.where(valid, one.values, found))
            else:
                found = one.values
            count = count + valid.astype("int64")
        return Column(found.astype(array_dtype(call.dtype)), count >= max(1, least), call.dtype)

    return compute


def _refuse_rolling(call: Call) -> str:
    size, _, weights, _, parameters = call.options
    if weights is not None or parameters:
        return "a rolling window with weights is not supported"
    if size > _LARGEST_WINDOW:
        return f"a rolling window of more than {_LARGEST_WINDOW} rows is not supported"
    return only("int")(call)


def has_sequence(expression: Expression) -> bool:
    """Returns true if a value of an expression depends on other rows, apart from aggregates."""
    return any(isinstance(one, Call) and one.function in SEQUENCES for one in walk(expression))


def _refuse_sum(call: Call) -> str:
    # Sums of floats depend on the order of the additions.
    return only("int")(call)


#: Name -> rule.
SEQUENCES = {
    "cum_count": SequenceRule(_cum_count, lambda _: ""),
    "cum_max": SequenceRule(_cum_extreme("cum_max"), only("bool", "int", "temporal")),
    "cum_min": SequenceRule(_cum_extreme("cum_min"), only("bool", "int", "temporal")),
    "cum_sum": SequenceRule(_cum_sum, _refuse_sum),
    "diff": SequenceRule(_diff, _refuse_diff),
    "rank": SequenceRule(_rank, _refuse_rank),
    "rolling.max": SequenceRule(_rolling_extreme(cp.maximum), _refuse_rolling),
    "rolling.min": SequenceRule(_rolling_extreme(cp.minimum), _refuse_rolling),
    "rolling.mean": SequenceRule(_rolling("mean"), _refuse_rolling),
    "rolling.sum": SequenceRule(_rolling("sum"), _refuse_rolling),
    "shift": SequenceRule(_shift, _refuse_shift),
}
