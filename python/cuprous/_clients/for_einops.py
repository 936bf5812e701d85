"""einops backends for Cuprous arrays and tensors. einops finds backends among the subclasses of its own base class."""

from __future__ import annotations

import importlib
from typing import Any

import cuprous


def register(backends: Any) -> None:
    """Defines the backends. `backends` is the module `einops._backends`."""

    class CuprousBackend(backends.NumpyBackend):
        """NumPy's backend with Cuprous's namespace."""

        framework_name = "cuprous"

        def __init__(self) -> None:
            self.np = cuprous

        def from_numpy(self, x: Any) -> Any:
            return cuprous.asarray(x)

        def to_numpy(self, x: Any) -> Any:
            return cuprous.asnumpy(x)

    class CuprousTensorBackend(backends.TorchBackend):
        """PyTorch's backend for Cuprous tensors, available once `cuprous.torch` is imported."""

        framework_name = "cuprous.torch"

        def __init__(self) -> None:
            self.torch = importlib.import_module("cuprous.torch")

        def layers(self) -> Any:
            return importlib.import_module("cuprous.torch.einops")

    # Python holds subclasses weakly, so keep a reference.
    backends.CuprousBackend, backends.CuprousTensorBackend = CuprousBackend, CuprousTensorBackend
