"""What ran where, and why the rest was left to Polars."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """One node of a plan.

    Parameters
    ----------
    node : str
        Its kind.
    where : {"gpu", "cpu", "polars"}
        "gpu", "cpu" or "polars".
    rows_in : int, optional
        Rows of all inputs; None where they were not counted.
    rows_out : int, optional
        Rows of the result.
    milliseconds : float, optional
        The time of recording and running, apart from what runs later.
    bytes_moved : int, default 0
        Bytes copied to the device.
    reason : str, default ""
        Why it was left to Polars.

    See Also
    --------
    frames.Report, frames.report
    """

    node: str
    where: str
    rows_in: int | None = None
    rows_out: int | None = None
    milliseconds: float | None = None
    bytes_moved: int = 0
    reason: str = ""


@dataclass
class Report:
    """What ran where in one query; `print` shows it as a table.

    Parameters
    ----------
    entries : list of Entry, optional
        The nodes, inputs before what uses them.
    milliseconds : float, default 0.0
        The time of the whole query.

    See Also
    --------
    frames.Entry, frames.report

    Examples
    --------
    >>> from cuprous import frames
    >>> engine = frames.Engine(take="all")
    >>> lf = pl.LazyFrame({"x": [1.0, 2.0]}).select(pl.col("x") * 2)
    >>> report = engine.explain(lf)
    >>> report.complete, report.reasons
    (True, [])
    """

    entries: list[Entry] = field(default_factory=list)
    milliseconds: float = 0.0

    @property
    def reasons(self) -> list[str]:
        """The reasons why parts were left to Polars, each once."""
        found = [f"{one.node}: {one.reason}" for one in self.entries if one.reason]
        return list(dict.fromkeys(found))

    @property
    def complete(self) -> bool:
        """True if nothing was left to Polars."""
        return all(one.where != "polars" for one in self.entries)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("node", "where", "rows in", "rows out", "ms", "bytes moved", "reason")]
        for one in self.entries:
            milliseconds = "" if one.milliseconds is None else f"{one.milliseconds:.2f}"
            numbers = ("" if n is None else f"{n:,}" for n in (one.rows_in, one.rows_out))
            rows.append((one.node, one.where, *numbers, milliseconds, f"{one.bytes_moved:,}", one.reason))
        widths = [max(len(row[i]) for row in rows) for i in range(6)]
        lines = (
            "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[6])) for row in rows
        )
        return "\n".join(line.rstrip() for line in lines)
