"""Truncated singular value decompositions by random projections."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import decomposition
from sklearn.utils import check_random_state
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import validate_data

import cuprous as cp
from cuprous.sklearn._report import on_device


class TruncatedSVD(decomposition.TruncatedSVD):
    """scikit-learn's `TruncatedSVD` with `algorithm="randomized"` on the device.

    See Also
    --------
    sklearn.TSNE, sklearn.UMAP

    Examples
    --------
    >>> from cuprous.sklearn import TruncatedSVD
    >>> model = TruncatedSVD(n_components=1, random_state=0).fit([[3.0, 4.0], [6.0, 8.0]])
    >>> model.singular_values_.round(6).tolist()
    [11.18034]
    """

    def fit(self, X: Any, y: Any = None) -> TruncatedSVD:
        """See scikit-learn's method of the same name."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """See scikit-learn's method of the same name."""
        reason = "the data are sparse" if issparse(X) else ""
        if self.algorithm != "randomized":
            reason = f"algorithm={self.algorithm!r}"
        if not on_device(self, "fit", reason):
            return super().fit_transform(X, y)
        self._validate_params()
        X = validate_data(self, X, ensure_min_features=2)
        if self.n_components > X.shape[1]:
            raise ValueError(f"n_components({self.n_components}) must be <= n_features({X.shape[1]}).")
        dtype = "float32" if X.dtype == np.float32 else "float64"
        data = cp.asarray(X, dtype)
        begin = check_random_state(self.random_state).normal(size=(X.shape[1], self.n_components + self.n_oversamples))
        u, s, vt = _decomposed(data, cp.asarray(begin, dtype), self.n_iter)
        n = self.n_components
        left, singular, right = (cp.asnumpy(one) for one in (u[:, :n], s[:n], vt[:n]))
        _, right = svd_flip(left, right, u_based_decision=False)
        self.components_, self.singular_values_ = right, singular
        transformed = cp.asnumpy(data @ cp.asarray(right.T.copy()))  # what `transform` gives
        self.explained_variance_ = np.var(transformed, axis=0)
        self.explained_variance_ratio_ = self.explained_variance_ / float(cp.var(data, axis=0).sum())
        return transformed


def _decomposed(data: Any, basis: Any, iterations: int) -> tuple[Any, Any, Any]:
    """The decomposition within the range of the data that iterations of a random basis find."""
    for _ in range(iterations):
        basis, _ = cp.linalg.qr(data @ basis)
        basis, _ = cp.linalg.qr(data.T @ basis)
    basis, _ = cp.linalg.qr(data @ basis)
    u, s, vt = cp.linalg.svd(basis.T @ data, full_matrices=False)
    return basis @ u, s, vt
