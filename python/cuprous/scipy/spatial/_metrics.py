"""Distance metrics of two rows: each reduces an elementwise function over the columns, so that differences and
reduction fuse into one kernel. The formulas are those of SciPy's documentation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from cuprous import _core

ndarray = _core.ndarray
_map = _core.map


def total(terms: ndarray, w: ndarray | None = None) -> ndarray:
    """Returns the sum over the columns, weighted by `w`."""
    return _core.reduce("sum", terms if w is None else terms * w, [terms.ndim - 1])


def absolute(a: ndarray) -> ndarray:
    return _map("absolute", a)


def _sqeuclidean(u: ndarray, v: ndarray, w: ndarray | None = None) -> ndarray:
    return total((u - v) * (u - v), w)


def _cosine(u: ndarray, v: ndarray, w: ndarray | None = None) -> ndarray:
    return 1.0 - total(u * v, w) / (_map("sqrt", total(u * u, w)) * _map("sqrt", total(v * v, w)))


def _correlation(u: ndarray, v: ndarray, w: ndarray | None = None) -> ndarray:
    count = _count(u, w)
    u, v = (x - _core.reduce("sum", x if w is None else x * w, [x.ndim - 1], True) / count for x in (u, v))
    return _cosine(u, v, w)


def _count(u: ndarray, w: ndarray | None) -> Any:
    """Returns the number of columns, or the sum of their weights."""
    return float(u.shape[-1]) if w is None else total(w)


def _canberra(u: ndarray, v: ndarray, w: ndarray | None = None) -> ndarray:
    size = absolute(u) + absolute(v)
    return total(_map("where", size == 0.0, 0.0, absolute(u - v) / size), w)


def _jensenshannon(u: ndarray, v: ndarray) -> ndarray:
    p, q = (x / _core.reduce("sum", x, [x.ndim - 1], True) for x in (u, v))
    middle = (p + q) * 0.5

    def part(x: ndarray) -> ndarray:
        return _map("where", x > 0.0, x * _map("log", x / middle), _map("where", x == 0.0, 0.0, math.nan))

    return _map("sqrt", _map("maximum", (total(part(p)) + total(part(q))) * 0.5, 0.0))


#: Metrics for float64 rows (…, n) and, except for those of `UNWEIGHTED`, weights of the columns.
METRICS: dict[str, Callable[..., ndarray]] = {
    "euclidean": lambda u, v, w=None: _map("sqrt", _sqeuclidean(u, v, w)),
    "sqeuclidean": _sqeuclidean,
    "cityblock": lambda u, v, w=None: total(absolute(u - v), w),
    "chebyshev": lambda u, v: _core.reduce("max", absolute(u - v), [max(u.ndim, v.ndim) - 1]),
    "cosine": _cosine,
    "correlation": _correlation,
    "canberra": _canberra,
    "braycurtis": lambda u, v, w=None: total(absolute(u - v), w) / total(absolute(u + v), w),
    "hamming": lambda u, v, w=None: total(_core.cast(u != v, "float64"), w) / _count(u, w),
    "jensenshannon": _jensenshannon,
}
UNWEIGHTED = ("chebyshev", "jensenshannon")


def truths(x: ndarray) -> ndarray:
    """Returns 1 for nonzero elements and 0 for others."""
    return _core.cast(x != 0.0, "float64")


def _ratio(part: ndarray, whole: ndarray) -> ndarray:
    """Returns part / whole, with 0 / 0 = 0."""
    return _map("where", part == 0.0, 0.0, part / whole)


class _Counts(NamedTuple):
    """How often in two rows of truth values (weighted) both, only the first, only the second and neither is true."""

    tt: ndarray
    tf: ndarray
    ft: ndarray
    ff: ndarray


def _of_counts(formula: Callable[[_Counts], ndarray]) -> Callable[..., ndarray]:
    def metric(p: ndarray, q: ndarray, w: ndarray | None = None) -> ndarray:
        products = (p * q, p * (1.0 - q), (1.0 - p) * q, (1.0 - p) * (1.0 - q))
        return formula(_Counts(*(total(product, w) for product in products)))

    return metric


#: Metrics of truth values 0 and 1; they take weights.
TRUTHS: dict[str, Callable[..., ndarray]] = {
    "dice": _of_counts(lambda n: (n.tf + n.ft) / (2.0 * n.tt + n.tf + n.ft)),
    "jaccard": _of_counts(lambda n: _ratio(n.tf + n.ft, n.tt + n.tf + n.ft)),
    "rogerstanimoto": _of_counts(lambda n: 2.0 * (n.tf + n.ft) / (n.tt + n.ff + 2.0 * (n.tf + n.ft))),
    "russellrao": _of_counts(lambda n: (n.tf + n.ft + n.ff) / (n.tt + n.tf + n.ft + n.ff)),
    "sokalsneath": _of_counts(lambda n: 2.0 * (n.tf + n.ft) / (n.tt + 2.0 * (n.tf + n.ft))),
    "yule": _of_counts(lambda n: _ratio(2.0 * n.tf * n.ft, n.tt * n.ff + n.tf * n.ft)),
}

ALIASES = {
    "euclid": "euclidean", "eu": "euclidean", "e": "euclidean", "sqe": "sqeuclidean", "sqeuclid": "sqeuclidean",
    "cblock": "cityblock", "cb": "cityblock", "c": "cityblock", "cheby": "chebyshev",
    "chebychev": "chebyshev", "ch": "chebyshev", "cos": "cosine", "co": "correlation", "matching": "hamming",
    "hamm": "hamming", "ha": "hamming", "h": "hamming", "js": "jensenshannon", "m": "minkowski", "mi": "minkowski",
    "mahal": "mahalanobis", "mah": "mahalanobis", "jacc": "jaccard", "ja": "jaccard", "j": "jaccard",
    "pnorm": "minkowski", "se": "seuclidean", "s": "seuclidean",
}  # fmt: skip
