"""Sparse matrices and arrays under `scipy.sparse`'s names, in the CSR, CSC, COO and DIA formats.

Values and indices live on the device, and operations on them are recorded lazily like all others. Operations whose
number of stored values depends on the data wait for the device: summing duplicates, adding or multiplying two sparse
matrices, and indexing rows.
"""

from __future__ import annotations

from typing import Any

from cuprous.scipy._absent import absent
from cuprous.scipy.sparse import csgraph, linalg
from cuprous.scipy.sparse._axes import (
    get_index_dtype,
    matrix_transpose,
    permute_dims,
    safely_cast_index_arrays,
    swapaxes,
)
from cuprous.scipy.sparse._base import sparray, spmatrix
from cuprous.scipy.sparse._blocks import block_array, block_diag, bmat, hstack, vstack
from cuprous.scipy.sparse._checks import SparseEfficiencyWarning, SparseWarning
from cuprous.scipy.sparse._classes import (
    coo_array,
    coo_matrix,
    csc_array,
    csc_matrix,
    csr_array,
    csr_matrix,
    dia_array,
    dia_matrix,
    issparse,
    isspmatrix,
    isspmatrix_coo,
    isspmatrix_csc,
    isspmatrix_csr,
    isspmatrix_dia,
)
from cuprous.scipy.sparse._construct import diags, diags_array, eye, eye_array, identity, kron, kronsum, spdiags
from cuprous.scipy.sparse._extract import find, tril, triu
from cuprous.scipy.sparse._files import load_npz, save_npz
from cuprous.scipy.sparse._random import rand, random, random_array

_FORMATS = "use csr, csc, coo or dia"
#: SciPy names that are not supported, each with the nearest alternative.
ALTERNATIVES = {
    **{f"{name}_{kind}": _FORMATS for name in ("bsr", "dok", "lil") for kind in ("array", "matrix")},
    **dict.fromkeys(("isspmatrix_bsr", "isspmatrix_dok", "isspmatrix_lil"), _FORMATS),
    "expand_dims": "use reshape",
}


def __getattr__(name: str) -> Any:
    return absent(__name__, name, ALTERNATIVES)


__all__ = [
    "SparseEfficiencyWarning", "SparseWarning", "block_array", "block_diag", "bmat", "coo_array", "coo_matrix",
    "csc_array", "csc_matrix", "csgraph", "csr_array", "csr_matrix", "dia_array", "dia_matrix", "diags",
    "diags_array", "eye", "eye_array", "find", "get_index_dtype", "hstack", "identity", "issparse", "isspmatrix",
    "isspmatrix_coo", "isspmatrix_csc", "isspmatrix_csr", "isspmatrix_dia", "kron", "kronsum", "linalg", "load_npz",
    "matrix_transpose", "permute_dims", "rand", "random", "random_array", "safely_cast_index_arrays", "save_npz",
    "sparray", "spdiags", "spmatrix", "swapaxes", "tril", "triu", "vstack",
]  # fmt: skip
