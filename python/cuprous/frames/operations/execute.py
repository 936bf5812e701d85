"""Runs a plan: one function for each class of nodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import ONE, Column, both
from cuprous.frames.columns.files import ParquetFiles
from cuprous.frames.columns.frame import Extent, Frame
from cuprous.frames.columns.groups import Groups
from cuprous.frames.columns.residency import Residency
from cuprous.frames.expressions.evaluate import Context, finished, whole
from cuprous.frames.expressions.sequences import has_sequence
from cuprous.frames.operations.as_of import as_of_join
from cuprous.frames.operations.join import join
from cuprous.frames.operations.order import sorted_rows
from cuprous.frames.operations.rows import distinct, union
from cuprous.frames.operations.windows import index_windows
from cuprous.frames.plan import nodes
from cuprous.frames.plan.expressions import Aggregate, Expression, Length, Literal, Name, Named, Window, walk
from cuprous.frames.reasons import refuse_unless
from cuprous.frames.reporting import Entry
from cuprous.frames.table import Table

#: Nodes whose input may have columns of one value.
_TAKE_ONE_VALUE = (nodes.Project, nodes.Select, nodes.WithColumns)
#: Aggregates that take a filter as a mask, so that rows need not be moved.
_BY_MASK = {"sum", "mean", "min", "max", "count", "null_count", "std", "var", "any", "all", "first", "last"}


class Run:
    """One run of a plan.

    Parameters
    ----------
    residency : Residency
        The columns that are on the device already.
    device : str
        The name of the device for the report.
    """

    def __init__(self, residency: Residency, device: str) -> None:
        self._residency = residency
        self._device = device
        self._caches: dict[int, Frame] = {}
        self._resident: list[Any] = []
        self._ran: list[tuple[str, list[Extent], Extent, float, int]] = []

    def frame(self, node: nodes.Node) -> Frame:
        """Returns the result of a node.

        Raises
        ------
        Refused
            If the data do not fit; nothing has changed then.
        """
        if isinstance(node, nodes.Cache):
            if node.key not in self._caches:
                self._caches[node.key] = self.frame(node.inputs[0])
            return self._caches[node.key]
        inputs = [self._input(node, self.frame(one)) for one in node.inputs]
        if not isinstance(node, _TAKE_ONE_VALUE):
            single = any(column.level == ONE for one in inputs for column in one.columns.values())
            refuse_unless(not single, "a value of all rows is not repeated for each row")
        start, moved = time.perf_counter(), self._residency.bytes_moved
        result = _NODES[type(node)](self, node, inputs)
        milliseconds = (time.perf_counter() - start) * 1e3
        moved = self._residency.bytes_moved - moved
        self._ran.append((node.title, [one.extent for one in inputs], result.extent, milliseconds, moved))
        return result

    def result(self, node: nodes.Node) -> Frame:
        """Returns the result of a node with all of its rows in arrays.

        Raises
        ------
        Refused
            If the data do not fit; nothing has changed then.
        """
        return self.frame(node).materialized()

    @property
    def entries(self) -> list[Entry]:
        """What has run, for the report. Rows that masks select are counted here."""

        def rows(extent: Extent) -> int:
            return extent if isinstance(extent, int) else extent.count

        return [
            Entry(title, self._device, sum(map(rows, taken)), rows(given), milliseconds, moved)
            for title, taken, given, milliseconds, moved in self._ran
        ]

    @staticmethod
    def _input(node: nodes.Node, frame: Frame) -> Frame:
        """The input of a node, without a mask unless the node takes it."""
        if frame.mask is None:
            return frame
        takes_mask = type(node) in _TAKE_MASK and _TAKE_MASK[type(node)](node, frame)
        return frame if takes_mask else frame.materialized()

    def scan(self, node: Any) -> Frame:
        """Returns the columns of a frame in memory, copied to the device unless they are there."""
        source = node.source
        if isinstance(source, Table):
            # Its arrays may have been written to since something was computed of them.
            return Frame({name: replace(source.column(name), memo={}) for name in node.schema}, len(source))
        if isinstance(source, ParquetFiles):
            read, moved = source.frame(node.schema)
            self._residency.bytes_moved += moved
            return read
        columns = {name: self._residency.column(source.get_column(name)) for name in node.schema}
        self._resident += [array for one in columns.values() for array in (one.values, one.valid) if array is not None]
        return Frame(columns, source.height)

    def owned(self, frame: Frame) -> Frame:
        """Returns a frame that shares no memory with columns that stay on the device, so that it may be written to."""

        def own(array: Any) -> Any:
            shared = array is not None and any(cp.may_share_memory(array, one) for one in self._resident)
            return array.copy() if shared else array

        columns = {name: one.with_values(own(one.values), own(one.valid)) for name, one in frame.columns.items()}
        return Frame(columns, frame.height)


def _takes_mask(expression: Expression) -> bool:
    """Returns true if the value of an expression does not depend on rows outside of a mask, nor on their numbers."""
    if isinstance(expression, (Length, Literal)):
        return True
    if isinstance(expression, Aggregate):
        inner = list(walk(expression.argument))
        of_rows = not any(isinstance(one, (Aggregate, Window)) for one in inner) and not has_sequence(expression)
        return expression.function in _BY_MASK and of_rows
    return not isinstance(expression, (Name, Window)) and all(map(_takes_mask, expression.inputs()))


def _is_of_rows(expression: Expression) -> bool:
    """Returns true if each value of an expression depends on one row alone."""
    inner = list(walk(expression))
    return not has_sequence(expression) and not any(isinstance(one, (Aggregate, Length, Window)) for one in inner)


def _groups_take_mask(node: Any, frame: Frame) -> bool:
    aggregates = [one.expression for one in node.aggregates]
    keys_are_of_rows = all(_is_of_rows(key.expression) for key in node.keys)
    return keys_are_of_rows and all(map(_takes_mask, aggregates)) and frame.is_dense


#: Class of a node -> whether it takes a frame with a mask.
_TAKE_MASK: dict[type[nodes.Node], Callable[[Any, Frame], bool]] = {
    nodes.Filter: lambda node, _: _is_of_rows(node.condition),
    nodes.GroupBy: _groups_take_mask,
    nodes.Project: lambda node, _: True,
    nodes.Select: lambda node, _: all(_takes_mask(one.expression) for one in node.columns),
    nodes.WithColumns: lambda node, frame: all(_is_of_rows(one.expression) for one in node.columns) and frame.is_dense,
}


def _columns(context: Context, columns: tuple[Named, ...], kept: dict[str, Column], height: int | None = None) -> Frame:
    found = {one.name: context.evaluate(one.expression) for one in columns}
    for one in found.values():
        _unselected(one)
    if height is None:
        lengths = {len(one) for one in found.values() if one.level != ONE}
        height = lengths.pop() if lengths else 1
    return Frame({**kept, **{name: finished(column, height) for name, column in found.items()}}, height)


def _unselected(column: Column) -> Column:
    refuse_unless(column.selected is None, "a filter inside an expression is supported in aggregates only")
    return column


def _filter(_: Run, node: Any, inputs: list[Frame]) -> Frame:
    (frame,) = inputs
    condition = whole(frame).evaluate(node.condition)
    condition = finished(condition, frame.height)
    return frame.filtered(both(condition.values, condition.valid))


def _select(_: Run, node: Any, inputs: list[Frame]) -> Frame:
    (frame,) = inputs
    return _columns(whole(frame, None if frame.mask is None else frame.mask.values), node.columns, {})


def _with_columns(_: Run, node: Any, inputs: list[Frame]) -> Frame:
    (frame,) = inputs
    if node.broadcast:
        found = _columns(whole(frame), node.columns, frame.columns, frame.height)
        return replace(found, mask=frame.mask)
    context = whole(frame)
    columns = {one.name: _unselected(context.evaluate(one.expression)) for one in node.columns}
    return replace(frame, columns={**frame.columns, **columns})


def _sort(_: Run, node: Any, inputs: list[Frame]) -> Frame:
    (frame,) = inputs
    context = whole(frame)
    keys = [finished(context.evaluate(key.expression), frame.height) for key in node.keys]
    rows = sorted_rows(keys, node.descending, node.nulls_last)
    if node.slice is not None:
        wanted = Frame({}, frame.height).slice(*node.slice)
        begin = node.slice[0] if node.slice[0] >= 0 else frame.height + node.slice[0]
        begin = min(max(begin, 0), frame.height)
        rows = rows[begin : begin + wanted.height]
    return frame.take(rows)


def _group_by(_: Run, node: Any, inputs: list[Frame]) -> Frame:
    (frame,) = inputs
    context = whole(frame)
    keys = {key.name: finished(context.evaluate(key.expression), frame.height) for key in node.keys}
    if frame.height == 0:
        return _no_groups(node, frame, keys)
    groups = Groups(list(keys.values()), None if frame.mask is None else frame.mask.values)
    inner = Context(frame, groups)
    for one in node.aggregates:
        inner.expect(one.expression)
    columns = {name: finished(column, groups.count) for name, column in zip(keys, groups.keys, strict=True)}
    for one in node.aggregates:
        found = inner.evaluate(one.expression)
        refuse_unless(found.level != "rows", f"the aggregate {one.name!r} is a list for each group")
        columns[one.name] = finished(found, groups.count)
    return _sliced(Frame(columns, groups.count), node.slice)


def _top_rows(_: Run, node: Any, inputs: list[Frame]) -> Frame:
    (frame,) = inputs
    context = whole(frame)
    keys = {key.name: finished(context.evaluate(key.expression), frame.height) for key in node.keys}
    value = finished(context.evaluate(node.value.expression), frame.height)
    if frame.height == 0:
        return Frame({**keys, node.value.name: value}, 0)
    groups = Groups(list(keys.values()))
    numbers = Column(groups.numbers, None, pl.Int64())
    rows = sorted_rows([numbers, value], [False, not node.smallest], [True, True])
    ends = cp.cumsum(groups.sizes)
    before = (ends - groups.sizes)[groups.numbers[rows]]
    return Frame({**keys, node.value.name: value}, frame.height).take(
        rows[cp.flatnonzero(cp.arange(frame.height) - before < node.count)]
    )


def _no_groups(node: Any, frame: Frame, keys: dict[str, Column]) -> Frame:
    """The result without rows: each aggregate of the empty frame, without its one value."""
    inner = whole(frame)
    for one in node.aggregates:
        keys[one.name] = inner.evaluate(one.expression).slice(0, 0).at_level("rows")
    return Frame(keys, 0)


def _sliced(frame: Frame, slice: tuple[int, int] | None) -> Frame:
    return frame if slice is None else frame.slice(*slice)


def _row_index(_: Run, node: Any, inputs: list[Frame]) -> Frame:
    (frame,) = inputs
    dtype = node.schema[node.name]
    numbers = (cp.arange(frame.height) + node.offset).astype("uint32")
    return Frame({node.name: Column(numbers, None, dtype), **frame.columns}, frame.height)


#: Class of a node -> its result.
_NODES: dict[type[nodes.Node], Callable[[Run, Any, list[Frame]], Frame]] = {
    nodes.AsOfJoin: lambda _, node, inputs: _sliced(as_of_join(node, *inputs), node.slice),
    nodes.Distinct: lambda _, node, inputs: _sliced(distinct(node, inputs[0]), node.slice),
    nodes.Filter: _filter,
    nodes.GroupBy: _group_by,
    nodes.IndexWindows: lambda _, node, inputs: _sliced(index_windows(node, inputs[0]), node.slice),
    nodes.Join: lambda _, node, inputs: _sliced(join(node, *inputs), node.slice),
    nodes.Project: lambda _, node, inputs: inputs[0].project(node.schema),
    nodes.RowIndex: _row_index,
    nodes.Scan: lambda run, node, _: run.scan(node),
    nodes.Select: _select,
    nodes.Slice: lambda _, node, inputs: inputs[0].slice(node.offset, node.length),
    nodes.Sort: _sort,
    nodes.TopRows: _top_rows,
    nodes.Union: lambda _, node, inputs: _sliced(union(inputs), node.slice),
    nodes.WithColumns: _with_columns,
}
