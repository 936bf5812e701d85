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
from cuprous.frames.expressions.sequences import SEQUENCES
from cuprous.frames.plan import nodes
from cuprous.frames.plan.expressions import Aggregate, Call, Expression, Length, Name, Window, walk
from cuprous.frames.reasons import Refused, refuse_unless
from cuprous.frames.table import Table

#: Plans of fewer rows are left to Polars: what a plan costs here apart from its rows is more than all of its rows.
LEAST_ROWS = 200_000


@dataclass(frozen=True)
class Rate:
    """Nanoseconds for each row.

    Parameters
    ----------
    here : float
        Of this library.
    polars : float
        Of Polars, the faster of its two engines.
    """

    here: float
    polars: float


_ELEMENTWISE = Rate(2.0, 1.9)
_OF_STRINGS = Rate(2.0, 15.0)
_REDUCTION = Rate(2.9, 0.7)
_OF_GROUPS = Rate(5.5, 3.2)
_SORTED_GROUPS = Rate(180.0, 22.0)
_DISTINCT_OF_GROUPS = Rate(100.0, 70.0)
_ONE_KEY, _TEXT_KEY, _SEVERAL_KEYS = Rate(3.0, 4.0), Rate(3.0, 16.0), Rate(10.0, 36.0)
_WINDOW = Rate(22.0, 15.0)
#: Functions of other rows sort, or gather for each row of a window.
_SEQUENCE = Rate(150.0, 10.0)
_OF_WINDOWS = Rate(60.0, 15.0)
#: A part runs here if it is faster by this factor: rates depend on the data.
_MARGIN = 1.2
#: Nanoseconds for a node apart from its rows.
_NODE = Rate(150_000.0, 20_000.0)
#: Nanoseconds that a part has to save where Polars runs the rest: it is translated again when Polars has optimized
#: it, and the rest runs in the engine of Polars that keeps all in memory.
_REPLACED = 10e6
#: What part of its rows a node keeps, as a guess.
_KEPT: dict[type[nodes.Node], float] = {nodes.Filter: 0.3, nodes.GroupBy: 0.1, nodes.Distinct: 0.3}


def _of_expression(one: Expression, grouped: bool) -> Rate | None:
    if isinstance(one, Call):
        if one.function in SEQUENCES:
            return _SEQUENCE
        return _OF_STRINGS if one.function.startswith("string.") else _ELEMENTWISE
    if isinstance(one, Window):
        return _WINDOW
    if isinstance(one, Aggregate):
        if one.function in ("median", "quantile"):
            return _SORTED_GROUPS
        if one.function == "n_unique":
            return _DISTINCT_OF_GROUPS
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
        yield Rate(155.0, 160.0) if key.expression.dtype.is_float() else Rate(62.0, 110.0)


def _of_groups(node: nodes.GroupBy) -> Iterator[Rate]:
    text = is_coded(node.keys[0].expression.dtype)
    yield _SEVERAL_KEYS if len(node.keys) > 1 else _TEXT_KEY if text else _ONE_KEY
    yield from _of_expressions(node.aggregates, grouped=True)


def _of_filter(node: nodes.Filter) -> Iterator[Rate]:
    yield Rate(8.0, 4.0)
    for one in walk(node.condition):
        if not isinstance(one, Name):
            yield _of_expression(one, grouped=False) or Rate(0.0, 0.0)


#: Class of a node -> its rates.
_RATES: dict[type[nodes.Node], Callable[[Any], Iterator[Rate]]] = {
    nodes.AsOfJoin: lambda _: iter([Rate(60.0, 20.0)]),
    nodes.Distinct: lambda _: iter([Rate(15.0, 75.0)]),
    nodes.Filter: _of_filter,
    nodes.GroupBy: _of_groups,
    nodes.IndexWindows: lambda node: iter([_OF_WINDOWS, *_of_expressions(node.aggregates, grouped=True)]),
    nodes.Join: lambda node: iter([Rate(17.0, 20.0) if len(node.left_on) < 2 else Rate(120.0, 40.0)]),
    nodes.Select: lambda node: _of_expressions(node.columns),
    nodes.Sort: _of_sort,
    nodes.TopRows: lambda _: iter([_SORTED_GROUPS]),
    nodes.Union: lambda _: iter([Rate(5.0, 3.0)]),
    nodes.WithColumns: lambda node: _of_expressions(node.columns),
}


#: Nanoseconds for each row of a column that is copied to the device, of one of decimals, and of one whose dictionary
#: is made.
_COPY, _DECIMAL, _DICTIONARY = 1.5, 12.0, 60.0
#: The same of a column whose strings are long and differ in most rows: its dictionary is as large and has to be sorted.
_MANY_STRINGS = 4000.0
#: Values that are looked at to tell.
_SAMPLE = 2000
#: Nanoseconds for each row of a column of strings that Polars gets back.
_DECODED = 10.0


def refuse_few(rows: int) -> None:
    """Raises `Refused` if the largest frame of a plan has so few rows that running it here does not pay."""
    refuse_unless(rows >= LEAST_ROWS, f"{rows:,} rows are few; this pays from {LEAST_ROWS:,}")


