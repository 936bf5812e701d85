"""What nodes cost here and in Polars, so that a query is not slower for running here.

The rates are times of both threads of a 2-core Xeon at 1e6 rows, measured by `python -m bench.tables.rates`. A GPU has
no measured rates yet: there every plan of enough rows is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from cuprous.frames.columns.dtypes import is_coded
from cuprous.frames.columns.residency import Residency
from cuprous.frames.plan import nodes
from cuprous.frames.plan.expressions import Aggregate, Call, Expression, Length, Name, Window, walk
from cuprous.frames.reasons import refuse_unless
from cuprous.frames.table import Table

#: Plans of fewer rows are left to Polars: what a plan costs here apart from its rows is more than all of its rows.
LEAST_ROWS = 200_000


@dataclass(frozen=True)
class Rate:
    """Nanoseconds for each row.

    Args:
        here: of this library.
        polars: of Polars, the faster of its two engines.
    """

    here: float
    polars: float


_ELEMENTWISE = Rate(2.0, 1.9)
_OF_STRINGS = Rate(2.0, 19.0)
_REDUCTION = Rate(1.8, 0.7)
_OF_GROUPS = Rate(5.0, 3.0)
_SORTED_GROUPS = Rate(150.0, 20.0)
_ONE_KEY, _SEVERAL_KEYS = Rate(5.0, 3.0), Rate(17.0, 39.0)
_WINDOW = Rate(18.0, 17.0)


def _of_expression(one: Expression, grouped: bool) -> Rate | None:
    if isinstance(one, Call):
        return _OF_STRINGS if one.function.startswith("string.") else _ELEMENTWISE
    if isinstance(one, Window):
        return _WINDOW
    if isinstance(one, Aggregate):
        if one.function in ("median", "n_unique"):
            return _SORTED_GROUPS
        return _OF_GROUPS if grouped else _REDUCTION
    return _OF_GROUPS if isinstance(one, Length) and grouped else None


def _of_expressions(expressions: Any, grouped: bool = False) -> Iterator[Rate]:
    for named in expressions:
        for one in walk(named.expression):
            rate = _of_expression(one, grouped)
            if rate is not None:
                yield rate


def _of_sort(node: nodes.Sort) -> Iterator[Rate]:
    for key in node.keys:
        yield Rate(119.0, 157.0) if key.expression.dtype.is_float() else Rate(64.0, 120.0)


def _of_groups(node: nodes.GroupBy) -> Iterator[Rate]:
    yield _ONE_KEY if len(node.keys) == 1 else _SEVERAL_KEYS
    yield from _of_expressions(node.aggregates, grouped=True)


def _of_filter(node: nodes.Filter) -> Iterator[Rate]:
    yield Rate(8.0, 4.0)
    for one in walk(node.condition):
        if not isinstance(one, Name):
            yield _of_expression(one, grouped=False) or Rate(0.0, 0.0)


#: Class of a node -> its rates.
_RATES: dict[type[nodes.Node], Callable[[Any], Iterator[Rate]]] = {
    nodes.AsOfJoin: lambda _: iter([Rate(60.0, 20.0)]),
    nodes.Distinct: lambda _: iter([Rate(22.0, 73.0)]),
    nodes.Filter: _of_filter,
    nodes.GroupBy: _of_groups,
    nodes.Join: lambda _: iter([Rate(21.0, 20.0)]),
    nodes.Select: lambda node: _of_expressions(node.columns),
    nodes.Sort: _of_sort,
    nodes.Union: lambda _: iter([Rate(5.0, 3.0)]),
    nodes.WithColumns: lambda node: _of_expressions(node.columns),
}


#: Nanoseconds for each row of a column that is copied to the device, and of one whose dictionary is made.
_COPY, _DICTIONARY = 1.5, 60.0
#: Nanoseconds for each row of a column of strings that Polars gets back.
_DECODED = 10.0


class Costs:
    """Estimates for the nodes of one plan.

    Args:
        device: "cpu" or "gpu".
        residency: the columns that are on the device already.
    """

    def __init__(self, device: str, residency: Residency) -> None:
        self._device = device
        self._residency = residency
        self._known: dict[nodes.Node, tuple[int, float, float]] = {}

    def refuse_loss(self, node: nodes.Node, inside: bool) -> None:
        """Raises `Refused` if a plan would be slower here.

        Args:
            node: the plan.
            inside: whether Polars goes on with the result, which is copied for it.
        """
        rows, here, polars = self._estimate(node)
        if inside:
            here += rows * sum(_DECODED if is_coded(dtype) else _COPY for dtype in node.schema.values())
        refuse_unless(rows >= LEAST_ROWS, f"{rows:,} rows are few; this pays from {LEAST_ROWS:,}")
        times = f"{polars / 1e6:.1f} ms instead of {here / 1e6:.1f} ms by measured rates"
        refuse_unless(self._device == "gpu" or here < polars, f"Polars is faster on {rows:,} rows: {times}")

    def _estimate(self, node: nodes.Node) -> tuple[int, float, float]:
        """The rows of a node, at most, and the nanoseconds of all below and itself, here and in Polars."""
        if node not in self._known:
            self._known[node] = self._of_scan(node) if isinstance(node, nodes.Scan) else self._of_inputs(node)
        return self._known[node]

    def _of_inputs(self, node: nodes.Node) -> tuple[int, float, float]:
        below = [self._estimate(one) for one in node.inputs]
        taken = sum(one[0] for one in below)
        rates = list(_RATES[type(node)](node)) if type(node) in _RATES else []
        here = sum(one[1] for one in below) + taken * sum(rate.here for rate in rates)
        polars = sum(one[2] for one in below) + taken * sum(rate.polars for rate in rates)
        return max(one[0] for one in below), here, polars

    def _of_scan(self, node: nodes.Scan) -> tuple[int, float, float]:
        """What columns cost that are not on the device."""
        rows = len(node.source)
        if rows < LEAST_ROWS or isinstance(node.source, Table):
            return rows, 0.0, 0.0
        in_memory = isinstance(node.source, pl.DataFrame)
        cold = [
            dtype
            for name, dtype in node.schema.items()
            if not (in_memory and self._residency.holds(node.source.get_column(name)))
        ]
        return rows, rows * sum(_DICTIONARY if is_coded(dtype) else _COPY for dtype in cold), 0.0
