"""Joins: pairs of rows with equal keys, then the columns of both sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cuprous as cp
from cuprous.frames.columns.column import Column, both, null_column, validity, with_one_dictionary
from cuprous.frames.columns.frame import Frame
from cuprous.frames.columns.keys import bounds, equal, ordered
from cuprous.frames.columns.rows import group_ids, join_match, join_pairs
from cuprous.frames.expressions.evaluate import finished, whole
from cuprous.frames.operations.inequality import MOST_PAIRS, inequality_pairs
from cuprous.frames.operations.rows import concatenated
from cuprous.frames.plan.expressions import Name, Named
from cuprous.frames.plan.nodes import Join
from cuprous.frames.reasons import refuse_unless

_KINDS = ("inner", "left", "right", "semi", "anti", "full", "cross", "iejoin")
#: Orders that pairs have here: by the left row, then by the right row.
_ORDERS = ("none", "left", "left_right")
#: Orders by the right row, then by the left row, of an inner or right join.
_RIGHT_ORDERS = ("right", "right_left")
#: Codes of two keys below this are one int64.
_WIDE = 1 << 31


def refuse_join(node: Join) -> None:
    """Raises `Refused` if a join is not supported."""
    refuse_unless(node.how in _KINDS, f"a join of kind {node.how} is not supported")
    order = node.maintain_order
    orders = {"inner": _ORDERS + _RIGHT_ORDERS, "right": ("none", *_RIGHT_ORDERS)}.get(node.how, _ORDERS)
    refuse_unless(order in orders, f"a {node.how} join with maintain_order={order!r} is not supported")
    refuse_unless(node.how != "full" or order == "none", f"a full join with maintain_order={order!r} is not supported")
    for left, right in zip(node.left_on, node.right_on, strict=True):
        one, other = left.expression.dtype, right.expression.dtype
        refuse_unless(one == other, f"join keys of {one} and {other} are not supported")
    if node.how not in ("semi", "anti"):
        names = list(_output_names(node))
        refuse_unless(names == list(node.schema), f"the join gives the columns {names} instead of {list(node.schema)}")


def _dropped(node: Join) -> tuple[str, set[str]]:
    """The side and the columns that a join leaves out: keys whose values the other side's have."""
    if not node.coalesce or node.how in ("cross", "iejoin"):
        return "right", set()
    side, keys = ("left", node.left_on) if node.how == "right" else ("right", node.right_on)
    return side, {one.expression.name for one in keys if isinstance(one.expression, Name)}


def _output_names(node: Join) -> dict[str, tuple[str, str]]:
    """Name of a result -> its side and its name there."""
    left, right = node.inputs
    side, dropped = _dropped(node)
    names = {name: ("left", name) for name in left.schema if side != "left" or name not in dropped}
    first = set(names)
    for name in right.schema:
        if side != "right" or name not in dropped:
            names[name + node.suffix if name in first else name] = ("right", name)
    return names


def key_codes(left: list[Column], right: list[Column], nulls_equal: bool) -> tuple[Any, Any, int]:
    """Returns one code for the keys of each row of both sides, and the end of the codes; -1 for keys that equal none.

    Parameters
    ----------
    left : list of Columns
        The keys of one side.
    right : list of Columns
        Those of the other.
    nulls_equal : bool
        Whether nulls equal each other.
    """
    one, other, end = joint(left[0], right[0], nulls_equal)
    for left_key, right_key in zip(left[1:], right[1:], strict=True):
        if end is None or end >= _WIDE:
            one, other, end = _distinct(one, other, end)
        next_one, next_other, width = joint(left_key, right_key, nulls_equal)
        if width is None or width >= _WIDE:
            next_one, next_other, width = _distinct(next_one, next_other, width)
        one, other, end = _pair(one, next_one, width), _pair(other, next_other, width), end * width
    if end is None or end > 4 * (int(one.shape[0]) + int(other.shape[0])) + (1 << 20):
        one, other, end = _distinct(one, other, end)
    if nulls_equal:
        return one, other, end
    return _or_none(one, left), _or_none(other, right), end


