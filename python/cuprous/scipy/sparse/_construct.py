"""Construction of sparse matrices: identities, diagonals, random values, blocks and Kronecker products."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.casting import astype, common_dtype
from cuprous._common.convert import convert
from cuprous._common.operands import is_numpy_array, on_array_device
from cuprous._functions.joining import concatenate
from cuprous._functions.manipulation import atleast_2d
from cuprous._functions.sets import unique
from cuprous.scipy.sparse import _pattern
from cuprous.scipy.sparse._base import CLASSES, Sparse, on_data_device
from cuprous.scipy.sparse._checks import checked_dtype, is_number


def _as_format(a: Any, format: str | None, default: str = "coo") -> Any:
    return a.asformat(default if format is None else format)


def _is_array(*parts: Any) -> bool:
    return any(isinstance(p, Sparse) and p._is_array for p in parts)


def _coo(data: ndarray, row: ndarray, col: ndarray, shape: tuple[int, int], is_array: bool) -> Any:
    name = _pattern.index_dtype(*shape)
    return CLASSES["coo", is_array]._new(data, astype(row, name), astype(col, name), shape, None)


def _sparse(x: Any, is_array: bool) -> Any:
    """Returns a sparse or dense operand in COO format."""
    if isinstance(x, Sparse):
        return x.tocoo(copy=False)
    return CLASSES["coo", is_array](x)


def _eye(m: Any, n: Any, k: int, dtype: Any, format: str | None, is_array: bool) -> Any:
    m = operator.index(m)
    n = m if n is None else operator.index(n)
    if m < 0 or n < 0:
        raise ValueError("'shape' elements cannot be negative")
    length = max(0, min(m + min(k, 0), n - max(k, 0)))
    if format in (None, "dia"):
        return _dia(_core.full((1, max(0, min(m + k, n))), 1, checked_dtype(dtype)), [k], (m, n), is_array)
    along = _pattern.arange(length)
    ones = _core.full((length,), 1, checked_dtype(dtype))
    return _as_format(_coo(ones, along - min(k, 0), along + max(k, 0), (m, n), is_array), format)


def eye(m: int, n: int | None = None, k: int = 0, dtype: Any = float, format: str | None = None) -> Any:
    """Returns an m x n matrix with ones on a diagonal; in DIA format by default.

    Parameters
    ----------
    m : int
        The number of rows.
    n : int, optional
        The number of columns; `m` by default.
    k : int, default 0
        The diagonal: 0 is the main one, positive ones are above it.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    See Also
    --------
    eye_array

    Examples
    --------
    >>> cp.scipy.sparse.eye(2).toarray()
    array([[1., 0.],
           [0., 1.]])
    """
    return _eye(m, n, k, dtype, format, False)


def eye_array(m: int, n: int | None = None, *, k: int = 0, dtype: Any = float, format: str | None = None) -> Any:
    """Returns an m x n sparse array with ones on a diagonal.

    Parameters
    ----------
    m : int
        The number of rows.
    n : int, optional
        The number of columns; `m` by default.
    k : int, default 0
        The diagonal: 0 is the main one, positive ones are above it.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse array.

    See Also
    --------
    scipy.sparse.diags_array, scipy.sparse.random_array

    Examples
    --------
    >>> cp.scipy.sparse.eye_array(2, k=1).toarray()
    array([[0., 1.],
           [0., 0.]])
    """
    return _eye(m, n, k, dtype, format, True)


def identity(n: int, dtype: Any = "d", format: str | None = None) -> Any:
    """Returns the identity matrix; in DIA format by default.

    Parameters
    ----------
    n : int
        The number of rows and columns.
    dtype : dtype, default "d"
        The dtype of the values; by default it follows from the arguments.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    See Also
    --------
    eye_array, eye

    Examples
    --------
    >>> cp.scipy.sparse.identity(2).toarray()
    array([[1., 0.],
           [0., 1.]])
    """
    return _eye(n, n, 0, dtype, format, False)


def _diags(diagonals: Any, offsets: Any, shape: Any, format: str | None, dtype: Any, is_array: bool) -> Any:
    if is_number(offsets):
        if not (is_number(diagonals) or not len(diagonals) or is_number(diagonals[0])):
            raise ValueError("Different number of diagonals and offsets.")
        diagonals, offsets = [diagonals], [offsets]
    elif isinstance(offsets, ndarray) or is_numpy_array(offsets):
        offsets = offsets.tolist()
    offsets = [operator.index(k) for k in offsets]
    lines = [array(convert(d)).reshape(-1) for d in diagonals]
    if len(lines) != len(offsets):
        raise ValueError("Different number of diagonals and offsets.")
    if len(set(offsets)) != len(offsets):
        raise ValueError("repeated offset in diagonals")
    if shape is None:
        shape = (lines[0].size + abs(offsets[0]),) * 2
    m, n = (operator.index(extent) for extent in shape)
    if lines and dtype is None:
        dtype = common_dtype(lines)
    name = checked_dtype(dtype)
    ends = [min(m + k, n) for k in offsets]
    data = _core.full((len(offsets), max(ends, default=0)), 0, name)
    for row, (k, line, end) in enumerate(zip(offsets, lines, ends, strict=True)):
        length = end - max(k, 0)
        if length < 0:
            raise ValueError(f"Offset {k} (index {row}) out of bounds")
        if line.size != length and line.size != 1:
            raise ValueError(f"Diagonal length (index {row}: {line.size} at offset {k}) does not agree "
                             f"with array size ({m}, {n}).")  # fmt: skip
        data[row, max(k, 0) : end] = astype(line, name)
    return _as_format(_dia(data, offsets, (m, n), is_array), format, "dia")


def _dia(data: ndarray, offsets: list[int], shape: tuple[int, int], is_array: bool) -> Any:
    lines = astype(array(offsets).reshape(-1), _pattern.index_dtype(*shape))
    return CLASSES["dia", is_array]._new(data, lines, shape)


def _joined(parts: list[Any], shape: tuple[int, int], dtype: str, is_array: bool) -> Any:
    """Concatenates parts, each a tuple of values, rows and columns, into one COO matrix."""
    if not parts:
        return CLASSES["coo", is_array](shape, dtype=dtype)
    names = (dtype, "int64", "int64")
    data, row, col = (concatenate([astype(p[k], name) for p in parts]) for k, name in enumerate(names))
    return _coo(data, row, col, shape, is_array)


@on_array_device
def diags(diagonals: Any, offsets: Any = 0, shape: Any = None, format: str | None = None, dtype: Any = None) -> Any:
    """Returns a matrix with the given diagonals; in DIA format by default.

    Parameters
    ----------
    diagonals : array_like
        A sequence of diagonals, or one diagonal.
    offsets : int or sequence of ints, default 0
        The diagonal of each: 0 is the main one, positive ones are above it.
    shape : int or tuple of ints, optional
        The shape; by default the smallest square one.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    Raises
    ------
    ValueError
        If the diagonals do not match their offsets or the shape.

    See Also
    --------
    spdiags, diags_array

    Examples
    --------
    >>> cp.scipy.sparse.diags([[1.0, 2.0], [3.0]], [0, 1]).toarray()
    array([[1., 3.],
           [0., 2.]])
    """
    return _diags(diagonals, offsets, shape, format, dtype, False)


@on_array_device
def diags_array(diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: str | None = None,
                dtype: Any = None) -> Any:  # fmt: skip
    """Returns a sparse array with the given diagonals.

    Parameters
    ----------
    diagonals : array_like
        A sequence of diagonals, or one diagonal.
    offsets : int or sequence of ints, default 0
        The diagonal of each: 0 is the main one, positive ones are above it.
    shape : int or tuple of ints, optional
        The shape; by default the smallest square one.
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
        If the diagonals do not match their offsets or the shape.

    See Also
    --------
    dia_array

    Examples
    --------
    >>> cp.scipy.sparse.diags_array([[1.0, 2.0]], offsets=[0]).toarray()
    array([[1., 0.],
           [0., 2.]])
    """
    return _diags(diagonals, offsets, shape, format, dtype, True)


def spdiags(data: Any, diags: Any, m: Any = None, n: Any = None, format: str | None = None) -> Any:
    """Returns an m x n matrix from the rows of `data`: column j of the row for diagonal k holds that diagonal's element
    in column j.

    Parameters
    ----------
    data : array_like
        The diagonals, as rows.
    diags : array_like
        The diagonal of each row: 0 is the main one, positive ones are above it.
    m : int or pair of ints, optional
        The number of rows, or the shape.
    n : int, optional
        The number of columns.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    Raises
    ------
    ValueError
        If the numbers of diagonals and offsets differ, or an offset occurs twice.

    See Also
    --------
    diags_array, diags, dia_matrix

    Examples
    --------
    >>> cp.scipy.sparse.spdiags([[1, 2], [3, 4]], [0, 1], 2, 2).toarray()
    array([[1, 4],
           [0, 2]])
    """
    values = array(convert(data))
    values = values.reshape(1, -1) if values.ndim < 2 else values
    offsets = [diags] if is_number(diags) else diags.tolist() if hasattr(diags, "tolist") else list(diags)
    if m is None and n is None:
        m = n = values.shape[1]
    elif n is None:
        m, n = m
    if len(offsets) != values.shape[0]:
        raise ValueError(f"number of diagonals ({values.shape[0]}) does not match the number of offsets "
                         f"({len(offsets)})")  # fmt: skip
    if len(set(offsets)) != len(offsets):
        raise ValueError("offset array contains duplicate values")
    return _as_format(CLASSES["dia", False]((values, offsets), shape=(m, n)), format, "dia")


def _random(m: int, n: int, density: float, format: str, dtype: Any, rng: Any, sampler: Any, is_array: bool) -> Any:
    if density < 0 or density > 1:
        raise ValueError("density expected to be 0 <= density <= 1")
    name = checked_dtype(dtype)
    count = round(density * m * n)
    if rng is None or isinstance(rng, int):
        rng = cp.random.default_rng(rng)
    positions = _distinct(rng, m * n, count)
    if sampler is not None:
        values = astype(array(convert(sampler(count))), name)
    elif name[:3] in ("int", "uin"):
        values = rng.integers(_dtypes.lowest(name), _dtypes.highest(name), count, dtype=name, endpoint=True)
    elif name[:3] == "com":
        values = astype(rng.random(count) + 1j * rng.random(count), name)
    else:
        values = astype(rng.random(count), name)
    result = CLASSES["coo", is_array]._from_keys(positions, values, (m, n))
    return result.asformat(format)


def _distinct(rng: Any, size: int, count: int) -> ndarray:
    """Draws `count` distinct integers below `size`, sorted.

    If at most half are drawn, draws some spare ones and repeats until enough are distinct. Otherwise draws those to
    leave out.
    """
    if 2 * count > size:
        left_out = _distinct(rng, size, size - count)
        taken = _core.full((size,), True, "bool")
        if left_out.size:
            _core.scatter(taken, left_out, False)
        (kept,) = _pattern.keep(taken, _pattern.arange(size))
        return kept
    found = _core.empty((0,), "int64")
    while found.size < count:
        wanted = count - found.size
        more = astype(rng.integers(0, size, wanted + wanted // 8 + 16), "int64")
        found = unique(concatenate((found, more)))
    if found.size > count:  # drop random ones: dropping the last would favor small numbers
        chosen = _core.sort(_core.argsort(rng.random(found.size))[:count])
        found = _pattern.take(found, chosen)
    return found


def random(m: int, n: int, density: float = 0.01, format: str = "coo", dtype: Any = None, rng: Any = None,
           data_rvs: Any = None, *, random_state: Any = None) -> Any:  # fmt: skip
    """Returns an m x n matrix with uniform values in [0, 1) at random positions. The numbers differ from SciPy's.

    Parameters
    ----------
    m : int
        The number of rows.
    n : int
        The number of columns.
    density : float, default 0.01
        The fraction of the elements that are stored.
    format : str, default "coo"
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.
    rng : Generator or int, optional
        A generator of `cuprous.random`, or a seed.
    data_rvs : callable, optional
        A function that takes a count and returns that many values.
    random_state : int or Generator, optional
        An older name of `rng`.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    See Also
    --------
    random_array

    Examples
    --------
    >>> cp.scipy.sparse.random(4, 5, density=0.5, rng=1).nnz
    10
    """
    return _random(m, n, density, format, dtype, rng if random_state is None else random_state, data_rvs, False)


def random_array(shape: Any, *, density: float = 0.01, format: str = "coo", dtype: Any = None, rng: Any = None,
                 data_sampler: Any = None, random_state: Any = None) -> Any:  # fmt: skip
    """Returns a sparse array with uniform values in [0, 1) at random positions. The numbers differ from SciPy's.

    Parameters
    ----------
    shape : int or tuple of ints
        The shape.
    density : float, default 0.01
        The fraction of the elements that are stored.
    format : str, default "coo"
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.
    rng : Generator or int, optional
        A generator of `cuprous.random`, or a seed.
    data_sampler : callable, optional
        A function of the keyword `size` that returns that many values.
    random_state : int or Generator, optional
        An older name of `rng`.

    Returns
    -------
    sparse matrix
        A sparse array.

    See Also
    --------
    scipy.sparse.eye_array, scipy.sparse.diags_array

    Examples
    --------
    >>> cp.scipy.sparse.random_array((4, 5), density=0.5, rng=1).nnz
    10
    """
    m, n = shape
    sampler = None if data_sampler is None else lambda count: data_sampler(size=count)
    return _random(m, n, density, format, dtype, rng if random_state is None else random_state, sampler, True)


def rand(m: int, n: int, density: float = 0.01, format: str = "coo", dtype: Any = None, rng: Any = None, *,
         random_state: Any = None) -> Any:  # fmt: skip
    """Returns an m x n matrix with uniform values in [0, 1) at random positions.

    Parameters
    ----------
    m : int
        The number of rows.
    n : int
        The number of columns.
    density : float, default 0.01
        The fraction of the elements that are stored.
    format : str, default "coo"
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.
    rng : Generator or int, optional
        A generator of `cuprous.random`, or a seed.
    random_state : int or Generator, optional
        An older name of `rng`.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    See Also
    --------
    random, random_array

    Examples
    --------
    >>> cp.scipy.sparse.rand(4, 5, density=0.5, rng=1).nnz
    10
    """
    return random(m, n, density, format, dtype, rng, random_state=random_state)


# --- blocks


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


@on_data_device
def kron(A: Any, B: Any, format: str | None = None) -> Any:
    """Returns the Kronecker product.

    Parameters
    ----------
    A : sparse matrix or array_like
        A matrix, sparse or dense.
    B : sparse matrix or array_like
        A matrix, sparse or dense.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix; an array if an operand is a sparse array.

    See Also
    --------
    scipy.sparse.kronsum, scipy.sparse.block_diag

    Examples
    --------
    >>> cp.scipy.sparse.kron(cp.scipy.sparse.eye(2), [[1, 2]]).toarray()
    array([[1., 2., 0., 0.],
           [0., 0., 1., 2.]])
    """
    kind = _is_array(A, B)
    a, b = _sparse(A, kind), _sparse(B, kind)
    (m, n), (p, q) = a._shape, b._shape
    name = _core.promote_types(a._dtype, b._dtype)
    shape = (m * p, n * q)
    if not a.nnz or not b.nnz:
        return _as_format(CLASSES["coo", kind](shape, dtype="float64"), format)
    outer = lambda x, y, extent: (astype(x, "int64").reshape(-1, 1) * extent + y).reshape(-1)  # noqa: E731
    values = (astype(a._data, name).reshape(-1, 1) * astype(b._data, name)).reshape(-1)
    return _as_format(_coo(values, outer(a._row, b._row, p), outer(a._col, b._col, q), shape, kind), format)


@on_data_device
def kronsum(A: Any, B: Any, format: str | None = None) -> Any:
    """Returns the Kronecker sum of square matrices, kron(I, A) + kron(B, I).

    Parameters
    ----------
    A : sparse matrix or array_like
        A square matrix, sparse or dense.
    B : sparse matrix or array_like
        A square matrix, sparse or dense.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix; an array if an operand is a sparse array.

    Raises
    ------
    ValueError
        For matrices that are not square.

    See Also
    --------
    scipy.sparse.block_diag, scipy.sparse.kron

    Examples
    --------
    >>> cp.scipy.sparse.kronsum([[1]], [[2, 0], [0, 3]]).toarray()
    array([[3, 0],
           [0, 4]])
    """
    kind = _is_array(A, B)
    a, b = _sparse(A, kind), _sparse(B, kind)
    for x, name in ((a, "A"), (b, "B")):
        if x._shape[0] != x._shape[1]:
            raise ValueError(f"{name} is not square")
    dtype = _core.promote_types(a._dtype, b._dtype)
    left = kron(_eye(b._shape[0], None, 0, dtype, "coo", kind), a)
    return _as_format(left + kron(b, _eye(a._shape[0], None, 0, dtype, "coo", kind)), format, "csr")


def _triangle(A: Any, k: int, format: str | None, lower: bool) -> Any:
    a = _sparse(A, _is_array(A) or not isinstance(A, Sparse))
    above = astype(a._col, "int64") - astype(a._row, "int64")
    row, col, data = _pattern.keep(above <= k if lower else above >= k, a._row, a._col, a._data)
    return _as_format(a._new(data, row, col, a._shape, a._canonical), format)


@on_data_device
def tril(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Returns the elements on and below diagonal `k`.

    Parameters
    ----------
    A : sparse matrix or array_like
        A matrix, sparse or dense.
    k : int, default 0
        The last diagonal that is kept: 0 is the main one, positive ones are above it.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    See Also
    --------
    triu

    Examples
    --------
    >>> cp.scipy.sparse.tril([[1, 2], [3, 4]]).toarray()
    array([[1, 0],
           [3, 4]])
    """
    return _triangle(A, k, format, True)


@on_data_device
def triu(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Returns the elements on and above diagonal `k`.

    Parameters
    ----------
    A : sparse matrix or array_like
        A matrix, sparse or dense.
    k : int, default 0
        The first diagonal that is kept: 0 is the main one, positive ones are above it.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    See Also
    --------
    tril

    Examples
    --------
    >>> cp.scipy.sparse.triu([[1, 2], [3, 4]]).toarray()
    array([[1, 2],
           [0, 4]])
    """
    return _triangle(A, k, format, False)


@on_data_device
def find(A: Any) -> tuple[ndarray, ndarray, ndarray]:
    """Returns the rows, columns and values of the nonzero elements, with duplicates summed.

    Parameters
    ----------
    A : sparse matrix or array_like
        A matrix, sparse or dense.

    Returns
    -------
    tuple of ndarrays
        A tuple of three arrays.

    Examples
    --------
    >>> cp.scipy.sparse.find(cp.scipy.sparse.eye(2))
    (array([0, 1], dtype=int32), array([0, 1], dtype=int32), array([1., 1.]))
    """
    a = _sparse(A, True).copy()
    a.sum_duplicates()
    row, col, data = _pattern.keep(a._data != 0, a._row, a._col, a._data)
    return row, col, data
