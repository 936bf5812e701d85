"""Shortest paths between all nodes: by the algorithm of Floyd and Warshall, whatever its name."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous._common.arguments import array, ndarray
from cuprous.scipy.sparse._base import on_data_device
from cuprous.scipy.sparse.csgraph._matrices import edges

#: SciPy's mark of pairs without a path, and of a node itself.
_NO_NODE = -9999


class NegativeCycleError(Exception):
    """Raised where a cycle of edges has a negative length, so that no path is the shortest.

    Parameters
    ----------
    message : str, default ""
        The message.

    See Also
    --------
    scipy.sparse.csgraph.shortest_path, scipy.sparse.csgraph.bellman_ford, scipy.sparse.csgraph.johnson

    Examples
    --------
    >>> issubclass(cp.scipy.sparse.csgraph.NegativeCycleError, Exception)
    True
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(message)


@on_data_device
def _all_paths(csgraph: Any, directed: bool, unweighted: bool) -> tuple[ndarray, ndarray]:
    """Returns the lengths of the shortest paths, and the node before the last of each."""
    n, row, column, lengths = edges(csgraph)
    row, column = row.astype("int64"), column.astype("int64")
    if unweighted:
        lengths = cp.ones_like(lengths)
    distance = cp.full((n, n), cp.inf)
    distance.scatter_min((row, column), lengths)
    if not directed:
        distance = cp.minimum(distance, distance.T)
    nodes = cp.arange(n)
    before = cp.where(cp.isfinite(distance), nodes[:, None], _NO_NODE)
    own = nodes[:, None] == nodes
    distance = cp.where(own, cp.minimum(distance, 0.0), distance)
    before = cp.where(own, _NO_NODE, before)
    for k in range(n):
        through = distance[:, k : k + 1] + distance[k : k + 1]
        is_shorter = through < distance
        before = cp.where(is_shorter, before[k : k + 1], before)
        distance = cp.where(is_shorter, through, distance)
    if n and bool((cp.diagonal(distance) < 0).any()):
        raise NegativeCycleError("Negative cycle in nodes")
    return distance, before.astype("int32")


@on_data_device
def shortest_path(
    csgraph: Any, method: str = "auto", directed: bool = True, return_predecessors: bool = False,
    unweighted: bool = False, overwrite: bool = False, indices: Any = None,
) -> Any:  # fmt: skip
    """Returns the lengths of the shortest paths between the nodes of a graph. Time grows with the third power of the
    number of nodes.

    Parameters
    ----------
    csgraph : sparse matrix or array_like
        The graph, whose elements are lengths of edges.
    method : str, default "auto"
        "auto", "FW", "D", "BF" or "J": all are one algorithm here.
    directed : bool, default True
        Whether edges have a direction.
    return_predecessors : bool, default False
        Whether the node before the last of each path is returned (-9999 without a path).
    unweighted : bool, default False
        Whether each edge has length 1.
    overwrite : bool, default False
        Has no effect.
    indices : int or array_like, optional
        The nodes from which paths start; by default all.

    Returns
    -------
    ndarray or pair of ndarrays
        The lengths from each node to each, infinite without a path; with `return_predecessors` a pair.

    Raises
    ------
    ValueError
        For a graph that is not square, another method, and nodes out of bounds.
    NegativeCycleError
        For cycles of negative length.

    See Also
    --------
    scipy.sparse.csgraph.dijkstra, scipy.sparse.csgraph.bellman_ford, scipy.sparse.csgraph.floyd_warshall,
    scipy.sparse.csgraph.johnson

    Examples
    --------
    >>> graph = cp.scipy.sparse.csr_array([[0, 1.0, 5.0], [0, 0, 2.0], [0, 0, 0]])
    >>> cp.scipy.sparse.csgraph.shortest_path(graph)
    array([[ 0.,  1.,  3.],
           [inf,  0.,  2.],
           [inf, inf,  0.]])
    """
    if method not in ("auto", "FW", "D", "BF", "J"):
        raise ValueError(f"unrecognized method '{method}'")
    distance, before = _all_paths(csgraph, directed, unweighted)
    if indices is not None:
        chosen = array(indices)
        n = distance.shape[0]
        if bool(((chosen < -n) | (chosen >= n)).any()):
            raise ValueError("indices out of range 0...N")
        distance, before = distance[chosen], before[chosen]
    return (distance, before) if return_predecessors else distance


