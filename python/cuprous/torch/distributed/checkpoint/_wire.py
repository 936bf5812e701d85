"""Plans as text: what travels between the ranks, and stands in an index, without pickle."""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
import sys
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from cuprous.torch._memory_format import FORMATS, LAYOUTS
from cuprous.torch._types import DTYPES, Size

#: Objects of which there is one of each name.
_NAMED: dict[str, Any] = {"dtype": DTYPES, "layout": LAYOUTS, "memory_format": FORMATS}
_PACKAGE = __name__.rpartition(".")[0] + "."


def modules_of(*objects: Any) -> set[str]:
    """Returns the modules that define the classes of a planner and a storage, whose dataclasses plans may contain."""
    return {cls.__module__ for each in objects for cls in type(each).__mro__ if cls is not object}


def to_text(value: Any, modules: Iterable[str] = ()) -> str:
    """Returns a value as text: the same text for the same value, in whatever order sets have it.

    Raises
    ------
    TypeError
        For an object that `from_text` would not make.
    """
    return json.dumps(_Code(modules).encode(value))


def from_text(text: str, modules: Iterable[str] = ()) -> Any:
    """Returns the value that `to_text` has been given. It consists of plain values, and of dataclasses and enums of
    this package and of these modules: nothing else is imported or called.

    Raises
    ------
    ValueError
        If the text names another class.
    """
    return _Code(modules).decode(json.loads(text))


class _Code:
    """How values of some modules are written. Plans have thousands of objects of a few classes, so what is found out
    about a class is kept."""

    def __init__(self, modules: Iterable[str]) -> None:
        self._modules = set(modules)
        self._names: dict[type[Any], tuple[str, list[str]]] = {}
        self._classes: dict[str, tuple[Any, list[tuple[str, bool]]]] = {}

    def encode(self, value: Any) -> Any:
        """Returns a value as JSON."""
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if kind in (list, tuple, Size):
            return [kind.__name__, [self.encode(each) for each in value]]
        if kind in (set, frozenset):
            return [kind.__name__, sorted((self.encode(each) for each in value), key=json.dumps)]
        if kind is dict:
            return ["dict", [[self.encode(k), self.encode(v)] for k, v in value.items()]]
        if kind is bytes:
            return ["bytes", base64.b64encode(value).decode()]
        if kind.__name__ in _NAMED and _NAMED[kind.__name__].get(value.name) is value:
            return [kind.__name__, value.name]
        if isinstance(value, PurePath):
            return str(value)
        name, fields = self._name(kind)
        if isinstance(value, enum.Enum):
            return [name, value.name]
        return [name, [[key, self.encode(getattr(value, key))] for key in fields]]

    def _name(self, kind: type[Any]) -> tuple[str, list[str]]:
        """Returns the name of a class, and its fields if it is a dataclass."""
        if kind not in self._names:
            if _class(kind.__module__, kind.__qualname__, self._modules) is not kind:
                raise TypeError(
                    f"a plan contains an object of {kind}, which cannot be written as text; use plain values, lists, "
                    "tuples, dicts, or dataclasses of the module of the planner or the storage"
                )
            fields = [f.name for f in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
            self._names[kind] = f"{kind.__module__}:{kind.__qualname__}", fields
        return self._names[kind]

    def decode(self, value: Any) -> Any:
        """Returns the value of JSON that `encode` has returned."""
        if not isinstance(value, list):
            return value
        kind, inner = value
        if kind in _CONTAINERS:
            return _CONTAINERS[kind](self.decode(each) for each in inner)
        if kind == "dict":
            return {self.decode(k): self.decode(v) for k, v in inner}
        if kind == "bytes":
            return base64.b64decode(inner)
        if kind in _NAMED:
            return _NAMED[kind][inner]
        cls, fields = self._class_of(kind)
        if issubclass(cls, enum.Enum):
            return cls[inner]
        given = {key: self.decode(each) for key, each in inner}
        made = cls(**{name: given.pop(name) for name, is_argument in fields if is_argument})
        for key, each in given.items():
            object.__setattr__(made, key, each)
        return made

    def _class_of(self, name: str) -> tuple[Any, list[tuple[str, bool]]]:
        """Returns a class by its name, and the fields of a dataclass with whether its constructor takes them."""
        if name not in self._classes:
            module, _, path = name.partition(":")
            cls = _class(module, path, self._modules)
            if cls is None:
                raise ValueError(
                    f"a plan names the class {name!r}, which is not one of the planner's or the storage's module"
                )
            fields = [(f.name, f.init) for f in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else []
            self._classes[name] = cls, fields
        return self._classes[name]


_CONTAINERS = {each.__name__: each for each in (list, tuple, Size, set, frozenset)}


def _class(module: str, name: str, modules: set[str]) -> Any:
    """Returns a dataclass or an enum of this package or of one of the modules, or None."""
    is_allowed = module in modules or module.startswith(_PACKAGE)
    found: Any = sys.modules.get(module) if is_allowed else None
    for part in name.split("."):
        found = getattr(found, part, None)
    is_ours = isinstance(found, type) and found.__module__ == module
    return found if is_ours and (dataclasses.is_dataclass(found) or issubclass(found, enum.Enum)) else None


__all__ = ["from_text", "modules_of", "to_text"]
