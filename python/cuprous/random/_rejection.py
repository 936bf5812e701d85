"""Distributions by rejection: candidates are drawn until all are accepted.

The number of rejected candidates is copied to the host after each round, so these draws wait for the device. Therefore
parameters are checked even if they are arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.masks import flatnonzero
from cuprous._functions.reductions import all as all_
from cuprous.random._discrete import Discrete, integer_dtype
from cuprous.random._shapes import check, common_shape, float_dtype, ndarray, parameter, to_dtype

_map = _core.map
#: Counts of `hypergeometric` are below this, as in NumPy: larger ones lose too many digits in its logarithms.
LIMIT = 10**9
#: The largest float64 that fits into int64.
_LAST_INT = 2.0**63 - 1024

#: Draws a number of candidates from the parameters of each, and returns them with a mask of the accepted ones.
Propose = Callable[..., "tuple[ndarray, ndarray]"]


class Rejection(Discrete):
    """Draws by rejection sampling: rejected candidates are drawn again."""

    def _accepted(self, shape: tuple[int, ...], propose: Propose, *parameters: ndarray) -> ndarray:
        """Returns an array of accepted candidates. Each round redraws those rejected in the previous round."""
        flat = [p if p.size == 1 else _core.broadcast_to(p, shape).reshape(-1) for p in parameters]
        flat = [p.reshape(()) if p.size == 1 else p for p in flat]
        result, accepted = propose(math.prod(shape), *flat)
        left = flatnonzero(_map("logical_not", accepted))
        while left.size:
            again, accepted = propose(left.size, *(_core.gather(p, left) if p.ndim else p for p in flat))
            _core.scatter(result, left, again)
            left = _core.gather(left, flatnonzero(_map("logical_not", accepted)))
        return result.reshape(shape)

    def vonmises(self, mu: Any, kappa: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws von Mises values on [-pi, pi], with mode `mu` and concentration `kappa`.

        From a wrapped Cauchy variate (Best and Fisher, Applied Statistics 28, 1979), in half angles, where nothing
        cancels for any `kappa`; 65 % of the candidates or more are accepted.

        Parameters
        ----------
        mu : array_like
            The mode, in radians; a scalar or an array.
        kappa : array_like
            The concentration, not negative; a scalar or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of angles in radians.

        Raises
        ------
        ValueError
            For a negative scalar `kappa`.

        See Also
        --------
        random.normal

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.vonmises(0.0, 4.0, size=3).round(3)
        array([0.279, 0.385, 1.077])
        """
        mu, kappa, name = parameter(mu), _number(kappa), float_dtype(dtype, "vonmises")
        shape = common_shape(size, mu, kappa)
        _require(_map("logical_not", kappa < 0), "kappa < 0")

        def propose(n: int, k: ndarray) -> tuple[ndarray, ndarray]:
            twice = _map("minimum", k, 1e150) * 2.0
            root = _map("sqrt", twice * twice + 1.0)
            tau = root + 1.0
            wide = tau + _map("sqrt", tau * 2.0)
            rho = twice / wide
            rest = (1.0 / (root + twice) + 1.0 + _map("sqrt", tau * 2.0)) / wide  # 1 - rho
            half = (self._unit((n,)) - 0.5) * math.pi
            cosine = _map("cos", half)
            c = wide * 0.25 * _map("square", rest * (rho + 1.0)) / (rest * rest + rho * 4.0 * cosine * cosine)
            value = _map("arctan", rest / (rho + 1.0) * _map("tan", half)) * 2.0
            rejected = _map("log", self._open_unit((n,), "float64")) > _map("log", c) + 1.0 - c
            return value, _map("logical_not", rejected)  # negated, so that NaN is accepted

        angle = self._accepted(shape, propose, kappa) + mu
        periods = _map("rint", angle * (0.5 / math.pi))
        return to_dtype(angle - periods * (2 * math.pi), name)

    def zipf(self, a: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws Zipf values: k = 1, 2, … with probability proportional to k**-a, for a > 1, cut off at 2**63 - 1024.

        Devroye, "Non-Uniform Random Variate Generation" (1986), X.6.1; 70 % of the candidates or more are accepted.

        Parameters
        ----------
        a : array_like
            The exponent, above 1; a scalar or an array.
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
            For a scalar that is not above 1.

        See Also
        --------
        random.poisson, random.geometric, random.logseries

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.zipf(2.0, size=5)
        array([9, 3, 1, 4, 2])
        """
        a, name = _number(a), integer_dtype(dtype)
        shape = common_shape(size, a)
        _require(a > 1, "a <= 1 or a is NaN")

        def propose(n: int, exponent: ndarray) -> tuple[ndarray, ndarray]:
            e = _map("minimum", exponent - 1.0, 1023.0)  # from there on every k is 1
            least = _map("exp", e * -math.log(_LAST_INT))
            u = 1.0 - self._unit((n,)) * (1.0 - least)
            k = _map("minimum", _map("floor", _map("exp", _map("log", u) / -e)), _LAST_INT)
            step = _map("log1p", 1.0 / k)
            left = self._unit((n,)) * k * _map("expm1", e * step) / _map("expm1", e * math.log(2))
            return k, left <= _map("exp", e * (step - math.log(2)))

        return _core.cast(self._accepted(shape, propose, a), name)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Returns the number of good items among `nsample` drawn without replacement from `ngood` + `nbad` items.

        Stadlober's ratio of uniforms ("The ratio of uniforms approach for generating discrete random variates", 1990);
        from a quarter of the candidates (where two values share all probability) to three quarters are accepted.

        Parameters
        ----------
        ngood : array_like
            The number of good items; an integer or an array.
        nbad : array_like
            The number of bad items; an integer or an array.
        nsample : array_like
            The number of items that are drawn; an integer or an array.
        size : int or tuple of ints, optional
            The shape of the result; by default what the parameters broadcast to.
        dtype : dtype, optional
            The dtype of the result, int64 by default.

        Returns
        -------
        ndarray
            An array of integers from 0 to min(ngood, nsample).

        Raises
        ------
        ValueError
            For negative numbers, `nsample` above `ngood` + `nbad`, and numbers from 10**9 on.
        TypeError
            For arrays of inexact dtypes.

        See Also
        --------
        random.binomial, random.negative_binomial, random.multinomial, random.poisson

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.hypergeometric(10, 5, 6, size=5)
        array([3, 3, 3, 3, 5])
        """
        name = integer_dtype(dtype)
        good, bad, sample = (_number(v, whole=name) for v, name in
                             ((ngood, "ngood"), (nbad, "nbad"), (nsample, "nsample")))  # fmt: skip
        shape = common_shape(size, good, bad, sample)
        _require(_map("minimum", _map("minimum", good, bad), sample) >= 0, "ngood, nbad or nsample < 0")
        _require(_map("maximum", good, bad) < LIMIT, f"both ngood and nbad must be less than {LIMIT}")
        _require(sample <= good + bad, "ngood + nbad < nsample")
        return _core.cast(self._hypergeometric(good, bad, sample, shape), name)

    def _hypergeometric(self, good: ndarray, bad: ndarray, sample: ndarray, shape: tuple[int, ...]) -> ndarray:
        """Returns float64 counts for checked float64 parameters."""

        def propose(n: int, good: ndarray, bad: ndarray, sample: ndarray) -> tuple[ndarray, ndarray]:
            total = good + bad
            few, many = _map("minimum", good, bad), _map("maximum", good, bad)
            m = _map("minimum", sample, total - sample)  # of the few, in the smaller of sample and remainder
            mean, most = m * few / _map("maximum", total, 1.0), _map("minimum", m, few)
            mode = _map("floor", (m + 1.0) * (few + 1.0) / (total + 2.0))
            variance = mean * (many / _map("maximum", total, 1.0)) * ((total - m) / _map("maximum", total - 1.0, 1.0))
            width = hat_width(_map("sqrt", variance + 0.5))
            u = self._open_unit((n,), "float64")
            drawn = _map("floor", mean + 0.5 + width * (self._unit((n,)) - 0.5) / u)
            k = _map("maximum", _map("minimum", drawn, most), 0.0)

            def weight(k: ndarray) -> ndarray:
                """Returns the logarithm of the probability, up to a constant."""
                parts = (k, few - k, m - k, many - m + k)
                logs = [_map("gammaln", part + 1.0) for part in parts]
                return -(logs[0] + logs[1] + logs[2] + logs[3])

            below = _map("log", u) * 2.0 <= weight(k) - weight(mode)
            accepted = _map("logical_or", most == 0, _map("logical_and", k == drawn, below))
            k = _map("where", good > bad, m - k, k)
            return _map("where", m < sample, good - k, k), accepted

        return self._accepted(shape, propose, good, bad, sample)


def hat_width(deviation: Any) -> Any:
    """Returns the width of Stadlober's table mountain hat for a distribution of that standard deviation (of variance +
    1/2)."""
    return deviation * (2 * math.sqrt(2 / math.e)) + (3 - 2 * math.sqrt(3 / math.e))


def _number(value: Any, whole: str = "") -> ndarray:
    """Converts a parameter to a float64 array. `whole` is the name of an integer parameter (truncated if scalar, as in
    NumPy).

    Raises
    ------
    TypeError
        For an array of an inexact dtype where integers are required.
    """
    value = parameter(value)
    if not isinstance(value, ndarray):
        return _core.full((), int(value) if whole else float(value), "float64")
    if whole and dtypes.kind(value.dtype_name) not in "biu":
        raise TypeError(f"{whole} must be an integer or an array of integers, not of {value.dtype_name}")
    return to_dtype(value, "float64")


def _require(valid: ndarray, message: str) -> None:
    """Raises ValueError with the message unless all elements are valid. Waits for the device."""
    check(bool(all_(valid)), message)
