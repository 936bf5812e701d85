"""Writes docs/coverage.md: every function of NumPy's, whether it is here, and what it does not do; and what there is of
SciPy's. (`make coverage`)

    PYTHONPATH=python python docs/coverage.py [--print]

Nothing is kept by hand but the few remarks below: names come from NumPy, presence from the package, missing arguments
from comparing signatures, what is refused from the `NotImplementedError`s in the sources, and what is done on the host
of a GPU from calls (`docs/transfers.py`).
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

import cuprous as cp
from cuprous._unsupported import ABSENT, Unsupported

#: What has functions: a module or a class.
Owner: TypeAlias = "ModuleType | type"

HERE = Path(__file__).resolve().parent
TABLE = HERE / "coverage.md"
SOURCES = Path(str(cp.__file__)).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # of what is measured, and of the tables of calls

#: Parameters of NumPy's that say nothing about arrays on devices, or that are an accident of how it is built.
IGNORED = {"like", "object", "start_or_stop", "einsum_call"}

REMARKS = {
    "allclose": "returns a 0-d array",
    "array_equal": "returns a 0-d array",
    "array_equiv": "returns a 0-d array",
    "argpartition": "sorts throughout on a GPU",
    "partition": "sorts throughout on a GPU",
    "finfo": "numbers are Python's",
    "random.get_state": "a dict",
}
STREAMS = dict.fromkeys(
    ("random.MT19937", "random.PCG64", "random.PCG64DXSM", "random.Philox", "random.SFC64"),
    "streams are those of `Philox4x3210`",
)
SAME = "NumPy's own"
#: Modules of SciPy's that are here.
SCIPY = (
    "fft", "interpolate", "linalg", "ndimage", "signal", "signal.windows", "sparse", "sparse.csgraph", "sparse.linalg",
    "spatial", "spatial.distance", "special", "stats",
)  # fmt: skip


def names(module: Owner) -> Iterator[tuple[str, Any]]:
    """The functions, ufuncs and classes that a module or class of NumPy's offers; neither dtypes nor constants."""
    for name in sorted(getattr(module, "__all__", None) or (n for n in dir(module) if n[0] != "_")):
        value = getattr(module, name)
        is_dtype = isinstance(value, type) and issubclass(value, np.generic)
        is_error = isinstance(value, type) and issubclass(value, Exception)
        if callable(value) and not is_dtype and not is_error:
            yield name, value


def refusals(*folders: Path) -> dict[str, list[str]]:
    """What functions refuse, by function: the texts of `NotImplementedError("[function] …")`."""
    found: dict[str, list[str]] = {}
    for path in sorted((path for folder in folders for path in folder.glob("*.py")), key=lambda path: path.stem):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "NotImplementedError" and node.args:
                function, _, text = literal(node.args[0]).removeprefix("[").partition("] ")
                text = re.sub("^…=…? is not", "some arguments are not", text)  # whose names are variables
                found.setdefault(function, []).append(text.replace("|", "\\|"))
    return found


def literal(node: ast.expr) -> str:
    """The text of a string or of an f-string, with … for what it fills in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return ""


def missing(theirs: Any, ours: Any) -> list[str]:
    """Parameters of NumPy's function that ours has not."""
    try:
        mine = inspect.signature(ours).parameters.values()
        asked = inspect.signature(theirs).parameters.values()
    except (TypeError, ValueError):
        return []
    if any(p.kind == p.VAR_KEYWORD for p in mine):
        return []
    have = {p.name for p in mine} | IGNORED
    return [p.name for p in asked if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name not in have]


def on_gpus() -> dict[str, str]:
    """What functions do where their arrays are on a GPU."""
    return dict(import_module("transfers").words())


def marks(full: str, there: bool) -> str:
    """The columns of the two devices."""
    return f"yes | {on_gpus().get(full, 'yes, not measured')}" if there else "no | no"


def note(full: str, theirs: Any, ours: Any, refused: list[str]) -> str:
    """The last column."""
    if isinstance(ours, Unsupported):
        return ours.unsupported
    if ours is None:
        return ABSENT.get(full) or STREAMS.get(full, "not yet")
    if ours is theirs:
        return SAME
    parts = [REMARKS[full]] if full in REMARKS else []
    numpys = isinstance(theirs, np.ufunc) and getattr(np, full, None) is theirs
    if numpys and not isinstance(ours, cp.ufunc):
        parts.append("without a ufunc's methods")
    if lacks := missing(theirs, ours):
        parts.append("without " + ", ".join(f"`{p}=`" for p in lacks))
    return "; ".join([*parts, *refused])


