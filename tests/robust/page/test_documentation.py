"""Tests pages as `make docs` builds them with axe-core: three widths, light and dark, with code, tables and a menu."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from .browser import Browser
from .test_views import WIDTHS, axe

ROOT = Path(__file__).parents[3]
INDEX = """# A page

Words, `code` and [a link](other.md).

```python
import cuprous as cp  # was: import numpy as np

values = cp.linspace(0, 1, 1_000_000)  # a line that is wider than a telephone and has a long comment at its end, too
print(f"{float(values.mean()):.6f}", "text", values.dtype, None, 0.5)
```

```sh
cuprous doctor   # checks the machine
```

| | one | two |
|---|---|---|
| a name | `an_identifier_that_is_long(with, arguments)` | words that need much room in a cell |

```{toctree}
:hidden:
:caption: Begin

other
```
"""
FAULTS = "axe.run().then(r => r.violations.map(v => [v.id, v.nodes.slice(0, 3).map(n => n.target.join(' '))]))"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Builds two pages with the configuration of the documentation, and serves them."""
    pytest.importorskip("furo", reason="`make docs` installs it")
    folder = tmp_path_factory.mktemp("site")
    sources = folder / "sources"
    sources.mkdir()
    (sources / "index.md").write_text(INDEX)
    (sources / "other.md").write_text("# Another page\n\n## First\n\nWords.\n\n## Second\n\nWords.\n")
    line = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-b",
        "html",
        "-c",
        str(ROOT / "docs"),
        str(sources),
        str(folder / "html"),
    ]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (folder / "html" / "versions.json").write_text("[]")
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/html"
    server.shutdown()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "other"])
def test_axe_finds_nothing(browser: Browser, site: str, name: str, scheme: str) -> None:
    browser.scheme(scheme)
    for width, size in WIDTHS.items():
        browser.size(*size)
        browser.open(f"{site}/{name}.html")
        browser.run(axe() + ";1")
        assert browser.run(FAULTS) == [], width
        assert browser.run("document.documentElement.scrollWidth") <= size[0]
