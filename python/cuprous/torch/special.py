"""`torch.special`: special functions. Those without a derivative here refuse tensors that require gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.scipy import special as _special
from cuprous.torch import _placeholders, _pointwise, _reductions
from cuprous.torch._args import named, tensor_of, write_out
from cuprous.torch._further import mvlgamma
from cuprous.torch.nn import functional as F

_map = _core.t_map
_F = _pointwise.FUNCTIONS


def _without_gradient(name: str, ours: str, result: str) -> Callable[..., Tensor]:
    of_arrays = getattr(_special, ours or name)

    def compute(tensors: list[Tensor], out: Tensor | None) -> Tensor:
        if _core.is_grad_enabled() and any(x.requires_grad for x in tensors):
            raise NotImplementedError(
                f"[special.{name}] has no derivative here; call it under no_grad(), or on detach()"
            )
        return write_out(out, _core.t_wrap(of_arrays(*(x.as_array() for x in tensors))))

    def of_one(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        return compute([tensor_of(input)], out)

    def of_two(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        return compute([tensor_of(input), tensor_of(other)], out)

    two = name in ("gammainc", "gammaincc")
    values = "torch.tensor([0.5, 1.0])"
    operands = """input: the parameter a, a real tensor or number.
        other: the argument x, a tensor or number that broadcasts with `input`.""" if two else (
        "input: a tensor of any shape, of a real dtype.")  # fmt: skip
    return named(
        of_two if two else of_one,
        name,
        f"""{of_arrays._doc}

    Args:
        {operands}
        out: a tensor of the result's shape to write to.

    Returns:
        A floating tensor of the shape {"that the operands broadcast to" if two else "of `input`"}.

    Raises:
        NotImplementedError: for tensors that require gradients, because there is no derivative here.

    Examples:
        >>> torch.special.{name}({"torch.tensor([1.0, 2.0]), " * two}{values})
        tensor({result})
    """,
    )


bessel_j0, bessel_j1, bessel_y0, bessel_y1, erfcx, gammainc, gammaincc, i0e, i1, i1e, log_ndtr, ndtri = (
    _without_gradient(*row)
    for row in (
        ("bessel_j0", "j0", "[0.9385, 0.7652]"), ("bessel_j1", "j1", "[0.2423, 0.4401]"),
        ("bessel_y0", "y0", "[-0.4445,  0.0883]"), ("bessel_y1", "y1", "[-1.4715, -0.7812]"),
        ("erfcx", "", "[0.6157, 0.4276]"), ("gammainc", "", "[0.3935, 0.2642]"), ("gammaincc", "", "[0.6065, 0.7358]"),
        ("i0e", "", "[0.6450, 0.4658]"), ("i1", "", "[0.2579, 0.5652]"), ("i1e", "", "[0.1564, 0.2079]"),
        ("log_ndtr", "", "[-0.3689, -0.1728]"), ("ndtri", "", "[0., inf]"),
    )
)  # fmt: skip
erf, erfc, erfinv, exp2, expm1, log1p, sinc, digamma, i0, xlogy, logit, round = (
    _F[name]
    for name in (
        "erf", "erfc", "erfinv", "exp2", "expm1", "log1p", "sinc", "digamma", "i0", "xlogy", "logit", "round",
    )
)  # fmt: skip
psi, gammaln, expit = digamma, _F["lgamma"], _F["sigmoid"]
softmax, log_softmax, logsumexp = F.softmax, F.log_softmax, _reductions.FUNCTIONS["logsumexp"]


def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the standard normal distribution function.

    Args:
        input: a tensor of any shape, of a real dtype.
        out: a tensor of the result's shape to write to.

    Returns:
        A floating tensor of the shape of `input`.

    Examples:
        >>> torch.special.ndtr(torch.tensor([0.0, 1.0]))
        tensor([0.5000, 0.8413])
    """
    return write_out(out, _map("ndtr", input))


def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns `-x * log(x)`, which is 0 at 0 and negative infinity below.

    Args:
        input: a tensor of any shape, of a real dtype.
        out: a tensor of the result's shape to write to.

    Returns:
        A floating tensor of the shape of `input`.

    Examples:
        >>> torch.special.entr(torch.tensor([0.0, 0.5, -1.0]))
        tensor([0.0000, 0.3466,   -inf])
    """
    positive = _map("greater", input, 0)
    safe = _map("where", positive, input, 1)
    rest = _map("where", _map("equal", input, 0), 0.0, _map("where", _map("isnan", input), input, -math.inf))
    return write_out(out, _map("where", positive, -safe * _map("log", safe), rest))


def xlog1py(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Returns `input * log1p(other)`, and 0 where the input is 0.

    Args:
        input: a tensor or number, the factor.
        other: a tensor or number, from 1 plus which the logarithm is taken.
        out: a tensor of the result's shape to write to.

    Returns:
        A floating tensor of the shape that the operands broadcast to.

    Examples:
        >>> torch.special.xlog1py(torch.tensor([0.0, 2.0]), torch.tensor([-1.0, 0.0]))
        tensor([0., 0.])
    """
    zero = _map("equal", tensor_of(input), 0)
    safe = _map("where", zero, 1, other)
    return write_out(out, _map("multiply", input, _map("log1p", safe)))


def multigammaln(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """Returns the logarithm of the multivariate gamma function of dimension p.

    Args:
        input: a tensor of any shape, of a floating dtype.
        p: the dimension.
        out: a tensor of the result's shape to write to.

    Returns:
        A tensor of the shape of `input`.

    Examples:
        >>> torch.special.multigammaln(torch.tensor([2.0, 3.0]), 1)
        tensor([0.0000, 0.6931])
    """
    return write_out(out, mvlgamma(input, p))


def __getattr__(name: str) -> Any:
    return _placeholders.get("special", name)


__all__ = [
    "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2",
    "expit", "expm1", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax",
    "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "psi", "round", "sinc", "softmax", "xlog1py", "xlogy",
]  # fmt: skip
