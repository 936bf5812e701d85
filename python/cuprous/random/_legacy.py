"""`RandomState`: the older interface of NumPy and CuPy, over the same streams."""

from __future__ import annotations

from typing import Any

from cuprous.random._bits import BitGenerator, Philox4x3210, Seed, key_of
from cuprous.random._selection import Selection
from cuprous.random._shapes import common_shape, float_dtype, ndarray, non_negative, parameter, shape_of, to_dtype


class RandomState(Selection):
    """Draws with the older names and CuPy's `dtype` arguments.

    Args:
        seed: as for `default_rng`, or a bit generator.
    """

    def __init__(self, seed: Seed | BitGenerator = None) -> None:
        self._bits = seed if isinstance(seed, BitGenerator) else Philox4x3210(seed)

    def seed(self, seed: Seed = None) -> None:
        """Restarts the stream of a seed from its beginning."""
        self._bits.state = {"bit_generator": type(self._bits).__name__, "state": {"key": key_of(seed), "counter": 0}}

    def get_state(self, legacy: bool = False) -> dict[str, Any]:
        """Returns the stream and the position in it, for `set_state`.

        Raises:
            NotImplementedError: for `legacy=True`: the Mersenne twister is not supported.
        """
        if legacy:
            raise NotImplementedError(
                "[get_state] legacy=True: the Mersenne twister is not supported; use legacy=False"
            )
        return self._bits.state

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores a state that `get_state` returned."""
        self._bits.state = state

    def random_sample(self, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws uniform values on [0, 1)."""
        return self._unit(shape_of(size)[0], float_dtype(dtype, "random_sample"))

    random = ranf = sample = random_sample

    def rand(self, *size: int, dtype: Any = None) -> ndarray:
        """Draws uniform values on [0, 1), the shape as separate arguments."""
        return self._unit(shape_of(size)[0], float_dtype(dtype, "rand"))

    def randn(self, *size: int, dtype: Any = None) -> ndarray:
        """Draws standard normal values, the shape as separate arguments."""
        return self._normal(shape_of(size)[0], float_dtype(dtype, "randn"))

    def standard_normal(self, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws normal values with mean 0 and standard deviation 1."""
        return self._normal(shape_of(size)[0], float_dtype(dtype, "standard_normal"))

    def standard_exponential(self, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws exponential values with mean 1."""
        return self._exponential(shape_of(size)[0], float_dtype(dtype, "standard_exponential"))

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws gamma values with scale 1."""
        shape, name = parameter(shape), float_dtype(dtype, "standard_gamma")
        non_negative(shape, "shape")
        return to_dtype(self._gamma(shape, common_shape(size, shape)), name)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = "int64") -> ndarray:
        """Draws integers of [low, high), or of [0, low)."""
        return self._bounded(0 if high is None else low, low if high is None else high, size, dtype, False)

    def random_integers(self, low: Any, high: Any = None, size: Any = None) -> ndarray:
        """Draws integers of [low, high], or of [1, low]."""
        return self._bounded(1 if high is None else low, low if high is None else high, size, "int64", True)

    def tomaxint(self, size: Any = None) -> ndarray:
        """Draws integers of [0, 2**63 - 1]."""
        return self._bounded(0, (1 << 63) - 1, size, "int64", True)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> ndarray:
        """Draws samples of range(a) or of an array's rows; see `Generator.choice`."""
        return self._choice(a, size, replace, p, 0)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._bits,)
