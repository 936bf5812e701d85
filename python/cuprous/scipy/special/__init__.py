"""Special functions with `scipy.special`'s names, made from a table: natively computed or composed of such.

They work as SciPy's ufuncs do: scalars, lists and arrays broadcast, `out=` receives the result. They compute in float32
for float32 and bfloat16, otherwise in float64; Python scalars do not promote; complex numbers raise TypeError.
Incomplete functions, distributions and integrals compute in float64 for float32 too, and return float32.
"""

from __future__ import annotations

from typing import Any

from cuprous.scipy.special._extra import diric, fresnel, multigammaln, sici
from cuprous.scipy.special._function import SpecialFunction
from cuprous.scipy.special._lambert import lambertw
from cuprous.scipy.special._more import comb, factorial, perm, polygamma
from cuprous.scipy.special._more import zeta as _hurwitz
from cuprous.scipy.special._orders import jn
from cuprous.scipy.special._reductions import log_softmax, logsumexp, softmax
from cuprous.scipy.special._table import FUNCTIONS

globals().update(FUNCTIONS)

_zeta = SpecialFunction("zeta", 2, _hurwitz, "The zeta function of Hurwitz.")


def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """The zeta function of Hurwitz, the sum of (k + q)**-x for x > 1 and q > 0; of Riemann (q = 1) without `q`.
    NaN for x < 1 and q < 0."""
    return _zeta(x, 1.0 if q is None else q, out=out)


__all__ = [
    "SpecialFunction", "comb", "diric", "factorial", "fresnel", "jn", "lambertw", "log_softmax", "logsumexp",
    "multigammaln", "perm", "polygamma", "sici", "softmax", "zeta",
    *FUNCTIONS,
]  # fmt: skip


def __getattr__(name: str) -> SpecialFunction:  # tells type checkers what the names of the table are
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
