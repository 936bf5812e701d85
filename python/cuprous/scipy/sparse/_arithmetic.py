"""Operators between sparse matrices, and between sparse matrices and numbers or dense arrays."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.arguments import array, broadcast_shapes, ndarray
from cuprous._common.casting import astype, check_casting
from cuprous._common.naming import named
from cuprous.scipy.sparse import _indexing, _pattern, _product
from cuprous.scipy.sparse._base import Sparse, is_dense, operand
from cuprous.scipy.sparse._checks import SparseEfficiencyWarning, checked_dtype, is_number
from cuprous.scipy.sparse._construct import kron
from cuprous.scipy.sparse.linalg._matfuncs import matrix_power

#: Elementwise functions that map zero to zero; each becomes a method.
_UNARY = (
    "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "deg2rad", "expm1", "floor", "log1p", "rad2deg", "rint", "sign",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip


def inconsistent(a: tuple[int, ...], b: tuple[int, ...]) -> ValueError:
    """Returns the error for operands whose shapes do not match."""
    return ValueError(f"inconsistent shapes {a} and {b}")


def _common_shape(a: Any, b: Any) -> tuple[int, ...]:
    """Returns the shape that two operands broadcast to.

    Raises
    ------
    ValueError
        If they do not broadcast.
    """
    try:
        return broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise inconsistent(a.shape, b.shape) from None


def _warn(text: str) -> None:
    import warnings

    warnings.warn(text, SparseEfficiencyWarning, stacklevel=4)


#: Comparisons that are true for two zeros, so that their results are dense: the operator, and its sparse opposite.
_HOLDS_AT_ZERO = {"equal": ("==", "!="), "less_equal": ("<=", ">"), "greater_equal": (">=", "<")}
_SYMBOLS = {**_HOLDS_AT_ZERO, "not_equal": ("!=", "=="), "less": ("<", ">="), "greater": (">", "<=")}


def _map(name: str) -> Any:
    return lambda a, b: _core.map(name, a, b)


class Arithmetic(Sparse):
    """Operators of sparse matrices of every format, and writes to diagonals."""

    def _kept(self) -> str:
        """Returns the format of newly created results."""
        return "csc" if self.format == "csc" else "coo" if self.ndim == 1 else "csr"

    # --- one operand

    def __neg__(self) -> Any:
        if self._dtype == "bool":
            raise NotImplementedError("negating a boolean sparse array is not supported")
        return self._with_data(-self.data)

    def __pos__(self) -> Any:
        return self.copy()

    def __abs__(self) -> Any:
        return self._apply("absolute")

    def _apply(self, name: str, *arguments: Any) -> Any:
        """Applies an elementwise function that maps zero to zero. Sums duplicates first, as the function may be
        nonlinear."""
        self.sum_duplicates()
        values = _core.map(name, self.data, *arguments)
        checked_dtype(values.dtype_name)
        return self._with_data(values)

    def power(self, n: Any, dtype: Any = None) -> Any:
        """Raises each element to a power.

        Raises
        ------
        NotImplementedError
            For exponents that are not scalars, and for the exponent zero, whose result would be dense.
        """
        if not is_number(n):
            raise NotImplementedError("input is not scalar")
        if not n:
            raise NotImplementedError("zero power is not supported as it would densify the matrix.\n"
                                      "Use `cuprous.ones(A.shape, dtype=A.dtype)` for this case.")  # fmt: skip
        a = self if dtype is None else self.astype(dtype)
        a.sum_duplicates()
        return a._with_data(a.data**n)

    # --- broadcasting

    def _broadcast(self, shape: tuple[int, ...]) -> Any:
        """Returns the matrix broadcast to `shape`, in COO format. The caller ensures that the shapes are compatible."""
        if len(shape) == 1:
            return self._class("coo")(_core.broadcast_to(self.toarray(), shape))
        a: Any = self.tocoo()
        m, n = a._shape
        if self.ndim == 1 or (m, n) != shape:
            times = (shape[0] // m if m else 0, shape[1] // n if n else 0)
            if a.ndim == 1:
                a = a.reshape((1, n))
            a = kron(self._class("coo")(_core.full(times, True, "bool")), a, "coo").astype(self._dtype, copy=False)
        return a

    def _repeated(self, other: Any) -> tuple[Any, Any]:
        """Returns both operands broadcast to their common shape.

        Raises
        ------
        ValueError
            If the shapes do not broadcast.
        """
        if self.shape == other.shape:
            return self, other
        shape = _common_shape(self, other)
        operands: tuple[Any, Any] = (self, other)
        a, b = (x if x.shape == shape else x._broadcast(shape) for x in operands)
        return a.asformat(self._kept() if self.ndim == 2 else "csr"), b

    # --- sums

    def _sum(self, other: Any, op: str) -> Any:
        other = operand(other)
        if is_number(other):
            if not other:
                return self.copy()
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        if isinstance(other, Sparse):
            return self._binary(other, _map(op))
        if is_dense(other):
            return _core.map(op, self._spread(other), other)
        return NotImplemented

    def _spread(self, other: ndarray) -> ndarray:
        """Returns the matrix as a dense array, for a sum with the array `other`."""
        _common_shape(self, other)
        return self.toarray()

    def __add__(self, other: Any) -> Any:
        return self._sum(other, "add")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, "subtract")

    def __rsub__(self, other: Any) -> Any:
        other = operand(other)
        if is_number(other):
            if not other:
                return -self
            raise NotImplementedError("subtracting a sparse array from a nonzero scalar is not supported")
        if is_dense(other):
            return _core.map("subtract", other, self._spread(other))
        return NotImplemented

    # --- elementwise products

    def multiply(self, other: Any) -> Any:
        """Multiplies elementwise by a number, a dense array (a vector counts as a row) or another sparse matrix, with
        broadcasting. Returns a sparse matrix.

        Raises
        ------
        ValueError
            If the shapes do not broadcast.
        """
        other = operand(other)
        if is_number(other):
            return self._with_data(self.data * other)
        if isinstance(other, Sparse):
            a, b = self._repeated(other)
            return a._binary(b, _map("multiply"))
        dense = array(other)
        shape = _common_shape(self, dense)
        a = (self if self.shape == shape else self._broadcast(shape)).tocoo(copy=True)
        a.sum_duplicates()
        wide = _core.broadcast_to(dense, a._shape)
        rows, columns = (astype(i, "int64") for i in (a.row, a.col))
        strides = wide.element_strides
        at = rows * strides[0] + columns * strides[1]
        values = _core.gather(wide, at) if a.nnz else _core.empty((0,), dense.dtype_name)
        return a._with_data(a.data * values)

    def __mul__(self, other: Any) -> Any:
        other = operand(other)
        if is_number(other):
            return self._with_data(self.data * other)
        if self._is_array:
            return self.multiply(other) if isinstance(other, Sparse) or is_dense(other) else NotImplemented
        return self._matmul(other)

    def __rmul__(self, other: Any) -> Any:
        other = operand(other)
        if is_number(other):
            return self._with_data(self.data * other)
        if self._is_array:
            return self.multiply(other) if is_dense(other) else NotImplemented
        return self._rmatmul(other)

    def __truediv__(self, other: Any) -> Any:
        other = operand(other)
        if is_dense(other):
            return self.multiply(_core.map("divide", 1.0, other))
        a = self if self.dtype.kind == "c" else self.astype("float64", copy=False)  # float32 as well, as SciPy
        if is_number(other):
            return a._with_data(a.data / other)
        if isinstance(other, Sparse):
            if other.shape != self.shape:
                raise inconsistent(self.shape, other.shape)
            return a.toarray() / other.toarray()
        return NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented

    # --- matrix products

    def dot(self, other: Any) -> Any:
        """Returns the matrix product, or the product with a number."""
        return self * other if is_number(operand(other)) else self @ other

    def __matmul__(self, other: Any) -> Any:
        if is_number(operand(other)):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self._matmul(operand(other))

    def __rmatmul__(self, other: Any) -> Any:
        if is_number(operand(other)):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self._rmatmul(operand(other))

    def _matmul(self, other: Any) -> Any:
        if isinstance(other, Sparse):
            return _product.sparse(self, other)
        return _product.dense(self, other) if is_dense(other) else NotImplemented

    def _rmatmul(self, other: Any) -> Any:
        if not is_dense(other):
            return NotImplemented
        columns = other.T if other.ndim == 2 else other
        try:
            product = _product.dense(self.transpose(), columns)
        except ValueError:
            raise ValueError(f"matmul: dimension mismatch with signature (n,k={other.shape[-1]}),"
                             f"(k={self._shape[0]},m)->(n,m)") from None  # fmt: skip
        return product.T

    def __pow__(self, n: Any) -> Any:
        if self._is_array:
            return self.power(n)
        if not hasattr(n, "__index__"):
            raise ValueError("exponent must be an integer")
        return matrix_power(self, n)

    # --- comparisons

    def _compare(self, other: Any, name: str) -> Any:
        other = operand(other)
        op = _map(name)
        kept = self._kept()
        if is_number(other):
            if bool(_core.map(name, _core.full((), 0, self._dtype), other)):
                symbol, instead = _SYMBOLS[name]
                _warn(f"Comparing a sparse matrix with {other} using {symbol} is inefficient. "
                      f"Try using {instead} instead.")  # fmt: skip
                return self._class(kept)(op(self.toarray(), other))
            a = self.asformat(kept, copy=True)
            a.sum_duplicates()
            a = a._with_data(op(a.data, other))
            a.eliminate_zeros()
            return a
        if isinstance(other, Sparse):
            if other.shape != self.shape:
                fits = len(other.shape) == len(self.shape) and all(
                    m == n or 1 in (m, n) for m, n in zip(self.shape, other.shape, strict=True)
                )
                if name in ("equal", "not_equal") and not fits:
                    return name == "not_equal"
                a, b = self._repeated(other)
                return a._compare(b, name)
            if name not in _HOLDS_AT_ZERO:
                return self._binary(other, op)
            symbol, instead = _SYMBOLS[name]
            _warn(f"Comparing two sparse matrices using {symbol} is inefficient. Try using {instead} instead.")
            return self._class(kept)(op(self.toarray(), other.toarray()))
        if is_dense(other):
            return op(self.toarray(), other)
        return NotImplemented

    def __eq__(self, other: object) -> Any:
        return self._compare(other, "equal")

    def __ne__(self, other: object) -> Any:
        return self._compare(other, "not_equal")

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "less")

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "less_equal")

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, "greater")

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, "greater_equal")

    # --- maximum and minimum

    def maximum(self, other: Any) -> Any:
        """Returns the elementwise maximum with a number or matrix, propagating NaN."""
        return self._extreme(other, "maximum")

    def minimum(self, other: Any) -> Any:
        """Returns the elementwise minimum with a number or matrix, propagating NaN."""
        return self._extreme(other, "minimum")

    def _extreme(self, other: Any, name: str) -> Any:
        other = operand(other)
        if is_number(other):
            if bool(_core.map(name, _core.full((), 0, self._dtype), other) != 0):
                sign = "positive" if name == "maximum" else "negative"
                _warn(f"Taking {name} with a {sign} number results in a dense matrix.")
                return self._class(self.format)(_core.map(name, self.toarray(), other))
            a = self.asformat(self._kept(), copy=True)
            a.sum_duplicates()
            return a._with_data(_core.map(name, a.data, other))
        if isinstance(other, Sparse):
            a, b = self._repeated(other)
            return a._binary(b, _map(name))
        dense = array(other)
        return _core.map(name, self._spread(dense), dense)

    # --- in-place operators

    def __iadd__(self, other: Any) -> Any:
        return NotImplemented

    def __isub__(self, other: Any) -> Any:
        return NotImplemented

    def __imul__(self, other: Any) -> Any:
        return self._in_place(other, "multiply")

    def __itruediv__(self, other: Any) -> Any:
        return self._in_place(other, "divide")

    def _in_place(self, other: Any, name: str) -> Any:
        other = operand(other)
        if not is_number(other):
            return NotImplemented
        result = _core.map(name, self.data, other)
        check_casting(result.dtype_name, self._dtype, "same_kind", f"ufunc '{name}' output")
        self.data[...] = result
        return self

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Writes a diagonal.

        Parameters
        ----------
        values : array_like
            A number or a vector; elements beyond the diagonal's length are ignored.
        k : int, default 0
            The diagonal's offset; positive above the main diagonal.

        Raises
        ------
        ValueError
            If the matrix has no such diagonal, or for an array with one axis.
        """
        if self.ndim != 2:
            raise ValueError("setdiag requires two dimensions")
        m, n = self._shape
        if k <= -m or k >= n:
            raise ValueError("k exceeds array dimensions")
        new_values = array(values) if not is_number(values) else values
        length = min(m + min(k, 0), n - max(k, 0))
        if isinstance(new_values, ndarray) and new_values.ndim:
            if new_values.ndim > 1:
                raise ValueError("setdiag: values must be a number or a vector")
            length = min(length, new_values.size)
            new_values = new_values[:length]
        along = _pattern.arange(length)
        _indexing.write(self, along - min(k, 0), along + max(k, 0), new_values)


def _method(name: str) -> Any:
    own = {"deg2rad": "radians", "rad2deg": "degrees"}.get(name, name)

    def method(self: Arithmetic) -> Any:
        return self._apply(own)

    return named(method, name, f"`{name}` of the elements.")


for _name in _UNARY:
    setattr(Arithmetic, _name, _method(_name))
