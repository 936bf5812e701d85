"""Factors of sparse matrices, for several right-hand sides: computed densely."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._common.casting import astype
from cuprous.scipy.linalg import lu_factor, lu_solve, solve_triangular
from cuprous.scipy.sparse._base import Sparse, on_data_device

#: The most unknowns of a system that is solved densely.
MOST = 20_000


def _dense(name: str, A: Any) -> ndarray:
    """Returns a square matrix as a dense array of floats."""
    if not isinstance(A, Sparse):
        raise TypeError(f"A must be a sparse matrix, not {type(A)}")
    m, n = A.shape
    if m != n:
        raise ValueError(f"can only factor square matrices; this has shape {(m, n)}")
    if n > MOST:
        raise NotImplementedError(
            f"[{name}] {n} unknowns are not supported, as the system is solved densely; use cg, gmres or bicgstab"
        )
    return astype(A.toarray(), _dtypes.inexact(A._dtype))


class SuperLU:
    """The factors of a square matrix, which `splu` returns. They are dense: L and U in one array.

    Parameters
    ----------
    factors : ndarray
        L, without its diagonal of ones, and U.
    pivots : ndarray
        The row with which each row was exchanged.
    nnz : int
        The number of values that the matrix stored.
    csc : type
        The class of L and U.

    See Also
    --------
    scipy.sparse.linalg.splu, scipy.sparse.linalg.factorized, scipy.sparse.linalg.spsolve

    Examples
    --------
    >>> lu = cp.scipy.sparse.linalg.splu(cp.scipy.sparse.csc_array([[0.0, 2.0], [4.0, 0.0]]))
    >>> lu.solve(cp.asarray([2.0, 4.0]))
    array([1., 1.])
    """

    def __init__(self, factors: ndarray, pivots: ndarray, nnz: int, csc: type) -> None:
        self._csc: Any = csc
        self._factors = factors
        self._pivots = pivots
        self.shape = factors.shape
        self.nnz = nnz

    @functools.cached_property
    def perm_r(self) -> ndarray:
        """The row of the product of L and U in which each row of the matrix is."""
        order = np.arange(self.shape[0])
        for i, other in enumerate(self._pivots.get().tolist()):
            order[[i, other]] = order[[other, i]]
        return cp.asarray(np.argsort(order).astype(np.int32), device=self._factors.device)

    @property
    def perm_c(self) -> ndarray:
        """The order of the columns, which are not exchanged."""
        return cp.arange(self.shape[1], dtype="int32", device=self._factors.device)

    @property
    def L(self) -> Any:
        """The lower triangular factor, with a diagonal of ones."""
        return self._csc(
            cp.tril(self._factors, -1) + cp.eye(self.shape[0], dtype=self._factors.dtype, device=self._factors.device)
        )

    @property
    def U(self) -> Any:
        """The upper triangular factor."""
        return self._csc(cp.triu(self._factors))

    def solve(self, rhs: ArrayLike, trans: str = "N") -> ndarray:
        """Solves the system for right-hand sides.

        Parameters
        ----------
        rhs : array_like
            A vector, or a matrix whose columns are right-hand sides.
        trans : {"N", "T", "H"}, default "N"
            "T" solves with the transposed matrix, "H" with its conjugate.

        Returns
        -------
        ndarray
            An array of the shape of `rhs`.

        Raises
        ------
        ValueError
            For right-hand sides of another length, and another `trans`.

        Examples
        --------
        >>> lu = cp.scipy.sparse.linalg.splu(cp.scipy.sparse.csc_array([[2.0, 0.0], [2.0, 1.0]]))
        >>> lu.solve(cp.asarray([2.0, 1.0]), trans="T")
        array([0., 1.])
        """
        if trans not in ("N", "T", "H"):
            raise ValueError("trans must be 'N', 'T', or 'H'")
        b = array(rhs)
        if b.ndim not in (1, 2) or b.shape[0] != self.shape[0]:
            raise ValueError("rhs array must be compatible with the matrix: its first axis has "
                             f"{b.shape[:1]} elements, the matrix {self.shape[0]} rows")  # fmt: skip
        b = astype(b, _core.promote_types(self._factors.dtype_name, b.dtype_name))
        return lu_solve((self._factors, self._pivots), b, trans={"N": 0, "T": 1, "H": 2}[trans], check_finite=False)


@on_data_device
def splu(
    A: Any, permc_spec: str | None = None, diag_pivot_thresh: float | None = None, relax: int | None = None,
    panel_size: int | None = None, options: Any = None,
) -> SuperLU:  # fmt: skip
    """Returns the LU decomposition of a square matrix, computed densely, with partial pivoting.

    Parameters
    ----------
    A : sparse matrix
        A square sparse matrix.
    permc_spec : str, optional
        An option of SciPy's solver, ignored here.
    diag_pivot_thresh : float, optional
        An option of SciPy's solver, ignored here.
    relax : int, optional
        An option of SciPy's solver, ignored here.
    panel_size : int, optional
        An option of SciPy's solver, ignored here.
    options : dict, optional
        An option of SciPy's solver, ignored here.

    Returns
    -------
    SuperLU
        The factors, with a method `solve`.

    Raises
    ------
    ValueError
        For a matrix that is not square.
    RuntimeError
        For a singular matrix.
    NotImplementedError
        For more than 20,000 unknowns; use `cg`, `gmres` or `bicgstab`.

    See Also
    --------
    scipy.sparse.linalg.SuperLU, scipy.sparse.linalg.factorized, scipy.sparse.linalg.spsolve

    Examples
    --------
    >>> lu = cp.scipy.sparse.linalg.splu(cp.scipy.sparse.csc_array([[2.0, 0.0], [0.0, 4.0]]))
    >>> lu.solve(cp.asarray([2.0, 2.0]))
    array([1. , 0.5])
    """
    factors, pivots = lu_factor(_dense("splu", A), check_finite=False)
    pivot = cp.diagonal(factors)
    if not bool((cp.isfinite(pivot) & (pivot != 0)).all()):  # as SciPy says it of NaN and infinity too
        raise RuntimeError("Factor is exactly singular")
    return SuperLU(factors, pivots, A.nnz, A._class("csc"))


def factorized(A: Any) -> Callable[[ArrayLike], ndarray]:
    """Returns a function that solves a system for right-hand sides.

    Parameters
    ----------
    A : sparse matrix
        A square sparse matrix.

    Returns
    -------
    callable
        A function of the right-hand sides.

    Raises
    ------
    ValueError
        For a matrix that is not square.
    RuntimeError
        For a singular matrix.

    See Also
    --------
    scipy.sparse.linalg.splu, scipy.sparse.linalg.spsolve, scipy.sparse.linalg.SuperLU

    Examples
    --------
    >>> solve = cp.scipy.sparse.linalg.factorized(cp.scipy.sparse.csc_array([[2.0, 0.0], [0.0, 4.0]]))
    >>> solve(cp.asarray([2.0, 2.0]))
    array([1. , 0.5])
    """
    solve: Callable[[ArrayLike], ndarray] = splu(A).solve
    return solve


@on_data_device
def spsolve_triangular(
    A: Any, b: ArrayLike, lower: bool = True, overwrite_A: bool = False, overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> ndarray:  # fmt: skip
    """Solves A x = b for a triangular matrix, as a dense system.

    Parameters
    ----------
    A : sparse matrix
        A square sparse matrix, of which only the triangle is read.
    b : array_like
        A vector, or a matrix of right-hand sides.
    lower : bool, default True
        Whether the matrix is lower triangular.
    overwrite_A : bool, default False
        Has no effect.
    overwrite_b : bool, default False
        Has no effect.
    unit_diagonal : bool, default False
        Whether the diagonal counts as ones and is not read.

    Returns
    -------
    ndarray
        An array of the shape of `b`.

    Raises
    ------
    ValueError
        For a matrix that is not square, and right-hand sides of another length.
    LinAlgError
        For a singular matrix.

    See Also
    --------
    scipy.sparse.linalg.spsolve, scipy.sparse.linalg.splu, scipy.sparse.linalg.factorized

    Examples
    --------
    >>> A = cp.scipy.sparse.csr_array([[2.0, 0.0], [2.0, 1.0]])
    >>> cp.scipy.sparse.linalg.spsolve_triangular(A, cp.asarray([2.0, 3.0]))
    array([1., 1.])
    """
    dense, side = _dense("spsolve_triangular", A), array(b)
    if side.ndim not in (1, 2):
        raise ValueError(f"b must have 1 or 2 dims but its shape is {side.shape}.")
    if side.shape[0] != dense.shape[0]:
        raise ValueError(
            "The size of the dimensions of A must be equal to the size of the first dimension of b but the shape of A "
            f"is {A.shape} and the shape of b is {side.shape}."
        )
    if not unit_diagonal and bool((cp.diagonal(dense) == 0).any()):
        raise cp.linalg.LinAlgError("A is singular: zero entry on diagonal.")
    name = _dtypes.inexact(_core.promote_types(dense.dtype_name, side.dtype_name))
    return solve_triangular(
        astype(dense, name), astype(side, name), lower=lower, unit_diagonal=unit_diagonal, check_finite=False
    )


__all__ = ["SuperLU", "factorized", "splu", "spsolve_triangular"]
