"""NumPy's class of polynomials with coefficients from the highest power down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._common.operands import is_scalar
from cuprous._functions.joining import concatenate
from cuprous._functions.manipulation import atleast_1d
from cuprous._functions.polynomials import (
    Coefficients,
    poly,
    polyadd,
    polyder,
    polydiv,
    polyint,
    polymul,
    polysub,
    polyval,
    roots,
    trimmed,
)


class poly1d(Coefficients):
    """A polynomial. Leading zeros are removed when the coefficients or the order are first used, which copies their
    number to the host.

    Parameters
    ----------
    c_or_r : array_like
        The coefficients from the highest power down, or the roots; or another polynomial, NumPy's too.
    r : bool, default False
        Whether `c_or_r` are roots.
    variable : str, optional
        The name of the variable in the text; "x" by default.

    Raises
    ------
    ValueError
        For more than one axis.

    See Also
    --------
    polyfit, polyval, roots

    Examples
    --------
    >>> p = cp.poly1d([1, -3, 2])
    >>> p(cp.asarray([0, 1, 2]))
    array([2, 0, 0])
    >>> p * p
    poly1d([ 1, -6, 13, -12,  4])
    >>> p.deriv()
    poly1d([ 2, -3])
    """

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 100.0  # scalars and arrays of NumPy leave operators to this class

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        self._trimmed = type(c_or_r).__name__ == "poly1d" and hasattr(c_or_r, "coeffs")
        if self._trimmed:
            self._variable: str = c_or_r.variable if variable is None else variable
            self._coeffs = array(c_or_r.coeffs)
            return
        given = atleast_1d(poly(c_or_r) if r else c_or_r)
        if given.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        self._coeffs, self._variable = given, "x" if variable is None else variable

    # --- attributes

    @property
    def coeffs(self) -> ndarray:
        """The coefficients from the highest power down, without leading zeros."""
        if not self._trimmed:
            self._coeffs, self._trimmed = trimmed(self._coeffs), True
        return self._coeffs

    @coeffs.setter
    def coeffs(self, value: Any) -> None:
        if value is not self._coeffs:  # what `p.coeffs += 1` assigns
            raise AttributeError("Cannot set attribute")

    c = coef = coefficients = coeffs

    @property
    def order(self) -> int:
        """The highest power."""
        return int(self.coeffs.shape[0]) - 1

    o = order

    @property
    def roots(self) -> ndarray:
        """The roots, as `cuprous.roots` returns them."""
        return roots(self._coeffs)

    r = roots

    @property
    def variable(self) -> str:
        """The name of the variable."""
        return self._variable

    # --- conversions

    def __cupy_get_ndarray__(self) -> ndarray:
        return self.coeffs

    def get(self, stream: Any = None) -> Any:
        """Copies the polynomial to the host.

        Parameters
        ----------
        stream : Stream, optional
            A stream whose work is waited for first.

        Returns
        -------
        numpy.poly1d

        Examples
        --------
        >>> type(cp.poly1d([1, 2]).get()).__module__
        'numpy'
        """
        import numpy as np

        return np.poly1d(self.coeffs.get(stream), variable=self._variable)

    def set(self, polyin: Any, stream: Any = None) -> None:
        """Takes the coefficients and the variable of a polynomial on the host.

        Parameters
        ----------
        polyin : numpy.poly1d
            A `numpy.poly1d` with as many coefficients.
        stream : Stream, optional
            A stream whose work is waited for first.

        Raises
        ------
        TypeError
            For other objects.

        Examples
        --------
        >>> import numpy as np
        >>> p = cp.poly1d([1, 2])
        >>> p.set(np.poly1d([3, 4]))
        >>> p
        poly1d([3, 4])
        """
        import numpy as np

        if not isinstance(polyin, np.poly1d):
            raise TypeError("Only numpy.poly1d can be set to cuprous.poly1d")
        self.coeffs.set(polyin.coeffs, stream)
        self._variable = polyin.variable

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    # --- protocol of a sequence: `p[k]` is the coefficient of the power k

    def __len__(self) -> int:
        return self.order

    def __iter__(self) -> Iterator[ndarray]:
        return iter(self.coeffs)

    def __getitem__(self, val: int) -> Any:
        if not 0 <= val < self._coeffs.shape[0]:
            return self._coeffs.dtype.type(0)
        return self._coeffs[-val - 1]

    def __setitem__(self, key: int, val: Any) -> None:
        if key < 0:
            raise ValueError("Does not support negative powers.")
        missing = key + 1 - self._coeffs.shape[0]
        if missing > 0:
            self._coeffs = concatenate((_core.full((missing,), 0, self._coeffs.dtype_name), self._coeffs))
        self._coeffs[-key - 1] = val
        self._trimmed = False

    # --- operators

    def __call__(self, val: ArrayLike) -> Any:
        """Returns the values at points, or the composition with another polynomial.

        Parameters
        ----------
        val : array_like
            The points, or a `poly1d`.
        """
        return polyval(self.coeffs, val)

    def __neg__(self) -> poly1d:
        return poly1d(-self._coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __add__(self, other: Any) -> Any:
        return polyadd(self, poly1d(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return polysub(self, poly1d(other))

    def __rsub__(self, other: Any) -> Any:
        return polysub(poly1d(other), self)

    def __mul__(self, other: Any) -> Any:
        return poly1d(self.coeffs * other) if is_scalar(other) else polymul(self, poly1d(other))

    def __rmul__(self, other: Any) -> Any:
        return poly1d(other * self.coeffs) if is_scalar(other) else polymul(poly1d(other), self)

    def __truediv__(self, other: Any) -> Any:
        return poly1d(self.coeffs / other) if is_scalar(other) else polydiv(self, poly1d(other))

    def __rtruediv__(self, other: Any) -> Any:
        return poly1d(other / self.coeffs) if is_scalar(other) else polydiv(poly1d(other), self)

    def __pow__(self, val: Any) -> poly1d:
        if not is_scalar(val) or int(val) != val or val < 0:
            raise ValueError("Power to non-negative integers only.")
        result = _core.full((1,), 1, "int64")
        for _ in range(val):
            result = polymul(self.coeffs, result)
        return poly1d(result)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, poly1d):
            return NotImplemented
        if self.coeffs.shape != other.coeffs.shape:
            return False
        return bool(_core.reduce("min", self.coeffs == other.coeffs, None))

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    # --- calculus

    def integ(self, m: int = 1, k: ArrayLike = 0) -> poly1d:
        """Returns the antiderivative of order m.

        Parameters
        ----------
        m : int, default 1
            The order.
        k : array_like, default 0
            The constants of integration.

        Returns
        -------
        poly1d

        See Also
        --------
        polyint

        Examples
        --------
        >>> cp.poly1d([2.0, 1.0]).integ()
        poly1d([1., 1., 0.])
        """
        return poly1d(polyint(self.coeffs, m, k))

    def deriv(self, m: int = 1) -> poly1d:
        """Returns the derivative of order m.

        Parameters
        ----------
        m : int, default 1
            The order.

        Returns
        -------
        poly1d

        See Also
        --------
        polyder

        Examples
        --------
        >>> cp.poly1d([1, 0, 0]).deriv(2)
        poly1d([2])
        """
        return poly1d(polyder(self.coeffs, m))


__all__ = ["poly1d"]
