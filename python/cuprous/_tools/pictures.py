"""Estimates, profiles and fused kernels as HTML for notebooks and as plots of matplotlib."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cuprous import _core
from cuprous._common import markup
from cuprous._common.markup import BLUE, GRAY, GREEN, ORANGE, PINK, PURPLE
from cuprous._tools.cells import file_name

if TYPE_CHECKING:
    from cuprous._tools.estimate_result import Estimate, Program
    from cuprous._tools.profile_rows import ProfileRow

#: Parts of a bar: label, value and color.
Parts = Sequence[tuple[str, float, str]]
#: Steps and lines of a picture; the rest is summed.
MOST = 20
#: What the time of a line goes to: attribute of a row, label, color.
KINDS = (
    ("device_time", "device", BLUE), ("copy_time", "copies", ORANGE), ("wait_time", "waits", PURPLE),
    ("rank_wait_time", "other ranks", PINK), ("plan_time", "planning", GREEN),
)  # fmt: skip


def axes(name: str, ax: Any, size: tuple[float, float]) -> Any:
    """Returns the axes to draw on: those given, or new ones.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(f"[{name}] plot() needs matplotlib: pip install matplotlib") from None
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def draw_bars(ax: Any, bars: Sequence[tuple[str, Parts]], title: str) -> Any:
    """Draws horizontal bars of stacked parts, with their sum in seconds, and returns the axes."""
    seen: set[str] = set()
    for label, parts in bars:
        left = 0.0
        for part, value, color in parts:
            if value > 0:
                ax.barh(label, value, left=left, color=color, label=None if part in seen else part)
                seen.add(part)
                left += value
        ax.text(left, label, " " + _core.quantity(left, "s"), va="center")
    ax.invert_yaxis()
    ax.margins(x=0.25)
    _label_seconds(ax)
    ax.set_title(title)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return ax


