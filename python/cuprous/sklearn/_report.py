"""Where calls of estimators ran."""

from __future__ import annotations

import cuprous as cp

_last = "no estimator has run"


def report() -> str:
    """Returns where the last `fit` or `kneighbors` ran, and if scikit-learn did it the reason.

    Examples
    --------
    >>> from cuprous.sklearn import LinearRegression, report
    >>> _ = LinearRegression(positive=True).fit([[1.0], [2.0]], [1.0, 2.0])
    >>> report()
    'LinearRegression.fit: scikit-learn (coefficients must be positive)'
    """
    return _last


def on_device(estimator: object, method: str, reason: str) -> bool:
    """Notes where a call runs. Returns true if that is the device.

    Parameters
    ----------
    estimator : object
        Whose method is called.
    method : str
        Its name.
    reason : str
        Why scikit-learn does it, or "".
    """
    global _last
    where = f"scikit-learn ({reason})" if reason else str(cp.get_device())
    _last = f"{type(estimator).__name__}.{method}: {where}"
    return not reason
