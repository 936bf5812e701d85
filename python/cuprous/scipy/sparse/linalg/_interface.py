"""Linear operators, the interface between matrices and iterative solvers."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.casting import astype
from cuprous._common.operands import is_numpy_array, unsupported
from cuprous._functions.joining import stack
from cuprous.scipy.sparse._base import Sparse
from cuprous.scipy.sparse._checks import as_shape, is_number


class LinearOperator:
    """A matrix defined by its products with vectors.

    Parameters
    ----------
    shape : int or tuple of ints
        The extents (m, n).
    matvec : callable
        The product with a vector of n elements (or n x 1).
    rmatvec : callable, optional
        The product of the adjoint with a vector of m elements.
    matmat : callable, optional
        The product with a matrix of n rows; by default `matvec` column by column.
    dtype : dtype, optional
        The dtype of the elements; by default found by a product with zeros.
    rmatmat : callable, optional
        The product of the adjoint with a matrix of m rows.

    Raises
    ------
    ValueError
        For a shape that is not two extents.

    See Also
    --------
    aslinearoperator

    Examples
    --------
    >>> double = cp.scipy.sparse.linalg.LinearOperator((2, 2), matvec=lambda v: 2 * v, dtype=float)
    >>> double @ cp.asarray([1.0, 3.0])
    array([2., 6.])
    """

    ndim = 2
    __array_ufunc__ = None

    def __init__(
        self, shape: Any, matvec: Callable[[Any], Any], rmatvec: Callable[[Any], Any] | None = None,
        matmat: Callable[[Any], Any] | None = None, dtype: Any = None, rmatmat: Callable[[Any], Any] | None = None,
    ) -> None:  # fmt: skip
        self.shape = as_shape(shape)
        self._by_vector, self._by_adjoint, self._by_matrix, self._by_adjoint_matrix = matvec, rmatvec, matmat, rmatmat
        if dtype is None:
            dtype = matvec(_core.full((self.shape[1],), 0, "float64")).dtype
        self.dtype = _dtypes.numpy_dtype(_dtypes.name_of(dtype))

    def _checked(self, x: Any, extent: int, name: str, vector: bool) -> ndarray:
        if is_numpy_array(x):
            raise unsupported(x)
        x = array(x)
        shapes = [(extent,), (extent, 1)] if vector else []
        if x.shape not in shapes if vector else x.ndim != 2 or x.shape[0] != extent:
            raise ValueError(f"dimension mismatch: [{name}] {self.shape} with {x.shape}")
        return x

    def _columns(self, x: ndarray, product: Callable[[Any], Any], rows: int) -> ndarray:
        if x.shape[1] == 0:
            return _core.empty((rows, 0), x.dtype_name)
        return stack([product(x[:, j]).reshape(-1) for j in range(x.shape[1])], 1)

    def matvec(self, x: Any) -> ndarray:
        """Returns the product with a vector, in the vector's shape.

        Parameters
        ----------
        x : array_like
            A vector.

        Returns
        -------
        ndarray

        Raises
        ------
        ValueError
            For a vector of another length.

        Examples
        --------
        >>> cp.scipy.sparse.linalg.aslinearoperator(cp.asarray([[1, 2], [3, 4]])).matvec(cp.asarray([1, 1]))
        array([3, 7])
        """
        x = self._checked(x, self.shape[1], "matvec", True)
        return array(self._by_vector(x)).reshape(self.shape[0], *x.shape[1:])

    def rmatvec(self, x: Any) -> ndarray:
        """Returns the product of the adjoint with a vector, in the vector's shape.

        Parameters
        ----------
        x : array_like
            A vector.

        Returns
        -------
        ndarray

        Raises
        ------
        NotImplementedError
            For an operator without `rmatvec`.

        Examples
        --------
        >>> cp.scipy.sparse.linalg.aslinearoperator(cp.asarray([[1, 2], [3, 4]])).rmatvec(cp.asarray([1, 1]))
        array([4, 6])
        """
        x = self._checked(x, self.shape[0], "rmatvec", True)
        if self._by_adjoint is None:
            raise NotImplementedError("rmatvec is not defined")
        return array(self._by_adjoint(x)).reshape(self.shape[1], *x.shape[1:])

    def matmat(self, X: Any) -> ndarray:
        """Returns the product with a matrix.

        Parameters
        ----------
        X : array_like
            A matrix.

        Returns
        -------
        ndarray
            A matrix.

        Raises
        ------
        ValueError
            For a matrix of other extents.

        Examples
        --------
        >>> cp.scipy.sparse.linalg.aslinearoperator(cp.asarray([[1, 2], [3, 4]])).matmat(cp.eye(2, dtype=int))
        array([[1, 2],
               [3, 4]])
        """
        x = self._checked(X, self.shape[1], "matmat", False)
        return array(self._by_matrix(x)) if self._by_matrix else self._columns(x, self.matvec, self.shape[0])

    def rmatmat(self, X: Any) -> ndarray:
        """Returns the product of the adjoint with a matrix.

        Parameters
        ----------
        X : array_like
            A matrix.

        Returns
        -------
        ndarray
            A matrix.

        Raises
        ------
        ValueError
            For a matrix of other extents.

        Examples
        --------
        >>> cp.scipy.sparse.linalg.aslinearoperator(cp.asarray([[1, 2], [3, 4]])).rmatmat(cp.eye(2, dtype=int))
        array([[1, 3],
               [2, 4]])
        """
        x = self._checked(X, self.shape[0], "rmatmat", False)
        if self._by_adjoint_matrix:
            return array(self._by_adjoint_matrix(x))
        return self._columns(x, self.rmatvec, self.shape[1])

    def dot(self, x: Any) -> Any:
        """Returns the product with a vector, matrix, number or operator.

        Parameters
        ----------
        x : array_like or LinearOperator
            A vector, matrix, number or operator.

        Returns
        -------
        ndarray
            An array, or an operator.

        Raises
        ------
        ValueError
            For arrays with more than two axes, and operators whose shapes do not match.

        Examples
        --------
        >>> cp.scipy.sparse.linalg.aslinearoperator(cp.asarray([[1, 2], [3, 4]])).dot(cp.asarray([1, 1]))
        array([3, 7])
        """
        if isinstance(x, LinearOperator):
            if self.shape[1] != x.shape[0]:
                raise ValueError(f"cannot multiply {self!r} and {x!r}: shape mismatch")
            return _composed(
                (self.shape[0], x.shape[1]), lambda v: self.matvec(x.matvec(v)), lambda v: x.rmatvec(self.rmatvec(v)),
                self, x,
            )  # fmt: skip
        if is_number(x):
            return self * x
        a = array(x)
        if a.ndim == 1 or (a.ndim == 2 and a.shape[1] == 1):
            return self.matvec(a)
        if a.ndim != 2:
            raise ValueError(f"expected 1-d or 2-d array or matrix, got {a.shape}")
        return self.matmat(a)

    def __call__(self, x: Any) -> Any:
        return self @ x

    def __matmul__(self, x: Any) -> Any:
        if is_number(x):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self.dot(x)

    def __mul__(self, x: Any) -> Any:
        if not is_number(x):
            return self.dot(x)
        return _composed(self.shape, lambda v: self.matvec(v) * x, lambda v: self.rmatvec(v) * _conj(x), self)

    def __rmul__(self, x: Any) -> Any:
        return self * x if is_number(x) else NotImplemented

    def __add__(self, x: Any) -> Any:
        if not isinstance(x, LinearOperator):
            return NotImplemented
        if self.shape != x.shape:
            raise ValueError(f"cannot add {self!r} and {x!r}: shape mismatch")
        return _composed(
            self.shape, lambda v: self.matvec(v) + x.matvec(v), lambda v: self.rmatvec(v) + x.rmatvec(v), self, x
        )

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, x: Any) -> Any:
        return self + -x if isinstance(x, LinearOperator) else NotImplemented

    def adjoint(self) -> LinearOperator:
        """Returns the conjugate transpose.

        Returns
        -------
        LinearOperator
            An operator.

        Examples
        --------
        >>> cp.scipy.sparse.linalg.aslinearoperator(cp.ones((2, 3))).adjoint().shape
        (3, 2)
        """
        return LinearOperator(self.shape[::-1], self.rmatvec, self.matvec, self.rmatmat, self.dtype, self.matmat)

    @property
    def H(self) -> LinearOperator:
        """The conjugate transpose."""
        return self.adjoint()

    def transpose(self) -> LinearOperator:
        """Returns the transpose.

        Returns
        -------
        LinearOperator
            An operator.

        Examples
        --------
        >>> cp.scipy.sparse.linalg.aslinearoperator(cp.ones((2, 3))).transpose().shape
        (3, 2)
        """
        return LinearOperator(
            self.shape[::-1], lambda v: _conj(self.rmatvec(_conj(v))), lambda v: _conj(self.matvec(_conj(v))),
            lambda v: _conj(self.rmatmat(_conj(v))), self.dtype, lambda v: _conj(self.matmat(_conj(v))),
        )  # fmt: skip

    @property
    def T(self) -> LinearOperator:
        """The transpose."""
        return self.transpose()

    def __repr__(self) -> str:
        return f"<{self.shape[0]}x{self.shape[1]} {type(self).__name__} with dtype={self.dtype}>"


def _conj(x: Any) -> Any:
    if isinstance(x, ndarray):
        return _core.map("conjugate", x) if _dtypes.kind(x.dtype_name) == "c" else x
    return x.conjugate()


def _composed(shape: Any, matvec: Any, rmatvec: Any, *parts: LinearOperator) -> LinearOperator:
    return LinearOperator(shape, matvec, rmatvec, None, reduce(_core.promote_types, (p.dtype.name for p in parts)))


def aslinearoperator(A: Any) -> LinearOperator:
    """Returns a matrix (dense, sparse, or any object with `shape` and `matvec`) as an operator.

    Parameters
    ----------
    A : array_like, sparse matrix or LinearOperator
        The matrix.

    Returns
    -------
    LinearOperator

    Raises
    ------
    TypeError
        For anything else.

    See Also
    --------
    scipy.sparse.linalg.LinearOperator

    Examples
    --------
    >>> cp.scipy.sparse.linalg.aslinearoperator(cp.ones((2, 3))).shape
    (2, 3)
    """
    if isinstance(A, LinearOperator):
        return A
    if is_numpy_array(A):
        raise unsupported(A)
    if isinstance(A, ndarray):
        if A.ndim != 2:
            raise ValueError("array must have ndim <= 2")
        adjoint_matrix = _conj(A).T
    elif isinstance(A, Sparse):
        adjoint_matrix = A.transpose().conj()
    elif hasattr(A, "shape") and hasattr(A, "matvec"):
        return LinearOperator(
            A.shape, A.matvec, getattr(A, "rmatvec", None), getattr(A, "matmat", None), getattr(A, "dtype", None)
        )
    else:
        raise TypeError("type not understood")
    return LinearOperator(
        A.shape, lambda x: A @ x, lambda x: adjoint_matrix @ x, lambda x: A @ x, A.dtype, lambda x: adjoint_matrix @ x
    )


def system(A: Any, M: Any, x0: Any, b: Any) -> tuple[LinearOperator, LinearOperator | None, ndarray, ndarray]:
    """Returns operator, preconditioner, start vector and right-hand side of a square system, in its floating dtype.

    Raises
    ------
    ValueError
        For systems that are not square, and right-hand sides of the wrong shape.
    """
    a = aslinearoperator(A)
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"expected square matrix, but got shape={a.shape}")
    n = a.shape[0]
    side = array(b)
    if side.shape not in ((n,), (n, 1)):
        raise ValueError(f"shapes of A {a.shape} and b {side.shape} are incompatible")
    name = _dtypes.inexact(_core.promote_types(a.dtype.name, side.dtype_name))
    start = _core.full((n,), 0, name) if x0 is None else array(x0)
    if start.shape not in ((n,), (n, 1)):
        raise ValueError(f"shapes of A {a.shape} and x0 {start.shape} are incompatible")
    before = None if M is None else aslinearoperator(M)
    if before is not None and before.shape != a.shape:
        raise ValueError(f"matrix and preconditioner have different shapes: {a.shape} and {before.shape}")
    return a, before, astype(start, name).reshape(-1), astype(side, name).reshape(-1)
