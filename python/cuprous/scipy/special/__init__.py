"""Special functions with `scipy.special`'s names, made from a table: natively computed or composed of such.

They work as SciPy's ufuncs do: scalars, lists and arrays broadcast, `out=` receives the result. They compute in float32
for float32 and bfloat16, otherwise in float64; Python scalars do not promote; complex numbers raise TypeError.
"""

from cuprous.scipy.special._function import SpecialFunction
from cuprous.scipy.special._reductions import log_softmax, logsumexp, softmax
from cuprous.scipy.special._table import FUNCTIONS

globals().update(FUNCTIONS)

__all__ = ["SpecialFunction", "log_softmax", "logsumexp", "softmax", *FUNCTIONS]


def __getattr__(name: str) -> SpecialFunction:  # tells type checkers what the names of the table are
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
