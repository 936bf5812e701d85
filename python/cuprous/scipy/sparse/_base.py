"""The base class of sparse matrices of every format: attributes, conversions and reductions, most of them through
CSR."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, cast

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.casting import astype, check_casting
from cuprous._common.convert import convert
from cuprous._common.naming import join_sections, named
from cuprous._common.operands import is_numpy_array, unsupported
from cuprous._functions.reductions import sum as sum_
from cuprous.scipy.sparse import _pattern, _reductions
from cuprous.scipy.sparse._checks import FORMATS, checked_dtype

#: SciPy's formats that are not supported.
_UNSUPPORTED = ("bsr", "dok", "lil")
_NO_FORMAT = "use csr, csc, coo or dia"


class sparray:
    """The base class of sparse arrays, whose `*` multiplies elementwise.

    See Also
    --------
    scipy.sparse.spmatrix, scipy.sparse.issparse

    Examples
    --------
    >>> issubclass(cp.scipy.sparse.csr_array, cp.scipy.sparse.sparray)
    True
    """

    _is_array: ClassVar[bool] = True


class spmatrix:
    """The base class of sparse matrices, whose `*` is the matrix product and whose reductions keep two dimensions.

    See Also
    --------
    scipy.sparse.issparse, scipy.sparse.sparray

    Examples
    --------
    >>> issubclass(cp.scipy.sparse.csr_matrix, cp.scipy.sparse.spmatrix)
    True
    """

    _is_array: ClassVar[bool] = False


#: The classes by format and by whether they are arrays (`_classes`).
CLASSES: dict[tuple[str, bool], Any] = {}


def from_scipy(a: Any) -> Any:
    """Copies a SciPy matrix to the device."""
    import scipy.sparse

    return CLASSES[a.format, not isinstance(a, scipy.sparse.spmatrix)](a)


def is_dense(x: Any) -> bool:
    """Returns true for device arrays with at least one axis."""
    return isinstance(x, ndarray) and x.ndim > 0


def operand(x: Any) -> Any:
    """Converts an operator's right-hand operand: lists become arrays, NumPy arrays are refused."""
    if is_numpy_array(x):
        if x.ndim == 0:
            return x[()]
        raise unsupported(x)
    return convert(x) if isinstance(x, (list, tuple)) else x


def values_of(data: Any, dtype: Any, copy: bool | None) -> ndarray:
    """Converts the values that are passed to a constructor.

    Raises
    ------
    ValueError
        For arrays that are not one-dimensional.
    """
    values = convert(data)
    if values.ndim != 1:
        raise ValueError(f"data, indices, and indptr should be 1-D; data has {values.ndim} axes")
    name = checked_dtype(values.dtype_name if dtype is None else dtype)
    if values.dtype_name != name:
        return _core.cast(values, name)
    return values.copy() if (copy and values is data) or not values.is_c_contiguous else values


_F = TypeVar("_F", bound=Callable[..., Any])


def on_data_device(method: _F) -> _F:
    """Lets a method of a matrix, or a function of one, make its new arrays on the device of the matrix."""

    @functools.wraps(method)
    def inside(*args: Any, **kwargs: Any) -> Any:
        matrix = args[0] if args else next(iter(kwargs.values()), None)
        before = _core.enter_device_of((getattr(matrix, "_data", matrix),))
        if before is None:
            return method(*args, **kwargs)
        try:
            return method(*args, **kwargs)
        finally:
            _core.leave_device(before)

    return cast(_F, inside)


