"""Compares the arguments of calls with the types of parameters in docstrings.

A type is one or several of: a word (`WORDS`, or the name of a class), `{"a", "b"}`,
or a container of words in the plural.
"""

from __future__ import annotations

import inspect
import numbers
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import numpy as np

import cuprous as cp
from cuprous import torch
from cuprous._common.naming import split_entries, split_sections

_ARRAYS = (np.ndarray, np.generic, cp.ndarray, torch.Tensor)
_LISTS = (list, tuple, range, bytes, cp.poly1d)
_PROTOCOLS = ("__array__", "__array_interface__", "__cuda_array_interface__", "__dlpack__")


def _is_array(value: Any) -> bool:
    return isinstance(value, _ARRAYS) or any(hasattr(value, name) for name in _PROTOCOLS)


def _is_single(value: Any) -> bool:
    """Returns true for an array without dimensions, which is as good as a number."""
    return _is_array(value) and getattr(value, "ndim", None) == 0


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer, np.bool_)) or (_is_single(value) and "int" in str(value.dtype))


def _is_float(value: Any) -> bool:
    return isinstance(value, (numbers.Real, np.number, np.bool_)) or _is_single(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Number) or _is_float(value)


def _is_sequence(value: Any) -> bool:
    sized = hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, (str, bytes, dict))
    return sized and not _is_single(value)


def _is_iterable(value: Any) -> bool:
    return hasattr(value, "__iter__") or hasattr(value, "__getitem__")


def _is_device(value: Any) -> bool:
    return "evice" in type(value).__name__


#: The words for types, and what has each of them.
WORDS: dict[str, Callable[[Any], bool]] = {
    "None": lambda value: value is None,
    "any": lambda value: True,
    "array_like": lambda value: _is_number(value) or _is_array(value) or isinstance(value, _LISTS),
    "bool": lambda value: isinstance(value, (bool, np.bool_)) or _is_single(value),
    "bytes": lambda value: isinstance(value, (bytes, bytearray)),
    "callable": callable,
    "complex": _is_number,
    "device": lambda value: _is_device(value) or isinstance(value, (str, int)),
    "dict": lambda value: isinstance(value, dict),
    "dtype": lambda value: isinstance(value, (np.dtype, type, str, list, torch.dtype)) or hasattr(value, "dtype"),
    "file": lambda value: hasattr(value, "read") or hasattr(value, "write"),
    "float": _is_float,
    "group": lambda value: True,
    "index": lambda value: True,
    "int": _is_int,
    "iterable": _is_iterable,
    "layout": lambda value: isinstance(value, torch.layout),
    "list": lambda value: isinstance(value, list),
    "mapping": lambda value: isinstance(value, Mapping) or hasattr(value, "keys"),
    "memory_format": lambda value: isinstance(value, torch.memory_format),
    "module": inspect.ismodule,
    "ndarray": lambda value: isinstance(value, (cp.ndarray, np.ndarray)),
    "number": _is_number,
    "object": lambda value: True,
    "pair": lambda value: _is_sequence(value) and len(value) == 2,
    "path-like": lambda value: isinstance(value, os.PathLike),
    "scalar": lambda value: _is_number(value) or isinstance(value, (str, bytes)),
    "sequence": _is_sequence,
    "set": lambda value: isinstance(value, (set, frozenset)),
    "signature": lambda value: not isinstance(value, str),
    "sparse matrix": lambda value: ".sparse." in type(value).__module__,
    "str": lambda value: isinstance(value, str),
    "slice": lambda value: isinstance(value, slice),
    "Weights": lambda value: "Weights" in type(value).__name__,
    "tuple": lambda value: isinstance(value, tuple),
    "type": lambda value: isinstance(value, type) or hasattr(value, "__origin__"),
}
#: The beginning of an alternative, such as " or " in "int or tuple of ints".
_SEPARATOR = re.compile(r", or |, | or ")


def alternatives(kind: str) -> list[str]:
    """Returns the types of which a value has one."""
    quoted = re.sub(r"\{[^}]*\}", lambda found: found[0].replace(", ", ","), kind)
    return [re.sub("^of ", "iterable of ", part) for part in _SEPARATOR.split(quoted)]


