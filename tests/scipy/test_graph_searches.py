"""Searches, trees, matchings and flows of graphs against SciPy, which computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import sparse
from cuprous.scipy.sparse import csgraph

scipy_sparse = pytest.importorskip("scipy.sparse")
theirs = pytest.importorskip("scipy.sparse.csgraph")


def _graph(n: int, density: float, seed: int, kind: str = "csr_array") -> Any:
    found = scipy_sparse.random_array((n, n), density=density, rng=seed, format="csr")
    found.data = np.random.default_rng(seed).integers(1, 9, found.data.size).astype(float)
    return getattr(scipy_sparse, kind)(found)


GRAPHS = [_graph(*case) for case in (
    (1, 0.0, 0), (6, 0.0, 1), (12, 0.2, 2), (30, 0.1, 3), (12, 0.2, 4, "csr_matrix"))]  # fmt: skip


def _ours(x: Any) -> Any:
    if scipy_sparse.issparse(x):
        return (sparse.csr_array if isinstance(x, scipy_sparse.sparray) else sparse.csr_matrix)(x)
    return cp.asarray(x) if isinstance(x, np.ndarray) else x


def _same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for mine, other in zip(found, expected, strict=True):
            _same(mine, other)
    elif scipy_sparse.issparse(expected):
        assert isinstance(found, sparse.sparray) == isinstance(expected, scipy_sparse.sparray)
        np.testing.assert_array_equal(found.toarray().get(), expected.toarray())
    elif isinstance(expected, np.ndarray):
        assert isinstance(found, cp.ndarray) and found.dtype == expected.dtype
        np.testing.assert_array_equal(found.get(), expected)
    else:
        assert found == expected


def both(name: str, *args: Any, **options: Any) -> Any:
    """Compares the results of both functions, for sparse and for dense graphs, and returns SciPy's."""
    expected = getattr(theirs, name)(*args, **options)
    _same(getattr(csgraph, name)(*map(_ours, args), **options), expected)
    return expected


@pytest.mark.parametrize("graph", GRAPHS, ids=range(len(GRAPHS)))
def test_searches_and_trees(graph: Any) -> None:
    for directed in (True, False):
        for name in ("breadth_first_order", "depth_first_order"):
            _, before = both(name, graph, 0, directed)
            both(name, graph, 0, directed, return_predecessors=False)
            both(name, graph.toarray(), 0, directed)
            both("reconstruct_path", graph, before, directed)
        both("breadth_first_tree", graph, 0, directed)
        both("depth_first_tree", graph, 0, directed)
        _, before = theirs.shortest_path(graph, directed=directed, return_predecessors=True)
        both("construct_dist_matrix", graph.toarray(), before, directed)
        both("construct_dist_matrix", graph.toarray(), before, directed, -1.0)
    both("minimum_spanning_tree", graph)
    both("minimum_spanning_tree", graph.toarray(), overwrite=True)


@pytest.mark.parametrize("graph", GRAPHS, ids=range(len(GRAPHS)))
def test_orders_and_matchings(graph: Any) -> None:
    for perm_type in ("row", "column"):
        both("maximum_bipartite_matching", graph, perm_type)
    both("structural_rank", graph)
    both("reverse_cuthill_mckee", graph)
    symmetric = type(graph)(graph + graph.T)
    both("reverse_cuthill_mckee", symmetric, True)
    full = type(graph)(graph + 10.0 * scipy_sparse.eye_array(graph.shape[0]))
    for maximize in (False, True):
        both("min_weight_full_bipartite_matching", full, maximize)


def test_flows_and_several_paths() -> None:
    graph = GRAPHS[3]
    for method in ("dinic", "edmonds_karp"):
        expected = theirs.maximum_flow(graph.astype("int32"), 0, 7, method=method)
        found = csgraph.maximum_flow(_ours(graph), 0, 7, method=method)
        assert found.flow_value == expected.flow_value
        np.testing.assert_array_equal(found.flow.toarray().get(), expected.flow.toarray())
    with pytest.raises((ValueError, TypeError)):
        csgraph.maximum_flow(_ours(graph * 0.5), 0, 7)
    for options in ({}, {"directed": False}, {"unweighted": True}, {"return_predecessors": True}):
        both("yen", graph, 0, 7, 3, **options)


def test_arguments_by_name() -> None:
    graph = _ours(GRAPHS[2])
    assert csgraph.connected_components(csgraph=graph, return_labels=False) >= 1
    assert csgraph.breadth_first_order(csgraph=graph, i_start=0)[0][0] == 0
    assert csgraph.structural_rank(graph=graph) == theirs.structural_rank(GRAPHS[2])
    with pytest.raises(ValueError):
        csgraph.breadth_first_order(cp.zeros((2, 3)), 0)
    with pytest.raises(NotImplementedError, match="null_value"):
        csgraph.csgraph_from_masked(graph)
