"""Polynomials through points: Krogh's by divided differences, and the barycentric formula."""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array, ndarray, normalize_axis
from cuprous._common.operands import on_array_device
from cuprous.scipy.interpolate._pieces import moved_back, real_or_complex

_map = _core.map


class _Polynomial:
    """The values of points, one a row, and the shape and axis of results. A subclass evaluates derivatives at sites."""

    n: int

    def _take(self, yi: Any, axis: int, count: int) -> ndarray:
        values = array(yi)
        values = values.reshape(1) if values.ndim == 0 else values
        self._axis = normalize_axis(axis, values.ndim)
        if values.shape[self._axis] != count:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        rows = cp.moveaxis(real_or_complex(values), self._axis, 0)
        self._tail = rows.shape[1:]
        return rows.reshape([count, math.prod(self._tail)])

    def _at(self, x: ndarray, der: int) -> list[ndarray]:
        """Returns the values and the derivatives below `der` at a vector, one row each."""
        raise NotImplementedError

    def _results(self, x: Any, der: int, first: int = 0) -> list[ndarray]:
        sites = array(x)
        flat = _core.cast(sites, "float64").reshape([sites.size])
        return [moved_back(v, sites.shape, self._tail, self._axis) for v in self._at(flat, der)[first:]]

    @on_array_device
    def __call__(self, x: Any) -> ndarray:
        """Evaluates the polynomial at `x`, whose shape replaces the axis in the result."""
        return self._results(x, 1)[0]

    @on_array_device
    def derivative(self, x: Any, der: int = 1) -> ndarray:
        """Evaluates a derivative.

        Parameters
        ----------
        x : array_like
            The points.
        der : int, default 1
            Its order.

        Returns
        -------
        ndarray
            An array, as for the polynomial's values.

        Examples
        --------
        >>> cp.scipy.interpolate.KroghInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 4.0]).derivative(3.0)
        array(6.)
        """
        return self._results(x, operator.index(der) + 1, operator.index(der))[0]

    @on_array_device
    def derivatives(self, x: Any, der: int | None = None) -> ndarray:
        """Evaluates the values and the derivatives of orders below `der`.

        Parameters
        ----------
        x : array_like
            The points.
        der : int, optional
            How many; by default as many as there are points.

        Returns
        -------
        ndarray
            An array with a first axis for the orders.

        Examples
        --------
        >>> cp.scipy.interpolate.KroghInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 4.0]).derivatives(3.0)
        array([9., 6., 2.])
        """
        return cp.stack(self._results(x, self.n if der is None else operator.index(der)))


class KroghInterpolator(_Polynomial):
    """The polynomial through points, with derivatives where a point is repeated.

    Parameters
    ----------
    xi : array_like
        The coordinates, read on the host. A coordinate that is repeated in succession gives the derivatives there.
    yi : array_like
        The values along `axis`; of a repeated coordinate the value, the first derivative, and so on.
    axis : int, default 0
        The axis of `yi`.

    Raises
    ------
    ValueError
        For inconsistent shapes, and equal coordinates that are not in succession.

    See Also
    --------
    BarycentricInterpolator, krogh_interpolate

    Examples
    --------
    >>> cp.scipy.interpolate.KroghInterpolator([0.0, 0.0, 1.0], [0.0, 2.0, 3.0])(2.0)
    array(8.)
    """

    @on_array_device
    def __init__(self, xi: Any, yi: Any, axis: int = 0) -> None:
        self.xi = _core.cast(array(xi), "float64")
        if self.xi.ndim != 1:
            raise ValueError("xi must be one-dimensional")
        self.n = self.xi.size
        self.yi = self._take(yi, axis, self.n)
        if self.n > 30:
            warnings.warn(f"{self.n} degrees provided, degrees higher than about thirty cause problems with numerical "
                          "instability with 'KroghInterpolator'", stacklevel=2)  # fmt: skip
        x = [float(v) for v in cp.asnumpy(self.xi)]
        rows = [self.yi[k] for k in range(self.n)]
        coefficients, before = rows[:1], rows[:1]
        for k in range(1, self.n):
            repeated = 0
            while repeated < k and x[k - repeated - 1] == x[k]:
                repeated += 1
            if any(x[i] == x[k] for i in range(k - repeated)):
                raise ValueError("Elements of `xi` can't be equal.")
            column = [rows[k] / float(math.factorial(repeated))]
            for i in range(k - repeated):
                above = coefficients[i] if repeated == 0 else before[i + 1]
                column.append((above - column[i]) / (x[i] - x[k]))
            before = column
            coefficients.append(column[-1])
        self.c = cp.stack(coefficients) if coefficients else self.yi

    def _at(self, x: ndarray, der: int) -> list[ndarray]:
        # Horner's scheme of Newton's form, for the Taylor coefficients at x
        taylor: list[Any] = [_map("multiply", x[:, None], 0.0) + self.c[:1] * 0.0 for _ in range(der)]
        for k in range(self.n - 1, -1, -1):
            step = (x - self.xi[k])[:, None]
            for order in range(der - 1, 0, -1):
                taylor[order] = taylor[order] * step + taylor[order - 1]
            taylor[0] = taylor[0] * step + self.c[k]
        return [value * float(math.factorial(order)) for order, value in enumerate(taylor)]


