"""A browser, a server of a simulated machine, and the page of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ..serving import Server, serving
from ..stand_ins import Machine, compiled
from .browser import Browser

TRACE: dict[str, Any] = {
    "traceEvents": [
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "Python"}},
        {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "GPU stream"}},
        {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 1000, "name": "train.py:41", "args": {"line": "train.py:41"}},
        {"ph": "X", "pid": 1, "tid": 1, "ts": 100, "dur": 200, "name": "launch"},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 400, "dur": 2000, "name": "softmax", "cat": "step",
         "args": {"line": "train.py:42"}},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 2500, "dur": 1000, "name": "softmax", "cat": "step",
         "args": {"line": "train.py:42"}},
        {"ph": "B", "pid": 1, "tid": 1, "ts": 3000, "name": "copy", "cat": "copy out",
         "args": {"line": "train.py:43", "bytes": 18_874_624}},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 3500},
        {"ph": "s", "pid": 1, "tid": 1, "ts": 150, "id": 1, "cat": "launch", "name": "launch"},
        {"ph": "f", "pid": 1, "tid": 2, "ts": 400, "id": 1, "cat": "launch", "name": "launch"},
        {"ph": "C", "pid": 1, "ts": 5, "name": "memory", "args": {"bytes": 5}},
        {"ph": "N", "pid": 1, "ts": 5, "name": "no such kind"},
    ],
    "sources": {"train.py:42": "weights = softmax(scores)", "train.py:43": "loss = float(weights.sum())"},
    "stacks": [
        "main (train.py:9);step (train.py:42);softmax 3000",
        "main (train.py:9);step (train.py:43);[copy to the host] 500",
    ],
    "otherData": {"wall_seconds": 0.0035},
}  # fmt: skip


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serves a simulated machine with two GPUs and a profile."""
    folder = tmp_path_factory.mktemp("machine")
    machine = Machine(folder).card().nodes().driver()
    machine.libraries.append(compiled("nvml.c", "libnvidia-ml.so.1"))
    profile = folder / "profile.json"
    profile.write_text(json.dumps(TRACE))
    with serving("--profile", str(profile), **machine.environment()) as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Browser]:
    browser.size(1280, 900)
    browser.scheme("light")
    browser.answers.clear()
    browser.failures.clear()
    browser.requests.clear()
    browser.open(f"http://127.0.0.1:{server.port}/")
    browser.until("document.getElementById('cpu-time').textContent")
    yield browser
    browser.answers.clear()
    assert browser.failures == []
    # No request went to another machine.
    own = (f"http://127.0.0.1:{server.port}/", "data:", "about:")
    assert [url for url in browser.requests if not url.startswith(own)] == []
