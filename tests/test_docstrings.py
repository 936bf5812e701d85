"""Every public name has a docstring, and functions that raise have a Raises section."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from cuprous._unsupported import Unsupported

#: Modules of the NumPy, CuPy, SciPy and PyTorch APIs.
OURS = ["", "linalg", "fft", "random", "cuda", "cuda.memory", "lib.stride_tricks"]
SCIPY = ["fft", "interpolate", "ndimage", "signal", "signal.windows", "spatial.distance", "special", "stats"]
TORCH = ["torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.utils.data", "torch.serialization",
         "torch.safetensors", "torch.amp", "torch.cuda", "torch.accelerator", "torch.random", "torch.profiler",
         "torchvision.datasets", "torchvision.transforms", "torchvision.utils"]  # fmt: skip
MODULES = [f"cuprous.{name}".rstrip(".") for name in OURS] + [f"cuprous.scipy.{name}" for name in SCIPY]
MODULES += [f"cuprous.{name}" for name in TORCH]


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
