"""Polars' optimized plan, node by node, as our own; a subtree that does not translate leaves its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
from polars.exceptions import PanicException

from cuprous.frames.columns.dtypes import refuse_schema
from cuprous.frames.columns.files import ParquetFiles
from cuprous.frames.expressions.sequences import has_sequence
from cuprous.frames.operations.as_of import refuse_as_of
from cuprous.frames.operations.join import refuse_join
from cuprous.frames.operations.windows import refuse_windows
from cuprous.frames.plan import nodes
from cuprous.frames.plan.adapters import Adapter, adapter_for
from cuprous.frames.plan.expressions import Expression, Literal, Named
from cuprous.frames.plan.translate_expressions import ExpressionTranslator, refuse_floats
from cuprous.frames.plan.windows import Interval, count_of, origin_of
from cuprous.frames.reasons import Refused, refuse_unless
from cuprous.frames.table import source_of

#: Scans of more files are left to Polars: planning reads how many rows each has.
_MOST_FILES = 64


class Translator:
    """Translates what a traverser of Polars shows.

    Parameters
    ----------
    traverser : NodeTraverser
        What `LazyFrame._ldf.visit()` or the callback after optimization gives.
    reader : str, default "polars"
        What reads Parquet files.
    """

    def __init__(self, traverser: Any, reader: str = "polars") -> None:
        self._traverser = traverser
        self.reader = reader
        self._adapter: Adapter = adapter_for(traverser.version())
        self._caches: dict[int, nodes.Part] = {}

    def part(self) -> nodes.Part:
        """Translates the current node and all below it."""
        traverser = self._traverser
        handle = traverser.get_node()
        title = "?"
        try:
            view = traverser.view_current_node()
            title = type(view).__name__
            if title == "Cache" and view.id_ in self._caches:
                return replace(self._caches[view.id_], handle=handle)
            children = traverser.get_inputs()
        except (Exception, PanicException) as error:
            return nodes.Part(handle, title, reason=f"Polars does not describe this node: {error}")
        below = []
        for child in children:
            traverser.set_node(child)
            below.append(self.part())
        traverser.set_node(handle)
        try:
            part = self._translate(handle, title, view, tuple(below))
        except Refused as error:
            part = nodes.Part(handle, title, reason=str(error), below=tuple(below))
        except (Exception, PanicException) as error:  # what is not understood is left to Polars
            part = nodes.Part(handle, title, reason=f"not understood: {error!r}", below=tuple(below))
        if title == "Cache":
            self._caches[view.id_] = part
        return part

    def _translate(self, handle: int, title: str, view: Any, below: tuple[nodes.Part, ...]) -> nodes.Part:
        name = self._adapter.check(view)
        schema = dict(self._traverser.get_schema())
        refuse_schema(schema)
        if name == "MapFunction" and view.function[0] == "explode":
            return nodes.Part(handle, title, self._top_rows(view, schema, below[0]), below=below)
        inputs = tuple(part.node for part in below if part.node is not None)
        refuse_unless(len(inputs) == len(below), "an input is left to Polars")
        node = _NODES[name](self, view, schema, inputs)
        return nodes.Part(handle, title, node, below=below)

    def _top_rows(self, view: Any, schema: dict[str, Any], part: nodes.Part) -> nodes.Node:
        """The node for lists of each group's largest values, one after another. No other lists are here."""
        refuse_unless(part.title == "GroupBy" and view.function[3], "explode is supported after top_k of groups only")
        traverser, here = self._traverser, self._traverser.get_node()
        traverser.set_node(part.handle)
        try:
            group = traverser.view_current_node()
            self._adapter.check(group)
            plain = group.options.dynamic is None and group.options.rolling is None and group.options.slice is None
            (input,) = (one.node for one in part.below)
            refuse_unless(plain and input is not None and group.keys and len(group.aggs) == 1, part.reason)
            assert input is not None
            keys, (value, count, smallest) = self.named(group.keys, group.input), self._top(group)
            refuse_unless(view.function[1] == [value.name], part.reason)
            return nodes.TopRows(schema, (input,), keys, value, count, smallest)
        finally:
            traverser.set_node(here)

    def _top(self, group: Any) -> tuple[Named, int, bool]:
        """The values, the count and the order of a group's only aggregate, lists of `top_k`."""
        traverser, aggregate = self._traverser, group.aggs[0]
        traverser.set_node(group.input)
        view = traverser.view_expression(aggregate.node)
        is_list = self._adapter.check(view) == "Agg" and view.name == "implode"
        top = traverser.view_expression(view.arguments[0]) if is_list else view
        known = is_list and self._adapter.check(top) == "Function" and top.function_data[0] == "top_k"
        refuse_unless(known, "explode is supported after top_k of groups only")
        translator = ExpressionTranslator(traverser, self._adapter)
        value, count = translator.all(top.input)
        constant = isinstance(count, Literal) and isinstance(count.value, int) and count.value > 0
        refuse_unless(constant and not has_sequence(value), "top_k of a count that is not constant is not supported")
        assert isinstance(count, Literal)
        return Named(aggregate.output_name, value), count.value, top.function_data[1]

    @property
    def names_inequalities(self) -> bool:
        """Whether the plan says which outer joins are by inequalities."""
        return self._adapter.names_inequalities

    @property
    def settled_windows(self) -> bool:
        """Whether windows over an index give what other groups do."""
        return self._adapter.settled_windows

    def expression(self, handle: int) -> Expression:
        """Translates an expression of the current node."""
        return ExpressionTranslator(self._traverser, self._adapter).expression(handle)

    def named(self, expressions: Any, input: int) -> tuple[Named, ...]:
        """Translates expressions of the input with a handle."""
        here = self._traverser.get_node()
        self._traverser.set_node(input)
        try:
            translator = ExpressionTranslator(self._traverser, self._adapter)
            return tuple(Named(one.output_name, translator.expression(one.node)) for one in expressions)
        finally:
            self._traverser.set_node(here)


