"""The engine of Polars: what fits of a plan runs here, the rest in Polars."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import polars as pl
from polars.exceptions import PanicException

import cuprous as cp
from cuprous import _core
from cuprous._common.device import device_word
from cuprous.frames.columns import pylibcudf_reader
from cuprous.frames.columns.frame import Frame
from cuprous.frames.columns.residency import Residency
from cuprous.frames.cost import Costs, refuse_few
from cuprous.frames.operations.blocks import in_blocks
from cuprous.frames.operations.execute import Run
from cuprous.frames.plan import nodes
from cuprous.frames.plan.outline import Outline, outline
from cuprous.frames.plan.translate import Translator
from cuprous.frames.reasons import Refused
from cuprous.frames.reporting import Entry, Report
from cuprous.frames.table import Table

#: Columns that are kept on the device unless `cache_bytes` says otherwise.
_CACHE_BYTES = 2 << 30
#: Nodes that do not compute: a subtree of these alone is left to Polars.
_IDLE = (nodes.Cache, nodes.Project, nodes.Scan, nodes.Slice)
_POLARS = "polars"
#: Queries that are remembered to be left to Polars.
_MOST_LEFT = 256


if not hasattr(pl, "InMemoryEngine"):
    raise ImportError(
        f"cuprous.frames needs Polars 1.44 or newer, not {pl.__version__}; run: pip install 'cuprous[polars]'"
    )


class Engine(pl.InMemoryEngine):
    """Runs queries of Polars on this library, and leaves what does not fit to Polars.

    Parameters
    ----------
    device : str, optional
        "cpu", "cuda" or "auto"; None is the current device.
    take : {"measured", "all"}, default "measured"
        "measured" runs the parts that are faster here by the measured rates of `cuprous.frames.cost`, "all" runs all
        that can be run.
    strict : bool, default False
        Whether a query that is not wholly run here is an error.
    cache_bytes : int, optional
        The most bytes of columns that stay on the device between queries; None is 2 GiB, 0 keeps none.
    block_rows : int, optional
        The most rows of Parquet files that are in memory at a time, where the query aggregates them; None is what a
        quarter of the free memory holds. Other queries of more rows run in Polars' streaming engine.
    reader : {"polars", "pylibcudf"}, default "polars"
        What decodes Parquet files: "polars" on the host, or "pylibcudf" of RAPIDS on the GPU. pylibcudf decodes
        numbers, bools, dates and times; Polars decodes the other columns.

    Raises
    ------
    ValueError
        If an option is something else.
    ImportError
        If `reader` is "pylibcudf" and it is not installed.

    See Also
    --------
    frames.report, frames.from_arrays

    Examples
    --------
    >>> import cuprous.frames
    >>> lf = pl.LazyFrame({"k": [1, 2, 1], "x": [1.0, 2.0, 3.0]})
    >>> engine = cuprous.frames.Engine(take="all", strict=True)
    >>> lf.group_by("k", maintain_order=True).agg(pl.col("x").sum()).collect(engine=engine).rows()
    [(1, 4.0), (2, 2.0)]
    >>> engine.last_report.complete
    True
    """

    def __init__(
        self,
        device: str | None = None,
        *,
        take: Literal["measured", "all"] = "measured",
        strict: bool = False,
        cache_bytes: int | None = None,
        block_rows: int | None = None,
        reader: Literal["polars", "pylibcudf"] = "polars",
    ) -> None:
        super().__init__()
        if reader not in ("polars", "pylibcudf"):
            raise ValueError(f"reader must be 'polars' or 'pylibcudf', not {reader!r}")
        if reader == "pylibcudf":
            pylibcudf_reader.require()
        if block_rows is not None and block_rows < 1:
            raise ValueError(f"block_rows must be positive, not {block_rows}")
        if take not in ("measured", "all"):
            raise ValueError(f"take must be 'measured' or 'all', not {take!r}")
        self._device = device
        self._take = take
        self._strict = strict
        self._reader: str = reader
        self._block_rows = block_rows
        self._residency = Residency(_CACHE_BYTES if cache_bytes is None else cache_bytes)
        #: Device and query -> its entries, if all of it is left to Polars whatever columns are on the device.
        self._left: dict[tuple[str, Outline] | None, list[Entry]] = {}
        #: The report of the last query; None before the first.
        self.last_report: Report | None = None

    def __repr__(self) -> str:
        return f"Engine(device={self._device!r}, take={self._take!r}, strict={self._strict})"

    def stats(self) -> dict[str, int]:
        """Returns counts of the columns that stay on the device: how many, their bytes, hits and misses.

        Examples
        --------
        >>> from cuprous import frames
        >>> engine = frames.Engine(take="all")
        >>> lf = pl.LazyFrame({"x": [1.0, 2.0]}).select(pl.col("x") * 2)
        >>> isinstance(engine.stats(), dict)
        True
        """
        return self._residency.stats()

    def clear(self) -> None:
        """Gives up the columns that stay on the device.

        Examples
        --------
        >>> from cuprous import frames
        >>> engine = frames.Engine(take="all")
        >>> lf = pl.LazyFrame({"x": [1.0, 2.0]}).select(pl.col("x") * 2)
        >>> engine.clear()
        """
        self._residency.clear()

    def collect(self, lf: Any, *, optimizations: Any, background: bool = False, post_opt_callback: Any = None) -> Any:
        """Runs a query; `LazyFrame.collect(engine=...)` calls it.

        Parameters
        ----------
        lf : LazyFrame
            The query.
        optimizations : QueryOptFlags
            Polars' optimizations.
        background : bool, default False
            Whether Polars runs the query in the background.
        post_opt_callback : callable, optional
            Another engine's replacement of the plan; this one does nothing then.

        Returns
        -------
        polars.DataFrame

        Raises
        ------
        NotImplementedError
            If the engine is strict and a part of the query is left to Polars.
        """
        with self._reported() as report:
            reason = _left_whole(background, post_opt_callback, optimizations)
            if not reason:
                part, found = self._planned(lf, optimizations, report, owned=False)
                if found is not None:
                    return Table(found).to_polars()
                if part is not None and part.node is None:
                    self._check(report)
                    if part.title != "Sink" and _replaceable(part):
                        return self._with_replacements(lf, optimizations, report)
            else:
                report.entries.append(Entry("plan", _POLARS, reason=reason))
            self._check(report)
            if post_opt_callback is None and not optimizations._pyoptflags.eager:
                return _polars_default().collect(lf, optimizations=optimizations, background=background)
            return super().collect(
                lf, optimizations=optimizations, background=background, post_opt_callback=post_opt_callback
            )

    def execute(self, lf: Any, *, optimizations: Any) -> Any:
        """Runs a query whose result may stay on the device; `LazyFrame.execute(engine=...)` calls it.

        Parameters
        ----------
        lf : LazyFrame
            The query.
        optimizations : QueryOptFlags
            Polars' optimizations.

        Returns
        -------
        Table
            A `Table` if the query is wholly run here, otherwise Polars' own result.

        Raises
        ------
        NotImplementedError
            If the engine is strict and a part of the query is left to Polars.
        """
        with self._reported() as report:
            if not _left_whole(False, None, optimizations):
                _, found = self._planned(lf, optimizations, report, owned=True)
                if found is not None:
                    return Table(found)
        return super().execute(lf, optimizations=optimizations)  # its `collect` makes a report of its own

    def collect_all(self, lfs: Iterable[Any], *, optimizations: Any) -> list[Any]:
        """Runs several queries, one after another.

        Parameters
        ----------
        lfs : iterable
            The queries.
        optimizations : QueryOptFlags
            Polars' optimizations.

        Returns
        -------
        list
            The results.
        """
        return [self.collect(lf, optimizations=optimizations) for lf in lfs]

    def explain(self, lf: Any) -> Report:
        """Returns what of a query would run where, without running it.

        Parameters
        ----------
        lf : LazyFrame
            The query.

        Returns
        -------
        Report
            A report whose entries have no times.

        Examples
        --------
        >>> from cuprous import frames
        >>> engine = frames.Engine(take="all")
        >>> lf = pl.LazyFrame({"x": [1.0, 2.0]}).select(pl.col("x") * 2)
        >>> engine.explain(lf).complete
        True
        """
        try:
            self._outline(lf)
            part = Translator(lf._ldf.visit(), self._reader).part()
            return Report(_entries(self._taken(part, self._costs(runs=False))))
        except Refused as error:
            return Report([Entry("plan", _POLARS, reason=str(error))])

    def _outline(self, lf: Any) -> Outline | None:
        """The outline of a query whose costs decide. A query of few rows is not worth its translation."""
        found = None if self._take == "all" else outline(lf._ldf)
        if found is not None:
            refuse_few(found.rows)
        return found

    def _costs(self, runs: bool) -> Costs:
        return Costs(self._device_name(), self._residency, runs)

    def _taken(self, part: nodes.Part, costs: Costs) -> nodes.Part:
        """Leaves to Polars what would be slower here, unless all is taken."""
        return part if self._take == "all" else _without_losses(part, costs, True, {})

    def _planned(
        self, lf: Any, optimizations: Any, report: Report, owned: bool
    ) -> tuple[nodes.Part | None, Frame | None]:
        """The translation of a query, and its result if it is wholly run here.

        Both are None, and the report says why, if nothing of it is run here.
        """
        try:
            plan = self._outline(lf)
            key = None if plan is None else (self._device_name(), plan)
            if key in self._left:
                report.entries += self._left[key]
                return None, None
            costs = self._costs(runs=True)
            traverser = lf._ldf.with_optimizations(optimizations._pyoptflags).visit()
            part = self._taken(Translator(traverser, self._reader).part(), costs)
        except Refused as error:
            report.entries.append(Entry("plan", _POLARS, reason=str(error)))
            return None, None
        if part.node is None:
            left = [one for one in _entries(part) if one.where == _POLARS]
            report.entries += left
            if key is not None and not costs.waits and not _replaceable(part):
                if len(self._left) >= _MOST_LEFT:
                    self._left.clear()
                self._left[key] = left
            return part, None
        return part, self._run(part.node, report, owned)

    def _run(self, node: nodes.Node, report: Report, owned: bool) -> Frame | None:
        """The result of a node, with memory of its own if it must; None if the data do not fit."""
        with self._on_device():
            run = Run(self._residency, self._device_name())
            try:
                found = run.result(in_blocks(node, self._block_rows, self._device_name(), run.result))
                found = run.owned(found) if owned else found
                report.entries += run.entries
                return found
            except Refused as error:
                reason = str(error)
            except cp.OutOfMemoryError as error:
                reason = f"out of memory: {error}"
            except (Exception, PanicException) as error:  # a query is never lost by an error here
                reason = f"unexpected error: {error!r}"
            report.entries.append(Entry(node.title, _POLARS, reason=reason))
            return None

    def _with_replacements(self, lf: Any, optimizations: Any, report: Report) -> Any:
        """Runs a query in Polars, apart from the parts that run here."""

        def replace_parts(traverser: Any, *_: Any) -> None:
            root = traverser.get_node()
            part = self._taken(Translator(traverser, self._reader).part(), self._costs(runs=False))
            for one in _replaceable(part):
                assert one.node is not None
                found = self._run(one.node, report, owned=False)
                if found is not None:
                    frame = Table(found).to_polars()
                    traverser.set_node(one.handle)
                    traverser.set_udf(lambda *_, frame=frame: frame)
            traverser.set_node(root)

        return super().collect(lf, optimizations=optimizations, post_opt_callback=replace_parts)

    def _check(self, report: Report) -> None:
        if self._strict and not report.complete:
            raise NotImplementedError("a part of the query is left to Polars: " + "; ".join(report.reasons))

    @contextmanager
    def _reported(self) -> Iterator[Report]:
        report, start = Report(), time.perf_counter()
        try:
            yield report
        finally:
            report.milliseconds = (time.perf_counter() - start) * 1e3
            self.last_report = report

    @contextmanager
    def _on_device(self) -> Iterator[None]:
        if self._device is None:
            yield
            return
        before = _core.enter_device(device_word(self._device))
        try:
            yield
        finally:
            _core.leave_device(before)

    def _device_name(self) -> str:
        name = str(self._device or cp.get_device())
        return "cpu" if name.startswith("cpu") else "gpu"


def _without_losses(part: nodes.Part, costs: Costs, whole: bool, known: dict[int, nodes.Part]) -> nodes.Part:
    """Leaves to Polars what would be slower here by the estimates for its nodes.

    Parameters
    ----------
    part : Part
        A part of a translation, which lives as long as `known`.
    costs : Costs
        The estimates.
    whole : bool
        Whether it is all of a query.
    known : dict of int to Part
        The results by the identity of their part. A cache stands at several places of a plan.
    """
    if id(part) not in known:
        known[id(part)] = _without_loss(part, costs, whole, known)
    return known[id(part)]


def _without_loss(part: nodes.Part, costs: Costs, whole: bool, known: dict[int, nodes.Part]) -> nodes.Part:
    reason = part.reason
    if part.node is not None:
        if not _computes(part.node):
            return part
        try:
            costs.refuse_loss(part.node, whole)
            return part
        except Refused as error:
            reason = str(error)
    below = tuple(_without_losses(one, costs, False, known) for one in part.below)
    return nodes.Part(part.handle, part.title, None, reason, below)


def _polars_default() -> Any:
    """Polars' engine for lazy queries: that in memory until Polars 2."""
    return pl.InMemoryEngine() if pl.__version__.startswith("1.") else pl.StreamingEngine()