class Costs:
    """Estimates for the nodes of one plan.

    Parameters
    ----------
    device : {"cpu", "gpu"}
        "cpu" or "gpu".
    residency : Residency
        The columns that are on the device already.
    runs : bool
        Whether the plan will run, so that what it loses counts for columns that are not on the device yet.
    """

    def __init__(self, device: str, residency: Residency, runs: bool) -> None:
        self._device = device
        self._residency = residency
        self._runs = runs
        #: Whether an estimate depends on which columns are on the device.
        self.waits = False
        self._known: dict[nodes.Node, tuple[float, float, float]] = {}
        self._largest: dict[nodes.Node, int] = {}

    def refuse_loss(self, node: nodes.Node, whole: bool) -> None:
        """Raises `Refused` if a plan would be slower here.

        Parameters
        ----------
        node : Node
            The plan, whose result is copied to Polars.
        whole : bool
            Whether it is a whole query, and not a part of one whose rest Polars runs.
        """
        rows = self._largest_scan(node)
        refuse_few(rows)
        if self._device == "gpu":
            return
        given, here, polars = self._estimate(node)
        if here * _MARGIN < polars:
            here += given * sum(_DECODED if is_coded(dtype) else _COPY for dtype in node.schema.values())
        if here * _MARGIN >= polars or not (whole or polars - here * _MARGIN > _REPLACED):
            times = f"{polars / 1e6:.1f} ms instead of {here / 1e6:.1f} ms by measured rates"
            if here * _MARGIN >= polars:
                raise Refused(f"Polars is faster on {rows:,} rows: {times}")
            raise Refused(f"replacing a part of a plan takes {_REPLACED / 1e6:.0f} ms: {times}")
        self.waits = True
        cold = [column for one in _scans(node) for column in self._cold(one)]
        copies = sum(nanoseconds for _, nanoseconds in cold)
        if here * _MARGIN + copies < polars:
            return
        # Columns are copied when as much has been lost by not having them.
        lost = sum(self._residency.lose(series, (polars - here) / len(cold), self._runs) for series, _ in cold)
        reason = f"copying {len(cold)} columns takes {copies / 1e6:.1f} ms, and saves {(polars - here) / 1e6:.1f} ms"
        refuse_unless(bool(cold) and lost >= copies, f"{reason} each time")

    def _largest_scan(self, node: nodes.Node) -> int:
        """The rows of the largest scan of a plan."""
        if node not in self._largest:
            own = len(node.source) if isinstance(node, nodes.Scan) else 0
            self._largest[node] = max([own, *map(self._largest_scan, node.inputs)])
        return self._largest[node]

    def _estimate(self, node: nodes.Node) -> tuple[float, float, float]:
        """The rows of a node, and the nanoseconds of all below and itself, here and in Polars."""
        if node not in self._known:
            self._known[node] = self._of_inputs(node)
        return self._known[node]

    def _of_inputs(self, node: nodes.Node) -> tuple[float, float, float]:
        if isinstance(node, nodes.Scan):
            files = 0.0 if isinstance(node.source, (pl.DataFrame, Table)) else _copying(node)
            return float(len(node.source)), files, 0.0
        taken = given = here = polars = 0.0
        for one in node.inputs:
            rows, here_below, polars_below = self._estimate(one)
            taken, given, here, polars = taken + rows, max(given, rows), here + here_below, polars + polars_below
        rates = list(_RATES[type(node)](node)) if type(node) in _RATES else []
        for rate in rates:
            here, polars = here + taken * rate.here, polars + taken * rate.polars
        if rates:
            here, polars = here + _NODE.here, polars + _NODE.polars
        return given * _KEPT.get(type(node), 1.0), here, polars

    def _cold(self, node: nodes.Scan) -> list[tuple[pl.Series, float]]:
        """The columns of a frame that are not on the device, and the nanoseconds that copying each takes."""
        if not isinstance(node.source, pl.DataFrame) or len(node.source) < LEAST_ROWS:
            return []
        columns = (node.source.get_column(name) for name in node.schema)
        cold = [one for one in columns if not self._residency.holds(one)]
        return [(one, len(one) * (_MANY_STRINGS if _has_many_strings(one) else _copy_rate(one.dtype))) for one in cold]


def _has_many_strings(series: pl.Series) -> bool:
    """Returns true if most of the first values of a column of strings differ."""
    sample = series.head(_SAMPLE)
    return is_coded(series.dtype) and 2 * sample.n_unique() > len(sample)


def _copy_rate(dtype: Any) -> float:
    return _DICTIONARY if is_coded(dtype) else _DECIMAL if dtype.is_decimal() else _COPY


def _copying(node: nodes.Scan) -> float:
    """The nanoseconds that copying all columns takes."""
    return len(node.source) * sum(map(_copy_rate, node.schema.values()))


def _scans(node: nodes.Node) -> Iterator[nodes.Scan]:
    if isinstance(node, nodes.Scan):
        yield node
    for one in node.inputs:
        yield from _scans(one)
