"""Reading and writing SciPy's `.npz` format. The data passes through the host."""

from __future__ import annotations

from typing import Any

from cuprous.scipy.sparse import _classes
from cuprous.scipy.sparse._base import Sparse
from cuprous.scipy.sparse._checks import FORMATS


def save_npz(file: Any, matrix: Any, compressed: bool = True) -> None:
    """Saves a matrix in a file that `scipy.sparse.load_npz` can also read."""
    import scipy.sparse

    scipy.sparse.save_npz(file, matrix.get() if isinstance(matrix, Sparse) else matrix, compressed)


def load_npz(file: Any) -> Any:
    """Loads a file written by `save_npz` (SciPy's included), in the format that was saved.

    Raises:
        NotImplementedError: for the formats bsr and dia.
    """
    import scipy.sparse

    matrix = scipy.sparse.load_npz(file)
    if matrix.format not in FORMATS:
        raise NotImplementedError(f"[load_npz] format {matrix.format} is not supported; there are the formats "
                                  f"{', '.join(FORMATS)}")  # fmt: skip
    return _classes.from_scipy(matrix)