def _left_whole(background: bool, post_opt_callback: Any, optimizations: Any) -> str:
    """Returns the reason why a query is not looked at, or ""."""
    if os.environ.get("CUPROUS_FRAMES") == "off":
        return "CUPROUS_FRAMES=off"
    if background:
        return "Polars runs it in the background"
    if post_opt_callback is not None:
        return "another engine replaces the plan"
    if optimizations._pyoptflags.eager:
        return "it is an operation of a DataFrame"
    return ""


def _replaceable(part: nodes.Part) -> list[nodes.Part]:
    """The largest parts at the leaves that translate and compute something."""
    if part.node is None:
        found = [one for below in part.below for one in _replaceable(below)]
        return list({one.handle: one for one in found}.values())
    one_value = isinstance(part.node, nodes.WithColumns) and not part.node.broadcast
    if part.title == "Cache" or one_value:
        # Polars counts the uses of a cache, and a frame has no columns of one value; these nodes themselves stay.
        return _replaceable(part.below[0])
    return [part] if _computes(part.node) else []


def _computes(node: nodes.Node) -> bool:
    return not isinstance(node, _IDLE) or any(_computes(one) for one in node.inputs)


def _entries(part: nodes.Part) -> list[Entry]:
    """The nodes of a plan, inputs first, and where they would run."""
    if part.node is not None:
        return _planned_entries(part.node)
    below = [entry for one in part.below for entry in _entries(one)]
    return [*below, Entry(part.title, _POLARS, reason=part.reason)]


def _planned_entries(node: nodes.Node) -> list[Entry]:
    below = [entry for one in node.inputs for entry in _planned_entries(one)]
    return [*below, Entry(node.title, "cpu" if cp.get_device() == "cpu" else "gpu")]


def report(lf: Any, engine: Engine | None = None) -> Report:
    """Returns what of a query would run where, without running it.

    Parameters
    ----------
    lf : LazyFrame
        The query.
    engine : Engine, optional
        The engine; None is one with the defaults.

    Returns
    -------
    Report
        A report; `print` shows it as a table.

    See Also
    --------
    frames.Engine, frames.Report

    Examples
    --------
    >>> import cuprous.frames
    >>> lf = pl.LazyFrame({"x": [1.0, 2.0]}).select(pl.col("x").sin())
    >>> cuprous.frames.report(lf, cuprous.frames.Engine(take="all")).reasons
    ['Select: the function sin is not supported']
    """
    return (engine or Engine()).explain(lf)
