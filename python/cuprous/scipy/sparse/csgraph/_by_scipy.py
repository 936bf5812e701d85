"""Searches, trees, matchings and flows, on the host by SciPy's own: their steps depend on each other."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.arguments import ndarray
from cuprous._common.naming import documented
from cuprous._common.operands import is_numpy_array
from cuprous.scipy.sparse._base import CLASSES, Sparse, on_data_device

_documented = documented(
    {
        "csgraph : sparse matrix or array_like": "The graph, copied to the host.",
        "graph : sparse matrix or array_like": "The graph, copied to the host.",
        "i_start : int": "The node to begin with.",
        "directed : bool": "Whether edges have a direction.",
        "return_predecessors : bool": "Whether the node before each is returned.",
        "predecessors : array_like": "The node before each, copied to the host; -9999 where there is none.",
        "source : int": "The first node.",
        "sink : int": "The last node.",
    },
    Raises="ValueError\n    For a graph that is not square, and other arguments that SciPy refuses.\n"
    "ImportError\n    If SciPy is not installed.",
)


def _to_host(x: Any) -> Any:
    if isinstance(x, Sparse):
        return x.get()
    return _core.to_numpy(x) if isinstance(x, ndarray) else x


def _to_device(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_to_device, x))
    if hasattr(x, "tocsr"):
        return CLASSES["csr", not hasattr(x, "getrow")](x.tocsr())
    return _core.from_numpy(x) if is_numpy_array(x) else x


def _called(name: str, *args: Any, **options: Any) -> Any:
    try:
        from scipy.sparse import csgraph as theirs
    except ImportError:
        raise ImportError(f"[{name}] is computed by SciPy: pip install scipy") from None
    return getattr(theirs, name)(*map(_to_host, args), **options)


@on_data_device
@_documented
def breadth_first_order(csgraph: Any, i_start: int, directed: bool = True, return_predecessors: bool = True) -> Any:
    """Returns the nodes that are reached from a node, those with fewer edges in between first; by SciPy on the host.

    Returns
    -------
    tuple of ndarrays or ndarray
        The nodes, and the node before each node of the graph; without `return_predecessors` the nodes alone.

    See Also
    --------
    scipy.sparse.csgraph.depth_first_order, scipy.sparse.csgraph.breadth_first_tree

    Examples
    --------
    >>> graph = cp.scipy.sparse.csr_array([[0, 1, 2], [0, 0, 0], [0, 0, 0]])
    >>> cp.scipy.sparse.csgraph.breadth_first_order(graph, 0)
    (array([0, 1, 2], dtype=int32), array([-9999,     0,     0], dtype=int32))
    """
    return _to_device(_called("breadth_first_order", csgraph, i_start, directed, return_predecessors))


@on_data_device
@_documented
def depth_first_order(csgraph: Any, i_start: int, directed: bool = True, return_predecessors: bool = True) -> Any:
    """Returns the nodes that are reached from a node, each followed by those behind it; by SciPy on the host.

    Returns
    -------
    tuple of ndarrays or ndarray
        The nodes, and the node before each node of the graph; without `return_predecessors` the nodes alone.

    See Also
    --------
    scipy.sparse.csgraph.breadth_first_order, scipy.sparse.csgraph.depth_first_tree

    Examples
    --------
    >>> graph = cp.scipy.sparse.csr_array([[0, 1, 2], [0, 0, 3], [0, 0, 0]])
    >>> cp.scipy.sparse.csgraph.depth_first_order(graph, 0, return_predecessors=False)
    array([0, 1, 2], dtype=int32)
    """
    return _to_device(_called("depth_first_order", csgraph, i_start, directed, return_predecessors))


@on_data_device
@_documented
def breadth_first_tree(csgraph: Any, i_start: int, directed: bool = True) -> Any:
    """Returns the edges by which a breadth-first search reaches nodes; by SciPy on the host.

    Returns
    -------
    sparse matrix
        The tree, with the graph's lengths, in the format CSR.

    See Also
    --------
    scipy.sparse.csgraph.breadth_first_order, scipy.sparse.csgraph.depth_first_tree

    Examples
    --------
    >>> graph = cp.scipy.sparse.csr_array([[0, 1, 2], [0, 0, 3], [0, 0, 0]])
    >>> cp.scipy.sparse.csgraph.breadth_first_tree(graph, 0).toarray()
    array([[0., 1., 2.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """
    return _to_device(_called("breadth_first_tree", csgraph, i_start, directed))


@on_data_device
@_documented
def depth_first_tree(csgraph: Any, i_start: int, directed: bool = True) -> Any:
    """Returns the edges by which a depth-first search reaches nodes; by SciPy on the host.

    Returns
    -------
    sparse matrix
        The tree, with the graph's lengths, in the format CSR.

    See Also
    --------
    scipy.sparse.csgraph.depth_first_order, scipy.sparse.csgraph.breadth_first_tree

    Examples
    --------
    >>> graph = cp.scipy.sparse.csr_array([[0, 1, 2], [0, 0, 3], [0, 0, 0]])
    >>> cp.scipy.sparse.csgraph.depth_first_tree(graph, 0).toarray()
    array([[0., 1., 0.],
           [0., 0., 3.],
           [0., 0., 0.]])
    """
    return _to_device(_called("depth_first_tree", csgraph, i_start, directed))


@on_data_device
@_documented
def minimum_spanning_tree(csgraph: Any, overwrite: bool = False) -> Any:
    """Returns edges of the least total length that connect all nodes that the graph connects; by SciPy on the host.

    Parameters
    ----------
    overwrite : bool, default False
        Has no effect.

    Returns
    -------
    sparse matrix
        The edges, in the format CSR.

    See Also
    --------
    scipy.sparse.csgraph.connected_components, scipy.sparse.csgraph.breadth_first_tree

    Examples
    --------
    >>> graph = cp.scipy.sparse.csr_array([[0, 1, 5], [0, 0, 2], [0, 0, 0]])
    >>> cp.scipy.sparse.csgraph.minimum_spanning_tree(graph).toarray()
    array([[0., 1., 0.],
           [0., 0., 2.],
           [0., 0., 0.]])
    """
    return _to_device(_called("minimum_spanning_tree", csgraph))


@on_data_device
@_documented
def reverse_cuthill_mckee(graph: Any, symmetric_mode: bool = False) -> ndarray:
    """Returns an order of rows and columns that brings nonzero elements near the diagonal; by SciPy on the host.

    Parameters
    ----------
    symmetric_mode : bool, default False
        Whether the matrix is known to be symmetric.

    Returns
    -------
    ndarray
        The rows in their new order.

    See Also
    --------
    scipy.sparse.csgraph.structural_rank

    Examples
    --------
    >>> matrix = cp.scipy.sparse.csr_array([[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    >>> order = cp.scipy.sparse.csgraph.reverse_cuthill_mckee(matrix, True)
    >>> sorted(order.tolist())
    [0, 1, 2]
    """
    graph = graph if isinstance(graph, Sparse) else CLASSES["csr", True](graph)
    found: ndarray = _to_device(_called("reverse_cuthill_mckee", graph, symmetric_mode))
    return found


@on_data_device
@_documented
def maximum_bipartite_matching(graph: Any, perm_type: str = "row") -> ndarray:
    """Returns a largest set of pairs of a row and a column, each in one pair, whose elements are stored; by SciPy on
    the host.

    Parameters
    ----------
    perm_type : {"row", "column"}, default "row"
        Whether the rows of columns are returned, or the columns of rows.

    Returns
    -------
    ndarray
        The partner of each, -1 where there is none.

    See Also
    --------
    scipy.sparse.csgraph.min_weight_full_bipartite_matching, scipy.sparse.csgraph.structural_rank

    Examples
    --------
    >>> graph = cp.scipy.sparse.csr_array([[1, 1], [1, 0]])
    >>> cp.scipy.sparse.csgraph.maximum_bipartite_matching(graph, "column")
    array([1, 0], dtype=int32)
    """
    found: ndarray = _to_device(_called("maximum_bipartite_matching", graph, perm_type))
    return found


@on_data_device
@_documented
def min_weight_full_bipartite_matching(biadjacency: Any, maximize: bool = False) -> tuple[ndarray, ndarray]:
    """Returns pairs of a row and a column, as many as the shorter side has, of the least sum; by SciPy on the host.

    Parameters
    ----------
    biadjacency : sparse matrix
        The weights, copied to the host.
    maximize : bool, default False
        Whether the sum is the greatest instead.

    Returns
    -------
    tuple of ndarrays
        The rows and the columns.

    See Also
    --------
    scipy.sparse.csgraph.maximum_bipartite_matching

    Examples
    --------
    >>> weights = cp.scipy.sparse.csr_array([[1.0, 5.0], [1.0, 9.0]])
    >>> rows, columns = cp.scipy.sparse.csgraph.min_weight_full_bipartite_matching(weights)
    >>> columns.tolist()
    [1, 0]
    """
    rows, columns = _to_device(_called("min_weight_full_bipartite_matching", biadjacency, maximize))
    return rows, columns


@on_data_device
@_documented
def maximum_flow(csgraph: Any, source: int, sink: int, *, method: str = "dinic") -> Any:
    """Returns the greatest flow from a node to another one along edges of given capacities; by SciPy on the host.

    Parameters
    ----------
    csgraph : sparse matrix
        The capacities, int32 in the format CSR.
    method : {"dinic", "edmonds_karp"}, default "dinic"
        The algorithm.

    Returns
    -------
    object
        The flow as `flow_value`, and that of each edge as the sparse matrix `flow`.

    See Also
    --------
    scipy.sparse.csgraph.maximum_bipartite_matching

    Examples
    --------
    >>> capacities = cp.scipy.sparse.csr_array(cp.asarray([[0, 5, 4], [0, 0, 3], [0, 0, 0]], dtype="float32"))
    >>> int(cp.scipy.sparse.csgraph.maximum_flow(capacities, 0, 2).flow_value)
    7
    """
    host = _to_host(csgraph)
    # Capacities are floats here, because sparse matrices have no integers.
    is_whole = getattr(host, "dtype", None) is not None and host.dtype.kind == "f" and (host.data % 1 == 0).all()
    result = _called("maximum_flow", host.astype("int32") if is_whole else host, source, sink, method=method)
    flow = result.flow.astype(csgraph.dtype) if isinstance(csgraph, Sparse) else result.flow
    result.flow = _to_device(flow)
    return result


@on_data_device
@_documented
def structural_rank(graph: Any) -> int:
    """Returns the greatest rank that a matrix with these positions of stored values can have; by SciPy on the host.

    Returns
    -------
    int

    See Also
    --------
    scipy.sparse.csgraph.maximum_bipartite_matching

    Examples
    --------
    >>> cp.scipy.sparse.csgraph.structural_rank(cp.scipy.sparse.csr_array([[1, 0], [1, 0]]))
    1
    """
    return int(_called("structural_rank", graph))


@on_data_device
@_documented
def reconstruct_path(csgraph: Any, predecessors: Any, directed: bool = True) -> Any:
    """Returns the edges that lead from nodes to those before them; by SciPy on the host.

    Returns
    -------
    sparse matrix
        The tree, with the graph's lengths, in the format CSR.

    See Also
    --------
    scipy.sparse.csgraph.breadth_first_order, scipy.sparse.csgraph.construct_dist_matrix

    Examples
    --------
    >>> graph = cp.scipy.sparse.csr_array([[0, 1, 2], [0, 0, 3], [0, 0, 0]])
    >>> _, before = cp.scipy.sparse.csgraph.breadth_first_order(graph, 0)
    >>> cp.scipy.sparse.csgraph.reconstruct_path(graph, before).toarray()
    array([[0., 1., 2.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """
    return _to_device(_called("reconstruct_path", csgraph, predecessors, directed))


@on_data_device
@_documented
def construct_dist_matrix(
    graph: Any, predecessors: Any, directed: bool = True, null_value: float = float("inf")
) -> ndarray:
    """Returns the lengths of the paths that a matrix of predecessors describes; by SciPy on the host.

    Parameters
    ----------
    graph : array_like
        The dense matrix of lengths, copied to the host.
    predecessors : array_like
        The node before the last of the path between each pair, copied to the host; -9999 where there is none.
    null_value : float, optional
        The length for pairs without a path; by default infinity.

    Returns
    -------
    ndarray
        The matrix of lengths.

    See Also
    --------
    scipy.sparse.csgraph.shortest_path, scipy.sparse.csgraph.reconstruct_path

    Examples
    --------
    >>> graph = cp.asarray([[0.0, 1.0], [0.0, 0.0]])
    >>> _, before = cp.scipy.sparse.csgraph.shortest_path(graph, return_predecessors=True)
    >>> cp.scipy.sparse.csgraph.construct_dist_matrix(graph, before)
    array([[ 0.,  1.],
           [inf,  0.]])
    """
    found: ndarray = _to_device(_called("construct_dist_matrix", graph, predecessors, directed, null_value))
    return found


@on_data_device
@_documented
def yen(
    csgraph: Any, source: int, sink: int, K: int, *, directed: bool = True, return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any:  # fmt: skip
    """Returns the lengths of the shortest paths without loops between two nodes; by SciPy on the host.

    Parameters
    ----------
    K : int
        The number of paths.
    return_predecessors : bool, default False
        Whether the node before each is returned, for each path.
    unweighted : bool, default False
        Whether all edges have the length 1.

    Returns
    -------
    ndarray or tuple of ndarrays
        The lengths; with `return_predecessors` also a row of predecessors for each path.

    See Also
    --------
    scipy.sparse.csgraph.shortest_path, scipy.sparse.csgraph.dijkstra

    Examples
    --------
    >>> graph = cp.scipy.sparse.csr_array([[0, 1, 5], [0, 0, 2], [0, 0, 0]])
    >>> cp.scipy.sparse.csgraph.yen(graph, 0, 2, 2)
    array([3., 5.])
    """
    options = {"directed": directed, "return_predecessors": return_predecessors, "unweighted": unweighted}
    return _to_device(_called("yen", csgraph, source, sink, K, **options))


__all__ = [
    "breadth_first_order", "breadth_first_tree", "construct_dist_matrix", "depth_first_order", "depth_first_tree",
    "maximum_bipartite_matching", "maximum_flow", "min_weight_full_bipartite_matching", "minimum_spanning_tree",
    "reconstruct_path", "reverse_cuthill_mckee", "structural_rank", "yen",
]  # fmt: skip
