"""Distances of two vectors, and between all pairs of rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array, ndarray
from cuprous._common.naming import named
from cuprous._common.operands import is_numpy_array, on_array_device, unsupported
from cuprous.scipy.spatial._metrics import ALIASES, METRICS, TRUTHS, UNWEIGHTED, absolute, total, truths
from cuprous.scipy.special import rel_entr

_map = _core.map


def _minkowski(p: float, w: ndarray | None) -> Callable[[ndarray, ndarray], ndarray]:
    if p <= 0:
        raise ValueError("p must be greater than 0")
    if p == math.inf:
        return METRICS["chebyshev"]

    def metric(u: ndarray, v: ndarray) -> ndarray:
        powers = _map("power", absolute(u - v), float(p))
        return _map("power", total(powers if w is None else powers * w), 1.0 / p)

    return metric


def _metric(name: str, metric: Any, rows: list[ndarray], arguments: dict[str, Any]
            ) -> Callable[[ndarray, ndarray], ndarray]:  # fmt: skip
    if not isinstance(metric, str):
        raise NotImplementedError(f"[{name}] metric= must be a name; for other metrics, compose array functions")
    known = ALIASES.get(metric.lower(), metric.lower())
    options = {key: value for key, value in arguments.items() if value is not None}
    if known == "minkowski":
        w = options.pop("w", None)
        found = _minkowski(options.pop("p", 2.0), None if w is None else _core.cast(array(w), "float64"))
    elif known == "seuclidean":
        variance = options.pop("V", None)
        if variance is None:
            variance = cp.var(cp.concatenate(rows), axis=0, ddof=1)
        v2 = _core.cast(array(variance), "float64")

        def found(u: ndarray, v: ndarray) -> ndarray:
            return _map("sqrt", total((u - v) * (u - v) / v2))

    elif known == "mahalanobis":
        inverse = options.pop("VI", None)
        if inverse is None:
            inverse = _inverse_covariance(rows)
        vi = _core.cast(array(inverse), "float64")

        def found(u: ndarray, v: ndarray) -> ndarray:
            d = u - v
            return _map("sqrt", total(cp.matmul(d, vi.T) * d))

    elif known in TRUTHS or (known in METRICS and known not in UNWEIGHTED):
        chosen = TRUTHS.get(known) or METRICS[known]
        w = options.pop("w", None)
        weights = None if w is None else _weights(w, rows[0].shape[-1])

        def found(u: ndarray, v: ndarray) -> ndarray:
            # Given two vectors SciPy treats numbers as degrees of truth, except for "jaccard"; given rows, as whether
            # they are 0.
            if known in TRUTHS and (u.ndim > 1 or known == "jaccard"):
                u, v = truths(u), truths(v)
            return chosen(u, v, weights)

    elif known in UNWEIGHTED:
        found = METRICS[known]
    else:
        names = ", ".join([*METRICS, *TRUTHS, "mahalanobis", "minkowski", "seuclidean"])
        raise NotImplementedError(f"[{name}] metric={metric!r} is not supported; use one of {names}")
    if options:
        raise NotImplementedError(f"[{name}] {next(iter(options))}= is not supported for metric={metric!r}")
    return found


def _weights(w: Any, columns: int) -> ndarray:
    weights = _core.cast(array(w), "float64")
    if weights.shape != (columns,):
        raise ValueError(f"Weights must have same size as input vector. {weights.size} vs. {columns}.")
    return weights


def _inverse_covariance(rows: list[ndarray]) -> ndarray:
    """Returns the inverse covariance matrix by Gauss-Jordan elimination of all columns at once. The matrix is small and
    positive definite.

    Raises
    ------
    ValueError
        If there are not more rows than columns, as the covariance is then singular.
    """
    x = cp.concatenate(rows)
    m, n = x.shape
    if m <= n:
        raise ValueError(f"The number of observations ({m}) is too small; the covariance matrix is singular. For "
                         f"observations with {n} dimensions, at least {n + 1} observations are required.")  # fmt: skip
    d = x - cp.mean(x, axis=0, keepdims=True)
    a = cp.matmul(d.T, d) / float(m - 1)
    index = cp.arange(n)
    for k in range(n):
        pivot, row, column = a[k, k], a[k : k + 1, :], a[:, k : k + 1]
        swept = a - column * row / pivot
        swept = _map("where", (index == k)[:, None], row / pivot, swept)
        swept = _map("where", (index == k)[None, :], -column / pivot, swept)
        a = _map("where", _map("logical_and", (index == k)[:, None], (index == k)[None, :]), 1.0 / pivot, swept)
    return a


def _rows(x: Any, name: str) -> ndarray:
    a = array(x)
    if a.ndim != 2:
        raise ValueError(f"{name} must be a 2-dimensional array.")
    if a.dtype.kind == "c":
        raise ValueError(f"Unsupported dtype {a.dtype_name}")
    return a if a.dtype_name == "float64" else _core.cast(a, "float64")


def _write_out(result: ndarray, out: Any) -> ndarray:
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
    """Returns the distances between each row of `XA` and each row of `XB`.

    Parameters
    ----------
    XA : array_like
        m rows.
    XB : array_like
        n rows of the same length.
    metric : str, default "euclidean"
        "euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra", "braycurtis",
        "hamming", "jensenshannon", "minkowski" (with `p`), "seuclidean" (with `V`), "mahalanobis" (with `VI`), or, for
        truth values, "dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule". All except "chebyshev",
        "jensenshannon", "mahalanobis" and "seuclidean" take weights `w` of the columns.
    out : ndarray, optional
        A float64 array of shape (m, n) that receives the result.
    **kwargs : any
        Parameters of the metric.

    Returns
    -------
    ndarray
        float64 of shape (m, n).

    Raises
    ------
    ValueError
        For arrays that are not 2-d or complex, rows of different lengths, and an unsuitable `out`.
    NotImplementedError
        For other metrics, functions, and arguments that the metric does not take.

    See Also
    --------
    scipy.spatial.distance.pdist, scipy.spatial.distance.squareform, scipy.spatial.distance.directed_hausdorff

    Examples
    --------
    >>> cp.scipy.spatial.distance.cdist([[0.0, 0.0], [1.0, 1.0]], [[3.0, 4.0]])
    array([[5.        ],
           [3.60555128]])
    """
    a, b = _rows(XA, "XA"), _rows(XB, "XB")
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    found = _metric("cdist", metric, [a, b], kwargs)
    if 0 in (*a.shape, b.shape[0]):
        return _write_out(_core.full((a.shape[0], b.shape[0]), 0.0, "float64"), out)
    m, n = a.shape
    return _write_out(found(a.reshape([m, 1, n]), b.reshape([1, b.shape[0], n])), out)


@on_array_device
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> ndarray:
    """Returns the distances between the rows of a matrix as a vector: rows 0 and 1, 0 and 2, …, 1 and 2, ….

    Parameters
    ----------
    X : array_like
        m rows.
    metric : str, default "euclidean"
        The metric, as for `cdist`.
    out : ndarray, optional
        A float64 array of shape (m (m - 1) / 2,) to write to.
    **kwargs : any
        Parameters of the metric.

    Returns
    -------
    ndarray
        Float64 of shape (m (m - 1) / 2,).

    Raises
    ------
    ValueError
        For arrays that are not 2-d or complex, and an unsuitable `out`.
    NotImplementedError
        For other metrics, functions, and arguments that the metric does not take.

    See Also
    --------
    squareform

    Examples
    --------
    >>> cp.scipy.spatial.distance.pdist([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    array([5.        , 1.        , 4.24264069])
    """
    a = _rows(X, "X")
    found = _metric("pdist", metric, [a], kwargs)
    m, n = a.shape
    if m < 2 or n == 0:
        return _write_out(_core.full((m * (m - 1) // 2,), 0.0, "float64"), out)
    square = found(a.reshape([m, 1, n]), a.reshape([1, m, n]))
    return _write_out(square[cp.triu_indices(m, 1)], out)


@on_array_device
def squareform(X: Any, force: str = "no", checks: bool = True) -> ndarray:
    """Converts a vector of distances, as returned by `pdist`, to the symmetric matrix, and back.

    Parameters
    ----------
    X : array_like
        A vector or matrix.
    force : str, default "no"
        "tovector" or "tomatrix": raises if `X` already has that form.
    checks : bool, default True
        Whether to check that a matrix is symmetric with a zero diagonal, which waits for the device.

    Returns
    -------
    ndarray
        A matrix, or a vector.

    Raises
    ------
    ValueError
        For arrays of neither form, and for failures of `checks` and `force`.

    See Also
    --------
    scipy.spatial.distance.directed_hausdorff, scipy.spatial.distance.cdist, scipy.spatial.distance.pdist,
    scipy.spatial.distance.is_valid_dm, scipy.spatial.distance.is_valid_y

    Examples
    --------
    >>> cp.scipy.spatial.distance.squareform([1.0, 2.0, 3.0])
    array([[0., 1., 2.],
           [1., 0., 3.],
           [2., 3., 0.]])
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


def _vectors(name: str, u: Any, v: Any) -> tuple[ndarray, ndarray]:
    found = []
    for x in (u, v):
        a = array(x)
        if a.ndim != 1:
            raise ValueError("Input vector should be 1-D.")
        if a.dtype.kind == "c":
            raise NotImplementedError(f"[{name}] complex numbers are not supported; use linalg.norm of the difference")
        found.append(a if a.dtype_name == "float64" else _core.cast(a, "float64"))
    if found[0].shape != found[1].shape:
        raise ValueError(f"operands could not be broadcast together with shapes {found[0].shape} {found[1].shape}")
    return found[0], found[1]


#: An example of each metric: two vectors, and the representation of their distance.
_EXAMPLES = {
    "canberra": ("[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]", "array(2.)"),
    "cityblock": ("[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]", "array(2.)"),
    "correlation": ("[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]", "array(0.5)"),
    "cosine": ("[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]", "array(0.2)"),
    "dice": ("[True, False, True], [True, True, False]", "array(0.5)"),
    "euclidean": ("[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]", "array(1.41421356)"),
    "hamming": ("[True, False, True], [True, True, False]", "array(0.66666667)"),
    "jaccard": ("[True, False, True], [True, True, False]", "array(0.66666667)"),
    "rogerstanimoto": ("[True, False, True], [True, True, False]", "array(0.8)"),
    "russellrao": ("[True, False, True], [True, True, False]", "array(0.66666667)"),
    "braycurtis": ("[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]", "array(0.33333333)"),
    "chebyshev": ("[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]", "array(1.)"),
    "sokalsneath": ("[True, False, True], [True, True, False]", "array(0.8)"),
    "sqeuclidean": ("[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]", "array(2.)"),
    "yule": ("[True, False, True], [True, True, False]", "array(2.)"),
}  # fmt: skip
_DOC = """Returns the {name} distance of two vectors, optionally weighted.

Parameters
----------
u : array_like
    The first vector.
v : array_like
    The second vector, of the same length.
w : array_like, optional
    The weights of the elements; by default all are one.

Returns
-------
ndarray
    A 0-d array, float64.

Raises
------
ValueError
    For vectors that are not 1-d or differ in length.
NotImplementedError
    For complex numbers, and for weights of a metric without them.

See Also
--------
scipy.spatial.distance.cdist, scipy.spatial.distance.pdist

Examples
--------
>>> cp.scipy.spatial.distance.{name}({example})
{result}
"""


def _single(name: str) -> Callable[..., ndarray]:
    def distance(u: Any, v: Any, w: Any = None) -> ndarray:
        a, b = _vectors(name, u, v)
        return _metric(name, name, [a.reshape([1, a.size])], {"w": w})(a, b)

    example, result = _EXAMPLES[name]
    return named(distance, name, _DOC.format(name=name, example=example, result=result))


canberra, cityblock, correlation, cosine, dice, euclidean, hamming, jaccard, rogerstanimoto, russellrao = map(
    _single,
    ("canberra", "cityblock", "correlation", "cosine", "dice", "euclidean", "hamming", "jaccard", "rogerstanimoto",
     "russellrao"),
)  # fmt: skip
braycurtis, chebyshev, sokalsneath, sqeuclidean, yule = map(
    _single, ("braycurtis", "chebyshev", "sokalsneath", "sqeuclidean", "yule")
)


def minkowski(u: Any, v: Any, p: float = 2, w: Any = None) -> ndarray:
    """Returns the p-norm of the difference of two vectors, optionally weighted.

    Parameters
    ----------
    u : array_like
        The first vector.
    v : array_like
        The second vector.
    p : float, default 2
        The exponent.
    w : array_like, optional
        The weights of the elements.

    Returns
    -------
    ndarray
        A 0-d array.

    Raises
    ------
    ValueError
        For vectors that are not 1-d or differ in length.

    See Also
    --------
    scipy.spatial.distance.cityblock, scipy.spatial.distance.chebyshev, scipy.spatial.distance.euclidean,
    scipy.spatial.distance.sqeuclidean, scipy.spatial.distance.seuclidean

    Examples
    --------
    >>> cp.scipy.spatial.distance.minkowski([0.0, 0.0], [1.0, 1.0], p=1)
    array(2.)
    """
    a, b = _vectors("minkowski", u, v)
    return _metric("minkowski", "minkowski", [a], {"p": p, "w": w})(a, b)


def seuclidean(u: Any, v: Any, V: Any) -> ndarray:
    """Returns the Euclidean distance of two vectors, scaled by the standard deviations; `V` holds the variances.

    Parameters
    ----------
    u : array_like
        The first vector.
    v : array_like
        The second vector.
    V : array_like
        The variances.

    Returns
    -------
    ndarray
        A 0-d array.

    Raises
    ------
    ValueError
        For vectors that are not 1-d or differ in length.

    See Also
    --------
    scipy.spatial.distance.minkowski, scipy.spatial.distance.cityblock, scipy.spatial.distance.chebyshev,
    scipy.spatial.distance.euclidean, scipy.spatial.distance.sqeuclidean

    Examples
    --------
    >>> cp.scipy.spatial.distance.seuclidean([0.0, 0.0], [2.0, 2.0], [4.0, 4.0])
    array(1.41421356)
    """
    a, b = _vectors("seuclidean", u, v)
    return _metric("seuclidean", "seuclidean", [a], {"V": V})(a, b)


def mahalanobis(u: Any, v: Any, VI: Any) -> ndarray:
    """Returns the distance of two vectors under the inverse covariance matrix `VI`.

    Parameters
    ----------
    u : array_like
        The first vector.
    v : array_like
        The second vector.
    VI : array_like
        The inverse covariance matrix.

    Returns
    -------
    ndarray
        A 0-d array.

    Raises
    ------
    ValueError
        For vectors that are not 1-d or differ in length.

    See Also
    --------
    scipy.spatial.distance.jensenshannon

    Examples
    --------
    >>> cp.scipy.spatial.distance.mahalanobis([1.0, 0.0], [0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]])
    array(1.41421356)
    """
    a, b = _vectors("mahalanobis", u, v)
    return _metric("mahalanobis", "mahalanobis", [a], {"VI": VI})(a, b)


def jensenshannon(p: Any, q: Any, base: float | None = None, *, axis: int = 0, keepdims: bool = False) -> ndarray:
    """Returns the square root of the Jensen-Shannon divergence of distributions along an axis, after normalizing them.

    Parameters
    ----------
    p, q : array_like
        Unnormalized probabilities, which broadcast.
    base : float, optional
        The base of the logarithm; e if None.
    axis : int, default 0
        The axis.
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ndarray
        An array without the axis.

    Raises
    ------
    AxisError
        If the axis does not exist.
    TypeError
        For complex numbers.

    See Also
    --------
    scipy.spatial.distance.mahalanobis

    Examples
    --------
    >>> cp.scipy.spatial.distance.jensenshannon([0.5, 0.5], [1.0, 0.0])
    array(0.4645014)
    """
    a, b = array(p), array(q)
    a, b = (x / cp.sum(x, axis=axis, keepdims=True) for x in (a, b))
    middle = (a + b) / 2.0
    divergence = cp.sum(rel_entr(a, middle), axis=axis, keepdims=keepdims)
    divergence = divergence + cp.sum(rel_entr(b, middle), axis=axis, keepdims=keepdims)
    if base is not None:
        divergence = divergence / math.log(base)
    return _map("sqrt", divergence / 2.0)


def directed_hausdorff(u: Any, v: Any, rng: Any = 0) -> tuple[ndarray, ndarray, ndarray]:
    """Returns the directed Hausdorff distance: the greatest distance of a point of `u` to its nearest in `v`, and both
    indices.

    Parameters
    ----------
    u : array_like
        m points, as rows.
    v : array_like
        n points of the same dimension.
    rng : int or Generator, default 0
        Ignored; in SciPy it selects among equally far points, here the first is returned.

    Returns
    -------
    tuple of ndarrays
        A tuple of the distance, a 0-d array, and the indices of the two points.

    Raises
    ------
    ValueError
        For arrays that are not 2-d or complex, points of different dimension, and empty arrays.

    See Also
    --------
    scipy.spatial.distance.cdist, scipy.spatial.distance.pdist, scipy.spatial.distance.squareform

    Examples
    --------
    >>> u, v = cp.asarray([[0.0, 0.0], [1.0, 0.0]]), cp.asarray([[0.0, 1.0]])
    >>> float(cp.scipy.spatial.distance.directed_hausdorff(u, v)[0])
    1.4142135623730951
    """
    a, b = _rows(u, "u"), _rows(v, "v")
    if a.shape[1] != b.shape[1]:
        raise ValueError("u and v need to have the same number of columns")
    if a.shape[0] == 0 or b.shape[0] == 0:
        raise ValueError("[directed_hausdorff] u and v must not be empty")
    distances = cdist(a, b)
    nearest = cp.argmin(distances, axis=1)
    least = cp.min(distances, axis=1)
    farthest = cp.argmax(least)
    return least[farthest], farthest, nearest[farthest]


def is_valid_dm(D: Any, tol: float = 0.0, throw: bool = False, name: str | None = "D", warning: bool = False) -> bool:
    """Returns true if an array is a symmetric matrix with a zero diagonal. Waits for the device.

    Parameters
    ----------
    D : array_like
        The array.
    tol : float, default 0.0
        The tolerance for asymmetry, and for the diagonal.
    throw : bool, default False
        Whether to raise if it is not.
    name : str or None, default "D"
        The name of the array in messages.
    warning : bool, default False
        Whether to warn if it is not.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        With the reason, if `throw` is set.

    See Also
    --------
    scipy.spatial.distance.is_valid_y, scipy.spatial.distance.num_obs_dm, scipy.spatial.distance.num_obs_y,
    scipy.spatial.distance.squareform

    Examples
    --------
    >>> cp.scipy.spatial.distance.is_valid_dm([[0.0, 2.0], [2.0, 0.0]])
    True
    """
    a = array(D)
    which = f"Distance matrix '{name}'" if name else "Distance matrix"
    if a.ndim != 2:
        return _invalid(f"{which} must have shape=2 (i.e. be two-dimensional).", throw, warning)
    if a.shape[0] != a.shape[1]:
        return _invalid(f"{which} must be symmetric.", throw, warning)
    within = f" within tolerance {tol:5.5f}" if tol else ""
    if tol != math.inf and a.size:
        other, diagonal = a.T, cp.diagonal(a)
        if not bool(cp.all(a == other if tol == 0 else a - other <= tol)):
            return _invalid(f"{which} must be symmetric{within}.", throw, warning)
        if not bool(cp.all(diagonal == 0 if tol == 0 else diagonal <= tol)):
            return _invalid(f"{which} diagonal must be {'close to ' * bool(tol)}zero{within}.", throw, warning)
    return True


def is_valid_y(y: Any, warning: bool = False, throw: bool = False, name: str | None = None) -> bool:
    """Returns true if an array is a vector of all pairwise distances of some points.

    Parameters
    ----------
    y : array_like
        The array.
    warning : bool, default False
        Whether to warn if it is not.
    throw : bool, default False
        Whether to raise if it is not.
    name : str, optional
        The name of the array in messages.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        With the reason, if `throw` is set.

    See Also
    --------
    scipy.spatial.distance.num_obs_dm, scipy.spatial.distance.num_obs_y, scipy.spatial.distance.squareform,
    scipy.spatial.distance.is_valid_dm

    Examples
    --------
    >>> cp.scipy.spatial.distance.is_valid_y([1.0, 2.0, 3.0])
    True
    """
    a = array(y)
    which = f"Condensed distance matrix {name!r} " if name else "Condensed distance matrix "
    if a.ndim != 1:
        return _invalid(f"{which}must have shape=1 (i.e. be one-dimensional).", throw, warning)
    d = _points(a.size)
    if d * (d - 1) != 2 * a.size:
        text = f"Length n of condensed distance matrix {which}must be a binomial coefficient: n = k (k - 1) / 2."
        return _invalid(text, throw, warning)
    return True


def _invalid(text: str, throw: bool, warning: bool) -> bool:
    if throw:
        raise ValueError(text)
    if warning:
        warnings.warn(text, stacklevel=3)
    return False


def _points(distances: int) -> int:
    """Returns the least number of points with at least this many pairwise distances."""
    root = math.isqrt(2 * distances)
    return root + (root * root < 2 * distances)


def num_obs_dm(d: Any) -> int:
    """Returns the number of points of a distance matrix.

    Parameters
    ----------
    d : array_like
        A distance matrix.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        For other arrays.

    See Also
    --------
    scipy.spatial.distance.num_obs_y, scipy.spatial.distance.squareform, scipy.spatial.distance.is_valid_dm,
    scipy.spatial.distance.is_valid_y

    Examples
    --------
    >>> cp.scipy.spatial.distance.num_obs_dm([[0.0, 2.0], [2.0, 0.0]])
    2
    """
    a = array(d)
    is_valid_dm(a, tol=math.inf, throw=True, name="d")
    return int(a.shape[0])


def num_obs_y(Y: Any) -> int:
    """Returns the number of points of a vector of pairwise distances.

    Parameters
    ----------
    Y : array_like
        A vector of pairwise distances.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        For other arrays, and empty ones.

    See Also
    --------
    scipy.spatial.distance.squareform, scipy.spatial.distance.is_valid_dm, scipy.spatial.distance.is_valid_y,
    scipy.spatial.distance.num_obs_dm

    Examples
    --------
    >>> cp.scipy.spatial.distance.num_obs_y([1.0, 2.0, 3.0])
    3
    """
    a = array(Y)
    is_valid_y(a, throw=True, name="Y")
    if a.size == 0:
        raise ValueError("The number of observations cannot be determined on an empty distance matrix.")
    return _points(a.size)


__all__ = [
    "braycurtis", "canberra", "cdist", "chebyshev", "cityblock", "correlation", "cosine", "dice", "directed_hausdorff",
    "euclidean", "hamming", "is_valid_dm", "is_valid_y", "jaccard", "jensenshannon", "mahalanobis", "minkowski",
    "num_obs_dm", "num_obs_y", "pdist", "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "sqeuclidean",
    "squareform", "yule",
]  # fmt: skip
