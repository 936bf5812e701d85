"""The sparse classes, one for each combination of format (CSR, CSC, COO, DIA) and kind (matrix, array)."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous.scipy.sparse import _pattern, _reductions
from cuprous.scipy.sparse._base import CLASSES, Sparse, sparray, spmatrix
from cuprous.scipy.sparse._compressed import Compressed
from cuprous.scipy.sparse._coo import Coordinates
from cuprous.scipy.sparse._dia import Diagonals


class _Matrix(spmatrix):
    """Methods that only matrices have, not arrays."""

    def get_shape(self: Any) -> tuple[int, int]:
        """Returns the shape."""
        shape: tuple[int, int] = self._shape
        return shape

    def getformat(self: Any) -> str:
        """Returns the name of the format."""
        name: str = self.format
        return name

    def getmaxprint(self: Any) -> int:
        """Returns the number of values that SciPy prints at most."""
        return 50

    def getnnz(self: Any, axis: int | None = None) -> Any:
        """Counts the stored values; per row or column if `axis` is given."""
        if axis is None:
            return self.nnz
        index, extent = _reductions.remaining_index(self, _reductions.reduction_axis(axis))
        return _pattern.add_up(index, _core.full((self.nnz,), 1, "int64"), extent)

    def getrow(self: Any, i: int) -> Any:
        """Returns row i as a matrix."""
        return self.tocsr()[i]

    def getcol(self: Any, j: int) -> Any:
        """Returns column j as a matrix."""
        return self.tocsc()[:, j].asformat(self.format if self.format == "csr" else "csc")

    def getH(self: Any) -> Any:
        """Returns the conjugate transpose."""
        return self.transpose().conj()

    H = property(getH)

    def asfptype(self: Any) -> Any:
        """Returns the matrix with floating-point values."""
        return self if self.dtype.kind in "fc" else self.astype("float64")


class csr_matrix(_Matrix, Compressed):
    __doc__ = Compressed.__doc__
    format = "csr"
    _major = 0


class csc_matrix(_Matrix, Compressed):
    __doc__ = Compressed.__doc__
    format = "csc"
    _major = 1


class coo_matrix(_Matrix, Coordinates):
    __doc__ = Coordinates.__doc__


class dia_matrix(_Matrix, Diagonals):
    __doc__ = Diagonals.__doc__

    def getnnz(self, axis: int | None = None) -> int:
        """Counts the stored values.

        Parameters
        ----------
        axis : int, optional
            Only None.

        Returns
        -------
        int

        Raises
        ------
        NotImplementedError
            For an axis, as SciPy.

        Examples
        --------
        >>> cp.scipy.sparse.eye(3).getnnz()
        3
        """
        if axis is not None:
            raise NotImplementedError("getnnz over an axis is not implemented for DIA format")
        return self.nnz


class csr_array(sparray, Compressed):
    __doc__ = Compressed.__doc__
    format = "csr"
    _major = 0


class csc_array(sparray, Compressed):
    __doc__ = Compressed.__doc__
    format = "csc"
    _major = 1


class coo_array(sparray, Coordinates):
    __doc__ = Coordinates.__doc__


class dia_array(sparray, Diagonals):
    __doc__ = Diagonals.__doc__


CLASSES.update(
    ((cls.format, cls._is_array), cls)
    for cls in (
        csr_matrix, csc_matrix, coo_matrix, dia_matrix, csr_array, csc_array, coo_array, dia_array,
    )
)  # fmt: skip


def issparse(x: Any) -> bool:
    """Returns true for Cuprous's sparse matrices and arrays.

    Parameters
    ----------
    x : object
        Any object.

    Returns
    -------
    bool

    See Also
    --------
    scipy.sparse.sparray, scipy.sparse.spmatrix, scipy.sparse.isspmatrix, scipy.sparse.isspmatrix_csr,
    scipy.sparse.isspmatrix_csc

    Examples
    --------
    >>> cp.scipy.sparse.issparse(cp.scipy.sparse.eye(2))
    True
    """
    return isinstance(x, Sparse)


def isspmatrix(x: Any) -> bool:
    """Returns true for Cuprous's sparse matrices, and false for its sparse arrays.

    Parameters
    ----------
    x : object
        Any object.

    Returns
    -------
    bool

    See Also
    --------
    scipy.sparse.isspmatrix_csr, scipy.sparse.isspmatrix_csc, scipy.sparse.isspmatrix_coo,
    scipy.sparse.isspmatrix_dia, scipy.sparse.issparse

    Examples
    --------
    >>> cp.scipy.sparse.isspmatrix(cp.scipy.sparse.eye_array(2))
    False
    """
    return isinstance(x, Sparse) and isinstance(x, spmatrix)


def isspmatrix_csr(x: Any) -> bool:
    """Returns true for instances of `csr_matrix`.

    Parameters
    ----------
    x : object
        Any object.

    Returns
    -------
    bool

    See Also
    --------
    scipy.sparse.isspmatrix_csc, scipy.sparse.isspmatrix_coo, scipy.sparse.isspmatrix_dia, scipy.sparse.issparse,
    scipy.sparse.isspmatrix

    Examples
    --------
    >>> cp.scipy.sparse.isspmatrix_csr(cp.scipy.sparse.eye(2, format="csr"))
    True
    """
    return isinstance(x, csr_matrix)


def isspmatrix_csc(x: Any) -> bool:
    """Returns true for instances of `csc_matrix`.

    Parameters
    ----------
    x : object
        Any object.

    Returns
    -------
    bool

    See Also
    --------
    scipy.sparse.isspmatrix_coo, scipy.sparse.isspmatrix_dia, scipy.sparse.issparse, scipy.sparse.isspmatrix,
    scipy.sparse.isspmatrix_csr

    Examples
    --------
    >>> cp.scipy.sparse.isspmatrix_csc(cp.scipy.sparse.eye(2))
    False
    """
    return isinstance(x, csc_matrix)


def isspmatrix_dia(x: Any) -> bool:
    """Returns true for instances of `dia_matrix`.

    Parameters
    ----------
    x : object
        Any object.

    Returns
    -------
    bool

    See Also
    --------
    scipy.sparse.issparse, scipy.sparse.isspmatrix, scipy.sparse.isspmatrix_csr, scipy.sparse.isspmatrix_csc,
    scipy.sparse.isspmatrix_coo

    Examples
    --------
    >>> cp.scipy.sparse.isspmatrix_dia(cp.scipy.sparse.eye(2))
    True
    """
    return isinstance(x, dia_matrix)


def isspmatrix_coo(x: Any) -> bool:
    """Returns true for instances of `coo_matrix`.

    Parameters
    ----------
    x : object
        Any object.

    Returns
    -------
    bool

    See Also
    --------
    scipy.sparse.isspmatrix_dia, scipy.sparse.issparse, scipy.sparse.isspmatrix, scipy.sparse.isspmatrix_csr,
    scipy.sparse.isspmatrix_csc

    Examples
    --------
    >>> cp.scipy.sparse.isspmatrix_coo(cp.scipy.sparse.eye(2))
    False
    """
    return isinstance(x, coo_matrix)
