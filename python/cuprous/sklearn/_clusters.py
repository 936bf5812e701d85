"""k-means by Lloyd's iteration."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn import cluster
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import _check_sample_weight, validate_data

import cuprous as cp
from cuprous.sklearn._report import on_device


class _Clusters(NamedTuple):
    labels: np.ndarray
    centers: np.ndarray
    inertia: float
    iterations: int


class KMeans(cluster.KMeans):
    """scikit-learn's `KMeans` with Lloyd's iteration on the device; it begins with scikit-learn's centers.

    See Also
    --------
    sklearn.DBSCAN, sklearn.HDBSCAN

    Examples
    --------
    >>> from cuprous.sklearn import KMeans
    >>> model = KMeans(n_clusters=2, n_init=1, random_state=0).fit([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(model.cluster_centers_[:, 0].tolist())
    [0.5, 10.5]
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """See scikit-learn's method of the same name."""
        reason = "the data are sparse" if issparse(X) else "verbose" if self.verbose else ""
        if not on_device(self, "fit", reason):
            return super().fit(X, y, sample_weight)
        self._validate_params()
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        self._check_params_vs_input(X)
        self._n_threads = _openmp_effective_n_threads()  # for `predict`
        random = check_random_state(self.random_state)
        weights = _check_sample_weight(sample_weight, X, dtype=X.dtype)
        init = self.init
        if not isinstance(init, str) and not callable(init):
            init = check_array(init, dtype=X.dtype, copy=True, order="C")
            self._validate_center_shape(X, init)
        mean = X.mean(axis=0)  # distances from the mean have smaller errors
        centered = X - mean
        if isinstance(init, np.ndarray):
            init = init - mean
        points, weighing, squares = cp.asarray(centered), cp.asarray(weights), row_norms(centered, squared=True)
        best: _Clusters | None = None
        for _ in range(self._n_init):
            centers = self._init_centroids(
                centered, x_squared_norms=squares, init=init, random_state=random, sample_weight=weights
            )
            found = _lloyd(points, weighing, cp.asarray(centers), self.max_iter, self._tol)
            if best is None or found.inertia < best.inertia:
                best = found
        assert best is not None
        distinct = len(np.unique(best.labels))
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.labels_, self.inertia_, self.n_iter_ = best.labels, best.inertia, best.iterations
        self.cluster_centers_ = best.centers + mean
        self._n_features_out = self.cluster_centers_.shape[0]
        return self


def _nearest_center(points: Any, centers: Any) -> Any:
    # The square of a point is the same for all centers.
    return cp.argmin((centers * centers).sum(axis=1) - 2 * (points @ centers.T), axis=1)


def _squared_distances(points: Any, centers: Any, labels: Any) -> Any:
    return ((points - centers[labels]) ** 2).sum(axis=1)


def _moved(points: Any, weights: Any, centers: Any, labels: Any) -> Any:
    """The means of the points of each center; a center without points takes the farthest one."""
    count = int(centers.shape[0])
    members = (labels[:, None] == cp.arange(count)).astype(points.dtype) * weights[:, None]
    sums, sizes = cp.asnumpy(members.T @ points), cp.asnumpy(members.sum(axis=0))
    empty = np.flatnonzero(sizes == 0)
    if empty.size:
        distances = cp.asnumpy(_squared_distances(points, centers, labels))
        farthest = np.argsort(-distances, kind="stable")[: empty.size]
        for center, row in zip(empty, farthest, strict=True):
            before, weight = int(labels[row]), float(weights[row])
            sums[before] -= cp.asnumpy(points[row]) * weight
            sums[center] = cp.asnumpy(points[row]) * weight
            sizes[before] -= weight
            sizes[center] = weight
    old = cp.asnumpy(centers)
    return cp.asarray(
        np.where(sizes[:, None] > 0, sums / np.where(sizes > 0, sizes, 1)[:, None], old).astype(old.dtype)
    )


def _lloyd(points: Any, weights: Any, centers: Any, most: int, tolerance: float) -> _Clusters:
    labels, strict, iterations = None, False, 0
    while iterations < most:
        iterations += 1
        found = _nearest_center(points, centers)
        moved = _moved(points, weights, centers, found)
        shift = float(((moved - centers) ** 2).sum())
        centers, before, labels = moved, labels, found
        if before is not None and bool(cp.all(before == labels)):
            strict = True
            break
        if shift <= tolerance:
            break
    if not strict:
        labels = _nearest_center(points, centers)
    inertia = float((_squared_distances(points, centers, labels) * weights).sum())
    assert labels is not None
    return _Clusters(cp.asnumpy(labels).astype(np.int32), cp.asnumpy(centers), inertia, iterations)
