"""einops' backend for our arrays. einops finds backends among the subclasses of its own class."""

from __future__ import annotations

import importlib
from typing import Any

import cuprous


def register(backends: Any) -> None:
    """Defines the backend; `backends` is `einops._backends`."""

    class CuprousBackend(backends.NumpyBackend):
        """NumPy's backend with our namespace."""

        framework_name = "cuprous"

        def __init__(self) -> None:
            self.np = cuprous

        def from_numpy(self, x: Any) -> Any:
            return cuprous.asarray(x)

        def to_numpy(self, x: Any) -> Any:
            return cuprous.asnumpy(x)

    class CuprousTensorBackend(backends.TorchBackend):
        """PyTorch's backend with our face of it, as soon as that is imported."""

        framework_name = "cuprous.torch"

        def __init__(self) -> None:
            self.torch = importlib.import_module("cuprous.torch")

        def layers(self) -> Any:
            return importlib.import_module("cuprous.torch.einops")

    # Subclasses are held weakly.
    backends.CuprousBackend, backends.CuprousTensorBackend = CuprousBackend, CuprousTensorBackend
