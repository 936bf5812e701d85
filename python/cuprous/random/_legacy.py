"""`RandomState`: the older interface of NumPy and CuPy, over the same streams."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous.random._bits import BitGenerator, Philox4x3210, Seed, key_of
from cuprous.random._selection import Selection
from cuprous.random._shapes import common_shape, float_dtype, ndarray, non_negative, parameter, shape_of, to_dtype


class RandomState(Selection):
    """Draws with the older names and CuPy's `dtype` arguments.

    Parameters
    ----------
    seed : int, sequence of ints or BitGenerator, optional
        As for `default_rng`, or a bit generator.

    See Also
    --------
    Generator, cuprous.random.BitGenerator

    Examples
    --------
    >>> state = cp.random.RandomState(5)
    >>> state.rand(3).round(3)
    array([0.07 , 0.966, 0.156])
    """

    def __init__(self, seed: Seed | BitGenerator = None) -> None:
        self._bits = seed if isinstance(seed, BitGenerator) else Philox4x3210(seed)

    def seed(self, seed: Seed = None) -> None:
        """Restarts the stream of a seed from its beginning.

        Parameters
        ----------
        seed : int or sequence of ints, optional
            As for `default_rng`.

        See Also
        --------
        cuprous.random.Generator

        Examples
        --------
        >>> cp.random.seed(5)
        >>> cp.random.rand(3).round(3)
        array([0.07 , 0.966, 0.156])
        """
        self._bits.state = {"bit_generator": type(self._bits).__name__, "state": {"key": key_of(seed), "counter": 0}}

    def get_state(self, legacy: bool = False) -> dict[str, Any]:
        """Returns the stream and the position in it, for `set_state`.

        Parameters
        ----------
        legacy : bool, default False
            False; NumPy's legacy tuple is not supported.

        Returns
        -------
        dict

        Raises
        ------
        NotImplementedError
            For `legacy=True`: the Mersenne twister is not supported.

        See Also
        --------
        set_state

        Examples
        --------
        >>> state = cp.random.get_state()
        >>> a = cp.random.rand(3)
        >>> cp.random.set_state(state)
        >>> bool((a == cp.random.rand(3)).all())
        True
        """
        if legacy:
            raise NotImplementedError(
                "[get_state] legacy=True: the Mersenne twister is not supported; use legacy=False"
            )
        return self._bits.state

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores a state that `get_state` returned.

        Parameters
        ----------
        state : dict
            A state of `get_state`.

        Raises
        ------
        ValueError
            For another object.

        See Also
        --------
        random.reset_states, random.get_random_state, random.set_random_state

        Examples
        --------
        >>> state = cp.random.get_state()
        >>> a = cp.random.randint(100, size=3)
        >>> cp.random.set_state(state)
        >>> bool((a == cp.random.randint(100, size=3)).all())
        True
        """
        self._bits.state = state

    def random_sample(self, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws uniform values on [0, 1).

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of the result; by default a 0-d array.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of floats.

        Raises
        ------
        TypeError
            For another dtype.

        See Also
        --------
        cuprous.random.Generator.random

        Examples
        --------
        >>> cp.random.seed(5)
        >>> cp.random.random_sample((2, 2)).round(3)
        array([[0.07 , 0.966],
               [0.156, 0.119]])
        """
        return self._unit(shape_of(size)[0], float_dtype(dtype, "random_sample"))

    random = ranf = sample = random_sample

    def rand(self, *size: int, dtype: Any = None) -> ndarray:
        """Draws uniform values on [0, 1), the shape as separate arguments.

        Parameters
        ----------
        *size : int
            The extents.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of floats.

        Raises
        ------
        TypeError
            For another dtype.

        See Also
        --------
        random

        Examples
        --------
        >>> cp.random.seed(5)
        >>> cp.random.rand(2, 2).round(3)
        array([[0.07 , 0.966],
               [0.156, 0.119]])
        """
        return self._unit(shape_of(size)[0], float_dtype(dtype, "rand"))

    def randn(self, *size: int, dtype: Any = None) -> ndarray:
        """Draws standard normal values, the shape as separate arguments.

        Parameters
        ----------
        *size : int
            The extents.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of floats.

        Raises
        ------
        TypeError
            For another dtype.

        See Also
        --------
        standard_normal, normal, cuprous.random.Generator.standard_normal

        Examples
        --------
        >>> cp.random.seed(5)
        >>> cp.random.randn(3).round(3)
        array([ 2.255, -0.493,  1.409])
        """
        return self._normal(shape_of(size)[0], float_dtype(dtype, "randn"))

    def standard_normal(self, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws normal values with mean 0 and standard deviation 1.

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of the result; by default a 0-d array.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of floats.

        Raises
        ------
        TypeError
            For another dtype.

        See Also
        --------
        normal, cuprous.random.Generator.standard_normal

        Examples
        --------
        >>> cp.random.seed(5)
        >>> cp.random.standard_normal(3).round(3)
        array([ 2.255, -0.493,  1.409])
        """
        return self._normal(shape_of(size)[0], float_dtype(dtype, "standard_normal"))

    def standard_exponential(self, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws exponential values with mean 1.

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of the result; by default a 0-d array.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of non-negative floats.

        Raises
        ------
        TypeError
            For another dtype.

        See Also
        --------
        cuprous.random.Generator.standard_exponential

        Examples
        --------
        >>> cp.random.seed(5)
        >>> cp.random.standard_exponential(3).round(3)
        array([0.072, 3.373, 0.17 ])
        """
        return self._exponential(shape_of(size)[0], float_dtype(dtype, "standard_exponential"))

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws gamma values with scale 1.

        Parameters
        ----------
        shape : array_like
            The shape parameter, not negative; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default that of the parameter.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of non-negative floats.

        Raises
        ------
        ValueError
            For a negative scalar.
        TypeError
            For another dtype.

        See Also
        --------
        cuprous.scipy.stats.gamma, cuprous.random.Generator.standard_gamma

        Examples
        --------
        >>> cp.random.seed(5)
        >>> cp.random.standard_gamma(2.0, 3).round(3)
        array([1.549, 2.026, 1.663])
        """
        shape, name = parameter(shape), float_dtype(dtype, "standard_gamma")
        non_negative(shape, "shape")
        return to_dtype(self._gamma(shape, common_shape(size, shape)), name)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = "int64") -> ndarray:
        """Draws integers of [low, high), or of [0, low).

        Parameters
        ----------
        low : array_like
            The lower end; an integer or an array.
        high : array_like, optional
            The upper end, which is not included; an integer or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the ends broadcast to.
        dtype : dtype, default "int64"
            The dtype of the result, bool or an integer dtype; int64 by default.

        Returns
        -------
        ndarray
            An array of integers.

        Raises
        ------
        ValueError
            For an empty range, or bounds outside of the dtype.
        TypeError
            For another dtype.

        See Also
        --------
        random_integers, cuprous.random.Generator.integers

        Examples
        --------
        >>> cp.random.seed(5)
        >>> cp.random.randint(10, size=5)
        array([0, 9, 1, 1, 6])
        """
        return self._bounded(0 if high is None else low, low if high is None else high, size, dtype, False)

    def random_integers(self, low: Any, high: Any = None, size: Any = None) -> ndarray:
        """Draws integers of [low, high], or of [1, low].

        Parameters
        ----------
        low : array_like
            The lower end; an integer or an array.
        high : array_like, optional
            The upper end, which is included; an integer or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the ends broadcast to.

        Returns
        -------
        ndarray
            An array (int64).

        Raises
        ------
        ValueError
            For an empty range.

        See Also
        --------
        randint

        Examples
        --------
        >>> cp.random.seed(5)
        >>> cp.random.random_integers(6, size=5)
        array([1, 6, 1, 1, 5])
        """
        return self._bounded(1 if high is None else low, low if high is None else high, size, "int64", True)

    def tomaxint(self, size: Any = None) -> ndarray:
        """Draws integers of [0, 2**63 - 1].

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of the result; by default a 0-d array.

        Returns
        -------
        ndarray
            An array (int64).

        See Also
        --------
        randint, random_integers

        Examples
        --------
        >>> state = cp.random.RandomState(5)
        >>> bool((state.tomaxint(3) >= 0).all())
        True
        """
        return self._bounded(0, (1 << 63) - 1, size, "int64", True)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> ndarray:
        """Draws samples of range(a), or of an array's rows.

        Parameters
        ----------
        a : array_like
            An integer, or an array.
        size : int or tuple of ints, optional
            The shape of the sample; by default one element.
        replace : bool, default True
            Whether an element may be drawn more than once.
        p : array_like, optional
            The probabilities, 1-d. They are read on the host, to be checked.

        Returns
        -------
        ndarray
            An array of the dtype of `a`, int64 for an integer.

        Raises
        ------
        ValueError
            If the sample is larger than the population, or `p` is not a distribution over it.

        See Also
        --------
        randint, shuffle, permutation, cuprous.random.Generator.choice

        Examples
        --------
        >>> cp.random.seed(5)
        >>> cp.random.choice([10, 20, 30], size=4)
        array([10, 30, 10, 10])
        """
        return self._choice(a, size, replace, p, 0)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._bits,)


def _of_any_dtype(method: Callable[..., ndarray]) -> Callable[..., ndarray]:
    """Lets a method that draws floats have other real dtypes, as CuPy's: they are drawn as float64 and cast."""
    place = [*inspect.signature(method).parameters].index("dtype") - 1

    @functools.wraps(method)
    def drawn(self: RandomState, *args: Any, **kwargs: Any) -> ndarray:
        dtype = args[place] if len(args) > place else kwargs.get("dtype")
        if dtype is None or dtype is float:
            return method(self, *args, **kwargs)
        name = dtypes.name_of(dtype)
        if name in ("float32", "float64") or dtypes.kind(name) not in "iuf":
            return method(self, *args, **kwargs)
        if len(args) > place:
            args = (*args[:place], "float64", *args[place + 1 :])
        else:
            kwargs["dtype"] = "float64"
        return _core.cast(method(self, *args, **kwargs), name)

    return drawn


for _name in ("beta", "chisquare", "dirichlet", "f", "gamma", "noncentral_chisquare", "noncentral_f", "standard_gamma",
              "standard_t", "vonmises"):  # fmt: skip
    setattr(RandomState, _name, _of_any_dtype(getattr(RandomState, _name)))
