"""`cuprous.scipy.stats`' distributions against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import stats
from tests.support import assert_errors

theirs = pytest.importorskip("scipy.stats")
pytestmark = pytest.mark.filterwarnings("ignore")

PARAMETERS: dict[str, list[tuple[float, ...]]] = {
    "norm": [()], "expon": [()], "uniform": [()], "logistic": [()], "cauchy": [()],
    "t": [(0.7,), (5.0,), (1e3,)], "chi2": [(0.5,), (3.0,), (200.0,)], "gamma": [(0.4,), (7.0,)],
    "beta": [(0.5, 2.0), (30.0, 4.0)], "f": [(2.0, 5.0), (40.0, 9.0)],
}  # fmt: skip
PLACES = np.concatenate([np.linspace(-6, 12, 61), [0.0, 1.0, np.nan, np.inf, -np.inf]])
PROBABILITIES = np.concatenate([np.linspace(0, 1, 41), [1e-9, 1e-3, -0.1, 1.1, np.nan]])


@pytest.mark.parametrize("name", PARAMETERS)
def test_methods(name: str) -> None:
    ours, its = getattr(stats, name), getattr(theirs, name)
    for parameters in PARAMETERS[name]:
        for place in ((), (0.5, 2.0)):
            args = (*parameters, *place)
            for method in ("cdf", "sf", "pdf", "logpdf", "logcdf", "logsf"):
                mine, expected = getattr(ours, method)(cp.asarray(PLACES), *args), getattr(its, method)(PLACES, *args)
                assert mine.dtype == "float64"
                known = ~(expected < -500)  # logarithms of what underflows
                np.testing.assert_allclose(mine.get()[known], expected[known], rtol=1e-10, atol=1e-14,
                                           err_msg=f"{method} {args}")  # fmt: skip
            for method in ("ppf", "isf"):
                mine = getattr(ours, method)(cp.asarray(PROBABILITIES), *args)
                expected = getattr(its, method)(PROBABILITIES, *args)
                np.testing.assert_allclose(mine.get(), expected, rtol=3e-8, atol=1e-13, err_msg=f"{method} {args}")
        np.testing.assert_allclose(float(ours.median(*parameters)), its.median(*parameters), rtol=1e-10, atol=1e-15)
        frozen = ours(*parameters, scale=3.0)
        for mine, expected in zip(frozen.interval(0.9), its(*parameters, scale=3.0).interval(0.9), strict=True):
            np.testing.assert_allclose(float(mine), expected, rtol=1e-9)


def test_broadcasting_and_errors() -> None:
    df, x = np.array([[1.0], [5.0], [-1.0]]), np.linspace(-2, 2, 5)
    np.testing.assert_allclose(stats.t.cdf(cp.asarray(x), cp.asarray(df)).get(), theirs.t.cdf(x, df), rtol=1e-12)
    assert np.isnan(float(stats.norm.pdf(0.0, scale=-1.0)))
    assert_errors(
        (lambda: stats.t.cdf(1.0), TypeError, "df"),
        (lambda: stats.norm.cdf(1.0, 0.0, 1.0, 2.0), TypeError, "at most"),
        (lambda: stats.norm.cdf(1.0, mean=0.0), TypeError, "mean"),
        (lambda: stats.norm.cdf(1.0, 0.0, loc=0.0), TypeError, "multiple"),
        (lambda: stats.norm.interval(1.5), ValueError, "between 0 and 1"),
        (lambda: stats.norm(0.0).rvs(3), AttributeError, "rvs"),
        (lambda: stats.norm.cdf(cp.ones(3), cp.ones(2)), ValueError, "broadcast"),
    )
