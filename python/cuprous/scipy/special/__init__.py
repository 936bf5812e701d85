"""Special functions with `scipy.special`'s names, built from a table: native, or composed of native ones.

They have the interface of ufuncs: scalars, lists and arrays broadcast, and `out=` receives the result. They compute in
float32 for float32 and bfloat16, otherwise in float64. Python scalars do not promote, and complex numbers raise
TypeError. Incomplete functions, distributions and integrals compute in float64 for float32 too, and return float32.
"""

from __future__ import annotations

from typing import Any

from cuprous.scipy.special._elliptic import ellipj
from cuprous.scipy.special._extra import diric, fresnel, multigammaln, shichi, sici
from cuprous.scipy.special._function import SpecialFunction
from cuprous.scipy.special._lambert import lambertw
from cuprous.scipy.special._legendre import sph_harm_y
from cuprous.scipy.special._more import comb, factorial, perm, polygamma
from cuprous.scipy.special._more import zeta as _hurwitz
from cuprous.scipy.special._orders import jn, yn
from cuprous.scipy.special._reductions import log_softmax, logsumexp, softmax
from cuprous.scipy.special._spherical import spherical_yn
from cuprous.scipy.special._table import FUNCTIONS

globals().update(FUNCTIONS)

_zeta = SpecialFunction("zeta", 2, _hurwitz, "Returns the zeta function of Hurwitz.")


def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """Returns the Hurwitz zeta function, the sum of (k + q)**-x for x > 1, or without `q` the Riemann zeta function
    (q = 1). NaN for x < 1 and, unless x is whole, for q < 0; infinity for q = 0, -1, -2 and so on.

    Parameters
    ----------
    x : array_like
        A scalar or an array of real numbers.
    q : array_like, optional
        A scalar or an array of real numbers, 1 by default.
    out : ndarray, optional
        An array of the result's shape to write to.

    Returns
    -------
    ndarray
        An array of the common shape.

    See Also
    --------
    scipy.special.zetac, scipy.special.polygamma

    Examples
    --------
    >>> cp.special.zeta([2.0, 3.0])
    array([1.64493407, 1.2020569 ])
    """
    return _zeta(x, 1.0 if q is None else q, out=out)


__all__ = [
    "SpecialFunction", "comb", "diric", "ellipj", "factorial", "fresnel", "jn", "lambertw", "log_softmax", "logsumexp",
    "multigammaln", "perm", "polygamma", "shichi", "sici", "softmax", "sph_harm_y", "spherical_yn", "yn", "zeta",
    *FUNCTIONS,
]  # fmt: skip


def __getattr__(name: str) -> SpecialFunction:  # types the names of the table for type checkers
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
