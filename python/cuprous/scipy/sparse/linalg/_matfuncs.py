"""Matrix powers and direct solution."""

from __future__ import annotations

import operator
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.casting import astype
from cuprous.scipy.sparse._base import Sparse, on_data_device
from cuprous.scipy.sparse._construct import _eye


@on_data_device
def matrix_power(A: Any, power: Any) -> Any:
    """Returns a power of a square sparse matrix.

    Parameters
    ----------
    A : sparse matrix
        A square sparse matrix.
    power : int
        The power, not negative.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    Raises
    ------
    TypeError
        For a matrix that is not square, and powers that are not integers.
    ValueError
        For negative powers.

    See Also
    --------
    scipy.sparse.linalg.spsolve

    Examples
    --------
    >>> cp.scipy.sparse.linalg.matrix_power(cp.scipy.sparse.csr_matrix([[1, 1], [0, 1]]), 3).toarray()
    array([[1, 3],
           [0, 1]])
    """
    m, n = A.shape
    if m != n:
        raise TypeError("sparse matrix is not square")
    power = operator.index(power)
    if power < 0:
        raise ValueError("exponent must be >= 0")
    if power == 0:
        return _eye(m, m, 0, A._dtype, A.format if A.format != "coo" else "csr", A._is_array)
    if power == 1:
        return A.copy()
    half = matrix_power(A, power // 2)
    return A @ half @ half if power % 2 else half @ half


@on_data_device
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """Solves A x = b as a dense system; memory and time are those of `cuprous.linalg.solve`.

    Parameters
    ----------
    A : sparse matrix
        A square sparse matrix.
    b : sparse matrix or array_like
        A vector, or a matrix (sparse or dense) of right-hand sides.
    permc_spec : dict, optional
        Options of SciPy's solver, ignored here.
    use_umfpack : bool, default True
        Options of SciPy's solver, ignored here.

    Returns
    -------
    ndarray
        An array of the shape of `b`.

    Raises
    ------
    ValueError
        For a matrix that is not square, and right-hand sides of the wrong shape.
    NotImplementedError
        For more than 20,000 unknowns; use `cg`, `gmres` or `bicgstab`.

    See Also
    --------
    scipy.sparse.linalg.lsmr, scipy.sparse.linalg.lsqr, scipy.sparse.linalg.matrix_power

    Examples
    --------
    >>> cp.scipy.sparse.linalg.spsolve(cp.scipy.sparse.diags([[2.0, 4.0]], [0]), cp.asarray([2.0, 2.0]))
    array([1. , 0.5])
    """
    if not isinstance(A, Sparse):
        raise TypeError(f"A must be a sparse matrix, not {type(A)}")
    m, n = A.shape
    if m != n:
        raise ValueError(f"matrix must be square (has shape {(m, n)})")
    if n > 20_000:
        raise NotImplementedError(f"[spsolve] {n} unknowns are not supported, as the system is solved densely; use cg, "
                                  "gmres or bicgstab")  # fmt: skip
    side = b.toarray() if isinstance(b, Sparse) else array(b)
    if side.shape[0] != m:
        raise ValueError(f"matrix - rhs dimension mismatch ({A.shape} - {side.shape[0]})")
    name = _dtypes.inexact(_core.promote_types(A._dtype, side.dtype_name))
    x: ndarray = cp.linalg.solve(astype(A.toarray(), name), astype(side, name))
    if isinstance(b, Sparse):
        return b._class("csc" if b.format == "csc" else "csr")(x)
    return x.reshape(-1) if side.ndim == 2 and side.shape[1] == 1 else x
