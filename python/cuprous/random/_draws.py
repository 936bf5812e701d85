"""Native draws, of which the distributions are composed."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous.random._bits import BitGenerator
from cuprous.random._shapes import in_dtype, ndarray

_map = _core.map


class Draws:
    """Draws of uniform, normal, exponential and gamma values."""

    _bits: BitGenerator

    def _draw(self, name: str, shape: tuple[int, ...], wide: bool) -> ndarray:
        count = shape[0] if len(shape) == 1 else math.prod(shape)
        bits = self._bits
        return _core.random(name, shape, bits.key, bits.take((count + 1) >> 1 if wide else (count + 3) >> 2))

    def _draw_with(self, name: str, shape: tuple[int, ...], parameters: Any) -> ndarray:
        """Draws values that depend on parameters, each from half a block."""
        bits = self._bits
        first = bits.take(max(1, -(-math.prod(shape) // 2)))
        return _core.random(name, shape, bits.key, first, parameters)

    def _unit(self, shape: tuple[int, ...], dtype: str = "float64") -> ndarray:
        """Draws uniform values on [0, 1)."""
        wide = dtype == "float64"
        return self._draw("random_unit64" if wide else "random_unit32", shape, wide)

    def _open_unit(self, shape: tuple[int, ...], dtype: str) -> ndarray:
        """Draws uniform values on (0, 1): replaces 0 by half of the step between values."""
        return _map("maximum", self._unit(shape, dtype), 2.0**-54 if dtype == "float64" else 2.0**-25)

    def _normal(self, shape: tuple[int, ...], dtype: str) -> ndarray:
        wide = dtype == "float64"
        return self._draw("random_normal64" if wide else "random_normal32", shape, wide)

    def _exponential(self, shape: tuple[int, ...], dtype: str) -> ndarray:
        """Inversion; log1p keeps the small values exact."""
        return -_map("log1p", -self._unit(shape, dtype))

    def _gamma(self, alpha: Any, shape: tuple[int, ...]) -> ndarray:
        """Marsaglia and Tsang's method, natively; always in float64."""
        return self._draw_with("random_gamma", shape, in_dtype(alpha, "float64"))

    def _log_gamma(self, alpha: Any, shape: tuple[int, ...]) -> ndarray:
        """Returns the logarithm of a gamma variate: with G(a) = G(a + 1) U**(1/a) no small shape underflows."""
        alpha = in_dtype(alpha, "float64")
        power = _map("log", self._open_unit(shape, "float64")) / alpha
        return _map("log", self._gamma(alpha + 1.0, shape)) + power


def _scaled(x: ndarray, scale: Any, dtype: str) -> ndarray:
    return x if type(scale) in (int, float) and scale == 1 else x * in_dtype(scale, dtype)


def _shifted_and_scaled(x: ndarray, loc: Any, scale: Any, dtype: str) -> ndarray:
    x = _scaled(x, scale, dtype)
    return x if type(loc) in (int, float) and loc == 0 else x + in_dtype(loc, dtype)
