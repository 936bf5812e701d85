"""Continuous distributions that are composed of gamma variates: chi-squared, F, Student's t, beta."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous.random._draws import Draws, _scaled
from cuprous.random._shapes import (
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


class GammaFamily(Draws):
    """Draws of gamma values and of what follows from them."""

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
