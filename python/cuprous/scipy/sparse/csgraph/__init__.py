"""Graphs as sparse or dense matrices of the lengths of their edges, with `scipy.sparse.csgraph`'s names."""

from __future__ import annotations

from typing import Any

from cuprous.scipy._absent import absent
from cuprous.scipy.sparse.csgraph._by_scipy import (
    breadth_first_order,
    breadth_first_tree,
    construct_dist_matrix,
    depth_first_order,
    depth_first_tree,
    maximum_bipartite_matching,
    maximum_flow,
    min_weight_full_bipartite_matching,
    minimum_spanning_tree,
    reconstruct_path,
    reverse_cuthill_mckee,
    structural_rank,
    yen,
)
from cuprous.scipy.sparse.csgraph._components import connected_components
from cuprous.scipy.sparse.csgraph._matrices import (
    csgraph_from_dense,
    csgraph_to_dense,
    laplacian,
)
from cuprous.scipy.sparse.csgraph._paths import (
    NegativeCycleError,
    bellman_ford,
    dijkstra,
    floyd_warshall,
    johnson,
    shortest_path,
)

#: SciPy names that are not supported, each with the nearest alternative.
ALTERNATIVES = dict.fromkeys(
    ("csgraph_from_masked", "csgraph_masked_from_dense", "csgraph_to_masked"),
    "use csgraph_from_dense and its null_value",
)


def __getattr__(name: str) -> Any:
    return absent(__name__, name, ALTERNATIVES)


__all__ = [
    "NegativeCycleError", "bellman_ford", "breadth_first_order", "breadth_first_tree", "connected_components",
    "construct_dist_matrix", "csgraph_from_dense", "csgraph_to_dense", "depth_first_order", "depth_first_tree",
    "dijkstra", "floyd_warshall", "johnson", "laplacian", "maximum_bipartite_matching", "maximum_flow",
    "min_weight_full_bipartite_matching", "minimum_spanning_tree", "reconstruct_path", "reverse_cuthill_mckee",
    "shortest_path", "structural_rank", "yen",
]  # fmt: skip