def section(title: str, theirs: Owner, ours: Owner | None, refused: dict[str, list[str]]) -> list[str]:
    """One table."""
    prefix = theirs.__name__.removeprefix("numpy").lstrip(".")
    rows = []
    done = 0
    for name, function in names(theirs):
        mine = getattr(ours, name, None)
        there = mine is not None and not isinstance(mine, Unsupported)
        done += there
        full = f"{prefix}.{name}" if prefix else name
        text = note(full, function, mine, refused.get(full, []))
        rows.append(f"| {name} | {marks(full, there)} | {text} |")
    head = [f"## {title}", "", f"{done} of {len(rows)}.", "", "| function | CPU | GPU | note |", "|---|---|---|---|"]
    return [*head, *rows, ""]


def scipy_version() -> str:
    """SciPy's major and minor version."""
    return ".".join(import_module("scipy").__version__.split(".")[:2])


def scipy_section(name: str) -> list[str]:
    """One table of what a module of `cuprous.scipy` has, and of what it names an alternative to."""
    theirs, ours = import_module(f"scipy.{name}"), import_module(f"cuprous.scipy.{name}")
    folder = SOURCES / "scipy" / name.replace(".", "/")
    refused = refusals(folder if folder.is_dir() else folder.parent)
    known = sorted({*ours.__all__, *getattr(ours, "ALTERNATIVES", ())} & {*dir(theirs)})
    total = sum(callable(getattr(theirs, n)) and n[0].islower() for n in theirs.__all__)
    rows, done = [], 0
    for function in known:
        other, mine = getattr(theirs, function), getattr(ours, function)
        if isinstance(mine, ModuleType):
            continue
        there = not isinstance(mine, Unsupported)
        done += there
        text = note(function, other, mine, refused.get(function, []))
        rows.append(f"| {function} | {marks(f'scipy.{name}.{function}', there)} | {text} |")
    head = [f"## `scipy.{name}`", "", f"{done} of {total}.", "", "| function | CPU | GPU | note |", "|---|---|---|---|"]
    return [*head, *rows, ""]


def module_of(name: str) -> ModuleType | None:
    """A module of the package, if there is one."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        return None


def version() -> str:
    """NumPy's major and minor version."""
    return ".".join(np.__version__.split(".")[:2])


def page() -> str:
    """The whole page."""
    refused = refusals(*(SOURCES / name for name in ("_array", "_common", "_functions", "_ufuncs", "linalg")))
    lines = [
        "# NumPy's functions",
        "",
        f"Written by `docs/coverage.py` from the package itself beside NumPy {version()}; do not edit. A name that is",
        "not here raises `NotImplementedError` when called; its note is the reason. Both devices have code for every",
        "operation that functions are composed of; on GPUs",
        "",
        "- **yes**: all is recorded, and the call returns before it is computed;",
        "- **waits**: a few numbers are looked at on the way, such as the length of the result or whether a matrix was",
        "  singular, so that the call waits for the device;",
        "- **host**: the elements themselves go to the host or come from it.",
        "",
        "Two words, where it depends on the arguments; **not measured** what takes no arrays, or no table of the tests",
        "calls. On the CPU there is nothing to wait for.",
        "[Differences](differences.md) are what names and arguments do not show.",
        "",
        *section("`numpy`", np, cp, refused),
        *section("`numpy.linalg`", np.linalg, module_of("cuprous.linalg"), refused),
        *section("`numpy.fft`", np.fft, module_of("cuprous.fft"), refused),
        *section("`numpy.random`", np.random, cp.random, refused),
        *section("`numpy.random.Generator`", np.random.Generator, cp.random.Generator, refused),
        "# SciPy's functions",
        "",
        f"The modules of `cuprous.scipy` beside SciPy {scipy_version()}. A name with an alternative as its note raises",
        "`NotImplementedError` when called; other names that are not here raise `AttributeError` and are not listed.",
        "",
        *(line for name in SCIPY for line in scipy_section(name)),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.write(page())
    else:
        TABLE.write_text(page(), encoding="utf-8")
        print(f"wrote {TABLE}")
