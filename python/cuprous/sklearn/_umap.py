"""Uniform manifold approximation and projection (McInnes, Healy and Melville, 2018)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import curve_fit
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.decomposition import PCA
from sklearn.manifold import spectral_embedding
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

import cuprous as cp
from cuprous.sklearn._layout import Forces, embedded, placed
from cuprous.sklearn._neighbors import nearest
from cuprous.sklearn._report import on_device

#: Bandwidths are no smaller than this part of the mean distance.
_LEAST_BANDWIDTH = 1e-3
_BISECTIONS = 64


class UMAP(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Embeds points so that their fuzzy neighborhoods stay, with the parameters of `umap.UMAP`.

    Neighbors are exact, distances are Euclidean. All edges of a part of the graph move their points at once, where
    the published algorithm moves one edge at a time; embeddings are as trustworthy, and not the same.

    Parameters
    ----------
    n_neighbors : int, default 15
        The neighbors of a point, itself included, that its neighborhood has.
    n_components : int, default 2
        Dimensions of the embedding.
    n_epochs : int, optional
        Passes over the graph; None is 500, or 200 for more than 10,000 points.
    learning_rate : float, default 1.0
        The size of the first steps.
    init : str, default "spectral"
        "spectral" (principal components if the graph is not connected), "pca", "random" or an array.
    min_dist : float, default 0.1
        The distance of points that are together in the embedding.
    spread : float, default 1.0
        The scale of the embedding.
    set_op_mix_ratio : float, default 1.0
        1 unites the neighborhoods of two points, 0 intersects them.
    local_connectivity : float, default 1.0
        The number of neighbors to which a point is wholly connected.
    repulsion_strength : float, default 1.0
        The weight of points that are not neighbors.
    negative_sample_rate : int, default 5
        Such points for each edge.
    a : float, optional
        A parameter of the curve of similarities; None fits it to `min_dist` and `spread`.
    b : float, optional
        The other one.
    random_state : int, optional
        A seed, or a generator of random numbers.

    Attributes
    ----------
    embedding_ : array_like
        The embedded points.
    graph_ : array_like
        The weights of edges, a sparse array.
    n_features_in_ : int
        The number of features.

    See Also
    --------
    sklearn.TSNE, sklearn.TruncatedSVD, sklearn.NearestNeighbors

    Examples
    --------
    >>> from cuprous.sklearn import UMAP
    >>> points = np.vstack([np.eye(8), np.eye(8) + 9])
    >>> UMAP(n_neighbors=4, n_epochs=20, random_state=0).fit_transform(points).shape
    (16, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 2, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_epochs": [Interval(Integral, 1, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "init": [StrOptions({"spectral", "pca", "random"}), np.ndarray],
        "min_dist": [Interval(Real, 0, None, closed="left")],
        "spread": [Interval(Real, 0, None, closed="neither")],
        "set_op_mix_ratio": [Interval(Real, 0, 1, closed="both")],
        "local_connectivity": [Interval(Real, 0, None, closed="left")],
        "repulsion_strength": [Interval(Real, 0, None, closed="left")],
        "negative_sample_rate": [Interval(Integral, 1, None, closed="left")],
        "a": [Interval(Real, 0, None, closed="neither"), None],
        "b": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_neighbors: int = 15,
        n_components: int = 2,
        *,
        n_epochs: int | None = None,
        learning_rate: float = 1.0,
        init: Any = "spectral",
        min_dist: float = 0.1,
        spread: float = 1.0,
        set_op_mix_ratio: float = 1.0,
        local_connectivity: float = 1.0,
        repulsion_strength: float = 1.0,
        negative_sample_rate: int = 5,
        a: float | None = None,
        b: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.init = init
        self.min_dist = min_dist
        self.spread = spread
        self.set_op_mix_ratio = set_op_mix_ratio
        self.local_connectivity = local_connectivity
        self.repulsion_strength = repulsion_strength
        self.negative_sample_rate = negative_sample_rate
        self.a = a
        self.b = b
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> UMAP:
        """Embeds points.

        Parameters
        ----------
        X : array_like
            The points, (samples, features).
        y : object, optional
            Ignored.

        Returns
        -------
        UMAP
            The estimator.

        Raises
        ------
        ValueError
            If a parameter, or the data, have another value or shape than they may.
        """
        if self.min_dist > self.spread:
            raise ValueError(f"min_dist ({self.min_dist}) must be less than or equal to spread ({self.spread})")
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        on_device(self, "fit", "")
        self._a, self._b = self._curve()
        count = min(self.n_neighbors, len(X))
        points = cp.asarray(X, "float64")
        distances, rows = nearest(points, points, count)
        weights = memberships(distances, self.local_connectivity)
        self.graph_ = self._united(cp.asnumpy(weights), cp.asnumpy(rows), len(X))
        random = check_random_state(self.random_state)
        begin = self._begin(X, random)
        epochs = self.n_epochs or (500 if len(X) <= 10_000 else 200)
        edges = self.graph_.tocoo()
        self.embedding_ = embedded(
            begin, (edges.row, edges.col, edges.data), epochs, self._forces(self.learning_rate), _seed(random)
        ).astype(X.dtype)
        self._points, self._transform_seed = X, _seed(random)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Embeds points and returns the embedding.

        Parameters
        ----------
        X : array_like
            The points, (samples, features).
        y : object, optional
            Ignored.
        """
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> Any:
        """Returns other points in the embedding; those that it was made of stay where they are.

        Parameters
        ----------
        X : array_like
            The points, (samples, features).
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        on_device(self, "transform", "")
        count = min(self.n_neighbors, len(self._points))
        distances, rows = nearest(cp.asarray(X, "float64"), cp.asarray(self._points, "float64"), count)
        weights = memberships(distances, self.local_connectivity, of_others=True)
        parts = cp.asnumpy(weights / weights.sum(axis=1)[:, None])
        begin = (parts[:, :, None] * self.embedding_[cp.asnumpy(rows)]).sum(axis=1)
        epochs = max(1, self.n_epochs // 3) if self.n_epochs else 100 if len(X) <= 10_000 else 30
        forces = self._forces(self.learning_rate / 4)
        found = placed(begin, self.embedding_, rows, weights, epochs, forces, self._transform_seed).astype(X.dtype)
        known = cp.asnumpy(distances[:, 0] == 0)
        found[known] = self.embedding_[cp.asnumpy(rows[:, 0])[known]]
        return found

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _forces(self, rate: float) -> Forces:
        return Forces(self._a, self._b, rate, self.repulsion_strength, self.negative_sample_rate)

    def _curve(self) -> tuple[float, float]:
        """Parameters of 1 / (1 + a d^(2 b)), which fits a similarity of 1 up to `min_dist` that then decays."""
        if self.a is not None and self.b is not None:
            return self.a, self.b
        x = np.linspace(0, self.spread * 3, 300)
        y = np.where(x < self.min_dist, 1.0, np.exp(-(x - self.min_dist) / self.spread))
        (a, b), _ = curve_fit(lambda x, a, b: 1 / (1 + a * x ** (2 * b)), x, y)
        return float(a), float(b)

    def _united(self, weights: np.ndarray, rows: np.ndarray, count: int) -> Any:
        """The fuzzy union of the neighborhoods of all points, or a mixture of it with their intersection."""
        heads, tails = np.repeat(np.arange(count), rows.shape[1]), rows.ravel()
        places = heads.astype("int32"), tails.astype("int32")
        one = csr_array((np.where(heads == tails, 0, weights.ravel()), places), (count, count))
        one.eliminate_zeros()
        both = one.multiply(one.T)
        ratio = self.set_op_mix_ratio
        found = csr_array(ratio * (one + one.T - both) + (1 - ratio) * both)
        found.eliminate_zeros()
        return found

    def _begin(self, X: np.ndarray, random: np.random.RandomState) -> np.ndarray:
        """The points from which the embedding begins, within 10 of 0."""
        shape = (len(X), self.n_components)
        if isinstance(self.init, np.ndarray):
            if self.init.shape != shape:
                raise ValueError(f"init has the shape {self.init.shape}; it must be {shape}")
            return self.init.astype("float64")
        if self.init == "random":
            return random.uniform(-10, 10, shape)
        dimensions = self.n_components + 1
        connected = len(X) > 2 * dimensions and connected_components(self.graph_, directed=False)[0] == 1
        if self.init == "spectral" and connected:
            found = spectral_embedding(self.graph_, n_components=self.n_components, random_state=random)
        elif self.n_components <= min(X.shape):
            found = PCA(self.n_components, random_state=random).fit_transform(X)
        else:
            return random.uniform(-10, 10, shape)
        return 10 * found / max(np.abs(found).max(), 1e-300) + random.normal(scale=1e-4, size=shape)


def _seed(random: np.random.RandomState) -> int:
    return int(random.randint(np.iinfo(np.int32).max))


def memberships(distances: Any, local_connectivity: float, of_others: bool = False) -> Any:
    """Returns the strength with which each of its neighbors belongs to a point's neighborhood.

    The nearest other point belongs to it wholly. The bandwidth is such that the strengths sum to the logarithm of the
    number of neighbors.

    Parameters
    ----------
    distances : array_like
        Of each point to its neighbors in order, the point itself among them.
    local_connectivity : float
        How many neighbors belong to it wholly; between two integers the distance is between theirs.
    of_others : bool, default False
        Whether the points are not among their neighbors.
    """
    count = int(distances.shape[1])
    target = float(np.log2(count))
    others = distances > 0
    # Distances of other points come first; where there are not enough of them, the last one counts.
    found = cp.sort(cp.where(others, distances, np.inf), axis=1)
    whole = int(np.floor(local_connectivity))
    part = local_connectivity - whole
    low = found[:, min(max(whole - 1, 0), count - 1)] * (1.0 if whole else part)
    if whole and part:
        high = found[:, min(whole, count - 1)]
        low = cp.where(cp.isfinite(high), low + part * (high - low), low)
    nearest_one = cp.where(cp.isfinite(low), low, cp.where(others, distances, 0).max(axis=1))
    beyond = cp.maximum(distances - nearest_one[:, None], 0)
    summed = beyond if of_others else beyond[:, 1:]
    least, most = cp.zeros(distances.shape[0]), cp.full(distances.shape[0], np.inf)
    bandwidth = cp.ones(distances.shape[0])
    for _ in range(_BISECTIONS):
        total = cp.exp(-summed / bandwidth[:, None]).sum(axis=1)
        above = total > target
        most = cp.where(above, bandwidth, most)
        least = cp.where(above, least, bandwidth)
        bandwidth = cp.where(cp.isfinite(most), (least + most) / 2, bandwidth * 2)
    means = cp.where(nearest_one > 0, distances.mean(axis=1), distances.mean())
    bandwidth = cp.maximum(bandwidth, _LEAST_BANDWIDTH * means)
    return cp.where(beyond > 0, cp.exp(-beyond / cp.maximum(bandwidth, 1e-300)[:, None]), 1.0)
