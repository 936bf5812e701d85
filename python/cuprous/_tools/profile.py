"""`cuprous.profile`: where the time of a program goes, line by line."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any, Literal

from cuprous import _core
from cuprous._tools import cells, pictures, trace_sources
from cuprous._tools.profile_rows import ProfileRow, ProfileTotal


class profile:
    """Records what runs within a `with` statement: `with cuprous.profile() as p: …`, then `print(p)`.

    All threads and devices are recorded. The block ends with a wait for the devices, so that what it started counts. A
    block that ends with an exception has its profile all the same.

    Raises
    ------
    RuntimeError
        If a profile is being made already, or figures are read before it has ended.

    See Also
    --------
    timeit, explain, estimate

    Examples
    --------
    >>> with cp.profile() as p:
    ...     total = float(cp.arange(1000).sum())
    >>> p.events > 0
    True
    """

    def __init__(self) -> None:
        self._report: _core.Report | None = None
        self._begun, self._process = False, 0

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            self.stop()
        except Exception:
            if error is None:
                raise  # else the block's own error is what the user must see

    def start(self) -> None:
        """Begins the profile, as `with` does.

        Raises
        ------
        RuntimeError
            If a profile is being made already.

        Examples
        --------
        >>> p = cp.profile()
        >>> p.start()
        >>> p.stop()
        """
        _core.profile_begin()
        self._begun, self._report, self._process = True, None, os.getpid()

    def stop(self) -> None:
        """Ends the profile, as the end of a `with` statement does. Has no effect in a forked child.

        Raises
        ------
        RuntimeError
            If it has not begun.

        Examples
        --------
        >>> p = cp.profile()
        >>> p.start()
        >>> p.stop()
        >>> isinstance(str(p), str)
        True
        """
        if not self._begun:
            raise RuntimeError("[profile] this profile has not been started")
        self._begun = False
        if self._process == os.getpid():
            self._report = _core.profile_end()

    def _done(self) -> _core.Report:
        if self._report is None:
            raise RuntimeError("[profile] there are no results yet: the profile has not ended")
        return self._report

    @property
    def rows(self) -> list[ProfileRow]:
        """A row a line, those with most time first."""
        return [ProfileRow(**row) for row in self._done().rows()]

    @property
    def total(self) -> ProfileTotal:
        """The sums of all rows."""
        return ProfileTotal(**self._done().total())

    @property
    def parts(self) -> list[tuple[str, int, float]]:
        """`(name, calls, seconds)` of what `torch.profiler.record_function` named."""
        return self._done().parts()

    @property
    def spans(self) -> list[tuple[str, float, float, float]]:
        """Each of them, in order: `(name, begin, seconds, device_seconds)`; the latter of what was submitted in it."""
        return self._done().part_spans()

    @property
    def advice(self) -> list[str]:
        """What to do about what is slow, a sentence or two each, the most important first."""
        return [cells.named(sentence, self.rows) for sentence in self._done().advice()]

    @property
    def events(self) -> int:
        """How many events were noted; the timeline has the first million of them, the table all."""
        return self._done().events()[0]

    def table(self, limit: int = 20, sort_by: str = "time") -> str:
        """Returns the rows as text.

        Parameters
        ----------
        limit : int, default 20
            The number of rows; the others are summed in one row.
        sort_by : str, default "time"
            "time" (of devices, copies, waits and planning), or the name of a number in `ProfileRow`.

        Returns
        -------
        str
            A text of several lines.

        Raises
        ------
        ValueError
            If the column does not exist, or `limit` is negative.

        Examples
        --------
        >>> with cp.profile() as p:
        ...     total = float(cp.arange(1000).sum())
        >>> isinstance(p.table(limit=5), str)
        True
        """
        if limit < 0:
            raise ValueError(f"[profile] limit={limit} is negative")
        return cells.named(self._done().table(min(limit, sys.maxsize), sort_by), self.rows)

    def save(self, path: str | bytes | os.PathLike[str]) -> None:
        """Writes the timeline as JSON in Chrome's trace format, for `cuprous serve --profile` and
        https://ui.perfetto.dev. For a name that ends with ".svg", writes the flame graph.

        Parameters
        ----------
        path : str, bytes or path-like
            The name of the file.

        Raises
        ------
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> with cp.profile() as p:
        ...     total = float(cp.arange(1000).sum())
        >>> p.save(os.path.join(tempfile.mkdtemp(), "trace.json"))
        """
        name = os.fsdecode(path)
        if name.endswith(".svg"):
            self._done().save_flame_graph(name)
        else:
            self._done().save_trace(name)
            if os.path.isfile(name):
                trace_sources.add(name, self.rows)

    def plot(self, kind: Literal["lines", "timeline"] = "lines", ax: Any = None) -> Any:
        """Draws where the time went. Needs matplotlib.

        Parameters
        ----------
        kind : {"lines", "timeline"}, default "lines"
            "lines" for a bar a line of the program, those with most time first, or "timeline" for what ran when on each
            thread and device.
        ax : matplotlib.axes.Axes, optional
            The axes of matplotlib to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        RuntimeError
            If the profile has not ended.
        ValueError
            For another kind.

        Examples
        --------
        >>> with cp.profile() as p:
        ...     total = float(cp.arange(1000).sum())
        >>> axes = p.plot("timeline")  # doctest: +SKIP
        """
        if kind not in ("lines", "timeline"):
            raise ValueError(f"[profile] plot() draws 'lines' or 'timeline', not {kind!r}")
        report = self._done()
        if kind == "timeline":
            return pictures.draw_timeline(pictures.axes("profile", ax, (9, 3)), report)
        rows = pictures.by_time(self.rows)
        bars = [(pictures.line_label(row), pictures.line_parts(row)) for row in rows]
        ax = pictures.axes("profile", ax, (9, 1.6 + 0.35 * len(bars)))
        return pictures.draw_bars(ax, bars, "time by line")

    def _repr_html_(self) -> str | None:
        if self._report is None:
            return None
        total = self.total
        return pictures.profile_html(self.rows, total.wall, total.python, self.advice)

    def __str__(self) -> str:
        if self._report is None:
            return "<cuprous.profile: not ended>"
        return "\n".join([self.table(), *(f"* {sentence}" for sentence in self.advice)])

    def __repr__(self) -> str:
        return str(self)


__all__ = ["profile"]
