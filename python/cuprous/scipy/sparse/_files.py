"""Reading and writing SciPy's `.npz` format. The data passes through the host."""

from __future__ import annotations

from typing import Any

from cuprous.scipy.sparse._base import Sparse, from_scipy
from cuprous.scipy.sparse._checks import FORMATS


def save_npz(file: Any, matrix: Any, compressed: bool = True) -> None:
    """Saves a matrix in a file that `scipy.sparse.load_npz` can also read.

    Parameters
    ----------
    file : str, path-like or file
        The name of a file, to which ".npz" is added if needed, or a file opened for writing bytes.
    matrix : sparse matrix
        The sparse matrix.
    compressed : bool, default True
        Whether to compress the file.

    See Also
    --------
    cuprous.scipy.sparse.load_npz, cuprous.savez, cuprous.savez_compressed

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> cp.scipy.sparse.save_npz(file, cp.scipy.sparse.eye(2, format="csr"))
    >>> file.getvalue()[:2]
    b'PK'
    """
    import scipy.sparse

    scipy.sparse.save_npz(file, matrix.get() if isinstance(matrix, Sparse) else matrix, compressed)


def load_npz(file: Any) -> Any:
    """Loads a file written by `save_npz` (SciPy's included), in the format that was saved.

    Parameters
    ----------
    file : str, path-like or file
        The name of a file, or a file opened for reading bytes.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    Raises
    ------
    NotImplementedError
        For the format bsr.

    See Also
    --------
    cuprous.scipy.sparse.save_npz, cuprous.load

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> cp.scipy.sparse.save_npz(file, cp.scipy.sparse.eye(2, format="csr"))
    >>> _ = file.seek(0)
    >>> cp.scipy.sparse.load_npz(file).toarray()
    array([[1., 0.],
           [0., 1.]])
    """
    import scipy.sparse

    matrix = scipy.sparse.load_npz(file)
    if matrix.format not in FORMATS:
        raise NotImplementedError(f"[load_npz] format {matrix.format} is not supported; there are the formats "
                                  f"{', '.join(FORMATS)}")  # fmt: skip
    return from_scipy(matrix)
