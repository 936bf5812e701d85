"""PyCUDA's `curandom`: random arrays. The numbers are those of `cuprous.random`, not cuRAND's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import cuprous
from cuprous._common.naming import named
from cuprous.pycuda._gpuarray import GPUArray, wrap
from cuprous.pycuda.gpuarray import empty


def get_curand_version() -> None:
    """Returns None, as cuRAND is not used.

    See Also
    --------
    pycuda.driver.get_version
    """


def seed_getter_uniform(n: int) -> Any:
    """Returns one seed for all generators.

    See Also
    --------
    pycuda.curandom.seed_getter_unique, pycuda.curandom.XORWOWRandomNumberGenerator

    Examples
    --------
    >>> curandom.seed_getter_uniform(4).shape
    (4,)
    """
    return np.full(n, int(np.random.default_rng().integers(1 << 31)), np.int32)


def seed_getter_unique(n: int) -> Any:
    """Returns one seed for each generator.

    See Also
    --------
    pycuda.curandom.seed_getter_uniform, pycuda.curandom.XORWOWRandomNumberGenerator

    Examples
    --------
    >>> curandom.seed_getter_unique(4).shape
    (4,)
    """
    return np.random.default_rng().integers(0, 1 << 31, n).astype(np.int32)


def rand(shape: Any, dtype: Any = np.float32, stream: Any = None) -> GPUArray:
    """Returns uniform numbers in [0, 1); for an integer dtype, from its whole range.

    See Also
    --------
    pycuda.curandom.XORWOWRandomNumberGenerator

    Examples
    --------
    >>> curandom.rand((2, 3)).shape
    (2, 3)
    """
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return wrap(cuprous.random.default_rng().integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True))
    return wrap(cuprous.random.default_rng().random(shape, dtype=dtype))


class _Generator:
    """A generator of random arrays.

    Parameters
    ----------
    seed_getter : callable, optional
        A function of the number of generators, whose first result is the seed; a random seed if None.
    offset : int, default 0
        The number of values to skip.
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
        """Fills an array with uniform numbers in (0, 1]; for an integer dtype, from its whole range."""
        if data.dtype.kind in "iu":
            limits = np.iinfo(data.dtype)
            low, high = limits.min, limits.max
            self._fill(data, self._generator.integers(low, high, data.shape, dtype=data.dtype, endpoint=True))
        else:
            self._fill(data, 1 - self._generator.random(data.shape, dtype=data.dtype))

    def fill_normal(self, data: GPUArray, stream: Any = None) -> None:
        """Fills an array with normal numbers."""
        self._fill(data, self._generator.standard_normal(data.shape, dtype=data.dtype))

    def fill_log_normal(self, data: GPUArray, mean: float, stddev: float, stream: Any = None) -> None:
        """Fills an array with log-normal numbers."""
        normal = self._generator.standard_normal(data.shape, dtype=data.dtype)
        self._fill(data, cuprous.exp(normal * stddev + mean))

    def fill_poisson(self, data: GPUArray, lambda_value: float, stream: Any = None) -> None:
        """Fills an array with Poisson numbers."""
        self._fill(data, self._generator.poisson(lambda_value, data.shape))

    def gen_uniform(self, shape: Any, dtype: Any, stream: Any = None) -> GPUArray:
        """Returns a new array filled by `fill_uniform`."""
        return self._new(shape, dtype, self.fill_uniform)

    def gen_normal(self, shape: Any, dtype: Any, stream: Any = None) -> GPUArray:
        """Returns a new array filled by `fill_normal`."""
        return self._new(shape, dtype, self.fill_normal)

    def gen_log_normal(self, shape: Any, dtype: Any, mean: float, stddev: float, stream: Any = None) -> GPUArray:
        """Returns a new array filled by `fill_log_normal`."""
        return self._new(shape, dtype, lambda data: self.fill_log_normal(data, mean, stddev))

    def gen_poisson(self, shape: Any, dtype: Any, lambda_value: float, stream: Any = None) -> GPUArray:
        """Returns a new array filled by `fill_poisson`."""
        return self._new(shape, dtype, lambda data: self.fill_poisson(data, lambda_value))

    def _new(self, shape: Any, dtype: Any, fill: Callable[[GPUArray], None]) -> GPUArray:
        result = empty(shape, dtype)
        fill(result)
        return result

    def call_skip_ahead(self, i: int, stream: Any = None) -> None:
        """Skips `i` values."""
        self._generator.random(int(i))


class XORWOWRandomNumberGenerator(_Generator):
    """A generator of random arrays, under cuRAND's name.

    See Also
    --------
    pycuda.curandom.MRG32k3aRandomNumberGenerator, pycuda.curandom.seed_getter_uniform,
    pycuda.curandom.seed_getter_unique

    Examples
    --------
    >>> generator = curandom.XORWOWRandomNumberGenerator()
    >>> x = generator.gen_uniform((2, 3), np.float32)
    >>> x.shape
    (2, 3)
    """


class MRG32k3aRandomNumberGenerator(_Generator):
    """A generator of random arrays, under cuRAND's name.

    See Also
    --------
    pycuda.curandom.XORWOWRandomNumberGenerator, pycuda.curandom.seed_getter_uniform

    Examples
    --------
    >>> generator = curandom.MRG32k3aRandomNumberGenerator()
    >>> x = generator.gen_normal(1000, np.float32)
    >>> bool(abs(x.get().mean()) < 0.2)
    True
    """


def _quasi(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"[{name}] is not supported; use XORWOWRandomNumberGenerator, or scipy.stats.qmc")

    return named(refuse, name, "Not supported: quasi-random numbers.")


Sobol32RandomNumberGenerator = _quasi("Sobol32RandomNumberGenerator")
ScrambledSobol32RandomNumberGenerator = _quasi("ScrambledSobol32RandomNumberGenerator")
Sobol64RandomNumberGenerator = _quasi("Sobol64RandomNumberGenerator")
ScrambledSobol64RandomNumberGenerator = _quasi("ScrambledSobol64RandomNumberGenerator")

__all__ = [
    "MRG32k3aRandomNumberGenerator", "ScrambledSobol32RandomNumberGenerator", "ScrambledSobol64RandomNumberGenerator",
    "Sobol32RandomNumberGenerator", "Sobol64RandomNumberGenerator", "XORWOWRandomNumberGenerator",
    "get_curand_version", "rand", "seed_getter_uniform", "seed_getter_unique",
]  # fmt: skip
