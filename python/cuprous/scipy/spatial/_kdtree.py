"""Nearest points and points within a distance. All distances are computed, in parts of bounded size: a device does this
faster than it searches a tree."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array, ndarray
from cuprous._common.operands import on_array_device
from cuprous.scipy._parts import parts
from cuprous.scipy.sparse import coo_matrix
from cuprous.scipy.spatial.distance import cdist

_map = _core.map


@on_array_device
def distance_matrix(x: Any, y: Any, p: float = 2.0, threshold: int = 1000000) -> ndarray:
    """Returns the distances between the rows of two matrices.

    Parameters
    ----------
    x : array_like
        m rows.
    y : array_like
        n rows of the same length.
    p : float, default 2.0
        The order of Minkowski's norm, from 1 to infinity.
    threshold : int, default 1000000
        Has no effect: no large temporary arrays are made.

    Returns
    -------
    ndarray
        float64 of shape (m, n).

    Raises
    ------
    ValueError
        For rows of different lengths, arrays that are not 2-d or complex, and orders below 1.

    See Also
    --------
    distance.cdist

    Examples
    --------
    >>> cp.scipy.spatial.distance_matrix([[0.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]])
    array([[1.        , 1.41421356],
           [1.41421356, 1.        ]])
    """
    operator.index(threshold)
    a, b = array(x), array(y)
    if a.ndim == b.ndim == 2 and a.shape[1] != b.shape[1]:
        raise ValueError(f"x contains {a.shape[1]}-dimensional vectors but y contains {b.shape[1]}-dimensional vectors")
    return cdist(a, b, "minkowski", p=_order(p))


class KDTree:
    """Points of which the nearest ones can be found, with the methods of `scipy.spatial.KDTree`.

    Parameters
    ----------
    data : array_like
        n points of m coordinates, one a row.
    leafsize : int, default 10
        Has no effect: there is no tree.
    compact_nodes : bool, default True
        Has no effect.
    copy_data : bool, default False
        Whether to copy `data`, so that later writes to it have no effect.
    balanced_tree : bool, default True
        Has no effect.
    boxsize : float or sequence of floats, optional
        The extent after which space repeats itself, one or one for each coordinate; 0 for none.

    Attributes
    ----------
    data : array_like
        The points as float64.
    n : array_like
        Their number.
    m : array_like
        Their number of coordinates.
    mins : object
        The least of each coordinate.
    maxes : object
        The greatest of each coordinate.

    Raises
    ------
    ValueError
        For points that are not 2-d, not real or not finite, or that lie outside the box.

    See Also
    --------
    distance.cdist

    Examples
    --------
    >>> tree = cp.scipy.spatial.KDTree([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> distances, indices = tree.query([[2.0, 4.0], [6.0, 7.0]])
    >>> distances, indices
    (array([1., 1.]), array([1, 2]))
    """

    @on_array_device
    def __init__(
        self, data: Any, leafsize: int = 10, compact_nodes: bool = True, copy_data: bool = False,
        balanced_tree: bool = True, boxsize: Any = None,
    ) -> None:  # fmt: skip
        points = array(data)
        if points.dtype.kind == "c":
            raise TypeError("KDTree does not work with complex data")
        if points.ndim != 2:
            raise ValueError("data must be of shape (n, m), where there are n points of dimension m")
        if operator.index(leafsize) < 1:
            raise ValueError("leafsize must be at least 1")
        self.leafsize = leafsize
        self.data = cp.array(points, dtype="float64", copy=True if copy_data else None)
        self.n, self.m = self.data.shape
        if not bool(cp.all(cp.isfinite(self.data))):
            raise ValueError("data must be finite, check for nan or inf values")
        self.boxsize: ndarray | None = None
        if boxsize is not None:
            self.boxsize = cp.array(_core.broadcast_to(_core.cast(array(boxsize), "float64"), (self.m,)))
            repeats = self.boxsize > 0.0
            if bool(cp.any(_map("logical_and", repeats, self.data >= self.boxsize))):
                raise ValueError("Some input data are greater than the size of the periodic box.")
            if bool(cp.any(_map("logical_and", repeats, self.data < 0.0))):
                raise ValueError("Negative input data are outside of the periodic box.")
        empty = [cp.zeros(self.m)] * 2
        self.mins, self.maxes = [f(self.data, axis=0) for f in (cp.min, cp.max)] if self.n else empty

    def _norm(self, p: float) -> Callable[[ndarray, ndarray], ndarray]:
        """Returns the function of two arrays of points, which broadcast, that computes distances."""
        p, box = _order(p), self.boxsize

        def norm(x: ndarray, y: ndarray) -> ndarray:
            apart = _map("absolute", x - y)
            if box is not None:
                around = _map("where", box > 0.0, box - apart, math.inf)
                apart = _map("minimum", apart, around)
            last = [apart.ndim - 1]
            if p == math.inf:
                return _core.reduce("max", apart, last)
            if p == 1.0:
                return _core.reduce("sum", apart, last)
            if p == 2.0:
                return _map("sqrt", _core.reduce("sum", apart * apart, last))
            return _map("power", _core.reduce("sum", _map("power", apart, p), last), 1.0 / p)

        return norm

    def _sites(self, x: Any) -> tuple[ndarray, tuple[int, ...]]:
        """Returns the points of a query as rows, inside of the box, and the shape of the query."""
        given = array(x)
        if given.dtype.kind == "c":
            raise TypeError("KDTree does not work with complex data")
        if given.shape[-1:] != (self.m,):
            raise ValueError(f"x must consist of vectors of length {self.m} but has shape {given.shape}")
        count = math.prod(given.shape[:-1])
        sites = _core.cast(given, "float64").reshape([count, self.m])
        if not bool(cp.all(cp.isfinite(sites))):
            raise ValueError("'x' must be finite, check for nan or inf values")
        if self.boxsize is not None:
            size = _map("where", self.boxsize > 0.0, self.boxsize, 1.0)
            inside = sites - cp.floor(sites / size) * size
            sites = _map("where", self.boxsize > 0.0, inside, sites)
        return sites, given.shape[:-1]

    def _parts(self, sites: ndarray, p: float) -> Iterator[tuple[slice, ndarray]]:
        """Yields slices of the sites, and their distances to all points."""
        norm = self._norm(p)
        for part in parts(sites.shape[0], self.n * max(self.m, 1)):
            yield part, norm(sites[part, None, :], self.data[None, :, :])

    @on_array_device
    def query(
        self, x: Any, k: Any = 1, eps: float = 0.0, p: float = 2.0, distance_upper_bound: float = math.inf,
        workers: int = 1,
    ) -> tuple[ndarray, ndarray]:  # fmt: skip
        """Finds the nearest points.

        Parameters
        ----------
        x : array_like
            The points to which they are near, along the last axis.
        k : int or sequence of ints, default 1
            The number of nearest points, or a sequence of their ranks, which begin with 1.
        eps : float, default 0.0
            A relative error that is allowed; the exact points are found.
        p : float, default 2.0
            The order of Minkowski's norm, from 1 to infinity.
        distance_upper_bound : float, optional
            Only nearer points are found.
        workers : int, default 1
            Has no effect.

        Returns
        -------
        pair of ndarrays
            The distances, and the indices of the points, of the shape of `x` with `k` (unless it is 1) for the
            last axis. Missing points have the distance infinity and the index n.

        Raises
        ------
        ValueError
            For points of another length or that are not finite, and invalid `k`, `eps` and `p`.

        Examples
        --------
        >>> tree = cp.scipy.spatial.KDTree([[0.0], [3.0], [6.0]])
        >>> tree.query([2.0], k=2)
        (array([1., 2.]), array([1, 0]))
        """
        ranks = _ranks(k)
        _checked_eps(eps)
        operator.index(workers)
        sites, shape = self._sites(x)
        most = min(max(ranks), self.n)
        distances, indices = [cp.full((0, max(ranks)), 0.0)], [cp.full((0, max(ranks)), 0)]
        for part, apart in self._parts(sites, p):
            count = part.stop - part.start
            if most == 0:
                near, found = cp.zeros((count, 0)), cp.zeros((count, 0), dtype="int64")
            elif most == 1:
                found = cp.argmin(apart, axis=1)[:, None]
                near = cp.take_along_axis(apart, found, axis=1)
            else:
                near, found = cp.topk(apart, most, largest=False)
            far = _map("logical_not", near < distance_upper_bound)
            near, found = _map("where", far, math.inf, near), _map("where", far, self.n, _core.cast(found, "int64"))
            beyond = ((0, 0), (0, max(ranks) - most))
            distances.append(cp.pad(near, beyond, constant_values=math.inf))
            indices.append(cp.pad(found, beyond, constant_values=self.n))
        d, i = cp.concatenate(distances), cp.concatenate(indices)
        if isinstance(k, int) and k == 1:
            return d.reshape([*shape]), i.reshape([*shape])
        if not isinstance(k, int) and ranks != [*range(1, max(ranks) + 1)]:
            columns = cp.asarray([rank - 1 for rank in ranks])
            d, i = d[:, columns], i[:, columns]
        return d.reshape([*shape, len(ranks)]), i.reshape([*shape, len(ranks)])

    @on_array_device
    def query_ball_point(
        self, x: Any, r: Any, p: float = 2.0, eps: float = 0.0, workers: int = 1, return_sorted: bool | None = None,
        return_length: bool = False,
    ) -> Any:  # fmt: skip
        """Finds the points within a distance.

        Parameters
        ----------
        x : array_like
            The points around which they lie, along the last axis.
        r : array_like
            The distance, or one for each of `x`.
        p : float, default 2.0
            The order of Minkowski's norm, from 1 to infinity.
        eps : float, default 0.0
            A relative error that is allowed; the exact points are found.
        workers : int, default 1
            Has no effect.
        return_sorted : bool, optional
            Has no effect: indices rise.
        return_length : bool, default False
            Whether to return the numbers of points instead.

        Returns
        -------
        ndarray
            For one point an array of the indices. For several points a list of such arrays, as in CuPy. The numbers are
            an array of the shape of `x` without its last axis.

        Raises
        ------
        ValueError
            For points of another length or that are not finite, and invalid `eps` and `p`.

        Examples
        --------
        >>> tree = cp.scipy.spatial.KDTree([[0.0], [3.0], [6.0]])
        >>> tree.query_ball_point([2.0], 2.0)
        array([0, 1])
        """
        _checked_eps(eps)
        operator.index(workers)
        sites, shape = self._sites(x)
        radii = _core.broadcast_to(_core.cast(array(r), "float64"), shape).reshape([sites.shape[0], 1])
        lengths, indices = [cp.full((0,), 0)], [cp.full((0,), 0)]
        for part, apart in self._parts(sites, p):
            near = apart <= radii[part]
            lengths.append(cp.count_nonzero(near, axis=1))
            if not return_length:
                indices.append(cp.nonzero(near)[1])
        counts = cp.concatenate(lengths)
        if return_length:
            return counts.reshape([*shape])
        found = cp.concatenate(indices)
        if not shape:
            return found
        ends = cp.asnumpy(cp.cumsum(counts)).tolist()
        return [found[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def query_ball_tree(self, other: KDTree, r: float, p: float = 2.0, eps: float = 0.0) -> list[ndarray]:
        """Finds the points of another tree within a distance of each point.

        Parameters
        ----------
        other : KDTree
            The other tree.
        r : float
            The distance.
        p : float, default 2.0
            The order of Minkowski's norm, from 1 to infinity.
        eps : float, default 0.0
            A relative error that is allowed; the exact points are found.

        Returns
        -------
        list of ndarrays
            For each point an array of the indices of points of `other`.

        Raises
        ------
        ValueError
            For trees of other dimensions, and invalid `eps` and `p`.

        Examples
        --------
        >>> tree = cp.scipy.spatial.KDTree([[0.0], [3.0], [6.0]])
        >>> tree.query_ball_tree(tree, 3.0)
        [array([0, 1]), array([0, 1, 2]), array([1, 2])]
        """
        self._checked_other(other, "query_ball_tree")
        found: list[ndarray] = other.query_ball_point(self.data, r, p, eps)
        return found

    @on_array_device
    def query_pairs(self, r: float, p: float = 2.0, eps: float = 0.0, output_type: str = "ndarray") -> Any:
        """Finds the pairs of points within a distance.

        Parameters
        ----------
        r : float
            The distance.
        p : float, default 2.0
            The order of Minkowski's norm, from 1 to infinity.
        eps : float, default 0.0
            A relative error that is allowed; the exact pairs are found.
        output_type : str, default "ndarray"
            "ndarray", which is the default as in CuPy, or "set".

        Returns
        -------
        ndarray
            An array of the pairs (i, j) with i < j, one a row, or a set of tuples.

        Raises
        ------
        ValueError
            For an unknown `output_type`, and invalid `eps` and `p`.

        Examples
        --------
        >>> cp.scipy.spatial.KDTree([[0.0], [3.0], [6.0]]).query_pairs(3.0)
        array([[0, 1],
               [1, 2]])
        """
        if output_type not in ("ndarray", "set"):
            raise ValueError("Invalid output type")
        _checked_eps(eps)
        pairs = [cp.full((0, 2), 0)]
        numbers = cp.arange(self.n)
        for part, apart in self._parts(self.data, p):
            after = numbers[None, :] > numbers[part, None]
            first, second = cp.nonzero(_map("logical_and", apart <= float(r), after))
            pairs.append(cp.stack([first + part.start, second], axis=1))
        found = cp.concatenate(pairs)
        return found if output_type == "ndarray" else {(i, j) for i, j in cp.asnumpy(found).tolist()}

    @on_array_device
    def count_neighbors(
        self, other: KDTree, r: Any, p: float = 2.0, weights: Any = None, cumulative: bool = True
    ) -> ndarray:
        """Counts the pairs of a point and one of another tree within distances.

        Parameters
        ----------
        other : KDTree
            The other tree.
        r : array_like
            The distance, or an array of them.
        p : float, default 2.0
            The order of Minkowski's norm, from 1 to infinity.
        weights : array_like, optional
            The weights of the points, or a pair of the weights of the points of both trees, each perhaps None; a pair
            counts as the product.
        cumulative : bool, default True
            Whether to count all pairs up to each distance; otherwise those beyond the distance before it.

        Returns
        -------
        ndarray
            An array of the shape of `r`: int64, or float64 with weights.

        Raises
        ------
        ValueError
            For trees of other dimensions, one array of weights for two trees, weights of another number, distances that
            decrease without `cumulative`, and invalid `p`.

        Examples
        --------
        >>> tree = cp.scipy.spatial.KDTree([[0.0], [3.0], [6.0]])
        >>> tree.count_neighbors(tree, [0.0, 3.0, 6.0])
        array([3, 7, 9])
        """
        self._checked_other(other, "count_neighbors")
        radii = _core.cast(array(r), "float64")
        flat = radii.reshape([radii.size])
        if radii.ndim > 1:
            raise ValueError("r must be either a single value or a one-dimensional array of values")
        if not cumulative and bool(cp.any(flat[1:] < flat[:-1])):
            raise ValueError("r must be non-decreasing")
        mine, others = weights if isinstance(weights, tuple) else (weights, weights)
        if weights is not None and not isinstance(weights, tuple) and other is not self:
            raise ValueError("Two different trees are used. Specify weights for both in a tuple.")
        weighted = weights is not None
        w1, w2 = (_weights(w, tree.n) if weighted else None for w, tree in ((mine, self), (others, other)))
        bounds = cp.sort(flat) if cumulative else flat
        counts = cp.zeros(bounds.size + 1, dtype="float64" if weighted else "int64")
        for part, apart in other._parts(self.data, p):
            places = cp.searchsorted(bounds, apart.reshape(-1))
            each = None if w1 is None or w2 is None else (w1[part, None] * w2[None, :]).reshape(-1)
            counts = counts + cp.bincount(places, each, bounds.size + 1)
        found = counts[:-1]
        if cumulative:
            found = cp.cumsum(found)[cp.searchsorted(bounds, flat, side="right") - 1]
        return found.reshape([*radii.shape])

    @on_array_device
    def sparse_distance_matrix(
        self, other: KDTree, max_distance: float, p: float = 2.0, output_type: str = "coo_matrix"
    ) -> Any:
        """Returns the distances to the points of another tree, without those that are larger than a bound.

        Parameters
        ----------
        other : KDTree
            The other tree.
        max_distance : float
            The bound.
        p : float, default 2.0
            The order of Minkowski's norm, from 1 to infinity.
        output_type : str, default "coo_matrix"
            "coo_matrix", which is the default as in CuPy, "ndarray" for a dense matrix with zeros for larger distances,
            as in CuPy, or "dict".

        Returns
        -------
        sparse matrix
            A sparse matrix, an array or a dict of pairs of indices.

        Raises
        ------
        ValueError
            For trees of other dimensions, an unknown `output_type`, and invalid `p`.

        Examples
        --------
        >>> tree = cp.scipy.spatial.KDTree([[0.0], [3.0], [6.0]])
        >>> tree.sparse_distance_matrix(tree, 3.0).toarray()
        array([[0., 3., 0.],
               [3., 0., 3.],
               [0., 3., 0.]])
        """
        if output_type not in ("coo_matrix", "ndarray", "dict"):
            raise ValueError("Invalid output type")
        self._checked_other(other, "sparse_distance_matrix")
        rows, columns, values = [cp.full((0,), 0)], [cp.full((0,), 0)], [cp.zeros(0)]
        for part, apart in other._parts(self.data, p):
            i, j = cp.nonzero(apart <= float(max_distance))
            rows.append(i + part.start)
            columns.append(j)
            values.append(apart[i, j])
        i, j, d = (cp.concatenate(a) for a in (rows, columns, values))
        if output_type == "dict":
            keys = zip(*(cp.asnumpy(a).tolist() for a in (i, j)), strict=True)
            return dict(zip(keys, cp.asnumpy(d).tolist(), strict=True))
        matrix = coo_matrix((d, (i, j)), shape=(self.n, other.n))
        return matrix if output_type == "coo_matrix" else matrix.toarray()

    def _checked_other(self, other: KDTree, name: str) -> None:
        if not isinstance(other, KDTree):
            raise TypeError(f"[{name}] other must be a KDTree, not {type(other).__name__}")
        if self.m != other.m:
            raise ValueError(f"Trees passed to {name} have different dimensionality")


def _order(p: float) -> float:
    if not float(p) >= 1.0:
        raise ValueError("Only p-norms with 1<=p<=infinity permitted")
    return float(p)


def _checked_eps(eps: float) -> None:
    if not float(eps) >= 0.0:
        raise ValueError("eps must be non-negative")


def _ranks(k: Any) -> list[int]:
    """Returns the ranks of the nearest points that are returned."""
    if k is None or isinstance(k, (str, float)):
        raise ValueError("k must be an integer or a sequence of integers")
    try:
        ranks = [*range(1, operator.index(k) + 1)]
    except TypeError:
        ranks = [operator.index(rank) for rank in k]
    if not ranks or min(ranks) < 1:
        raise ValueError("k must be greater than 0")
    return ranks


def _weights(w: Any, count: int) -> ndarray:
    weights = cp.ones(count) if w is None else _core.cast(array(w), "float64")
    if weights.shape != (count,):
        raise ValueError(f"Number of weights differ from the number of data points: {weights.shape} and {count}")
    return weights


__all__ = ["KDTree", "distance_matrix"]
