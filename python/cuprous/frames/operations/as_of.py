"""As-of joins: each row with the one of another frame whose key is next to its own."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous.frames.columns.column import Column
from cuprous.frames.columns.frame import Frame
from cuprous.frames.expressions.evaluate import finished, whole
from cuprous.frames.expressions.rule import kind_of
from cuprous.frames.operations.join import joint, key_codes
from cuprous.frames.plan.expressions import Name, Named
from cuprous.frames.plan.nodes import AsOfJoin
from cuprous.frames.reasons import refuse_unless

_STRATEGIES = ("backward", "forward", "nearest")
_WIDEST = 1 << 62


def refuse_as_of(node: AsOfJoin) -> None:
    """Raises `Refused` if an as-of join is not supported."""
    refuse_unless(node.strategy in _STRATEGIES, f"join_asof(strategy={node.strategy!r}) is not supported")
    exact = node.equal or node.strategy != "nearest"
    refuse_unless(exact, "join_asof(strategy='nearest', allow_exact_matches=False) is not supported")
    one, other = node.left_on.expression, node.right_on.expression
    refuse_unless(one.dtype == other.dtype, f"join keys of {one.dtype} and {other.dtype} are not supported")
    kind = kind_of(one)
    refuse_unless(kind in ("int", "float", "temporal"), f"join_asof on {one.dtype} is not supported")
    left, right = node.inputs
    for mine, theirs in zip(node.by_left, node.by_right, strict=True):
        dtypes = left.schema[mine], right.schema[theirs]
        refuse_unless(dtypes[0] == dtypes[1], f"join keys of {dtypes[0]} and {dtypes[1]} are not supported")
    names = list(_right_names(node).values())
    expected = list(node.schema)[len(left.schema) :]
    refuse_unless(names == expected, f"the join gives the columns {names} instead of {expected}")


def _right_names(node: AsOfJoin) -> dict[str, str]:
    """Name on the right side -> name in the result."""
    left, right = node.inputs
    key = node.right_on.expression
    dropped = {*node.by_right, *([key.name] if node.coalesce and isinstance(key, Name) else [])}
    kept = [name for name in right.schema if name not in dropped]
    return {name: name + node.suffix if name in left.schema else name for name in kept}


def as_of_join(node: AsOfJoin, left: Frame, right: Frame) -> Frame:
    """Returns the left rows, each with the columns of the right row that is next to it."""
    one, other = _key(node.left_on, left), _key(node.right_on, right)
    rows, present = (cp.zeros(left.height, "int64"), cp.zeros(left.height, "bool"))
    if left.height and right.height:
        rows, present = _next_rows(node, left, right, one, other)
    columns = {to: right.columns[name].take_or_null(rows, present) for name, to in _right_names(node).items()}
    return Frame({**left.columns, **columns}, left.height)


def _key(key: Named, frame: Frame) -> Column:
    """The column of a key, which must be in order."""
    column = finished(whole(frame).evaluate(key.expression), frame.height)
    complete = column.valid is None or bool(cp.all(column.valid))
    refuse_unless(complete, "join_asof on a column with nulls is not supported")
    if column.values.dtype.kind == "f":
        refuse_unless(not bool(cp.any(cp.isnan(column.values))), "join_asof on a column with NaN is not supported")
    values = column.values
    refuse_unless(bool(cp.all(values[1:] >= values[:-1])), "join_asof on a column that is not in order")
    return column.with_values(values, None)


def _next_rows(node: AsOfJoin, left: Frame, right: Frame, one: Column, other: Column) -> tuple[Any, Any]:
    mine, theirs, end = joint(one, other, False)
    order = groups = None
    if node.by_left:
        by = [left.columns[name] for name in node.by_left], [right.columns[name] for name in node.by_right]
        my_group, their_group, number = key_codes(*by, nulls_equal=False)
        if end is None or end * number >= _WIDEST:
            distinct, inverse = cp.unique(cp.concatenate([mine, theirs]), return_inverse=True)
            mine, theirs, end = inverse[: left.height], inverse[left.height :], int(distinct.shape[0])
        mine, theirs = my_group * end + mine, their_group * end + theirs
        order = cp.argsort(theirs, kind="stable")
        theirs, groups = theirs[order], (my_group, their_group[order])

    def found(position: Any) -> tuple[Any, Any]:
        """The right rows at some positions, and where they are in the group."""
        present = (position >= 0) & (position < right.height)
        position = cp.clip(position, 0, right.height - 1)
        if groups is not None:
            present = present & (groups[1][position] == groups[0]) & (groups[0] >= 0)
        rows = position if order is None else order[position]
        return rows, present if node.tolerance is None else present & (_distance(one, other, rows) <= node.tolerance)

    before = cp.searchsorted(theirs, mine, side="right" if node.equal else "left") - 1
    after = cp.searchsorted(theirs, mine, side="left" if node.equal else "right")
    if node.strategy != "nearest":
        return found(before if node.strategy == "backward" else after)
    rows, present = found(before)
    # Of right rows with equal keys the last one counts.
    last = cp.searchsorted(theirs, theirs[cp.clip(after, 0, right.height - 1)], side="right") - 1
    later, later_present = found(cp.where(after < right.height, last, after))
    nearer = _distance(one, other, later) <= _distance(one, other, rows)  # of two equally near the later
    later_wins = later_present & (nearer | ~present)
    return cp.where(later_wins, later, rows), present | later_present


def _distance(left: Column, right: Column, rows: Any) -> Any:
    """The distances of the left keys and those of some right rows."""
    exact = "float64" if left.values.dtype.kind == "f" else "int64"
    return cp.abs(left.values.astype(exact) - right.values[rows].astype(exact))
