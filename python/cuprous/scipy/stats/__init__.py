"""Numbers that describe samples, with `scipy.stats`' names. Distributions and p-values are not here."""

from cuprous.scipy.stats._moments import (
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
from cuprous.scipy.stats._order import iqr, rankdata, trim_mean
from cuprous.scipy.stats._relations import entropy, linregress, pearsonr

__all__ = [
    "entropy", "gmean", "hmean", "iqr", "kurtosis", "linregress", "moment", "pearsonr", "pmean", "rankdata", "sem",
    "skew", "trim_mean", "variation", "zmap", "zscore",
]  # fmt: skip
