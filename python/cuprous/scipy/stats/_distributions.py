"""Continuous distributions: densities, distribution functions and quantiles, each defined by a row of a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from cuprous import _core
from cuprous._common.arguments import array, ndarray
from cuprous._common.operands import on_array_device
from cuprous.scipy import special as sp
from cuprous.scipy.special._composed import both

_map = _core.map
_HALF_LOG = 0.5 * math.log(2.0 * math.pi)


class _Row(NamedTuple):
    """The functions of a standard distribution. They take float64 arrays: values first, then the parameters.

    `shapes` names the parameters, all of which are positive; `low` and `high` bound the support.
    """

    shapes: str
    low: float
    high: float
    logpdf: Callable[..., ndarray]
    cdf: Callable[..., ndarray]
    sf: Callable[..., ndarray]
    ppf: Callable[..., ndarray]
    isf: Callable[..., ndarray]
    doc: str


def _t_logpdf(x: ndarray, df: ndarray) -> ndarray:
    finite = _map("where", df == math.inf, 1.0, df)
    value = _map("log", sp.poch(finite * 0.5, 0.5) / _map("sqrt", finite * math.pi))
    value = value - (finite + 1.0) * 0.5 * _map("log1p", x * x / finite)
    return _map("where", df == math.inf, x * x * -0.5 - _HALF_LOG, value)


def _cauchy(x: ndarray) -> ndarray:
    return _map("arctan2", _map("where", x == x, 1.0, x), x) * (1.0 / math.pi)


def _gamma_logpdf(x: ndarray, a: ndarray) -> ndarray:
    return sp.xlogy(a - 1.0, x) - x - sp.gammaln(a)


def _f_logpdf(x: ndarray, n: ndarray, m: ndarray) -> ndarray:
    ratio = n / m
    head = sp.xlogy(n * 0.5 - 1.0, x) + n * 0.5 * _map("log", ratio)
    return head - (n + m) * 0.5 * _map("log1p", ratio * x) - sp.betaln(n * 0.5, m * 0.5)


_TABLE: dict[str, _Row] = {
    "norm": _Row(
        "", -math.inf, math.inf, lambda x: x * x * -0.5 - _HALF_LOG, sp.ndtr, lambda x: sp.ndtr(-x), sp.ndtri,
        lambda q: -sp.ndtri(q), "The normal distribution of mean `loc` and standard deviation `scale`.",
    ),
    "expon": _Row(
        "", 0.0, math.inf, lambda x: -x, lambda x: -_map("expm1", -x), lambda x: _map("exp", -x),
        lambda q: -_map("log1p", -q), lambda q: -_map("log", q), "The exponential distribution of mean `scale`.",
    ),
    "uniform": _Row(
        "", 0.0, 1.0, lambda x: x * 0.0, lambda x: x, lambda x: 1.0 - x, lambda q: q, lambda q: 1.0 - q,
        "The uniform distribution between `loc` and `loc` + `scale`.",
    ),
    "logistic": _Row(
        "", -math.inf, math.inf, lambda x: sp.log_expit(x) + sp.log_expit(-x), sp.expit, lambda x: sp.expit(-x),
        sp.logit, lambda q: -sp.logit(q), "The logistic distribution.",
    ),
    "cauchy": _Row(
        "", -math.inf, math.inf, lambda x: -_map("log1p", x * x) - math.log(math.pi),
        lambda x: _cauchy(-x), _cauchy,
        lambda q: -1.0 / _map("tan", q * math.pi), lambda q: 1.0 / _map("tan", q * math.pi),
        "Cauchy's distribution.",
    ),
    "t": _Row(
        "df", -math.inf, math.inf, _t_logpdf, lambda x, df: sp.stdtr(df, x), lambda x, df: sp.stdtr(df, -x),
        lambda q, df: sp.stdtrit(df, q), lambda q, df: -sp.stdtrit(df, q), "Student's distribution.",
    ),
    "chi2": _Row(
        "df", 0.0, math.inf, lambda x, df: _gamma_logpdf(x * 0.5, df * 0.5) - math.log(2.0),
        lambda x, df: sp.chdtr(df, x), lambda x, df: sp.chdtrc(df, x),
        lambda q, df: 2.0 * sp.gammaincinv(df * 0.5, q), lambda q, df: sp.chdtri(df, q),
        "The chi-square distribution.",
    ),
    "gamma": _Row(
        "a", 0.0, math.inf, _gamma_logpdf, lambda x, a: sp.gammainc(a, x), lambda x, a: sp.gammaincc(a, x),
        lambda q, a: sp.gammaincinv(a, q), lambda q, a: sp.gammainccinv(a, q), "The gamma distribution.",
    ),
    "beta": _Row(
        "a b", 0.0, 1.0,
        lambda x, a, b: sp.xlogy(a - 1.0, x) + sp.xlog1py(b - 1.0, -x) - sp.betaln(a, b),
        lambda x, a, b: sp.betainc(a, b, x), lambda x, a, b: sp.betaincc(a, b, x),
        lambda q, a, b: sp.betaincinv(a, b, q), lambda q, a, b: sp.betainccinv(a, b, q), "The beta distribution.",
    ),
    "f": _Row(
        "dfn dfd", 0.0, math.inf, _f_logpdf, lambda x, n, m: sp.fdtr(n, m, x), lambda x, n, m: sp.fdtrc(n, m, x),
        lambda q, n, m: sp.fdtri(n, m, q), lambda q, n, m: 1.0 / sp.fdtri(m, n, q), "Fisher's distribution.",
    ),
}  # fmt: skip


def _double(value: Any) -> ndarray:
    a = array(value)
    if a.dtype.kind == "c":
        raise TypeError("[stats] distributions of complex numbers are not supported")
    return a if a.dtype_name == "float64" else _core.cast(a, "float64")


#: An example of each distribution, values and parameters of `cdf` and the representation of what it returns, and
#: related names.
_EXAMPLES = {
    "norm": ("[0.0, 1.96]", "array([0.5      , 0.9750021])",
        "scipy.special.ndtr, scipy.special.ndtri, scipy.stats.t, random.normal"),
    "expon": ("[1.0, 2.0]", "array([0.63212056, 0.86466472])",
        "scipy.stats.gamma, random.exponential"),
    "uniform": ("[0.25, 2.0]", "array([0.25, 1.  ])",
        "scipy.stats.beta, random.uniform"),
    "logistic": ("[0.0, 1.0]", "array([0.5       , 0.73105858])",
        "scipy.special.expit, scipy.special.logit, random.logistic"),
    "cauchy": ("[0.0, 1.0]", "array([0.5 , 0.75])",
        "scipy.stats.t, random.standard_cauchy"),
    "t": ("[0.0, 2.0], 5", "array([0.5       , 0.94903026])",
        "scipy.special.stdtr, scipy.special.stdtrit, scipy.stats.norm, random.standard_t"),
    "chi2": ("[1.0, 5.0], 3", "array([0.19874804, 0.82820286])",
        "scipy.special.chdtr, scipy.special.chdtri, scipy.stats.gamma, random.chisquare"),
    "gamma": ("[1.0, 3.0], 2.0", "array([0.26424112, 0.80085173])",
        "scipy.special.gammainc, scipy.special.gammaincinv, scipy.stats.chi2, random.gamma"),
    "beta": ("[0.25, 0.5], 2.0, 3.0", "array([0.26171875, 0.6875    ])",
        "scipy.special.betainc, scipy.special.betaincinv, random.beta"),
    "f": ("[0.5, 1.0], 2, 5", "array([0.36606185, 0.56879885])",
        "scipy.special.fdtr, scipy.special.fdtri, scipy.stats.chi2, random.f"),
}  # fmt: skip
_DOC = """{doc}

