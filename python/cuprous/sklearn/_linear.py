"""Least squares."""

from __future__ import annotations

from typing import Any

from scipy.sparse import issparse
from sklearn import linear_model
from sklearn.utils.validation import _check_sample_weight, validate_data

import cuprous as cp
from cuprous.sklearn._report import on_device


class LinearRegression(linear_model.LinearRegression):
    """scikit-learn's `LinearRegression`, fitted on the device.

    See Also
    --------
    sklearn.Lasso, sklearn.ElasticNet

    Examples
    --------
    >>> from cuprous.sklearn import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6).tolist(), round(float(model.intercept_), 6)
    ([2.0], 1.0)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearRegression:
        """See scikit-learn's method of the same name."""
        reason = "coefficients must be positive" if self.positive else "the data are sparse" if issparse(X) else ""
        if not on_device(self, "fit", reason):
            return super().fit(X, y, sample_weight)
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True)
        dtype = "float32" if str(X.dtype) == "float32" else "float64"
        a, b = cp.asarray(X, dtype), cp.asarray(y, dtype)
        b = b.reshape(b.shape[0], -1)
        weights = None
        if sample_weight is not None:
            weights = cp.asarray(_check_sample_weight(sample_weight, X, dtype=X.dtype), dtype)[:, None]
        a_mean, b_mean = (_mean(one, weights) if self.fit_intercept else 0.0 for one in (a, b))
        a, b = a - a_mean, b - b_mean
        if weights is not None:
            a, b = a * cp.sqrt(weights), b * cp.sqrt(weights)
        tolerance = float(cp.finfo(dtype).eps) * max(a.shape)
        solution, _, self.rank_, singular = cp.linalg.lstsq(a, b, rcond=tolerance)
        self.rank_, self.singular_ = int(self.rank_), cp.asnumpy(singular)
        intercept = cp.asnumpy((b_mean - a_mean @ solution).reshape(-1)) if self.fit_intercept else None
        coefficients = cp.asnumpy(solution.T)
        one_target = y.ndim == 1
        self.coef_ = coefficients[0] if one_target else coefficients
        self.intercept_ = 0.0 if intercept is None else intercept[0] if one_target else intercept
        return self


def _mean(values: Any, weights: Any) -> Any:
    return values.mean(axis=0) if weights is None else (values * weights).sum(axis=0) / weights.sum()
