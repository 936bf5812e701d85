"""Windows under `scipy.signal.windows`' names, by the formulas in its documentation. All are float64."""

from __future__ import annotations

import math
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous.scipy.signal._parameters import documented
from cuprous.scipy.signal._slepian import dpss
from cuprous.scipy.special import i0, sinc

ndarray = _core.ndarray
_map = _core.map


def _points(M: int, sym: bool) -> tuple[int, int]:
    """Returns the number of points, and the length of the symmetric window that they are the start of."""
    if int(M) != M or M < 0:
        raise ValueError("Window length M must be a non-negative integer")
    return int(M), int(M) if sym or M < 2 else int(M) + 1


def _sample_indices(count: int) -> ndarray:
    return _core.cast(_core.iota([count], [1], 0), "float64")


@documented
def general_cosine(M: int, a: Any, sym: bool = True) -> ndarray:
    """Returns a sum of cosines with the weights `a`.

    Parameters
    ----------
    a : array_like
        The weights.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.general_hamming, scipy.signal.windows.hamming

    Examples
    --------
    >>> cp.scipy.signal.windows.general_cosine(5, [0.5, 0.5]).round(6)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    count, full = _points(M, sym)
    if count <= 1:
        return _core.full([count], 1.0, "float64")
    phase = _sample_indices(count) * (2.0 * math.pi / (full - 1)) - math.pi
    total = _core.full([count], 0.0, "float64")
    for k, weight in enumerate(a):
        total = total + _map("cos", phase * float(k)) * float(weight)
    return total


@documented
def general_hamming(M: int, alpha: float, sym: bool = True) -> ndarray:
    """Returns alpha - (1 - alpha) cos(2 pi n / (M - 1)).

    Parameters
    ----------
    alpha : float
        The weight.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    hamming, hann

    Examples
    --------
    >>> cp.scipy.signal.windows.general_hamming(5, 0.75).round(6)
    array([0.5 , 0.75, 1.  , 0.75, 0.5 ])
    """
    return general_cosine(M, [alpha, 1.0 - alpha], sym)


@documented
def hamming(M: int, sym: bool = True) -> ndarray:
    """Returns Hamming's window.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.hann, scipy.signal.windows.blackman, scipy.signal.windows.blackmanharris,
    scipy.signal.windows.nuttall, scipy.signal.windows.flattop

    Examples
    --------
    >>> cp.scipy.signal.windows.hamming(5).round(6)
    array([0.08, 0.54, 1.  , 0.54, 0.08])
    """
    return general_hamming(M, 0.54, sym)


@documented
def hann(M: int, sym: bool = True) -> ndarray:
    """Returns Hann's window.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.blackman, scipy.signal.windows.blackmanharris, scipy.signal.windows.nuttall,
    scipy.signal.windows.flattop, scipy.signal.windows.hamming

    Examples
    --------
    >>> cp.scipy.signal.windows.hann(5).round(6)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return general_hamming(M, 0.5, sym)


@documented
def blackman(M: int, sym: bool = True) -> ndarray:
    """Returns Blackman's window.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.blackmanharris, scipy.signal.windows.nuttall, scipy.signal.windows.flattop,
    scipy.signal.windows.hamming, scipy.signal.windows.hann

    Examples
    --------
    >>> cp.scipy.signal.windows.blackman(5).round(6)
    array([-0.  ,  0.34,  1.  ,  0.34, -0.  ])
    """
    return general_cosine(M, [0.42, 0.50, 0.08], sym)


@documented
def nuttall(M: int, sym: bool = True) -> ndarray:
    """Returns Nuttall's minimum 4-term Blackman-Harris window.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.flattop, scipy.signal.windows.hamming, scipy.signal.windows.hann,
    scipy.signal.windows.blackman, scipy.signal.windows.blackmanharris

    Examples
    --------
    >>> cp.scipy.signal.windows.nuttall(5).round(6)
    array([3.63000e-04, 2.26982e-01, 1.00000e+00, 2.26982e-01, 3.63000e-04])
    """
    return general_cosine(M, [0.3635819, 0.4891775, 0.1365995, 0.0106411], sym)


@documented
def blackmanharris(M: int, sym: bool = True) -> ndarray:
    """Returns the minimum 4-term Blackman-Harris window.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.nuttall, scipy.signal.windows.flattop, scipy.signal.windows.hamming,
    scipy.signal.windows.hann, scipy.signal.windows.blackman

    Examples
    --------
    >>> cp.scipy.signal.windows.blackmanharris(5).round(6)
    array([6.0000e-05, 2.1747e-01, 1.0000e+00, 2.1747e-01, 6.0000e-05])
    """
    return general_cosine(M, [0.35875, 0.48829, 0.14128, 0.01168], sym)


