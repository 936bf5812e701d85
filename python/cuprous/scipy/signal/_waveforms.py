"""Waveforms: sweeps, pulses, triangles and rectangles."""

from __future__ import annotations

import math
import operator
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array

ndarray = _core.ndarray


def _times(t: Any) -> ndarray:
    t = array(t)
    return t if _dtypes.kind(t.dtype_name) == "f" else t.astype("float64")


def sawtooth(t: Any, width: Any = 1) -> ndarray:
    """Returns a wave of period 2 pi that rises from -1 to 1 and falls again.

    Parameters
    ----------
    t : array_like
        The times.
    width : array_like, default 1
        The part of a period in which it rises, 0 to 1; it is NaN for others.

    Returns
    -------
    ndarray
        An array of the broadcast shape.

    See Also
    --------
    scipy.signal.square, scipy.signal.gausspulse, scipy.signal.chirp, scipy.signal.unit_impulse

    Examples
    --------
    >>> cp.scipy.signal.sawtooth(cp.asarray([0.0, 1.5707963267948966]), 0.5).round(6)
    array([-1.,  0.])
    """
    t, w = _times(t), _times(width)
    phase = cp.mod(t, 2 * math.pi)
    rising = phase / (math.pi * cp.where(w > 0, w, 1.0)) - 1
    falling = (math.pi * (w + 1) - phase) / (math.pi * cp.where(w < 1, 1 - w, 1.0))
    wave = cp.where(phase < w * 2 * math.pi, rising, falling)
    return cp.where((w >= 0) & (w <= 1), wave, math.nan)


def square(t: Any, duty: Any = 0.5) -> ndarray:
    """Returns a wave of period 2 pi that is first 1 and then -1.

    Parameters
    ----------
    t : array_like
        The times.
    duty : float, default 0.5
        The part of a period in which it is 1, 0 to 1; it is NaN for others.

    Returns
    -------
    ndarray
        An array of the broadcast shape.

    See Also
    --------
    scipy.signal.gausspulse, scipy.signal.chirp, scipy.signal.unit_impulse, scipy.signal.sawtooth

    Examples
    --------
    >>> cp.scipy.signal.square(cp.asarray([0.0, 4.0]))
    array([ 1., -1.])
    """
    t, d = _times(t), _times(duty)
    wave = cp.where(cp.mod(t, 2 * math.pi) < d * 2 * math.pi, 1.0, -1.0)
    return cp.where((d >= 0) & (d <= 1), wave, math.nan)


def gausspulse(
    t: Any, fc: float = 1000, bw: float = 0.5, bwr: float = -6, tpr: float = -60, retquad: bool = False,
    retenv: bool = False,
) -> Any:  # fmt: skip
    """Returns a cosine in a Gaussian envelope.

    Parameters
    ----------
    t : array_like or str
        The times, or "cutoff" for the time at which the envelope falls below `tpr`.
    fc : float, default 1000
        The frequency.
    bw : float, default 0.5
        The bandwidth, as a fraction of the frequency.
    bwr : float, default -6
        The level at which the bandwidth is measured, in decibels.
    tpr : float, default -60
        The level for "cutoff", in decibels.
    retquad : bool, default False
        Whether to return the sine in the envelope too.
    retenv : bool, default False
        Whether to return the envelope too.

    Returns
    -------
    ndarray or tuple
        The pulse, or a tuple with what else was wanted; for "cutoff" a number.

    Raises
    ------
    ValueError
        For values out of range, and other text than "cutoff".

    See Also
    --------
    scipy.signal.chirp, scipy.signal.unit_impulse, scipy.signal.sawtooth, scipy.signal.square

    Examples
    --------
    >>> cp.scipy.signal.gausspulse(cp.asarray([0.0, 0.01]), fc=50).round(6)
    array([ 1.      , -0.799918])
    """
    for wrong, what in (
        (fc < 0, f"Center frequency (fc={fc:.2f}) must be >=0."),
        (bw <= 0, f"Fractional bandwidth (bw={bw:.2f}) must be > 0."),
        (bwr >= 0, f"Reference level for bandwidth (bwr={bwr:.2f}) must be < 0 dB"),
    ):
        if wrong:
            raise ValueError(what)
    decay = -((math.pi * fc * bw) ** 2) / (4.0 * math.log(10.0 ** (bwr / 20.0)))
    if isinstance(t, str):
        if t != "cutoff":
            raise ValueError("If `t` is a string, it must be 'cutoff'")
        if tpr >= 0:
            raise ValueError("Reference level for time cutoff must be < 0 dB")
        return math.sqrt(-math.log(10.0 ** (tpr / 20.0)) / decay)
    t = _times(t)
    envelope = cp.exp(-decay * t * t)
    phase = 2 * math.pi * fc * t
    result = [envelope * cp.cos(phase)]
    if retquad:
        result.append(envelope * cp.sin(phase))
    if retenv:
        result.append(envelope)
    return tuple(result) if len(result) > 1 else result[0]


