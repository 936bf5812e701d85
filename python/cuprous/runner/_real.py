"""The real packages beside those of Cuprous that are bound to their names."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from cuprous.runner._finder import FINDER, drop_modules
from cuprous.runner._imports import IMPORTS
from cuprous.runner._packages import below

_lock = threading.RLock()
#: The real modules of bound packages, by name.
_modules: dict[str, ModuleType] = {}
#: The packages that the current thread, which holds the lock, has under their own names.
_exchanged: list[str] = []


def keep(modules: Mapping[str, ModuleType]) -> None:
    """Keeps modules that were imported before their package was bound."""
    _modules.update(modules)


def give_back() -> dict[str, ModuleType]:
    """Returns all real modules and forgets them."""
    modules = dict(_modules)
    _modules.clear()
    IMPORTS.remove(_rule)
    return modules


def real_package(name: str) -> ModuleType:
    """Returns the real module of a package that is bound to Cuprous. It stays the real one: what it imports later from
    its own package is real too, while everybody else's imports lead to Cuprous.

    Parameters
    ----------
    name : str
        The module, such as "torch" or "torch.nn".

    Returns
    -------
    module
        The module.

    Raises
    ------
    TypeError
        If the name is not a string.
    ModuleNotFoundError
        If the package is not installed.

    See Also
    --------
    bind

    Examples
    --------
    >>> cp.real_package("math").sqrt(4)
    2.0
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a module must be a string, got {type(name).__name__}")
    package = _package(name)
    if package is None:
        return importlib.import_module(name)
    IMPORTS.add(_rule)
    with _in_place_of_ours(package):
        return importlib.import_module(name)


def _package(name: str) -> str | None:
    """Returns the bound package that a module belongs to."""
    return next((package for package in FINDER.packages if below(name, package)), None)


def _rule(name: str, importer: Mapping[str, Any]) -> Callable[[Callable[..., Any]], Any] | None:
    """Imports of a real package's modules see their own package under its name."""
    package = _package(importer.get("__name__", ""))
    if package is None or package in _exchanged:
        return None

    def imported(plain: Callable[..., Any]) -> Any:
        with _in_place_of_ours(package):
            return plain()

    return imported


@contextmanager
def _in_place_of_ours(package: str) -> Iterator[None]:
    """Within the block the package's name means the real package, for the whole process."""
    with _lock:
        if package in _exchanged:
            yield
            return
        _exchanged.append(package)
        ours = drop_modules([package])
        sys.modules.update(_of(package))
        bound = FINDER.packages
        FINDER.packages = tuple(name for name in bound if name != package)
        try:
            yield
        finally:
            FINDER.packages = bound
            keep(drop_modules([package]))
            sys.modules.update(ours)
            _exchanged.remove(package)
            parent, _, name = package.rpartition(".")
            if package in ours and parent in sys.modules:  # numba.cuda is an attribute of numba too
                setattr(sys.modules[parent], name, ours[package])


def _of(package: str) -> dict[str, ModuleType]:
    return {name: module for name, module in _modules.items() if below(name, package)}
