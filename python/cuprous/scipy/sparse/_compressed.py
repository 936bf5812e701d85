"""The compressed formats, CSR and CSC."""

from __future__ import annotations

from typing import Any, ClassVar

from cuprous import _core
from cuprous._common.arguments import ndarray
from cuprous._common.casting import astype
from cuprous._common.convert import convert
from cuprous._common.operands import on_array_device
from cuprous.scipy.sparse import _indexing, _pattern, _product
from cuprous.scipy.sparse._arithmetic import Arithmetic, inconsistent
from cuprous.scipy.sparse._base import Sparse, on_data_device, values_of
from cuprous.scipy.sparse._checks import as_shape, check_swap, checked_dtype, is_shape
from cuprous.scipy.sparse._pattern import Pattern


def is_scipy(x: object) -> bool:
    """Returns true for sparse matrices of SciPy (or CuPy)."""
    return not isinstance(x, Sparse) and hasattr(x, "tocoo") and hasattr(x, "nnz") and hasattr(x, "shape")


def index_of(index: Any) -> ndarray:
    """Converts an index array that is passed to a constructor.

    Raises
    ------
    ValueError
        For dtypes that are not integers, and arrays that are not one-dimensional.
    """
    import numpy as np

    if not isinstance(index, ndarray):
        host = np.asarray(index)
        index = convert(host.astype(np.int64) if host.size == 0 else host)
    if index.dtype_name[:3] not in ("int", "uin"):
        raise ValueError(f"index arrays should have integer data types, not {index.dtype_name}")
    if index.ndim != 1:
        raise ValueError("index arrays should be 1-D")
    return index


