"""PyCUDA's `curandom`: random arrays. The numbers are those of `cuprous.random`, not of cuRAND."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import cuprous
from cuprous.pycuda._gpuarray import GPUArray, wrap
from cuprous.pycuda.gpuarray import empty


def get_curand_version() -> None:
    """cuRAND is not used."""


def seed_getter_uniform(n: int) -> Any:
    """One seed for all generators."""
    return np.full(n, int(np.random.default_rng().integers(1 << 31)), np.int32)


def seed_getter_unique(n: int) -> Any:
    """A seed for each generator."""
    return np.random.default_rng().integers(0, 1 << 31, n).astype(np.int32)


def rand(shape: Any, dtype: Any = np.float32, stream: Any = None) -> GPUArray:
    """Uniform numbers in [0, 1); of an integer dtype, all its values."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return wrap(cuprous.random.default_rng().integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True))
    return wrap(cuprous.random.default_rng().random(shape, dtype=dtype))


class _Generator:
    """A source of random arrays.

    Args:
        seed_getter: a function of a number of generators, whose first result is the seed; random if None.
        offset: numbers that are left out.
    """

    generators_per_block = 256
    block_count = 64

    def __init__(self, seed_getter: Callable[[int], Any] | None = None, offset: int = 0) -> None:
        seed = None
        if seed_getter is not None:
            found = seed_getter(self.block_count * self.generators_per_block)
            found = found.get() if isinstance(found, GPUArray) else found
            seed = int(np.asarray(found).reshape(-1)[0]) % (1 << 63)
        self._generator = cuprous.random.default_rng(seed)
        if offset:
            self._generator.random(int(offset))

    def _fill(self, data: GPUArray, values: Any) -> None:
        data._array[...] = values

    def fill_uniform(self, data: GPUArray, stream: Any = None) -> None:
        """Uniform numbers in (0, 1]; of an integer dtype, all its values."""
        if data.dtype.kind in "iu":
            limits = np.iinfo(data.dtype)
            low, high = limits.min, limits.max
            self._fill(data, self._generator.integers(low, high, data.shape, dtype=data.dtype, endpoint=True))
        else:
            self._fill(data, 1 - self._generator.random(data.shape, dtype=data.dtype))

    def fill_normal(self, data: GPUArray, stream: Any = None) -> None:
        """Normal numbers."""
        self._fill(data, self._generator.standard_normal(data.shape, dtype=data.dtype))

    def fill_log_normal(self, data: GPUArray, mean: float, stddev: float, stream: Any = None) -> None:
        """Numbers whose logarithms are normal."""
        normal = self._generator.standard_normal(data.shape, dtype=data.dtype)
        self._fill(data, cuprous.exp(normal * stddev + mean))

    def fill_poisson(self, data: GPUArray, lambda_value: float, stream: Any = None) -> None:
        """Poisson numbers."""
        self._fill(data, self._generator.poisson(lambda_value, data.shape))

    def gen_uniform(self, shape: Any, dtype: Any, stream: Any = None) -> GPUArray:
        """`fill_uniform` of a new array."""
        return self._new(shape, dtype, self.fill_uniform)

    def gen_normal(self, shape: Any, dtype: Any, stream: Any = None) -> GPUArray:
        """`fill_normal` of a new array."""
        return self._new(shape, dtype, self.fill_normal)

    def gen_log_normal(self, shape: Any, dtype: Any, mean: float, stddev: float, stream: Any = None) -> GPUArray:
        """`fill_log_normal` of a new array."""
        return self._new(shape, dtype, lambda data: self.fill_log_normal(data, mean, stddev))

    def gen_poisson(self, shape: Any, dtype: Any, lambda_value: float, stream: Any = None) -> GPUArray:
        """`fill_poisson` of a new array."""
        return self._new(shape, dtype, lambda data: self.fill_poisson(data, lambda_value))

    def _new(self, shape: Any, dtype: Any, fill: Callable[[GPUArray], None]) -> GPUArray:
        result = empty(shape, dtype)
        fill(result)
        return result

    def call_skip_ahead(self, i: int, stream: Any = None) -> None:
        """Leaves out so many numbers."""
        self._generator.random(int(i))


class XORWOWRandomNumberGenerator(_Generator):
    """A source of random arrays, under cuRAND's name."""


class MRG32k3aRandomNumberGenerator(_Generator):
    """A source of random arrays, under cuRAND's name."""


def _quasi(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"[{name}] is not supported; use XORWOWRandomNumberGenerator, or scipy.stats.qmc")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Not supported: numbers that fill space evenly."
    return refuse


Sobol32RandomNumberGenerator = _quasi("Sobol32RandomNumberGenerator")
ScrambledSobol32RandomNumberGenerator = _quasi("ScrambledSobol32RandomNumberGenerator")
Sobol64RandomNumberGenerator = _quasi("Sobol64RandomNumberGenerator")
ScrambledSobol64RandomNumberGenerator = _quasi("ScrambledSobol64RandomNumberGenerator")

__all__ = [
    "MRG32k3aRandomNumberGenerator", "ScrambledSobol32RandomNumberGenerator", "ScrambledSobol64RandomNumberGenerator",
    "Sobol32RandomNumberGenerator", "Sobol64RandomNumberGenerator", "XORWOWRandomNumberGenerator",
    "get_curand_version", "rand", "seed_getter_uniform", "seed_getter_unique",
]  # fmt: skip