def _pair(first: Any, second: Any, width: int) -> Any:
    """Codes of two codes of each row; -1 where one of them equals none."""
    return cp.where((first < 0) | (second < 0), -1, first * width + second)


def _or_none(codes: Any, keys: list[Column]) -> Any:
    """The codes of keys without null, -1 for others."""
    valid = both(*(key.valid for key in keys))
    return codes if valid is None else cp.where(valid, codes, -1)


def joint(left: Column, right: Column, with_null: bool) -> tuple[Any, Any, int | None]:
    """Returns codes of one key on both sides, and their end, None if it is open.

    Without `with_null`, codes have the order of the values, and nulls have arbitrary codes.
    """
    left, right = with_one_dictionary([left, right])
    if left.dictionary is not None:
        one, other, end = left.values, right.values, max(1, len(left.dictionary))
    elif left.values.dtype == "bool":
        one, other, end = left.values, right.values, 2
    else:
        limits = [bounds(side) for side in (left, right) if len(side) and side.values.dtype.kind in "iu"]
        low, high = min((low for low, _ in limits), default=0), max((high for _, high in limits), default=-1)
        if not limits or high - low >= _WIDE or high >= 2**63:
            both_sides = concatenated([left, right])
            codes = equal(both_sides) if with_null else ordered(both_sides)
            return codes.values[: len(left)], codes.values[len(left) :], codes.domain
        one, other, end = left.values.astype("int64") - low, right.values.astype("int64") - low, high - low + 1
    one, other = one.astype("int64"), other.astype("int64")
    if not with_null or (left.valid is None and right.valid is None):
        return one, other, end
    return cp.where(validity(left), one + 1, 0), cp.where(validity(right), other + 1, 0), end + 1


def _distinct(left: Any, right: Any, end: int | None) -> tuple[Any, Any, int]:
    """Codes that number the distinct ones of both sides, or of the shorter one alone if it is much shorter.

    Of codes with an end, -1 stays -1.
    """
    heights = int(left.shape[0]), int(right.shape[0])
    if 16 * min(heights) < max(heights):
        few_left = heights[0] < heights[1]
        few, many = (left, right) if few_left else (right, left)
        one, other, number = _narrowed(few, many)
        if end is not None:
            one, other = cp.where(few < 0, -1, one), cp.where(many < 0, -1, other)
        return (one, other, number) if few_left else (other, one, number)
    codes = cp.concatenate([left, right])
    found = group_ids(codes, end, None if end is None else codes >= 0)
    ids, height = found.ids.astype("int64"), int(left.shape[0])
    return ids[:height], ids[height:], max(1, found.groups)


def _narrowed(few: Any, many: Any) -> tuple[Any, Any, int]:
    """Codes that number the distinct ones of the shorter side; -1 on the other side for what it does not have."""
    distinct, inverse = cp.unique(few, return_inverse=True)
    number = int(distinct.shape[0])
    if number == 0:
        return inverse, cp.full(many.shape, -1, "int64"), 1
    position = cp.minimum(cp.searchsorted(distinct, many), number - 1)
    return inverse, cp.where(distinct[position] == many, position, -1), number


