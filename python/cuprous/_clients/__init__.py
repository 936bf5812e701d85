"""Registration of Cuprous arrays with libraries that keep a list of supported array types, when they are imported.

Most libraries need no registration: they use the array's namespace or NumPy's protocols. The few listed here look the
type up in a table that exists only once the library has been imported. Nothing here imports such a library itself.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType
from typing import Any

#: The library's module that holds the table, and the module here whose `register(module)` fills it.
CLIENTS = {
    "dask.array.backends": "cuprous._clients.for_dask",
    "dask_cuda.get_device_memory_objects": "cuprous._clients.for_dask_cuda",
    "dask_cuda.is_device_object": "cuprous._clients.for_dask_cuda",
    "distributed.protocol": "cuprous._clients.for_distributed",
    "einops._backends": "cuprous._clients.for_einops",
    "ray.util.collective": "cuprous._clients.for_ray",
}


def register(module: ModuleType) -> None:
    """Registers Cuprous arrays with a library. Errors become warnings, as the library itself still works."""
    try:
        importlib.import_module(CLIENTS[module.__name__]).register(module)
    except Exception as error:
        name = module.__name__.partition(".")[0]
        warnings.warn(f"cuprous arrays could not be registered with {name}: {error!r}", RuntimeWarning, stacklevel=2)


class AfterImport:
    """An import hook for the libraries' modules: it delegates to the other finders, and registers once the module has
    run."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Returns the spec that the other finders return; None for modules that need no registration."""
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
    """Registers with the libraries that are already imported, and installs the import hook for the others."""
    sys.meta_path.insert(0, AfterImport())
    for name in CLIENTS:
        if name in sys.modules:
            register(importlib.import_module(name))  # waits if another thread is importing it