def singular(word: str) -> str:
    """Returns the word for one element, such as "int" for "ints"."""
    return word[:-1] if word not in WORDS and word.endswith("s") and (word[:-1] in WORDS or word[0].isupper()) else word


def words(kind: str) -> Iterator[str]:
    """Returns the words of a type, without those of containers and of literals."""
    for part in alternatives(kind):
        if not part.startswith("{"):
            yield from (singular(word) for word in re.split(" of | to ", part))


def has_type(value: Any, kind: str) -> bool:
    """Returns true if a value has a type as docstrings write it."""
    return any(_has(value, part) for part in alternatives(kind))


def _has(value: Any, kind: str) -> bool:
    if kind.startswith("{"):
        return (f'"{value}"' if isinstance(value, str) else str(value)) in kind[1:-1].split(",")
    outer, _, element = kind.partition(" of ")
    word = singular(outer)
    fits = WORDS[word](value) if word in WORDS else _is_instance(value, word)
    if not element or word in ("dict", "mapping", "set") or not isinstance(value, (list, tuple)):
        return fits  # reading an iterator or an array would have effects
    return fits and all(_has(item, element) for item in value[:4])


def _is_instance(value: Any, name: str) -> bool:
    return any(
        cls.__name__.removesuffix("s") == name.rpartition(".")[2].removesuffix("s") for cls in type(value).__mro__
    )


def described(value: Any) -> dict[str, str]:
    """Returns the types of the parameters that a docstring describes, without their defaults."""
    text = split_sections(inspect.getdoc(value) or "")[1].get("Parameters", "")
    kinds = {name: entry.partition("\n")[0].partition(" : ")[2] for name, entry in split_entries(text).items()}
    return {name: re.split(", (?:optional$|default )", kind)[0] for name, kind in kinds.items()}


def _codes(value: Any) -> Iterator[tuple[CodeType, inspect.Signature]]:
    """Returns the code that a call runs, with its parameters; also that behind decorators."""
    for found in [getattr(value, name) for name in ("__init__", "__new__")] if isinstance(value, type) else [value]:
        function = getattr(found, "__func__", found)
        while function is not None:
            if isinstance(code := getattr(function, "__code__", None), CodeType):
                yield code, inspect.signature(function, follow_wrapped=False)
            function = getattr(function, "__wrapped__", None)


@contextmanager
def watched(functions: Iterable[tuple[str, Any]]) -> Iterator[list[str]]:
    """Collects arguments of calls of these functions that are not what their docstrings say, if the calls return."""
    known: dict[CodeType, tuple[str, dict[str, str], inspect.Signature] | None] = {}
    for name, value in functions:
        kinds = described(value)
        for code, signature in _codes(value):
            other = known.get(code)  # code that several functions share is not any one's
            same = other is None or other[1] == kinds
            known[code] = (name, kinds, signature) if same and code not in known else (other if same else None)
    wrong: list[str] = []
    running: dict[FrameType, dict[str, Any]] = {}

    def compare(frame: FrameType, arguments: dict[str, Any]) -> None:
        name, kinds, signature = known[frame.f_code]  # type: ignore[misc]
        for key, parameter in signature.parameters.items():
            if key not in kinds or key not in arguments or parameter.kind is inspect.Parameter.VAR_KEYWORD:
                continue
            several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
            for value in arguments[key] if several else (arguments[key],):
                default = parameter.default is not inspect.Parameter.empty or several
                if (
                    not (value is None and default)
                    and value is not parameter.default
                    and not has_type(value, kinds[key])
                ):
                    wrong.append(f"{name}({key}: {kinds[key]}) got {type(value).__name__}")

    def follow(frame: FrameType, event: str, value: Any) -> None:
        if event == "call" and known.get(frame.f_code):
            running[frame] = dict(frame.f_locals)
        elif event == "return" and frame in running:
            arguments = running.pop(frame)
            if value is not None or frame.f_code.co_name == "__init__":  # None also stands for an exception
                sys.setprofile(None)
                compare(frame, arguments)
                sys.setprofile(follow)

    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        yield wrong
    finally:
        sys.setprofile(before)