Calling it fixes the parameters. Its methods (`pdf`, `logpdf`, `cdf`, `sf`, `logcdf`, `logsf`, `ppf`, `isf`, `median`,
`interval`) take values, then the parameters.

Parameters
----------
*args : array_like
    {names}: scalars or arrays.
**kwargs : array_like
    The same by name; `loc` is 0 and `scale` is 1 by default.

Returns
-------
Frozen
    A distribution whose methods take values only.

Raises
------
TypeError
    For missing or unknown parameters.

See Also
--------
{related}

Examples
--------
>>> cp.scipy.stats.{name}.cdf({values})
{result}
"""


class Distribution:
    """A continuous distribution with SciPy's methods.

    All methods take values (or probabilities), then the parameters, `loc` and `scale`, by position or name; all
    broadcast. Values outside the support give 0 or 1. Parameters and scales that are not positive, and probabilities
    outside [0, 1], give NaN. Results are float64.

    Parameters
    ----------
    name : str
        The distribution's name.
    row : _Row
        Its functions.
    """

    def __init__(self, name: str, row: _Row) -> None:
        self.name, self._row = name, row
        values, result, related = _EXAMPLES[name]
        names = ", ".join(f"`{word}`" for word in [*row.shapes.split(), "loc", "scale"])
        self.__doc__ = _DOC.format(doc=row.doc, names=names, name=name, values=values, result=result, related=related)
        self.shapes = ", ".join(row.shapes.split()) or None
        self.numargs = len(row.shapes.split())

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """Returns the distribution with fixed parameters."""
        self._arguments(args, kwargs)
        return Frozen(self, args, kwargs)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[ndarray], ndarray, ndarray]:
        names = [*self._row.shapes.split(), "loc", "scale"]
        if len(args) > len(names):
            raise TypeError(f"[{self.name}] takes at most {len(names)} parameters but {len(args)} were given")
        bound = {**dict(zip(names, args, strict=False))}
        for key, value in kwargs.items():
            if key not in names:
                raise TypeError(f"[{self.name}] got an unexpected keyword argument '{key}'")
            if key in bound:
                raise TypeError(f"[{self.name}] got multiple values for argument '{key}'")
            bound[key] = value
        missing = [n for n in names[:-2] if n not in bound]
        if missing:
            raise TypeError(f"[{self.name}] missing a required argument: '{missing[0]}'")
        shapes = [_double(bound[n]) for n in names[:-2]]
        return shapes, _double(bound.get("loc", 0.0)), _double(bound.get("scale", 1.0))

    def _valid(self, shapes: list[ndarray], scale: ndarray) -> ndarray:
        return both(scale > 0.0, *(s > 0.0 for s in shapes))

    @on_array_device
    def _at(self, x: Any, args: Any, kwargs: Any, code: Callable[..., ndarray], below: float, above: float,
            density: bool) -> ndarray:  # fmt: skip
        shapes, loc, scale = self._arguments(args, kwargs)
        z = (_double(x) - loc) / scale
        row = self._row
        inside = both(z >= row.low, z <= row.high)
        middle = 0.5 if row.low > -math.inf else 0.0
        value = code(_map("where", inside, z, middle), *shapes)
        if density:
            value = value - _map("log", scale)
        value = _map("where", z < row.low, below, _map("where", z > row.high, above, value))
        spoiled = _map("logical_or", z != z, _map("logical_not", self._valid(shapes, scale)))
        return _map("where", spoiled, math.nan, value)

    def logpdf(self, x: Any, *args: Any, **kwargs: Any) -> ndarray:
        """Returns the logarithm of the density."""
        return self._at(x, args, kwargs, self._row.logpdf, -math.inf, -math.inf, True)

    def pdf(self, x: Any, *args: Any, **kwargs: Any) -> ndarray:
        """Returns the density."""
        return _map("exp", self.logpdf(x, *args, **kwargs))

    def cdf(self, x: Any, *args: Any, **kwargs: Any) -> ndarray:
        """Returns the probability of values up to x."""
        return self._at(x, args, kwargs, self._row.cdf, 0.0, 1.0, False)

    def sf(self, x: Any, *args: Any, **kwargs: Any) -> ndarray:
        """Returns the probability of values above x."""
        return self._at(x, args, kwargs, self._row.sf, 1.0, 0.0, False)

    def logcdf(self, x: Any, *args: Any, **kwargs: Any) -> ndarray:
        """Returns the logarithm of `cdf`."""
        if self.name == "norm":
            return self._at(x, args, kwargs, sp.log_ndtr, 0.0, 0.0, False)
        return _map("log", self.cdf(x, *args, **kwargs))

    def logsf(self, x: Any, *args: Any, **kwargs: Any) -> ndarray:
        """Returns the logarithm of `sf`."""
        if self.name == "norm":
            return self._at(x, args, kwargs, lambda z: sp.log_ndtr(-z), 0.0, 0.0, False)
        if self.name == "expon":
            return self._at(x, args, kwargs, lambda z: -z, 0.0, 0.0, False)
        return _map("log", self.sf(x, *args, **kwargs))

    def _quantile(self, q: Any, args: Any, kwargs: Any, code: Callable[..., ndarray], ends: tuple[float, float]
                  ) -> ndarray:  # fmt: skip
        shapes, loc, scale = self._arguments(args, kwargs)
        p = _double(q)
        inside = both(p > 0.0, p < 1.0)
        value = code(_map("where", inside, p, 0.5), *shapes)
        value = _map("where", p == 0.0, ends[0], _map("where", p == 1.0, ends[1], value)) * scale + loc
        possible = both(p >= 0.0, p <= 1.0, self._valid(shapes, scale))
        return _map("where", possible, value, math.nan)

    def ppf(self, q: Any, *args: Any, **kwargs: Any) -> ndarray:
        """Returns the quantile: x with cdf(x) = q."""
        return self._quantile(q, args, kwargs, self._row.ppf, (self._row.low, self._row.high))

    def isf(self, q: Any, *args: Any, **kwargs: Any) -> ndarray:
        """Returns x with sf(x) = q."""
        return self._quantile(q, args, kwargs, self._row.isf, (self._row.high, self._row.low))

    def median(self, *args: Any, **kwargs: Any) -> ndarray:
        """Returns the median."""
        return self.ppf(0.5, *args, **kwargs)

    def interval(self, confidence: Any, *args: Any, **kwargs: Any) -> tuple[ndarray, ndarray]:
        """Returns the two quantiles around the median that enclose values with this probability.

        Raises
        ------
        ValueError
            For a number outside [0, 1].
        """
        if isinstance(confidence, (int, float)) and not 0 <= confidence <= 1:
            raise ValueError("alpha must be between 0 and 1 inclusive")
        tail = (1.0 - _double(confidence)) * 0.5
        return self.ppf(tail, *args, **kwargs), self.isf(tail, *args, **kwargs)


class Frozen:
    """A distribution with fixed parameters; its methods take only values."""

    def __init__(self, dist: Distribution, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = dist, args, kwds

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf", "median", "interval"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")
        method = getattr(self.dist, name)
        return lambda *values: method(*values, *self.args, **self.kwds)


DISTRIBUTIONS = {name: Distribution(name, row) for name, row in _TABLE.items()}
