"""Descriptive statistics, tests with p-values, and distributions, with `scipy.stats`' names."""

from __future__ import annotations

from typing import Any

from cuprous.scipy._absent import absent
from cuprous.scipy.stats._distributions import DISTRIBUTIONS
from cuprous.scipy.stats._moments import (
    boxcox_llf,
    gmean,
    hmean,
    kurtosis,
    moment,
    pmean,
    sem,
    skew,
    variation,
    zmap,
    zscore,
)
from cuprous.scipy.stats._order import iqr, median_abs_deviation, mode, rankdata, trim_mean
from cuprous.scipy.stats._ranked import kendalltau, ks_2samp, mannwhitneyu
from cuprous.scipy.stats._relations import entropy, linregress, pearsonr, spearmanr
from cuprous.scipy.stats._tests import (
    bartlett,
    chisquare,
    describe,
    f_oneway,
    jarque_bera,
    kurtosistest,
    levene,
    normaltest,
    skewtest,
    ttest_1samp,
    ttest_ind,
    ttest_ind_from_stats,
    ttest_rel,
)

globals().update(DISTRIBUTIONS)

_EXACT = "exact p-values need sequential counting: use scipy.stats' on array.get()"
#: SciPy names that are not supported, each with the nearest alternative.
ALTERNATIVES = {
    "binomtest": "use special.bdtr",
    "fisher_exact": _EXACT,
    "gaussian_kde": "use scipy.stats' on array.get()",
    "ks_1samp": "use special.kolmogorov for many elements",
    "kstest": "use special.kolmogorov for many elements",
    "shapiro": "use normaltest",
    "wilcoxon": _EXACT,
}


def __getattr__(name: str) -> Any:
    return absent(__name__, name, ALTERNATIVES)


__all__ = [
    "bartlett", "boxcox_llf", "chisquare", "describe", "entropy", "f_oneway", "gmean", "hmean", "iqr", "jarque_bera",
    "kendalltau", "ks_2samp", "kurtosis", "kurtosistest", "levene", "linregress", "mannwhitneyu",
    "median_abs_deviation", "mode", "moment", "normaltest", "pearsonr", "pmean", "rankdata", "sem", "skew",
    "skewtest", "spearmanr", "trim_mean", "ttest_1samp", "ttest_ind", "ttest_ind_from_stats", "ttest_rel",
    "variation", "zmap", "zscore",
    *DISTRIBUTIONS,
]  # fmt: skip