class Sparse:
    """The base class of sparse matrices of every format."""

    format: ClassVar[str]
    _is_array: ClassVar[bool]
    #: Gives these operators precedence over NumPy's and SciPy's.
    __array_priority__ = 100.0
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    _shape: tuple[int, int]
    _data: ndarray

    # --- implemented by each format

    def _with_data(self, data: ndarray) -> Any:
        """Returns a matrix with the same positions and other values."""
        raise NotImplementedError

    def tocoo(self, copy: bool = True) -> Any:
        """Returns the matrix in COO format."""
        raise NotImplementedError

    def tocsr(self, copy: bool = False) -> Any:
        """Returns the matrix in CSR format, with sorted indices and without duplicates."""
        raise NotImplementedError

    def tocsc(self, copy: bool = False) -> Any:
        """Returns the matrix in CSC format, with sorted indices and without duplicates."""
        raise NotImplementedError

    def todia(self, copy: bool = False) -> Any:
        """Returns the matrix in DIA format, with memory of its own. Waits for the device for the offsets.

        Raises
        ------
        ValueError
            For an array with one axis.
        """
        if self.ndim != 2:
            raise ValueError(f"Cannot convert a {self.ndim}d sparse array to dia format")
        a = self.tocoo(copy=False)
        return self._class("dia")._from_coordinates(a if a.has_canonical_format else a.tocsr().tocoo(copy=False))

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Returns the transpose."""
        raise NotImplementedError

    def sum_duplicates(self) -> None:
        """Sums the values of duplicate positions and sorts the positions, in place."""
        raise NotImplementedError

    def _dot(self, dense: ndarray) -> ndarray:
        """Returns the product with a dense matrix of the same dtype."""
        raise NotImplementedError

    def multiply(self, other: Any) -> Any:
        """Returns the elementwise product."""
        raise NotImplementedError

    def _binary(self, other: Any, op: Any) -> Any:
        """Applies `op`, which must map two zeros to zero, elementwise to two matrices. Zeros of the result are
        dropped."""
        raise NotImplementedError

    # --- attributes

    @property
    def data(self) -> ndarray:
        """The stored values."""
        return self._data

    @data.setter
    def data(self, values: Any) -> None:
        values = array(values)
        if values.shape != (self.nnz,):
            raise ValueError(f"data must have {self.nnz} values, not shape {values.shape}")
        self._data = values_of(values, None, False)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        """The dtype of the values, as a NumPy dtype."""
        return self.data.dtype

    @property
    def _dtype(self) -> str:
        return self.data.dtype_name

    @property
    def nnz(self) -> int:
        """The number of stored values, explicit zeros included."""
        return self.data.size

    @property
    def size(self) -> int:
        """The number of stored values."""
        return self.nnz

    @property
    def T(self) -> Any:
        """The transpose."""
        return self.transpose()

    @property
    def device(self) -> Any:
        """The device that holds the arrays."""
        return self.data.device

    def _class(self, format: str) -> Any:
        return CLASSES[format, self._is_array]

    def __repr__(self) -> str:
        what = "array" if self._is_array else "matrix"
        return (
            f"<{FORMATS[self.format]} sparse {what} of dtype '{self.dtype}'\n\twith {self.nnz} stored elements and "
            f"shape {self.shape}>"
        )

    def __str__(self) -> str:
        return str(self.get())

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use getnnz() or shape[0]")

    def __bool__(self) -> bool:
        if self.shape == (1, 1):
            return self.nnz != 0
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all().")

    def __iter__(self) -> Any:
        rows = self.tocsr()
        return (rows[i] for i in range(self.shape[0]))

    def __reduce__(self) -> Any:
        return from_scipy, (self.get(),)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    # --- conversions

    def get(self, stream: Any = None) -> Any:
        """Copies the matrix to the host as a SciPy matrix of the same format."""
        raise NotImplementedError

    def copy(self) -> Any:
        """Returns a copy that shares no memory."""
        return self._with_data(self.data.copy())

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        """Converts to the named format; None keeps the format.

        Raises
        ------
        ValueError
            For names that SciPy does not know either.
        NotImplementedError
            For the formats of SciPy that are not supported.
        """
        if format is None or format == self.format:
            return self.copy() if copy else self
        if format in FORMATS:
            return getattr(self, "to" + format)(copy=copy)
        if format in _UNSUPPORTED:
            raise NotImplementedError(f"[asformat] {format} is not supported; {_NO_FORMAT}")
        raise ValueError(f"Format {format} is unknown.")

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Any:
        """Converts the values to another dtype."""
        name = checked_dtype(dtype)
        check_casting(self._dtype, name, casting, "array data")
        if name == self._dtype:
            return self.copy() if copy else self
        return self._with_data(_core.cast(self.data, name))

    def toarray(self, order: str | None = None, out: ndarray | None = None) -> ndarray:
        """Returns a dense array in memory order "C" or "F", or writes to `out`."""
        return self.tocoo(copy=False).toarray(order, out)

    def todense(self, order: str | None = None, out: ndarray | None = None) -> ndarray:
        """Returns a dense array, as Cuprous has no `matrix` class."""
        return self.toarray(order, out)

    def conj(self, copy: bool = True) -> Any:
        """Returns the complex conjugate."""
        if _dtypes.kind(self._dtype) != "c":
            return self.copy() if copy else self
        return self._with_data(_core.map("conjugate", self.data))

    def conjugate(self, copy: bool = True) -> Any:
        """Returns the complex conjugate."""
        return self.conj(copy)

    @property
    def real(self) -> Any:
        """The real part."""
        return self._with_data(_core.map("real", self.data)) if _dtypes.kind(self._dtype) == "c" else self.copy()

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        if _dtypes.kind(self._dtype) == "c":
            return self._with_data(_core.map("imag", self.data))
        return self._with_data(_core.full(self.data.shape, 0, self._dtype))

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> Any:
        """Returns the same elements in another shape, read in row-major ("C") or column-major ("F") order.

        Raises
        ------
        ValueError
            If the number of elements differs.
        """
        if (shape[0] if len(shape) == 1 else shape) == self.shape:
            return self.copy() if copy else self
        return self.tocoo(copy=False).reshape(*shape, order=order, copy=copy)

    def resize(self, *shape: Any) -> None:
        """Not supported.

        Raises
        ------
        NotImplementedError
            Always; the message names the alternative.
        """
        raise NotImplementedError("[resize] is not supported; use rows and columns, or bmat with blocks of None")

    def nonzero(self) -> tuple[ndarray, ndarray]:
        """Rows and columns of the values that are not zero; of compressed formats by rows."""
        a = (self.tocsr() if self.format == "csc" else self).tocoo(copy=False)
        rows, columns = _pattern.keep(a.data != 0, a.row, a.col)
        return rows, columns

    @on_data_device
    def count_nonzero(self, axis: int | None = None) -> Any:
        """Counts the stored values that are not zero; per row or column if `axis` is given."""
        self.sum_duplicates()
        counted = self._with_data(astype(self.data != 0, "int64"))
        return int(counted.sum()) if axis is None else counted.sum(axis).reshape(-1)

    def trace(self, offset: int = 0) -> ndarray:
        """The sum of a diagonal."""
        return sum_(self.diagonal(offset))

    def diagonal(self, k: int = 0) -> ndarray:
        """Returns a diagonal as a dense vector.

        Raises
        ------
        ValueError
            For an array with one axis.
        """
        if self.ndim != 2:
            raise ValueError("diagonal requires two dimensions")
        m, n = self._shape
        if k <= -m or k >= n:
            return _core.empty((0,), self._dtype)
        a = self.tocoo(copy=False)
        length = min(m + min(k, 0), n - max(k, 0))
        at = _core.map("where", astype(a.col, "int64") - astype(a.row, "int64") == k, a.row + min(k, 0), length)
        return _pattern.add_up(at, a.data, length + 1)[:length]

    # --- reductions

    @on_data_device
    def sum(self, axis: Any = None, dtype: Any = None, out: ndarray | None = None) -> ndarray:
        """Sums over an axis, or of everything; integers and bool in 64 bits. Dense."""
        return _reductions.sum_(self, axis, dtype, out)

    @on_data_device
    def mean(self, axis: Any = None, dtype: Any = None, out: ndarray | None = None) -> ndarray:
        """Means over an axis, or of everything, zeros included. Dense."""
        return _reductions.mean(self, axis, dtype, out)

    @on_data_device
    def max(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Greatest elements over an axis (sparse), or of everything; NaN wins. `explicit`: of the stored values."""
        return _reductions.extreme(self, "max", axis, out, explicit, False)

    @on_data_device
    def min(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Least elements over an axis (sparse), or of everything; NaN wins. `explicit`: of the stored values."""
        return _reductions.extreme(self, "min", axis, out, explicit, False)

    def nanmax(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """`max` that passes over NaN."""
        return _reductions.extreme(self, "max", axis, out, explicit, True)

    def nanmin(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """`min` that passes over NaN."""
        return _reductions.extreme(self, "min", axis, out, explicit, True)

    @on_data_device
    def argmax(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Where the greatest elements are first, over an axis or of the flattened matrix; NaN wins, as in NumPy."""
        return _reductions.arg_extreme(self, "max", axis, out, explicit)

    @on_data_device
    def argmin(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Where the least elements are first, over an axis or of the flattened matrix; NaN wins, as in NumPy."""
        return _reductions.arg_extreme(self, "min", axis, out, explicit)


def _unsupported_format(format: str) -> Any:
    def method(self: Sparse, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"[to{format}] {format} is not supported; {_NO_FORMAT}")

    return named(method, f"to{format}", join_sections("Not supported.", {"Raises": "NotImplementedError\n    Always."}))


for _format in _UNSUPPORTED:
    setattr(Sparse, f"to{_format}", _unsupported_format(_format))
