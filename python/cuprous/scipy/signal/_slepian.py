"""Slepian windows, from the eigenvectors of a tridiagonal matrix; on the host, since windows are short."""

from __future__ import annotations

from typing import Any

from cuprous import _core


def dpss(
    M: int, NW: float, Kmax: int | None = None, sym: bool = True, norm: Any = None, return_ratios: bool = False
) -> Any:
    """Returns the windows that concentrate the most energy in a band (D. Slepian, Bell System Technical Journal 57
    (1978)).

    Parameters
    ----------
    M : int
        The length; the cost grows with its third power.
    NW : float
        Half the bandwidth, times the length.
    Kmax : int, optional
        The number of windows, returned as rows; None returns one window as a vector.
    sym : bool, default True
        Whether they are symmetric rather than periodic.
    norm : int or str, optional
        2 (unit energy), "approximate" or "subsample" (the greatest element is about 1). The default is 2 for several
        windows and "approximate" for one.
    return_ratios : bool, default False
        Whether to return also the fraction of the energy in the band.

    Returns
    -------
    ndarray
        An array of shape (M,), or (Kmax, M); with `return_ratios` a pair of it and the ratios.

    Raises
    ------
    ValueError
        For numbers out of range, and unknown norms.

    See Also
    --------
    scipy.signal.windows.kaiser, scipy.signal.windows.chebwin, scipy.signal.windows.taylor

    Examples
    --------
    >>> cp.scipy.signal.windows.dpss(5, 1.0).round(6)
    array([0.443211, 0.830984, 1.      , 0.830984, 0.443211])
    """
    import numpy as np

    if int(M) != M or M < 0:
        raise ValueError("Window length M must be a non-negative integer")
    single = Kmax is None
    count = 1 if Kmax is None else Kmax
    if norm is None:
        norm = "approximate" if single else 2
    if norm not in (2, "approximate", "subsample"):
        raise ValueError(f"norm must be one of (2, 'approximate', 'subsample'), got {norm}")
    if M <= 1:
        ones = _core.full([int(M)], 1.0, "float64")
        return (ones, _core.full([] if single else [1], 1.0, "float64")) if return_ratios else ones
    n = int(M) if sym else int(M) + 1
    if count <= 0 or count > n:
        raise ValueError("Kmax must be greater than 0 and less than M")
    band = float(NW)
    if band >= n / 2.0:
        raise ValueError("NW must be less than M/2.")
    if band <= 0:
        raise ValueError("NW must be positive")
    width = band / n
    index = np.arange(n)
    matrix = np.diag(((n - 1 - 2 * index) / 2.0) ** 2 * np.cos(2 * np.pi * width))
    beside = index[1:] * (n - index[1:]) / 2.0
    matrix += np.diag(beside, 1) + np.diag(beside, -1)
    windows = np.linalg.eigh(matrix)[1].T[::-1][:count].copy()
    for k, window in enumerate(windows):  # fix the sign: mean (even) or first lobe (odd) positive
        lead = window.sum() if k % 2 == 0 else window[window**2 > max(1e-7, 1.0 / n)][0]
        if lead < 0:
            window *= -1
    ratios = None
    if return_ratios:
        lags = np.stack([np.correlate(w, w, "full")[n - 1 :] for w in windows])
        sinc = 4 * width * np.sinc(2 * width * index)
        sinc[0] = 2 * width
        ratios = lags @ sinc
    if norm != 2:
        windows /= windows.max()
        if n % 2 == 0:
            windows *= _center(windows, n, NW, norm)
    if not sym:
        windows = windows[:, :-1]
    result = _core.from_numpy(np.ascontiguousarray(windows[0] if single else windows))
    if ratios is None:
        return result
    return result, _core.from_numpy(ratios[0].reshape(()) if single else ratios)


def _center(windows: Any, n: int, nw: float, norm: str) -> float:
    """Returns the greatest element if the interpolated maximum between the two middle elements is 1."""
    import numpy as np

    if norm == "approximate":
        return float(n**2 / float(n**2 + nw))
    spectrum = np.fft.rfft(windows[0])
    cycles = -(1 - 1.0 / n) * np.arange(1, n // 2 + 1)
    spectrum[1:] *= 2 * np.exp(-1j * np.pi * cycles)
    return float(n / spectrum.real.sum())
