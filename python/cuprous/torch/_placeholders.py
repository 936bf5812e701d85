"""Parts of PyTorch that Cuprous does not have: they can be imported and named, and raise when they are used.

`_unsupported_parts.py` lists them with the reasons. A name is a class that cannot be created, so it can also be a base
class, an annotation, a default value or the second argument of `isinstance`. Names that PyTorch does not have either
raise AttributeError.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from cuprous.torch import _further_names
from cuprous.torch._unsupported_parts import ANSWERS, NAMES, PARTS, Part


class UnsupportedError(NotImplementedError, AttributeError):
    """Raised for an unsupported part of PyTorch. It is an AttributeError too, so that `hasattr` returns False."""


class _Unsupported(type):
    """The class of unsupported names. Their attributes, such as members of enumerations, are unsupported names too."""

    unsupported: str

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return unsupported_name(f"{cls.__module__.removeprefix('torch.')}.{cls.__name__}.{name}", cls.unsupported)


@functools.cache
def unsupported_name(path: str, reason: str) -> type:
    """Returns the placeholder of a function or class of PyTorch, given by its path below `torch`. It is always the same
    class, so that `isinstance` works."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(f"[torch.{path}] is not supported: {reason}")

    module, _, name = path.rpartition(".")
    attributes = {"__new__": refuse, "__module__": f"torch.{module}".rstrip("."), "unsupported": reason}
    return _Unsupported(name, (), attributes | {"__doc__": f"Not supported: {reason}."})


class _Placeholder(ModuleType):
    """The module of an unsupported part, or one that lies in it."""

    def __init__(self, path: str, part: Part) -> None:
        super().__init__(f"cuprous.torch.{path}", f"Not supported: {part.reason}.")
        self.__dict__.update(ANSWERS.get(path, {}), __path__=[], __all__=part.names.split(), _part=part)
        self._path, self._part = path, part

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self._path}.{name}"
        value: Any
        if self._path in _further_names.MODULES and (value := _of_package(self._path, name)) is not None:
            self.__dict__[name] = value
            return value
        if name in self._part.names.split():
            value = unsupported_name(path, self._part.reason)
        elif (value := find(path)) is None:
            raise UnsupportedError(f"[torch.{path}] is not supported: {self._part.reason}")
        self.__dict__[name] = value
        return value


def _of_package(path: str, name: str) -> Any:
    """Returns a name of PyTorch's module `path` that Cuprous has in a package around it, or None."""
    while path:
        path = path.rpartition(".")[0]
        package = sys.modules.get(f"cuprous.torch.{path}".rstrip("."))
        value = getattr(package, name, None)
        if value is not None and not isinstance(value, (ModuleType, _Unsupported)):
            return value
    return None


#: The modules around those of the further names.
_PACKAGES = {path.rpartition(".")[0] for path in _further_names.MODULES}
_PACKAGES |= {path.rpartition(".")[0] for path in _PACKAGES}
_FURTHER = _PACKAGES | _further_names.MODULES.keys()
#: Paths of modules that Cuprous has in part.
INCOMPLETE = NAMES.keys() | _further_names.NAMES.keys() | _PACKAGES
_modules: dict[str, ModuleType] = {}


def find(path: str) -> ModuleType | None:
    """Returns the placeholder module for a path below `torch`, or None if there is no such part."""
    if path in PARTS and path not in _modules:
        _modules[path] = _Placeholder(path, PARTS[path])
    elif path in _FURTHER and path not in _modules:
        _modules[path] = _Placeholder(path, Part(_further_names.REASON, _further_names.MODULES.get(path, "")))
    return _modules.get(path)


def get(module: str, name: str) -> Any:
    """Returns a name of a module that Cuprous has only in part; "" is `torch` itself.

    Raises
    ------
    AttributeError
        If PyTorch's module has no such name.
    """
    path = f"{module}.{name}".lstrip(".")
    part = find(path)
    if part is not None:
        return part
    for reason, names in NAMES.get(module, {}).items():
        if name in names.split():
            return unsupported_name(path, reason)
    if name in _further_names.NAMES.get(module, "").split():
        return unsupported_name(path, _further_names.REASON)
    raise AttributeError(f"module 'torch{module and '.'}{module}' has no attribute {name!r}")


def complete(module: ModuleType, path: str) -> None:
    """Gives a module the placeholders of its further names. `path` is PyTorch's path of the module below `torch`."""
    own: Callable[[str], Any] | None = vars(module).get("__getattr__")

    def getattr_(name: str) -> Any:
        if own is None:
            return get(path, name)
        try:
            return own(name)
        except AttributeError:
            return get(path, name)

    vars(module)["__getattr__"] = getattr_
    if path in _PACKAGES:
        vars(module).setdefault("__path__", [])
    for child in _further_names.MODULES:
        if child.rpartition(".")[0] == path and (inner := find(child)) is not None:
            # Known already, so that its import does not replace a function of the same name in the package.
            inner.__dict__["__spec__"] = ModuleSpec(f"cuprous.torch.{child}", None)
            sys.modules.setdefault(f"cuprous.torch.{child}", inner)


__all__ = ["INCOMPLETE", "UnsupportedError", "complete", "find", "get", "unsupported_name"]
