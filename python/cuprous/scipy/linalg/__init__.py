"""`scipy.linalg` for Cuprous arrays: LU decomposition, matrices of special structure, functions of matrices, and the
functions of `cuprous.linalg` that have SciPy's names and meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuprous.linalg import LinAlgError
from cuprous.scipy._absent import absent
from cuprous.scipy.linalg._matrices import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    dft,
    fiedler,
    fiedler_companion,
    hadamard,
    hankel,
    helmert,
    hilbert,
    khatri_rao,
    kron,
    leslie,
    toeplitz,
)
from cuprous.scipy.linalg._solving import (
    LinAlgWarning,
    bandwidth,
    coshm,
    expm,
    lu,
    lu_factor,
    lu_solve,
    sinhm,
    solve_triangular,
    tanhm,
)

#: SciPy names that are not supported, each with the nearest alternative.
ALTERNATIVES = {
    **{name: f"use cuprous.linalg.{name}" for name in ("cholesky", "det", "eigh", "eigvalsh", "inv", "lstsq", "norm",
                                                       "pinv", "qr", "solve", "svd", "svdvals", "eig", "eigvals")},
    "logm": "use cuprous.linalg.eig", "sqrtm": "use cuprous.linalg.eigh", "schur": "use cuprous.linalg.eig",
    "cho_factor": "use cuprous.linalg.cholesky", "cho_solve": "use solve_triangular twice",
}  # fmt: skip


if not TYPE_CHECKING:  # checkers report names that do not exist

    def __getattr__(name: str) -> Any:
        return absent(__name__, name, ALTERNATIVES)


__all__ = [
    "LinAlgError", "LinAlgWarning", "bandwidth", "block_diag", "circulant", "companion", "convolution_matrix", "coshm",
    "dft", "expm", "fiedler", "fiedler_companion", "hadamard", "hankel", "helmert", "hilbert", "khatri_rao", "kron",
    "leslie", "lu", "lu_factor", "lu_solve", "sinhm", "solve_triangular", "tanhm", "toeplitz",
]  # fmt: skip
