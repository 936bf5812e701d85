"""The measured libraries, each with functions that convert NumPy arrays, wait, and return results."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Peer:
    """A library on a device."""

    name: str
    version: str
    module: Any
    asarray: Callable[[np.ndarray], Any]
    sync: Callable[[Any], Any]
    asnumpy: Callable[[Any], np.ndarray]
    jit: Callable[[Any], Any] | None = None  # the compiler that users of this library apply to a function


def nothing(_: Any) -> None:
    """Waits for a library that is synchronous: does nothing."""


def numpy_peer() -> Peer:
    return Peer("numpy", np.__version__, np, np.asarray, nothing, np.asarray)


def cuprous_peer(device: str) -> Peer:
    import cuprous as cp

    cp._core.set_device(device)
    return Peer("cuprous", cp.__version__, cp, cp.asarray, lambda _: cp._core.synchronize(), cp.asnumpy)


def cupy_peer() -> Peer:
    import cupy

    wait = cupy.cuda.runtime.deviceSynchronize
    return Peer("cupy", cupy.__version__, cupy, cupy.asarray, lambda _: wait(), cupy.asnumpy, cupy.fuse())


def torch_peer(device: str) -> Peer:
    import torch

    wait = (lambda _: torch.cuda.synchronize()) if device == "cuda" else nothing
    return Peer(
        "torch",
        torch.__version__,
        torch,
        lambda a: torch.from_numpy(np.ascontiguousarray(a)).to(device),
        wait,
        lambda t: t.float().cpu().numpy() if t.dtype == torch.bfloat16 else t.cpu().numpy(),
    )


def jax_peer() -> Peer:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    # JAX multiplies float32 in TF32 by default; all peers are compared at full precision.
    jax.config.update("jax_default_matmul_precision", "highest")
    return Peer("jax", jax.__version__, jnp, jnp.asarray, jax.block_until_ready, np.asarray, jax.jit)


def installed(device: str, skip: frozenset[str] = frozenset()) -> dict[str, Peer]:
    """Returns Cuprous, then each installed peer that works on the device."""
    peers = {"cuprous": cuprous_peer(device), "numpy": numpy_peer()}
    makers: dict[str, Callable[[], Peer]] = {"torch": lambda: torch_peer(device)}
    if device == "cuda":
        makers |= {"cupy": cupy_peer, "jax": jax_peer}
    for name, make in makers.items():
        if name in skip or importlib.util.find_spec(name) is None:
            continue
        try:
            peers[name] = make()
        except Exception as error:  # a peer that does not start is reported and left out
            print(f"# {name} is left out: {error!r:.200}")
    return peers


def optional(name: str) -> Any:
    """Returns a module, or None if it is missing or its import fails."""
    try:
        return importlib.import_module(name)
    except Exception:
        return None
