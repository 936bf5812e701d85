"""Relations between two samples: entropy, correlation, regression. They give statistics but no p-values."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import cuprous as cp
from cuprous import _core
from cuprous.scipy.special import entr, rel_entr
from cuprous.scipy.stats._moments import _kept, ndarray, sample

_map = _core.map


class _Result:
    """A result with SciPy's attributes, but for the p-value, which raises NotImplementedError."""

    def __init__(self, name: str, **values: ndarray) -> None:
        self._name = name
        self.__dict__.update(values)

    @property
    def pvalue(self) -> NoReturn:
        """Not supported."""
        raise NotImplementedError(f"[{self._name}] pvalue is not supported; use scipy.stats with array.get()")

    def __getattr__(self, name: str) -> ndarray:  # for type checkers: attributes are set above
        raise AttributeError(f"{self._name}'s result has no attribute {name!r}")


def entropy(
    pk: Any, qk: Any = None, base: float | None = None, axis: int | None = 0, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """The entropy of a distribution, or its relative entropy to `qk`; both are normalised to sum 1 first.

    Raises:
        ValueError: for a base that is not positive.
    """
    if base is not None and base <= 0:
        raise ValueError("`base` must be a positive number or `None`.")
    p, along = sample(pk, axis, "entropy", nan_policy)
    p = p / cp.sum(p, axis=along, keepdims=True)
    if qk is None:
        terms = entr(p)
    else:
        q, _ = sample(qk, axis, "entropy", nan_policy)
        terms = rel_entr(p, q / cp.sum(q, axis=along, keepdims=True))
    total = cp.sum(terms, axis=along)
    return _kept(total if base is None else total / math.log(base), pk, axis, keepdims)


def _centred(x: ndarray, axis: int) -> ndarray:
    return x - cp.mean(x, axis=axis, keepdims=True)


def pearsonr(x: Any, y: Any, *, axis: int | None = 0) -> Any:
    """Pearson's coefficient of correlation along an axis, as `.statistic`; NaN for constant samples.

    Raises:
        ValueError: for samples of different length or with fewer than two elements.
        NotImplementedError: by `.pvalue`.
    """
    a, along = sample(x, axis, "pearsonr")
    b, _ = sample(y, axis, "pearsonr")
    if a.shape[along] != b.shape[along]:
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    if a.shape[along] < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    u, v = _centred(a, along), _centred(b, along)
    u, v = (d / _map("sqrt", cp.sum(d * d, axis=along, keepdims=True)) for d in (u, v))
    r = _map("minimum", _map("maximum", cp.sum(u * v, axis=along), -1.0), 1.0)
    constant = _map("logical_or", *(cp.max(s, axis=along) == cp.min(s, axis=along) for s in (a, b)))
    return _Result("pearsonr", statistic=_map("where", constant, math.nan, r))


def linregress(x: Any, y: Any) -> Any:
    """The least squares line through points: `.slope`, `.intercept`, `.rvalue`, `.stderr` and `.intercept_stderr`.

    Raises:
        ValueError: for empty samples, and samples of different length.
        NotImplementedError: by `.pvalue`.
    """
    a, _ = sample(x, None, "linregress")
    b, _ = sample(y, None, "linregress")
    if a.size == 0 or b.size == 0:
        raise ValueError("Inputs must not be empty.")
    if a.size != b.size:
        raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    n = a.size
    u, v = _centred(a, 0), _centred(b, 0)
    xx, yy, xy = (cp.mean(s) for s in (u * u, v * v, u * v))
    slope = xy / xx
    scale = _map("sqrt", xx * yy)
    r = _map("where", scale == 0.0, 0.0, _map("minimum", _map("maximum", xy / scale, -1.0), 1.0))
    error = _map("sqrt", (1.0 - r * r) * yy / xx / (n - 2.0)) if n > 2 else slope * 0.0
    intercept = cp.mean(b) - slope * cp.mean(a)
    return _Result(
        "linregress", slope=slope, intercept=intercept, rvalue=r, stderr=error,
        intercept_stderr=error * _map("sqrt", xx + cp.mean(a) * cp.mean(a)),
    )  # fmt: skip
