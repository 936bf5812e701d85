"""A pytest plugin for sessions of a peer's tests: binds the peer's imports and writes each result as a line of JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.peers.binding import Absent, execute
from tests.peers.suites import SUITES

SUITE = SUITES[os.environ["PEERS_SUITE"]]
RESULTS = Path(os.environ["PEERS_RESULTS"])
ROOT = SUITE.find() or Path()
IMPORTER = SUITE.bind(ROOT)


def _write(**row: Any) -> None:
    with RESULTS.open("a") as out:
        out.write(json.dumps(row) + "\n")


def _inside(nodeid: str) -> tuple[str, str]:
    file, _, test = nodeid.partition("::")
    return file.removesuffix(".py"), test


class PeerModule(pytest.Module):
    """A test module that is executed statement by statement."""

    def _getobj(self) -> ModuleType:
        name = SUITE.module(self.path.with_suffix("").relative_to(ROOT))
        if IMPORTER is None and name != self.path.stem:
            __import__(name)
            return sys.modules[name]
        module = ModuleType(name)
        vars(module).update(__file__=str(self.path), __package__=name.rpartition(".")[0])
        sys.modules[name] = module
        execute(self.path, module, IMPORTER)
        return module


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> PeerModule:
    """Collects with `PeerModule`."""
    module: PeerModule = PeerModule.from_parent(parent, path=module_path)
    return module


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Dir:
    """Collects without importing the packages that hold the tests."""
    directory: pytest.Dir = pytest.Dir.from_parent(parent, path=path)
    return directory


def pytest_configure(config: pytest.Config) -> None:
    """Declares the markers of CuPy's and Keras's tests."""
    for mark in ("slow", "multi_gpu", "parallel_threads", "parallel_threads_limit", "iterations", "thread_unsafe",
                 "requires_trainable_backend", "multi_device"):  # fmt: skip
        config.addinivalue_line("markers", mark)


@pytest.fixture
def initialize_from_pytest_config() -> None:
    """Defines what numba-cuda's own configuration file would define."""


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Reads generated parameters until one fails, so that only that one fails and not the collection of the class."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        if len(mark.args) > 1 and isinstance(mark.args[1], Iterator):
            names, values, *rest = mark.args
            object.__setattr__(mark, "args", (names, list(_until_error(names, values)), *rest))


def _until_error(names: str | Sequence[str], values: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from values
    except Exception as error:
        count = len(names.split(",") if isinstance(names, str) else names)
        yield pytest.param(*[Absent(error)] * count, id="absent")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips tests that an earlier process of this file has finished."""
    if RESULTS.exists():
        rows = [json.loads(line) for line in RESULTS.read_text().splitlines()]
        done = {(row["file"], row["id"]) for row in rows if "id" in row}
        items[:] = [item for item in items if _inside(item.nodeid) not in done]


def pytest_runtest_logstart(nodeid: str) -> None:
    """Records the running test, which is the cause if the process crashes."""
    file, test = _inside(nodeid)
    _write(file=file, start=test)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Keeps the error's text and the line of the test that raised it."""
    outcome: Any = yield
    report = outcome.get_result()
    if call.excinfo is not None and report.failed:
        lines = [entry.lineno + 1 for entry in call.excinfo.traceback if str(entry.path) == str(item.path)]
        error = call.excinfo.exconly()
        report.user_properties.append(("why", error if len(error) < 1500 else f"{error[:300]} ... {error[-1200:]}"))
        report.user_properties.append(("line", lines[-1] if lines else 0))


_rows: dict[str, dict[str, Any]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Writes one row per test: failed if any phase failed."""
    row = _rows.setdefault(report.nodeid, {"outcome": "passed", "seconds": 0.0})
    row["seconds"] = round(row["seconds"] + report.duration, 3)
    if report.failed and row["outcome"] != "failed":
        row.update({"outcome": "failed", "why": str(report.longrepr)[-400:]}, **dict(report.user_properties))
    elif report.skipped and row["outcome"] == "passed":
        row["outcome"] = "skipped"
    if report.when == "teardown":
        file, test = _inside(report.nodeid)
        _write(file=file, id=test, **_rows.pop(report.nodeid))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Records a file that cannot be collected as a failure."""
    if report.failed:
        file, test = _inside(report.nodeid)
        _write(file=file, id=test or "(import)", outcome="failed", why=str(report.longrepr)[-1500:])


def pytest_sessionfinish(exitstatus: int) -> None:
    """Marks the session as finished and not crashed."""
    if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        _write(finished=True)
