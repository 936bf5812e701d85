"""Results of tests: tuples with SciPy's fields, whose elements are arrays."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from cuprous import _core
from cuprous.scipy.special import ndtr, ndtri, stdtr, stdtrit
from cuprous.scipy.special._distributions import student_pair
from cuprous.scipy.special._function import in_double

ndarray = _core.ndarray
_map = _core.map


class ConfidenceInterval(NamedTuple):
    """A confidence interval of a parameter."""

    low: Any
    high: Any


class SignificanceResult(NamedTuple):
    """A test's statistic and p-value."""

    statistic: Any
    pvalue: Any

    @property
    def correlation(self) -> Any:
        """The statistic, for tests of correlation."""
        return self.statistic


class TtestResult(SignificanceResult):
    """The result of a t-test.

    Parameters
    ----------
    statistic, pvalue : array_like
        The fields of the tuple.
    df : array_like, optional
        The degrees of freedom.
    estimate : array_like, optional
        The estimated mean, or difference of means.
    error : array_like, optional
        The estimate's standard error.
    alternative : str, default "two-sided"
        The alternative of the test.
    """

    df: Any

    def __new__(
        cls, statistic: Any, pvalue: Any, df: Any = None, estimate: Any = None, error: Any = None,
        alternative: str = "two-sided",
    ) -> TtestResult:  # fmt: skip
        instance = super().__new__(cls, statistic, pvalue)
        instance.df, instance._estimate, instance._error, instance._alternative = df, estimate, error, alternative
        return instance

    _estimate: Any
    _error: Any
    _alternative: str

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Returns the confidence interval of the mean, or of the difference of means.

        Raises
        ------
        ValueError
            For a level outside (0, 1).
        """
        reach = -stdtrit(self.df, _tail(confidence_level, self._alternative)) * self._error
        return _interval(self._estimate - reach, self._estimate + reach, self._alternative, math.inf)


class PearsonRResult(SignificanceResult):
    """The result of `pearsonr`."""

    _count: int
    _alternative: str

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Returns the confidence interval of the correlation, by Fisher's transform.

        Raises
        ------
        ValueError
            For a level outside (0, 1).
        """
        tail = _tail(confidence_level, self._alternative)
        if self._count < 4:
            return ConfidenceInterval(self.statistic * math.nan, self.statistic * math.nan)
        middle = _map("arctanh", self.statistic)
        reach = -float(ndtri(tail)) / math.sqrt(self._count - 3)
        return _interval(_map("tanh", middle - reach), _map("tanh", middle + reach), self._alternative, 1.0)


def _tail(level: float, alternative: str) -> float:
    """Returns the probability beyond each end of a confidence interval."""
    if not 0 < level < 1:
        raise ValueError("`confidence_level` must be a number between 0 and 1.")
    return (1.0 - level) / 2.0 if alternative == "two-sided" else 1.0 - level


def _interval(low: ndarray, high: ndarray, alternative: str, limit: float) -> ConfidenceInterval:
    """Returns a confidence interval, of which a one-sided alternative moves one end to the limit."""
    if alternative == "less":
        low = low * 0.0 - limit
    elif alternative == "greater":
        high = high * 0.0 + limit
    return ConfidenceInterval(low, high)


def check_alternative(alternative: str) -> None:
    """Raises ValueError for an unknown alternative."""
    if alternative not in ("two-sided", "less", "greater"):
        raise ValueError("alternative must be 'less', 'greater' or 'two-sided'")


def student_pvalue(df: Any, t: ndarray, alternative: str) -> ndarray:
    """Returns the p-value of t under Student's distribution."""
    check_alternative(alternative)
    if alternative == "two-sided":
        return in_double(lambda t, n: student_pair(n, t)[0])(t, df)
    return stdtr(df, t if alternative == "less" else -t)


def normal_pvalue(z: ndarray, alternative: str) -> ndarray:
    """Returns the p-value of z under the normal distribution."""
    check_alternative(alternative)
    if alternative == "two-sided":
        return 2.0 * ndtr(-_map("absolute", z))
    return ndtr(z if alternative == "less" else -z)
