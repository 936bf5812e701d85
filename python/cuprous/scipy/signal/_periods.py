"""The spectrum of samples at uneven times."""

from __future__ import annotations

import warnings
from typing import Any

import cuprous as cp
from cuprous._common.arguments import ArrayLike, ndarray
from cuprous._common.convert import convert
from cuprous._common.operands import on_array_device

_NOT_GIVEN: Any = object()


def _squares(weights: ndarray, coswt: ndarray, sinwt: ndarray, floating_mean: bool) -> tuple[ndarray, ndarray, ndarray]:
    """Returns the weighted means of the cosines' squares, the sines' squares, and of their products."""
    CC, CS = weights @ (coswt * coswt), weights @ (coswt * sinwt)
    SS = 1.0 - CC
    if floating_mean:
        C, S = weights @ coswt, weights @ sinwt
        CC, SS, CS = CC - C * C, SS - S * S, CS - C * S
    return CC, SS, CS


@on_array_device
def lombscargle(
    x: ArrayLike, y: ArrayLike, freqs: ArrayLike, *, precenter: bool = _NOT_GIVEN, normalize: bool | str = False,
    weights: ArrayLike | None = None, floating_mean: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the generalized Lomb-Scargle periodogram: the power of the sine that fits the samples best, by frequency.

    Parameters
    ----------
    x : array_like
        The times of the samples.
    y : array_like
        The samples.
    freqs : array_like
        The angular frequencies.
    precenter : bool, optional
        Deprecated: whether the mean is subtracted first.
    normalize : bool or str, default False
        False or "power", True or "normalize" (a fraction of the whole power), or "amplitude" (a complex amplitude).
    weights : array_like, optional
        The weight of each sample; by default all are equal.
    floating_mean : bool, default False
        Whether a constant is fitted together with each sine.

    Returns
    -------
    ndarray
        An array of the shape of `freqs`.

    Raises
    ------
    ValueError
        For arrays of other shapes, negative weights, and another `normalize`.

    See Also
    --------
    periodogram, welch, csd

    Examples
    --------
    >>> t = cp.asarray([0.0, 0.5, 1.1, 1.8, 2.2])
    >>> cp.scipy.signal.lombscargle(t, cp.sin(3 * t), [1.0, 3.0], normalize=True).round(3)
    array([0.165, 1.   ])
    """
    x, y, freqs = (convert(a, "float64") for a in (x, y, freqs))
    weights = cp.ones_like(y) if weights is None else convert(weights, "float64")
    if not (x.ndim == 1 and x.size > 0 and x.shape == y.shape == weights.shape):
        raise ValueError("Parameters x, y, weights must be 1-D arrays of equal non-zero length!")
    if not (freqs.ndim == 1 and freqs.size > 0):
        raise ValueError("Parameter freqs must be a 1-D array of non-zero length!")
    if not bool((weights >= 0).all() & (weights.sum() > 0)):
        raise ValueError("Parameter weights must have only non-negative entries which sum to a positive value!")
    if isinstance(normalize, bool):
        normalize = "normalize" if normalize else "power"
    if normalize not in ("power", "normalize", "amplitude"):
        raise ValueError("Normalize must be: False (or 'power'), True (or 'normalize'), or 'amplitude'.")
    weights = weights / weights.sum()
    if precenter is not _NOT_GIVEN:
        warnings.warn(
            "Use of parameter 'precenter' is deprecated as of SciPy 1.17.0; pass 'y - y.mean()' instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        y = y - y.mean() if precenter else y
    # Zechmeister and Kürster (2009), by its names of the sums
    angle = x[:, None] * freqs
    CC, SS, CS = _squares(weights, cp.cos(angle), cp.sin(angle), floating_mean)
    tau = 0.5 * cp.arctan2(2.0 * CS, CC - SS)
    coswt, sinwt = cp.cos(angle - tau), cp.sin(angle - tau)
    CC, SS, _ = _squares(weights, coswt, sinwt, floating_mean)
    weighted = weights * y
    YC, YS, YY = weighted @ coswt, weighted @ sinwt, weighted @ y
    if floating_mean:
        Y = weighted.sum()
        YC, YS, YY = YC - Y * (weights @ coswt), YS - Y * (weights @ sinwt), YY - Y * Y
    least = cp.finfo("float64").epsneg
    a, b = YC / cp.maximum(CC, least), YS / cp.maximum(SS, least)
    if normalize == "amplitude":
        return (a + 1j * b) * cp.exp(1j * tau)
    power = 2.0 * (a * YC + b * YS)
    return power * (x.size / 4.0) if normalize == "power" else power * (0.5 / YY)


__all__ = ["lombscargle"]
