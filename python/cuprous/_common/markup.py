"""HTML of results in notebooks: text, tables and bars, readable on a light and on a dark ground."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: Colors of bars: compute and other work of devices, copies, planning, waits, other ranks, and what is compared with.
BLUE, ORANGE, GREEN, PURPLE, PINK, GRAY = "#3b82f6", "#d97706", "#059669", "#8b5cf6", "#db2777", "#8a8f98"
_MUTED = "opacity:.65;font-size:90%"


def escape(text: str) -> str:
    """Returns text with the characters that HTML reads replaced."""
    import html  # has the names of all characters, so it is loaded when something is shown

    return html.escape(text)


def heading(text: str, details: str = "") -> str:
    """Returns a line of text with the first part in bold."""
    more = f' <span style="{_MUTED}">{escape(details)}</span>' if details else ""
    return f"<div><b>{escape(text)}</b>{more}</div>"


def paragraph(text: str) -> str:
    """Returns a paragraph of text."""
    return f'<div style="margin:.3em 0">{escape(text)}</div>'


def preformatted(text: str) -> str:
    """Returns text whose white space is kept."""
    return f'<pre style="margin:.3em 0;line-height:1.25">{escape(text)}</pre>'


def bar(parts: Iterable[tuple[str, float, str]], whole: float, width: int = 240) -> str:
    """Returns a bar of parts side by side.

    Parameters
    ----------
    parts : iterable of tuple (str, float, str)
        Label, value and color of each part; the label is shown by browsers when the pointer rests on it.
    whole : float
        The value of a bar with full width.
    width : int, default 240
        That width in pixels.
    """
    spans = (
        f'<span title="{escape(label)}" style="display:inline-block;height:.8em;background:{color};'
        f'width:{max(1.0, width * value / whole):.1f}px"></span>'
        for label, value, color in parts
        if value > 0 and whole > 0
    )
    return f'<span style="white-space:nowrap;display:inline-block;width:{width + 8}px">{"".join(spans)}</span>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Returns a table.

    Parameters
    ----------
    head : sequence of str
        The titles of the columns.
    rows : iterable of sequence of str
        Cells that are HTML already.
    numbers : sequence of ints, optional
        The columns that are aligned to the right.
    """

    def line(cells: Sequence[str], tag: str) -> str:
        style = "padding:.15em .6em;text-align:{};white-space:nowrap"
        sides = ("right" if k in numbers else "left" for k in range(len(cells)))
        inner = (f'<{tag} style="{style.format(s)}">{c}</{tag}>' for c, s in zip(cells, sides, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line([escape(title) for title in head], 'th')}</thead><tbody>{body}</tbody></table>"


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Returns the explanation of colors: pairs of a label and a color."""
    marks = (f'<span style="color:{color}">■</span> {escape(label)}' for label, color in entries)
    return f'<div style="{_MUTED}">{" &nbsp; ".join(marks)}</div>'


def box(inner: str) -> str:
    """Returns a frame around HTML, for one part of a picture."""
    style = "display:inline-block;border:1px solid rgba(128,128,128,.5);border-radius:4px;margin:.2em;padding:.2em .5em"
    return f'<span style="{style};vertical-align:top">{inner}</span>'
