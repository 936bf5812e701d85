"""Linear algebra that needs no decompositions: products, powers, norms and diagonals of matrices."""

from __future__ import annotations

from typing import Any

from cuprous._linalg_products import (
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
from cuprous._manipulation import matrix_transpose
from cuprous._norms import matrix_norm, norm, vector_norm


def __getattr__(name: str) -> Any:
    if name == "LinAlgError":  # NumPy's own; importing this module does not import NumPy
        from numpy.linalg import LinAlgError

        return LinAlgError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "multi_dot", "norm", "outer",
    "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