def chirp(
    t: Any, f0: float, t1: float, f1: float, method: str = "linear", phi: float = 0, vertex_zero: bool = True, *,
    complex: bool = False,
) -> ndarray:  # fmt: skip
    """Returns a cosine whose frequency changes with time.

    Parameters
    ----------
    t : array_like
        The times.
    f0 : float
        The frequency at time 0.
    t1 : float
        A second time.
    f1 : float
        The frequency at that time.
    method : str, default "linear"
        How the frequency changes: "linear", "quadratic", "logarithmic" or "hyperbolic".
    phi : float, default 0
        The phase at time 0, in degrees.
    vertex_zero : bool, default True
        Whether the parabola of "quadratic" has its vertex at time 0, or at `t1`.
    complex : bool, default False
        Whether to return the analytic signal.

    Returns
    -------
    ndarray
        An array of the shape of `t`.

    Raises
    ------
    ValueError
        For an unknown method, and frequencies that it does not take.

    See Also
    --------
    sweep_poly

    Examples
    --------
    >>> cp.scipy.signal.chirp(cp.asarray([0.0, 0.25]), f0=1, t1=1, f1=3).round(6)
    array([ 1.      , -0.382683])
    """
    t = _times(t)
    f0, f1, t1 = float(f0), float(f1), float(t1)
    if method in ("linear", "lin", "li"):
        phase = 2 * math.pi * (f0 * t + 0.5 * ((f1 - f0) / t1) * t * t)
    elif method in ("quadratic", "quad", "q"):
        rate = (f1 - f0) / t1**2
        if vertex_zero:
            phase = 2 * math.pi * (f0 * t + rate * t**3 / 3)
        else:
            phase = 2 * math.pi * (f1 * t + rate * ((t1 - t) ** 3 - t1**3) / 3)
    elif method in ("logarithmic", "log", "lo"):
        if f0 * f1 <= 0.0:
            raise ValueError("For a logarithmic chirp, f0 and f1 must be nonzero and have the same sign.")
        if f0 == f1:
            phase = 2 * math.pi * f0 * t
        else:
            beta = t1 / math.log(f1 / f0)
            phase = 2 * math.pi * beta * f0 * (cp.power(f1 / f0, t / t1) - 1.0)
    elif method in ("hyperbolic", "hyp"):
        if f0 == 0 or f1 == 0:
            raise ValueError("For a hyperbolic chirp, f0 and f1 must be nonzero.")
        if f0 == f1:
            phase = 2 * math.pi * f0 * t
        else:
            singular = -f1 * t1 / (f0 - f1)
            phase = 2 * math.pi * (-singular * f0) * cp.log(cp.absolute(1 - t / singular))
    else:
        raise ValueError(
            "method must be 'linear', 'quadratic', 'logarithmic', or 'hyperbolic', but a value of "
            f"{method!r} was given."
        )
    phase = phase + math.radians(phi)
    return cp.exp(1j * phase) if complex else cp.cos(phase)


def sweep_poly(t: Any, poly: Any, phi: float = 0) -> ndarray:
    """Returns a cosine whose frequency is a polynomial of time.

    Parameters
    ----------
    t : array_like
        The times.
    poly : array_like
        The polynomial's coefficients, from the highest power down.
    phi : float, default 0
        The phase at time 0, in degrees.

    Returns
    -------
    ndarray
        An array of the shape of `t`.

    See Also
    --------
    chirp

    Examples
    --------
    >>> cp.scipy.signal.sweep_poly(cp.asarray([0.0, 0.25]), [2.0, 1.0]).round(6)
    array([ 1.      , -0.382683])
    """
    phase = 2 * math.pi * cp.polyval(cp.polyint(cp.asarray(poly)), _times(t))
    return cp.cos(phase + math.radians(phi))


def unit_impulse(shape: Any, idx: Any = None, dtype: Any = float) -> ndarray:
    """Returns zeros with a single one.

    Parameters
    ----------
    shape : int or tuple of ints
        The shape.
    idx : int, tuple of ints or str, optional
        The place of the one, the same along all axes or one for each; "mid" for the center; 0 by default.
    dtype : dtype, optional
        The dtype.

    Returns
    -------
    ndarray
        An array of `shape`.

    Raises
    ------
    IndexError
        For a place beyond the edges.

    See Also
    --------
    scipy.signal.sawtooth, scipy.signal.square, scipy.signal.gausspulse, scipy.signal.chirp

    Examples
    --------
    >>> cp.scipy.signal.unit_impulse(4, 2)
    array([0., 0., 1., 0.])
    """
    result = cp.zeros(shape, dtype)
    if idx is None:
        place = (0,) * result.ndim
    elif isinstance(idx, str) and idx == "mid":
        place = tuple(n // 2 for n in result.shape)
    elif hasattr(idx, "__iter__"):
        place = tuple(operator.index(i) for i in idx)
    else:
        place = (operator.index(idx),) * result.ndim
    result[place] = 1
    return result


__all__ = ["chirp", "gausspulse", "sawtooth", "square", "sweep_poly", "unit_impulse"]
