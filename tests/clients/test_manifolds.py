"""Embeddings keep neighborhoods as well as scikit-learn's and umap-learn's do."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")
from scipy.spatial.distance import pdist, squareform
from sklearn import manifold
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.manifold import _t_sne
from sklearn.utils.estimator_checks import check_estimator

import cuprous as cp
import cuprous.sklearn as on_device
from cuprous.sklearn._t_sne import _Gradient
from cuprous.sklearn._umap import memberships

IRIS = load_iris().data[::2]


@pytest.mark.parametrize(
    "estimator",
    [
        on_device.TSNE(method="exact", max_iter=250, perplexity=5, init="random"),
        on_device.UMAP(n_neighbors=5, n_epochs=10),
    ],
    ids=lambda value: type(value).__name__,
)
def test_common_checks(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(estimator, on_skip=None)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
def test_the_gradient_is_that_of_scikit_learn(dimensions: int) -> None:
    random = np.random.default_rng(dimensions)
    points, data = random.normal(size=(40, dimensions)), random.normal(size=(40, 6))
    wanted = _t_sne._joint_probabilities(squareform(pdist(data, "sqeuclidean")), 8, 0)
    degrees = max(dimensions - 1, 1)
    divergence, slope = _t_sne._kl_divergence(points.ravel(), wanted, degrees, 40, dimensions)
    mine = _Gradient(cp.asarray(squareform(wanted)), degrees)
    np.testing.assert_allclose(cp.asnumpy(mine.at(cp.asarray(points))).ravel(), slope, rtol=1e-9, atol=1e-14)
    assert mine.divergence(cp.asarray(points)) == pytest.approx(divergence, rel=1e-9)


def test_t_sne_keeps_neighborhoods() -> None:
    options: dict[str, Any] = {"method": "exact", "random_state": 0, "perplexity": 10, "max_iter": 600}
    mine, theirs = (one.TSNE(**options).fit(IRIS) for one in (on_device, manifold))
    assert "scikit-learn" not in on_device.report()
    ours, others = (manifold.trustworthiness(IRIS, one.embedding_) for one in (mine, theirs))
    assert ours > others - 0.01
    assert mine.kl_divergence_ < 1.2 * theirs.kl_divergence_
    assert mine.embedding_.dtype == theirs.embedding_.dtype and mine.n_iter_ <= 600


def test_t_sne_by_trees_is_left_to_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = np.ones((30, 2), "float32")
    monkeypatch.setattr(manifold.TSNE, "_tsne", lambda *_: theirs)
    assert on_device.TSNE(perplexity=5).fit_transform(IRIS[:30]) is theirs
    assert "method='exact' runs on the device" in on_device.report()


def test_memberships_sum_to_the_logarithm_of_the_number_of_neighbors() -> None:
    points = np.random.default_rng(0).normal(size=(60, 3))
    distances = np.sort(squareform(pdist(points)), axis=1)[:, :12]
    found = cp.asnumpy(memberships(cp.asarray(distances), 1.0))
    np.testing.assert_allclose(found[:, 1:].sum(axis=1), np.log2(12), rtol=1e-6)
    np.testing.assert_array_equal(found[:, :2], 1)  # the point itself, and the nearest other one
    assert (np.diff(found, axis=1) <= 0).all()
    found = cp.asnumpy(memberships(cp.asarray(distances), 2.5))
    np.testing.assert_array_equal(found[:, :3], 1)
    between = distances[:, 2] + 0.5 * (distances[:, 3] - distances[:, 2])
    assert ((found[:, 3] < 1) == (distances[:, 3] > between)).all()


def test_umap_keeps_neighborhoods_and_clusters() -> None:
    data, labels = make_blobs(120, 6, centers=4, cluster_std=0.6, random_state=1)
    model = on_device.UMAP(n_neighbors=10, n_epochs=120, random_state=3).fit(data)
    assert manifold.trustworthiness(data, model.embedding_) > 0.9
    centers = np.stack([model.embedding_[labels == k].mean(axis=0) for k in range(4)])
    near = ((model.embedding_[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert (near == labels).all()
    again = on_device.UMAP(n_neighbors=10, n_epochs=120, random_state=3).fit_transform(data)
    np.testing.assert_array_equal(again, model.embedding_)
    # The published values of a and b for min_dist=0.1.
    assert (round(model._a, 3), round(model._b, 3)) == (1.577, 0.895)
    graph = model.graph_.toarray()
    np.testing.assert_allclose(graph, graph.T)
    assert graph.max() <= 1 and not graph.diagonal().any()


def test_new_points_come_beside_their_neighbors() -> None:
    data, labels = make_blobs(90, 4, centers=3, cluster_std=0.5, random_state=2)
    model = on_device.UMAP(n_neighbors=8, n_epochs=60, random_state=0).fit(data[:80])
    np.testing.assert_array_equal(model.transform(data[:80]), model.embedding_)
    found = model.transform(data[80:])
    distances = ((found[:, None] - model.embedding_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(labels[:80][distances.argmin(axis=1)], labels[80:])
    np.testing.assert_allclose(model.transform(data[83:85]), found[3:5], rtol=1e-7)


@pytest.mark.parametrize("init", ["pca", "random", "array"])
@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_other_beginnings_and_mixtures(init: str, ratio: float) -> None:
    begin = np.random.default_rng(0).normal(size=(75, 3)) if init == "array" else init
    model = on_device.UMAP(7, 3, init=begin, set_op_mix_ratio=ratio, n_epochs=15, random_state=0).fit(IRIS)
    assert model.embedding_.shape == (75, 3) and np.isfinite(model.embedding_).all()
    assert list(model.get_feature_names_out()) == ["umap0", "umap1", "umap2"]


def test_errors() -> None:
    with pytest.raises(NotFittedError):
        on_device.UMAP().transform(IRIS)
    with pytest.raises(ValueError, match=r"min_dist \(2\) must be less than or equal to spread \(1.0\)"):
        on_device.UMAP(min_dist=2).fit(IRIS)
    with pytest.raises(ValueError, match=r"init has the shape \(2, 2\); it must be \(75, 2\)"):
        on_device.UMAP(init=np.zeros((2, 2))).fit(IRIS)
    with pytest.raises(ValueError, match="The 'n_neighbors' parameter of UMAP"):
        on_device.UMAP(1).fit(IRIS)


def test_the_graph_is_that_of_umap_learn() -> None:
    umap = pytest.importorskip("umap", reason="umap-learn is not installed")
    options: dict[str, Any] = {"n_neighbors": 10, "n_epochs": 5, "random_state": 0, "set_op_mix_ratio": 0.7}
    data = IRIS + np.random.default_rng(0).normal(size=IRIS.shape) * 1e-3  # without equal distances
    mine, theirs = (one.UMAP(**options).fit(data).graph_.toarray() for one in (on_device, umap))
    np.testing.assert_allclose(mine, theirs, atol=2e-4)
