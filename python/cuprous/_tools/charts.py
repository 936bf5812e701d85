"""Groups of bars in a terminal and as a picture (SVG)."""

from __future__ import annotations

import math
import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

GRAY, BLUE, BOLD, DIM, RESET = "\x1b[90m", "\x1b[94m", "\x1b[1m", "\x1b[2m", "\x1b[0m"


@dataclass
class Bar:
    """A time with a label. Bars of a GPU are blue, those of what is compared with a lighter gray."""

    label: str
    ms: float
    gpu: bool = False
    reference: bool = False


@dataclass
class Group:
    """Bars of one workload; each is as long as its share of the longest. `bounds` are lines without a bar."""

    title: str
    remark: str
    bars: list[Bar]
    bounds: list[tuple[str, float, str]] = field(default_factory=list)
    note: str = ""

    @property
    def longest(self) -> float:
        """Milliseconds of the longest bar."""
        return max((bar.ms for bar in self.bars), default=1.0) or 1.0


def colored() -> bool:
    """Returns True if standard output shows colors: a terminal, and `NO_COLOR` is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def plain() -> bool:
    """Returns True if standard output may be unable to show more than ASCII."""
    locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "")
    return locale in ("C", "POSIX") or not (sys.stdout.encoding or "").lower().startswith("utf")


def shown(text: str) -> str:
    """Returns a text with its times as standard output can show them."""
    return text.replace("µ", "u") if plain() else text


def unwritable(path: str, *suffixes: str) -> str:
    """Returns what is wrong with a file to be written, or an empty text. Better before the work than after it."""
    if path.endswith(suffixes) and os.path.isdir(os.path.dirname(path) or "."):
        return ""
    return f"{path!r} must end with {' or '.join(suffixes)}, in a folder that is there"


def duration(ms: float | None, ascii_only: bool = False) -> str:
    """A time to three digits, in the unit that suits it."""
    if ms is None:
        return "-"
    for unit, factor in (("s", 1e-3), ("ms", 1.0), ("us" if ascii_only else "µs", 1e3)):
        value = ms * factor
        if value >= 1 or factor == 1e3:
            digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
            return f"{value:.{digits}f} {unit}"
    raise AssertionError


def times(factor: float) -> str:
    """Returns a ratio as the sentences of estimates write it: 560x, 19.2x, 0.052x, never with an exponent."""
    if not 1e-6 <= factor < 1e15:
        return f"{factor:.1e}x"
    if factor >= 0.995:
        return f"{factor:.0f}x" if factor >= 99.95 else f"{factor:.1f}x"
    return f"{factor:.{max(1 - math.floor(math.log10(factor)), 2)}f}x"


def as_text(groups: Sequence[Group], color: bool, width: int, ascii_only: bool = False) -> str:
    """The groups as lines, with bars of blocks or of number signs."""
    paint = (lambda text, code: f"{code}{text}{RESET}") if color else (lambda text, code: text)
    room = max(10, min(width, 100) - 34)
    block = "#" if ascii_only else "█"
    out: list[str] = []
    for group in groups:
        best = BLUE if any(bar.gpu for bar in group.bars) else BOLD
        out.append(paint(group.title, BOLD) + (paint(f"   {group.remark}", best) if group.remark else ""))
        for bar in group.bars:
            length = max(1, round(room * bar.ms / group.longest))
            code = BLUE if bar.gpu else GRAY
            out.append(f"  {bar.label:<14} {duration(bar.ms, ascii_only):>9}  {paint(block * length, code)}")
        for label, ms, remark in group.bounds:
            out.append(paint(f"  {label:<14} {duration(ms, ascii_only):>9}  {remark}", DIM))
        if group.note:
            out.append(f"  {group.note}")
        out.append("")
    return "\n".join(out)


def as_svg(groups: Sequence[Group], title: str, subtitle: str) -> str:
    """A picture that reads on light and on dark ground: mid grays for text, no background."""
    left, right, bar_height, gap = 150, 560, 14, 4
    about = textwrap.wrap(subtitle, 105)  # what fits into the width at that size
    body = [f'<text x="16" y="{42 + 14 * k}" class="l">{escape(line)}</text>' for k, line in enumerate(about)]
    y = 56 + 14 * len(about)
    for group in groups:
        body.append(f'<text x="16" y="{y}" class="t">{escape(group.title)}</text>')
        remark = escape(group.remark or group.note)
        body.append(f'<text x="{right + 120}" y="{y}" class="r" text-anchor="end">{remark}</text>')
        y += 8
        for bar in group.bars:
            length = max(1.5, (right - left) * bar.ms / group.longest)
            fill = "#3b82f6" if bar.gpu else "#a3a8b0" if bar.reference else "#7d828a"
            label, base = escape(bar.label.strip()), y + bar_height - 3
            body.append(f'<text x="{left - 8}" y="{base}" class="l" text-anchor="end">{label}</text>')
            body.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar_height}" rx="2" fill="{fill}"/>')
            body.append(f'<text x="{left + length + 6:.1f}" y="{base}" class="l">{duration(bar.ms)}</text>')
            y += bar_height + gap
        y += 26
    style = (
        "text{font-family:system-ui,sans-serif;fill:#7d828a}.h{font-size:17px;font-weight:600}"
        ".t{font-size:13px;font-weight:600}.l{font-size:11px}.r{font-size:13px;font-weight:600;fill:#3b82f6}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {y}" width="700" height="{y}" role="img">'
        f"<title>{escape(title)}</title><style>{style}</style>"
        f'<text x="16" y="26" class="h">{escape(title)}</text>' + "".join(body) + "</svg>\n"
    )
