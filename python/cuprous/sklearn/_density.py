"""Clusters of dense regions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import cluster
from sklearn.utils.validation import _check_sample_weight, validate_data

import cuprous as cp
from cuprous.sklearn._parameters import given
from cuprous.sklearn._report import on_device

#: Distances that are computed at a time.
_BLOCK = 1 << 24
#: Distances that HDBSCAN keeps, which are 2 GiB.
_MOST_PAIRS = 1 << 28


class DBSCAN(cluster.DBSCAN):
    """scikit-learn's `DBSCAN` on the device, for Euclidean distances.

    See Also
    --------
    sklearn.HDBSCAN, sklearn.KMeans

    Examples
    --------
    >>> from cuprous.sklearn import DBSCAN
    >>> DBSCAN(eps=1.5, min_samples=2).fit([[0.0], [1.0], [2.0], [9.0]]).labels_.tolist()
    [0, 0, 0, -1]
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DBSCAN:
        """See scikit-learn's method of the same name."""
        euclidean = self.metric == "euclidean" or (self.metric == "minkowski" and self.p in (None, 2))
        reason = "the data are sparse" if issparse(X) else "" if euclidean else f"the metric is {self.metric}"
        if not on_device(self, "fit", reason):
            return super().fit(X, y, sample_weight)
        self._validate_params()
        X = validate_data(self, X)
        weights = None if sample_weight is None else cp.asarray(_check_sample_weight(sample_weight, X), "float64")
        near = _Near(cp.asarray(X, "float64"), float(self.eps))
        core = near.counts(weights) >= self.min_samples
        labels = _labels(near, core)
        self.core_sample_indices_ = np.flatnonzero(cp.asnumpy(core))
        self.labels_ = cp.asnumpy(labels)
        self.components_ = X[self.core_sample_indices_].copy()
        return self


class HDBSCAN(cluster.HDBSCAN):
    """scikit-learn's `HDBSCAN`, with the distances of all pairs on the device, for Euclidean distances.

    See Also
    --------
    sklearn.DBSCAN, sklearn.KMeans

    Examples
    --------
    >>> from cuprous.sklearn import HDBSCAN
    >>> points = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> HDBSCAN(min_cluster_size=3, copy=True).fit(points).labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    def fit(self, X: Any, y: Any = None) -> HDBSCAN:
        """See scikit-learn's method of the same name."""
        if not on_device(self, "fit", self._reason(X)):
            return super().fit(X, y)
        self._validate_params()
        X = validate_data(self, X, dtype=np.float64)
        kept = {name: vars(self)[name] for name in ("n_features_in_", "feature_names_in_") if name in vars(self)}
        points = cp.asarray(X)
        distances = cp.asnumpy(cp.sqrt(_squares(points, points)))
        with given(self, metric="precomputed"):
            super().fit(distances)
        for name, value in {**kept, "_raw_data": X}.items():
            setattr(self, name, value)
        return self

    def _reason(self, X: Any) -> str:
        if self.metric != "euclidean":
            return f"the metric is {self.metric}"
        if self.algorithm not in ("auto", "brute"):
            return f"the search is by {self.algorithm}"
        if self.algorithm == "auto" and self.alpha != 1:
            return "alpha is not 1, for which scikit-learn's searches differ; algorithm='brute' runs on the device"
        if self.store_centers is not None:
            return "centers are stored"
        if issparse(X):
            return "the data are sparse"
        values = np.asarray(X)
        if values.ndim == 2 and len(values) > _MOST_PAIRS**0.5:
            return f"the distances of {len(values)} points take too much memory"
        missing = values.dtype.kind == "f" and not np.isfinite(values).all()
        return "values are missing or infinite" if missing else ""


def _squares(some: Any, others: Any) -> Any:
    """Returns the squared distances of points."""
    columns = range(int(some.shape[1]))
    return sum((some[:, k][:, None] - others[:, k][None, :]) ** 2 for k in columns)


class _Near:
    """Which points are within a distance of each other, in blocks of rows."""

    def __init__(self, points: Any, distance: float) -> None:
        self.points, self.distance, self.count = points, distance, int(points.shape[0])
        self._rows = max(1, _BLOCK // self.count)

    def _each(self, reduce: Any) -> Any:
        found = []
        for begin in range(0, self.count, self._rows):
            block = self.points[begin : begin + self._rows]
            found.append(reduce(_squares(block, self.points) <= self.distance**2))
        return cp.concatenate(found)

    def counts(self, weights: Any) -> Any:
        """Returns the number of points near each point, itself included, or the sum of their weights."""
        if weights is None:
            return self._each(lambda near: near.sum(axis=1))
        return self._each(lambda near: cp.where(near, weights[None, :], 0.0).sum(axis=1))

    def least(self, labels: Any, none: int) -> Any:
        """Returns the least label of the points near each point."""
        return self._each(lambda near: cp.where(near, labels[None, :], none).min(axis=1))


def _labels(near: _Near, core: Any) -> Any:
    """The clusters in the order of their first core points; -1 for noise."""
    none = near.count
    # A core point's label becomes the least number of a core point that it is connected with.
    labels = cp.where(core, cp.arange(none), none)
    while True:
        found = cp.where(core, near.least(labels, none), none)
        found = cp.where(core, cp.append(found, none)[found], none)  # the label of the label is nearer to the least
        if bool(cp.all(found == labels)):
            break
        labels = found
    is_first = labels == cp.arange(none)
    number = cp.append(cp.cumsum(is_first.astype("int64")) - 1, none)
    clusters = near.least(
        number[labels], none
    )  # of core points their own, of others that of the first cluster near them
    return cp.where(clusters == none, -1, clusters)
