"""Parts of PyTorch that Cuprous does not have: they can be imported and named, and raise when they are used.

`_unsupported_parts.py` lists them with the reasons. A name is a class that cannot be created, so it can also be a base
class, an annotation, a default value or the second argument of `isinstance`. Names that PyTorch does not have either
raise AttributeError.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, NoReturn

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
        if name in self._part.names.split():
            value: Any = unsupported_name(path, self._part.reason)
        elif (value := find(path)) is None:
            raise UnsupportedError(f"[torch.{path}] is not supported: {self._part.reason}")
        self.__dict__[name] = value
        return value


_modules: dict[str, ModuleType] = {}


def find(path: str) -> ModuleType | None:
    """Returns the placeholder module for a path below `torch`, or None if there is no such part."""
    if path in PARTS and path not in _modules:
        _modules[path] = _Placeholder(path, PARTS[path])
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
    raise AttributeError(f"module 'torch{module and '.'}{module}' has no attribute {name!r}")


__all__ = ["UnsupportedError", "find", "get", "unsupported_name"]
