"""Keras 3 on Cuprous: the installed Keras, whose own backend for PyTorch gets `cuprous.torch` for `torch`.

Only the modules of Keras see it. `import torch` elsewhere in the process is left alone.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from cuprous._common.same_module import spec_of
from cuprous.runner._packages import below

_VARIABLE = "KERAS_BACKEND"
#: Keras's module that imports `torch`; its attribute `torch` says which one Keras computes with.
_BACKEND_MODULE = "keras.src.backend.torch.core"
_INSTALL = "pip install 'cuprous[keras]'"


def statement(name: str, globals: Mapping[str, Any] | None = None, locals: Mapping[str, Any] | None = None,
            fromlist: Sequence[str] | None = (), level: int = 0) -> Any:  # fmt: skip
    """Stands for `__import__` in modules of Keras."""
    if level or not below(name, "torch"):
        return builtins.__import__(name, globals, locals, fromlist or (), level)
    found = builtins.__import__(f"cuprous.{name}", globals, locals, fromlist or (), 0)
    return found if fromlist else sys.modules["cuprous.torch"]


def _current(name: str) -> Any:
    """Returns a function that calls the builtin of the moment, which notebooks and tests replace."""
    return lambda *args, **kwargs: vars(builtins)[name](*args, **kwargs)


def _is_torch_dataset(dataset: Any) -> bool:
    """Stands for Keras's check, which knows datasets by the name of their module."""
    return isinstance(dataset, importlib.import_module("cuprous.torch.utils.data").Dataset)


#: The builtins of Keras's modules.
_BUILTINS = {**vars(builtins), "__import__": statement} | {name: _current(name) for name in ("input", "open", "print")}
#: Functions of Keras that are replaced.
_REPLACED = {"keras.src.utils.dataset_utils": {"is_torch_dataset": _is_torch_dataset}}


class KerasFinder(MetaPathFinder):
    """Finds the modules of Keras, to load them with `torch` bound. `cuprous.keras.layers` is `keras.layers`."""

    def __init__(self) -> None:
        #: True if `bind` has bound Keras, False if only `cuprous.keras` has been imported.
        self.is_bound = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the specification of a module of Keras.

        Raises
        ------
        ImportError
            If the installed Keras is older than Keras 3.
        """
        if name.startswith("cuprous.keras."):
            return spec_of(name, name.removeprefix("cuprous."))
        if not below(name, "keras"):
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        loader: Any = spec and spec.loader
        if loader is None:
            return spec
        execute = loader.exec_module

        def execute_bound(module: ModuleType) -> None:
            vars(module)["__builtins__"] = _BUILTINS
            if name != "keras":
                execute(module)
                vars(module).update(_REPLACED.get(name, {}))
                return
            _check_version()
            given = os.environ.get(_VARIABLE, "torch")
            if given != "torch" and "cuprous.keras" not in sys.modules:
                warnings.warn(f"{_VARIABLE}={given} is not used: Keras runs on Cuprous", RuntimeWarning, stacklevel=2)
            with _backend():
                execute(module)

        loader.exec_module = execute_bound
        return spec


#: The hook of this process. It is in `sys.meta_path` if Keras is bound or `cuprous.keras` was imported.
FINDER = KerasFinder()


def _check_version() -> None:
    version = importlib.metadata.version("keras")
    if int(version.partition(".")[0]) < 3:
        raise ImportError(f"cuprous.keras needs Keras 3, and keras {version} is installed: {_INSTALL}", name="keras")


@contextmanager
def _backend() -> Iterator[None]:
    """Selects Keras's backend within the block. The variable is restored, because other processes inherit it."""
    given = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = "torch"
    try:
        yield
    finally:
        if given is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = given


def bind() -> None:
    """Makes `import keras` give Keras on Cuprous."""
    FINDER.is_bound = True
    _install()


def unbind() -> None:
    """Undoes `bind`. A program that has imported `cuprous.keras` keeps its modules."""
    FINDER.is_bound = False
    if FINDER in sys.meta_path and "cuprous.keras" not in sys.modules:
        sys.meta_path.remove(FINDER)
        if backend() == "cuprous":
            for name in [name for name in sys.modules if below(name, "keras")]:
                del sys.modules[name]


def _install() -> None:
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)


def backend() -> str | None:
    """Returns the backend of the Keras that is imported, "cuprous" for Cuprous; None if there is none."""
    keras = sys.modules.get("keras")
    if keras is None:
        return None
    torch = getattr(sys.modules.get(_BACKEND_MODULE), "torch", None)
    if torch is not None and torch is sys.modules.get("cuprous.torch"):
        return "cuprous"
    config: Any = getattr(keras, "config", None)
    return str(config.backend()) if hasattr(config, "backend") else "tensorflow"


def load() -> ModuleType:
    """Imports Keras on Cuprous.

    Returns
    -------
    module
        The module `keras`.

    Raises
    ------
    ModuleNotFoundError
        If Keras is not installed.
    ImportError
        If it is older than Keras 3, or was imported before with another backend.
    """
    if (other := backend()) not in (None, "cuprous"):
        raise ImportError(
            f"Keras was imported before cuprous.keras, with its backend {other!r}, which a process cannot change: "
            "import cuprous.keras before keras",
            name="keras",
        )
    _install()
    if importlib.util.find_spec("keras") is None:
        raise ModuleNotFoundError(f"cuprous.keras needs Keras, which is not installed: {_INSTALL}", name="keras")
    return importlib.import_module("keras")
