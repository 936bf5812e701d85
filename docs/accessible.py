"""What the theme's pages lack for screen readers and keyboards, and is added to their HTML after the build."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

#: Patterns of the theme's HTML, and what stands there in the end.
ADDED = (
    (r'<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    (r'<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Site">'),
    (r'<aside class="toc-drawer( no-toc)?">', r'<aside class="toc-drawer\1" aria-label="This page">'),
    (
        r'<div class="content-icon-container">',
        '<div class="content-icon-container" role="navigation" aria-label="Page">',
    ),
    # What scrolls sideways on narrow screens scrolls by the keyboard too.
    (r"(<div class=\"highlight\"><pre)>", r'\1 tabindex="0">'),
    (r'(<div class="table-wrapper[^"]*")>', r'\1 tabindex="0">'),
    # A cell without a text is no header.
    (r'<th class="(head[^"]*)">(?:<p></p>)?</th>', r'<td class="\1"></td>'),
)


def mended(html: str) -> str:
    """Returns a page with what it lacks."""
    for pattern, text in ADDED:
        html = re.sub(pattern, text, html)
    return html


def mend(app: Sphinx, failure: Exception | None) -> None:
    """Mends all pages of a build, when it is done."""
    if failure is None and app.builder.format == "html":
        for path in Path(app.outdir).rglob("*.html"):
            before = path.read_text(encoding="utf-8")
            if (after := mended(before)) != before:
                path.write_text(after, encoding="utf-8")
