"""Runs scikit-learn's own tests of array API support with the Cuprous namespace.

They are called as functions, for all combinations of their other parameters.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

if os.environ.get("SCIPY_ARRAY_API") != "1":
    pytest.skip("SciPy was started without SCIPY_ARRAY_API=1; use `make test-clients`", allow_module_level=True)
pytest.importorskip("sklearn", "1.9", reason="scikit-learn 1.9 is not installed (requirements-clients.txt)")

#: scikit-learn's modules that have such tests.
MODULES = (
    "_loss.tests.test_link", "_loss.tests.test_loss", "decomposition.tests.test_pca",
    "linear_model._glm.tests.test_glm", "linear_model.tests.test_logistic", "linear_model.tests.test_ridge",
    "metrics.cluster.tests.test_common",
    "metrics.cluster.tests.test_supervised", "metrics.tests.test_classification", "metrics.tests.test_common",
    "metrics.tests.test_pairwise", "mixture.tests.test_gaussian_mixture", "model_selection.tests.test_search",
    "model_selection.tests.test_split", "model_selection.tests.test_validation", "preprocessing.tests.test_data",
    "preprocessing.tests.test_label", "preprocessing.tests.test_polynomial", "tests.test_calibration",
    "tests.test_kernel_approximation", "tests.test_naive_bayes", "tests.test_pipeline", "utils.tests.test_array_api",
    "utils.tests.test_extmath", "utils.tests.test_indexing", "utils.tests.test_multiclass", "utils.tests.test_optimize",
    "utils.tests.test_stats", "utils.tests.test_validation",
)  # fmt: skip
#: Tests that an unknown namespace cannot pass, with the reason.
NOT_FOR_US = {
    "test_array_api_compliance": "given other metrics, it is in test_sklearn",
    "test_array_api_numpy_namespace_no_warning": "about NumPy's namespaces alone",
    "test_convert_estimator_to_ndarray": "each namespace brings a converter",
    "test_label_binarize_unsigned_integer_overflow": "takes results to the host by a list of namespaces",
    "test_log1pexp": "about NumPy's and PyTorch's namespaces alone",
    "test_supported_float_types": "each namespace brings a list of dtypes",
}
#: For slow tests, every n-th combination is run.
STEP = {"test_logistic_regression_array_api_compliance": 13, "test_poisson_regressor_array_api_compliance": 3}
#: Our values for parameters that name namespaces, and for fixtures.
OURS: dict[str, Any] = {
    "array_namespace": "cuprous", "namespace": "cuprous", "device_name": None, "device_": None, "device": None,
    "global_random_seed": 0,
    "two_features_degree3": (np.array([[0.1, 1.3], [2.2, 0.4], [3.0, 1.0]]), None),
}  # fmt: skip
MIXED = ("array_input", "other_ns_and_device")


def cases_of(names: list[str], values: Any) -> list[dict[str, Any]]:
    """Returns the values of a `parametrize` marker, with our namespace in place of theirs."""
    if names[0] in MIXED:
        from sklearn.utils._array_api import NamespaceAndDevice

        both = (NamespaceAndDevice("cuprous", None), NamespaceAndDevice("numpy", None))
        return [dict(zip(names, pair, strict=True)) for pair in itertools.permutations(both)]
    if any("namespace" in name for name in names):
        dtypes = ("float64", "float32") if "dtype_name" in names else (None,)
        return [{**{name: OURS.get(name) for name in names}, "dtype_name": dtype} for dtype in dtypes]
    rows = [getattr(value, "values", (value,)) if hasattr(value, "marks") else value for value in values]
    if len(names) == 1:
        return [{names[0]: row[0] if hasattr(value, "marks") else row} for row, value in zip(rows, values, strict=True)]
    return [dict(zip(names, row, strict=True)) for row in rows]


def combinations(test: Callable[..., None]) -> list[dict[str, Any]]:
    """Returns the arguments of all calls of a test."""
    axes = []
    for mark in (mark for mark in vars(test)["pytestmark"] if mark.name == "parametrize"):
        names = mark.args[0]
        axes.append(cases_of(names.replace(",", " ").split() if isinstance(names, str) else [*names], mark.args[1]))
    wanted = inspect.signature(test).parameters
    calls = ({**OURS, **{k: v for case in cases for k, v in case.items()}} for cases in itertools.product(*axes))
    return [{name: call[name] for name in wanted} for call in calls]


def own_tests() -> Iterator[Any]:
    """Returns the tests of `MODULES` that take namespaces."""
    for module in MODULES:
        with warnings.catch_warnings(action="ignore"):  # marks that scikit-learn's configuration of pytest declares
            tests = vars(importlib.import_module(f"sklearn.{module}"))
        for name, test in tests.items():
            marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
            text = " ".join(str(mark.args[0]) for mark in marks)
            skipped = name in NOT_FOR_US and not (name == "test_array_api_compliance" and "cluster" in module)
            if name.startswith("test_") and not skipped and ("namespace" in text or any(m in text for m in MIXED)):
                yield pytest.param(test, id=f"{module.rpartition('.')[2]} {name}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("test", list(own_tests()))
def test_own(test: Callable[..., None]) -> None:
    calls = combinations(test)[:: STEP.get(test.__name__, 1)]
    assert calls
    for arguments in calls:
        test(**arguments)
