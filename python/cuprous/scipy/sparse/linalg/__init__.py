"""Norms, solvers and eigenvalues of sparse matrices, with `scipy.sparse.linalg`'s names."""

from __future__ import annotations

from typing import Any

from cuprous.scipy._absent import absent
from cuprous.scipy.sparse.linalg._eigen import ArpackError, ArpackNoConvergence, eigsh, svds
from cuprous.scipy.sparse.linalg._factors import SuperLU, factorized, splu, spsolve_triangular
from cuprous.scipy.sparse.linalg._interface import LinearOperator, aslinearoperator
from cuprous.scipy.sparse.linalg._iterative import bicgstab, cg, cgs, gmres, minres
from cuprous.scipy.sparse.linalg._least_squares import lsmr, lsqr
from cuprous.scipy.sparse.linalg._lobpcg import lobpcg
from cuprous.scipy.sparse.linalg._matfuncs import matrix_power, spsolve
from cuprous.scipy.sparse.linalg._norms import norm

_ITERATE = "use cg, gmres or bicgstab"
_DENSE = "use cuprous.linalg on A.toarray()"
#: SciPy names that are not supported, each with the nearest alternative.
ALTERNATIVES = {
    **dict.fromkeys(("spilu", "use_solver"), _ITERATE),
    **dict.fromkeys(("bicg", "gcrotmk", "lgmres", "qmr", "tfqmr"), _ITERATE),
    **dict.fromkeys(("expm", "expm_multiply", "funm_multiply_krylov", "inv", "is_sptriangular", "spbandwidth"), _DENSE),
    "LaplacianNd": "use kronsum",
    "eigs": "use eigsh where the matrix is Hermitian, or linalg.eig of A.toarray()",
    "onenormest": "use norm(A, 1)",
}


def __getattr__(name: str) -> Any:
    return absent(__name__, name, ALTERNATIVES)


__all__ = [
    "ArpackError", "ArpackNoConvergence", "LinearOperator", "SuperLU", "aslinearoperator", "bicgstab", "cg", "cgs",
    "eigsh", "factorized", "gmres", "lobpcg", "lsmr", "lsqr", "matrix_power", "minres", "norm", "splu", "spsolve",
    "spsolve_triangular", "svds",
]  # fmt: skip
