"""The classes by format and kind."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous.scipy.sparse import _pattern, _reductions
from cuprous.scipy.sparse._base import Sparse, sparray, spmatrix
from cuprous.scipy.sparse._compressed import Compressed
from cuprous.scipy.sparse._coo import Coordinates

#: Names of the formats, for people.
FORMATS = {"csr": "Compressed Sparse Row", "csc": "Compressed Sparse Column", "coo": "COOrdinate"}


class _Matrix(spmatrix):
    """What only matrices have."""

    def get_shape(self: Any) -> tuple[int, int]:
        """Its extents."""
        shape: tuple[int, int] = self._shape
        return shape

    def getformat(self: Any) -> str:
        """The name of its format."""
        name: str = self.format
        return name

    def getmaxprint(self: Any) -> int:
        """How many values SciPy prints."""
        return 50

    def getnnz(self: Any, axis: int | None = None) -> Any:
        """How many values are stored; by row or column for an axis."""
        if axis is None:
            return self.nnz
        a, which = self.tocoo(copy=False), _reductions.reduction_axis(axis)
        index, extent = (a._col, self._shape[1]) if which == 0 else (a._row, self._shape[0])
        return _pattern.add_up(index, _core.full((self.nnz,), 1, "int64"), extent)

    def getrow(self: Any, i: int) -> Any:
        """Row i as a matrix."""
        return self.tocsr()[i]

    def getcol(self: Any, j: int) -> Any:
        """Column j as a matrix."""
        return self.tocsc()[:, j].asformat(self.format if self.format == "csr" else "csc")

    def getH(self: Any) -> Any:
        """The conjugate of the transpose."""
        return self.transpose().conj()

    @property
    def H(self: Any) -> Any:
        """The conjugate of the transpose."""
        return self.transpose().conj()

    def asfptype(self: Any) -> Any:
        """With floating-point values."""
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


_CLASSES = {
    (cls.format, cls._is_array): cls
    for cls in (csr_matrix, csc_matrix, coo_matrix, csr_array, csc_array, coo_array)
}  # fmt: skip


def of(format: str, is_array: bool) -> Any:
    """The class of a format."""
    return _CLASSES[format, is_array]


def from_scipy(a: Any) -> Any:
    """The same matrix here."""
    return _CLASSES[a.format, not _is_matrix(a)](a)


def _is_matrix(a: Any) -> bool:
    import scipy.sparse

    return isinstance(a, scipy.sparse.spmatrix)


def issparse(x: Any) -> bool:
    """Is it a sparse matrix or array of ours?"""
    return isinstance(x, Sparse)


def isspmatrix(x: Any) -> bool:
    """Is it a sparse matrix (and no array) of ours?"""
    return isinstance(x, Sparse) and isinstance(x, spmatrix)


def isspmatrix_csr(x: Any) -> bool:
    """Is it a `csr_matrix`?"""
    return isinstance(x, csr_matrix)


def isspmatrix_csc(x: Any) -> bool:
    """Is it a `csc_matrix`?"""
    return isinstance(x, csc_matrix)


def isspmatrix_coo(x: Any) -> bool:
    """Is it a `coo_matrix`?"""
    return isinstance(x, coo_matrix)
