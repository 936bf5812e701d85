"""Joins: pairs of rows with equal keys, then the columns of both sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cuprous as cp
from cuprous.frames.columns.column import Column, both, null_column, validity, with_one_dictionary
from cuprous.frames.columns.frame import Frame
from cuprous.frames.columns.keys import bounds, equal
from cuprous.frames.expressions.evaluate import finished, whole
from cuprous.frames.operations.inequality import MOST_PAIRS, inequality_pairs
from cuprous.frames.operations.rows import concatenated
from cuprous.frames.plan.expressions import Name, Named
from cuprous.frames.plan.nodes import Join
from cuprous.frames.reasons import refuse_unless

_KINDS = ("inner", "left", "semi", "anti", "full", "cross", "iejoin")
#: Orders that pairs have here: by the left row, then by the right row.
_ORDERS = ("none", "left", "left_right")
#: Orders by the right row that an inner join is brought into.
_RIGHT_ORDERS = ("right", "right_left")
#: Codes of two keys below this are one int64.
_WIDE = 1 << 31


def refuse_join(node: Join) -> None:
    """Raises `Refused` if a join is not supported."""
    refuse_unless(node.how in _KINDS, f"a join of kind {node.how} is not supported")
    order = node.maintain_order
    refuse_unless(
        order in _ORDERS or (order in _RIGHT_ORDERS and node.how == "inner"),
        f"join(maintain_order={order!r}) is not supported",
    )
    refuse_unless(node.how != "full" or order == "none", f"a full join with maintain_order={order!r} is not supported")
    for left, right in zip(node.left_on, node.right_on, strict=True):
        one, other = left.expression.dtype, right.expression.dtype
        refuse_unless(one == other, f"join keys of {one} and {other} are not supported")
    if node.how not in ("semi", "anti"):
        names = list(_output_names(node))
        refuse_unless(names == list(node.schema), f"the join gives the columns {names} instead of {list(node.schema)}")


def _dropped(node: Join) -> set[str]:
    """Columns of the right side that a join leaves out: keys whose values the left ones have."""
    if not node.coalesce or node.how in ("cross", "iejoin"):
        return set()
    return {one.expression.name for one in node.right_on if isinstance(one.expression, Name)}


def _output_names(node: Join) -> dict[str, tuple[str, str]]:
    """Name of a result -> its side and its name there."""
    left, right = node.inputs
    names = {name: ("left", name) for name in left.schema}
    for name in right.schema:
        if name not in _dropped(node):
            names[name + node.suffix if name in left.schema else name] = ("right", name)
    return names


def _codes(node: Join, left: list[Column], right: list[Column]) -> tuple[Any, Any, int]:
    """One code for the keys of each row of both sides, and the end of the codes."""
    one, other, end = _joint(left[0], right[0], node.nulls_equal)
    for left_key, right_key in zip(left[1:], right[1:], strict=True):
        if end >= _WIDE:
            one, other, end = _distinct(one, other)
        next_one, next_other, width = _joint(left_key, right_key, node.nulls_equal)
        if width >= _WIDE:
            next_one, next_other, width = _distinct(next_one, next_other)
        one, other, end = one * width + next_one, other * width + next_other, end * width
    heights = (int(one.shape[0]), int(other.shape[0]))
    if end <= 4 * sum(heights) + (1 << 20):
        return one, other, end
    if 16 * min(heights) > max(heights):
        return _distinct(one, other)
    if heights[0] < heights[1]:
        return _narrowed(one, other)
    other, one, end = _narrowed(other, one)
    return one, other, end


def _joint(left: Column, right: Column, with_null: bool) -> tuple[Any, Any, int]:
    """Codes of one key on both sides, and their end. Without `with_null`, nulls have arbitrary codes."""
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
            codes = equal(both_sides if with_null else both_sides.with_values(both_sides.values, None))
            assert codes.domain is not None
            return codes.values[: len(left)], codes.values[len(left) :], codes.domain
        one, other, end = left.values.astype("int64") - low, right.values.astype("int64") - low, high - low + 1
    one, other = one.astype("int64"), other.astype("int64")
    if not with_null or (left.valid is None and right.valid is None):
        return one, other, end
    return cp.where(validity(left), one + 1, 0), cp.where(validity(right), other + 1, 0), end + 1


def _distinct(left: Any, right: Any) -> tuple[Any, Any, int]:
    """Codes that number the distinct ones of both sides."""
    found, inverse = cp.unique(cp.concatenate([left, right]), return_inverse=True)
    height = int(left.shape[0])
    return inverse[:height], inverse[height:], max(1, int(found.shape[0]))


def _narrowed(few: Any, many: Any) -> tuple[Any, Any, int]:
    """Codes of a small domain: what the shorter side does not have is its end."""
    distinct, inverse = cp.unique(few, return_inverse=True)
    end = int(distinct.shape[0])
    if end == 0:
        return inverse, cp.zeros(many.shape, "int64"), 1
    position = cp.minimum(cp.searchsorted(distinct, many), end - 1)
    return inverse, cp.where(distinct[position] == many, position, end), end + 1


def _matchable(node: Join, columns: list[Column]) -> Any:
    """The rows whose keys may be equal to others; None for all."""
    return None if node.nulls_equal else both(*(column.valid for column in columns))


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
    left_codes, right_codes, end = _codes(node, left_keys, right_keys)
    left_valid, right_valid = _matchable(node, left_keys), _matchable(node, right_keys)
    present = right_codes if right_valid is None else right_codes[right_valid]
    counts = cp.bincount(present, minlength=end)
    matches = counts[left_codes]
    if left_valid is not None:
        matches = cp.where(left_valid, matches, 0)
    if node.how in ("semi", "anti"):
        return left.take(cp.flatnonzero(matches > 0 if node.how == "semi" else matches == 0))
    keep_left = node.how in ("left", "full")
    left_rows, nth, matched = _repeated(matches, keep_left)
    wanted = left_codes if left_rows is None else left_codes[left_rows]
    right_rows = _right_rows(right_codes, right_valid, counts, wanted, nth)
    if node.maintain_order in _RIGHT_ORDERS:
        order = cp.argsort(right_rows, kind="stable")
        left_rows = cp.arange(left.height) if left_rows is None else left_rows
        left_rows, right_rows = left_rows[order], right_rows[order]
    right_present = matched if keep_left else None
    left_present = None
    if node.how == "full":
        left_rows = cp.arange(left.height) if left_rows is None else left_rows
        alone = _unmatched(left_codes, left_valid, right_codes, right_valid, end)
        left_present = cp.concatenate([cp.ones(left_rows.shape, "bool"), cp.zeros(alone.shape, "bool")])
        right_present = cp.concatenate([matched, cp.ones(alone.shape, "bool")])
        left_rows = cp.concatenate([left_rows, cp.zeros(alone.shape, "int64")])
        right_rows = cp.concatenate([right_rows, alone])
    return _gathered(node, left, right, left_rows, right_rows, left_present, right_present)


def _keys(keys: tuple[Named, ...], frame: Frame) -> list[Column]:
    context = whole(frame)
    return [finished(context.evaluate(key.expression), frame.height) for key in keys]


def _repeated(matches: Any, keep_left: bool) -> tuple[Any, Any, Any]:
    """The left row of each pair (None for each row once), which of its matches it is, and whether it has one.

    Args:
        matches: the number of matches of each left row.
        keep_left: whether rows without a match are kept.
    """
    counts: Any = cp.maximum(matches, 1) if keep_left else matches
    rows = cp.flatnonzero(counts)
    total = int(counts.sum())
    if int(rows.shape[0]) == total:
        if total == int(counts.shape[0]):
            return None, None, matches > 0
        return rows, None, matches[rows] > 0
    begins = (cp.cumsum(counts) - counts)[rows]
    steps = cp.zeros(total, "int64")
    steps[begins] = cp.diff(rows, prepend=cp.zeros(1, "int64"))
    left_rows = cp.cumsum(steps)
    bases = cp.zeros(counts.shape, "int64")
    bases[rows] = begins
    return left_rows, cp.arange(total) - bases[left_rows], matches[left_rows] > 0


def _right_rows(codes: Any, valid: Any, counts: Any, wanted: Any, nth: Any) -> Any:
    """The right row that is the nth with a code."""
    rows = cp.arange(codes.shape[0]) if valid is None else cp.flatnonzero(valid)
    present = codes if valid is None else codes[rows]
    if int(rows.shape[0]) == 0:
        return cp.zeros(wanted.shape, "int64")
    if int(counts.max()) <= 1:
        table = cp.zeros(counts.shape, "int64")
        table[present] = rows
        return table[wanted]
    order = rows[cp.argsort(present, kind="stable")]
    begins = cp.cumsum(counts) - counts
    position = begins[wanted] if nth is None else begins[wanted] + nth
    return order[cp.clip(position, 0, order.shape[0] - 1)]


def _unmatched(left: Any, left_valid: Any, right: Any, right_valid: Any, end: int) -> Any:
    """The right rows whose key no left row has."""
    present = cp.bincount(left if left_valid is None else left[left_valid], minlength=end)
    matched = present[right] > 0
    return cp.flatnonzero(~matched if right_valid is None else ~(matched & right_valid))


def _gathered(
    node: Join, left: Frame, right: Frame, left_rows: Any, right_rows: Any, left_present: Any, right_present: Any
) -> Frame:
    sides = {"left": (left, left_rows, left_present), "right": (right, right_rows, right_present)}
    height = int(right_rows.shape[0])
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
