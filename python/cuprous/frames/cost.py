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
_REDUCTION = Rate(1.9, 1.0)
_OF_GROUPS = Rate(6.0, 4.0)
_SORTED_GROUPS = Rate(110.0, 20.0)
_ONE_KEY, _SEVERAL_KEYS = Rate(11.0, 3.0), Rate(17.0, 39.0)
_WINDOW = Rate(20.0, 16.0)


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
        yield Rate(106.0, 149.0) if key.expression.dtype.is_float() else Rate(43.0, 106.0)


def _of_groups(node: nodes.GroupBy) -> Iterator[Rate]:
    yield _ONE_KEY if len(node.keys) == 1 else _SEVERAL_KEYS
    yield from _of_expressions(node.aggregates, grouped=True)


def _of_filter(node: nodes.Filter) -> Iterator[Rate]:
    yield Rate(8.0, 3.0)
    for one in walk(node.condition):
        if not isinstance(one, Name):
            yield _of_expression(one, grouped=False) or Rate(0.0, 0.0)


#: Class of a node -> its rates.
_RATES: dict[type[nodes.Node], Callable[[Any], Iterator[Rate]]] = {
    nodes.Distinct: lambda _: iter([Rate(22.0, 73.0)]),
    nodes.Filter: _of_filter,
    nodes.GroupBy: _of_groups,
    nodes.Join: lambda _: iter([Rate(21.0, 17.0)]),
    nodes.Select: lambda node: _of_expressions(node.columns),
    nodes.Sort: _of_sort,
    nodes.Union: lambda _: iter([Rate(5.0, 3.0)]),
    nodes.WithColumns: lambda node: _of_expressions(node.columns),
}


#: Nanoseconds for each row of a column that is copied to the device, and of one whose dictionary is made.
_COPY, _DICTIONARY = 1.5, 60.0


def _of_scan(node: nodes.Scan, residency: Residency) -> float:
    """Nanoseconds for each row of the columns that are not on the device."""
    if isinstance(node.source, Table):
        return 0.0
    in_memory = isinstance(node.source, pl.DataFrame)
    cold = [
        dtype
        for name, dtype in node.schema.items()
        if not (in_memory and residency.holds(node.source.get_column(name)))
    ]
    return sum(_DICTIONARY if is_coded(dtype) else _COPY for dtype in cold)


def _estimate(node: nodes.Node, residency: Residency) -> tuple[int, float, float]:
    """The rows of a node, at most, and the nanoseconds of all below and itself, here and in Polars."""
    if isinstance(node, nodes.Scan):
        rows = len(node.source)
        return rows, rows * _of_scan(node, residency) if rows >= LEAST_ROWS else 0.0, 0.0
    below = [_estimate(one, residency) for one in node.inputs]
    rows = max(one[0] for one in below)
    taken = sum(one[0] for one in below)
    rates = list(_RATES[type(node)](node)) if type(node) in _RATES else []
    here = sum(one[1] for one in below) + taken * sum(rate.here for rate in rates)
    polars = sum(one[2] for one in below) + taken * sum(rate.polars for rate in rates)
    return rows, here, polars


def refuse_loss(node: nodes.Node, device: str, residency: Residency) -> None:
    """Raises `Refused` if a plan would be slower here.

    Args:
        node: the plan.
        device: "cpu" or "gpu".
        residency: the columns that are on the device already.
    """
    rows, here, polars = _estimate(node, residency)
    refuse_unless(rows >= LEAST_ROWS, f"{rows:,} rows are few; this pays from {LEAST_ROWS:,}")
    refuse_unless(
        device == "gpu" or here < polars,
        f"Polars is faster on {rows:,} rows: {polars / 1e6:.1f} ms instead of {here / 1e6:.1f} ms by measured rates",
    )
