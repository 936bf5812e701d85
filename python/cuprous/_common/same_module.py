"""Modules under a second name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType


class SameModule(Loader):
    """Loads a module of Cuprous under a second name. It is the same object, so that classes exist once."""

    def __init__(self, ours: str) -> None:
        self.ours = ours

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves the module to `exec_module`, so that its own specification stays."""

    def exec_module(self, module: ModuleType) -> None:
        """Replaces the new module by the existing one."""
        sys.modules[module.__name__] = importlib.import_module(self.ours)


def spec_of(name: str, ours: str) -> ModuleSpec | None:
    """Returns the specification with which `name` is the module `ours`, if that exists."""
    found = importlib.util.find_spec(ours)
    if found is None:
        return None
    spec = ModuleSpec(name, SameModule(ours), origin=found.origin)
    spec.submodule_search_locations = found.submodule_search_locations
    return spec