class BarycentricInterpolator(_Polynomial):
    """The polynomial through points, by the barycentric formula, which is stable for Chebyshev points.

    Parameters
    ----------
    xi : array_like
        The coordinates.
    yi : array_like, optional
        The values along `axis`; they can be given later.
    axis : int, default 0
        The axis of `yi`.
    wi : array_like, optional
        The weights of the points.
    rng : int or Generator, optional
        Has no effect: products are scaled, so that their order does not matter.
    random_state : int or Generator, optional
        An older name of `rng`.

    Raises
    ------
    ValueError
        For inconsistent shapes, and equal coordinates.

    See Also
    --------
    KroghInterpolator, barycentric_interpolate

    Examples
    --------
    >>> cp.scipy.interpolate.BarycentricInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])(3.0)
    array(9.)
    """

    @on_array_device
    def __init__(
        self, xi: Any, yi: Any = None, axis: int = 0, *, wi: Any = None, rng: Any = None, random_state: Any = None
    ) -> None:
        self.xi = _core.cast(array(xi), "float64")
        if self.xi.ndim != 1:
            raise ValueError("xi must be one-dimensional")
        self.n = self.xi.size
        self._axis = axis
        self.yi: ndarray | None = None
        self.set_yi(yi)
        self.wi = self._weights() if wi is None else _core.cast(array(wi), "float64")

    def _weights(self) -> ndarray:
        apart = self.xi[:, None] - self.xi[None, :]
        apart = _map("where", cp.eye(self.n, dtype="bool"), 1.0, apart)
        if bool(cp.any(apart == 0.0)):
            raise ValueError("Interpolation points xi must be distinct.")
        scale = 4.0 / (cp.max(self.xi) - cp.min(self.xi)) if self.n > 1 else 1.0
        return 1.0 / cp.prod(_map("where", cp.eye(self.n, dtype="bool"), 1.0, apart * scale), axis=1)

    @on_array_device
    def set_yi(self, yi: Any, axis: int | None = None) -> None:
        """Replaces the values.

        Parameters
        ----------
        yi : array_like
            The values along the axis, or None.
        axis : int, optional
            The axis; the one given before by default.

        Raises
        ------
        ValueError
            For another number of values than points.

        Examples
        --------
        >>> f = cp.scipy.interpolate.BarycentricInterpolator([0.0, 1.0])
        >>> f.set_yi([1.0, 3.0])
        >>> f(0.5)
        array(2.)
        """
        self.yi = None if yi is None else self._take(yi, self._axis if axis is None else axis, self.n)

    @on_array_device
    def add_xi(self, xi: Any, yi: Any = None) -> None:
        """Adds points.

        Parameters
        ----------
        xi : array_like
            The coordinates.
        yi : array_like, optional
            The values, along the same axis.

        Raises
        ------
        ValueError
            If only one of old and new points has values, and for equal coordinates.

        Examples
        --------
        >>> f = cp.scipy.interpolate.BarycentricInterpolator([0.0, 1.0], [0.0, 1.0])
        >>> f.add_xi([2.0], [4.0])
        >>> f(3.0)
        array(9.)
        """
        if yi is not None and self.yi is None:
            raise ValueError("No previous yi value to update!")
        if yi is None and self.yi is not None:
            raise ValueError("No update to yi provided!")
        added = _core.cast(array(xi), "float64").reshape(-1)
        if yi is not None and self.yi is not None:
            tail = self._tail
            rows = self._take(yi, self._axis, added.size)
            if self._tail != tail:
                raise ValueError(f"Data must be of shape (N,) + {tail}")
            self.yi = cp.concatenate([self.yi, rows])
        self.xi = cp.concatenate([self.xi, added])
        self.n = self.xi.size
        self.wi = self._weights()

    def _values(self, x: ndarray, yi: ndarray) -> ndarray:
        apart = x[:, None] - self.xi[None, :]
        at_point = apart == 0.0
        terms = self.wi / _map("where", at_point, 1.0, apart)
        value = cp.matmul(terms, yi) / cp.sum(terms, axis=1, keepdims=True)
        known = cp.take(yi, cp.argmax(at_point, axis=1), axis=0)
        return _map("where", cp.any(at_point, axis=1)[:, None], known, value)

    def _at(self, x: ndarray, der: int) -> list[ndarray]:
        if self.yi is None:
            raise ValueError("there are no values yi")
        found, values = [], self.yi
        identity = cp.eye(self.n, dtype="bool")
        apart = _map("where", identity, 1.0, self.xi[:, None] - self.xi[None, :])
        slopes = _map("where", identity, 0.0, self.wi / (apart * self.wi[:, None]))
        slopes = slopes - _map("where", identity, cp.sum(slopes, axis=1, keepdims=True), 0.0)
        for order in range(der):
            if order:  # the derivative's values at the points
                values = cp.matmul(slopes, values) if order < self.n else values * 0.0
            found.append(self._values(x, values))
        return found


