"""Conversions of graphs, and their Laplacians."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous._common import dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.casting import astype
from cuprous._common.operands import on_array_device
from cuprous.scipy.sparse._base import Sparse, on_data_device
from cuprous.scipy.sparse._classes import coo_array, csr_array


def check_square(shape: tuple[int, ...]) -> int:
    """Returns the number of nodes."""
    if len(shape) != 2:
        raise ValueError("compressed-sparse graph must be 2-D")
    if shape[0] != shape[1]:
        raise ValueError("compressed-sparse graph must be shape (N, N)")
    return shape[0]


def edges(csgraph: Any) -> tuple[int, ndarray, ndarray, ndarray]:
    """Returns the number of nodes, and the origins, ends and lengths of the edges. Elements of a dense array
    that are 0, infinite or NaN are not edges."""
    if isinstance(csgraph, Sparse):
        n = check_square(csgraph.shape)
        found = csgraph.tocsr().tocoo()
        found.sum_duplicates()
        return n, found.row, found.col, astype(found.data, "float64")
    dense = astype(array(csgraph), "float64")
    n = check_square(dense.shape)
    row, column = cp.nonzero(cp.isfinite(dense) & (dense != 0))
    return n, row, column, dense[row, column]


@on_array_device
def csgraph_from_dense(
    graph: Any, null_value: float = 0, nan_null: bool = True, infinity_null: bool = True
) -> csr_array:
    """Returns a sparse matrix of the elements that are edges.

    Parameters
    ----------
    graph : array_like
        The lengths of the edges from each node to each.
    null_value : float, default 0
        The value of elements that are not edges.
    nan_null : bool, default True
        Whether NaN is not an edge either.
    infinity_null : bool, default True
        Whether infinity is not an edge either.

    Returns
    -------
    csr_array
        The graph.

    Raises
    ------
    ValueError
        For an array that is not a square matrix.

    See Also
    --------
    scipy.sparse.csgraph.csgraph_to_dense

    Examples
    --------
    >>> cp.scipy.sparse.csgraph.csgraph_from_dense([[0.0, 2.0], [0.0, 0.0]]).nnz
    1
    """
    dense = astype(array(graph), "float64")
    n = check_square(dense.shape)
    is_edge = dense != null_value if null_value == null_value else ~cp.isnan(dense)
    if nan_null:
        is_edge = is_edge & ~cp.isnan(dense)
    if infinity_null:
        is_edge = is_edge & ~cp.isinf(dense)
    row, column = cp.nonzero(is_edge)
    return csr_array(coo_array((dense[row, column], (row, column)), (n, n)))


@on_data_device
def csgraph_to_dense(csgraph: Any, null_value: float = 0) -> ndarray:
    """Returns a graph as a dense array. Of several edges between two nodes the shortest is taken.

    Parameters
    ----------
    csgraph : sparse matrix
        The graph.
    null_value : float, default 0
        The value of elements that are not edges.

    Returns
    -------
    ndarray
        An array of float64.

    Raises
    ------
    ValueError
        For a matrix that is not square.

    See Also
    --------
    scipy.sparse.csgraph.csgraph_from_dense

    Examples
    --------
    >>> graph = cp.scipy.sparse.csr_array([[0.0, 2.0], [0.0, 0.0]])
    >>> cp.scipy.sparse.csgraph.csgraph_to_dense(graph, cp.inf)
    array([[inf,  2.],
           [inf, inf]])
    """
    n = check_square(csgraph.shape)
    found = csgraph.tocoo()
    dense = cp.full((n, n), cp.inf)
    dense.scatter_min((found.row, found.col), astype(found.data, "float64"))
    has = cp.zeros((n, n), bool)
    has[found.row, found.col] = True
    return cp.where(has, dense, null_value)


@on_data_device
def laplacian(
    csgraph: Any, normed: bool = False, return_diag: bool = False, use_out_degree: bool = False, *, copy: bool = True,
    form: str = "array", dtype: Any = None, symmetrized: bool = False,
) -> Any:  # fmt: skip
    """Returns the Laplacian of a graph: its degrees on the diagonal, minus the lengths of its edges.

    Parameters
    ----------
    csgraph : sparse matrix or array_like
        The graph.
    normed : bool, default False
        Whether rows and columns are divided by the roots of their degrees.
    return_diag : bool, default False
        Whether the degrees, or their roots, are returned too.
    use_out_degree : bool, default False
        Whether degrees are sums of rows instead of columns.
    copy : bool, default True
        Has no effect: the graph is never changed.
    form : str, default "array"
        "array"; linear operators ("lo", "function") are not supported.
    dtype : dtype, optional
        The dtype of the result.
    symmetrized : bool, default False
        Whether the transposed graph, conjugated, is added first.

    Returns
    -------
    sparse matrix or ndarray
        The Laplacian, sparse as the graph is; with `return_diag` a pair with the diagonal.

    Raises
    ------
    ValueError
        For a graph that is not square, and another form.
    NotImplementedError
        For linear operators.

    See Also
    --------
    scipy.sparse.csgraph.connected_components

    Examples
    --------
    >>> cp.scipy.sparse.csgraph.laplacian([[0.0, 2.0], [2.0, 0.0]])
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    dense = csgraph if isinstance(csgraph, Sparse) else array(csgraph)
    if len(dense.shape) != 2 or dense.shape[0] != dense.shape[1]:
        raise ValueError("csgraph must be a square matrix or array")
    if form not in ("array", "function", "lo"):
        raise ValueError(f"Invalid form: {form!r}")
    if form != "array":
        raise NotImplementedError(f"[laplacian] form={form!r} is not supported; use the array with aslinearoperator")
    n = dense.shape[0]
    name = str(dense.dtype)
    if normed and dtypes.kind(name) in "biu":
        name = "float64"
    graph = astype(dense.toarray() if isinstance(dense, Sparse) else dense, name)
    if symmetrized:
        graph = graph + cp.conj(graph.T)
    graph = graph * (1 - cp.eye(n, dtype=graph.dtype))
    degrees = graph.sum(axis=1 if use_out_degree else 0)
    if normed:
        alone = degrees == 0
        roots = cp.where(alone, 1, cp.sqrt(degrees))
        found = -(graph / roots) / roots[:, None]
        diagonal, degrees = 1 - alone.astype(graph.dtype), roots
    else:
        found, diagonal = -graph, degrees
    found = found * (1 - cp.eye(n, dtype=found.dtype)) + astype(cp.diag(diagonal), found.dtype_name)
    if dtype is not None:
        found, degrees = found.astype(dtype), degrees.astype(dtype)
    result = csgraph._class("coo")(found) if isinstance(dense, Sparse) else found
    return (result, degrees) if return_diag else result


__all__ = ["check_square", "csgraph_from_dense", "csgraph_to_dense", "edges", "laplacian"]
