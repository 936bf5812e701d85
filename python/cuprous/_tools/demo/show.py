"""The results as bars in a terminal, as JSON, and as a picture (SVG)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from cuprous._tools.demo.measure import Result

GRAY, BLUE, BOLD, DIM, RESET = "\x1b[90m", "\x1b[94m", "\x1b[1m", "\x1b[2m", "\x1b[0m"


def duration(ms: float | None) -> str:
    """A time to three digits, in the unit that suits it."""
    if ms is None:
        return "-"
    for unit, factor in (("s", 1e-3), ("ms", 1.0), ("µs", 1e3)):
        value = ms * factor
        if value >= 1 or unit == "µs":
            digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
            return f"{value:.{digits}f} {unit}"
    raise AssertionError


def lines_of(result: Result) -> list[tuple[str, float | None, str]]:
    """(label, milliseconds, color) of each bar."""
    bars = [("NumPy", result.numpy, GRAY), ("Cuprous, CPU", result.cpu, GRAY)]
    if result.gpu is not None:
        bars.append(("Cuprous, GPU", result.gpu, BLUE))
    if result.gpu_copies is not None:
        bars.append(("  with copies", result.gpu_copies, BLUE))
    return [bar for bar in bars if bar[1] is not None]


def as_text(results: Sequence[Result], color: bool, width: int) -> str:
    """The table with bars. Within a row, a bar's length is its share of the row's longest time. A bound has no bar."""
    paint = (lambda text, code: f"{code}{text}{RESET}") if color else (lambda text, code: text)
    room = max(10, min(width, 100) - 34)
    out: list[str] = []
    for result in results:
        ratio = f"   {result.ratio:.3g} x NumPy" if result.ratio else ""
        out.append(paint(result.title, BOLD) + paint(ratio, BLUE if result.gpu is not None else BOLD))
        bars = lines_of(result)
        longest = max((ms or 0.0 for _, ms, _ in bars), default=1.0) or 1.0
        for label, ms, code in bars:
            length = max(1, round(room * (ms or 0.0) / longest))
            out.append(f"  {label:<14} {duration(ms):>9}  {paint('█' * length, code)}")
        for device, bound in (("CPU", result.cpu_bound), ("GPU", result.gpu_bound)):
            if bound:
                rate = result.nbytes / bound / 1e6
                out.append(paint(f"  {device + ', at least':<14} {duration(bound):>9}  {rate:.3g} GB/s", DIM))
        if result.note:
            out.append(f"  {result.note}")
        out.append("")
    return "\n".join(out)


def as_svg(results: Sequence[Result], subtitle: str) -> str:
    """A picture that reads on light and on dark ground: mid grays for words, no background."""
    left, right, bar, gap = 150, 560, 14, 4
    y, body = 58, []
    for result in results:
        ratio = f"{result.ratio:.3g} x NumPy" if result.ratio else result.note
        body.append(f'<text x="16" y="{y}" class="t">{escape(result.title)}</text>')
        body.append(f'<text x="{right + 120}" y="{y}" class="r" text-anchor="end">{escape(ratio)}</text>')
        y += 8
        bars = lines_of(result)
        longest = max((ms or 0.0 for _, ms, _ in bars), default=1.0) or 1.0
        for label, ms, code in bars:
            length = max(1.5, (right - left) * (ms or 0.0) / longest)
            fill = "#a3a8b0" if label == "NumPy" else "#7d828a" if code == GRAY else "#3b82f6"
            body.append(
                f'<text x="{left - 8}" y="{y + bar - 3}" class="l" text-anchor="end">{escape(label.strip())}</text>'
            )
            body.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar}" rx="2" fill="{fill}"/>')
            body.append(f'<text x="{left + length + 6:.1f}" y="{y + bar - 3}" class="l">{duration(ms)}</text>')
            y += bar + gap
        y += 26
    style = (
        "text{font-family:system-ui,sans-serif;fill:#7d828a}.h{font-size:17px;font-weight:600}"
        ".t{font-size:13px;font-weight:600}.l{font-size:11px}.r{font-size:13px;font-weight:600;fill:#3b82f6}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {y}" width="700" height="{y}" role="img">'
        f"<title>NumPy beside Cuprous</title><style>{style}</style>"
        f'<text x="16" y="26" class="h">NumPy beside Cuprous</text>'
        f'<text x="16" y="42" class="l">{escape(subtitle)}</text>' + "".join(body) + "</svg>\n"
    )
