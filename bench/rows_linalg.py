"""Rows of decompositions, compared with NumPy on a CPU, and with CuPy and PyTorch on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.context import Context
from bench.peers import Peer
from bench.timing import assert_close

#: By routine, a function that turns a random matrix into a suitable one.
OPERANDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "cholesky": lambda a: a @ a.mT + a.shape[-1] * np.eye(a.shape[-1], dtype=a.dtype),
    "eigh": lambda a: a + a.mT,
    "eigvalsh": lambda a: a + a.mT,
}

#: By routine, which of several results is checked.
CHECKED = {"svd": 1, "eigh": 0, "qr": 1, "eig": 0}


def squares(x: np.ndarray) -> Any:
    """Returns the sum of squares over all axes except the batch axis."""
    return np.sum(np.abs(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)) ** 2)


def must_hold(name: str, a: np.ndarray, b: np.ndarray, got: np.ndarray, rtol: float) -> None:
    """Checks a cheap necessary property of the result, because NumPy takes minutes for the largest matrices."""
    some = slice(0, 4)
    if name == "solve":
        assert_close((a[..., some, :] @ got), b[..., some, :], rtol * 100)
    elif name == "inv":
        eye = np.broadcast_to(np.eye(a.shape[-1])[some], (*a.shape[:-2], 4, a.shape[-1]))
        assert_close(a[..., some, :] @ got, eye, rtol * 100)
    elif name == "cholesky":
        assert_close(got[..., some, :] @ got[..., some, :].mT, a[..., some, some], rtol)
    elif name == "qr":
        assert_close(np.linalg.norm(got[..., some], axis=-2), np.linalg.norm(a[..., some], axis=-2), rtol)
    elif name == "eig":
        assert_close(np.sum(got, -1).real, np.trace(a, axis1=-2, axis2=-1), rtol * 100)
    else:
        assert_close(squares(got), squares(a), rtol)


def decomposition(
    name: str, *shape: int, dtype: str = "float64", peers: tuple[str, ...] = ("numpy", "torch"), runs: int = 5
) -> Callable[[Context], None]:
    """Returns a row for a routine of `linalg`; `solve` has one right-hand side per matrix."""

    def row(c: Context) -> None:
        small = (shape[0] // 10, *shape[1:]) if len(shape) == 3 else tuple(n // 8 for n in shape)
        a = c.rng.standard_normal(small if c.quick else shape).astype(dtype)
        a = OPERANDS.get(name, lambda a: a)(a)
        b = c.rng.standard_normal((*a.shape[:-1], 1)).astype(dtype)
        c.row.least_bytes = a.nbytes

        def setup(p: Peer) -> Callable[[], Any]:
            x, y = p.asarray(a), p.asarray(b)
            f = getattr(p.module.linalg, name)
            return (lambda: f(x, y)) if name == "solve" else lambda: f(x)

        rtol = 1e-3 if dtype == "float32" else 1e-9
        for peer in ("cuprous", *peers):
            c.time(peer, setup, lambda got: must_hold(name, a, b, got, rtol), runs=runs, checks=CHECKED.get(name, 0))

    return row


def on_a_gpu(name: str, *shape: int, dtype: str = "float32") -> Callable[[Context], None]:
    """Returns `decomposition` with GPU peers."""
    return decomposition(name, *shape, dtype=dtype, peers=("cupy", "torch"), runs=3)
