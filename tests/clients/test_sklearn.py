"""scikit-learn with `array_api_dispatch=True`: its own checks of estimators and metrics, given the namespace "cuprous".

Its checks compare attributes, transformed values and scores with NumPy's, and look at namespaces, devices and dtypes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same

if os.environ.get("SCIPY_ARRAY_API") != "1":
    pytest.skip("SciPy was started without SCIPY_ARRAY_API=1; use `make test-clients`", allow_module_level=True)
sklearn = pytest.importorskip("sklearn", "1.8", reason="scikit-learn 1.8 is not installed (requirements-clients.txt)")

from sklearn import (  # noqa: E402
    decomposition,
    discriminant_analysis,
    linear_model,
    metrics,
    model_selection,
    naive_bayes,
    pipeline,
    preprocessing,
)
from sklearn.metrics.tests.test_common import yield_metric_checker_combinations  # noqa: E402
from sklearn.utils.estimator_checks import check_array_api_input_and_values  # noqa: E402

DTYPES = ("float64", "float32")

ESTIMATORS = [
    preprocessing.StandardScaler(), preprocessing.MinMaxScaler(clip=True), preprocessing.MaxAbsScaler(),
    preprocessing.Normalizer(norm="l1"), preprocessing.Normalizer(norm="l2"), preprocessing.Normalizer(norm="max"),
    preprocessing.Binarizer(), preprocessing.KernelCenterer(), preprocessing.PolynomialFeatures(degree=2),
    decomposition.PCA(n_components=2, svd_solver="full"),
    decomposition.PCA(n_components=2, svd_solver="covariance_eigh", whiten=True),
    linear_model.Ridge(solver="svd"), linear_model.RidgeCV(),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _dispatch() -> Iterator[None]:
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_estimator(estimator: Any, dtype: str) -> None:
    check_array_api_input_and_values(type(estimator).__name__, estimator, "cuprous", dtype_name=dtype)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("metric", "check"),
    [
        pytest.param(*pair, id=" ".join(getattr(f, "__name__", "partial") for f in pair))
        for pair in yield_metric_checker_combinations()
    ],
)
def test_metric(metric: Callable[..., Any], check: Callable[..., None]) -> None:
    check(metric, "cuprous", None, "float64")


RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5))
LABELS = (X[:, 0] + 0.3 * RNG.standard_normal(60) > 0).astype("int64")
TARGET = X @ np.arange(5.0)
CALLS: dict[str, Callable[[Any], Any]] = {
    "partial_fit": lambda to: preprocessing.StandardScaler().partial_fit(to(X[:30])).partial_fit(to(X[30:])).mean_,
    "weighted": lambda to: preprocessing.StandardScaler().fit(to(X), sample_weight=to(abs(TARGET))).transform(to(X)),
    "inverse": lambda to: preprocessing.MinMaxScaler().fit(to(X)).inverse_transform(to(X)),
    "pipeline": lambda to: pipeline.make_pipeline(
        preprocessing.StandardScaler(), preprocessing.MinMaxScaler()
    ).fit_transform(to(X)),
    "labels": lambda to: preprocessing.LabelEncoder().fit_transform(to(LABELS + 3)),
    "bayes": lambda to: naive_bayes.GaussianNB().fit(to(X), to(LABELS)).predict_proba(to(X)),
    "logistic": lambda to: linear_model.LogisticRegression().fit(to(X), to(LABELS)).predict(to(X)),
    "split": lambda to: tuple(model_selection.train_test_split(to(X), to(LABELS), random_state=0)),
    "distances": lambda to: metrics.pairwise.euclidean_distances(to(X), to(X[:7])),
    "rbf_kernel": lambda to: metrics.pairwise.rbf_kernel(to(X)),
    "confusion_matrix": lambda to: metrics.confusion_matrix(to(LABELS), to(LABELS[::-1].copy())),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_as_numpy(call: Callable[[Any], Any]) -> None:
    theirs, ours = call(np.asarray), call(cp.asarray)
    for mine, other in zip(*((ours, theirs) if isinstance(theirs, tuple) else ((ours,), (theirs,))), strict=True):
        assert isinstance(mine, cp.ndarray)
        assert_same(mine, other, rtol=1e-7, atol=1e-10)


def test_linear_discriminant_analysis() -> None:
    """Does not use scikit-learn's check, which compares the signs of singular vectors."""
    ours = discriminant_analysis.LinearDiscriminantAnalysis().fit(cp.asarray(X), cp.asarray(LABELS))
    numpys = discriminant_analysis.LinearDiscriminantAnalysis().fit(X, LABELS)
    assert_same(ours.predict(cp.asarray(X)), numpys.predict(X))
    assert_same(ours.decision_function(cp.asarray(X)), numpys.decision_function(X), rtol=1e-7)
