"""What tests return: tuples with SciPy's fields, whose elements are arrays."""

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
    """Where a parameter is with a given probability."""

    low: Any
    high: Any


class SignificanceResult(NamedTuple):
    """A test's statistic, and how probable a more extreme one would be."""

    statistic: Any
    pvalue: Any

    @property
    def correlation(self) -> Any:
        """The statistic, of tests of correlation."""
        return self.statistic


class TtestResult(SignificanceResult):
    """The result of a t-test.

    Args:
        statistic, pvalue: what the tuple holds.
        df: degrees of freedom.
        estimate: of the mean, or of the difference of means.
        error: its standard error.
        alternative: as the test was asked.
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
        """Where the mean, or the difference of means, is with that probability.

        Raises:
            ValueError: for a probability that is none.
        """
        _probability(confidence_level)
        one_sided = self._alternative != "two-sided"
        tail = 1.0 - confidence_level if one_sided else (1.0 - confidence_level) / 2.0
        reach = -stdtrit(self.df, tail) * self._error
        low, high = self._estimate - reach, self._estimate + reach
        if self._alternative == "less":
            low = low * 0.0 - math.inf
        elif self._alternative == "greater":
            high = high * 0.0 + math.inf
        return ConfidenceInterval(low, high)


class PearsonRResult(SignificanceResult):
    """The result of `pearsonr`."""

    _count: int
    _alternative: str

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Where the correlation is with that probability, by Fisher's transform.

        Raises:
            ValueError: for a probability that is none.
        """
        _probability(confidence_level)
        if self._count < 4:
            return ConfidenceInterval(self.statistic * math.nan, self.statistic * math.nan)
        middle = _map("arctanh", self.statistic)
        one_sided = self._alternative != "two-sided"
        tail = 1.0 - confidence_level if one_sided else (1.0 - confidence_level) / 2.0
        reach = -float(ndtri(tail)) / math.sqrt(self._count - 3)
        low, high = _map("tanh", middle - reach), _map("tanh", middle + reach)
        if self._alternative == "less":
            low = low * 0.0 - 1.0
        elif self._alternative == "greater":
            high = high * 0.0 + 1.0
        return ConfidenceInterval(low, high)


def _probability(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError("`confidence_level` must be a number between 0 and 1.")


def check_alternative(alternative: str) -> None:
    """Raises ValueError unless it is one."""
    if alternative not in ("two-sided", "less", "greater"):
        raise ValueError("alternative must be 'less', 'greater' or 'two-sided'")


def student_pvalue(df: Any, t: ndarray, alternative: str) -> ndarray:
    """How probable a more extreme t is."""
    check_alternative(alternative)
    if alternative == "two-sided":
        return in_double(lambda t, n: student_pair(n, t)[0])(t, df)
    return stdtr(df, t if alternative == "less" else -t)


def normal_pvalue(z: ndarray, alternative: str) -> ndarray:
    """How probable a more extreme z is."""
    check_alternative(alternative)
    if alternative == "two-sided":
        return 2.0 * ndtr(-_map("absolute", z))
    return ndtr(z if alternative == "less" else -z)
