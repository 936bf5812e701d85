"""Design of recursive (IIR) filters from analog prototypes, on the host in double precision.

The poles of Butterworth and Chebyshev prototypes lie on a circle or an ellipse (T. W. Parks and C. S. Burrus, "Digital
Filter Design", 1987); the bilinear transform maps analog to digital frequencies.
"""

from __future__ import annotations

import cmath
import math
from typing import Any, NamedTuple

from cuprous import _core
from cuprous.scipy.ndimage._structures import host
from cuprous.scipy.signal._by_scipy import by_scipy
from cuprous.scipy.signal._parameters import documented

ndarray = _core.ndarray
_BANDS = {
    "band": "bandpass", "bandpass": "bandpass", "pass": "bandpass", "bp": "bandpass", "bs": "bandstop",
    "bandstop": "bandstop", "bands": "bandstop", "stop": "bandstop", "l": "lowpass", "low": "lowpass",
    "lowpass": "lowpass", "lp": "lowpass", "high": "highpass", "highpass": "highpass", "h": "highpass",
    "hp": "highpass",
}  # fmt: skip


class _Filter(NamedTuple):
    """A filter as zeros, poles and gain; `real` is true if all zeros are real by construction."""

    zeros: list[complex]
    poles: list[complex]
    gain: float
    real: bool = False


def _butterworth(n: int) -> _Filter:
    return _Filter([], [-cmath.exp(0.5j * math.pi * m / n) for m in range(1 - n, n, 2)], 1.0, True)


def _chebyshev(n: int, ripple: float) -> _Filter:
    """Returns the Chebyshev type I prototype, with `ripple` decibels of passband ripple."""
    if n == 0:
        return _Filter([], [], 10.0 ** (-ripple / 20.0), True)
    depth = math.sqrt(10.0 ** (0.1 * ripple) - 1.0)
    width = math.asinh(1.0 / depth) / n
    poles = [-cmath.sinh(complex(width, math.pi * m / (2 * n))) for m in range(1 - n, n, 2)]
    gain = math.prod(-p for p in poles).real
    return _Filter([], poles, gain / math.sqrt(1.0 + depth * depth) if n % 2 == 0 else gain, True)


def _inverse_chebyshev(n: int, attenuation: float) -> _Filter:
    """Returns the Chebyshev type II prototype, with at least `attenuation` decibels in the stopband."""
    if n == 0:
        return _Filter([], [], 1.0)
    depth = 1.0 / math.sqrt(10.0 ** (0.1 * attenuation) - 1.0)
    width = math.asinh(1.0 / depth) / n
    zeros = [-(1j / math.sin(m * math.pi / (2.0 * n))).conjugate() for m in range(1 - n, n, 2) if m]
    circle = [-cmath.exp(0.5j * math.pi * m / n) for m in range(1 - n, n, 2)]
    poles = [1.0 / complex(math.sinh(width) * p.real, math.cosh(width) * p.imag) for p in circle]
    return _Filter(zeros, poles, (math.prod(-p for p in poles) / math.prod(-z for z in zeros)).real)


def _moved(f: _Filter, kind: str, edges: list[float]) -> _Filter:
    """Transforms a lowpass prototype with cutoff 1 to the band with these (analog) edges."""
    zeros, poles, gain, real = f
    excess = len(poles) - len(zeros)
    if kind == "lowpass":
        w = edges[0]
        return _Filter([z * w for z in zeros], [p * w for p in poles], gain * w**excess, real)
    ratio = (math.prod(-z for z in zeros) / math.prod(-p for p in poles)).real
    if kind == "highpass":
        w = edges[0]
        return _Filter([w / z for z in zeros] + [0.0] * excess, [w / p for p in poles], gain * ratio, real)
    width, square = edges[1] - edges[0], edges[0] * edges[1]

    def split(values: list[complex]) -> list[complex]:
        roots = [cmath.sqrt(v * v - square) for v in values]
        return [v + r for v, r in zip(values, roots, strict=True)] + [v - r for v, r in zip(values, roots, strict=True)]

    if kind == "bandpass":
        z, p = (split([v * (width / 2) for v in values]) for values in (zeros, poles))
        return _Filter(z + [0.0] * excess, p, gain * width**excess)
    z, p = (split([(width / 2) / v for v in values]) for values in (zeros, poles))
    center = 1j * math.sqrt(square)
    return _Filter(z + [center] * excess + [-center] * excess, p, gain * ratio)