def _selected(polynomial: _Polynomial, x: Any, der: Any) -> ndarray:
    if isinstance(der, int):
        return polynomial.derivative(x, der) if der else polynomial(x)
    orders = [operator.index(order) for order in (cp.asnumpy(der) if isinstance(der, ndarray) else der)]
    return polynomial.derivatives(x, max(orders) + 1)[cp.asarray(orders)]


def krogh_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> ndarray:
    """Computes `KroghInterpolator(xi, yi, axis)(x)`, or its derivatives.

    Parameters
    ----------
    xi : array_like
        The coordinates.
    yi : array_like
        The values along `axis`.
    x : array_like
        Where to evaluate.
    der : int or sequence of ints, default 0
        The order of the derivative, or a list of orders.
    axis : int, default 0
        The axis of `yi`.

    Returns
    -------
    ndarray
        An array, for a list of orders with a first axis for them.

    Raises
    ------
    ValueError
        For inconsistent shapes, and equal coordinates that are not in succession.

    See Also
    --------
    KroghInterpolator

    Examples
    --------
    >>> cp.scipy.interpolate.krogh_interpolate([0.0, 1.0, 2.0], [0.0, 1.0, 4.0], 3.0)
    array(9.)
    """
    return _selected(KroghInterpolator(xi, yi, axis), x, der)


def barycentric_interpolate(xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, rng: Any = None) -> ndarray:
    """Computes `BarycentricInterpolator(xi, yi, axis)(x)`, or its derivatives.

    Parameters
    ----------
    xi : array_like
        The coordinates.
    yi : array_like
        The values along `axis`.
    x : array_like
        Where to evaluate.
    axis : int, default 0
        The axis of `yi`.
    der : int or sequence of ints, default 0
        The order of the derivative, or a list of orders.
    rng : int or Generator, optional
        Has no effect.

    Returns
    -------
    ndarray
        An array, for a list of orders with a first axis for them.

    Raises
    ------
    ValueError
        For inconsistent shapes, and equal coordinates.

    See Also
    --------
    BarycentricInterpolator

    Examples
    --------
    >>> cp.scipy.interpolate.barycentric_interpolate([0.0, 1.0, 2.0], [0.0, 1.0, 4.0], 3.0)
    array(9.)
    """
    return _selected(BarycentricInterpolator(xi, yi, axis), x, der)


__all__ = ["BarycentricInterpolator", "KroghInterpolator", "barycentric_interpolate", "krogh_interpolate"]
