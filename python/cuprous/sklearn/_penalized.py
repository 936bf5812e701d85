"""Least squares with penalties."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import linear_model
from sklearn.utils.validation import validate_data

import cuprous as cp
from cuprous.sklearn._parameters import given
from cuprous.sklearn._report import on_device


class _Gram(linear_model.ElasticNet):
    """Products of all pairs of features on the device; scikit-learn's coordinate descent then reads these alone."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Any:
        """See scikit-learn's method of the same name."""
        if not on_device(self, "fit", _reason(self, X, sample_weight)):
            return super().fit(X, y, sample_weight, check_input)
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True)
        y = y.astype(X.dtype, copy=False)
        a, b = cp.asarray(X), cp.asarray(y)
        a_mean, b_mean = (one.mean(axis=0) if self.fit_intercept else one[:1].sum(axis=0) * 0 for one in (a, b))
        a, b = a - a_mean, b - b_mean
        means = cp.asnumpy(a_mean), cp.asnumpy(b_mean)
        with given(self, precompute=cp.asnumpy(a.T @ a), fit_intercept=False):
            columns = np.asfortranarray(cp.asnumpy(a))
            super().fit(columns, np.asfortranarray(cp.asnumpy(b)), check_input=False)
        if self.fit_intercept:
            self.intercept_ = means[1] - self.coef_ @ means[0]
        return self


class ElasticNet(_Gram):
    """scikit-learn's `ElasticNet`, with the products of features on the device.

    See Also
    --------
    sklearn.Lasso, sklearn.LinearRegression

    Examples
    --------
    >>> from cuprous.sklearn import ElasticNet
    >>> model = ElasticNet(alpha=0.1).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(4).tolist(), round(float(model.intercept_), 4)
    ([1.7907], 1.2093)
    """


class Lasso(_Gram, linear_model.Lasso):
    """scikit-learn's `Lasso`, with the products of features on the device.

    See Also
    --------
    sklearn.ElasticNet, sklearn.LinearRegression

    Examples
    --------
    >>> from cuprous.sklearn import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(4).tolist(), round(float(model.intercept_), 4)
    ([1.85, 0.0], 1.15)
    """


def _reason(estimator: Any, X: Any, sample_weight: Any) -> str:
    if estimator.precompute is not False:
        return "the products of features are given, or not wanted"
    if issparse(X):
        return "the data are sparse"
    if sample_weight is not None:
        return "samples have weights"
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    return "there are more features than samples" if len(shape) == 2 and shape[1] > shape[0] else ""