def _digital(f: _Filter) -> _Filter:
    """Applies the bilinear transform at a sampling frequency of 2."""
    fast = 4.0
    gain = f.gain * (math.prod(fast - z for z in f.zeros) / math.prod(fast - p for p in f.poles)).real
    zeros = [(fast + z) / (fast - z) for z in f.zeros] + [-1.0] * (len(f.poles) - len(f.zeros))
    return _Filter(zeros, [(fast + p) / (fast - p) for p in f.poles], gain, f.real)


def _numbers(f: _Filter, output: str) -> Any:
    import numpy as np

    zeros, poles = np.array(f.zeros, float if f.real else complex), np.array(f.poles, complex)
    if output == "zpk":
        return _core.from_numpy(zeros), _core.from_numpy(poles), f.gain
    if output == "ba":
        return tuple(_core.from_numpy(np.atleast_1d(v)) for v in (f.gain * np.poly(zeros).real, np.poly(poles).real))
    return _core.from_numpy(_sections(zeros, poles, f.gain))


def _conjugate_pairs(values: Any) -> list[list[complex]]:
    """Groups numbers into conjugate pairs, then pairs of real numbers (the last is alone if their count is odd)."""
    import numpy as np

    upper = [v for v in values if v.imag > 1e-12 * max(abs(v), 1e-300)]
    real = sorted(v.real for v in values if abs(v.imag) <= 1e-12 * max(abs(v), 1e-300))
    pairs = [[v, np.conj(v)] for v in upper]
    return pairs + [real[i : i + 2] for i in range(0, len(real), 2)]


def _sections(zeros: Any, poles: Any, gain: float) -> Any:
    """Returns second-order sections. The poles nearest to the unit circle are paired with the zeros nearest to them and
    come last. The pairing may differ from SciPy's, but the product of the sections is the same."""
    import numpy as np

    pairs = sorted(_conjugate_pairs(poles), key=lambda pair: max(abs(p) for p in pair), reverse=True)
    left = _conjugate_pairs(zeros)
    rows = []
    for pair in pairs:
        same = [z for z in left if len(z) == len(pair)] or left
        nearest = min(same, key=lambda z: abs(z[0] - pair[0])) if same else []
        if nearest:
            left.remove(nearest)
        top, bottom = (np.poly(v).real if len(v) else np.ones(1) for v in (nearest, pair))
        rows.append(np.concatenate([np.pad(v, (0, 3 - v.size)) for v in (top, bottom)]))
    rows = rows[::-1] or [np.array([1.0, 0, 0, 1, 0, 0])]
    rows[0][:3] *= gain
    return np.stack(rows)


def _designed(prototype: _Filter, Wn: Any, btype: str, output: str, fs: Any) -> Any:
    if btype.lower() not in _BANDS:
        raise ValueError(f"'{btype}' is an invalid bandtype for filter.")
    if output not in ("ba", "zpk", "sos"):
        raise ValueError(f"'{output}' is not a valid output form.")
    kind = _BANDS[btype.lower()]
    edges = [float(w) * (1.0 if fs is None else 2.0 / float(fs)) for w in host(Wn).reshape(-1)]
    if len(edges) != (2 if kind.startswith("band") else 1):
        raise ValueError("Must specify a single critical frequency Wn for lowpass or highpass filter" if len(edges) > 1
                         else f"Wn must specify start and stop frequencies for {kind} filter")  # fmt: skip
    if not all(0 < w < 1 for w in edges):
        limit = "0 < Wn < 1" if fs is None else f"0 < Wn < fs/2 (fs={fs})"
        raise ValueError(f"Digital filter critical frequencies must be {limit}")
    if len(edges) == 2 and edges[0] >= edges[1]:
        raise ValueError("Wn[0] must be less than Wn[1]")
    warped = [4.0 * math.tan(math.pi * w / 2.0) for w in edges]
    return _numbers(_digital(_moved(prototype, kind, warped)), output)