def _named(name: str, extra: str = "") -> Any:
    def find(
        csgraph: Any, directed: bool = True, indices: Any = None, return_predecessors: bool = False,
        unweighted: bool = False,
    ) -> Any:  # fmt: skip
        return shortest_path(csgraph, "auto", directed, return_predecessors, unweighted, False, indices)

    find.__name__ = find.__qualname__ = name
    find.__doc__ = f"""Returns what `shortest_path` does{extra}.

    Parameters
    ----------
    csgraph : sparse matrix or array_like
        The graph, whose elements are lengths of edges.
    directed : bool, default True
        Whether edges have a direction.
    indices : int or array_like, optional
        The nodes from which paths start; by default all.
    return_predecessors : bool, default False
        Whether the node before the last of each path is returned.
    unweighted : bool, default False
        Whether each edge has length 1.

    Returns
    -------
    ndarray or pair of ndarrays
        The lengths; with `return_predecessors` a pair.

    Raises
    ------
    NegativeCycleError
        For cycles of negative length.

    See Also
    --------
    shortest_path

    Examples
    --------
    >>> cp.scipy.sparse.csgraph.{name}([[0.0, 1.0], [3.0, 0.0]])
    array([[0., 1.],
           [3., 0.]])
    """
    return find


bellman_ford, johnson = _named("bellman_ford"), _named("johnson")


def dijkstra(
    csgraph: Any, directed: bool = True, indices: Any = None, return_predecessors: bool = False,
    unweighted: bool = False, limit: float = float("inf"), min_only: bool = False,
) -> Any:  # fmt: skip
    """Returns the lengths of the shortest paths, up to a limit.

    Parameters
    ----------
    csgraph : sparse matrix or array_like
        The graph, whose elements are lengths of edges.
    directed : bool, default True
        Whether edges have a direction.
    indices : int or array_like, optional
        The nodes from which paths start; by default all.
    return_predecessors : bool, default False
        Whether the node before the last of each path is returned.
    unweighted : bool, default False
        Whether each edge has length 1.
    limit : float, optional
        Paths that are longer count as none.
    min_only : bool, default False
        Not supported.

    Returns
    -------
    ndarray or pair of ndarrays
        The lengths; with `return_predecessors` a pair.

    Raises
    ------
    ValueError
        For a negative limit.
    NotImplementedError
        For `min_only`.

    See Also
    --------
    shortest_path

    Examples
    --------
    >>> cp.scipy.sparse.csgraph.dijkstra([[0.0, 1.0], [3.0, 0.0]], limit=2.0)
    array([[ 0.,  1.],
           [inf,  0.]])
    """
    if min_only:
        raise NotImplementedError("[dijkstra] min_only=True is not supported; take the minimum over the first axis")
    if limit < 0:
        raise ValueError("limit must be >= 0")
    distance, before = shortest_path(csgraph, "D", directed, True, unweighted, False, indices)
    is_near = distance <= limit
    distance, before = cp.where(is_near, distance, cp.inf), cp.where(is_near, before, _NO_NODE)
    return (distance, before) if return_predecessors else distance


def floyd_warshall(
    csgraph: Any, directed: bool = True, return_predecessors: bool = False, unweighted: bool = False,
    overwrite: bool = False,
) -> Any:  # fmt: skip
    """Returns the lengths of the shortest paths between all nodes.

    Parameters
    ----------
    csgraph : sparse matrix or array_like
        The graph, whose elements are lengths of edges.
    directed : bool, default True
        Whether edges have a direction.
    return_predecessors : bool, default False
        Whether the node before the last of each path is returned.
    unweighted : bool, default False
        Whether each edge has length 1.
    overwrite : bool, default False
        Has no effect.

    Returns
    -------
    ndarray or pair of ndarrays
        The lengths; with `return_predecessors` a pair.

    Raises
    ------
    NegativeCycleError
        For cycles of negative length.

    See Also
    --------
    shortest_path

    Examples
    --------
    >>> cp.scipy.sparse.csgraph.floyd_warshall([[0.0, 1.0], [3.0, 0.0]])
    array([[0., 1.],
           [3., 0.]])
    """
    return shortest_path(csgraph, "FW", directed, return_predecessors, unweighted, overwrite)


__all__ = ["NegativeCycleError", "bellman_ford", "dijkstra", "floyd_warshall", "johnson", "shortest_path"]
