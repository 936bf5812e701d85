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
    """Returns a value as text.

    Raises:
        TypeError: for an object that `from_text` would not make.
    """
    return json.dumps(_encode(value, set(modules)))


def from_text(text: str, modules: Iterable[str] = ()) -> Any:
    """Returns the value that `to_text` has been given. It consists of plain values, and of dataclasses and enums of
    this package and of these modules: nothing else is imported or called.

    Raises:
        ValueError: if the text names another class.
    """
    return _decode(json.loads(text), set(modules))


def _encode(value: Any, modules: set[str]) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in (list, tuple, Size, set, frozenset):
        return [kind.__name__, [_encode(each, modules) for each in value]]
    if kind is dict:
        return ["dict", [[_encode(k, modules), _encode(v, modules)] for k, v in value.items()]]
    if kind is bytes:
        return ["bytes", base64.b64encode(value).decode()]
    if kind.__name__ in _NAMED and _NAMED[kind.__name__].get(value.name) is value:
        return [kind.__name__, value.name]
    if isinstance(value, PurePath):
        return ["str", str(value)]
    if _class(kind.__module__, kind.__qualname__, modules) is kind:
        name = f"{kind.__module__}:{kind.__qualname__}"
        if isinstance(value, enum.Enum):
            return [name, value.name]
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return [name, [[key, _encode(each, modules)] for key, each in fields.items()]]
    raise TypeError(
        f"a plan contains an object of {kind}, which cannot be written as text; use plain values, lists, tuples, "
        "dicts, or dataclasses of the module of the planner or the storage"
    )


_CONTAINERS = {each.__name__: each for each in (list, tuple, Size, set, frozenset)}


def _decode(value: Any, modules: set[str]) -> Any:
    if not isinstance(value, list):
        return value
    kind, inner = value
    if kind in _CONTAINERS:
        return _CONTAINERS[kind](_decode(each, modules) for each in inner)
    if kind == "dict":
        return {_decode(k, modules): _decode(v, modules) for k, v in inner}
    if kind == "bytes":
        return base64.b64decode(inner)
    if kind == "str":
        return str(inner)
    if kind in _NAMED:
        return _NAMED[kind][inner]
    module, _, name = kind.partition(":")
    cls = _class(module, name, modules)
    if cls is None:
        raise ValueError(f"a plan names the class {kind!r}, which is not one of the planner's or the storage's module")
    if issubclass(cls, enum.Enum):
        return cls[inner]
    fields = {key: _decode(each, modules) for key, each in inner}
    made = {field.name: fields.pop(field.name) for field in dataclasses.fields(cls) if field.init}
    result = cls(**made)
    for key, each in fields.items():
        object.__setattr__(result, key, each)
    return result


def _class(module: str, name: str, modules: set[str]) -> Any:
    """Returns a dataclass or an enum of this package or of one of the modules, or None."""
    is_allowed = module in modules or module.startswith(_PACKAGE)
    found: Any = sys.modules.get(module) if is_allowed else None
    for part in name.split("."):
        found = getattr(found, part, None)
    is_ours = isinstance(found, type) and found.__module__ == module
    return found if is_ours and (dataclasses.is_dataclass(found) or issubclass(found, enum.Enum)) else None


__all__ = ["from_text", "modules_of", "to_text"]