def _order(N: Any) -> int:
    if abs(int(N)) != N or isinstance(N, bool):
        raise ValueError("Filter order must be a nonnegative integer")
    return int(N)


def butter(
    N: int, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: float | None = None
) -> Any:
    """Designs a Butterworth filter, whose response falls monotonically.

    Parameters
    ----------
    N : int
        The order (doubled for bandpass and bandstop).
    Wn : array_like
        The frequencies at which the response is 1/sqrt(2): between 0 and 1 (the Nyquist frequency), or between 0 and fs
        / 2; two frequencies for bandpass and bandstop.
    btype : str, default "low"
        "lowpass", "highpass", "bandpass" or "bandstop".
    analog : bool, default False
        Whether the filter is an analog one, which SciPy designs; the frequencies are then angular ones.
    output : {"ba", "sos", "zpk"}, default "ba"
        "ba" (coefficients), "sos" (second-order sections, which keep precision at high orders) or "zpk".
    fs : float, optional
        The sampling frequency.

    Returns
    -------
    ndarray
        The coefficients `b` and `a`, the sections, or zeros, poles and gain, as `output` says.

    Raises
    ------
    ValueError
        For frequencies that are out of range or unordered, negative orders and unknown names.
    ImportError
        For analog filters if SciPy is not installed.

    See Also
    --------
    buttord, buttap

    Examples
    --------
    >>> b, a = cp.scipy.signal.butter(2, 0.25)
    >>> b.round(6)
    array([0.097631, 0.195262, 0.097631])
    """
    if analog:
        return by_scipy("butter", N, Wn, btype, True, output, fs)
    return _designed(_butterworth(_order(N)), Wn, btype, output, fs)


@documented
def cheby1(
    N: int, rp: float, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: float | None = None
) -> Any:
    """Designs a Chebyshev type I filter, with ripple in the passband.

    Parameters
    ----------
    N : int
        The order, as for `butter`.
    Wn : array_like
        The frequencies at which the response leaves the ripple, as for `butter`.
    btype : str, default "low"
        As for `butter`.
    analog : bool, default False
        Whether the filter is an analog one, which SciPy designs; the frequencies are then angular ones.
    output : str, default "ba"
        As for `butter`.

    Returns
    -------
    ndarray or tuple of ndarrays
        As for `butter`.

    Raises
    ------
    ValueError
        For frequencies that are out of range or unordered, negative orders and unknown names.
    ImportError
        For analog filters if SciPy is not installed.

    See Also
    --------
    cheb1ord, cheb1ap

    Examples
    --------
    >>> b, a = cp.scipy.signal.cheby1(2, 1.0, 0.25)
    >>> b.round(6)
    array([0.102557, 0.205115, 0.102557])
    """
    if analog:
        return by_scipy("cheby1", N, rp, Wn, btype, True, output, fs)
    return _designed(_chebyshev(_order(N), rp), Wn, btype, output, fs)


@documented
def cheby2(
    N: int, rs: float, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: float | None = None
) -> Any:
    """Designs a Chebyshev type II filter, with ripple in the stopband.

    Parameters
    ----------
    N : int
        The order, as for `butter`.
    Wn : array_like
        The frequencies at which the response reaches it, as for `butter`.
    btype : str, default "low"
        As for `butter`.
    analog : bool, default False
        Whether the filter is an analog one, which SciPy designs; the frequencies are then angular ones.
    output : str, default "ba"
        As for `butter`.

    Returns
    -------
    ndarray or tuple of ndarrays
        As for `butter`.

    Raises
    ------
    ValueError
        For frequencies that are out of range or unordered, negative orders and unknown names.
    ImportError
        For analog filters if SciPy is not installed.

    See Also
    --------
    cheb2ord, cheb2ap

    Examples
    --------
    >>> b, a = cp.scipy.signal.cheby2(2, 40.0, 0.25)
    >>> b.round(6)
    array([ 0.012369, -0.012098,  0.012369])
    """
    if analog:
        return by_scipy("cheby2", N, rs, Wn, btype, True, output, fs)
    return _designed(_inverse_chebyshev(_order(N), rs), Wn, btype, output, fs)
