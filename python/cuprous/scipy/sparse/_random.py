"""Sparse matrices with random values at random positions."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.casting import astype
from cuprous._common.convert import convert
from cuprous._functions.joining import concatenate
from cuprous._functions.sets import unique
from cuprous.scipy.sparse import _pattern
from cuprous.scipy.sparse._base import CLASSES
from cuprous.scipy.sparse._checks import checked_dtype


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
