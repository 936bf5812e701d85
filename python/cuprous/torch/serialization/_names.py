"""The names that PyTorch's files use, and what they may stand for when one is read."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from cuprous.torch import _words

#: PyTorch's classes of storages: name and dtype.
STORAGES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}  # fmt: skip
#: The storage of bytes, which those dtypes use that have none of their own.
UNTYPED = "UntypedStorage"
CLASS_OF = {dtype: name for name, dtype in STORAGES.items()}

_added: dict[str, Any] = {}


class Allowed:
    """A function that a file may call. It shows nothing else and cannot be changed, since whoever wrote the file may
    try."""

    __slots__ = ("_function",)
    _function: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        object.__setattr__(self, "_function", function)

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a file wants to set {name!r} of a function")


def _set(items: Any = ()) -> set[Any]:
    return set(items)


def _bytes(text: str, encoding: str) -> bytes:
    """How old pickles write bytes."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes as text in {encoding!r}")
    return text.encode("latin1")


#: What any file may use beside tensors.
PLAIN: dict[str, Any] = {
    "collections.OrderedDict": Allowed(collections.OrderedDict),
    "collections.Counter": Allowed(collections.Counter),
    "builtins.set": Allowed(_set), "__builtin__.set": Allowed(_set),
    "builtins.complex": Allowed(complex), "__builtin__.complex": Allowed(complex),
    "builtins.bytearray": Allowed(bytearray), "__builtin__.bytearray": Allowed(bytearray),
    "_codecs.encode": Allowed(_bytes),
    "torch.Size": Allowed(_words.Size),
    "torch.device": Allowed(_words.device),
    **{f"torch.{name}": dtype for name, dtype in _words.DTYPES.items()},
}  # fmt: skip


def _path(named: Any) -> tuple[str, Any]:
    if isinstance(named, tuple):
        return named[1], named[0]
    return f"{named.__module__}.{named.__qualname__}", named


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Lets files use classes and functions, given themselves or with the name that the file has for them.

    What is trusted here is run with whatever arguments a file has.
    """
    _added.update(_path(named) for named in safe_globals)


def get_safe_globals() -> list[Any]:
    """What was added."""
    return list(_added.values())


def clear_safe_globals() -> None:
    """Forgets what was added."""
    _added.clear()


class safe_globals:
    """`add_safe_globals` for a `with`."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self._given = safe_globals

    def __enter__(self) -> None:
        self._before = dict(_added)
        add_safe_globals(self._given)

    def __exit__(self, *_: Any) -> None:
        _added.clear()
        _added.update(self._before)


def added() -> dict[str, Any]:
    """What was added, by name."""
    return _added
