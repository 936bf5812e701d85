"""t-SNE with the exact gradient."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import squareform
from sklearn import manifold

import cuprous as cp
from cuprous.sklearn._report import on_device

_EPSILON = float(np.finfo(np.float64).eps)
#: Probabilities that are kept, which are 2 GiB.
_MOST_PAIRS = 1 << 28


class _Descent(NamedTuple):
    embedding: Any
    divergence: float
    iteration: int


class TSNE(manifold.TSNE):
    """scikit-learn's `TSNE` with the gradient descent on the device, for `method="exact"`.

    See Also
    --------
    sklearn.UMAP, sklearn.TruncatedSVD

    Examples
    --------
    >>> from cuprous.sklearn import TSNE
    >>> points = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> model = TSNE(perplexity=2, method="exact", init="random", random_state=0)
    >>> model.fit_transform(points).shape
    (6, 2)
    """

    def _tsne(
        self,
        P: Any,
        degrees_of_freedom: int,
        n_samples: int,
        X_embedded: Any,
        neighbors: Any = None,
        skip_num_points: int = 0,
    ) -> Any:
        if not on_device(self, "fit", self._reason(n_samples)):
            return super()._tsne(P, degrees_of_freedom, n_samples, X_embedded, neighbors, skip_num_points)
        points = cp.asarray(np.asarray(X_embedded, "float64"))
        near = cp.asarray(squareform(P).astype("float64"))
        explored = self._EXPLORATION_MAX_ITER
        early = _Gradient(near * self.early_exaggeration, degrees_of_freedom)
        found = self._descend(early, points, 0, explored, 0.5, explored)
        if found.iteration < explored or self.max_iter > explored:
            late = _Gradient(near, degrees_of_freedom)
            patience = self.n_iter_without_progress
            found = self._descend(late, found.embedding, found.iteration + 1, self.max_iter, 0.8, patience)
        self.n_iter_, self.kl_divergence_ = found.iteration, found.divergence
        return cp.asnumpy(found.embedding).astype(X_embedded.dtype)

    def _reason(self, count: int) -> str:
        if self.method != "exact":
            return "the gradient is approximated by a tree; method='exact' runs on the device"
        if self.verbose:
            return "verbose"
        return f"the pairs of {count} points take too much memory" if count**2 > _MOST_PAIRS else ""

    def _descend(
        self, gradient: _Gradient, points: Any, begin: int, end: int, momentum: float, patience: int
    ) -> _Descent:
        """Follows the gradient, with a gain for each coordinate that grows while its direction stays."""
        update, gains = cp.zeros_like(points), cp.ones_like(points)
        divergence = least = float(np.finfo(float).max)
        best = iteration = begin
        for iteration in range(begin, end):
            slope = gradient.at(points)
            checks = (iteration + 1) % self._N_ITER_CHECK == 0
            if checks or iteration == end - 1:
                divergence = gradient.divergence(points)
            gains = cp.maximum(cp.where(update * slope < 0, gains + 0.2, gains * 0.8), 0.01)
            slope = slope * gains
            update = momentum * update - float(self.learning_rate_) * slope
            points = points + update
            if not checks:
                continue
            if divergence < least:
                least, best = divergence, iteration
            elif iteration - best > patience:
                break
            if float(cp.sqrt((slope * slope).sum())) <= self.min_grad_norm:
                break
        return _Descent(points, divergence, iteration)


class _Gradient:
    """The Kullback-Leibler divergence of the similarities of an embedding from wanted ones.

    Parameters
    ----------
    wanted : array_like
        The similarities of all pairs.
    degrees : int
        Degrees of freedom of Student's distribution, which gives those of the embedding.
    """

    def __init__(self, wanted: Any, degrees: int) -> None:
        self._wanted, self._degrees = wanted, degrees
        self._others = 1.0 - cp.eye(int(wanted.shape[0]))

    def _similarities(self, points: Any) -> tuple[Any, Any]:
        """The kernel of all pairs of points, 0 for a point and itself, and the same with the sum 1."""
        squares = sum((one[:, None] - one[None, :]) ** 2 for one in points.T)
        kernel = 1.0 + squares / self._degrees
        power = self._degrees + 1  # of the root
        kernel = self._others / (kernel ** (power // 2) * (cp.sqrt(kernel) if power % 2 else 1.0))
        return kernel, cp.maximum(kernel / kernel.sum(), _EPSILON)

    def at(self, points: Any) -> Any:
        """Returns the gradient."""
        kernel, similar = self._similarities(points)
        forces = (self._wanted - similar) * kernel
        found = [(forces * (one[:, None] - one[None, :])).sum(axis=1) for one in points.T]
        return cp.stack(found, axis=1) * (2.0 * (self._degrees + 1) / self._degrees)

    def divergence(self, points: Any) -> float:
        """Returns the divergence."""
        _, similar = self._similarities(points)
        wanted = self._wanted * self._others
        return float((wanted * cp.log(cp.maximum(wanted, _EPSILON) / similar)).sum())
