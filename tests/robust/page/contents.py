"""What tests read from the page."""

from __future__ import annotations

import json
from pathlib import Path

from .browser import Browser


def text(page: Browser, name: str) -> str:
    """Returns the text of a node."""
    return str(page.run(f"document.getElementById('{name}').textContent"))


def cells(page: Browser, table: str) -> list[list[str]]:
    """Returns the texts of the cells of a table's body, by row."""
    rows = f"[...document.querySelectorAll('#{table} tbody tr')]"
    return list(page.run(f"{rows}.map(r => [...r.cells].map(c => c.textContent))"))


def show(page: Browser, section: str) -> None:
    """Opens a section and waits until its contents are there."""
    page.run(f"location.hash = '{section}'")
    page.until(f"!document.getElementById('{section}').hidden")
    filled = {
        "calculator": "document.getElementById('cpu-time').textContent",
        "monitor": "document.querySelectorAll('#gpu-cards .card').length === 2",
        "profile": "document.querySelectorAll('#totals tbody tr').length",
    }
    page.until(filled[section])


def choose(page: Browser, file: Path, wanted: str) -> None:
    """Opens a user's file in the viewer of profiles."""
    node = page.call("DOM.querySelector", nodeId=page.call("DOM.getDocument")["root"]["nodeId"], selector="#file")
    page.call("DOM.setFileInputFiles", files=[str(file)], nodeId=node["nodeId"])
    page.until(f"document.getElementById('profile-state').textContent.includes({json.dumps(wanted)})")
