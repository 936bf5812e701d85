"""Distances between all pairs of rows. A metric is a sum (or maximum) over columns of a function of two elements, so
that differences and fold are one kernel without temporaries; the formulas are those of SciPy's documentation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._args import array, is_numpy_array, unsupported

ndarray = _core.ndarray
_map = _core.map


def _sum(terms: ndarray) -> ndarray:
    return _core.reduce("sum", terms, [terms.ndim - 1])


def _absolute(a: ndarray) -> ndarray:
    return _map("absolute", a)


def _sqeuclidean(u: ndarray, v: ndarray) -> ndarray:
    return _sum((u - v) * (u - v))


def _cosine(u: ndarray, v: ndarray) -> ndarray:
    return 1.0 - _sum(u * v) / (_map("sqrt", _sum(u * u)) * _map("sqrt", _sum(v * v)))


def _correlation(u: ndarray, v: ndarray) -> ndarray:
    n = float(u.shape[-1])
    return _cosine(*(x - (_core.reduce("sum", x, [x.ndim - 1], True) / n) for x in (u, v)))


def _canberra(u: ndarray, v: ndarray) -> ndarray:
    total = _absolute(u) + _absolute(v)
    return _sum(_map("where", total == 0.0, 0.0, _absolute(u - v) / total))


def _jensenshannon(u: ndarray, v: ndarray) -> ndarray:
    p, q = (x / _core.reduce("sum", x, [x.ndim - 1], True) for x in (u, v))
    middle = (p + q) * 0.5

    def part(x: ndarray) -> ndarray:
        return _map("where", x > 0.0, x * _map("log", x / middle), _map("where", x == 0.0, 0.0, math.nan))

    return _map("sqrt", _map("maximum", (_sum(part(p)) + _sum(part(q))) * 0.5, 0.0))


#: Metrics without arguments, of float64 rows (…, n).
_METRICS: dict[str, Callable[[ndarray, ndarray], ndarray]] = {
    "euclidean": lambda u, v: _map("sqrt", _sqeuclidean(u, v)),
    "sqeuclidean": _sqeuclidean,
    "cityblock": lambda u, v: _sum(_absolute(u - v)),
    "chebyshev": lambda u, v: _core.reduce("max", _absolute(u - v), [max(u.ndim, v.ndim) - 1]),
    "cosine": _cosine,
    "correlation": _correlation,
    "canberra": _canberra,
    "braycurtis": lambda u, v: _sum(_absolute(u - v)) / _sum(_absolute(u + v)),
    "hamming": lambda u, v: _sum(_core.cast(u != v, "float64")) / float(u.shape[-1]),
    "jensenshannon": _jensenshannon,
}
_ALIASES = {
    "euclid": "euclidean", "eu": "euclidean", "e": "euclidean", "sqe": "sqeuclidean", "sqeuclid": "sqeuclidean",
    "cblock": "cityblock", "cb": "cityblock", "c": "cityblock", "cheby": "chebyshev",
    "chebychev": "chebyshev", "ch": "chebyshev", "cos": "cosine", "co": "correlation", "matching": "hamming",
    "hamm": "hamming", "ha": "hamming", "h": "hamming", "js": "jensenshannon", "m": "minkowski", "mi": "minkowski",
    "pnorm": "minkowski", "se": "seuclidean", "s": "seuclidean",
}  # fmt: skip


def _minkowski(p: float, w: ndarray | None) -> Callable[[ndarray, ndarray], ndarray]:
    if p <= 0:
        raise ValueError("p must be greater than 0")
    if p == math.inf:
        return _METRICS["chebyshev"]

    def metric(u: ndarray, v: ndarray) -> ndarray:
        powers = _map("power", _absolute(u - v), float(p))
        return _map("power", _sum(powers if w is None else powers * w), 1.0 / p)

    return metric


def _metric(name: str, metric: Any, rows: list[ndarray], arguments: dict[str, Any]
            ) -> Callable[[ndarray, ndarray], ndarray]:  # fmt: skip
    if not isinstance(metric, str):
        raise NotImplementedError(f"[{name}] metric= must be a name; compose functions of whole arrays otherwise")
    known = _ALIASES.get(metric.lower(), metric.lower())
    given = {key: value for key, value in arguments.items() if value is not None}
    if known == "minkowski":
        w = given.pop("w", None)
        found = _minkowski(given.pop("p", 2.0), None if w is None else _core.cast(array(w), "float64"))
    elif known == "seuclidean":
        variance = given.pop("V", None)
        if variance is None:
            variance = cp.var(cp.concatenate(rows), axis=0, ddof=1)
        v2 = _core.cast(array(variance), "float64")

        def found(u: ndarray, v: ndarray) -> ndarray:
            return _map("sqrt", _sum((u - v) * (u - v) / v2))

    elif known in _METRICS:
        found = _METRICS[known]
    else:
        raise NotImplementedError(f"[{name}] metric={metric!r} is not supported; there are "
                                  f"{', '.join([*_METRICS, 'minkowski', 'seuclidean'])}")  # fmt: skip
    if given:
        raise NotImplementedError(f"[{name}] {next(iter(given))}= is not supported for metric={metric!r}")
    return found


def _rows(x: Any, name: str) -> ndarray:
    a = array(x)
    if a.ndim != 2:
        raise ValueError(f"{name} must be a 2-dimensional array.")
    return a if a.dtype_name == "float64" else _core.cast(a, "float64")


def _deliver(result: ndarray, out: Any) -> ndarray:
    if is_numpy_array(out):
        raise unsupported(out)
    if out is None:
        return result
    if out.shape != result.shape:
        raise ValueError("Output array has incorrect shape.")
    if out.dtype_name != "float64":
        raise ValueError("Output array must be double type.")
    _core.update(out, result)
    return out


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> ndarray:
    """Distances of each row of `XA` from each row of `XB`.

    Args:
        XA: m rows.
        XB: n rows of the same length.
        metric: "euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra",
            "braycurtis", "hamming", "jensenshannon", "minkowski" (with `p` and `w`) or "seuclidean" (with `V`).
        out: float64 array of shape (m, n) that receives the result.

    Returns:
        float64 of shape (m, n). Complex numbers lose their imaginary parts.

    Raises:
        ValueError: for arrays that are not 2-d, rows of different lengths, and a wrong `out`.
        NotImplementedError: for other metrics, functions, and arguments that a metric does not take.
    """
    a, b = _rows(XA, "XA"), _rows(XB, "XB")
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    found = _metric("cdist", metric, [a, b], kwargs)
    if 0 in (*a.shape, b.shape[0]):
        return _deliver(_core.full((a.shape[0], b.shape[0]), 0.0, "float64"), out)
    m, n = a.shape
    return _deliver(found(a.reshape([m, 1, n]), b.reshape([1, b.shape[0], n])), out)


def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> ndarray:
    """Distances between the rows of `X`: for rows 0 and 1, 0 and 2, …, 1 and 2, …, as one vector.

    Arguments as for `cdist`, of whose result this is the part above the diagonal.
    """
    a = _rows(X, "X")
    found = _metric("pdist", metric, [a], kwargs)
    m, n = a.shape
    if m < 2 or n == 0:
        return _deliver(_core.full((m * (m - 1) // 2,), 0.0, "float64"), out)
    square = found(a.reshape([m, 1, n]), a.reshape([1, m, n]))
    return _deliver(square[cp.triu_indices(m, 1)], out)


def squareform(X: Any, force: str = "no", checks: bool = True) -> ndarray:
    """From a vector of distances as `pdist` gives to the symmetric matrix, and back.

    Args:
        X: vector or matrix.
        force: "tovector" or "tomatrix": raises if `X` is one already.
        checks: whether to test that a matrix is symmetric with a diagonal of zeros, which waits for the device.

    Raises:
        ValueError: for shapes that are none of the two, and what `checks` and `force` find.
    """
    a = array(X)
    if force.lower() == "tomatrix" and a.ndim != 1:
        raise ValueError("Forcing 'tomatrix' but input X is not a distance vector.")
    if force.lower() == "tovector" and a.ndim != 2:
        raise ValueError("Forcing 'tovector' but input X is not a distance matrix.")
    if a.ndim == 1:
        if a.size == 0:
            return _core.full((1, 1), 0, a.dtype_name)
        d = math.isqrt(2 * a.size) + 1
        if d * (d - 1) != 2 * a.size:
            raise ValueError("Incompatible vector size. It must be a binomial coefficient n choose 2 for some integer "
                             "n >= 2.")  # fmt: skip
        matrix = _core.full((d, d), 0, a.dtype_name)
        matrix[cp.triu_indices(d, 1)] = a
        return matrix + matrix.T if a.dtype_name != "bool" else matrix | matrix.T
    if a.ndim != 2:
        raise ValueError(f"The first argument must be one or two dimensional array. A {a.ndim}-dimensional array is "
                         "not permitted")  # fmt: skip
    if a.shape[0] != a.shape[1]:
        raise ValueError("The matrix argument must be square.")
    if checks and a.size:
        if not bool(cp.allclose(a, a.T, rtol=0, atol=1e-8)):
            raise ValueError("Distance matrix 'X' must be symmetric.")
        if not bool(cp.all(cp.diagonal(a) == 0)):
            raise ValueError("Distance matrix 'X' diagonal must be zero.")
    return a[cp.triu_indices(a.shape[0], 1)]


__all__ = ["cdist", "pdist", "squareform"]
