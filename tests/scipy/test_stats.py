"""`cuprous.scipy.stats` against SciPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import stats
from tests.support import assert_errors

from .compared import moved

scipy_stats = pytest.importorskip("scipy.stats")

RNG = np.random.default_rng(4)
POSITIVE = RNG.gamma(2.0, size=(12, 7)) + 0.1
SPOILED = POSITIVE.copy()
SPOILED[3, 2] = np.nan

#: name -> what else it takes
FUNCTIONS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("zscore", (), {}), ("zscore", (), {"ddof": 1}), ("moment", (), {}), ("moment", (2,), {}), ("moment", (5,), {}),
    ("moment", (3,), {"center": 0.5}), ("skew", (), {}), ("skew", (), {"bias": False}), ("kurtosis", (), {}),
    ("kurtosis", (), {"bias": False}), ("kurtosis", (), {"fisher": False}), ("gmean", (), {}), ("hmean", (), {}),
    ("pmean", (2.5,), {}), ("pmean", (0,), {}), ("sem", (), {}), ("variation", (), {"ddof": 1}),
    ("iqr", (), {"rng": (10, 80)}), ("iqr", (), {"scale": "normal"}), ("trim_mean", (0.2,), {}), ("entropy", (), {}),
    ("entropy", (), {"base": 2}),
]  # fmt: skip


def both(name: str, *args: Any, rtol: float = 1e-11, **kwargs: Any) -> None:
    """The same call on both sides: same shape and values."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        theirs = np.asarray(getattr(scipy_stats, name)(*args, **kwargs))
    ours = getattr(stats, name)(*moved(args), **{k: moved(v) for k, v in kwargs.items()}).get()
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-13)


@pytest.mark.parametrize(("name", "args", "kwargs"), FUNCTIONS)
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_functions(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], axis: int | None) -> None:
    both(name, POSITIVE, *args, axis=axis, **kwargs)
    both(name, SPOILED, *args, axis=axis, **kwargs)
    both(name, (POSITIVE * 10).astype(int) + 1, *args, axis=axis, **kwargs)
    both(name, POSITIVE.astype("float32").astype("float64"), *args, axis=axis, **kwargs)
    if name != "zscore":
        both(name, POSITIVE, *args, axis=axis, keepdims=True, **kwargs)


def test_constants_and_negatives() -> None:
    flat = np.full((5, 3), 0.1)
    for name in ("zscore", "skew", "kurtosis"):
        both(name, flat)
    mixed = POSITIVE.copy()
    mixed[2, 3] = -1.0
    both("hmean", mixed)
    both("pmean", mixed, 2.0)
    both("hmean", np.array([1.0, 0.0, 2.0]))
    both("gmean", POSITIVE, weights=np.arange(84.0).reshape(12, 7) + 1)
    both("zmap", POSITIVE, POSITIVE[:5])
    both("entropy", POSITIVE, POSITIVE[::-1].copy(), base=3)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks(method: str) -> None:
    special = (np.array([1.0, np.nan, 2.0]), np.zeros(0))
    for x in (RNG.integers(0, 9, 40), RNG.normal(size=30), *special, RNG.random((3, 4))):
        both("rankdata", x, method)


def test_relations() -> None:
    x, y = POSITIVE[:, 0], POSITIVE[:, 1] * 2 + POSITIVE[:, 0]
    ours, theirs = stats.linregress(cp.asarray(x), cp.asarray(y)), scipy_stats.linregress(x, y)
    for name in ("slope", "intercept", "rvalue", "pvalue", "stderr", "intercept_stderr"):
        np.testing.assert_allclose(float(getattr(ours, name)), getattr(theirs, name), rtol=1e-11)
    for axis in (0, 1, None):
        for alternative in ("two-sided", "less"):
            for keepdims in (False, True):
                options = {"axis": axis, "alternative": alternative, "keepdims": keepdims}
                found = stats.linregress(cp.asarray(POSITIVE), cp.asarray(POSITIVE**2), **options)
                theirs = scipy_stats.linregress(POSITIVE, POSITIVE**2, **options)
                for name in ("slope", "intercept", "rvalue", "pvalue", "stderr", "intercept_stderr"):
                    np.testing.assert_allclose(getattr(found, name).get(), getattr(theirs, name), rtol=1e-9, atol=1e-13)
    r = stats.pearsonr(cp.asarray(POSITIVE), cp.asarray(POSITIVE**2), axis=1)
    np.testing.assert_allclose(r.statistic.get(), scipy_stats.pearsonr(POSITIVE, POSITIVE**2, axis=1).statistic)
    assert np.isnan(float(stats.pearsonr(cp.ones(3), cp.arange(3.0)).statistic))
    assert not hasattr(r, "nonsense")


def test_errors() -> None:
    a = cp.asarray(POSITIVE)
    assert_errors(
        (lambda: stats.zscore(a, nan_policy="omit"), NotImplementedError, "nan_policy"),
        (lambda: stats.zscore(a, nan_policy="ignore"), ValueError, "nan_policy"),
        (lambda: stats.skew(a, axis=2), np.exceptions.AxisError, "axis 2"),
        (lambda: stats.rankdata(a, "odd"), ValueError, "unknown method"),
        (lambda: stats.trim_mean(a, 0.6), ValueError, "Proportion"),
        (lambda: stats.entropy(a, base=-1), ValueError, "base"),
        (lambda: stats.gmean(a * 1j), TypeError, "complex"),
        (lambda: stats.pearsonr(a[:3], a[:4]), ValueError, "same length"),
    )
