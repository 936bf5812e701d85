"""The libraries that are compared: how each takes arrays, runs and waits."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import cuprous as cp


@dataclass(frozen=True)
class Peer:
    """A library on a device."""

    name: str
    label: str
    version: str
    gpu: bool
    xp: Any
    array: Callable[[np.ndarray[Any, Any]], Any]
    wait: Callable[[Any], Any]
    fetch: Callable[[Any], np.ndarray[Any, Any]]
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda function: function


def _numpy() -> Iterator[Peer]:
    yield Peer("numpy", "NumPy", np.__version__, False, np, lambda a: a, lambda _: None, np.asarray)


def _cuprous() -> Iterator[Peer]:
    for device in ("cpu", "cuda") if cp._core.device_count() else ("cpu",):

        def array(a: np.ndarray[Any, Any], device: str = device) -> Any:
            return cp.asarray(a).to_device(device)

        gpu = device == "cuda"
        label = "Cuprous, GPU" if gpu else "Cuprous, CPU"
        yield Peer(f"cuprous-{device}", label, cp.__version__, gpu, cp, array, lambda _: cp.synchronize(), cp.asnumpy)


def _torch() -> Iterator[Peer]:
    torch = importlib.import_module("torch")
    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):

        def array(a: np.ndarray[Any, Any], device: str = device) -> Any:
            return torch.from_numpy(a).to(device)

        gpu = device == "cuda"
        wait = (lambda _: torch.cuda.synchronize()) if gpu else (lambda _: None)
        label = "PyTorch, GPU" if gpu else "PyTorch, CPU"
        yield Peer(f"torch-{device}", label, torch.__version__, gpu, torch, array, wait, lambda t: t.cpu().numpy())


def _jax() -> Iterator[Peer]:
    jax = importlib.import_module("jax")
    gpu = jax.default_backend() == "gpu"
    label = "JAX, GPU" if gpu else "JAX, CPU"
    namespace = importlib.import_module("jax.numpy")
    yield Peer(
        "jax", label, jax.__version__, gpu, namespace, namespace.asarray, jax.block_until_ready, np.asarray, jax.jit
    )


def _cupy() -> Iterator[Peer]:
    cupy = importlib.import_module("cupy")
    if cupy.cuda.is_available():
        yield Peer(
            "cupy", "CuPy, GPU", cupy.__version__, True, cupy, cupy.asarray,
            lambda _: cupy.cuda.get_current_stream().synchronize(), cupy.asnumpy,
        )  # fmt: skip


#: Libraries by the name of their package.
LIBRARIES: dict[str, Callable[[], Iterator[Peer]]] = {
    "numpy": _numpy, "cuprous": _cuprous, "torch": _torch, "jax": _jax, "cupy": _cupy,
}  # fmt: skip


def installed(names: tuple[str, ...]) -> tuple[list[Peer], list[str]]:
    """Returns the peers that can be used, and why others of these names cannot."""
    peers: list[Peer] = []
    absent = []
    for name in names:
        if importlib.util.find_spec(name) is None:
            absent.append(f"{name} is not installed")
            continue
        try:
            peers += LIBRARIES[name]()
        except Exception as error:  # a broken installation of another library must not end the comparison
            absent.append(
                f"{name} cannot be used: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
            )
    return peers, absent