@documented
def flattop(M: int, sym: bool = True) -> ndarray:
    """Returns the flat top window.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.hamming, scipy.signal.windows.hann, scipy.signal.windows.blackman,
    scipy.signal.windows.blackmanharris, scipy.signal.windows.nuttall

    Examples
    --------
    >>> cp.scipy.signal.windows.flattop(5).round(6)
    array([-4.2100e-04, -5.4737e-02,  1.0000e+00, -5.4737e-02, -4.2100e-04])
    """
    return general_cosine(M, [0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368], sym)


@documented
def boxcar(M: int, sym: bool = True) -> ndarray:
    """Returns a window of ones.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.triang, scipy.signal.windows.tukey

    Examples
    --------
    >>> cp.scipy.signal.windows.boxcar(3)
    array([1., 1., 1.])
    """
    return _core.full([_points(M, sym)[0]], 1.0, "float64")


def _from_center(M: int, sym: bool) -> tuple[ndarray, int]:
    """Returns the distances from the symmetric window's center, and its length."""
    count, full = _points(M, sym)
    return _sample_indices(count) - (full - 1) / 2.0, full


@documented
def bartlett(M: int, sym: bool = True) -> ndarray:
    """Returns a triangle with zeros at its ends.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    triang

    Examples
    --------
    >>> cp.scipy.signal.windows.bartlett(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    n, full = _from_center(M, sym)
    return boxcar(M) if M <= 1 else 1.0 - _map("absolute", n) * (2.0 / (full - 1))


@documented
def triang(M: int, sym: bool = True) -> ndarray:
    """Returns a triangle whose zeros lie beyond its ends.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    bartlett

    Examples
    --------
    >>> cp.scipy.signal.windows.triang(5).round(6)
    array([0.333333, 0.666667, 1.      , 0.666667, 0.333333])
    """
    n, full = _from_center(M, sym)
    return boxcar(M) if M <= 1 else 1.0 - _map("absolute", n) * (2.0 / (full if full % 2 == 0 else full + 1))


@documented
def parzen(M: int, sym: bool = True) -> ndarray:
    """Returns Parzen's window, a piecewise cubic.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.lanczos, scipy.signal.windows.barthann, scipy.signal.windows.bohman,
    scipy.signal.windows.cosine

    Examples
    --------
    >>> cp.scipy.signal.windows.parzen(5).round(6)
    array([0.016, 0.424, 1.   , 0.424, 0.016])
    """
    n, full = _from_center(M, sym)
    if M <= 1:
        return boxcar(M)
    x = _map("absolute", n) * (2.0 / full)
    outer = 1.0 - x
    inner = 1.0 - x * x * outer * 6.0
    return _map("where", _map("absolute", n) > (full - 1) / 4.0, outer * outer * outer * 2.0, inner)


@documented
def bohman(M: int, sym: bool = True) -> ndarray:
    """Returns Bohman's window.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.cosine, scipy.signal.windows.parzen, scipy.signal.windows.lanczos,
    scipy.signal.windows.barthann

    Examples
    --------
    >>> cp.scipy.signal.windows.bohman(5).round(6)
    array([0.     , 0.31831, 1.     , 0.31831, 0.     ])
    """
    n, full = _from_center(M, sym)
    if M <= 1:
        return boxcar(M)
    x = _map("absolute", n) * (2.0 / (full - 1))
    value = (1.0 - x) * _map("cos", x * math.pi) + _map("sin", x * math.pi) / math.pi
    return _map("where", x >= 1.0, 0.0, value)


@documented
def cosine(M: int, sym: bool = True) -> ndarray:
    """Returns half a period of a sine.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.parzen, scipy.signal.windows.lanczos, scipy.signal.windows.barthann,
    scipy.signal.windows.bohman

    Examples
    --------
    >>> cp.scipy.signal.windows.cosine(5).round(6)
    array([0.309017, 0.809017, 1.      , 0.809017, 0.309017])
    """
    count, full = _points(M, sym)
    return boxcar(M) if M <= 1 else _map("sin", (_sample_indices(count) + 0.5) * (math.pi / full))


@documented
def gaussian(M: int, std: float, sym: bool = True) -> ndarray:
    """Returns a Gaussian with the standard deviation `std`, in points.

    Parameters
    ----------
    std : float
        The standard deviation.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.general_gaussian, scipy.signal.windows.exponential

    Examples
    --------
    >>> cp.scipy.signal.windows.gaussian(5, 1.0).round(6)
    array([0.135335, 0.606531, 1.      , 0.606531, 0.135335])
    """
    n, _ = _from_center(M, sym)
    return boxcar(M) if M <= 1 else _map("exp", n * n * (-0.5 / (std * std)))


@documented
def general_gaussian(M: int, p: float, sig: float, sym: bool = True) -> ndarray:
    """Returns exp(-|n / sig|**(2 p) / 2).

    Parameters
    ----------
    p : float
        The shape: 1 is a Gaussian, 0.5 the Laplace distribution.
    sig : float
        The standard deviation, in points.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.exponential, scipy.signal.windows.gaussian

    Examples
    --------
    >>> cp.scipy.signal.windows.general_gaussian(5, 1.5, 2.0).round(6)
    array([0.606531, 0.939413, 1.      , 0.939413, 0.606531])
    """
    n, _ = _from_center(M, sym)
    return boxcar(M) if M <= 1 else _map("exp", _map("power", _map("absolute", n / sig), 2.0 * p) * -0.5)


@documented
def exponential(M: int, center: float | None = None, tau: float = 1.0, sym: bool = True) -> ndarray:
    """Returns exp(-|n - center| / tau).

    Parameters
    ----------
    center : float, optional
        The center, for periodic windows; by default the middle.
    tau : float, default 1.0
        The decay, in points.

    Returns
    -------
    ndarray
        An array of shape (M,).

    Raises
    ------
    ValueError
        If `center` is given for a symmetric window.

    See Also
    --------
    scipy.signal.windows.gaussian, scipy.signal.windows.general_gaussian

    Examples
    --------
    >>> cp.scipy.signal.windows.exponential(5, tau=2.0).round(6)
    array([0.367879, 0.606531, 1.      , 0.606531, 0.367879])
    """
    if sym and center is not None:
        raise ValueError("If sym==True, center must be None.")
    count, full = _points(M, sym)
    middle = (full - 1) / 2.0 if center is None else center
    return boxcar(M) if M <= 1 else _map("exp", _map("absolute", _sample_indices(count) - middle) * (-1.0 / tau))


@documented
def kaiser(M: int, beta: float, sym: bool = True) -> ndarray:
    """Returns Kaiser's window, computed by the Bessel function i0.

    Parameters
    ----------
    beta : float
        The parameter of the shape; 0 is a rectangle.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.chebwin, scipy.signal.windows.taylor, scipy.signal.windows.dpss

    Examples
    --------
    >>> cp.scipy.signal.windows.kaiser(5, 8.0).round(6)
    array([0.002339, 0.368973, 1.      , 0.368973, 0.002339])
    """
    n, full = _from_center(M, sym)
    if M <= 1:
        return boxcar(M)
    x = n * (2.0 / (full - 1))
    return i0(_map("sqrt", _map("maximum", 1.0 - x * x, 0.0)) * float(beta)) / i0(float(beta))


@documented
def tukey(M: int, alpha: float = 0.5, sym: bool = True) -> ndarray:
    """Returns a flat window with cosine tapers over the outer fraction `alpha` of its length.

    Parameters
    ----------
    alpha : float, default 0.5
        The part of the window that is tapered, 0 to 1.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.boxcar, scipy.signal.windows.triang

    Examples
    --------
    >>> cp.scipy.signal.windows.tukey(5).round(6)
    array([0., 1., 1., 1., 0.])
    """
    if alpha <= 0 or M <= 1:
        return boxcar(M, sym)
    if alpha >= 1.0:
        return hann(M, sym)
    n, full = _from_center(M, sym)
    edge = (full - 1) / 2.0 - _map("absolute", n)
    width = alpha * (full - 1) / 2.0
    return _map("where", edge < width, (1.0 - _map("cos", edge * (math.pi / width))) * 0.5, 1.0)


@documented
def barthann(M: int, sym: bool = True) -> ndarray:
    """Returns a weighted sum of Bartlett's and Hann's windows.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.bohman, scipy.signal.windows.cosine, scipy.signal.windows.parzen,
    scipy.signal.windows.lanczos

    Examples
    --------
    >>> cp.scipy.signal.windows.barthann(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    n, full = _from_center(M, sym)
    if M <= 1:
        return boxcar(M)
    x = _map("absolute", n) * (1.0 / (full - 1))
    return 0.62 - x * 0.48 + _map("cos", x * (2.0 * math.pi)) * 0.38


@documented
def lanczos(M: int, *, sym: bool = True) -> ndarray:
    """Returns the main lobe of a sinc.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.barthann, scipy.signal.windows.bohman, scipy.signal.windows.cosine,
    scipy.signal.windows.parzen

    Examples
    --------
    >>> cp.scipy.signal.windows.lanczos(5).round(6)
    array([0.     , 0.63662, 1.     , 0.63662, 0.     ])
    """
    n, full = _from_center(M, sym)
    return boxcar(M) if M <= 1 else sinc(n * (2.0 / (full - 1)))


@documented
def kaiser_bessel_derived(M: int, beta: float, *, sym: bool = True) -> ndarray:
    """Returns square roots of cumulative sums of a Kaiser window, so that the squares of overlapping windows add up to
    one.

    Parameters
    ----------
    beta : float
        The parameter of the Kaiser window.

    Returns
    -------
    ndarray
        An array of shape (M,).

    Raises
    ------
    ValueError
        For an odd length, and if `sym` is false.

    See Also
    --------
    kaiser

    Examples
    --------
    >>> cp.scipy.signal.windows.kaiser_bessel_derived(4, 8.0).round(6)
    array([0.048249, 0.998835, 0.998835, 0.048249])
    """
    if not sym:
        raise ValueError("Kaiser-Bessel Derived windows are only defined for symmetric shapes")
    if M < 1:
        return boxcar(0)
    if M % 2:
        raise ValueError("Kaiser-Bessel Derived windows are only defined for even number of points")
    sums = cp.cumsum(kaiser(M // 2 + 1, beta))
    half = _map("sqrt", sums[:-1] / sums[-1])
    return cp.concatenate([half, cp.flip(half)])


@documented
def taylor(M: int, nbar: int = 4, sll: float = 30, norm: bool = True, sym: bool = True) -> ndarray:
    """Returns Taylor's window: the `nbar` side lobes nearest to the main lobe are `sll` decibels below it (W. G.
    Carrara et al., "Spotlight Synthetic Aperture Radar", 1995, appendix D.2); `norm` makes the center 1.

    Parameters
    ----------
    nbar : int, default 4
        The number of side lobes.
    sll : float, default 30
        The suppression of the side lobes, in decibels.
    norm : bool, default True
        Whether the greatest value is 1, for odd lengths.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    chebwin, kaiser, bartlett, blackman, hamming, hann

    Examples
    --------
    >>> cp.scipy.signal.windows.taylor(5).round(6)
    array([0.332497, 0.772015, 1.      , 0.772015, 0.332497])
    """
    n, full = _from_center(M, sym)
    if M <= 1:
        return boxcar(M)
    a = math.acosh(10.0 ** (sll / 20.0)) / math.pi
    squares = [m * m for m in range(1, nbar)]
    stretch = nbar * nbar / (a * a + (nbar - 0.5) ** 2)
    x = n * (1.0 / full)
    value, middle = _core.full(n.shape, 1.0, "float64"), 1.0
    for m, square in enumerate(squares, 1):
        weight = -((-1) ** m) * math.prod(1.0 - square / stretch / (a * a + (j - 0.5) ** 2) for j in range(1, nbar))
        weight /= 2.0 * math.prod(1.0 - square / other for other in squares if other != square)
        value = value + _map("cos", x * (2.0 * math.pi * m)) * (2.0 * weight)
        middle += 2.0 * weight
    return value / middle if norm else value


@documented
def chebwin(M: int, at: float, sym: bool = True) -> ndarray:
    """Returns the Dolph-Chebyshev window, whose side lobes all lie `at` decibels below the main lobe: the transform of
    a Chebyshev polynomial.

    Parameters
    ----------
    at : float
        The attenuation in decibels.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    scipy.signal.windows.taylor, scipy.signal.windows.dpss, scipy.signal.windows.kaiser

    Examples
    --------
    >>> cp.scipy.signal.windows.chebwin(5, 60).round(6)
    array([0.187615, 0.686241, 1.      , 0.686241, 0.187615])
    """
    count, full = _points(M, sym)
    if count <= 1:
        return boxcar(M)
    order = full - 1
    beta = math.cosh(math.acosh(10.0 ** (abs(at) / 20.0)) / order)
    x = _map("cos", _sample_indices(full) * (math.pi / full)) * beta
    size = _map("absolute", x)
    inside = _map("cos", _map("arccos", _map("minimum", size, 1.0)) * float(order))
    outside = _map("cosh", _map("arccosh", _map("maximum", size, 1.0)) * float(order))
    value = _map("where", size > 1.0, outside, inside)
    value = value if order % 2 == 0 else _map("where", x < 0.0, -value, value)
    if full % 2:
        half = cp.real(cp.fft.fft(value))[: (full + 1) // 2]
        window = cp.concatenate([cp.flip(half[1:]), half])
    else:
        angles = _sample_indices(full) * (math.pi / full)
        half = cp.real(cp.fft.fft(value * (_map("cos", angles) + 1j * _map("sin", angles))))[: full // 2 + 1]
        window = cp.concatenate([cp.flip(half[1:]), half[1:]])
    return (window / cp.max(window))[:count].copy()


#: Windows by the names that `get_window` accepts, and whether they require parameters.
_NAMES: dict[str, tuple[Any, bool]] = {
    name: (window, needs)
    for window, needs, names in (
        (barthann, False, "barthann brthan bth"), (bartlett, False, "bartlett bart brt"),
        (blackman, False, "blackman black blk"), (blackmanharris, False, "blackmanharris blackharr bkh"),
        (bohman, False, "bohman bman bmn"), (boxcar, False, "boxcar box ones rect rectangular"),
        (chebwin, True, "chebwin cheb"), (cosine, False, "cosine halfcosine"),
        (dpss, True, "dpss"),
        (exponential, False, "exponential poisson"), (flattop, False, "flattop flat flt"),
        (gaussian, True, "gaussian gauss gss"), (general_cosine, True, "general_cosine"),
        (general_gaussian, True, "general_gaussian general_gauss ggs"),
        (general_hamming, True, "general_hamming"), (hamming, False, "hamming hamm ham"), (hann, False, "hann han"),
        (kaiser, True, "kaiser ksr"), (kaiser_bessel_derived, True, "kaiser_bessel_derived kbd"),
        (lanczos, False, "lanczos sinc"), (nuttall, False, "nuttall nutl nut"), (parzen, False, "parzen parz par"),
        (taylor, False, "taylor taylorwin"), (triang, False, "triangle triang tri"), (tukey, False, "tukey tuk"),
    )
    for name in names.split()
}  # fmt: skip


def get_window(window: Any, Nx: int, fftbins: bool = True) -> ndarray:
    """Returns a window by name.

    Parameters
    ----------
    window : str, float or tuple
        A name; a tuple of a name and parameters; or a number, the beta of a Kaiser window. The suffixes "_periodic" and
        "_symmetric" of a name override `fftbins`.
    Nx : int
        The length.
    fftbins : bool, default True
        Whether the window is periodic, for spectra, rather than symmetric, for filters.

    Returns
    -------
    ndarray
        An array of shape (Nx,).

    Raises
    ------
    ValueError
        For an unknown name, and missing parameters.

    See Also
    --------
    scipy.signal.kaiser_beta

    Examples
    --------
    >>> cp.scipy.signal.get_window("hann", 4).round(6)
    array([0. , 0.5, 1. , 0.5])
    """
    if Nx < 1:
        raise ValueError(f"Parameter Nx={Nx!r} is not a positive integer")
    sym = not fftbins
    parameters: tuple[Any, ...] = ()
    if isinstance(window, (int, float)) and not isinstance(window, bool):
        return kaiser(Nx, float(window), sym=sym)
    if isinstance(window, tuple):
        name, parameters = window[0], window[1:]
    elif isinstance(window, str):
        name = window
    else:
        raise ValueError(f"{type(window)} as window type is not supported.")
    for ending, value in (("_periodic", False), ("_symmetric", True)):
        if name.endswith(ending):
            name, sym = name.removesuffix(ending), value
    if name.replace(" ", "_") not in _NAMES:
        raise ValueError(f"Unknown window type: {name!r}")
    function, needs = _NAMES[name.replace(" ", "_")]
    if needs and not parameters:
        raise ValueError(f"The '{name}' window needs one or more parameters -- pass a tuple.")
    result: ndarray = function(Nx, *parameters, sym=sym)
    return result


__all__ = [
    "barthann", "bartlett", "blackman", "blackmanharris", "bohman", "boxcar", "chebwin", "cosine", "dpss",
    "exponential", "flattop", "gaussian", "general_cosine", "general_gaussian", "general_hamming", "get_window",
    "hamming", "hann", "kaiser", "kaiser_bessel_derived", "lanczos", "nuttall", "parzen", "taylor", "triang",
    "tukey",
]  # fmt: skip
