"""Groups of `group_by_dynamic` and of `rolling`: a row for each window over an index."""

from __future__ import annotations

from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import Column
from cuprous.frames.columns.frame import Frame
from cuprous.frames.columns.groups import Groups
from cuprous.frames.columns.windows import (
    LARGEST,
    Members,
    Placed,
    checked,
    counts_of,
    in_frame_order,
    members,
    rolling_members,
)
from cuprous.frames.expressions.evaluate import Context, finished, whole
from cuprous.frames.expressions.rule import kind_of
from cuprous.frames.operations.order import sorted_rows
from cuprous.frames.plan.nodes import IndexWindows
from cuprous.frames.plan.windows import Interval
from cuprous.frames.reasons import refuse_unless


def refuse_windows(node: IndexWindows) -> None:
    """Raises `Refused` if windows over an index are not supported."""
    kinds = [kind_of(key.expression) for key in node.keys]
    # Polars has an order of its own for groups of strings.
    refuse_unless("text" not in kinds, "windows over an index of groups of strings are not supported")
    boundaries = ["_lower_boundary", "_upper_boundary"] if node.boundaries else []
    names = [*(key.name for key in node.keys), *boundaries, node.index, *(one.name for one in node.aggregates)]
    refuse_unless(names == list(node.schema), f"the windows give the columns {names} instead of {list(node.schema)}")


def _placed(index: Column, keys: list[Column]) -> tuple[Placed, list[Column]]:
    """The positions of rows, and the keys of the groups in their order."""
    if not keys:
        return in_frame_order(index), []
    groups = Groups(keys)
    ranked = sorted_rows(groups.keys, [False] * len(keys), [False] * len(keys))
    rank = cp.zeros(groups.count, "int64")
    rank[ranked] = cp.arange(groups.count)
    numbers = rank[groups.numbers]
    order = cp.argsort(numbers, kind="stable")
    numbers, sizes = numbers[order], groups.sizes[ranked]
    found = Placed(order, numbers, cp.cumsum(sizes) - sizes, checked(counts_of(index)[order], numbers))
    return found, [column.take(ranked).at_level("rows") for column in groups.keys]


def _dynamic_members(of: Placed, window: Interval, every: int, starts_at_row: bool) -> tuple[Members, Any, Any]:
    """The members of the windows that begin at equal distances, the group and the begin of each window."""
    height = int(of.index.shape[0])
    first = of.index[of.begins]
    excluded = 0 if window.takes_begin else 1
    base = first
    if not starts_at_row:
        base = (first - window.origin) // every * every + window.origin + window.offset
        late = base - first + excluded  # the first window must not begin after the first row
        base = base - cp.maximum(-(-late // every), 0) * every
    distance = of.index - base[of.groups]
    last = (distance - excluded) // every
    least = cp.maximum(-((window.period - (0 if window.takes_end else 1) - distance) // every), 0)
    counts = cp.maximum(last - least + 1, 0)
    positions, nth = members(counts, height)
    number = least[positions] + nth
    most = int(last.max()) + 2 if height else 1
    refuse_unless(most * int(of.begins.shape[0]) < LARGEST, "the index is too wide for windows of groups")
    codes, windows = cp.unique(of.groups[positions] * most + number, return_inverse=True)
    begins = base[codes // most] + codes % most * every
    return Members(of.rows(positions), windows, int(codes.shape[0])), codes // most, begins


def index_windows(node: IndexWindows, frame: Frame) -> Frame:
    """Returns a row for each window: the keys of its group, its label and the aggregates of its rows."""
    context = whole(frame)
    keys = [finished(context.evaluate(key.expression), frame.height) for key in node.keys]
    index = frame.columns[node.index]
    if frame.height == 0:
        return _without_rows(node, frame, keys)
    of, named = _placed(index, keys)
    columns: dict[str, Column] = {}
    if node.every is None:
        found_rows = rolling_members(of, node.window)
        groups, label = of.groups, index if of.order is None else index.take(of.order)
    else:
        found_rows, groups, begins = _dynamic_members(of, node.window, node.every, node.start_by == "data_point")
        ends = begins + node.window.period
        if node.boundaries:
            bounds = {"_lower_boundary": begins, "_upper_boundary": ends}
            columns = {name: _of_units(values, node.schema[name]) for name, values in bounds.items()}
        label = _of_units(begins if node.label == "left" else ends, node.schema[node.index])
    inner = Context(frame.take(found_rows.rows), Groups.numbered(found_rows.windows, found_rows.count))
    if node.every is not None and node.label == "data_point":
        label = index.take(found_rows.rows[inner.rows.reduce("first", None, None)])
    columns = {key.name: column.take(groups) for key, column in zip(node.keys, named, strict=True)} | columns
    columns[node.index] = label
    for one in node.aggregates:
        inner.expect(one.expression)
    for one in node.aggregates:
        found = inner.evaluate(one.expression)
        refuse_unless(found.level != "rows", f"the aggregate {one.name!r} is a list for each window")
        columns[one.name] = finished(found, found_rows.count)
    return Frame(columns, found_rows.count)


def _of_units(values: Any, dtype: Any) -> Column:
    """A column of an index of counts, which are microseconds for dates."""
    if dtype == pl.Date:
        return Column((values // 86_400_000_000).astype("int32"), None, dtype)
    return Column(values.astype("int32" if dtype == pl.Int32 else "int64"), None, dtype)


def _without_rows(node: IndexWindows, frame: Frame, keys: list[Column]) -> Frame:
    inner = whole(frame)
    columns = {key.name: column for key, column in zip(node.keys, keys, strict=True)}
    if node.boundaries:
        for name in ("_lower_boundary", "_upper_boundary"):
            columns[name] = Column(cp.zeros(0, "int64"), None, node.schema[name])
    columns[node.index] = frame.columns[node.index]
    for one in node.aggregates:
        columns[one.name] = inner.evaluate(one.expression).slice(0, 0).at_level("rows")
    return Frame(columns, 0)
