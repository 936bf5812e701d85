"""Sampling from arrays and putting them in random order, by sorting random keys."""

from __future__ import annotations

import math
import operator
from typing import Any

from cuprous import _core
from cuprous._common.arguments import array, normalize_axis
from cuprous._common.operands import is_scalar
from cuprous.random._shapes import check, ndarray, shape_of, to_dtype, write
from cuprous.random._vectors import Vectors

_map = _core.map
#: From this population size on, a small sample is drawn without ordering the whole population.
_MIN_SPARSE_POPULATION = 1 << 22


class Selection(Vectors):
    """`choice`, `permutation`, `permuted` and `shuffle`."""

    def _order(self, n: int) -> ndarray:
        """Returns the numbers 0 to n - 1 in random order: two of 64 random bits are equal for n = 10**6 in 1 of 4e7
        draws."""
        return _core.argsort(self._draw("random_bits64", (n,), True))

    def _distinct(self, n: int, count: int) -> ndarray:
        """Draws `count` distinct numbers below `n`, at most a sixteenth of them. Needs memory only for the sample.

        They are the first distinct numbers of a sequence with repetitions, which has a quarter more elements than
        needed. The probability that these do not suffice is below 1e-1000.
        """
        drawn = to_dtype(self._below(n, (count + count // 4 + 64,)), "int64")
        order = _core.argsort(drawn)
        ordered = take(drawn, order, 0)
        keys = order.copy()
        _core.update(keys[1:], _map("where", ordered[1:] == ordered[:-1], drawn.size, order[1:]))
        return take(drawn, _core.sort(keys)[:count], 0)

    def _choice(self, a: Any, size: Any, replace: bool, p: Any, axis: int) -> ndarray:
        check(a is not None, "a must be 1-dimensional or an integer")
        source = None if is_scalar(a) else array(a)
        if source is not None and source.ndim == 0:
            a, source = source.item(), None
        shape, count = shape_of(size)
        if source is None:
            check(hasattr(a, "__index__"), f"a must be a sequence or an integer, not {type(a)}")
            n = operator.index(a)
            check(n > 0 or (n == 0 and count == 0), "a must be a positive integer unless no samples are taken")
        else:
            axis = normalize_axis(axis, source.ndim)
            n = source.shape[axis]
            check(n > 0 or count == 0, "a cannot be empty unless no samples are taken")
        weights, positive = (None, n) if p is None else _probabilities(p, n)
        if count == 0:
            index = _core.empty(shape, "int64")
        elif replace:
            index = self._with_replacement(n, weights, shape)
        else:
            check(count <= n, "Cannot take a larger sample than population when replace is False")
            check(count <= positive, "Fewer non-zero entries in p than size")
            if weights is None and n >= _MIN_SPARSE_POPULATION and count <= n // 16:
                keys = self._distinct(n, count)
            elif weights is None:
                keys = self._order(n)
            else:
                keys = _core.argsort(self._exponential((n,), "float64") / weights)
            index = keys[:count].reshape(shape)
        return index if source is None else take(source, index, axis)

    def _with_replacement(self, n: int, weights: ndarray | None, shape: tuple[int, ...]) -> ndarray:
        if weights is None:
            return to_dtype(self._below(n, shape), "int64")
        total = _core.scan("sum", weights, 0)
        found = _core.searchsorted(total, self._unit(shape) * total[n - 1], True)
        return _map("minimum", found, n - 1)

    def permutation(self, x: Any, axis: int = 0) -> ndarray:
        """Returns integers in random order, or a copy of an array with its slices in random order.

        Parameters
        ----------
        x : array_like
            An integer n for the integers below n, or an array.
        axis : int, default 0
            The axis of the slices, by default the first.

        Returns
        -------
        ndarray

        Raises
        ------
        TypeError
            For an object that is neither.

        See Also
        --------
        random.shuffle, random.choice

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> cp.sort(rng.permutation(5))
        array([0, 1, 2, 3, 4])
        """
        if is_scalar(x):
            n = operator.index(x)
            check(n >= 0, "x must be a non-negative integer")
            return self._order(n)
        source = array(x)
        axis = normalize_axis(axis, source.ndim)
        return take(source, self._order(source.shape[axis]), axis)

    def shuffle(self, x: ndarray, axis: int = 0) -> None:
        """Puts an array's slices along `axis` in random order, in place.

        Parameters
        ----------
        x : ndarray
            The array, which is changed.
        axis : int, default 0
            The axis of the slices, by default the first.

        Raises
        ------
        TypeError
            If `x` is not a device array, or has no axes.

        See Also
        --------
        random.choice, random.permutation

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> a = cp.arange(5)
        >>> rng.shuffle(a)
        >>> cp.sort(a)
        array([0, 1, 2, 3, 4])
        """
        if not isinstance(x, ndarray):
            raise TypeError("x must be cuprous.ndarray")
        if x.ndim == 0:
            raise TypeError("An array whose ndim is 0 is not supported")
        if x.size:
            _core.update(x, self.permutation(x, axis))

    def permuted(self, x: Any, *, axis: int | None = None, out: ndarray | None = None) -> ndarray:
        """Returns a copy with the elements of each slice along an axis in independent random order.

        Parameters
        ----------
        x : array_like
            An array or array-like.
        axis : int, optional
            The axis; None (the default) permutes all elements.
        out : ndarray, optional
            An array to write to, of the shape and dtype of `x`.

        Returns
        -------
        ndarray
            An array of the shape of `x`.

        Raises
        ------
        ValueError
            If `out` has another shape.
        TypeError
            If `out` has another dtype.

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> cp.sort(rng.permuted([[1, 2, 3], [4, 5, 6]], axis=1), axis=1)
        array([[1, 2, 3],
               [4, 5, 6]])
        """
        source = array(x)
        if out is not None:
            if not isinstance(out, ndarray):
                raise TypeError(f"out must be a cuprous.ndarray, not {type(out)}")
            check(out.shape == source.shape, "out must have the same shape as x")
            if out.dtype_name != source.dtype_name:
                raise TypeError(f"out has dtype {out.dtype_name}, x has dtype {source.dtype_name}")
        if axis is None:
            flat = source.reshape(-1)
            result = take(flat, self._order(flat.size), 0).reshape(source.shape)
        else:
            axis = normalize_axis(axis, source.ndim)
            result = self._along(source, axis)
        return write(out, result)

    def _along(self, source: ndarray, axis: int) -> ndarray:
        last = source.ndim - 1
        order = [i for i in range(source.ndim) if i != axis] + [axis]
        moved = source.transpose(order)
        index = _core.argsort(self._draw("random_bits64", moved.shape, True))
        strides = list(moved.element_strides)
        offsets = index * strides[last] + _core.iota(moved.shape, [*strides[:last], 0], 0)
        return _core.gather(moved, offsets).transpose([order.index(i) for i in range(source.ndim)])


def take(a: ndarray, index: ndarray, axis: int) -> ndarray:
    """`numpy.take(a, index, axis)` for indices within bounds."""
    before, after = a.shape[:axis], a.shape[axis + 1 :]
    strides = a.element_strides
    shape = (*before, *index.shape, *after)
    if math.prod(shape) == 0:
        return _core.empty(shape, a.dtype_name)
    offsets = (index * strides[axis]).reshape(*index.shape, *(1 for _ in after))
    if before or after:
        along = [*strides[:axis], *(0 for _ in index.shape), *strides[axis + 1 :]]
        offsets = offsets + _core.iota(shape, along, 0)
    return _core.gather(a, offsets)


def _probabilities(p: Any, n: int) -> tuple[ndarray, int]:
    """Returns the weights as float64 and the number of nonzero ones. They are checked on the host."""
    weights = to_dtype(array(p), "float64")
    check(weights.ndim == 1, "p must be 1-dimensional")
    check(weights.size == n, "a and p must have same size")
    if n == 0:
        return weights, 0
    values = _core.to_numpy(weights)
    check(bool((values >= 0).all()), "probabilities are not non-negative")
    check(abs(math.fsum(values) - 1.0) < 1e-8, "probabilities do not sum to 1")
    return weights, int((values > 0).sum())
