"""What IPython and pytest call: `%load_ext cuprous` and `pytest -p cuprous`."""

from __future__ import annotations

from typing import Any

from cuprous._tools import notebook
from cuprous.runner._binding import bind, bound, line, unbind
from cuprous.runner._packages import DEFAULT, chosen


def load_ipython_extension(ipython: Any) -> None:
    """Binds PyTorch, CuPy, Numba's CUDA and PyCUDA in a notebook: `%load_ext cuprous`. Adds `%%cuprous_time`, as
    `import cuprous` in a notebook does."""
    bind()
    notebook.install(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Undoes the binding: `%unload_ext cuprous`."""
    unbind()


def pytest_addoption(parser: Any) -> None:
    """Adds the option `--bind` to `pytest -p cuprous`."""
    group = parser.getgroup("cuprous", "packages that are bound to Cuprous")
    group.addoption("--bind", default="", metavar="NAMES", help="bind these packages beside the default ones: numpy")


def pytest_load_initial_conftests(early_config: Any) -> None:
    """Binds the packages before the tests' modules are imported."""
    more = early_config.known_args_namespace.bind
    bind(*chosen((*DEFAULT, *filter(None, more.split(",")))), quiet=True)


def pytest_report_header() -> str:
    """Names what is bound in the header of the report, which `-q` leaves out."""
    return line(bound())


__all__ = [
    "load_ipython_extension", "pytest_addoption", "pytest_load_initial_conftests", "pytest_report_header",
    "unload_ipython_extension",
]  # fmt: skip
