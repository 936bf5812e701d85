"""Lazily imported names of a package (PEP 562), from one table of modules and the names that each provides."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any


class Exports:
    """The names of a package that are imported on first use.

    Parameters
    ----------
    package : str
        The package.
    *tables : mapping of str to str
        Module -> the names that it provides, separated by spaces. Modules of the package itself begin with a dot, as in
        a relative import.
    modules : iterable of str or mapping of str to str, optional
        Names of submodules, or a mapping from other names to submodules.
    """

    def __init__(
        self, package: str, *tables: Mapping[str, str], modules: Iterable[str] | Mapping[str, str] = ()
    ) -> None:
        self._package = package
        self._module_of = {name: m for table in tables for m, names in table.items() for name in names.split()}
        self._modules = dict(modules) if isinstance(modules, Mapping) else {name: f".{name}" for name in modules}

    def __iter__(self) -> Iterator[str]:
        yield from self._module_of
        yield from self._modules

    def get(self, name: str) -> Any:
        """Imports a name and stores it as an attribute of the package.

        Raises
        ------
        AttributeError
            If the table has no such name, or the package has no such module.
        """
        if name in self._module_of:
            value = getattr(importlib.import_module(self._module_of[name], self._package), name)
        elif name in self._modules:
            value = self._import(name)
        else:
            raise AttributeError(f"module {self._package!r} has no attribute {name!r}")
        setattr(importlib.import_module(self._package), name, value)
        return value

    def _import(self, name: str) -> ModuleType:
        path = self._package + self._modules[name]
        try:
            return importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
            raise AttributeError(f"module {self._package!r} has no attribute {name!r}") from None
