"""The DIA (diagonal) format."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.arguments import array, ndarray
from cuprous._common.casting import astype
from cuprous._common.convert import convert
from cuprous._common.naming import named
from cuprous._common.operands import on_array_device
from cuprous._functions.joining import concatenate
from cuprous._functions.sets import unique
from cuprous.scipy.sparse import _pattern, _product
from cuprous.scipy.sparse._arithmetic import Arithmetic, _common_shape, inconsistent
from cuprous.scipy.sparse._base import Sparse, on_data_device, operand
from cuprous.scipy.sparse._checks import as_shape, check_swap, checked_dtype, is_number, is_shape
from cuprous.scipy.sparse._compressed import is_scipy


class Diagonals(Arithmetic):
    """A matrix in DIA format: `data[i, j]` is the element in column j of the diagonal `offsets[i]`.

    Elements of `data` outside the matrix are ignored.

    Parameters
    ----------
    arg1 : array_like, sparse matrix or tuple
        A dense array, a sparse matrix (SciPy's included), a shape, or (data, offsets).
    shape : int or tuple of ints, optional
        The shape, which (data, offsets) needs.
    dtype : dtype, optional
        The dtype of the values.
    copy : bool, default False
        Whether to copy arrays that already live on the device.
    maxprint : int, optional
        Has no effect; accepted as in SciPy.

    Raises
    ------
    ValueError
        For offsets that occur twice, whose check waits for the device, and for unsupported shapes and dtypes.

    See Also
    --------
    scipy.sparse.diags_array, scipy.sparse.csr_array, scipy.sparse.coo_array

    Examples
    --------
    >>> a = cp.scipy.sparse.dia_matrix(([[1, 2, 3], [4, 5, 6]], [0, -1]), shape=(3, 3))
    >>> a.toarray()
    array([[1, 0, 0],
           [4, 2, 0],
           [0, 5, 3]])
    """

    format = "dia"
    _offsets: ndarray

    @on_array_device
    def __init__(
        self, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, *, maxprint: Any = None
    ) -> None:
        if maxprint is not None:
            raise NotImplementedError("[dia] maxprint= is not supported; print A.get()")
        if is_scipy(arg1):
            own = arg1.todia()
            self._take(own.data, own.offsets, own.shape, None, False)
        elif isinstance(arg1, Sparse):
            self._assign_from(arg1.todia(copy=copy))
        elif is_shape(arg1):
            self._shape = as_shape(arg1)  # type: ignore[assignment]
            self._data = _core.empty((0, 0), checked_dtype(dtype))
            self._offsets = _core.empty((0,), _pattern.index_dtype(*self._shape))
        elif isinstance(arg1, tuple):
            if len(arg1) != 2:
                raise ValueError(f"unrecognized form for {type(self).__name__} constructor")
            if shape is None:
                raise ValueError("expected a shape argument")
            self._take(*arg1, shape, dtype, copy)
        else:
            if self._is_array and (ndim := convert(arg1).ndim) != 2:
                raise ValueError(f"DIA arrays don't support {ndim}D input. Use 2D")
            self._assign_from(self._class("coo")(arg1, dtype=dtype).todia())
        if shape is not None and as_shape(shape) != self._shape:
            raise ValueError(f"inconsistent shapes: {as_shape(shape)} != {self._shape}")
        if dtype is not None and checked_dtype(dtype) != self._dtype:
            self._data = _core.cast(self._data, checked_dtype(dtype))

    # --- construction

    @classmethod
    def _new(cls, data: ndarray, offsets: ndarray, shape: tuple[int, int]) -> Any:
        matrix = cls.__new__(cls)
        matrix._data, matrix._offsets, matrix._shape = data, offsets, shape
        return matrix

    def _assign_from(self, other: Any) -> None:
        self._data, self._offsets, self._shape = other._data, other._offsets, other._shape

    def _take(self, data: Any, offsets: Any, shape: Any, dtype: Any, copy: bool) -> None:
        self._shape = as_shape(shape)  # type: ignore[assignment]
        values, lines = convert(data), convert(offsets)
        values = values.reshape(1, -1) if values.ndim < 2 else values
        lines = lines.reshape(1) if lines.ndim == 0 else lines
        if lines.ndim != 1:
            raise ValueError("offsets array must have rank 1")
        if values.ndim != 2:
            raise ValueError("data array must have rank 2")
        if values.shape[0] != lines.size:
            raise ValueError(f"number of diagonals ({values.shape[0]}) does not match the number of offsets "
                             f"({lines.size})")  # fmt: skip
        if lines.size > 1:
            ordered = _core.sort(lines)
            if bool(_core.reduce("max", ordered[1:] == ordered[:-1], None)):
                raise ValueError("offset array contains duplicate values")
        name, index = checked_dtype(values.dtype_name if dtype is None else dtype), _pattern.index_dtype(*self._shape)
        self._data = values.copy() if copy and values.dtype_name == name else astype(values, name)
        self._offsets = lines.copy() if copy and lines.dtype_name == index else astype(lines, index)

    @classmethod
    def _from_coordinates(cls, a: Any) -> Any:
        """Creates a matrix from one in COO format without duplicates. Waits for the device for the offsets."""
        if not a.nnz:
            return cls(a._shape, dtype=a._dtype)
        columns = astype(a._col, "int64")
        steps = columns - a._row
        offsets = unique(steps)
        width = int(_core.reduce("max", columns, None)) + 1
        data = _core.full((offsets.size, width), 0, a._dtype)
        _core.scatter(data, _core.searchsorted(offsets, steps, False) * width + columns, a._data)
        return cls._new(data, astype(offsets, _pattern.index_dtype(*a._shape)), a._shape)

    def _with_data(self, data: ndarray) -> Any:
        return self._new(data, self._offsets, self._shape)

    @on_data_device
    def _positions(self) -> tuple[ndarray, ndarray, ndarray]:
        """Returns the row and column of each element of `data`, and whether it lies inside the matrix."""
        m, n = self._shape
        column = _core.broadcast_to(_pattern.arange(self._data.shape[1]), self._data.shape)
        row = column - self._offsets.reshape(-1, 1)
        return row, column, (row >= 0) & (row < m) & (column < n)

    # --- attributes

    @property
    def data(self) -> ndarray:
        """The diagonals, as rows."""
        return self._data

    @data.setter
    def data(self, values: Any) -> None:
        values = array(values)
        if values.ndim != 2 or values.shape[0] != self._offsets.size:
            raise ValueError(f"data must have {self._offsets.size} rows, not shape {values.shape}")
        checked_dtype(values.dtype_name)
        self._data = values

    @property
    def offsets(self) -> ndarray:
        """The offset of each diagonal; positive above the main diagonal."""
        return self._offsets

    @property
    def nnz(self) -> int:
        """The number of stored values inside the matrix, explicit zeros included. Waits for the device."""
        m, n = self._shape
        width = min(self._data.shape[1], n)
        return sum(max(min(m + k, width) - max(k, 0), 0) for k in _core.to_numpy(self._offsets).tolist())

    def __repr__(self) -> str:
        stored, rest = super().__repr__().split(" stored elements ")
        return f"{stored} stored elements ({self._offsets.size} diagonals) {rest}"

    # --- conversions

    def get(self, stream: Any = None) -> Any:
        import scipy.sparse

        arrays = _core.to_numpy(self._data), _core.to_numpy(self._offsets)
        return getattr(scipy.sparse, type(self).__name__)(arrays, shape=self._shape)

    def copy(self) -> Any:
        return self._new(self._data.copy(), self._offsets.copy(), self._shape)

    def todia(self, copy: bool = False) -> Any:
        return self.copy() if copy else self

    @on_data_device
    def _unordered(self) -> Any:
        """Returns the values that are not zero, in COO format."""
        row, column, inside = self._positions()
        kept = (inside & (self._data != 0)).reshape(-1)
        row, column, data = _pattern.keep(kept, row.reshape(-1), column.reshape(-1), self._data.reshape(-1))
        name = _pattern.index_dtype(*self._shape)
        return self._class("coo")._new(data, astype(row, name), astype(column, name), self._shape, None)

    @on_data_device
    def tocoo(self, copy: bool = True) -> Any:
        """Returns the values that are not zero in COO format, by row. They are always copied."""
        return self.tocsr().tocoo(copy=False)

    @on_data_device
    def tocsr(self, copy: bool = False) -> Any:
        """Returns the values that are not zero in CSR format. They are always copied."""
        return self._unordered().tocsr()

    @on_data_device
    def tocsc(self, copy: bool = False) -> Any:
        """Returns the values that are not zero in CSC format. They are always copied."""
        return self._unordered().tocsc()

    @on_data_device
    def toarray(self, order: str | None = None, out: ndarray | None = None) -> ndarray:
        return self._unordered().toarray(order, out)

    def _shifted(self, width: int, by: ndarray) -> ndarray:
        """Returns the diagonals with `width` columns, of which column j has the element of column `j + by`.

        Elements outside the matrix are zero. A `by` of several axes gives one more axis for each.
        """
        inside = _core.map("where", self._positions()[2], self._data, _core.full((), 0, self._dtype))
        source = _pattern.arange(width) + by
        have = self._data.shape[1]
        valid = (source >= 0) & (source < have)
        if not have or not width:
            return _core.full((*valid.shape,), 0, self._dtype)
        rows = _pattern.arange(self._data.shape[0]).reshape(-1, *(1,) * (valid.ndim - 1))
        picked = _core.gather(inside.copy(), rows * have + _core.map("where", valid, source, 0))
        return _core.map("where", valid, picked, _core.full((), 0, self._dtype))

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Returns the transpose, which has its own memory.

        Raises
        ------
        ValueError
            If `axes` is neither None nor (1, 0).
        """
        check_swap(axes)
        m, n = self._shape
        if not self._offsets.size:
            return self._new(self._data, self._offsets, (n, m))
        return self._new(self._shifted(m, self._offsets.reshape(-1, 1)), -self._offsets, (n, m))

    @on_data_device
    def diagonal(self, k: int = 0) -> ndarray:
        m, n = self._shape
        if k <= -m or k >= n:
            return _core.empty((0,), self._dtype)
        result = _core.full((min(m + min(k, 0), n - max(k, 0)),), 0, self._dtype)
        if k in (lines := _core.to_numpy(self._offsets).tolist()):
            found = self._data[lines.index(k), max(k, 0) : max(k, 0) + result.size]
            result[: found.size] = found
        return result

    def setdiag(self, values: Any, k: int = 0) -> None:
        by_rows = self.tocsr()
        by_rows.setdiag(values, k)
        self._assign_from(by_rows.todia())

    # --- canonical form and counts

    def sum_duplicates(self) -> None:
        """Does nothing, as no position can occur twice."""

    def count_nonzero(self, axis: int | None = None) -> int:
        """Counts the values that are not zero.

        Raises
        ------
        NotImplementedError
            For an axis, as SciPy.
        """
        if axis is not None:
            raise NotImplementedError("count_nonzero over an axis is not implemented for DIA format")
        return int(_core.reduce("sum", astype(self._positions()[2] & (self._data != 0), "int64"), None))

    # --- arithmetic

    def _apart(self, other: Diagonals) -> tuple[list[ndarray], ndarray]:
        """Returns the values of two matrices on all their diagonals, and the offsets of these."""
        offsets = unique(concatenate((self._offsets, other._offsets)))
        width = max(self._data.shape[1], other._data.shape[1])
        values = []
        for matrix in (self, other):
            spread = _core.full((offsets.size, width), 0, matrix._dtype)
            if matrix._data.size:
                _, column, inside = matrix._positions()
                at = _core.searchsorted(offsets, matrix._offsets, False).reshape(-1, 1) * width + column
                stored = _core.map("where", inside, matrix._data, _core.full((), 0, matrix._dtype))
                _core.scatter(spread, at, stored)
            values.append(spread)
        return values, offsets

    def __getitem__(self, key: Any) -> Any:
        raise TypeError(f"'{type(self).__name__}' object is not subscriptable; convert it with tocsr()")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(f"'{type(self).__name__}' object does not support item assignment; convert it with tocsr()")

    def _binary(self, other: Any, op: Any) -> Any:
        if not isinstance(other, Diagonals):
            return self.tocsr()._binary(other, op)
        if self._shape != other._shape:
            raise inconsistent(self._shape, other._shape)
        values, offsets = self._apart(other)
        return self._new(op(*values), offsets, self._shape)

    def multiply(self, other: Any) -> Any:
        other = operand(other)
        dense = None if is_number(other) or isinstance(other, Sparse) else array(other)
        if dense is None and (is_number(other) or (isinstance(other, Diagonals) and other._shape == self._shape)):
            return super().multiply(other)
        if dense is None or _common_shape(self, dense) != self._shape:
            return self.tocsr().multiply(other)
        row, column, inside = self._positions()
        wide = _core.broadcast_to(dense, self._shape)
        rows, columns = wide.element_strides
        at = _core.map("where", inside, row * rows + column * columns, 0)
        zero = _core.full((), 0, dense.dtype_name)
        return self._with_data(self._data * _core.map("where", inside, _core.gather(wide, at), zero))

    @on_data_device
    def _dot(self, dense: ndarray) -> ndarray:
        m, n = self._shape
        if not self._data.size or not m or not n:
            return _core.full((m, dense.shape[1]), 0, self._dtype)
        if dense.shape[1] > 1:
            return self.tocsr()._dot(dense)
        row, column, inside = self._positions()  # what lies outside goes to a row of its own
        row = _core.map("where", inside, row, m).reshape(-1)
        column = _core.map("where", inside, column, 0).reshape(-1)
        return _product.coordinates(self._data.reshape(-1), row, column, dense, m + 1)[:m]

    def _matmul(self, other: Any) -> Any:
        if not isinstance(other, Diagonals):
            return super()._matmul(other)
        (m, k), (high, n) = self._shape, other._shape
        if k != high:
            raise ValueError(f"matmul: dimension mismatch with signature (n,k={k}),(k={high},m)->(n,m)")
        name = _core.promote_types(self._dtype, other._dtype)
        if not self._data.size or not other._data.size:
            return type(self)((m, n), dtype=name)
        # Element (i, j) of the diagonals p and q lies on the diagonal p + q, in the column of the right operand.
        width = other._data.shape[1]
        left = self.astype(name, copy=False)._shifted(width, -other._offsets.reshape(1, -1, 1))
        right = _core.map("where", other._positions()[2], astype(other._data, name), _core.full((), 0, name))
        sums = astype(self._offsets, "int64").reshape(-1, 1) + other._offsets
        offsets = unique(sums.reshape(-1))
        data = _core.full((offsets.size, width), 0, name)
        at = _core.searchsorted(offsets, sums.reshape(-1), False).reshape(*sums.shape, 1) * width
        terms = _core.map("multiply", left, right)
        _core.scatter(data, at + _pattern.arange(width), terms, _pattern.combine(name))
        return self._new(data, astype(offsets, _pattern.index_dtype(m, n)), (m, n))


def _by_rows(name: str) -> Any:
    def method(self: Diagonals, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.tocsr(), name)(*args, **kwargs)

    return named(method, name, getattr(Arithmetic, name).__doc__ or f"Computes `{name}` of the matrix in CSR format.")


for _name in ("argmax", "argmin", "max", "mean", "min", "nanmax", "nanmin", "sum", "_compare", "_extreme"):
    setattr(Diagonals, _name, _by_rows(_name))