def _label_seconds(ax: Any) -> None:
    """Labels an axis of seconds with the unit that suits them."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    ax.xaxis.set_major_formatter(EngFormatter("s"))
    ax.xaxis.set_major_locator(MaxNLocator(5))


def html_bars(bars: Sequence[tuple[str, Parts, str]]) -> str:
    """Returns a table of bars: label, parts, and a remark."""
    totals = [sum(value for _, value, _ in parts) for _, parts, _ in bars]
    longest = max(totals, default=0.0)
    rows = [
        (markup.escape(label), _core.quantity(total, "s"), markup.bar(parts, longest), markup.escape(remark))
        for (label, parts, remark), total in zip(bars, totals, strict=True)
    ]
    return markup.table(["", "time", "", ""], rows, numbers=[1])


def estimate_bars(estimate: Estimate) -> list[tuple[str, Parts, str]]:
    """Returns the bars of an estimate: label, parts, and what bounds the device."""
    sides = [(estimate.cpu, estimate.total_cpu, 0.0), (estimate.gpu, estimate.total_gpu, estimate.copies or 0.0)]
    bars: list[tuple[str, Parts, str]] = []
    for on, total, copies in sides:
        if on is not None:
            whole = on.seconds * estimate.repeats if total is None else total
            source = "measured rates" if on.measured else "rates on paper"
            label, color = ("CPU", GRAY) if on is estimate.cpu else ("GPU: compute", BLUE)
            parts = (("GPU: copies", copies, ORANGE), (label, max(whole - copies, 0.0), color))
            bound = on.bound if on is estimate.cpu else estimate.bound  # the GPU's bar has the copies too
            bars.append((on.name, parts, f"bound by {bound} ({source})"))
    return bars


def fused_html(programs: Iterable[Program]) -> str:
    """Returns the kernels of programs as boxes that hold the operations fused into them."""
    out = []
    for number, program in enumerate(programs, 1):
        out.append(
            markup.heading(f"program {number}", f"{program.operations} operations, {len(program.steps)} kernels")
        )
        boxes = []
        for step in program.steps[:MOST]:
            operations = "".join(markup.box(markup.escape(name)) for name in step.name.split(", "))
            traffic = f"{_core.quantity(step.bytes_read, 'B')} in, {_core.quantity(step.bytes_written, 'B')} out"
            about = f"{_core.quantity(step.seconds, 's')}, {traffic}"
            boxes.append(markup.box(f'{operations}<div style="opacity:.65;font-size:85%">{markup.escape(about)}</div>'))
        if len(program.steps) > MOST:
            boxes.append(markup.box(f"and {len(program.steps) - MOST} more"))
        out.append("<div>" + " → ".join(boxes) + "</div>")
    return "".join(out)


def estimate_html(estimate: Estimate) -> str:
    """Returns an estimate as HTML: the answer, times by device with copies, and the fused kernels."""
    answer = [markup.paragraph(estimate.sentence)] if estimate.sentence else []
    if estimate.speedup_range is not None:
        answer.append(markup.paragraph(estimate.range_text()))
    runs = "one run" if estimate.repeats == 1 else f"{estimate.repeats} runs"
    work = (
        f"{_core.quantity(estimate.flops, 'FLOP')}, {_core.quantity(estimate.bytes_read, 'B')} read, "
        f"{_core.quantity(estimate.bytes_written, 'B')} written; times are of {runs}"
    )
    bars = estimate_bars(estimate)
    if estimate.measured is not None:
        bars.append(
            (f"measured on {estimate.measured_on}", (("measured", estimate.measured, GREEN),), estimate.disturbed)
        )
    parts = [markup.heading(estimate.name, work), *answer, html_bars(bars)]
    if estimate.copies:
        parts.append(markup.legend([("CPU", GRAY), ("GPU: compute", BLUE), ("GPU: copies", ORANGE)]))
    parts += [markup.paragraph(f"note: {note}") for note in estimate.notes]
    return "<div>" + "".join(parts) + fused_html(estimate.programs) + "</div>"


def line_parts(row: ProfileRow) -> Parts:
    """Returns what the time of a line goes to."""
    return [(label, getattr(row, attribute), color) for attribute, label, color in KINDS]


def line_label(row: ProfileRow) -> str:
    """Returns file, line and function of a row."""
    return f"{file_name(row.file)}:{row.line} {row.function}" if row.line else row.file


def by_time(rows: Sequence[ProfileRow]) -> list[ProfileRow]:
    """Returns the rows with most time, longest first."""
    return sorted(rows, key=lambda row: -sum(value for _, value, _ in line_parts(row)))[:MOST]


def profile_html(rows: Sequence[ProfileRow], wall: float, python: float, advice: Sequence[str]) -> str:
    """Returns a profile as HTML: advice, and the lines with most time as bars."""
    shown = by_time(rows)
    longest = max((sum(value for _, value, _ in line_parts(row)) for row in shown), default=0.0)
    head = ["line", "time", "", "kernels", "to the device", "to the host", "peak memory"]
    cells = [
        (
            markup.escape(line_label(row)), _core.quantity(sum(value for _, value, _ in line_parts(row)), "s"),
            markup.bar(line_parts(row), longest), f"{row.launches}",
            *(_core.quantity(n, "B") if n else "" for n in (row.bytes_in, row.bytes_out, row.memory_peak)),
        )
        for row in shown
    ]  # fmt: skip
    about = f"{_core.quantity(wall, 's')}, of which the host ran Python for {_core.quantity(python, 's')}"
    table = markup.table(head, cells, numbers=[1, 3, 4, 5, 6])
    colors = markup.legend((label, color) for _, label, color in KINDS)
    return (
        "<div>" + markup.heading("profile", about) + table + colors + "".join(map(markup.paragraph, advice)) + "</div>"
    )


def draw_timeline(ax: Any, report: _core.Report) -> Any:
    """Draws the events of a profile over time, one lane for each thread and device, and returns the axes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        report.save_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    colors = {
        "step": BLUE, "copy in": ORANGE, "copy out": ORANGE, "wait": PURPLE, "plan": GREEN, "run": GRAY,
        "collective": PINK, "wait for ranks": PINK,
    }  # fmt: skip
    spans: dict[tuple[int, int], list[Any]] = {}
    for event in events:
        if event["ph"] == "X":
            spans.setdefault((event["pid"], event["tid"]), []).append(event)
    lanes = sorted(spans)
    for height, lane in enumerate(lanes):
        found = spans[lane]
        ax.broken_barh(
            [(e["ts"] / 1e6, e["dur"] / 1e6) for e in found], (height - 0.4, 0.8),
            facecolors=[colors.get(e["cat"], GRAY) for e in found],
        )  # fmt: skip
    ax.set_yticks(range(len(lanes)), [f"{processes[lane[0]]}: {threads.get(lane, '')}" for lane in lanes])
    ax.invert_yaxis()
    _label_seconds(ax)
    ax.set_title("timeline")
    used = {e["cat"] for found in spans.values() for e in found}
    marks = [ax.barh(0, 0, color=color, label=kind) for kind, color in colors.items() if kind in used]
    ax.legend(handles=marks, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return ax
