"""Linear algebra: `numpy.linalg`, for batches of matrices in the last two axes."""

from __future__ import annotations

from typing import Any

from cuprous._exports import Exports
from cuprous._functions.manipulation import matrix_transpose
from cuprous.linalg._decompositions import cholesky, det, eig, eigh, eigvals, eigvalsh, qr, slogdet
from cuprous.linalg._norms import matrix_norm, norm, vector_norm
from cuprous.linalg._products import (
    cross,
    diagonal,
    matmul,
    matrix_power,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)  # fmt: skip
from cuprous.linalg._solving import cond, inv, lstsq, matrix_rank, pinv, solve, tensorinv, tensorsolve
from cuprous.linalg._svd import svd, svdvals

#: NumPy's own error; importing this module does not import NumPy.
_EXPORTS = Exports(__name__, {"numpy.linalg": "LinAlgError"})


def __getattr__(name: str) -> Any:
    return _EXPORTS.get(name)


__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip
