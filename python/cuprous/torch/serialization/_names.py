"""The names that PyTorch's files use, and the objects that they may refer to."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from cuprous.torch import _types

#: PyTorch's storage classes and their dtypes.
STORAGES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}  # fmt: skip
#: The storage class of bytes, used by dtypes without a storage class of their own.
UNTYPED = "UntypedStorage"
CLASS_OF = {dtype: name for name, dtype in STORAGES.items()}

_added: dict[str, Any] = {}


class Allowed(_types.Immutable):
    """A function that a file may call. Its attributes are hidden and cannot be changed."""

    __slots__ = ("_function",)
    _function: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        self._fix(_function=function)

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)


#: Largest number of parts of a key. Tuples can contain each other many times over, so that hashing a key of a few bytes
#: would never end.
_KEY_PARTS = 1000


def checked_key(key: Any) -> Any:
    """Returns the key of a dictionary or set if hashing it takes little time and stack.

    Raises
    ------
    ValueError
        If it is nested too deeply or has too many parts.
    """
    parts = [(key, 0)]
    for seen in range(_KEY_PARTS):
        if not parts:
            return key
        part, depth = parts.pop()
        if isinstance(part, (tuple, frozenset)):
            if depth > 50 or seen + len(part) > _KEY_PARTS:
                break
            parts.extend((inner, depth + 1) for inner in part)
    else:
        if not parts:
            return key
    raise ValueError("a key of a dictionary or set is nested too deeply")


def _set(items: Any = ()) -> set[Any]:
    return {checked_key(item) for item in items}


def _ordered(items: Any = ()) -> collections.OrderedDict[Any, Any]:
    pairs = items.items() if isinstance(items, dict) else items
    return collections.OrderedDict((checked_key(key), value) for key, value in pairs)


def _counter(items: Any = ()) -> collections.Counter[Any]:
    for item in items:
        checked_key(item)
    return collections.Counter(items)


def _bytearray(*args: Any) -> bytearray:
    """Returns a bytearray from bytes, or from text in an old pickle. Rejects a number, which would only be a size."""
    match args:
        case ():
            return bytearray()
        case (bytes() | bytearray() as content,):
            return bytearray(content)
        case (str() as text, str() as encoding):
            return bytearray(_bytes(text, encoding))
    raise ValueError("a bytearray without its bytes")


def _size(items: Any = ()) -> Any:
    if not all(isinstance(n, int) for n in items):
        raise ValueError("a torch.Size with elements that are not integers")
    return _types.Size(items)


def _device(*args: Any) -> Any:
    if not all(isinstance(arg, (str, int)) for arg in args):
        raise ValueError("a torch.device whose arguments are not a name and a number")
    return _types.device(*args)


def _bytes(text: str, encoding: str) -> bytes:
    """Returns bytes in the encoding that old pickles use."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes as text in {encoding!r}")
    return text.encode("latin1")


#: What any file may refer to, other than tensors.
PLAIN: dict[str, Any] = {
    "collections.OrderedDict": Allowed(_ordered),
    "collections.Counter": Allowed(_counter),
    "builtins.set": Allowed(_set), "__builtin__.set": Allowed(_set),
    "builtins.complex": Allowed(complex), "__builtin__.complex": Allowed(complex),
    "builtins.bytearray": Allowed(_bytearray), "__builtin__.bytearray": Allowed(_bytearray),
    "_codecs.encode": Allowed(_bytes),
    "torch.Size": Allowed(_size),
    "torch.device": Allowed(_device),
    **{f"torch.{name}": dtype for name, dtype in _types.DTYPES.items()},
}  # fmt: skip


def _path(named: Any) -> tuple[str, Any]:
    if isinstance(named, tuple):
        return named[1], named[0]
    return f"{named.__module__}.{named.__qualname__}", named


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allows files to use classes and functions.

    These functions are called with whatever arguments a file contains.

    Parameters
    ----------
    safe_globals : list
        The objects, or pairs of an object and the name that the file uses.

    See Also
    --------
    torch.serialization.clear_safe_globals, torch.serialization.get_safe_globals, torch.serialization.safe_globals

    Examples
    --------
    >>> torch.serialization.add_safe_globals([complex])
    >>> torch.serialization.get_safe_globals()
    [<class 'complex'>]
    >>> torch.serialization.clear_safe_globals()
    """
    _added.update(_path(named) for named in safe_globals)


def get_safe_globals() -> list[Any]:
    """Returns the objects that were added.

    Returns
    -------
    list
        A list of objects.

    See Also
    --------
    torch.serialization.safe_globals, torch.serialization.add_safe_globals, torch.serialization.clear_safe_globals

    Examples
    --------
    >>> torch.serialization.get_safe_globals()
    []
    """
    return list(_added.values())


def clear_safe_globals() -> None:
    """Removes the objects that were added.

    See Also
    --------
    torch.serialization.get_safe_globals, torch.serialization.safe_globals, torch.serialization.add_safe_globals

    Examples
    --------
    >>> torch.serialization.clear_safe_globals()
    """
    _added.clear()


class safe_globals:
    """A context manager that allows files to use classes and functions, as `add_safe_globals` does.

    Parameters
    ----------
    safe_globals : list
        The objects, or pairs of an object and the name that the file uses.

    See Also
    --------
    torch.serialization.add_safe_globals, torch.serialization.clear_safe_globals, torch.serialization.get_safe_globals

    Examples
    --------
    >>> with torch.serialization.safe_globals([complex]):
    ...     torch.serialization.get_safe_globals()
    [<class 'complex'>]
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self._given = safe_globals

    def __enter__(self) -> None:
        self._previous = dict(_added)
        add_safe_globals(self._given)

    def __exit__(self, *_: Any) -> None:
        _added.clear()
        _added.update(self._previous)


def added() -> dict[str, Any]:
    """Returns the objects that were added, by name."""
    return _added
