"""`cuprous.scipy.spatial.distance` against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy.spatial import distance
from tests.support import assert_errors

from .compared import moved

scipy_distance = pytest.importorskip("scipy.spatial.distance")

RNG = np.random.default_rng(8)
A, B = RNG.gamma(2.0, size=(9, 5)), RNG.gamma(1.0, size=(7, 5))
METRICS: list[tuple[str, dict[str, Any]]] = [
    *((m, {}) for m in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra",
                        "braycurtis", "hamming", "jensenshannon", "minkowski", "seuclidean", "cityblock")),
    ("minkowski", {"p": 3.5}), ("minkowski", {"p": 1, "w": np.arange(5.0)}), ("minkowski", {"p": np.inf}),
    ("seuclidean", {"V": np.arange(1.0, 6.0)}),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "arguments"), METRICS)
def test_metrics(metric: str, arguments: dict[str, Any]) -> None:
    ours_arguments = {k: moved(v) for k, v in arguments.items()}
    holes = A.copy()
    holes[2, 1] = np.nan if metric != "chebyshev" and arguments.get("p") != np.inf else 0.0  # SciPy passes over NaN
    for a, b in ((A, B), (np.rint(A), np.rint(B) + 1), (holes, B), (A.astype("float32"), B.astype("float32"))):
        theirs = scipy_distance.cdist(a, b, metric, **arguments)
        ours = distance.cdist(cp.asarray(a), cp.asarray(b), metric, **ours_arguments)
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours.get(), theirs, rtol=1e-10, atol=1e-14)
    theirs = scipy_distance.pdist(A, metric, **arguments)
    ours = distance.pdist(cp.asarray(A), metric, **ours_arguments)
    np.testing.assert_allclose(ours.get(), theirs, rtol=1e-10, atol=1e-14)
    square = distance.squareform(ours)
    np.testing.assert_allclose(square.get(), scipy_distance.squareform(theirs), rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(distance.squareform(square).get(), ours.get())


def test_small_and_out() -> None:
    assert distance.cdist(cp.zeros((0, 3)), cp.zeros((2, 3))).shape == (0, 2)
    assert distance.pdist(cp.zeros((1, 3))).shape == (0,)
    np.testing.assert_array_equal(distance.squareform(cp.zeros(0)).get(), scipy_distance.squareform(np.zeros(0)))
    out = cp.zeros((9, 7))
    assert distance.cdist(cp.asarray(A), cp.asarray(B), out=out) is out
    np.testing.assert_allclose(out.get(), scipy_distance.cdist(A, B), rtol=1e-13)
    np.testing.assert_array_equal(distance.squareform(cp.arange(3)).get(), scipy_distance.squareform(np.arange(3)))


def test_errors() -> None:
    a = cp.asarray(A)
    assert_errors(
        (lambda: distance.cdist(a[0], a), ValueError, "2-dimensional"),
        (lambda: distance.cdist(a, a[:, :2]), ValueError, "columns"),
        (lambda: distance.cdist(a, a, "kulsinski"), NotImplementedError, "kulsinski"),
        (lambda: distance.cdist(a[:1], a[:1], "mahalanobis"), ValueError, "observations"),
        (lambda: distance.cdist(a, a, "dice", w=cp.ones(99)), ValueError, "Weights"),
        (lambda: distance.euclidean(a, a), ValueError, "1-D"),
        (lambda: distance.euclidean(a[0], a[0, :2]), ValueError, "broadcast"),
        (lambda: distance.cdist(a, a, lambda u, v: 0), NotImplementedError, "name"),
        (lambda: distance.cdist(a, a, "chebyshev", w=cp.ones(5)), NotImplementedError, "w="),
        (lambda: distance.cdist(a, a, "minkowski", p=-1), ValueError, "greater than 0"),
        (lambda: distance.cdist(a, a, out=cp.ones(3)), ValueError, "shape"),
        (lambda: distance.squareform(cp.ones(4)), ValueError, "Incompatible"),
        (lambda: distance.squareform(cp.ones((2, 3))), ValueError, "square"),
        (lambda: distance.squareform(cp.asarray([[0.0, 1], [2, 0]])), ValueError, "symmetric"),
        (lambda: distance.squareform(cp.ones((2, 2))), ValueError, "diagonal"),
        (lambda: distance.squareform(cp.ones(3), force="tovector"), ValueError, "tovector"),
    )


WEIGHTED = ["euclidean", "sqeuclidean", "cityblock", "cosine", "correlation", "canberra", "braycurtis", "hamming"]
TRUTHS = ["dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"]


@pytest.mark.parametrize("metric", WEIGHTED)
def test_weights(metric: str) -> None:
    rng = np.random.default_rng(5)
    x, y, w = rng.normal(size=(7, 4)), rng.normal(size=(5, 4)), rng.random(4) + 0.1
    ours = distance.cdist(cp.asarray(x), cp.asarray(y), metric, w=cp.asarray(w)).get()
    np.testing.assert_allclose(ours, scipy_distance.cdist(x, y, metric, w=w), rtol=1e-10)
    for weights in ((), (w,)):
        vectors = [cp.asarray(v) for v in (x[0], y[0], *weights)]
        expected = getattr(scipy_distance, metric)(x[0], y[0], *weights)
        np.testing.assert_allclose(float(getattr(distance, metric)(*vectors)), expected, rtol=1e-10)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("metric", TRUTHS)
def test_truth_values(metric: str) -> None:
    rng = np.random.default_rng(6)
    x, y, w = rng.random((6, 9)) < 0.5, rng.random((5, 9)) < 0.5, rng.random(9) + 0.1
    x[0] = y[0] = False
    for options in ({}, {"w": w}):
        given = {k: cp.asarray(v) for k, v in options.items()}
        ours = distance.cdist(cp.asarray(x), cp.asarray(y), metric, **given).get()
        np.testing.assert_allclose(ours, scipy_distance.cdist(x, y, metric, **options), rtol=1e-10)
    mine = float(getattr(distance, metric)(cp.asarray(x[1]), cp.asarray(y[1])))
    np.testing.assert_allclose(mine, getattr(scipy_distance, metric)(x[1], y[1]), rtol=1e-12)


def test_seuclidean_and_mahalanobis() -> None:
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(9, 4)), rng.normal(size=(5, 4))
    a, b = cp.asarray(x), cp.asarray(y)
    np.testing.assert_allclose(distance.cdist(a, b, "mahalanobis").get(), scipy_distance.cdist(x, y, "mahalanobis"))
    np.testing.assert_allclose(distance.pdist(a, "mahalanobis").get(), scipy_distance.pdist(x, "mahalanobis"))
    vi, v = np.linalg.inv(np.cov(x.T)), x.var(0)
    mine = float(distance.mahalanobis(a[0], b[0], cp.asarray(vi)))
    np.testing.assert_allclose(mine, scipy_distance.mahalanobis(x[0], y[0], vi))
    np.testing.assert_allclose(float(distance.seuclidean(a[0], b[0], cp.asarray(v))),
                               scipy_distance.seuclidean(x[0], y[0], v))  # fmt: skip
    np.testing.assert_allclose(float(distance.minkowski(a[0], b[0], 3)), scipy_distance.minkowski(x[0], y[0], 3))


def test_divergences_and_the_farthest_point() -> None:
    weights = np.abs(A) + 0.25
    x = cp.asarray(weights)
    for options in ({}, {"base": 2.0}, {"axis": 1}, {"axis": 1, "keepdims": True}):
        ours = distance.jensenshannon(x, x[::-1], **options)
        np.testing.assert_allclose(
            ours.get(), scipy_distance.jensenshannon(weights, weights[::-1], **options), rtol=1e-9
        )
    found = distance.directed_hausdorff(x, x[:3] + 0.1)
    theirs = scipy_distance.directed_hausdorff(weights, weights[:3] + 0.1)
    np.testing.assert_allclose([float(v) for v in found], theirs, rtol=1e-12)
    with pytest.raises(ValueError, match="must not be empty"):
        distance.directed_hausdorff(x[:0], x)


@pytest.mark.parametrize("kind", ["good", "not square", "not symmetric", "diagonal", "vector", "nearly"])
def test_matrices_of_distances(kind: str) -> None:
    good = scipy_distance.squareform(np.arange(1.0, 7))
    matrix = {
        "good": good, "not square": good[:3], "not symmetric": np.triu(good), "diagonal": good + np.eye(4),
        "vector": good[0], "nearly": good + 1e-9 * np.arange(16.0).reshape(4, 4),
    }[kind]  # fmt: skip
    for tol in (0.0, 1e-6):
        valid = scipy_distance.is_valid_dm(matrix, tol)
        assert distance.is_valid_dm(cp.asarray(matrix), tol) is valid
        if not valid:
            with pytest.raises(ValueError, match="istance matrix"):
                distance.is_valid_dm(cp.asarray(matrix), tol, throw=True)
            with pytest.warns(UserWarning, match="istance matrix"):
                assert distance.is_valid_dm(cp.asarray(matrix), tol, warning=True) is False
    assert distance.num_obs_dm(cp.asarray(good)) == 4


def test_vectors_of_distances() -> None:
    for n in range(30):
        assert distance.is_valid_y(cp.ones(n)) is scipy_distance.is_valid_y(np.ones(n))
    assert [distance.num_obs_y(cp.ones(n)) for n in (1, 3, 6, 10)] == [2, 3, 4, 5]
    for bad in (cp.ones(0), cp.ones(4), cp.ones((2, 2))):
        with pytest.raises(ValueError):
            distance.num_obs_y(bad)


def test_complex_numbers_raise() -> None:
    a = cp.asarray(A) * 1j
    for name in ("euclidean", "cityblock", "cosine", "minkowski"):
        with pytest.raises(NotImplementedError, match=f"{name}.*complex"):
            getattr(distance, name)(a[0], a[1])
    for name, arguments in (("cdist", (a, a)), ("pdist", (a,)), ("directed_hausdorff", (a, a))):
        with pytest.raises(ValueError, match="complex"):
            getattr(distance, name)(*arguments)


@pytest.mark.parametrize("metric", TRUTHS)
def test_boolean_distances_of_numbers(metric: str) -> None:
    """Of two vectors numbers count as they are, of rows as truth values."""
    u, v = np.abs(A[0]) / 9, np.abs(A[1]) / 9
    expected = getattr(scipy_distance, metric)(u, v)
    np.testing.assert_allclose(float(getattr(distance, metric)(cp.asarray(u), cp.asarray(v))), expected, rtol=1e-10)