def join(node: Join, left: Frame, right: Frame) -> Frame:
    """Returns the join of two frames."""
    if node.how == "cross":
        pairs = left.height * right.height
        refuse_unless(pairs <= MOST_PAIRS, f"the join has {pairs} pairs of rows")
        rows = cp.arange(left.height * right.height)
        width = max(1, right.height)
        return _gathered(node, left, right, rows // width, rows % width, None, None)
    left_keys, right_keys = _keys(node.left_on, left), _keys(node.right_on, right)
    if node.how == "iejoin":
        return _gathered(node, left, right, *inequality_pairs(node.operators, left_keys, right_keys), None, None)
    left_codes, right_codes, end = key_codes(left_keys, right_keys, node.nulls_equal)
    if node.how in ("semi", "anti"):
        first = join_match(right_codes, left_codes, end).first
        return left.take(cp.flatnonzero(first >= 0 if node.how == "semi" else first < 0))
    # One side is looked up in the other: for an order that was requested, or the longer in the shorter.
    by_right = node.how == "right" or node.maintain_order in _RIGHT_ORDERS
    free = node.how == "inner" and node.maintain_order == "none"
    if by_right or (free and left.height < right.height):
        right_rows, left_rows = _pairs(left_codes, right_codes, end, node.how == "right")
    else:
        left_rows, right_rows = _pairs(right_codes, left_codes, end, node.how in ("left", "full"))
    left_present = left_rows >= 0 if node.how == "right" else None
    right_present = right_rows >= 0 if node.how in ("left", "full") else None
    if node.how == "full":
        assert right_present is not None
        left_rows = cp.arange(left.height) if left_rows is None else left_rows
        alone = cp.flatnonzero(join_match(left_codes, right_codes, end).first < 0)
        left_present = cp.concatenate([cp.ones(left_rows.shape, "bool"), cp.zeros(alone.shape, "bool")])
        right_present = cp.concatenate([right_present, cp.ones(alone.shape, "bool")])
        left_rows = cp.concatenate([left_rows, cp.zeros(alone.shape, "int64")])
        right_rows = cp.concatenate([right_rows, alone])
    return _gathered(node, left, right, left_rows, right_rows, left_present, right_present)


def _pairs(table: Any, keys: Any, end: int, keep: bool) -> tuple[Any, Any]:
    """Rows with equal keys: those of `keys` in order (None for each once), then those of `table` (-1 for none).

    Parameters
    ----------
    table : ndarray
        The codes that are looked up.
    keys : array_like
        The codes whose rows are in order.
    end : int
        The end of the codes.
    keep : bool
        Whether rows of `keys` without an equal one are kept.
    """
    found = join_match(table, keys, end)
    if found.most > 1:
        return join_pairs(table, keys, end, found, keep)
    if keep or found.matched == int(keys.shape[0]):
        return None, found.first
    rows = cp.flatnonzero(found.first >= 0)
    return rows, found.first[rows]


def _keys(keys: tuple[Named, ...], frame: Frame) -> list[Column]:
    context = whole(frame)
    return [finished(context.evaluate(key.expression), frame.height) for key in keys]


def _gathered(
    node: Join, left: Frame, right: Frame, left_rows: Any, right_rows: Any, left_present: Any, right_present: Any
) -> Frame:
    sides = {"left": (left, left_rows, left_present), "right": (right, right_rows, right_present)}
    rows_of_one = right_rows if right_rows is not None else left_rows
    height = int(rows_of_one.shape[0])
    columns = {}
    for name, (side, source) in _output_names(node).items():
        frame, rows, present = sides[side]
        column = frame.columns[source]
        if rows is None:
            columns[name] = column
        else:
            columns[name] = column.take(rows) if present is None else column.take_or_null(rows, present)
    if node.how == "full" and node.coalesce:
        for one, other in zip(node.left_on, node.right_on, strict=True):
            _coalesce(columns, one, right, other, right_rows, left_present)
    return Frame(columns, height)


def _coalesce(columns: dict[str, Column], one: Named, right: Frame, other: Named, rows: Any, present: Any) -> None:
    """Fills a left key with the right key where there is no left row."""
    refuse_unless(
        isinstance(one.expression, Name) and isinstance(other.expression, Name),
        "a coalescing full join on expressions is not supported",
    )
    assert isinstance(one.expression, Name) and isinstance(other.expression, Name)
    key = one.expression.name
    mine, theirs = columns[key], right.columns[other.expression.name]
    if len(theirs) == 0:
        theirs = null_column(theirs.dtype, theirs.dictionary, 1, theirs.values.dtype)
        rows = cp.zeros(rows.shape, "int64")
    mine, theirs = with_one_dictionary([mine, theirs.take(rows)])
    values = cp.where(present, mine.values, theirs.values)
    valid = cp.where(present, validity(mine), validity(theirs))
    columns[key] = replace(mine, values=values, valid=valid, memo={})
