"""Scans larger than memory: aggregates of blocks of rows, which are then aggregated.

A node is computed by blocks if it aggregates rows of one large scan, each row by itself until then: filtered, given
more columns, and joined with frames that are in memory whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.files import ParquetFiles
from cuprous.frames.columns.frame import Frame
from cuprous.frames.expressions.sequences import has_sequence
from cuprous.frames.operations.rows import union
from cuprous.frames.plan import nodes
from cuprous.frames.plan.expressions import Aggregate, Call, Expression, Length, Literal, Name, Named, Window, walk
from cuprous.frames.reasons import refuse_unless
from cuprous.frames.table import Table

#: Bytes of a value that is no number: views of strings, with their text.
_BYTES = 32
#: The part of the free memory that a scan may take: operations hold results beside it.
_PART = 4
#: Results of blocks that are kept apart.
_MOST_RESULTS = 8
#: Aggregates of aggregates: name -> what is computed of the results of blocks.
_MERGED = {"sum": "sum", "count": "sum", "null_count": "sum", "min": "min", "max": "max", "any": "any", "all": "all"}
_COUNT = pl.Int64()


def rows_of_a_block(files: ParquetFiles, schema: dict[str, Any], device: str) -> int | None:
    """Returns how many rows are read at a time; None if all fit in memory."""
    each = sum(1 + _width(dtype) for dtype in schema.values())
    most = max(1, free_memory(device) // _PART // each)
    return None if len(files) <= most else most


def _width(dtype: Any) -> int:
    return 8 if dtype.is_numeric() or dtype.is_temporal() else 1 if dtype == pl.Boolean else _BYTES


def free_memory(device: str) -> int:
    """Returns the free bytes of a device's memory; "cpu" is the host's."""
    if device == "cpu":
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    from cuprous import cuda

    return int(cuda.current_context().get_memory_info().free)


@dataclass(frozen=True)
class Blocked:
    """A node that is computed by blocks.

    Parameters
    ----------
    partial : Node
        The same aggregates of a part of the rows.
    merged : callable
        The function of the results of all parts that gives the node.
    condensed : callable
        The function of the results of some parts that gives the result of these parts as one.
    scan : Scan
        The scan in `partial` whose rows are read in blocks.
    whole : tuple of Node
        The other inputs of joins in `partial`, which each block needs whole.
    """

    partial: nodes.Node
    merged: Callable[[nodes.Node], nodes.Node]
    condensed: Callable[[nodes.Node], nodes.Node]
    scan: nodes.Scan
    whole: tuple[nodes.Node, ...]


def blocked(node: nodes.Node, scan: nodes.Scan) -> Blocked | None:
    """Returns how a node is computed by blocks of a scan below it; None if it is not."""
    aggregates = node.aggregates if isinstance(node, nodes.GroupBy) else ()
    if isinstance(node, nodes.Select) and all(_is_aggregated(one.expression) for one in node.columns):
        aggregates = node.columns
    whole = _row_by_row(node.inputs[0], scan) if aggregates or isinstance(node, nodes.GroupBy) else None
    if whole is None:
        return None
    parts = _Parts()
    expressions = [Named(one.name, rewritten) for one in aggregates if (rewritten := parts.rewritten(one.expression))]
    if len(expressions) < len(aggregates):
        return None
    columns = tuple(Named(name, expression) for name, expression in parts.found.items())
    again = tuple(Named(name, expression) for name, expression in parts.again.items())
    schema = {one.name: one.expression.dtype for one in columns}
    if isinstance(node, nodes.GroupBy):
        keys = {key.name: key.expression.dtype for key in node.keys}
        groups = nodes.GroupBy({**keys, **schema}, node.inputs, node.keys, columns, True, None)
        named = tuple(Named(name, Name(dtype, name)) for name, dtype in keys.items())
        return Blocked(
            groups,
            lambda of: replace(node, inputs=(of,), keys=named, aggregates=tuple(expressions)),
            lambda of: replace(groups, inputs=(of,), keys=named, aggregates=again),
            scan,
            tuple(whole),
        )
    assert isinstance(node, nodes.Select)  # no other node has aggregates
    partial = nodes.Select(schema, node.inputs, columns)
    return Blocked(
        partial,
        lambda of: replace(node, inputs=(of,), columns=tuple(expressions)),
        lambda of: replace(partial, inputs=(of,), columns=again),
        scan,
        tuple(whole),
    )


def _is_aggregated(expression: Expression) -> bool:
    """Returns true if an expression has one value, computed of aggregates and constants."""
    if isinstance(expression, (Aggregate, Length, Literal)):
        return True
    return isinstance(expression, Call) and bool(expression.arguments) and all(map(_is_aggregated, expression.inputs()))


def _is_of_one_row(expression: Expression) -> bool:
    inner = list(walk(expression))
    return not has_sequence(expression) and not any(isinstance(one, (Aggregate, Length, Window)) for one in inner)


def _row_by_row(node: nodes.Node, scan: nodes.Scan) -> list[nodes.Node] | None:
    """The frames that joins need whole, if each row of a scan gives rows of its own; None otherwise."""
    if node is scan:
        return []
    if isinstance(node, nodes.Join):
        sides = {"inner": (0, 1), "left": (0,), "semi": (0,), "anti": (0,), "cross": (0, 1), "iejoin": (0, 1)}
        for side in sides.get(node.how, ()) if node.slice is None else ():
            in_order = node.maintain_order.startswith(("none", ("left", "right")[side]))
            below = _row_by_row(node.inputs[side], scan)
            if in_order and below is not None and not _has(node.inputs[1 - side], scan):
                return [*below, node.inputs[1 - side]]
        return None
    expressions: list[Expression] = []
    if isinstance(node, nodes.Filter):
        expressions = [node.condition]
    elif isinstance(node, (nodes.Select, nodes.WithColumns)):
        expressions = [one.expression for one in node.columns]
        if isinstance(node, nodes.Select) and not any(isinstance(one, Name) for e in expressions for one in walk(e)):
            return None
        if isinstance(node, nodes.WithColumns) and not node.broadcast:
            return None
    elif not isinstance(node, nodes.Project):
        return None
    return _row_by_row(node.inputs[0], scan) if all(map(_is_of_one_row, expressions)) else None


def _has(node: nodes.Node, scan: nodes.Scan) -> bool:
    return node is scan or any(_has(one, scan) for one in node.inputs)


class _Parts:
    """Columns of the results of blocks, and expressions of these columns."""

    def __init__(self) -> None:
        self.found: dict[str, Expression] = {}
        self.again: dict[str, Aggregate] = {}
        self._numbers = count()

    def _column(self, expression: Expression, function: str, options: tuple[Any, ...] = (None,)) -> Aggregate:
        """A new column, aggregated over blocks."""
        name = f"part {next(self._numbers)}"
        self.found[name] = expression
        self.again[name] = Aggregate(expression.dtype, function, Name(expression.dtype, name), options)
        return self.again[name]

    def rewritten(self, expression: Expression) -> Expression | None:
        """An expression of the columns; None if the results of blocks do not tell its value."""
        if isinstance(expression, Literal):
            return expression
        if isinstance(expression, Length):
            return self._column(expression, "sum")
        if isinstance(expression, Aggregate):
            return self._merged(expression)
        if not isinstance(expression, Call):
            return None
        arguments = [self.rewritten(one) for one in expression.arguments]
        if any(one is None for one in arguments):
            return None
        return replace(expression, arguments=tuple(one for one in arguments if one is not None))

    def _merged(self, aggregate: Aggregate) -> Expression | None:
        inner = list(walk(aggregate.argument))
        if any(isinstance(one, (Aggregate, Length, Window)) for one in inner) or has_sequence(aggregate):
            return None
        if aggregate.function in _MERGED and not (aggregate.dtype.is_decimal() and aggregate.function == "sum"):
            return self._column(aggregate, _MERGED[aggregate.function], aggregate.options)
        if aggregate.function == "mean" and aggregate.argument.dtype in (pl.Float64, pl.Int32, pl.Int64):
            return self._mean(aggregate)
        return None

    def _mean(self, aggregate: Aggregate) -> Expression:
        values = aggregate.argument
        if values.dtype != pl.Float64:
            values = Call(pl.Float64(), "cast", (values,), ("strict",))
        dtype = aggregate.dtype
        total = self._column(Aggregate(pl.Float64(), "sum", values, (None,)), "sum")
        number = self._column(Aggregate(_COUNT, "count", aggregate.argument, (False,)), "sum")
        quotient = Call(dtype, "op.TrueDivide", (total, Call(dtype, "cast", (number,), ("strict",))))
        some = Call(pl.Boolean(), "op.Gt", (number, Literal(_COUNT, 0)))
        return Call(dtype, "ternary", (some, quotient, Literal(dtype, None)))


def with_input(node: nodes.Node, old: nodes.Node, new: nodes.Node) -> nodes.Node:
    """Returns a plan in which one node is another one."""
    if node is old:
        return new
    inputs = tuple(with_input(one, old, new) for one in node.inputs)
    unchanged = all(one is other for one, other in zip(inputs, node.inputs, strict=True))
    return node if unchanged else replace(node, inputs=inputs)


def in_blocks(node: nodes.Node, rows: int | None, device: str, run: Callable[[nodes.Node], Frame]) -> nodes.Node:
    """Returns a plan without scans that do not fit in memory: what aggregates their rows has been computed.

    Parameters
    ----------
    node : Node
        The plan.
    rows : int or None
        The most rows of a scan that is read at once; None for what fits in memory.
    device : {"cpu", "gpu"}
        "cpu" or "gpu".
    run : callable
        Gives the result of a node.

    Raises
    ------
    Refused
        If the rows of such a scan are needed all at once.
    """
    for path in _paths(node):
        *above, scan = path
        if not isinstance(scan, nodes.Scan) or not isinstance(scan.source, ParquetFiles):
            continue
        most = rows_of_a_block(scan.source, scan.schema, device) if rows is None else rows
        if most is None or len(scan.source) <= most:
            continue
        ways = ((one, blocked(one, scan)) for one in reversed(above) if isinstance(one, (nodes.GroupBy, nodes.Select)))
        found = next(((one, way) for one, way in ways if way is not None), None)
        reason = f"the files have {len(scan.source):,} rows, of which {most:,} fit, and are needed all at once"
        refuse_unless(found is not None, reason)
        assert found is not None
        one, way = found
        return in_blocks(with_input(node, one, run_blocks(way, most, run)), rows, device, run)
    return node


def _paths(node: nodes.Node) -> Iterator[list[nodes.Node]]:
    """The nodes from the root to each leaf."""
    if not node.inputs:
        yield [node]
    for one in node.inputs:
        for path in _paths(one):
            yield [node, *path]


def table_scan(frame: Frame, schema: dict[str, Any]) -> nodes.Scan:
    """Returns a scan of a frame that has been computed."""
    return nodes.Scan(schema, (), Table(frame))


def run_blocks(of: Blocked, rows: int, run: Callable[[nodes.Node], Frame]) -> nodes.Node:
    """Returns a node for the aggregates of all blocks.

    Parameters
    ----------
    of : Blocked
        What is computed.
    rows : int
        The most rows of a block.
    run : callable
        Gives the result of a node.
    """
    partial = of.partial
    for one in of.whole:
        partial = with_input(partial, one, table_scan(run(one), one.schema))
    found = []
    for frame in of.scan.source.frames(of.scan.schema, rows):
        found.append(run(with_input(partial, of.scan, table_scan(frame, of.scan.schema))))
        cp.synchronize()  # what is read next takes the memory of this block
        if len(found) == _MOST_RESULTS:
            found = [run(of.condensed(table_scan(union(found), of.partial.schema)))]
    refuse_unless(found, "the files have no rows")
    return of.merged(table_scan(union(found), of.partial.schema))
