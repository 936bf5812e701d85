"""Nearest neighbors by products of matrices."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import neighbors
from sklearn.utils.validation import check_is_fitted, validate_data

import cuprous as cp
from cuprous.sklearn._report import on_device

#: Distances that are computed at a time.
_BLOCK = 1 << 24


def nearest(queries: Any, points: Any, k: int) -> tuple[Any, Any]:
    """The distances and rows of the `k` points that are nearest to each query, in order."""
    squares = (points * points).sum(axis=1)
    rows_at_once = max(1, _BLOCK // int(points.shape[0]))
    distances, rows = [], []
    for begin in range(0, int(queries.shape[0]), rows_at_once):
        block = queries[begin : begin + rows_at_once]
        # The square of a query is the same for all points, so it does not change their order.
        _, found = cp.topk(squares - 2 * (block @ points.T), k, largest=False)
        # Differences do not cancel as squares do.
        exact = cp.stack([cp.sqrt(((block - points[found[:, n]]) ** 2).sum(axis=1)) for n in range(k)], axis=1)
        order = cp.argsort(exact, axis=1, kind="stable")
        distances.append(cp.take_along_axis(exact, order, axis=1))
        rows.append(cp.take_along_axis(found, order, axis=1))
    return cp.concatenate(distances), cp.concatenate(rows)


def _without_itself(distances: Any, rows: Any) -> tuple[Any, Any]:
    """Neighbors of the points themselves: each row without the point, or without the last one if it is not there."""
    numbers = np.arange(rows.shape[0])[:, None]
    other = rows != numbers
    other[other.all(axis=1), -1] = False
    shape = (rows.shape[0], rows.shape[1] - 1)
    return distances[other].reshape(shape), rows[other].reshape(shape)


class _OnDevice:
    """Finds neighbors on the device where the metric is Euclidean and the search is by all distances."""

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """See scikit-learn's method of the same name."""
        estimator: Any = self
        check_is_fitted(estimator)
        k = estimator.n_neighbors if n_neighbors is None else n_neighbors
        reason = _reason(estimator, X, k)
        if not on_device(self, "kneighbors", reason):
            return super().kneighbors(X, n_neighbors, return_distance)  # type: ignore[misc]
        points = estimator._fit_X
        queries = points if X is None else validate_data(estimator, X, reset=False, order="C")
        if int(k) + (X is None) > points.shape[0]:  # scikit-learn's error
            return super().kneighbors(X, n_neighbors, return_distance)  # type: ignore[misc]
        found = nearest(
            cp.asarray(queries, "float64"), cp.asarray(points, "float64"), int(k) + (X is None)
        )  # fmt: skip
        distances, rows = (cp.asnumpy(one) for one in found)
        if X is None:
            distances, rows = _without_itself(distances, rows)
        return (distances, rows) if return_distance else rows


def _reason(estimator: Any, queries: Any, k: Any) -> str:
    """Why scikit-learn finds the neighbors, or ""."""
    if estimator.effective_metric_ != "euclidean":
        return f"the metric is {estimator.effective_metric_}"
    if issparse(queries) or issparse(estimator._fit_X):
        return "the data are sparse"
    if estimator._fit_method != "brute":
        return f"the search is by {estimator._fit_method}; algorithm='brute' runs on the device"
    return "" if isinstance(k, Integral) and int(k) > 0 else "the number of neighbors is not positive"


class NearestNeighbors(_OnDevice, neighbors.NearestNeighbors):
    """scikit-learn's `NearestNeighbors`, with `kneighbors` on the device for `algorithm="brute"`.

    See Also
    --------
    sklearn.KNeighborsClassifier, sklearn.KNeighborsRegressor

    Examples
    --------
    >>> from cuprous.sklearn import NearestNeighbors
    >>> found = NearestNeighbors(n_neighbors=1, algorithm="brute").fit([[0.0], [5.0]])
    >>> found.kneighbors([[4.0]], return_distance=False).tolist()
    [[1]]
    """


class KNeighborsClassifier(_OnDevice, neighbors.KNeighborsClassifier):
    """scikit-learn's `KNeighborsClassifier`, with neighbors on the device for `algorithm="brute"`.

    See Also
    --------
    sklearn.KNeighborsRegressor, sklearn.NearestNeighbors

    Examples
    --------
    >>> from cuprous.sklearn import KNeighborsClassifier
    >>> model = KNeighborsClassifier(n_neighbors=1, algorithm="brute", weights="distance")
    >>> model.fit([[0.0], [5.0]], ["a", "b"]).predict([[4.0]]).tolist()
    ['b']
    """


class KNeighborsRegressor(_OnDevice, neighbors.KNeighborsRegressor):
    """scikit-learn's `KNeighborsRegressor`, with neighbors on the device for `algorithm="brute"`.

    See Also
    --------
    sklearn.KNeighborsClassifier, sklearn.NearestNeighbors

    Examples
    --------
    >>> from cuprous.sklearn import KNeighborsRegressor
    >>> model = KNeighborsRegressor(n_neighbors=2, algorithm="brute").fit([[0.0], [2.0], [9.0]], [1.0, 3.0, 7.0])
    >>> model.predict([[1.0]]).tolist()
    [2.0]
    """
