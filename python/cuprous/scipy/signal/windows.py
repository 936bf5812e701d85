"""Windows, with `scipy.signal.windows`' names; formulas as in its documentation. All are float64."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous.scipy.special import i0

ndarray = _core.ndarray
_map = _core.map


def _points(M: int, sym: bool) -> tuple[int, int]:
    """How many points there are, and how many the symmetric window has of which they are the first."""
    if int(M) != M or M < 0:
        raise ValueError("Window length M must be a non-negative integer")
    return int(M), int(M) if sym or M < 2 else int(M) + 1


def _places(count: int) -> ndarray:
    return _core.cast(_core.iota([count], [1], 0), "float64")


def general_cosine(M: int, a: Any, sym: bool = True) -> ndarray:
    """A sum of cosines with weights `a`."""
    count, full = _points(M, sym)
    if count <= 1:
        return _core.full([count], 1.0, "float64")
    phase = _places(count) * (2.0 * math.pi / (full - 1)) - math.pi
    total: Any = None
    for k, weight in enumerate(a):
        term = _map("cos", phase * float(k)) * float(weight)
        total = term if total is None else total + term
    return total


def general_hamming(M: int, alpha: float, sym: bool = True) -> ndarray:
    """alpha - (1 - alpha) cos(…)."""
    return general_cosine(M, [alpha, 1.0 - alpha], sym)


def hamming(M: int, sym: bool = True) -> ndarray:
    """Hamming's window."""
    return general_hamming(M, 0.54, sym)


def hann(M: int, sym: bool = True) -> ndarray:
    """Hann's window."""
    return general_hamming(M, 0.5, sym)


def blackman(M: int, sym: bool = True) -> ndarray:
    """Blackman's window."""
    return general_cosine(M, [0.42, 0.50, 0.08], sym)


def nuttall(M: int, sym: bool = True) -> ndarray:
    """Nuttall's minimum 4-term Blackman-Harris window."""
    return general_cosine(M, [0.3635819, 0.4891775, 0.1365995, 0.0106411], sym)


def blackmanharris(M: int, sym: bool = True) -> ndarray:
    """The minimum 4-term Blackman-Harris window."""
    return general_cosine(M, [0.35875, 0.48829, 0.14128, 0.01168], sym)


def flattop(M: int, sym: bool = True) -> ndarray:
    """The flat top window."""
    return general_cosine(M, [0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368], sym)


def boxcar(M: int, sym: bool = True) -> ndarray:
    """All ones."""
    return _core.full([_points(M, sym)[0]], 1.0, "float64")


def _from_centre(M: int, sym: bool) -> tuple[ndarray, int]:
    """Distances from the symmetric window's centre, and its length."""
    count, full = _points(M, sym)
    return _places(count) - (full - 1) / 2.0, full


def bartlett(M: int, sym: bool = True) -> ndarray:
    """A triangle with zeros at its ends."""
    n, full = _from_centre(M, sym)
    return boxcar(M) if M <= 1 else 1.0 - _map("absolute", n) * (2.0 / (full - 1))


def triang(M: int, sym: bool = True) -> ndarray:
    """A triangle whose zeros lie beyond its ends."""
    n, full = _from_centre(M, sym)
    return boxcar(M) if M <= 1 else 1.0 - _map("absolute", n) * (2.0 / (full if full % 2 == 0 else full + 1))


def parzen(M: int, sym: bool = True) -> ndarray:
    """Parzen's window of cubics."""
    n, full = _from_centre(M, sym)
    if M <= 1:
        return boxcar(M)
    x = _map("absolute", n) * (2.0 / full)
    outer = 1.0 - x
    inner = 1.0 - x * x * outer * 6.0
    return _map("where", _map("absolute", n) > (full - 1) / 4.0, outer * outer * outer * 2.0, inner)


def bohman(M: int, sym: bool = True) -> ndarray:
    """Bohman's window."""
    n, full = _from_centre(M, sym)
    if M <= 1:
        return boxcar(M)
    x = _map("absolute", n) * (2.0 / (full - 1))
    value = (1.0 - x) * _map("cos", x * math.pi) + _map("sin", x * math.pi) / math.pi
    return _map("where", x >= 1.0, 0.0, value)


def cosine(M: int, sym: bool = True) -> ndarray:
    """Half a wave of a sine."""
    count, full = _points(M, sym)
    return boxcar(M) if M <= 1 else _map("sin", (_places(count) + 0.5) * (math.pi / full))


def gaussian(M: int, std: float, sym: bool = True) -> ndarray:
    """A Gaussian with that standard deviation, in points."""
    n, _ = _from_centre(M, sym)
    return boxcar(M) if M <= 1 else _map("exp", n * n * (-0.5 / (std * std)))


def general_gaussian(M: int, p: float, sig: float, sym: bool = True) -> ndarray:
    """exp(-|n / sig|**(2 p) / 2)."""
    n, _ = _from_centre(M, sym)
    return boxcar(M) if M <= 1 else _map("exp", _map("power", _map("absolute", n / sig), 2.0 * p) * -0.5)


def exponential(M: int, center: float | None = None, tau: float = 1.0, sym: bool = True) -> ndarray:
    """exp(-|n - center| / tau).

    Raises:
        ValueError: for a centre of a symmetric window.
    """
    if sym and center is not None:
        raise ValueError("If sym==True, center must be None.")
    count, full = _points(M, sym)
    middle = (full - 1) / 2.0 if center is None else center
    return boxcar(M) if M <= 1 else _map("exp", _map("absolute", _places(count) - middle) * (-1.0 / tau))


def kaiser(M: int, beta: float, sym: bool = True) -> ndarray:
    """Kaiser's window, by the Bessel function i0."""
    n, full = _from_centre(M, sym)
    if M <= 1:
        return boxcar(M)
    x = n * (2.0 / (full - 1))
    return i0(_map("sqrt", _map("maximum", 1.0 - x * x, 0.0)) * float(beta)) / i0(float(beta))


def tukey(M: int, alpha: float = 0.5, sym: bool = True) -> ndarray:
    """Flat, with cosines over the outer `alpha` of its length."""
    if alpha <= 0 or M <= 1:
        return boxcar(M, sym)
    if alpha >= 1.0:
        return hann(M, sym)
    n, full = _from_centre(M, sym)
    edge = (full - 1) / 2.0 - _map("absolute", n)
    width = alpha * (full - 1) / 2.0
    return _map("where", edge < width, (1.0 - _map("cos", edge * (math.pi / width))) * 0.5, 1.0)


__all__ = [
    "bartlett", "blackman", "blackmanharris", "bohman", "boxcar", "cosine", "exponential", "flattop", "gaussian",
    "general_cosine", "general_gaussian", "general_hamming", "hamming", "hann", "kaiser", "nuttall", "parzen",
    "triang", "tukey",
]  # fmt: skip