Inputs = tuple[nodes.Node, ...]
_BOUNDARIES = "include_boundaries without rows differs in this version of Polars"


def _scan(_: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    refuse_unless(view.selection is None, "the scan has a condition of its own")
    return nodes.Scan(schema, inputs, pl.DataFrame._from_pydf(view.df))


def _file_scan(to: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    """Parquet files; the limit that Polars moved into the scan comes before the condition."""
    options = view.file_options
    refuse_unless(view.scan_type[0] == "parquet", f"scans of {view.scan_type[0]} are not supported")
    plain = options.row_index is None and options.include_file_paths is None
    whole = options.deletion_files is None and options.column_mapping is None
    refuse_unless(plain and whole and getattr(view, "hive_parts", None) is None, "the scan has options")
    refuse_unless(schema, "the scan has no columns")
    local = len(view.paths) <= _MOST_FILES and not any("://" in path for path in view.paths)
    refuse_unless(local, f"the scan is of remote files, or of more than {_MOST_FILES}")
    node: nodes.Node = nodes.Scan(schema, inputs, ParquetFiles(tuple(view.paths), to.reader))
    if options.n_rows is not None:
        node = nodes.Slice(schema, (node,), *options.n_rows)
    return node if view.predicate is None else nodes.Filter(schema, (node,), to.expression(view.predicate.node))


def _python_scan(to: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    """A table's scan, with the condition and the limit that Polars moved into it, in this order."""
    scan, columns, _kind, predicate, rows = view.options
    source = source_of(scan)
    refuse_unless(source is not None, "the scan calls a function of Python")
    assert source is not None
    read = dict(source.schema) if columns is None else {name: source.schema[name] for name in columns}
    node: nodes.Node = nodes.Scan(read, inputs, source)
    if predicate is not None:
        language, handle = predicate
        refuse_unless(language == "polars", f"the scan has a condition of {language}")
        node = nodes.Filter(read, (node,), to.expression(handle))
    if rows is not None:
        node = nodes.Slice(read, (node,), 0, rows)
    return node if list(read) == list(schema) else nodes.Project(schema, (node,))


def _filter(to: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    (condition,) = to.named([view.predicate], view.input)
    return nodes.Filter(schema, inputs, condition.expression)


def _project(_: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    return nodes.Project(schema, inputs)


def _select(to: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    return nodes.Select(schema, inputs, to.named(view.expr, view.input))


def _reduce(to: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    return nodes.Select(schema, inputs, to.named(view.exprs, view.input))


def _with_columns(to: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    return nodes.WithColumns(schema, inputs, to.named(view.exprs, view.input), view.should_broadcast)


def _sort(to: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    _, nulls_last, descending = view.sort_options
    keys = to.named(view.by_column, view.input)
    slice = None if view.slice is None else tuple(view.slice[:2])  # a third field is a hint for scans
    return nodes.Sort(schema, inputs, keys, tuple(descending), tuple(nulls_last), slice)


def _slice(_: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    return nodes.Slice(schema, inputs, view.offset, view.len)


def _distinct(_: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    keep, subset, maintain_order, slice = view.options
    refuse_unless(keep in ("first", "last", "any", "none"), f"unique(keep={keep!r}) is not supported")
    chosen = tuple(schema) if subset is None else tuple(subset)
    refuse_unless(chosen, "unique() of no columns is not supported")
    return nodes.Distinct(schema, inputs, keep, chosen, maintain_order, slice)


def _union(_: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    for one in inputs:
        refuse_unless(list(one.schema.items()) == list(schema.items()), "the frames have different schemas")
    return nodes.Union(schema, inputs, view.slice)


def _cache(_: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    return nodes.Cache(schema, inputs, view.id_)


def _group_by(to: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    options = view.options
    keys, aggregates = to.named(view.keys, view.input), to.named(view.aggs, view.input)
    ordered = any(has_sequence(one.expression) for one in aggregates)
    refuse_unless(not ordered, "a function of other rows inside agg() is not supported")
    if options.dynamic is not None or options.rolling is not None:
        if not to.settled_windows:
            refuse_floats(one.expression for one in aggregates)
            refuse_unless(not (options.dynamic and options.dynamic.include_boundaries), _BOUNDARIES)
        return _index_windows(options, schema, inputs, keys, aggregates)
    refuse_unless(keys, "there are no keys")
    return nodes.GroupBy(schema, inputs, keys, aggregates, view.maintain_order, options.slice)


def _index_windows(
    options: Any, schema: dict[str, Any], inputs: Inputs, keys: tuple[Named, ...], aggregates: tuple[Named, ...]
) -> nodes.Node:
    """Groups of `group_by_dynamic` or of `rolling`."""
    of = options.dynamic or options.rolling
    dtype = inputs[0].schema[of.index_column]
    offset, period = count_of(of.offset, dtype), count_of(of.period, dtype)
    refuse_unless(period > 0, "windows without a length are left to Polars")
    window = Interval(offset, period, of.closed_window)
    node = nodes.IndexWindows(schema, inputs, keys, aggregates, of.index_column, None, window, slice=options.slice)
    if options.dynamic is not None:
        every = count_of(of.every, dtype)
        refuse_unless(every > 0, "windows without a distance are left to Polars")
        known = of.start_by in ("window_bound", "data_point") and of.label in ("left", "right", "data_point")
        refuse_unless(known, f"group_by_dynamic(start_by={of.start_by!r}, label={of.label!r}) is not supported")
        window = replace(window, origin=origin_of(of.every, dtype))
        node = replace(
            node, every=every, window=window, label=of.label, start_by=of.start_by, boundaries=of.include_boundaries
        )
    refuse_windows(node)
    return node


#: Joins whose pairs Polars filters by a condition of the resulting columns.
_WITH_CONDITION = (("Inner", ["fused_predicate"]), ("Cross", ["cross_and_filter"]))


def _join(to: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    how, nulls_equal, slice, suffix, coalesce, order = view.options
    kind, *details = (how,) if isinstance(how, str) else how
    if kind == "AsOf":
        return _as_of(to, view, schema, inputs)
    operators = tuple(str(one).split(".")[-1] for one in details if one is not None) if kind == "IEJoin" else ()
    predicate = getattr(view, "predicate", None)
    # In old plans a left or right join by inequalities looks like one by equal keys, unless it coalesces its keys.
    clear = to.names_inequalities or kind not in ("Left", "Right") or coalesce
    refuse_unless(clear, f"this version of Polars does not say whether a {kind.lower()} join is by equal keys")
    refuse_unless(view.left_on or kind == "Cross", "the join has no keys")
    fused = (kind, details) in _WITH_CONDITION and slice is None
    refuse_unless(bool(operators) or not details or fused, f"a join of kind {how} is not supported")
    refuse_unless((predicate is not None) == fused, "the join has a condition of its own")
    left, right = to.named(view.left_on, view.input_left), to.named(view.right_on, view.input_right)
    node = nodes.Join(
        schema, inputs, kind.lower(), left, right, nulls_equal, suffix, coalesce, order, slice, operators
    )  # fmt: skip
    refuse_join(node)
    if not fused:
        return node
    assert predicate is not None
    return nodes.Filter(schema, (node,), to.expression(predicate.node))


def _as_of(to: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    (_, strategy, tolerance, duration, by_left, by_right, equal, *_), _, slice, suffix, coalesce, _ = view.options
    # A tolerance of time comes as a count of the keys' unit, too.
    refuse_unless(duration is None or isinstance(tolerance, int), "the join has a tolerance that is no count")
    left, right = to.named(view.left_on, view.input_left), to.named(view.right_on, view.input_right)
    by = tuple(by_left or ()), tuple(by_right or ())
    node = nodes.AsOfJoin(
        schema, inputs, left[0], right[0], strategy, tolerance, *by, equal, suffix, coalesce, slice
    )  # fmt: skip
    refuse_as_of(node)
    return node


def _map_function(_: Translator, view: Any, schema: dict[str, Any], inputs: Inputs) -> nodes.Node:
    name, *options = view.function
    if name == "row_index":
        return nodes.RowIndex(schema, inputs, *options)
    refuse_unless(name in ("rechunk", "hint_sorted"), f"{name} is not supported")
    return nodes.Project(schema, inputs)


#: Class of a node -> its translation.
_NODES: dict[str, Callable[[Translator, Any, dict[str, Any], Inputs], nodes.Node]] = {
    "Cache": _cache,
    "DataFrameScan": _scan,
    "Distinct": _distinct,
    "Filter": _filter,
    "GroupBy": _group_by,
    "HStack": _with_columns,
    "Join": _join,
    "MapFunction": _map_function,
    "PythonScan": _python_scan,
    "Reduce": _reduce,
    "Scan": _file_scan,
    "Select": _select,
    "SimpleProjection": _project,
    "Slice": _slice,
    "Sort": _sort,
    "Union": _union,
}
