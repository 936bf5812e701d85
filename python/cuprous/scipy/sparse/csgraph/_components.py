"""Connected components: labels spread along all edges at once."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous._common.arguments import ndarray
from cuprous.scipy.sparse._base import on_data_device
from cuprous.scipy.sparse.csgraph._matrices import edges


def _weak(n: int, row: ndarray, column: ndarray) -> ndarray:
    """Returns for each node the first node of its component (Shiloach and Vishkin, 1982: hooks and shortcuts)."""
    labels = cp.arange(n)
    while True:
        least = cp.minimum(labels[row], labels[column])
        found = labels.copy()
        found.scatter_min(labels[row], least)
        found.scatter_min(labels[column], least)
        found = found[found]
        if bool((found == labels).all()):
            return found
        labels = found


def _spread(labels: ndarray, source: ndarray, target: ndarray, is_used: ndarray, nothing: int) -> ndarray:
    """Returns the largest label that reaches each node along used edges."""
    while True:
        found = labels.copy()
        found.scatter_max(target, cp.where(is_used, labels[source], nothing))
        if bool((found == labels).all()):
            return found
        labels = found


def _strong(n: int, row: ndarray, column: ndarray) -> ndarray:
    """Returns for each node one node of its strong component (Orzan, 2004: the nodes that the largest node of a color
    reaches backwards within the color are its component)."""
    result = cp.full(n, -1)
    while bool((result < 0).any()):
        is_open = result < 0
        is_used = is_open[row] & is_open[column]
        colors = _spread(cp.where(is_open, cp.arange(n), -1), row, column, is_used, -1)
        is_used = is_used & (colors[row] == colors[column])
        starts = (is_open & (colors == cp.arange(n))).astype("int64")
        reached = _spread(starts, column, row, is_used, 0)
        result = cp.where(is_open & (reached > 0), colors, result)
    return result


@on_data_device
def connected_components(
    csgraph: Any, directed: bool = True, connection: str = "weak", return_labels: bool = True
) -> Any:
    """Returns the number of connected components, and the component of each node.

    Parameters
    ----------
    csgraph : sparse matrix or array_like
        The graph.
    directed : bool, default True
        Whether edges have a direction.
    connection : {"weak", "strong"}, default "weak"
        Whether paths of a directed graph may go against edges ("weak"), or must lead both ways ("strong").
    return_labels : bool, default True
        Whether the components of nodes are returned.

    Returns
    -------
    pair of int and ndarray
        The number of components, and the number of each node's component, in the order of their first nodes; without
        `return_labels` the number alone.

    Raises
    ------
    ValueError
        For a graph that is not square, and another `connection`.

    See Also
    --------
    scipy.sparse.csgraph.laplacian, scipy.sparse.csgraph.csgraph_from_dense

    Examples
    --------
    >>> graph = cp.scipy.sparse.csr_array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    >>> cp.scipy.sparse.csgraph.connected_components(graph)
    (2, array([0, 0, 1], dtype=int32))
    """
    if connection not in ("weak", "strong"):
        raise ValueError("connection must be 'weak' or 'strong'")
    n, row, column, _ = edges(csgraph)
    row, column = row.astype("int64"), column.astype("int64")
    if n == 0:
        return (0, cp.zeros(0, "int32")) if return_labels else 0
    labels = _strong(n, row, column) if directed and connection == "strong" else _weak(n, row, column)
    firsts, first, inverse = cp.unique(labels, return_index=True, return_inverse=True)
    if not return_labels:
        return firsts.size
    ranks = cp.argsort(cp.argsort(first))
    return firsts.size, ranks[inverse].astype("int32")


__all__ = ["connected_components"]