class Compressed(Arithmetic):
    """A matrix in CSR (CSC) format: row (column) i has the values `data[indptr[i]:indptr[i + 1]]`, in the columns
    (rows) `indices[indptr[i]:indptr[i + 1]]`.

    Parameters
    ----------
    arg1 : array_like, sparse matrix or tuple
        A dense array, a sparse matrix (SciPy's included), a shape, (data, (row, col)) or (data, indices, indptr).
    shape : int or tuple of ints, optional
        The shape, if `arg1` does not determine it.
    dtype : dtype, optional
        The dtype of the values.
    copy : bool, default False
        Whether to copy values that already live on the device; index arrays are always copied.
    maxprint : int, optional
        Has no effect; accepted as in SciPy.

    Raises
    ------
    ValueError
        For invalid index arrays, whose check waits for the device, and for unsupported shapes and dtypes.

    See Also
    --------
    scipy.sparse.coo_array, scipy.sparse.dia_array, scipy.sparse.block_array

    Examples
    --------
    >>> a = cp.scipy.sparse.csr_matrix(([5, 6, 7], ([0, 0, 1], [0, 2, 1])), shape=(2, 3))
    >>> a.toarray()
    array([[5, 0, 6],
           [0, 7, 0]])
    """

    _major: ClassVar[int]
    _pattern: Pattern
    _canonical: bool | None
    #: What the caller said about the order of the indices.
    _sorted: bool | None = None

    @on_array_device
    def __init__(
        self, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, *, maxprint: Any = None
    ) -> None:
        if maxprint is not None:
            raise NotImplementedError(f"[{self.format}] maxprint= is not supported; print A.get()")
        self._canonical = None
        if is_scipy(arg1):
            own = arg1.asformat(self.format)
            self._take_arrays((own.data, own.indices, own.indptr), own.shape, None, False)
        elif isinstance(arg1, Sparse):
            self._assign_from(arg1.asformat(self.format, copy=copy))
        elif is_shape(arg1):
            self._empty(as_shape(arg1), dtype)
        elif isinstance(arg1, tuple) and len(arg1) == 3:
            self._take_arrays(arg1, shape, dtype, copy)
        elif isinstance(arg1, tuple):
            if len(arg1) != 2:
                raise ValueError(f"unrecognized {type(self).__name__} constructor input: {arg1!r}")
            self._assign_from(self._class("coo")(arg1, shape=shape, dtype=dtype).asformat(self.format))
        else:
            self._assign_from(self._class("coo")(arg1, dtype=dtype).asformat(self.format))
        if shape is not None and as_shape(shape) != self._shape:
            raise ValueError(f"inconsistent shapes: {as_shape(shape)} != {self._shape}")
        if dtype is not None and checked_dtype(dtype) != self._dtype:
            self._data = _core.cast(self._data, checked_dtype(dtype))

    # --- construction

    @classmethod
    def _new(cls, data: ndarray, pattern: Pattern, shape: tuple[int, int], canonical: bool | None) -> Any:
        instance = cls.__new__(cls)
        instance._data, instance._pattern, instance._shape, instance._canonical = data, pattern, shape, canonical
        return instance

    def _assign_from(self, other: Any) -> None:
        self._data, self._pattern, self._shape = other._data, other._pattern.share(), other._shape
        self._canonical, self._sorted = other._canonical, None

    def _empty(self, shape: Any, dtype: Any) -> None:
        self._shape = shape
        self._data = _core.empty((0,), checked_dtype(dtype))
        majors = shape[self._major]
        self._pattern = Pattern.of(_core.full((majors + 1,), 0, "int32"), _core.empty((0,), "int32"))
        self._canonical = True

    def _take_arrays(self, arrays: Any, shape: Any, dtype: Any, copy: bool) -> None:
        data, indices, starts = arrays
        self._data = values_of(data, dtype, copy)
        minors, starts = index_of(indices), index_of(starts)
        if shape is None:
            extent = int(_core.reduce("max", minors, None)) + 1 if minors.size else 0
            self._shape = (starts.size - 1, extent) if self._major == 0 else (extent, starts.size - 1)
        else:
            self._shape = as_shape(shape)  # type: ignore[assignment]
        majors = self._shape[self._major]
        if starts.size != majors + 1:
            raise ValueError(f"index pointer size {starts.size} should be {majors + 1}")
        if minors.size != self._data.size:
            raise ValueError("indices and data should have the same size")
        last = self._checked(starts, minors)
        if last < minors.size:
            minors, self._data = minors[:last], self._data[:last]
        self._pattern = Pattern.of(starts, minors, _pattern.index_dtype(minors.size, *self._shape))

    def _checked(self, starts: ndarray, minors: ndarray) -> int:
        """Checks the index arrays of a constructor. Returns the last offset, which is the number of values.

        Raises
        ------
        ValueError
            If the offsets or indices are invalid.
        """
        extent, name = self._shape[1 - self._major], ("column", "row")[self._major]
        falls = (
            _core.reduce("max", starts[1:] < starts[:-1], None) if starts.size > 1 else _core.full((), False, "bool")
        )
        facts = [starts[0], starts[-1], falls]
        if minors.size:
            facts += [_core.reduce("max", minors, None), _core.reduce("min", minors, None)]
        first, last, falling, *bounds = _pattern.numbers(*facts)
        if first != 0:
            raise ValueError("index pointer should start with 0")
        if last > minors.size:
            raise ValueError("Last value of index pointer should be less than the size of index and data arrays")
        if falling:
            raise ValueError("index pointer values must form a non-decreasing sequence")
        if bounds and bounds[0] >= extent:
            raise ValueError(f"{name} index values must be < {extent}")
        if bounds and bounds[1] < 0:
            raise ValueError(f"{name} index values must be >= 0")
        return last

    @classmethod
    def _from_keys(cls, positions: ndarray, values: ndarray, shape: tuple[int, int]) -> Any:
        """Creates a matrix from sorted keys, as `_keys` returns them."""
        extent = shape[1 - cls._major]
        starts = _pattern.compress(positions, shape[cls._major], extent)
        minors = positions % extent if positions.size else positions
        pattern = Pattern.of(starts, minors, _pattern.index_dtype(values.size, *shape))
        return cls._new(values, pattern, shape, True)

    def _keys(self) -> ndarray:
        """Returns the key (major index * minor extent + minor index) of each value, in storage order."""
        majors = _pattern.expand(self._pattern.starts, self.nnz)
        extents = (self._shape[self._major], self._shape[1 - self._major])
        return _pattern.keys(majors, self._pattern.indices, extents)

    def _with_data(self, data: ndarray) -> Any:
        return self._new(data, self._pattern.share(), self._shape, self._canonical)

    # --- attributes

    def _exposed(self) -> Pattern:
        self._pattern = self._pattern.expose()
        self._canonical = None
        return self._pattern

    @property
    def indices(self) -> ndarray:
        """The column (row) of each value, as a writable view."""
        return self._exposed().indices

    @indices.setter
    def indices(self, values: Any) -> None:
        values = index_of(values)
        if values.shape != (self.nnz,):
            raise ValueError(f"indices must have {self.nnz} elements, not shape {values.shape}")
        _core.update(self._exposed().indices, values)

    @property
    def indptr(self) -> ndarray:
        """The offset of each row's (column's) first value, as a writable view."""
        return self._exposed().starts

    @indptr.setter
    def indptr(self, values: Any) -> None:
        values = index_of(values)
        if values.size != self._pattern.majors + 1:
            raise ValueError(f"index pointer size {values.size} should be {self._pattern.majors + 1}")
        _core.update(self._exposed().starts, values)

    @property
    def has_canonical_format(self) -> bool:
        """True if indices are sorted and no position occurs twice. Waits for the device if that is not known yet."""
        if self._canonical is None or self._pattern._exposed:
            self._canonical = _pattern.rising(self._keys())
        return self._canonical

    @has_canonical_format.setter
    def has_canonical_format(self, value: bool) -> None:
        self._canonical = bool(value)

    @property
    def has_sorted_indices(self) -> bool:
        """True if the indices are sorted within each row (column), or were said to be."""
        if self._sorted is not None:
            return self._sorted
        if self._canonical and not self._pattern._exposed:
            return True
        at = self._keys()
        return at.size < 2 or not bool(_core.reduce("max", at[1:] < at[:-1], None))

    @has_sorted_indices.setter
    def has_sorted_indices(self, value: bool) -> None:
        self._sorted = bool(value)

    # --- conversions

    def get(self, stream: Any = None) -> Any:
        import scipy.sparse

        pattern = self._pattern
        arrays = tuple(_core.to_numpy(a) for a in (self._data, pattern.indices, pattern.starts))
        return getattr(scipy.sparse, type(self).__name__)(arrays, shape=self._shape)

    def copy(self) -> Any:
        return self._new(self._data.copy(), self._pattern.share(), self._shape, self._canonical)

    @on_data_device
    def tocoo(self, copy: bool = True) -> Any:
        majors = astype(_pattern.expand(self._pattern.starts, self.nnz), self._pattern.packed.dtype_name)
        minors = self._pattern.indices
        row, column = (majors, minors) if self._major == 0 else (minors, majors)
        data = self._data.copy() if copy else self._data
        return self._class("coo")._new(data, row, column, self._shape, self._canonical and self._major == 0)

    def _other_format(self) -> Any:
        """Converts between CSR and CSC, sorting the positions and summing duplicates."""
        other = self._class("csc" if self.format == "csr" else "csr")
        majors = _pattern.expand(self._pattern.starts, self.nnz)
        extents = (self._shape[1 - self._major], self._shape[self._major])
        if self.nnz and self.has_canonical_format:  # canonical, so a stable sort by one index suffices
            indices, name = self._pattern.indices, self._pattern.packed.dtype_name
            order = _core.argsort(indices)
            starts = _pattern.compress(_pattern.take(indices, order), extents[0])
            pattern = Pattern.of(starts, _pattern.take(majors, order), name)
            return other._new(_pattern.take(self._data, order), pattern, self._shape, True)
        at = _pattern.keys(self._pattern.indices, majors, extents)
        return other._from_keys(*_pattern.merge_equal(at, self._data), self._shape)

    @on_data_device
    def tocsr(self, copy: bool = False) -> Any:
        if self.format == "csr":
            return self.copy() if copy else self
        return self._other_format()

    @on_data_device
    def tocsc(self, copy: bool = False) -> Any:
        if self.format == "csc":
            return self.copy() if copy else self
        return self._other_format()

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Returns the transpose, which shares the values unless `copy`.

        Raises
        ------
        ValueError
            If `axes` is neither None nor (1, 0).
        """
        check_swap(axes)
        other = self._class("csc" if self.format == "csr" else "csr")
        data = self._data.copy() if copy else self._data
        return other._new(data, self._pattern.share(), self._shape[::-1], self._canonical)

    # --- canonical form

    def sum_duplicates(self) -> None:
        """Sums the values of duplicate positions and sorts the indices, in place. Waits for the device."""
        if self.has_canonical_format:
            return
        self._assign_from(self._from_keys(*_pattern.merge_equal(self._keys(), self._data), self._shape))

    def sort_indices(self) -> None:
        """Sorts the indices within each row (column), in place."""
        if self.nnz < 2 or self._sorted or (self._canonical and not self._pattern._exposed):
            return
        self._sorted = None
        order = _core.argsort(self._keys())
        indices = _pattern.take(self._pattern.indices, order)
        self._data = _pattern.take(self._data, order)
        self._pattern = Pattern.of(self._pattern.starts, indices, self._pattern.packed.dtype_name)

    def sorted_indices(self) -> Any:
        """Returns a copy with sorted indices."""
        a = self.copy()
        a.sort_indices()
        return a

    def eliminate_zeros(self) -> None:
        """Removes explicit zeros, in place. Waits for the device."""
        if not self.nnz or not bool(_core.reduce("max", self._data == 0, None)):
            return
        majors = _pattern.expand(self._pattern.starts, self.nnz)
        majors, indices, self._data = _pattern.keep(self._data != 0, majors, self._pattern.indices, self._data)
        starts = _pattern.compress(majors, self._pattern.majors)
        self._pattern = Pattern.of(starts, indices, self._pattern.packed.dtype_name)

    def prune(self) -> None:
        """Does nothing, as the arrays never have spare capacity."""

    def check_format(self, full_check: bool = True) -> None:
        """Raises ValueError if the index arrays are invalid."""
        self._checked(self._pattern.starts, self._pattern.indices)

    # --- arithmetic

    @on_data_device
    def _dot(self, dense: ndarray) -> ndarray:
        return _product.compressed(self._data, self._pattern, dense, self._shape[0], self._major == 1)

    def _binary(self, other: Any, op: Any) -> Any:
        if self.shape != other.shape:
            raise inconsistent(self.shape, other.shape)
        a, b = self, other.asformat(self.format)
        a.sum_duplicates()
        b.sum_duplicates()
        dtype = op(_core.full((), 0, a._dtype), _core.full((), 0, b._dtype)).dtype_name
        positions, of_a, of_b = _pattern.union(a._keys(), b._keys())
        values = []
        for matrix, at in ((a, of_a), (b, of_b)):
            spread = _core.full((positions.size,), 0, matrix._dtype)
            if at.size:
                _core.scatter(spread, at, matrix._data)
            values.append(spread)
        result = op(*values) if positions.size else _core.empty((0,), dtype)
        kept = self._class(self.format)._from_keys(positions, result, self._shape)
        kept.eliminate_zeros()
        return kept

    # --- indexing

    def __getitem__(self, key: Any) -> Any:
        return _indexing.read(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _indexing.assign(self, key, value)
