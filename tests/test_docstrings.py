"""Docstrings: every public name has one, functions that raise have a Raises section, and the examples are right.

The functions, classes and methods of the modules of arrays and of SciPy document every parameter and what they return,
and have an example. Examples run with `cp` and `np` imported, on any device.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous._unsupported import Unsupported

#: Modules of the NumPy, CuPy, SciPy and PyTorch APIs.
OURS = ["", "linalg", "fft", "random", "cuda", "cuda.memory", "lib.stride_tricks"]
SCIPY = ["fft", "interpolate", "ndimage", "signal", "signal.windows", "sparse", "sparse.linalg", "spatial.distance",
         "special", "stats"]  # fmt: skip
TORCH = ["torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.utils.data", "torch.serialization",
         "torch.safetensors", "torch.amp", "torch.cuda", "torch.accelerator", "torch.random", "torch.profiler",
         "torchvision.datasets", "torchvision.transforms", "torchvision.utils"]  # fmt: skip
MODULES = [f"cuprous.{name}".rstrip(".") for name in OURS] + [f"cuprous.scipy.{name}" for name in SCIPY]
MODULES += [f"cuprous.{name}" for name in TORCH]
#: Modules that are documented in full.
COMPLETE = ["cuprous", *(f"cuprous.{name}" for name in ("linalg", "fft", "random", "lib.stride_tricks"))]
COMPLETE += [f"cuprous.scipy.{name}" for name in SCIPY]

#: What has no example, and why.
WITHOUT_EXAMPLE = {
    "OutOfMemoryError": "it is caught, not called",
}
#: How examples are compared. Exceptions are printed with the private module of their class.
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
#: The section of a docstring that begins with a title.
SECTION = r"^{}:\n((?:    .*\n|\n)+)"


def public(module: str) -> Iterator[tuple[str, Any]]:
    """Returns the functions and classes of a module, and the public members of the classes."""
    found = import_module(module)
    assert found.__doc__
    for name in found.__all__:
        value = getattr(found, name)
        if not callable(value) or isinstance(value, Unsupported):
            continue
        if getattr(value, "__module__", "").startswith("numpy"):  # NumPy's own object, such as SeedSequence
            continue
        yield name, value
        if isinstance(value, type):
            for key, member in vars(value).items():
                if not key.startswith("_") and (callable(member) or inspect.isdatadescriptor(member)):
                    yield f"{name}.{key}", member


def section(doc: str, title: str) -> str:
    """Returns the text of a section of a docstring, or an empty one."""
    found = re.search(SECTION.format(title), doc + "\n", re.MULTILINE)
    return textwrap.dedent(found[1]) if found else ""


@pytest.mark.parametrize("module", MODULES)
def test_everything_has_a_docstring(module: str) -> None:
    assert [name for name, value in public(module) if not inspect.getdoc(value)] == []


def raised(function: Any) -> set[str]:
    """Returns the error classes that a function's own code raises."""
    try:
        code = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):  # native, or generated
        return set()
    errors = [node.exc for node in ast.walk(code) if isinstance(node, ast.Raise) and node.exc is not None]
    return {ast.unparse(error.func if isinstance(error, ast.Call) else error) for error in errors}


@pytest.mark.parametrize("module", [f"cuprous.{name}".rstrip(".") for name in OURS + TORCH])
def test_errors_are_documented(module: str) -> None:
    silent = []
    for name, value in public(module):
        doc = inspect.getdoc(value) or ""
        errors = raised(getattr(value, "__func__", value)) if inspect.isroutine(value) else set()
        if errors and "Raises" not in doc and not any(error in doc for error in errors):
            silent.append(name)
    assert silent == []


def parameters(value: Any) -> dict[str, Any]:
    """Returns the parameters of a function or class by name, without the object of a method."""
    try:
        found = inspect.signature(value).parameters
    except (TypeError, ValueError):  # an exception class
        return {}
    return {name: p for name, p in found.items() if name not in ("self", "cls") and not name.startswith("_")}


def undocumented(name: str, value: Any) -> list[str]:
    """Returns the parameters that the Args section does not name. A method's first one is the array."""
    entries = re.findall(r"^(\S[^:\n]*):", section(inspect.getdoc(value) or "", "Args"), re.MULTILINE)
    named = {word.strip().lstrip("*") for entry in entries for word in entry.split(",")}
    return [parameter for parameter in parameters(value) if parameter not in named]


@pytest.mark.parametrize("module", COMPLETE)
def test_every_parameter_is_documented(module: str) -> None:
    missing = {name: undocumented(name, value) for name, value in public(module) if callable(value)}
    assert {name: found for name, found in missing.items() if found} == {}


@pytest.mark.parametrize("module", COMPLETE)
def test_every_result_is_documented(module: str) -> None:
    silent = []
    for name, value in public(module):
        if inspect.isfunction(value) or inspect.ismethod(value):
            nothing = inspect.signature(value).return_annotation in (None, "None")
            if not nothing and not section(inspect.getdoc(value) or "", "Returns"):
                silent.append(name)
    assert silent == []


def test_nearly_all_have_an_example() -> None:
    found = [(name, value) for module in COMPLETE for name, value in public(module) if callable(value)]
    without = {name for name, value in found if ">>> " not in (inspect.getdoc(value) or "")}
    assert without == set(WITHOUT_EXAMPLE)
    assert len(without) < 0.05 * len(found)


class Checker(doctest.OutputChecker):
    """Compares outputs without regard to the signs of zeros, which depend on the device."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(_without_signs(want), _without_signs(got), optionflags)


def _without_signs(text: str) -> str:
    """Returns the output with positive zeros and without the spaces that align columns."""
    text = re.sub(r"-(?=0\.0*j)", "+", text)
    text = re.sub(r"-(?=0\.0*(?!\d))", "", text)
    return re.sub(r"(?<=[\[(,]) +", "", text)


@pytest.mark.parametrize("module", COMPLETE)
def test_examples_run(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    runner = doctest.DocTestRunner(Checker(), verbose=False, optionflags=FLAGS)
    docs = {inspect.getdoc(value) or "": name for name, value in public(module)}
    for doc, name in docs.items():
        test = doctest.DocTestParser().get_doctest(doc, {"cp": cp, "np": np}, f"{module}.{name}", None, None)
        runner.run(test)
    failed, attempted = runner.summarize(verbose=False)
    assert attempted > 0
    assert failed == 0, capsys.readouterr().out
