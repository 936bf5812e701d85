"""`Generator`: NumPy's interface to a bit generator."""

from __future__ import annotations

import operator
from typing import Any

from cuprous.random._bits import BitGenerator, Philox4x3210, Seed
from cuprous.random._selection import Selection
from cuprous.random._shapes import (
    check,
    common_shape,
    float_dtype,
    ndarray,
    non_negative,
    out_shape,
    parameter,
    shape_of,
    to_dtype,
    write,
)


class Generator(Selection):
    """Draws from the distributions that NumPy names, by a stream that is the same on every device.

    The values of uniforms, integers and normals depend on the seed and on what was drawn before, not on the device, bit
    for bit. They are not NumPy's values for the same seed. A draw records one native call and at most a few maps; seed
    and position are scalars of the recorded program, so that a loop of draws replays.

    Parameters
    ----------
    bit_generator : BitGenerator
        The source of randomness.

    See Also
    --------
    default_rng

    Examples
    --------
    >>> rng = cp.random.Generator(cp.random.Philox4x3210(5))
    >>> rng.random(3).round(3)
    array([0.07 , 0.966, 0.156])
    """

    def __init__(self, bit_generator: BitGenerator) -> None:
        if not isinstance(bit_generator, BitGenerator):
            raise TypeError(f"Generator needs a cuprous BitGenerator such as Philox4x3210, not {type(bit_generator)}")
        self._bits = bit_generator

    @property
    def bit_generator(self) -> BitGenerator:
        """The source; its `state` can be read and set.

        Examples
        --------
        >>> cp.random.default_rng(5).bit_generator.offset
        0
        """
        return self._bits

    def spawn(self, n_children: int) -> list[Generator]:
        """Returns generators on independent streams.

        Parameters
        ----------
        n_children : int
            The number of generators.

        Returns
        -------
        list of Generator
            A list of generators.

        Raises
        ------
        ValueError
            If `n_children` is negative.

        See Also
        --------
        cuprous.random.BitGenerator.spawn, cuprous.random.SeedSequence.spawn

        Examples
        --------
        >>> first, second = cp.random.default_rng(5).spawn(2)
        >>> bool((first.random(4) == second.random(4)).any())
        False
        """
        return [type(self)(bits) for bits in self._bits.spawn(n_children)]

    def random(self, size: Any = None, dtype: Any = None, out: ndarray | None = None) -> ndarray:
        """Draws uniform values on [0, 1): multiples of 2**-53, or of 2**-24 for float32.

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of the result; by default a 0-d array.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.
        out : ndarray, optional
            An array to write to, of this shape and dtype.

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
        uniform

        Examples
        --------
        >>> rng = cp.random.default_rng(5)
        >>> rng.random((2, 2)).round(3)
        array([[0.07 , 0.966],
               [0.156, 0.119]])
        """
        name = float_dtype(dtype, "random")
        return write(out, self._unit(shape_of(out_shape(out, size, name))[0], name))

    def standard_normal(self, size: Any = None, dtype: Any = None, out: ndarray | None = None) -> ndarray:
        """Draws normal values with mean 0 and standard deviation 1.

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of the result; by default a 0-d array.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.
        out : ndarray, optional
            An array to write to, of this shape and dtype.

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
        normal

        Examples
        --------
        >>> rng = cp.random.default_rng(5)
        >>> rng.standard_normal(3).round(3)
        array([ 2.255, -0.493,  1.409])
        """
        name = float_dtype(dtype, "standard_normal")
        return write(out, self._normal(shape_of(out_shape(out, size, name))[0], name))

    def standard_exponential(
        self, size: Any = None, dtype: Any = None, method: str = "zig", out: ndarray | None = None
    ) -> ndarray:
        """Draws exponential values with mean 1.

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of the result; by default a 0-d array.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.
        method : {"inv", "zig"}, default "zig"
            "inv" or "zig". Both invert the distribution function here.
        out : ndarray, optional
            An array to write to, of this shape and dtype.

        Returns
        -------
        ndarray
            An array of non-negative floats.

        Raises
        ------
        ValueError
            For another method.
        TypeError
            For another dtype.

        Examples
        --------
        >>> rng = cp.random.default_rng(5)
        >>> rng.standard_exponential(3).round(3)
        array([0.072, 3.373, 0.17 ])
        """
        check(method in ("inv", "zig"), f"method must be 'inv' or 'zig', not {method!r}")
        name = float_dtype(dtype, "standard_exponential")
        return write(out, self._exponential(shape_of(out_shape(out, size, name))[0], name))

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = None, out: ndarray | None = None) -> ndarray:
        """Draws gamma values with scale 1.

        Parameters
        ----------
        shape : array_like
            The shape parameter, not negative; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default that of the parameter.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.
        out : ndarray, optional
            An array to write to, of this shape and dtype.

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
        cuprous.scipy.stats.gamma

        Examples
        --------
        >>> rng = cp.random.default_rng(5)
        >>> rng.standard_gamma(2.0, 3).round(3)
        array([1.549, 2.026, 1.663])
        """
        name, shape = float_dtype(dtype, "standard_gamma"), parameter(shape)
        non_negative(shape, "shape")
        extents = common_shape(out_shape(out, size, name), shape)
        return write(out, to_dtype(self._gamma(shape, extents), name))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws uniform values on [low, high).

        Parameters
        ----------
        low : array_like, default 0.0
            The lower end; a scalar or an array.
        high : array_like, default 1.0
            The upper end; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the ends broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of floats.

        Raises
        ------
        ValueError
            If `high` is below `low`, which only `RandomState` takes.
        OverflowError
            If the range is not finite.

        See Also
        --------
        random

        Examples
        --------
        >>> rng = cp.random.default_rng(5)
        >>> rng.uniform(10, 20, 3).round(3)
        array([10.697, 19.657, 11.562])
        """
        low, high = parameter(low), parameter(high)
        check(isinstance(low, ndarray) or isinstance(high, ndarray) or not high < low, "high - low < 0")
        return super().uniform(low, high, size, dtype)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = "int64", endpoint: bool = False
    ) -> ndarray:
        """Draws integers of [low, high), or of [0, low) without `high`. No probability is off by more than a factor 1 ±
        2**-32.

        Parameters
        ----------
        low : array_like
            The lower end; an integer or an array.
        high : array_like, optional
            The upper end; an integer or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the ends broadcast to.
        dtype : dtype, default "int64"
            The dtype of the result, bool or an integer dtype; int64 by default.
        endpoint : bool, default False
            Whether the upper end is included.

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

        Examples
        --------
        >>> rng = cp.random.default_rng(5)
        >>> rng.integers(10, size=5)
        array([0, 9, 1, 1, 6])
        >>> rng.integers(1, 6, size=5, endpoint=True)
        array([5, 6, 1, 5, 2])
        """
        if high is None:
            low, high = 0, low
        return self._bounded(low, high, size, dtype, endpoint)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> ndarray:
        """Draws samples of range(a), or of an array's slices along an axis.

        Without replacement and with `p`, by the order of the exponential variates E / p (Efraimidis and Spirakis,
        2006).

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
        axis : int, default 0
            The axis of the slices, by default the first.
        shuffle : bool, default True
            Has no effect; the order is random in any case, which NumPy leaves open.

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
        shuffle, permutation

        Examples
        --------
        >>> rng = cp.random.default_rng(5)
        >>> rng.choice([10, 20, 30], size=4)
        array([10, 30, 10, 10])
        >>> cp.sort(rng.choice(3, size=3, replace=False))
        array([0, 1, 2])
        """
        return self._choice(a, size, replace, p, axis)

    def __repr__(self) -> str:
        return f"Generator({type(self._bits).__name__})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._bits,)


def default_rng(seed: Seed | BitGenerator | Generator = None) -> Generator:
    """Returns a `Generator` over Philox4x32-10.

    Parameters
    ----------
    seed : int, sequence of ints, BitGenerator or Generator, optional
        None (the operating system's entropy), a non-negative integer (below 2**64 it is Philox's key), a sequence of
        such integers or a `numpy.random.SeedSequence` (hashed), or a bit generator or generator (used as it is).

    Returns
    -------
    Generator

    Raises
    ------
    TypeError
        For another seed.
    ValueError
        For a negative seed.

    See Also
    --------
    random.RandomState, random.Generator, random.seed

    Examples
    --------
    >>> rng = cp.random.default_rng(5)
    >>> rng.random(3).round(3)
    array([0.07 , 0.966, 0.156])
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, BitGenerator):
        return Generator(seed)
    if seed is not None and hasattr(seed, "__index__") and not hasattr(seed, "ndim"):
        seed = operator.index(seed)
    return Generator(Philox4x3210(seed))
