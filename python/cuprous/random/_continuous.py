"""Continuous distributions as compositions of a few native draws and elementwise maps, which fuse into one kernel.

Parameters may be scalars or arrays that broadcast. Scalars outside a distribution's domain raise ValueError; arrays are
not checked, because that would wait for the device: invalid elements give NaN. All methods return arrays (0-d for
size=None).
"""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous.random._draws import _shifted_and_scaled
from cuprous.random._gamma_family import GammaFamily
from cuprous.random._inversion import Inversion
from cuprous.random._shapes import (
    check,
    common_shape,
    float_dtype,
    in_dtype,
    ndarray,
    non_negative,
    parameter,
    positive,
    to_dtype,
)

_map = _core.map


class Continuous(GammaFamily, Inversion):
    """Draws of real numbers; `dtype` is float64 (the default) or float32, as in CuPy."""

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws uniform values on [low, high).

        Parameters
        ----------
        low : array_like, default 0.0
            The lower end; a scalar or an array.
        high : array_like, default 1.0
            The upper end; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray

        Raises
        ------
        OverflowError
            If the range is not finite.

        See Also
        --------
        randint, random_integers, random_sample, random, rand, cuprous.random.Generator.uniform

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.uniform(1.0, 3.0, size=3).round(3)
        array([2.789, 2.423, 2.748])
        """
        low, high, name = parameter(low), parameter(high), float_dtype(dtype, "uniform")
        u = self._unit(common_shape(size, low, high), name)
        if not isinstance(low, ndarray) and not isinstance(high, ndarray):
            if not math.isfinite(high - low):
                raise OverflowError("high - low range exceeds valid bounds")
            if low == 0 and high == 1:
                return u
        low, high = in_dtype(low, name), in_dtype(high, name)
        return u * (high - low) + low

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws normal values: loc + scale * z.

        Parameters
        ----------
        loc : array_like, default 0.0
            The mean; a scalar or an array.
        scale : array_like, default 1.0
            The standard deviation, not negative; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray

        Raises
        ------
        ValueError
            For a negative scalar `scale`.

        See Also
        --------
        cuprous.scipy.stats.norm

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.normal(10.0, 2.0, size=3).round(3)
        array([9.773, 9.084, 9.423])
        >>> rng.normal([0.0, 100.0], 1.0, size=(4, 2)).shape
        (4, 2)
        """
        loc, scale, name = parameter(loc), parameter(scale), float_dtype(dtype, "normal")
        non_negative(scale, "scale")
        z = self._normal(common_shape(size, loc, scale), name)
        return _shifted_and_scaled(z, loc, scale, name)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws the exponential function of normal values.

        Parameters
        ----------
        mean : array_like, default 0.0
            The mean of the normal values; a scalar or an array.
        sigma : array_like, default 1.0
            Their standard deviation, not negative; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of positive values.

        Raises
        ------
        ValueError
            For a negative scalar `sigma`.

        See Also
        --------
        random.normal, random.multivariate_normal, random.wald

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.lognormal(size=3).round(3)
        array([0.893, 0.633, 0.749])
        """
        mean, sigma, name = parameter(mean), parameter(sigma), float_dtype(dtype, "lognormal")
        non_negative(sigma, "sigma")
        return _map("exp", _shifted_and_scaled(self._normal(common_shape(size, mean, sigma), name), mean, sigma, name))

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws values of a density that rises from `left` to `mode` and falls to `right`.

        Parameters
        ----------
        left : array_like
            The lower end; a scalar or an array.
        mode : array_like
            The peak, within the ends; a scalar or an array.
        right : array_like
            The upper end; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of values on [left, right].

        Raises
        ------
        ValueError
            For scalars in another order.

        See Also
        --------
        random.uniform, random.power

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.triangular(0.0, 1.0, 4.0, size=3).round(3)
        array([2.876, 2.139, 2.771])
        """
        left, mode, right, name = parameter(left), parameter(mode), parameter(right), float_dtype(dtype, "triangular")
        if not any(isinstance(p, ndarray) for p in (left, mode, right)):
            check(not left > mode, "left > mode")
            check(not mode > right, "mode > right")
            check(left != right, "left == right")
        u = self._unit(common_shape(size, left, mode, right), name)
        left, mode, right = in_dtype(left, name), in_dtype(mode, name), in_dtype(right, name)
        base, rise = right - left, mode - left
        rising = left + _map("sqrt", u * (base * rise))
        falling = right - _map("sqrt", (1.0 - u) * (base * (right - mode)))
        return _map("where", u <= rise / base, rising, falling)

    def wald(self, mean: Any, scale: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws inverse Gaussian values (Michael, Schucany, Haas, The American Statistician 30, 1976).

        Parameters
        ----------
        mean : array_like
            The mean, positive; a scalar or an array.
        scale : array_like
            The shape parameter, positive; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of positive values.

        Raises
        ------
        ValueError
            For a scalar that is not positive.

        See Also
        --------
        random.lognormal, random.normal, random.multivariate_normal

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.wald(3.0, 2.0, size=3).round(3)
        array([3.448, 5.219, 2.111])
        """
        mean, scale, name = parameter(mean), parameter(scale), float_dtype(dtype, "wald")
        positive(mean, "mean")
        positive(scale, "scale")
        shape = common_shape(size, mean, scale)
        z, u = self._normal(shape, "float64"), self._unit(shape)
        y = z * z * mean
        # computes the smaller root m + (m / 2s)(y - sqrt(y (4s + y))), written without cancellation
        x = mean * (scale * 4.0) / _map("square", _map("sqrt", y) + _map("sqrt", y + scale * 4.0))
        return to_dtype(_map("where", u * (x + mean) <= mean, x, mean * mean / x), name)
