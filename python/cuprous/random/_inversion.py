"""Continuous distributions by inversion: functions of uniform and exponential values."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous.random._draws import Draws, _scaled, _shifted_and_scaled
from cuprous.random._shapes import (
    common_shape,
    float_dtype,
    in_dtype,
    ndarray,
    non_negative,
    parameter,
    positive,
    shape_of,
)

_map = _core.map


class Inversion(Draws):
    """Draws by the inverse of a distribution function."""

    def exponential(self, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws exponential values with mean `scale`.

        Parameters
        ----------
        scale : array_like, default 1.0
            The mean, not negative; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of non-negative values.

        Raises
        ------
        ValueError
            For a negative scalar.

        See Also
        --------
        random.laplace, random.weibull, random.rayleigh, random.pareto

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.exponential(2.0, size=3).round(3)
        array([4.502, 2.485, 4.145])
        """
        scale, name = parameter(scale), float_dtype(dtype, "exponential")
        non_negative(scale, "scale")
        return _scaled(self._exponential(common_shape(size, scale), name), scale, name)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws double exponential values: the sign of v = u - 1/2 times -log(1 - 2|v|).

        Parameters
        ----------
        loc : array_like, default 0.0
            The mean; a scalar or an array.
        scale : array_like, default 1.0
            The scale, not negative; a scalar or an array.
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
        random.weibull, random.rayleigh, random.pareto, random.exponential

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.laplace(size=3).round(3)
        array([1.558, 0.549, 1.379])
        """
        loc, scale, name = self._location(loc, scale, dtype, "laplace")
        v = self._open_unit(common_shape(size, loc, scale), name) - 0.5
        e = _map("log1p", _map("absolute", v) * -2.0)
        return _shifted_and_scaled(_map("copysign", e, v), loc, scale, name)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws logistic values: log(u / (1 - u)).

        Parameters
        ----------
        loc : array_like, default 0.0
            The mean; a scalar or an array.
        scale : array_like, default 1.0
            The scale, not negative; a scalar or an array.
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
        cuprous.scipy.stats.logistic

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.logistic(size=3).round(3)
        array([2.14 , 0.902, 1.938])
        """
        loc, scale, name = self._location(loc, scale, dtype, "logistic")
        u = self._open_unit(common_shape(size, loc, scale), name)
        return _shifted_and_scaled(_map("log", u) - _map("log1p", -u), loc, scale, name)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws Gumbel values: -log of an exponential variate.

        Parameters
        ----------
        loc : array_like, default 0.0
            The mode; a scalar or an array.
        scale : array_like, default 1.0
            The scale, not negative; a scalar or an array.
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
        weibull

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.gumbel(size=3).round(3)
        array([2.196, 1.077, 2.006])
        """
        loc, scale, name = self._location(loc, scale, dtype, "gumbel")
        u = self._open_unit(common_shape(size, loc, scale), name)
        return _shifted_and_scaled(-_map("log", -_map("log", u)), loc, scale, name)

    def _location(self, loc: Any, scale: Any, dtype: Any, distribution: str) -> tuple[Any, Any, str]:
        loc, scale = parameter(loc), parameter(scale)
        non_negative(scale, "scale")
        return loc, scale, float_dtype(dtype, distribution)

    def rayleigh(self, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws Rayleigh values: the length of a plane vector of two normals.

        Parameters
        ----------
        scale : array_like, default 1.0
            The mode, not negative; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of non-negative values.

        Raises
        ------
        ValueError
            For a negative scalar.

        See Also
        --------
        random.pareto, random.exponential, random.laplace, random.weibull

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.rayleigh(size=3).round(3)
        array([2.122, 1.576, 2.036])
        """
        scale, name = parameter(scale), float_dtype(dtype, "rayleigh")
        non_negative(scale, "scale")
        e = self._exponential(common_shape(size, scale), name)
        return _scaled(_map("sqrt", e * 2.0), scale, name)

    def weibull(self, a: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws Weibull values with shape `a` and scale 1 (for a = 0 always 0, as in NumPy).

        Parameters
        ----------
        a : array_like
            The shape parameter, not negative; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of non-negative values.

        Raises
        ------
        ValueError
            For a negative scalar.

        See Also
        --------
        gumbel

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.weibull(1.5, size=3).round(3)
        array([1.717, 1.156, 1.625])
        """
        a, name = parameter(a), float_dtype(dtype, "weibull")
        non_negative(a, "a")
        shape = common_shape(size, a)
        if not isinstance(a, ndarray) and a == 0:
            return _core.full(shape, 0.0, name)
        return _map("power", self._exponential(shape, name), 1.0 / in_dtype(a, name))

    def pareto(self, a: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws Pareto II (Lomax) values.

        Parameters
        ----------
        a : array_like
            The shape parameter, positive; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of non-negative values.

        Raises
        ------
        ValueError
            For a scalar that is not positive.

        See Also
        --------
        random.exponential, random.laplace, random.weibull, random.rayleigh

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.pareto(3.0, size=3).round(3)
        array([1.118, 0.513, 0.995])
        """
        a, name = parameter(a), float_dtype(dtype, "pareto")
        positive(a, "a")
        return _map("expm1", self._exponential(common_shape(size, a), name) / in_dtype(a, name))

    def power(self, a: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws values on [0, 1] with density a x**(a - 1).

        Parameters
        ----------
        a : array_like
            The shape parameter, positive; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of values on [0, 1].

        Raises
        ------
        ValueError
            For a scalar that is not positive.

        See Also
        --------
        random.triangular, random.uniform

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.power(3.0, size=3).round(3)
        array([0.964, 0.893, 0.956])
        """
        a, name = parameter(a), float_dtype(dtype, "power")
        positive(a, "a")
        return _map("power", self._unit(common_shape(size, a), name), 1.0 / in_dtype(a, name))

    def standard_cauchy(self, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws Cauchy values: tan(pi (u - 1/2)).

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray

        See Also
        --------
        random.standard_t, random.standard_normal

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.standard_cauchy(size=3).round(3)
        array([2.911, 0.782, 2.395])
        """
        u = self._unit(shape_of(size)[0], float_dtype(dtype, "standard_cauchy"))
        return _map("tan", (u - 0.5) * math.pi)
