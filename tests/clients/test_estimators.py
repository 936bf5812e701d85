"""Estimators agree with scikit-learn's own, and pass its common checks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import cuprous as cp

pytest.importorskip("sklearn")
from sklearn import cluster, decomposition, linear_model, neighbors
from sklearn.datasets import load_diabetes, load_iris, make_blobs
from sklearn.utils.estimator_checks import check_estimator

import cuprous.sklearn as on_device

#: Of scikit-learn's own KMeans, which does not pass them either: centers begin with other random numbers.
WEIGHTS_AS_REPEATS = {
    "check_sample_weight_equivalence_on_dense_data": "the first centers differ",
    "check_sample_weight_equivalence_on_sparse_data": "the first centers differ",
}


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (on_device.DBSCAN(), {}),
        (on_device.HDBSCAN(copy=True), {}),
        (on_device.TruncatedSVD(n_iter=7), {}),
        (on_device.LinearRegression(), {}),
        (on_device.ElasticNet(), {}),
        (on_device.Lasso(), {}),
        (on_device.KMeans(n_init=1), WEIGHTS_AS_REPEATS),
        (on_device.NearestNeighbors(algorithm="brute"), {}),
        (on_device.KNeighborsRegressor(algorithm="brute"), {}),
        (on_device.KNeighborsClassifier(algorithm="brute", weights="distance"), {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_common_checks(estimator: Any, expected: dict[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(estimator, expected_failed_checks=expected, on_skip=None)


@pytest.mark.parametrize("queries", [True, False])
def test_neighbors_are_those_of_scikit_learn(queries: bool) -> None:
    points = load_iris().data + np.random.default_rng(0).normal(size=(150, 4)) * 1e-3  # without equal distances
    given = points[::7] + 0.01 if queries else None
    mine, theirs = (
        one.NearestNeighbors(n_neighbors=5, algorithm="brute").fit(points).kneighbors(given)
        for one in (on_device, neighbors)
    )
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-9)
    np.testing.assert_array_equal(mine[1], theirs[1])


def test_blocks_of_queries_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuprous.sklearn._neighbors._BLOCK", 400)
    points = np.random.default_rng(1).normal(size=(120, 3))
    mine = on_device.NearestNeighbors(n_neighbors=4, algorithm="brute").fit(points).kneighbors(points)
    theirs = neighbors.NearestNeighbors(n_neighbors=4, algorithm="brute").fit(points).kneighbors(points)
    np.testing.assert_array_equal(mine[1], theirs[1])


def test_predictions_are_those_of_scikit_learn() -> None:
    data, target = load_iris(return_X_y=True)
    options: dict[str, Any] = {"n_neighbors": 5, "algorithm": "brute", "weights": "distance"}
    mine, theirs = (
        one.KNeighborsClassifier(**options).fit(data, target).predict(data) for one in (on_device, neighbors)
    )
    np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("targets", [1, 2])
def test_least_squares(weighted: bool, fit_intercept: bool, targets: int) -> None:
    data, target = load_diabetes(return_X_y=True)
    target = target if targets == 1 else np.stack([target, target**2], axis=1)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(data)) if weighted else None
    mine, theirs = (
        one.LinearRegression(fit_intercept=fit_intercept).fit(data, target, weights)
        for one in (on_device, linear_model)
    )
    np.testing.assert_allclose(mine.coef_, theirs.coef_, rtol=1e-7)
    np.testing.assert_allclose(mine.intercept_, theirs.intercept_, rtol=1e-9)
    np.testing.assert_allclose(mine.singular_, theirs.singular_, rtol=1e-7)
    assert mine.rank_ == theirs.rank_


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"positive": True}, {"selection": "random"}])
@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("name", ["ElasticNet", "Lasso"])
def test_penalized_least_squares(name: str, targets: int, options: dict[str, Any], dtype: str) -> None:
    data, target = (values.astype(dtype) for values in load_diabetes(return_X_y=True))
    data[:, 3] += 7  # not centered
    target = target if targets == 1 else np.stack([target, -target[::-1]], axis=1)
    mine, theirs = (
        getattr(one, name)(
            alpha=0.02, tol=1e-4 if dtype == "float32" else 1e-7, max_iter=20_000, random_state=0, **options
        ).fit(data, target)
        for one in (on_device, linear_model)
    )
    assert "scikit-learn" not in on_device.report()
    close = 2e-2 if dtype == "float32" else 1e-4
    scale = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=close * scale)
    np.testing.assert_allclose(mine.predict(data), theirs.predict(data), rtol=close)
    assert mine.coef_.dtype == theirs.coef_.dtype and np.shape(mine.intercept_) == np.shape(theirs.intercept_)
    assert mine.get_params() == theirs.get_params() and np.shape(mine.n_iter_) == np.shape(theirs.n_iter_)


def test_penalties_that_are_left_to_scikit_learn() -> None:
    data, target = load_diabetes(return_X_y=True)
    for call, reason in [
        (lambda: on_device.Lasso(0.1, precompute=True).fit(data, target), "the products of features are given"),
        (lambda: on_device.Lasso(0.1).fit(data, target, np.ones(len(data))), "samples have weights"),
        (lambda: on_device.Lasso(0.1).fit(data[:8], target[:8]), "there are more features than samples"),
    ]:
        model = call()
        assert reason in on_device.report() and np.isfinite(model.coef_).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_clusters_are_those_of_scikit_learn(dtype: str) -> None:
    data = make_blobs(400, 3, centers=5, random_state=3)[0].astype(dtype)
    options: dict[str, Any] = {"n_clusters": 5, "n_init": 2, "random_state": 0}
    mine, theirs = (one.KMeans(**options).fit(data) for one in (on_device, cluster))
    np.testing.assert_array_equal(mine.labels_, theirs.labels_)
    np.testing.assert_allclose(mine.cluster_centers_, theirs.cluster_centers_, rtol=1e-5)
    assert mine.inertia_ == pytest.approx(theirs.inertia_, rel=1e-5)
    np.testing.assert_array_equal(mine.predict(data), theirs.predict(data))


def test_a_center_without_points_takes_the_farthest() -> None:
    data = np.array([[0.0], [0.1], [0.2], [50.0]])
    init = np.array([[0.0], [1000.0]])
    mine, theirs = (one.KMeans(2, init=init, n_init=1).fit(data) for one in (on_device, cluster))
    np.testing.assert_array_equal(mine.labels_, theirs.labels_)
    np.testing.assert_allclose(mine.cluster_centers_, theirs.cluster_centers_)


@pytest.mark.parametrize("weighted", [False, True])
def test_dense_regions_are_those_of_scikit_learn(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuprous.sklearn._density._BLOCK", 10_000)
    data = make_blobs(300, 2, centers=6, cluster_std=0.8, random_state=5)[0]
    weights = np.random.default_rng(0).uniform(0.2, 2, len(data)) if weighted else None
    for eps in (0.2, 0.4, 0.7):
        mine, theirs = (
            one.DBSCAN(eps=eps, min_samples=4).fit(data, sample_weight=weights) for one in (on_device, cluster)
        )
        np.testing.assert_array_equal(mine.labels_, theirs.labels_)
        np.testing.assert_array_equal(mine.core_sample_indices_, theirs.core_sample_indices_)


@pytest.mark.parametrize(
    "options", [{}, {"min_samples": 3, "alpha": 0.8, "algorithm": "brute"}, {"cluster_selection_method": "leaf"}]
)
def test_dense_regions_of_any_density_are_those_of_scikit_learn(options: dict[str, Any]) -> None:
    data = make_blobs(400, 3, centers=6, cluster_std=[0.2, 0.4, 0.6, 0.8, 1.0, 1.2], random_state=5)[0]
    mine, theirs = (one.HDBSCAN(8, copy=True, **options).fit(data) for one in (on_device, cluster))
    assert "scikit-learn" not in on_device.report()
    np.testing.assert_array_equal(mine.labels_, theirs.labels_)
    np.testing.assert_allclose(mine.probabilities_, theirs.probabilities_, rtol=1e-6)
    assert mine.n_features_in_ == 3 and mine.get_params() == theirs.get_params()
    # Their numbers depend on the order of equal distances, which scikit-learn's searches find differently.
    brute = cluster.HDBSCAN(8, copy=True, **{**options, "algorithm": "brute"}).fit(data)
    np.testing.assert_array_equal(mine.dbscan_clustering(0.5), brute.dbscan_clustering(0.5))
    data[5, 1] = np.nan
    mine, theirs = (one.HDBSCAN(8, copy=True, **options).fit(data) for one in (on_device, cluster))
    assert "values are missing" in on_device.report()
    np.testing.assert_array_equal(mine.labels_, theirs.labels_)


def test_truncated_decompositions_are_those_of_scikit_learn() -> None:
    data = load_iris().data
    mine, theirs = (one.TruncatedSVD(2, n_iter=10, random_state=0) for one in (on_device, decomposition))
    np.testing.assert_allclose(mine.fit_transform(data), theirs.fit_transform(data), atol=1e-8)
    np.testing.assert_allclose(mine.components_, theirs.components_, atol=1e-9)
    np.testing.assert_allclose(mine.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9)


def test_arrays_of_the_device_are_taken() -> None:
    data = cp.asarray([[0.0], [1.0], [2.0]])
    model = on_device.LinearRegression().fit(data, cp.asarray([1.0, 3.0, 5.0]))
    assert model.coef_[0] == pytest.approx(2.0)


def test_the_report_says_what_is_left_to_scikit_learn() -> None:
    points = [[0.0], [1.0], [2.0]]
    on_device.NearestNeighbors(n_neighbors=1, algorithm="kd_tree").fit(points).kneighbors(points)
    assert on_device.report() == (
        "NearestNeighbors.kneighbors: scikit-learn (the search is by kd_tree; algorithm='brute' runs on the device)"
    )
    on_device.NearestNeighbors(n_neighbors=1, algorithm="brute").fit(points).kneighbors(points)
    assert "scikit-learn" not in on_device.report()


def test_errors_are_those_of_scikit_learn() -> None:
    model = on_device.NearestNeighbors(n_neighbors=4, algorithm="brute").fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match="n_neighbors <= n_samples_fit"):
        model.kneighbors([[0.0]])
    with pytest.raises(ValueError, match="should be >= n_clusters"):
        on_device.KMeans(4).fit([[0.0], [1.0]])
