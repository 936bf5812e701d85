"""Imports of modules under PyTorch's names for them, where Cuprous spells them differently or does not support them.

A package assigns such a module to an attribute, or it is a placeholder. The finder makes it importable.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from cuprous.torch import _placeholders


class _Finder:
    """Finds and loads modules of `cuprous.torch` and `cuprous.torchvision` that are attributes of their package, if no
    file has that name. The base classes of `importlib.abc` are not used because their import takes 30 ms."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        is_ours = fullname.startswith(("cuprous.torch.", "cuprous.torchvision.")) and _attribute(fullname) is not None
        return ModuleSpec(fullname, self) if is_ours else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves the module to `exec_module`, so that its own specification stays."""

    def exec_module(self, module: ModuleType) -> None:
        found: Any = _attribute(module.__name__)
        if found.__spec__ is None:
            found.__dict__["__spec__"] = module.__spec__  # without which `importlib.util.find_spec` fails
        sys.modules[module.__name__] = found
        path = module.__name__.removeprefix("cuprous.torch.")
        if path in _placeholders.INCOMPLETE and path not in _complete:
            _complete.add(path)
            _placeholders.complete(found, path)


#: The modules that have the placeholders of their further names.
_complete: set[str] = set()


class _OfSecondName:
    """Loads the submodule of a package that is also an attribute under a second name, such as `torch.torch.sparse`.
    It is the same module, so that its classes and settings exist once."""

    def __init__(self, first_name: str) -> None:
        self._first_name = first_name

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves the module to `exec_module`, so that its own specification stays."""

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(self._first_name)


class _Completer:
    """Loads modules of `cuprous.torch` that have further names, and those of packages under a second name."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, child = fullname.rpartition(".")
        parent = sys.modules.get(package) if package.startswith("cuprous.torch.") else None
        if parent is not None and parent.__name__ != package:
            return _of_second_name(fullname, f"{parent.__name__}.{child}")
        name = fullname.removeprefix("cuprous.torch.")
        if not fullname.startswith("cuprous.torch.") or name not in _placeholders.INCOMPLETE:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _complete.add(name)
            _placeholders.complete(module, name)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _of_second_name(fullname: str, first_name: str) -> ModuleSpec | None:
    found = find_spec(first_name)
    return found and ModuleSpec(fullname, _OfSecondName(first_name))  # type: ignore[arg-type]


def complete_loaded() -> None:
    """Gives the modules that are loaded already the placeholders of their further names."""
    for path in _placeholders.INCOMPLETE - _complete:
        module = sys.modules.get(f"cuprous.torch.{path}".rstrip("."))
        if module is not None:
            _complete.add(path)
            _placeholders.complete(module, path)


def _attribute(path: str) -> ModuleType | None:
    package, _, name = path.rpartition(".")
    module = getattr(sys.modules.get(package), name, None)
    if not isinstance(module, ModuleType):
        module = _placeholders.find(path.removeprefix("cuprous.torch."))
    return module if isinstance(module, ModuleType) and module.__name__.startswith("cuprous.torch") else None


sys.meta_path.append(_Finder())
sys.meta_path.insert(0, _Completer())
