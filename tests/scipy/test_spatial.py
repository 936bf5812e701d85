"""Nearest points, distances of trees and triangulations against SciPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import spatial
from tests.support import assert_errors

from .compared import close

theirs = pytest.importorskip("scipy.spatial")

RNG = np.random.default_rng(8)
POINTS = RNG.random((40, 3))
OTHERS = RNG.random((25, 3))
BOXES: tuple[Any, ...] = (None, 1.0, (1.0, 0.0, 2.0))
ORDERS = (1, 2, 3.5, math.inf)


def _trees(points: np.ndarray = POINTS, **keywords: Any) -> tuple[spatial.KDTree, Any]:
    return spatial.KDTree(cp.asarray(points), **keywords), theirs.KDTree(points, **keywords)


def _assert_same(ours: Any, other: Any) -> None:
    """Compares arrays of distances and indices with SciPy's."""
    for mine, wanted in zip(ours, other, strict=True):
        wanted = np.asarray(wanted)
        assert mine.shape == wanted.shape and mine.dtype == wanted.dtype
        np.testing.assert_allclose(mine.get(), wanted, 1e-12, 1e-14)


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("p", ORDERS)
def test_nearest_points(p: float, box: Any) -> None:
    ours, other = _trees(boxsize=box)
    for sites in (OTHERS * 3 - 1, OTHERS[:24].reshape(2, 3, 4, 3), OTHERS[0], OTHERS[:0]):
        for keywords in ({}, {"k": 5}, {"k": [1]}, {"k": [3, 1]}, {"k": 43}, {"k": 4, "distance_upper_bound": 0.3}):
            _assert_same(
                ours.query(cp.asarray(sites), p=p, **keywords),  # type: ignore[arg-type]
                other.query(sites, p=p, **keywords),
            )


def test_parts_give_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuprous.scipy._parts._PART", 500)
    ours, other = _trees()
    _assert_same(ours.query(cp.asarray(OTHERS), 3), other.query(OTHERS, 3))
    close(ours.query_pairs(0.4), np.asarray(sorted(other.query_pairs(0.4))))
    second, wanted = _trees(OTHERS)
    close(ours.count_neighbors(second, 0.5), other.count_neighbors(wanted, 0.5))
    found = ours.sparse_distance_matrix(second, 0.5).toarray()
    close(found, other.sparse_distance_matrix(wanted, 0.5).toarray())


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("p", ORDERS)
def test_points_within_a_distance(p: float, box: Any) -> None:
    ours, other = _trees(boxsize=box)
    second, wanted = _trees(OTHERS, boxsize=box)
    radii = np.linspace(0, 0.6, 25)
    for r in (0.45, radii):
        found = ours.query_ball_point(cp.asarray(OTHERS), cp.asarray(r), p=p)
        assert [a.tolist() for a in found] == [sorted(a) for a in other.query_ball_point(OTHERS, r, p=p)]
        lengths = ours.query_ball_point(cp.asarray(OTHERS), r, p=p, return_length=True)
        _assert_same([lengths], [other.query_ball_point(OTHERS, r, p=p, return_length=True)])
    assert ours.query_ball_point(OTHERS[0], 0.5, p=p).tolist() == sorted(other.query_ball_point(OTHERS[0], 0.5, p=p))
    found = second.query_ball_tree(ours, 0.4, p=p)
    assert [a.tolist() for a in found] == [sorted(a) for a in wanted.query_ball_tree(other, 0.4, p=p)]
    pairs = ours.query_pairs(0.4, p=p)
    assert [tuple(pair) for pair in pairs.tolist()] == sorted(other.query_pairs(0.4, p=p))
    assert ours.query_pairs(0.4, p=p, output_type="set") == other.query_pairs(0.4, p=p)
    matrix = other.sparse_distance_matrix(wanted, 0.5, p=p)
    close(ours.sparse_distance_matrix(second, 0.5, p=p).toarray(), matrix.toarray())
    close(ours.sparse_distance_matrix(second, 0.5, p=p, output_type="ndarray"), matrix.toarray())
    kept = ours.sparse_distance_matrix(second, 0.5, p=p, output_type="dict")
    assert kept == pytest.approx(other.sparse_distance_matrix(wanted, 0.5, p=p, output_type="dict"))


def test_counts_of_pairs() -> None:
    (ours, other), (second, wanted) = _trees(), _trees(OTHERS)
    w1, w2 = RNG.random(40), RNG.random(25)
    for r in (0.5, np.asarray([0.1, 0.3, 0.3, 2.0]), np.asarray([0.6, 0.2])):
        for weights in (None, (w1, w2), (None, w2), (w1, None)):
            mine = None if weights is None else tuple(None if w is None else cp.asarray(w) for w in weights)
            _assert_same(
                [ours.count_neighbors(second, r, weights=mine)], [other.count_neighbors(wanted, r, weights=weights)]
            )
    bins = np.asarray([0.0, 0.2, 0.5, 0.9])
    _assert_same(
        [ours.count_neighbors(second, bins, cumulative=False)], [other.count_neighbors(wanted, bins, cumulative=False)]
    )
    _assert_same([ours.count_neighbors(ours, 0.5, weights=w1)], [other.count_neighbors(other, 0.5, weights=w1)])


