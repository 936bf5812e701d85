"""Entries for Cuprous arrays in dask.array's tables, and the backend "cuprous" for its creation functions.

Most of dask goes through NumPy's protocols, but its element counts and percentiles support only NumPy arrays.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from dask import config
from dask.array.backends import ArrayBackendEntrypoint
from dask.sizeof import sizeof

import cuprous


def count(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = "float64") -> Any:
    """Returns the number of elements that a reduction over `axis` combines, in the shape of its result."""
    reduced = {i % x.ndim for i in (axis if isinstance(axis, (tuple, list)) else [axis])} if axis is not None else ()
    axes = range(x.ndim) if axis is None else reduced
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
    return cuprous.full(shape, math.prod(x.shape[i] for i in axes), dtype)


def _size(x: Any) -> int:
    """Returns the bytes of an array, whose computation begins.

    Workers ask for the size of each result when its task ends. Otherwise nothing would be computed before another
    worker needs the result, and inputs would be held until then.
    """
    cuprous._core.flush()
    return int(x.nbytes)


def _concatenate_sparse(parts: Any, axis: int = 0) -> Any:
    sparse: Any = cuprous.scipy.sparse
    return sparse.hstack(parts) if axis else sparse.vstack(parts)


def _take_sparse(x: Any, indices: Any, axis: int = 0) -> Any:
    return x[:, indices] if axis else x[indices]


def _multiply_sparse(a: Any, b: Any, axes: Any) -> Any:
    """Returns the product of two matrices over one axis of each, as `tensordot` has it."""
    (of_a,), (of_b,) = axes
    return (a if of_a % 2 else a.T) @ (b.T if of_b % 2 else b)


def _creation(name: str, prototype: str) -> Callable[..., Any]:
    """Returns dask's own creation function with a prototype, so that it creates Cuprous chunks."""

    def create(*args: Any, **kwargs: Any) -> Any:
        with config.set({"array.backend": "numpy"}):
            function = getattr(importlib.import_module("dask.array"), name)
            return function(*args, **{prototype: cuprous.empty(()), **kwargs})

    return create


class CuprousEntrypoint(ArrayBackendEntrypoint):
    """The implementation behind the setting `array.backend: cuprous` in dask's configuration, which dask also finds by
    this package's entry point."""

    @staticmethod
    def to_backend(data: Any, **kwargs: Any) -> Any:
        """Moves the chunks to the default device."""
        return data if isinstance(data._meta, cuprous.ndarray) else data.map_blocks(cuprous.asarray, **kwargs)

    @property
    def RandomState(self) -> Any:
        """The class of generators of NumPy's older kind."""
        return cuprous.random.RandomState

    @property
    def default_bit_generator(self) -> Any:
        """The class of bit generators."""
        return cuprous.random.Philox4x3210

    ones, zeros, empty, full = (staticmethod(_creation(name, "meta")) for name in ("ones", "zeros", "empty", "full"))
    arange = staticmethod(_creation("arange", "like"))


def register(backends: Any) -> None:
    """Fills the tables. `backends` is the module `dask.array.backends`."""
    backends.numel_lookup.register(cuprous.ndarray, count)
    backends.empty_lookup.register(cuprous.ndarray, cuprous.empty)
    backends.percentile_lookup.register(cuprous.ndarray, backends.percentile)
    backends.to_numpy_dispatch.register(cuprous.ndarray, lambda data, **kwargs: data.get(**kwargs))
    sizeof.register(cuprous.ndarray, _size)
    backends.array_creation_dispatch.register_backend("cuprous", CuprousEntrypoint())

    @backends.concatenate_lookup.register_lazy("cuprous")
    @backends.tensordot_lookup.register_lazy("cuprous")
    @backends.take_lookup.register_lazy("cuprous")
    def register_sparse() -> None:
        """Registers sparse matrices when a block of this package is met, which may be one."""
        spmatrix = cuprous.scipy.sparse.spmatrix
        backends.concatenate_lookup.register(spmatrix, _concatenate_sparse)
        backends.tensordot_lookup.register(spmatrix, _multiply_sparse)
        backends.take_lookup.register(spmatrix, _take_sparse)
