"""The `numpy` of NumPy's test modules: Cuprous if it has the name, else NumPy."""

from __future__ import annotations

import builtins
import functools
import importlib
import sys
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy

import cuprous

#: NumPy's packages that Cuprous also has; all others, public or not, are NumPy's.
PACKAGES = ("linalg", "fft", "random", "lib", "lib.stride_tricks", "lib.array_utils")


def host(value: Any) -> Any:
    """Returns `value` with Cuprous arrays, including those in containers, as NumPy arrays."""
    if isinstance(value, cuprous.ndarray):
        return cuprous.asnumpy(value)[()]
    if type(value) in (list, tuple):
        return type(value)(host(v) for v in value)
    if type(value) is dict:
        return {k: host(v) for k, v in value.items()}
    return value


def on_host(function: Any) -> Any:
    """Returns an assertion of numpy.testing with its arguments copied to NumPy arrays."""

    @functools.wraps(function)
    def assertion(*args: Any, **kwargs: Any) -> Any:
        return function(*(host(a) for a in args), **{k: host(v) for k, v in kwargs.items()})

    return assertion


class Function:
    """A Cuprous function that does not bind as a method when stored in a class, like NumPy's C functions."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


class Namespace(ModuleType):
    """One module of NumPy with names from Cuprous."""

    def __init__(self, theirs: ModuleType) -> None:
        super().__init__(theirs.__name__)
        self.__dict__.update(__theirs__=theirs, __file__=getattr(theirs, "__file__", None))

    def __getattr__(self, name: str) -> Any:
        theirs = self.__dict__["__theirs__"]
        value = self._value(getattr(theirs, name), name)
        self.__dict__[name] = value
        return value

    def _value(self, value: Any, name: str) -> Any:
        if isinstance(value, ModuleType):
            return namespace(value) if value.__name__.split(".")[0] == "numpy" else value
        if self.__name__.startswith("numpy.testing"):
            raises = ("assert_raises", "assert_warns", "assert_no_warnings", "assert_no_gc_cycles")
            check = isinstance(value, FunctionType) and name.startswith("assert") and not name.startswith(raises)
            return on_host(value) if check else value
        ours = self._ours(value, name)
        if ours is value:
            return value
        return Function(ours) if isinstance(ours, FunctionType) and not isinstance(value, FunctionType) else ours

    def _ours(self, value: Any, name: str) -> Any:
        package = self.__name__.partition(".")[2]
        if package in PACKAGES:
            return getattr(sys.modules[f"cuprous.{package}"], name, value)
        # Also the private path of a public function, such as numpy._core.umath.log.
        if package == "" or getattr(numpy, name, None) is value:
            return getattr(cuprous, name, value)
        return value


@functools.cache
def namespace(theirs: ModuleType) -> Namespace:
    """Returns the one namespace of a module of NumPy."""
    return Namespace(theirs)


def importer(
    name: str,
    scope: Mapping[str, object] | None = None,
    local: Mapping[str, object] | None = None,
    names: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """Replaces `__import__` in NumPy's test modules."""
    module = builtins.__import__(name, scope, local, names or (), level)
    if level or name.split(".")[0] != "numpy":
        return module
    return namespace(sys.modules[name] if names else numpy)


for _package in PACKAGES:
    importlib.import_module(f"cuprous.{_package}")
