"""`cuprous.scipy.spatial.distance` against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy.spatial import distance

scipy_distance = pytest.importorskip("scipy.spatial.distance")

RNG = np.random.default_rng(8)
A, B = RNG.gamma(2.0, size=(9, 5)), RNG.gamma(1.0, size=(7, 5))
METRICS: list[tuple[str, dict[str, Any]]] = [
    *((m, {}) for m in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra",
                        "braycurtis", "hamming", "jensenshannon", "minkowski", "seuclidean", "cityblock")),
    ("minkowski", {"p": 3.5}), ("minkowski", {"p": 1, "w": np.arange(5.0)}), ("minkowski", {"p": np.inf}),
    ("seuclidean", {"V": np.arange(1.0, 6.0)}),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(METRICS)))
def test_metrics(case: int) -> None:
    metric, arguments = METRICS[case]
    ours_arguments = {k: cp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
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
    for call, error, text in (
        (lambda: distance.cdist(a[0], a), ValueError, "2-dimensional"),
        (lambda: distance.cdist(a, a[:, :2]), ValueError, "columns"),
        (lambda: distance.cdist(a, a, "mahalanobis"), NotImplementedError, "mahalanobis"),
        (lambda: distance.cdist(a, a, lambda u, v: 0), NotImplementedError, "name"),
        (lambda: distance.cdist(a, a, "cosine", w=cp.ones(5)), NotImplementedError, "w="),
        (lambda: distance.cdist(a, a, "minkowski", p=-1), ValueError, "greater than 0"),
        (lambda: distance.cdist(a, a, out=cp.ones(3)), ValueError, "shape"),
        (lambda: distance.squareform(cp.ones(4)), ValueError, "Incompatible"),
        (lambda: distance.squareform(cp.ones((2, 3))), ValueError, "square"),
        (lambda: distance.squareform(cp.asarray([[0.0, 1], [2, 0]])), ValueError, "symmetric"),
        (lambda: distance.squareform(cp.ones((2, 2))), ValueError, "diagonal"),
        (lambda: distance.squareform(cp.ones(3), force="tovector"), ValueError, "tovector"),
    ):
        with pytest.raises(error, match=text):
            call()
