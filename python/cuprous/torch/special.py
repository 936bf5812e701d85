"""`torch.special`: special functions. Arguments without a derivative refuse tensors that require gradients."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _placeholders, _pointwise, _reductions, _special_functions
from cuprous.torch._args import tensor_of, write_out
from cuprous.torch._further import mvlgamma
from cuprous.torch._keywords import complete as _complete
from cuprous.torch.nn import functional as F

_map = _core.t_map
_F = _pointwise.FUNCTIONS


globals().update(_special_functions.FUNCTIONS)
erf, erfc, erfinv, exp2, expm1, log1p, sinc, digamma, xlogy, logit, round = (
    _F[name]
    for name in (
        "erf", "erfc", "erfinv", "exp2", "expm1", "log1p", "sinc", "digamma", "xlogy", "logit", "round",
    )
)  # fmt: skip
psi, gammaln, expit = digamma, _F["lgamma"], _F["sigmoid"]
softmax, log_softmax, logsumexp = _complete(
    {"softmax": F.softmax, "log_softmax": F.log_softmax, "logsumexp": _reductions.FUNCTIONS["logsumexp"]}
).values()


def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the standard normal distribution function.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A floating tensor of the shape of `input`.

    See Also
    --------
    torch.special.log_ndtr, torch.special.ndtri, torch.special.erf

    Examples
    --------
    >>> torch.special.ndtr(torch.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """
    return write_out(out, _map("ndtr", input))


def xlog1py(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Returns `input * log1p(other)`, and 0 where the input is 0.

    Parameters
    ----------
    input : Tensor or number
        A tensor or number, the factor.
    other : Tensor or number
        A tensor or number, from 1 plus which the logarithm is taken.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A floating tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.special.xlogy, torch.special.entr, torch.special.log1p

    Examples
    --------
    >>> torch.special.xlog1py(torch.tensor([0.0, 2.0]), torch.tensor([-1.0, 0.0]))
    tensor([0., 0.])
    """
    safe = _pointwise.without_logarithm(input, other, -1)
    return write_out(out, _map("multiply", input, _map("log1p", safe)))


def multigammaln(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """Returns the logarithm of the multivariate gamma function of dimension p.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    p : int
        The dimension.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.special.gammaln, torch.mvlgamma

    Examples
    --------
    >>> torch.special.multigammaln(torch.tensor([2.0, 3.0]), 1)
    tensor([0.0000, 0.6931])
    """
    return write_out(out, mvlgamma(input, p))


def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the spherical Bessel function of order 0, sin(x) / x.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A floating tensor of the shape of `input`.

    See Also
    --------
    torch.special.bessel_j0, torch.special.sinc

    Examples
    --------
    >>> torch.special.spherical_bessel_j0(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.8415])
    """
    return write_out(out, sinc(tensor_of(input) / math.pi))


def __getattr__(name: str) -> Any:
    return _placeholders.get("special", name)


__all__ = [
    "digamma", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammaln", "log1p", "log_softmax", "logit",
    "logsumexp", "multigammaln", "ndtr", "psi", "round", "sinc", "softmax", "spherical_bessel_j0", "xlog1py", "xlogy",
    *_special_functions.FUNCTIONS,
]  # fmt: skip
