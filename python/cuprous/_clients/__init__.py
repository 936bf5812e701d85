"""Libraries with a list of array types of their own: ours goes on it when such a library is imported.

Most libraries need nothing of the kind: they ask an array for its namespace or call NumPy's protocols. These few look
the type up in a table that only an import of theirs can fill. Nothing here imports a client.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType
from typing import Any

#: A client's module that holds the table -> ours, whose `register(module)` fills it.
CLIENTS = {
    "dask.array.backends": "cuprous._clients.for_dask",
    "einops._backends": "cuprous._clients.for_einops",
}


def register(module: ModuleType) -> None:
    """Registers our arrays with a client. What goes wrong there is a warning: the client itself works."""
    try:
        importlib.import_module(CLIENTS[module.__name__]).register(module)
    except Exception as error:
        name = module.__name__.partition(".")[0]
        warnings.warn(f"cuprous arrays could not be registered with {name}: {error!r}", RuntimeWarning, stacklevel=2)


class AfterImport:
    """A finder for the clients' modules: finds what the others find, and registers with it once it has run."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec that the other finders give; None for every module that is no client's."""
        if name not in CLIENTS:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        loader: Any = spec and spec.loader
        if loader is None:
            return spec
        run = loader.exec_module

        def run_and_register(module: ModuleType) -> None:
            run(module)
            register(module)

        loader.exec_module = run_and_register
        return spec


def install() -> None:
    """Registers with the clients that are there already, and waits for the others."""
    sys.meta_path.insert(0, AfterImport())
    for name in CLIENTS:
        if name in sys.modules:
            register(importlib.import_module(name))  # waits for another thread that is importing it
