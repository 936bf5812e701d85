"""Distance metrics of two rows: each reduces an elementwise function over the columns, so that differences and
reduction fuse into one kernel. The formulas are those of SciPy's documentation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core

ndarray = _core.ndarray
_map = _core.map


def total(terms: ndarray) -> ndarray:
    return _core.reduce("sum", terms, [terms.ndim - 1])


def absolute(a: ndarray) -> ndarray:
    return _map("absolute", a)


def _sqeuclidean(u: ndarray, v: ndarray) -> ndarray:
    return total((u - v) * (u - v))


def _cosine(u: ndarray, v: ndarray) -> ndarray:
    return 1.0 - total(u * v) / (_map("sqrt", total(u * u)) * _map("sqrt", total(v * v)))


def _correlation(u: ndarray, v: ndarray) -> ndarray:
    n = float(u.shape[-1])
    return _cosine(*(x - (_core.reduce("sum", x, [x.ndim - 1], True) / n) for x in (u, v)))


def _canberra(u: ndarray, v: ndarray) -> ndarray:
    size = absolute(u) + absolute(v)
    return total(_map("where", size == 0.0, 0.0, absolute(u - v) / size))


def _jensenshannon(u: ndarray, v: ndarray) -> ndarray:
    p, q = (x / _core.reduce("sum", x, [x.ndim - 1], True) for x in (u, v))
    middle = (p + q) * 0.5

    def part(x: ndarray) -> ndarray:
        return _map("where", x > 0.0, x * _map("log", x / middle), _map("where", x == 0.0, 0.0, math.nan))

    return _map("sqrt", _map("maximum", (total(part(p)) + total(part(q))) * 0.5, 0.0))


def truths(x: ndarray) -> ndarray:
    """Returns 1 for nonzero elements and 0 for others."""
    return _core.cast(x != 0.0, "float64")


def _counts(p: ndarray, q: ndarray, w: ndarray | None) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Counts, for two rows of truth values, how often both, only the first, only the second and neither is true
    (weighted)."""
    weight: Any = 1.0 if w is None else w
    both, first, second = p * q * weight, p * (1.0 - q) * weight, (1.0 - p) * q * weight
    return total(both), total(first), total(second), total((1.0 - p) * (1.0 - q) * weight)


def _ratio(part: ndarray, whole: ndarray) -> ndarray:
    """Returns part / whole, with 0 / 0 = 0."""
    return _map("where", part == 0.0, 0.0, part / whole)


def _jaccard(u: ndarray, v: ndarray, w: ndarray | None) -> ndarray:
    tt, tf, ft, _ = _counts(u, v, w)
    return _ratio(tf + ft, tt + tf + ft)


def _dice(u: ndarray, v: ndarray, w: ndarray | None) -> ndarray:
    tt, tf, ft, _ = _counts(u, v, w)
    return (tf + ft) / (2.0 * tt + tf + ft)


def _rogerstanimoto(u: ndarray, v: ndarray, w: ndarray | None) -> ndarray:
    tt, tf, ft, ff = _counts(u, v, w)
    return 2.0 * (tf + ft) / (tt + ff + 2.0 * (tf + ft))


def _russellrao(u: ndarray, v: ndarray, w: ndarray | None) -> ndarray:
    tt, tf, ft, ff = _counts(u, v, w)
    return (tf + ft + ff) / (tt + tf + ft + ff)


def _sokalsneath(u: ndarray, v: ndarray, w: ndarray | None) -> ndarray:
    tt, tf, ft, _ = _counts(u, v, w)
    return 2.0 * (tf + ft) / (tt + 2.0 * (tf + ft))


def _yule(u: ndarray, v: ndarray, w: ndarray | None) -> ndarray:
    tt, tf, ft, ff = _counts(u, v, w)
    half = tf * ft
    return _ratio(2.0 * half, tt * ff + half)


#: Metrics of truth values 0 and 1; they take weights.
TRUTHS: dict[str, Callable[[ndarray, ndarray, Any], ndarray]] = {
    "dice": _dice, "jaccard": _jaccard, "rogerstanimoto": _rogerstanimoto, "russellrao": _russellrao,
    "sokalsneath": _sokalsneath, "yule": _yule,
}  # fmt: skip


def _weighted_cosine(u: ndarray, v: ndarray, w: ndarray) -> ndarray:
    return 1.0 - total(u * v * w) / (_map("sqrt", total(u * u * w)) * _map("sqrt", total(v * v * w)))


def _weighted_correlation(u: ndarray, v: ndarray, w: ndarray) -> ndarray:
    u, v = (x - _core.reduce("sum", x * w, [x.ndim - 1], True) / total(w) for x in (u, v))
    return _weighted_cosine(u, v, w)


def _weighted_canberra(u: ndarray, v: ndarray, w: ndarray) -> ndarray:
    size = absolute(u) + absolute(v)
    return total(_map("where", size == 0.0, 0.0, w * absolute(u - v) / size))


#: The metrics of `METRICS` that take weights of the columns.
WEIGHTED: dict[str, Callable[[ndarray, ndarray, ndarray], ndarray]] = {
    "euclidean": lambda u, v, w: _map("sqrt", total(w * (u - v) * (u - v))),
    "sqeuclidean": lambda u, v, w: total(w * (u - v) * (u - v)),
    "cityblock": lambda u, v, w: total(w * absolute(u - v)),
    "cosine": _weighted_cosine,
    "correlation": _weighted_correlation,
    "canberra": _weighted_canberra,
    "braycurtis": lambda u, v, w: total(w * absolute(u - v)) / total(w * absolute(u + v)),
    "hamming": lambda u, v, w: total(w * _core.cast(u != v, "float64")) / total(w),
}

#: Metrics without arguments, for float64 rows (…, n).
METRICS: dict[str, Callable[[ndarray, ndarray], ndarray]] = {
    "euclidean": lambda u, v: _map("sqrt", _sqeuclidean(u, v)),
    "sqeuclidean": _sqeuclidean,
    "cityblock": lambda u, v: total(absolute(u - v)),
    "chebyshev": lambda u, v: _core.reduce("max", absolute(u - v), [max(u.ndim, v.ndim) - 1]),
    "cosine": _cosine,
    "correlation": _correlation,
    "canberra": _canberra,
    "braycurtis": lambda u, v: total(absolute(u - v)) / total(absolute(u + v)),
    "hamming": lambda u, v: total(_core.cast(u != v, "float64")) / float(u.shape[-1]),
    "jensenshannon": _jensenshannon,
}
ALIASES = {
    "euclid": "euclidean", "eu": "euclidean", "e": "euclidean", "sqe": "sqeuclidean", "sqeuclid": "sqeuclidean",
    "cblock": "cityblock", "cb": "cityblock", "c": "cityblock", "cheby": "chebyshev",
    "chebychev": "chebyshev", "ch": "chebyshev", "cos": "cosine", "co": "correlation", "matching": "hamming",
    "hamm": "hamming", "ha": "hamming", "h": "hamming", "js": "jensenshannon", "m": "minkowski", "mi": "minkowski",
    "mahal": "mahalanobis", "mah": "mahalanobis", "jacc": "jaccard", "ja": "jaccard", "j": "jaccard",
    "pnorm": "minkowski", "se": "seuclidean", "s": "seuclidean",
}  # fmt: skip
