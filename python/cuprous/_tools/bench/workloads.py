"""The workloads: float32, written once for every library with the functions that all of them have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuprous._tools.demo.rows import make_options, run_options


@dataclass(frozen=True)
class Workload:
    """`make` returns the inputs as NumPy arrays, `run(xp, *inputs)` computes with a library's namespace.

    `rtol`: how far a result may be off, relative to its largest value. `repeat`: the number of runs in one timing.
    """

    name: str
    title: str
    make: Callable[[], tuple[np.ndarray[Any, Any], ...]]
    run: Callable[..., Any]
    rtol: float = 1e-4
    repeat: int = 1


def _uniform(*shapes: tuple[int, ...]) -> Callable[[], tuple[np.ndarray[Any, Any], ...]]:
    def make() -> tuple[np.ndarray[Any, Any], ...]:
        rng = np.random.default_rng(1)
        return tuple(rng.random(shape, dtype=np.float32) for shape in shapes)

    return make


def _system(n: int) -> Callable[[], tuple[np.ndarray[Any, Any], ...]]:
    def make() -> tuple[np.ndarray[Any, Any], ...]:
        a, b = _uniform((n, n), (n,))()
        return a + n * np.eye(n, dtype=np.float32), b  # well conditioned, so that rounding decides nothing

    return make


def _options(quick: bool) -> Callable[[], tuple[np.ndarray[Any, Any], ...]]:
    return lambda: tuple(a.astype(np.float32) for a in make_options(quick))


def _small(xp: Any, x: Any) -> Any:
    for _ in range(10):
        x = x * 1.0001 + 0.5
    return x


def _softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x)
    return e / xp.sum(e, axis=1, keepdims=True)


def _attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    return _softmax(xp, (q @ k.T) * 0.125) @ v


def workloads(quick: bool) -> list[Workload]:
    """Returns all workloads in the order in which they are shown.

    Parameters
    ----------
    quick : bool
        Small sizes.
    """
    n, wide, points = (256, 512, 256) if quick else (2048, 4000, 2048)
    rows, head = (256, 64) if quick else (4096, 64)
    options = "100,000" if quick else "4,000,000"
    return [
        Workload("matmul", f"matrix product {n} x {n}", _uniform((n, n), (n, n)), lambda xp, a, b: a @ b),
        Workload("options", f"Black-Scholes, {options} options", _options(quick), run_options, 1e-3),
        Workload("softmax", f"softmax of {wide} x {wide}", _uniform((wide, wide)), _softmax),
        Workload("attention", f"attention, {rows} x {head}", _uniform(*[(rows, head)] * 3), _attention),
        Workload("fft", f"Fourier transform of {points} x {points}", _uniform((points, points)),
                 lambda xp, x: xp.fft.fft2(x)),
        Workload("solve", f"linear equations, {n}", _system(n), lambda xp, a, b: xp.linalg.solve(a, b)),
        Workload("small", "20 small operations on 1,000 numbers", _uniform((1000,)), _small, repeat=100),
    ]  # fmt: skip
