"""Sparse matrices joined from others: beside, above, as blocks and along the diagonal."""

from __future__ import annotations

import itertools
from typing import Any

from cuprous._common.casting import astype, common_dtype
from cuprous._common.operands import on_array_device
from cuprous._functions.manipulation import atleast_2d
from cuprous.scipy.sparse._checks import checked_dtype
from cuprous.scipy.sparse._construct import _as_format, _is_array, _joined, _sparse


def _blocks(rows: list[list[Any]], format: str | None, dtype: Any, is_array: bool | None = None) -> Any:
    kind = _is_array(*(b for row in rows for b in row)) if is_array is None else is_array
    grid = [[None if b is None else _sparse(b, kind) for b in row] for row in rows]
    if not grid or not grid[0] or any(len(row) != len(grid[0]) for row in grid):
        raise ValueError("blocks must be 2-D")
    heights: list[int | None] = [None] * len(grid)
    widths: list[int | None] = [None] * len(grid[0])
    for i, row in enumerate(grid):
        for j, block in enumerate(row):
            if block is None:
                continue
            sides = ((heights, i, block._shape[0], "row"), (widths, j, block._shape[1], "col"))
            for extents, at, extent, axis in sides:
                if extents[at] is None:
                    extents[at] = extent
                elif extents[at] != extent:
                    raise ValueError(f"blocks[{i},{j}] has incompatible {axis} dimensions. Got blocks[{i},{j}]."
                                     f"shape[{int(axis == 'col')}] == {extent}, expected {extents[at]}.")  # fmt: skip
    # Block rows and columns that hold only None are empty.
    down, right = ([*itertools.accumulate((n or 0 for n in extents), initial=0)] for extents in (heights, widths))
    parts = [
        (b._data, astype(b._row, "int64") + down[i], astype(b._col, "int64") + right[j])
        for i, row in enumerate(grid) for j, b in enumerate(row) if b is not None
    ]  # fmt: skip
    name = common_dtype([p[0] for p in parts]) if dtype is None else checked_dtype(dtype)
    return _as_format(_joined(parts, (down[-1], right[-1]), name, kind), format)


@on_array_device
def bmat(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Returns a matrix assembled from a grid of blocks; None stands for a block of zeros.

    Parameters
    ----------
    blocks : list
        Nested lists of matrices.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.

    Returns
    -------
    sparse matrix
        A sparse matrix; an array if one of the blocks is a sparse array.

    Raises
    ------
    ValueError
        For blocks whose extents do not match.

    See Also
    --------
    block_array

    Examples
    --------
    >>> a = cp.scipy.sparse.eye(1)
    >>> cp.scipy.sparse.bmat([[a, None], [None, a]]).toarray()
    array([[1., 0.],
           [0., 1.]])
    """
    return _blocks([list(row) for row in blocks], format, dtype)


@on_array_device
def block_array(blocks: Any, *, format: str | None = None, dtype: Any = None) -> Any:
    """Returns a sparse array assembled from a grid of blocks; None stands for a block of zeros.

    Parameters
    ----------
    blocks : list
        Nested lists of matrices.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.

    Returns
    -------
    sparse matrix
        A sparse array.

    Raises
    ------
    ValueError
        For blocks whose extents do not match.

    See Also
    --------
    block_diag, diags

    Examples
    --------
    >>> a = cp.scipy.sparse.eye_array(1)
    >>> cp.scipy.sparse.block_array([[a, None], [None, a]]).toarray()
    array([[1., 0.],
           [0., 1.]])
    """
    return _blocks([list(row) for row in blocks], format, dtype, True)


def _common_format(parts: list[Any]) -> str | None:
    formats = {getattr(b, "format", None) for b in parts}
    return formats.pop() if len(formats) == 1 else None


@on_array_device
def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Stacks matrices horizontally.

    Parameters
    ----------
    blocks : sequence
        A sequence of matrices.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.

    Returns
    -------
    sparse matrix
        A sparse matrix; an array if one of the blocks is a sparse array.

    Raises
    ------
    ValueError
        For blocks whose numbers of rows differ.

    See Also
    --------
    vstack

    Examples
    --------
    >>> cp.scipy.sparse.hstack([cp.scipy.sparse.eye(2), cp.scipy.sparse.eye(2)]).toarray()
    array([[1., 0., 1., 0.],
           [0., 1., 0., 1.]])
    """
    parts = list(blocks)
    return _blocks([parts], format or _common_format(parts), dtype)


@on_array_device
def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Stacks matrices vertically.

    Parameters
    ----------
    blocks : sequence
        A sequence of matrices.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.

    Returns
    -------
    sparse matrix
        A sparse matrix; an array if one of the blocks is a sparse array.

    Raises
    ------
    ValueError
        For blocks whose numbers of columns differ.

    See Also
    --------
    hstack

    Examples
    --------
    >>> cp.scipy.sparse.vstack([cp.scipy.sparse.eye(2), cp.scipy.sparse.csr_matrix([[3.0, 4.0]])]).toarray()
    array([[1., 0.],
           [0., 1.],
           [3., 4.]])
    """
    parts = list(blocks)
    return _blocks([[b] for b in parts], format or _common_format(parts), dtype)


@on_array_device
def block_diag(mats: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Returns a block-diagonal matrix.

    Parameters
    ----------
    mats : sequence
        A sequence of matrices, sparse or dense.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.

    Returns
    -------
    sparse matrix
        A sparse matrix; an array if one of the blocks is a sparse array.

    See Also
    --------
    block_array, diags_array

    Examples
    --------
    >>> cp.scipy.sparse.block_diag(([[1, 2]], [[3]])).toarray()
    array([[1, 2, 0],
           [0, 0, 3]])
    """
    parts, down, right = [], 0, 0
    matrices = list(mats)
    kind = _is_array(*matrices)
    for block in matrices:
        b = _sparse(atleast_2d(block) if isinstance(block, (int, float, complex, list, tuple)) else block, kind)
        parts.append((b._data, astype(b._row, "int64") + down, astype(b._col, "int64") + right))
        down, right = down + b._shape[0], right + b._shape[1]
    name = common_dtype([p[0] for p in parts]) if dtype is None and parts else checked_dtype(dtype)
    return _as_format(_joined(parts, (down, right), name, kind), format)
