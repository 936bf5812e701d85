"""Pickling of kernels: by name if they are importable, otherwise by their code and the objects that it refers to."""

from __future__ import annotations

import importlib
import marshal
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any


def is_importable(function: Any) -> bool:
    """Returns true if the function, or its decorated version, can be imported by name."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is not None and getattr(found, "py_func", found) in (function, getattr(function, "py_func", None))


def _names(code: CodeType) -> set[str]:
    """Global names of a code and of those inside it."""
    return set(code.co_names).union(*(_names(c) for c in code.co_consts if isinstance(c, CodeType)))


def _packed(value: Any) -> Any:
    if isinstance(value, ModuleType):
        return ("module", value.__name__)
    if isinstance(value, FunctionType) and not is_importable(value):
        return ("function", reduced(value))
    return ("value", value)


def _unpacked(pair: tuple[str, Any]) -> Any:
    kind, value = pair
    if kind == "module":
        return importlib.import_module(value)
    return restored(*value) if kind == "function" else value


def reduced(function: FunctionType) -> tuple[Any, ...]:
    """Returns a function as values that can be pickled."""
    space = function.__globals__
    used = {name: _packed(space[name]) for name in sorted(_names(function.__code__)) if name in space}
    cells = [_packed(cell.cell_contents) for cell in function.__closure__ or ()]
    facts = (function.__name__, function.__qualname__, function.__module__, function.__defaults__)
    return marshal.dumps(function.__code__), facts, used, cells


def restored(code: bytes, facts: tuple[Any, ...], used: dict[str, Any], cells: list[Any]) -> FunctionType:
    """Rebuilds a function from the values of `reduced`."""
    from types import CellType

    name, qualname, module, defaults = facts
    space = {"__builtins__": __builtins__, "__name__": module, **{k: _unpacked(v) for k, v in used.items()}}
    closure = tuple(CellType(_unpacked(cell)) for cell in cells)
    function = FunctionType(marshal.loads(code), space, name, defaults, closure)
    function.__qualname__, function.__module__ = qualname, module
    return function
