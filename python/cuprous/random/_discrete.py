"""Discrete distributions. They return int64 unless `dtype` says otherwise; as for continuous distributions, scalar
parameters are checked and arrays are not."""

from __future__ import annotations

import math
import operator
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous.random._continuous import Continuous
from cuprous.random._shapes import (
    check,
    common_shape,
    in_dtype,
    ndarray,
    non_negative,
    parameter,
    positive,
    probability,
    shape_of,
    to_dtype,
)

_map = _core.map
_LOW_WORD = (1 << 32) - 1
#: The largest mean of a Poisson variate that fits into int64 with ten deviations to spare, as in NumPy.
_LARGEST_MEAN = 2.0**63 - 10 * 2.0**31.5
_Bytes = bytes


class Discrete(Continuous):
    """Draws of integers."""

    def _bounded(self, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool) -> ndarray:
        """Draws integers of [low, high), or [low, high] with `endpoint`: the high word of (random bits) x (high - low),
        after Lemire ("Fast random integer generation in an interval", 2019) but without his rejection, which would make
        the length of the stream depend on its values. A range n up to 2**32 takes 64 random bits per value: no
        probability is off by more than a factor 1 ± n / 2**64, at worst 1 ± 2**-32. Larger ranges and arrays of bounds
        take 128
        bits: 1 ± 2**-64. Powers of two are exact.
        """
        name = dtypes.name_of(dtype)
        if dtypes.kind(name) not in "biu":
            raise TypeError(f"Unsupported dtype {name!r} for integers")
        low, high = parameter(low), parameter(high)
        shape = common_shape(size, low, high)
        if isinstance(low, ndarray) or isinstance(high, ndarray):
            some = low <= high if endpoint else low < high
            low, high = (_as_uint64(v) for v in (low, high))
            span = _map("where", some, high - low + (1 if endpoint else 0), 1)  # empty ranges give their lower bound
            return to_dtype(self._wide_product(span, shape) + low, name)
        low, high = int(low), int(high) - (0 if endpoint else 1)
        lowest, highest = (0, 1) if name == "bool" else (dtypes.lowest(name), dtypes.highest(name))
        check(low >= lowest, f"low is out of bounds for {name}")
        check(high <= highest, f"high is out of bounds for {name}")
        check(low <= high or math.prod(shape) == 0, "low > high" if endpoint else "low >= high")
        offset = to_dtype(self._below(max(high - low + 1, 1), shape), name)
        return offset + low if low else offset

    def _below(self, n: int, shape: tuple[int, ...]) -> ndarray:
        """Draws integers (uint32 or uint64) of [0, n)."""
        if n & (n - 1) == 0:
            bits = n.bit_length() - 1
            width = 32 if bits <= 32 else 64
            word = self._draw(f"random_bits{width}", shape, width == 64)
            return word if bits == width else word * 0 if bits == 0 else word >> (width - bits)
        if n > 1 << 32:
            return self._wide_product(n, shape)
        word = self._draw("random_bits64", shape, True)
        return ((word >> 32) * n + ((word & _LOW_WORD) * n >> 32)) >> 32

    def _wide_product(self, n: Any, shape: tuple[int, ...]) -> ndarray:
        """Returns floor(x n / 2**128) of 128 random bits x = 2**64 a + b. A range n = 2**64, passed as 0, gives a."""
        a = self._draw("random_bits64", shape, True)
        b = self._draw("random_bits64", shape, True)
        high, low = _product(a, n)
        carry = low + _product(b, n)[0]
        result = high + _core.cast(carry < low, "uint64")
        return _map("where", n == 0, a, result) if isinstance(n, ndarray) else result

    def poisson(self, lam: Any = 1.0, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws Poisson values with mean `lam`.

        Parameters
        ----------
        lam : array_like, default 1.0
            The mean, not negative; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, int64 by default.

        Returns
        -------
        ndarray
            An array of non-negative integers.

        Raises
        ------
        ValueError
            For a scalar out of its range.

        See Also
        --------
        random.hypergeometric, random.binomial, random.negative_binomial, random.multinomial, random.geometric

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.poisson(4.0, size=5)
        array([3, 4, 3, 2, 1])
        """
        lam, name = parameter(lam), integer_dtype(dtype)
        non_negative(lam, "lam", nan=False)
        check(isinstance(lam, ndarray) or lam <= _LARGEST_MEAN, "lam value too large")
        return to_dtype(self._poisson(lam, common_shape(size, lam)), name)

    def _poisson(self, lam: Any, shape: tuple[int, ...]) -> ndarray:
        lam = in_dtype(lam, "float64") if isinstance(lam, ndarray) else float(lam)
        return self._draw_with("random_poisson", shape, lam)

    def binomial(self, n: Any, p: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws the number of successes in `n` trials of probability `p`.

        Parameters
        ----------
        n : array_like
            The number of trials, not negative; a scalar or an array.
        p : array_like
            The probability of success; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, int64 by default.

        Returns
        -------
        ndarray
            An array of integers from 0 to n.

        Raises
        ------
        ValueError
            For a scalar parameter out of its range.

        See Also
        --------
        random.negative_binomial, random.multinomial, random.poisson, random.hypergeometric

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.binomial(10, 0.5, size=5)
        array([4, 5, 4, 4, 2])
        """
        n, p, name = parameter(n), parameter(p), integer_dtype(dtype)
        non_negative(n, "n", nan=False)
        probability(p)
        return to_dtype(self._binomial(n, p, common_shape(size, n, p)), name)

    def _binomial(self, n: Any, p: Any, shape: tuple[int, ...]) -> ndarray:
        pair: Any
        if isinstance(n, ndarray) or isinstance(p, ndarray):
            n, p = (in_dtype(v, "float64") if isinstance(v, ndarray) else float(v) for v in (n, p))
            pair = _map("make_complex", n, p, dtype="float64")
        else:
            pair = complex(int(n), p)
        return self._draw_with("random_binomial", shape, pair)

    def negative_binomial(self, n: Any, p: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws the number of failures before the `n`-th success: a Poisson variate whose mean is gamma(n, (1 - p) /
        p).

        Parameters
        ----------
        n : array_like
            The number of successes, positive; a scalar or an array.
        p : array_like
            The probability of success, above 0; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, int64 by default.

        Returns
        -------
        ndarray
            An array of non-negative integers.

        Raises
        ------
        ValueError
            For a scalar parameter out of its range.

        See Also
        --------
        random.multinomial, random.poisson, random.hypergeometric, random.binomial

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.negative_binomial(3, 0.5, size=5)
        array([3, 0, 0, 7, 5])
        """
        n, p, name = parameter(n), parameter(p), integer_dtype(dtype)
        positive(n, "n", nan=False)
        probability(p, above_zero=True)
        if not isinstance(n, ndarray) and not isinstance(p, ndarray):
            check((1 - p) / p * (n + 10 * math.sqrt(n)) <= _LARGEST_MEAN, "n too large or p too small")
        p = in_dtype(p, "float64")
        shape = common_shape(size, n, p)
        return to_dtype(self._poisson(self._gamma(n, shape) * ((1.0 - p) / p), shape), name)

    def geometric(self, p: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws the number of trials up to and including the first success, by inversion; at most 2**63 - 1025.

        Parameters
        ----------
        p : array_like
            The probability of success, above 0; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, int64 by default.

        Returns
        -------
        ndarray
            An array of integers from 1 on.

        Raises
        ------
        ValueError
            For a scalar out of its range.

        See Also
        --------
        random.logseries, random.zipf, random.poisson

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.geometric(0.3, size=5)
        array([7, 4, 6, 3, 3])
        """
        p, name = parameter(p), integer_dtype(dtype)
        probability(p, above_zero=True)
        shape = common_shape(size, p)
        rate: Any
        if isinstance(p, ndarray):
            rate = -_map("log1p", -in_dtype(p, "float64"))
        else:
            rate = -math.log1p(-p) if p < 1 else math.inf
        trials = _map("ceil", self._exponential(shape, "float64") / rate)
        return _core.cast(_map("minimum", _map("maximum", trials, 1.0), 2.0**63 - 1024), name)

    def logseries(self, p: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws logarithmic series values (Kemp, "Efficient generation of logarithmically distributed variables", 1981,
        LK).

        Parameters
        ----------
        p : array_like
            The parameter, at least 0 and below 1; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, int64 by default.

        Returns
        -------
        ndarray
            An array of integers from 1 on.

        Raises
        ------
        ValueError
            For a scalar out of its range.

        See Also
        --------
        random.zipf, random.poisson, random.geometric

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.logseries(0.6, size=5)
        array([6, 4, 1, 1, 2])
        """
        p, name = parameter(p), integer_dtype(dtype)
        if not isinstance(p, ndarray):
            check(0 <= p < 1, "p <= 0, p >= 1 or p contains NaNs")
        shape = common_shape(size, p)
        u, v = self._unit(shape), self._open_unit(shape, "float64")
        p = in_dtype(p, "float64")
        q = -_map("expm1", _map("log1p", -p) * u) if isinstance(p, ndarray) else -_map("expm1", u * math.log1p(-p))
        q = _map("maximum", q, 2.0**-54)
        value = _map("floor", _map("log", v) / _map("log", q)) + 1.0
        return _core.cast(_map("minimum", value, 2.0**63 - 1024), name)

    def bytes(self, length: int) -> _Bytes:
        """Returns `length` random bytes.

        Parameters
        ----------
        length : int
            The number of bytes.

        Returns
        -------
        bytes

        See Also
        --------
        random.randint

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> len(rng.bytes(4))
        4
        """
        length = operator.index(length)
        check(length >= 0, "length must be non-negative")
        shape, _ = shape_of(-(-length // 4))
        return _core.to_bytes(self._draw("random_bits32", shape, False))[:length]


def integer_dtype(dtype: Any) -> str:
    """Returns the name of an integer dtype that counts can have.

    Raises
    ------
    TypeError
        For any other dtype.
    """
    name = "int64" if dtype is None else dtypes.name_of(dtype)
    if dtypes.kind(name) not in "iuf":
        raise TypeError(f"Unsupported dtype {name!r} for a discrete distribution")
    return name


def _as_uint64(value: Any) -> ndarray:
    """Converts a bound to uint64, modulo 2**64."""
    if isinstance(value, ndarray):
        wide = value if dtypes.kind(value.dtype_name) == "u" else to_dtype(value, "int64")
        return to_dtype(wide, "uint64")
    return _core.full((), int(value) & ((1 << 64) - 1), "uint64")


def _product(a: ndarray, n: Any) -> tuple[ndarray, ndarray]:
    """Returns the high and low words of the product of two 64-bit words, computed from 32-bit parts."""
    a1, a0, n1, n0 = a >> 32, a & _LOW_WORD, n >> 32, n & _LOW_WORD
    middle = a1 * n0 + (a0 * n0 >> 32)
    cross = a0 * n1 + (middle & _LOW_WORD)
    return a1 * n1 + (middle >> 32) + (cross >> 32), a * n
