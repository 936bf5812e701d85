"""Entries for Cuprous arrays in dask.array's tables, and the backend "cuprous" for its creation functions.

Most of dask goes through NumPy's protocols, but its element counts and percentiles support only NumPy arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numpy.random import SeedSequence

import cuprous


class BitGenerator(cuprous.random.Philox4x3210):
    """Philox with a seed sequence in the attribute that dask reads: each chunk draws from a child of it."""

    def __init__(self, seed: Any = None) -> None:
        self._seed_seq = seed if isinstance(seed, SeedSequence) else SeedSequence(seed)
        super().__init__(self._seed_seq)


def count(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = "float64") -> Any:
    """Returns the number of elements that a reduction over `axis` combines, in the shape of its result."""
    reduced = {i % x.ndim for i in (axis if isinstance(axis, (tuple, list)) else [axis])} if axis is not None else ()
    axes = range(x.ndim) if axis is None else reduced
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
    return cuprous.full(shape, math.prod(x.shape[i] for i in axes), dtype)


def register(backends: Any) -> None:
    """Fills the tables. `backends` is the module `dask.array.backends`."""
    from dask import config
    from dask.sizeof import sizeof

    backends.numel_lookup.register(cuprous.ndarray, count)
    backends.empty_lookup.register(cuprous.ndarray, cuprous.empty)
    backends.percentile_lookup.register(cuprous.ndarray, backends.percentile)
    backends.to_numpy_dispatch.register(cuprous.ndarray, lambda data, **kwargs: data.get(**kwargs))
    sizeof.register(cuprous.ndarray, lambda x: x.nbytes)

    def creation(name: str, **like: Any) -> Callable[..., Any]:
        """Returns dask's own creation function, with `like` set so that it creates Cuprous chunks."""

        def create(*args: Any, **kwargs: Any) -> Any:
            import dask.array

            with config.set({"array.backend": "numpy"}):
                return getattr(dask.array, name)(*args, **{**like, **kwargs})

        return create

    class CuprousEntrypoint(backends.ArrayBackendEntrypoint):
        """The implementation behind the setting `array.backend: cuprous` in dask's configuration."""

        @staticmethod
        def to_backend(data: Any, **kwargs: Any) -> Any:
            """Moves the chunks to the default device."""
            return data if isinstance(data._meta, cuprous.ndarray) else data.map_blocks(cuprous.asarray, **kwargs)

        @property
        def RandomState(self) -> Any:
            return cuprous.random.RandomState

        @property
        def default_bit_generator(self) -> Any:
            return BitGenerator

    prototype = cuprous.empty(())
    for name in ("ones", "zeros", "empty", "full"):
        setattr(CuprousEntrypoint, name, staticmethod(creation(name, meta=prototype)))
    CuprousEntrypoint.arange = staticmethod(creation("arange", like=prototype))
    backends.array_creation_dispatch.register_backend("cuprous", CuprousEntrypoint())
