"""`cuprous.scipy.sparse.csgraph` against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import sparse
from cuprous.scipy.sparse import csgraph

scipy_sparse = pytest.importorskip("scipy.sparse")
theirs = pytest.importorskip("scipy.sparse.csgraph")


def _graph(n: int, density: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    found = scipy_sparse.random_array((n, n), density=density, rng=seed, format="csr")
    found.data = rng.integers(1, 9, found.data.size).astype(float)
    return scipy_sparse.csr_array(found)


GRAPHS = [_graph(n, density, seed) for seed, (n, density) in enumerate(
    [(1, 0.0), (6, 0.0), (30, 0.02), (30, 0.05), (40, 0.04), (25, 0.3), (60, 0.02), (50, 0.03)])]  # fmt: skip


def _ours(graph: Any, is_dense: bool) -> Any:
    return cp.asarray(graph.toarray()) if is_dense else sparse.csr_array(graph)


@pytest.mark.parametrize("graph", GRAPHS, ids=range(len(GRAPHS)))
@pytest.mark.parametrize(("directed", "connection"), [(True, "weak"), (True, "strong"), (False, "weak")])
def test_connected_components(graph: Any, directed: bool, connection: str) -> None:
    count, labels = theirs.connected_components(graph, directed, connection)
    for is_dense in (False, True):
        found, own = csgraph.connected_components(_ours(graph, is_dense), directed, connection)
        assert found == count and own.dtype == labels.dtype
        # The same partition; the numbers of strong components are ours.
        assert len(set(zip(own.tolist(), labels.tolist(), strict=True))) == count
        if connection == "weak":
            assert own.tolist() == labels.tolist()
    assert csgraph.connected_components(_ours(graph, False), directed, connection, return_labels=False) == count


def test_a_long_path_and_a_long_cycle() -> None:
    n = 300
    path = scipy_sparse.diags_array([np.ones(n - 1)], offsets=[1], shape=(n, n)).tocsr()
    assert csgraph.connected_components(sparse.csr_array(path), connection="strong", return_labels=False) == n
    assert csgraph.connected_components(sparse.csr_array(path), return_labels=False) == 1
    cycle = scipy_sparse.csr_array(path + scipy_sparse.coo_array(([1.0], ([n - 1], [0])), shape=(n, n)))
    assert csgraph.connected_components(sparse.csr_array(cycle), connection="strong", return_labels=False) == 1


@pytest.mark.parametrize("graph", GRAPHS, ids=range(len(GRAPHS)))
@pytest.mark.parametrize(
    "options", [{}, {"directed": False}, {"unweighted": True}, {"indices": [0, -1]}, {"indices": 0}]
)
def test_shortest_paths(graph: Any, options: dict[str, Any]) -> None:
    expected, _ = theirs.shortest_path(graph, return_predecessors=True, **options)
    for is_dense in (False, True):
        found, before = csgraph.shortest_path(_ours(graph, is_dense), return_predecessors=True, **options)
        np.testing.assert_allclose(found.get(), expected)
        _check_predecessors(graph, found.get(), before.get(), options)
    for name in ("dijkstra", "bellman_ford", "johnson"):
        np.testing.assert_allclose(getattr(csgraph, name)(_ours(graph, False), **options).get(), expected)


def _check_predecessors(graph: Any, distance: Any, before: Any, options: dict[str, Any]) -> None:
    """Asserts that each path's last edge exists and explains its length (paths of the same length may differ)."""
    dense = theirs.csgraph_to_dense(graph, null_value=np.inf)
    if options.get("unweighted"):
        dense[np.isfinite(dense)] = 1
    if options.get("directed") is False:
        dense = np.minimum(dense, dense.T)
    starts = np.atleast_1d(np.arange(len(dense))[options["indices"]] if "indices" in options else np.arange(len(dense)))
    distance, before = distance.reshape(len(starts), -1), before.reshape(len(starts), -1)
    for row, start in enumerate(starts):
        for end, node in enumerate(before[row]):
            if node == -9999:
                assert end == start or np.isinf(distance[row, end])
            else:
                assert distance[row, end] == distance[row, node] + dense[node, end]


def test_negative_lengths() -> None:
    graph = np.array([[0.0, 2.0, 5.0], [0.0, 0.0, -3.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(csgraph.shortest_path(graph).get(), theirs.shortest_path(graph, method="BF"))
    graph[2, 0] = 0.5
    with pytest.raises(csgraph.NegativeCycleError):
        csgraph.bellman_ford(graph)
    with pytest.raises(theirs.NegativeCycleError):
        theirs.bellman_ford(graph)


def test_limits() -> None:
    graph = GRAPHS[5]
    found = csgraph.dijkstra(sparse.csr_array(graph), limit=6.0)
    np.testing.assert_allclose(found.get(), theirs.dijkstra(graph, limit=6.0))
    np.testing.assert_allclose(csgraph.floyd_warshall(sparse.csr_array(graph)).get(), theirs.floyd_warshall(graph))
    with pytest.raises(NotImplementedError):
        csgraph.dijkstra(sparse.csr_array(graph), min_only=True)


@pytest.mark.parametrize("options", [
    {}, {"normed": True}, {"use_out_degree": True}, {"normed": True, "use_out_degree": True}, {"symmetrized": True},
    {"dtype": "float32"}, {"normed": True, "symmetrized": True},
])  # fmt: skip
@pytest.mark.parametrize("graph", GRAPHS[2:6], ids=range(4))
def test_laplacians(graph: Any, options: dict[str, Any]) -> None:
    expected, degrees = theirs.laplacian(graph.toarray(), return_diag=True, **options)
    for is_dense in (False, True):
        found, own = csgraph.laplacian(_ours(graph, is_dense), return_diag=True, **options)
        found = found if is_dense else found.toarray()
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.get(), expected, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(own.get(), degrees, rtol=1e-6)


def test_conversions() -> None:
    dense = np.array([[0.0, 2.0, np.inf], [np.nan, 0.0, 3.0], [1.0, -1.0, 0.0]])
    for options in ({}, {"null_value": -1.0}, {"nan_null": False}, {"infinity_null": False}):
        found, expected = csgraph.csgraph_from_dense(dense, **options), theirs.csgraph_from_dense(dense, **options)
        assert found.nnz == expected.nnz
        np.testing.assert_array_equal(found.toarray().get(), expected.toarray())
    for graph in GRAPHS[2:5]:
        found = csgraph.csgraph_to_dense(sparse.csr_array(graph), np.inf)
        np.testing.assert_array_equal(found.get(), theirs.csgraph_to_dense(graph, np.inf))


def test_bad_graphs() -> None:
    for library, module, error in ((np, theirs, ValueError), (cp, csgraph, ValueError)):
        for name in ("connected_components", "shortest_path", "laplacian"):
            with pytest.raises(error):
                getattr(module, name)(library.ones((2, 3)))
        with pytest.raises(ValueError, match="connection"):
            module.connected_components(library.ones((2, 2)), connection="x")
        with pytest.raises(ValueError, match="method"):
            module.shortest_path(library.ones((2, 2)), method="x")
        with pytest.raises(ValueError, match="form"):
            module.laplacian(library.ones((2, 2)), form="x")
    with pytest.raises(NotImplementedError):
        csgraph.csgraph_from_masked(cp.ones((2, 2)))
