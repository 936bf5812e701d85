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

<<<<<<< /tmp/tmp7104950y/o
=======
    # --- the gamma family
    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws gamma values with this shape and scale.

        Parameters
        ----------
        shape : array_like
            The shape parameter, not negative; a scalar or an array.
        scale : array_like, default 1.0
            The factor, not negative; a scalar or an array.
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
        cuprous.scipy.stats.gamma

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.gamma(2.0, size=3).round(3)
        array([2.876, 0.323, 0.894])
        """
        shape, scale, name = parameter(shape), parameter(scale), float_dtype(dtype, "gamma")
        non_negative(shape, "shape")
        non_negative(scale, "scale")
        return to_dtype(_scaled(self._gamma(shape, common_shape(size, shape, scale)), scale, "float64"), name)

    def chisquare(self, df: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws chi-squared values with `df` degrees of freedom: 2 gamma(df / 2).

        Parameters
        ----------
        df : array_like
            The degrees of freedom, positive; a scalar or an array.
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
            For a scalar parameter that is not positive.

        See Also
        --------
        random.beta, random.dirichlet, random.gamma, random.noncentral_chisquare, random.f

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.chisquare(3.0, size=3).round(3)
        array([4.432, 0.285, 1.089])
        """
        df, name = parameter(df), float_dtype(dtype, "chisquare")
        positive(df, "df")
        return to_dtype(self._chisquare(df, common_shape(size, df)), name)

    def _chisquare(self, df: Any, shape: tuple[int, ...]) -> ndarray:
        return self._gamma(df * 0.5, shape) * 2.0

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws noncentral chi-squared values: degrees of freedom mixed by a Poisson variate.

        Parameters
        ----------
        df : array_like
            The degrees of freedom, positive; a scalar or an array.
        nonc : array_like
            The noncentrality, not negative; a scalar or an array.
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
            For a scalar parameter out of its range.

        See Also
        --------
        random.f, random.noncentral_f, random.standard_t, random.chisquare

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.noncentral_chisquare(3.0, 2.0, size=3).round(3)
        array([2.376, 0.777, 0.635])
        """
        df, nonc, name = parameter(df), parameter(nonc), float_dtype(dtype, "noncentral_chisquare")
        positive(df, "df")
        non_negative(nonc, "nonc", nan=False)
        return to_dtype(self._noncentral(df, nonc, common_shape(size, df, nonc)), name)

    def _noncentral(self, df: Any, nonc: Any, shape: tuple[int, ...]) -> ndarray:
        extra = self._draw_with("random_poisson", shape, in_dtype(nonc * 0.5, "float64"))
        return self._chisquare(_core.cast(extra, "float64") * 2.0 + df, shape)

    def f(self, dfnum: Any, dfden: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws values of Fisher's F: the ratio of two chi-squared variates, each over its degrees of freedom.

        Parameters
        ----------
        dfnum : array_like
            The degrees of freedom of the numerator, positive; a scalar or an array.
        dfden : array_like
            The degrees of freedom of the denominator, positive; a scalar or an array.
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
            For a scalar parameter that is not positive.

        See Also
        --------
        cuprous.scipy.stats.f

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.f(3.0, 8.0, size=3).round(3)
        array([2.53 , 0.184, 0.769])
        """
        dfnum, dfden, name = parameter(dfnum), parameter(dfden), float_dtype(dtype, "f")
        positive(dfnum, "dfnum")
        positive(dfden, "dfden")
        shape = common_shape(size, dfnum, dfden)
        above, below = self._chisquare(dfnum, shape), self._chisquare(dfden, shape)
        return to_dtype(above * dfden / (below * dfnum), name)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws values of Fisher's F with a noncentral numerator.

        Parameters
        ----------
        dfnum : array_like
            The degrees of freedom of the numerator, positive; a scalar or an array.
        dfden : array_like
            The degrees of freedom of the denominator, positive; a scalar or an array.
        nonc : array_like
            The noncentrality, not negative; a scalar or an array.
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
            For a scalar parameter out of its range.

        See Also
        --------
        random.standard_t, random.chisquare, random.noncentral_chisquare, random.f

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.noncentral_f(3.0, 8.0, 2.0, size=3).round(3)
        array([0.534, 0.304, 0.297])
        """
        dfnum, dfden, nonc = parameter(dfnum), parameter(dfden), parameter(nonc)
        name = float_dtype(dtype, "noncentral_f")
        positive(dfnum, "dfnum")
        positive(dfden, "dfden")
        non_negative(nonc, "nonc", nan=False)
        shape = common_shape(size, dfnum, dfden, nonc)
        above, below = self._noncentral(dfnum, nonc, shape), self._chisquare(dfden, shape)
        return to_dtype(above * dfden / (below * dfnum), name)

    def standard_t(self, df: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws values of Student's t.

        Parameters
        ----------
        df : array_like
            The degrees of freedom, positive; a scalar or an array.
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
            For a scalar that is not positive.

        See Also
        --------
        random.chisquare, random.noncentral_chisquare, random.f, random.noncentral_f, random.standard_normal

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.standard_t(5.0, size=3).round(3)
        array([-0.165, -0.721, -0.485])
        """
        df, name = parameter(df), float_dtype(dtype, "standard_t")
        positive(df, "df")
        shape = common_shape(size, df)
        z = self._normal(shape, "float64")
        return to_dtype(z * _map("sqrt", df * 0.5 / self._gamma(df * 0.5, shape)), name)

    def beta(self, a: Any, b: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws beta values: X / (X + Y) of two gamma variates, by the difference of their logarithms.

        Parameters
        ----------
        a : array_like
            The first shape parameter, positive; a scalar or an array.
        b : array_like
            The second shape parameter, positive; a scalar or an array.
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
            For a scalar parameter that is not positive.

        See Also
        --------
        random.dirichlet, random.gamma, random.chisquare

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.beta(2.0, 5.0, size=3).round(3)
        array([0.185, 0.185, 0.203])
        """
        a, b, name = parameter(a), parameter(b), float_dtype(dtype, "beta")
        positive(a, "a")
        positive(b, "b")
        shape = common_shape(size, a, b)
        return to_dtype(_map("expit", self._log_gamma(a, shape) - self._log_gamma(b, shape)), name)

    # --- by inversion
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

>>>>>>> /tmp/tmp7104950y/t
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