def test_attributes_and_copies() -> None:
    points = cp.asarray(POINTS)
    copied, shared = spatial.KDTree(points, copy_data=True), spatial.KDTree(points)
    other = theirs.KDTree(POINTS)
    assert (shared.n, shared.m, shared.leafsize) == (other.n, other.m, other.leafsize)
    close(shared.mins, other.mins)
    close(shared.maxes, other.maxes)
    points[0] = 9.0
    assert float(shared.data[0, 0]) == 9.0 and float(copied.data[0, 0]) == POINTS[0, 0]
    assert spatial.cKDTree is spatial.KDTree
    nothing = spatial.KDTree(cp.zeros((0, 3)))
    _assert_same(nothing.query(cp.asarray(OTHERS[:2]), 2), theirs.KDTree(np.zeros((0, 3))).query(OTHERS[:2], 2))


def test_matrices_of_distances() -> None:
    for p in ORDERS:
        close(spatial.distance_matrix(cp.asarray(POINTS), OTHERS, p), theirs.distance_matrix(POINTS, OTHERS, p))
    with pytest.raises(ValueError, match="3-dimensional vectors but y contains 2"):
        spatial.distance_matrix(POINTS, OTHERS[:, :2])


def test_bad_input() -> None:
    ours, other = _trees()
    bad = POINTS.copy()
    bad[3, 1] = math.nan
    for tree, module, xp in ((ours, spatial, cp), (other, theirs, np)):
        assert_errors(
            (lambda m=module, xp=xp: m.KDTree(xp.asarray(bad)), ValueError, "finite"),
            (lambda t=tree, xp=xp: t.query(xp.asarray(bad)), ValueError, "finite"),
            (lambda m=module, xp=xp: m.KDTree(xp.ones(3)), ValueError, "shape .n, m."),
            (lambda m=module, xp=xp: m.KDTree(xp.ones((3, 2), dtype=complex)), TypeError, "complex"),
            (lambda m=module, xp=xp: m.KDTree(xp.asarray(POINTS), boxsize=0.5), ValueError, "greater than"),
            (lambda m=module, xp=xp: m.KDTree(xp.asarray(POINTS - 0.5), boxsize=1.0), ValueError, "Negative"),
            (lambda t=tree, xp=xp: t.query(xp.ones((2, 2))), ValueError, "vectors of length 3"),
            (lambda t=tree, xp=xp: t.query(xp.ones(3), k=None), ValueError, "k must be an integer"),
            (lambda t=tree, xp=xp: t.query(xp.ones(3), k=0), ValueError),
            (lambda t=tree, xp=xp: t.query(xp.ones(3), p=0.5), ValueError, "Only p-norms"),
            (lambda t=tree: t.sparse_distance_matrix(t, 1.0, output_type="list"), ValueError, "Invalid output"),
            (lambda t=tree: t.count_neighbors(t, [2.0, 1.0], cumulative=False), ValueError, "non-decreasing"),
            (lambda m=module, xp=xp: m.KDTree(xp.asarray(POINTS), leafsize=0), ValueError, "leafsize"),
        )  # fmt: skip
    second = spatial.KDTree(OTHERS[:, :2])
    with pytest.raises(ValueError, match="different dimensionality"):
        ours.query_ball_tree(second, 1.0)
    with pytest.raises(ValueError, match="Specify weights for both"):
        ours.count_neighbors(spatial.KDTree(POINTS), 1.0, weights=np.ones(40))


@pytest.mark.parametrize("ndim", [2, 3])
def test_triangulations(ndim: int) -> None:
    points, sites = POINTS[:, :ndim], RNG.random((5, 4, ndim)) * 1.4 - 0.2
    ours, other = spatial.Delaunay(cp.asarray(points)), theirs.Delaunay(points)
    for name in ("points", "simplices", "neighbors", "convex_hull"):
        _assert_same([getattr(ours, name)], [getattr(other, name)])
    _assert_same(ours.vertex_neighbor_vertices, other.vertex_neighbor_vertices)
    _assert_same([ours.find_simplex(cp.asarray(sites))], [other.find_simplex(sites)])
    _assert_same([ours.find_simplex(cp.asarray(sites), True, 0.1)], [other.find_simplex(sites, True, 0.1)])
    with pytest.raises(NotImplementedError, match="incremental"):
        spatial.Delaunay(points, incremental=True)
    with pytest.raises(ValueError, match="at least 2-D"):
        spatial.Delaunay(points[:, :1])
