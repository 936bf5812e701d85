"""The COO (coordinate) format."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._common.arguments import as_shape as any_shape
from cuprous._common.arguments import ndarray
from cuprous._common.casting import astype
from cuprous._common.convert import convert
from cuprous._common.masks import flatnonzero
from cuprous._common.operands import on_array_device
from cuprous.scipy.sparse import _indexing, _pattern, _product
from cuprous.scipy.sparse._arithmetic import Arithmetic, inconsistent
from cuprous.scipy.sparse._base import Sparse, on_data_device, values_of
from cuprous.scipy.sparse._checks import as_shape, check_swap, checked_dtype, is_shape
from cuprous.scipy.sparse._compressed import index_of, is_scipy


class Coordinates(Arithmetic):
    """A matrix in COO format: rows, columns and values. Values at duplicate positions add up.

    A sparse array may have one axis, as results of indexing a row do.

    Parameters
    ----------
    arg1 : array_like, sparse matrix or tuple
        A dense array, a sparse matrix (SciPy's included), a shape, or (data, (row, col)).
    shape : int or tuple of ints, optional
        The shape, if `arg1` does not determine it.
    dtype : dtype, optional
        The dtype of the values.
    copy : bool, default False
        Whether to copy arrays that already live on the device.
    maxprint : int, optional
        Has no effect; accepted as in SciPy.

    Raises
    ------
    ValueError
        For positions outside the shape, whose check waits for the device, and for unsupported shapes and dtypes.

    See Also
    --------
    scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.dia_array

    Examples
    --------
    >>> a = cp.scipy.sparse.coo_matrix(([5, 6], ([0, 1], [1, 0])), shape=(2, 2))
    >>> a.toarray()
    array([[0, 5],
           [6, 0]])
    """

    format = "coo"

    @on_array_device
    def __init__(
        self, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, *, maxprint: Any = None
    ) -> None:
        if maxprint is not None:
            raise NotImplementedError("[coo] maxprint= is not supported; print A.get()")
        self._canonical: bool | None = None
        self._flat = False
        if is_scipy(arg1):
            own = arg1.tocoo()
            if len(own.shape) > 2:
                raise NotImplementedError(f"[coo] arrays of {len(own.shape)} axes are not supported; use two")
            self._take((own.data, own.coords), own.shape, None, False)
        elif isinstance(arg1, Sparse):
            self._assign_from(arg1.tocoo(copy=copy))
        elif is_shape(arg1):
            self._set_shape(as_shape(arg1, self._is_array))
            self._data = _core.empty((0,), checked_dtype(dtype))
            self._row = self._col = _core.empty((0,), "int32")
            self._canonical = True
        elif isinstance(arg1, tuple):
            if len(arg1) != 2:
                raise TypeError("invalid input format")
            self._take(arg1, shape, dtype, copy)
        else:
            self._take_dense(arg1, dtype)
        if shape is not None and as_shape(shape, self._is_array) != self.shape:
            raise ValueError(f"inconsistent shapes: {as_shape(shape, self._is_array)} != {self.shape}")
        if dtype is not None and checked_dtype(dtype) != self._dtype:
            self._data = _core.cast(self._data, checked_dtype(dtype))

    # --- construction

    @classmethod
    def _new(cls, data: ndarray, row: ndarray, col: ndarray, shape: tuple[int, int], canonical: bool | None) -> Any:
        matrix = cls.__new__(cls)
        matrix._data, matrix._row, matrix._col, matrix._shape = data, row, col, shape
        matrix._canonical, matrix._flat = canonical, False
        return matrix

    def _assign_from(self, other: Any) -> None:
        self._data, self._row, self._col, self._shape = other._data, other._row, other._col, other._shape
        self._canonical, self._flat = other._canonical, other._flat

    def _flattened(self) -> Any:
        """Turns a matrix with one row into an array with one axis, in place."""
        self._flat = True
        return self

    def _set_shape(self, shape: tuple[int, ...]) -> None:
        self._flat = len(shape) == 1
        self._shape = (1, shape[0]) if self._flat else (shape[0], shape[1])

    def _take(self, arg: Any, shape: Any, dtype: Any, copy: bool) -> None:
        data, indices = arg
        try:
            coords = tuple(index_of(c) for c in indices)
        except TypeError:
            raise TypeError("invalid input format") from None
        if not 1 <= len(coords) <= 2 or (len(coords) == 1 and not self._is_array):
            raise ValueError(f"coordinates of {len(coords)} axes; a sparse {type(self).__name__} has 2")
        self._data = values_of(data, dtype, copy)
        if any(c.size != self._data.size for c in coords):
            raise ValueError("all index and data arrays must have the same length")
        if shape is None:
            if self._data.size == 0:
                raise ValueError("cannot infer dimensions from zero sized index arrays")
            shape = tuple(int(_core.reduce("max", c, None)) + 1 for c in coords)
        shape = as_shape(shape, self._is_array)
        if len(shape) != len(coords):
            raise ValueError("mismatching number of index arrays for shape")
        for axis, (c, extent) in enumerate(zip(coords, shape, strict=True)):
            _check(c, extent, axis)
        self._set_shape(shape)
        name = _pattern.index_dtype(*shape)
        coords = tuple(c.copy() if copy and c.dtype_name == name else astype(c, name) for c in coords)
        self._col = coords[-1]
        self._row = coords[0] if len(coords) == 2 else _core.full((self._data.size,), 0, name)

    def _take_dense(self, arg: Any, dtype: Any) -> None:
        dense = arg if isinstance(arg, ndarray) else convert(arg)
        if dense.ndim == 0 and self._is_array:
            raise TypeError(f"coo_array does not support {arg!r}; it must have axes")
        if dense.ndim > 2:
            raise NotImplementedError(f"[coo] arrays of {dense.ndim} axes are not supported; use two")
        checked_dtype(dense.dtype_name)
        if dtype is not None:
            dense = astype(dense, checked_dtype(dtype))
        self._set_shape(dense.shape if dense.ndim == 2 or self._is_array else (1, dense.size))
        flat = dense.reshape(-1)
        where = flatnonzero(flat)
        name = _pattern.index_dtype(*self._shape)
        row, col = _pattern.split(where, self._shape[1])
        self._row, self._col = astype(row, name), astype(col, name)
        self._data = _pattern.take(flat, where)
        self._canonical = True

    @classmethod
    def _from_keys(cls, positions: ndarray, values: ndarray, shape: tuple[int, int]) -> Any:
        """Creates a matrix from sorted keys (row * columns + column)."""
        row, col = _pattern.split(positions, shape[1])
        name = _pattern.index_dtype(*shape)
        return cls._new(values, astype(row, name), astype(col, name), shape, True)

    def _keys(self) -> ndarray:
        return _pattern.keys(self._row, self._col, self._shape)

    def _with_data(self, data: ndarray) -> Any:
        matrix = self._new(data, self._row, self._col, self._shape, self._canonical)
        matrix._flat = self._flat
        return matrix

    # --- attributes

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape[1:] if self._flat else self._shape

    @property
    def row(self) -> ndarray:
        """The row of each value, as a writable array."""
        self._canonical = None
        return self._row

    @row.setter
    def row(self, values: Any) -> None:
        self._row = self._replaced(values, 0)

    @property
    def col(self) -> ndarray:
        """The column of each value, as a writable array."""
        self._canonical = None
        return self._col

    @col.setter
    def col(self, values: Any) -> None:
        self._col = self._replaced(values, 1)

    def _replaced(self, values: Any, axis: int) -> ndarray:
        values = index_of(values)
        if values.shape != (self.nnz,):
            raise ValueError(f"an index array must have {self.nnz} elements, not shape {values.shape}")
        _check(values, self._shape[axis], axis)
        self._canonical = None
        return astype(values, _pattern.index_dtype(*self._shape))

    @property
    def coords(self) -> tuple[ndarray, ...]:
        """The index arrays, one for each axis."""
        return (self.col,) if self._flat else (self.row, self.col)

    @property
    def has_canonical_format(self) -> bool:
        """True if the positions are known to be sorted and without duplicates."""
        return bool(self._canonical)

    @has_canonical_format.setter
    def has_canonical_format(self, value: bool) -> None:
        self._canonical = bool(value)

    # --- conversions

    def get(self, stream: Any = None) -> Any:
        import scipy.sparse

        indices = (self._col,) if self._flat else (self._row, self._col)
        coords = tuple(_core.to_numpy(c) for c in indices)
        matrix = getattr(scipy.sparse, type(self).__name__)((_core.to_numpy(self._data), coords), shape=self.shape)
        matrix.has_canonical_format = self.has_canonical_format
        return matrix

    def copy(self) -> Any:
        matrix = self._new(self._data.copy(), self._row.copy(), self._col.copy(), self._shape, self._canonical)
        matrix._flat = self._flat
        return matrix

    def tocoo(self, copy: bool = True) -> Any:
        return self.copy() if copy else self

    @on_data_device
    def _summed(self) -> tuple[ndarray, ndarray]:
        """Returns sorted keys and their values, with duplicates summed."""
        at = self._keys()
        return (at, self._data) if self._canonical else _pattern.merge_equal(at, self._data)

    @on_data_device
    def _rows(self) -> Any:
        """Returns the matrix in CSR format; an array with one axis becomes one row."""
        return self._class("csr")._from_keys(*self._summed(), self._shape)

    @on_data_device
    def tocsr(self, copy: bool = False) -> Any:
        """Returns the matrix in CSR format.

        Raises
        ------
        NotImplementedError
            For an array with one axis.
        """
        self._two("tocsr")
        return self._rows()

    def _two(self, name: str) -> None:
        if self._flat:
            raise NotImplementedError(f"[{name}] an array with one axis is not supported; use reshape((1, -1))")

    @on_data_device
    def tocsc(self, copy: bool = False) -> Any:
        """Returns the matrix in CSC format.

        Raises
        ------
        NotImplementedError
            For an array with one axis.
        """
        self._two("tocsc")
        at = _pattern.keys(self._col, self._row, self._shape[::-1])
        return self._class("csc")._from_keys(*_pattern.merge_equal(at, self._data), self._shape)

    @on_data_device
    def toarray(self, order: str | None = None, out: ndarray | None = None) -> ndarray:
        """Returns a dense array in memory order "C" or "F", or writes to `out`.

        Raises
        ------
        ValueError
            For an `out` of another shape or dtype or together with `order`, and for an unknown `order`.
        """
        if out is not None and order is not None:
            raise ValueError("order cannot be specified if out is not None")
        if out is not None and (out.shape != self.shape or out.dtype_name != self._dtype):
            raise ValueError("out array must be same dtype and shape as sparse array")
        if order is not None and order.upper() not in ("C", "F", "A", "K"):
            raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")
        m, n = self._shape
        column_major = (order or "C").upper() == "F"
        first, second, inner = (self._col, self._row, m) if column_major else (self._row, self._col, n)
        dense = _core.full((n, m) if column_major else (m, n), 0, self._dtype)
        if self.nnz:
            at = astype(first, "int64") * inner + second
            _core.scatter(dense, at, self._data, "set" if self._canonical else _pattern.combine(self._dtype))
        dense = dense.T if column_major else dense
        dense = dense.reshape(n) if self._flat else dense
        if out is None:
            return dense
        _core.update(out, dense)
        return out

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> Any:
        given = shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
        wanted = [int(n) for n in given]
        m, n = self._shape
        if -1 in wanted:
            rest = -math.prod(wanted)
            wanted[wanted.index(-1)] = m * n // rest if rest else 0
        extents = any_shape(tuple(wanted))
        if math.prod(extents) != m * n:
            raise ValueError(f"cannot reshape array of size {m * n} into shape {extents}")
        if order not in ("C", "F"):
            raise ValueError("'order' must be 'C' or 'F'")
        extents = as_shape(extents, self._is_array)
        p, q = (1, extents[0]) if len(extents) == 1 else extents
        if order == "C":
            row, col = _pattern.split(astype(self._row, "int64") * n + self._col, q)
        else:
            col, row = _pattern.split(astype(self._col, "int64") * m + self._row, p)
        name = _pattern.index_dtype(p, q)
        other = self._new(self._data.copy() if copy else self._data, astype(row, name), astype(col, name), (p, q), None)
        return other._flattened() if len(extents) == 1 else other

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Returns the transpose, which shares the arrays unless `copy`.

        Raises
        ------
        ValueError
            If `axes` is neither None nor (1, 0).
        """
        if self._flat:
            return self.copy() if copy else self
        check_swap(axes)
        a = self.copy() if copy else self
        return self._new(a._data, a._col, a._row, self._shape[::-1], None)

    # --- canonical form

    def sum_duplicates(self) -> None:
        """Sums the values of duplicate positions and sorts the positions by row, in place. Waits for the device."""
        if not self._canonical:
            matrix = self._from_keys(*self._summed(), self._shape)
            matrix._flat = self._flat
            self._assign_from(matrix)

    def eliminate_zeros(self) -> None:
        """Removes explicit zeros, in place. Waits for the device."""
        if self.nnz and bool(_core.reduce("max", self._data == 0, None)):
            kept = _pattern.keep(self._data != 0, self._row, self._col, self._data)
            self._row, self._col, self._data = kept

    # --- arithmetic

    @on_data_device
    def _dot(self, dense: ndarray) -> ndarray:
        if self._canonical or dense.shape[1] > 1:
            return self._rows()._dot(dense)
        # For a single vector, sorting the positions would cost more than scattering the products.
        return _product.coordinates(self._data, self._row, self._col, dense, self._shape[0])

    def _binary(self, other: Any, op: Any) -> Any:
        if self.shape != other.shape:
            raise inconsistent(self.shape, other.shape)
        result = self._rows()._binary(other._rows() if other.format == "coo" else other.tocsr(), op)
        return result.tocoo(copy=False)._flattened() if self._flat else result

    def __getitem__(self, key: Any) -> Any:
        if self._flat:
            return _indexing.read_flat(self, key)
        raise TypeError(f"'{type(self).__name__}' object is not subscriptable; convert it with tocsr()")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(f"'{type(self).__name__}' object does not support item assignment; convert it with tocsr()")


def _check(index: ndarray, extent: int, axis: int) -> None:
    """Raises ValueError for an index outside its axis."""
    if not index.size:
        return
    highest, lowest = _pattern.numbers(_core.reduce("max", index, None), _core.reduce("min", index, None))
    if highest >= extent:
        raise ValueError(f"axis {axis} index {highest} exceeds matrix dimension {extent}")
    if lowest < 0:
        raise ValueError(f"negative axis {axis} index: {lowest}")
