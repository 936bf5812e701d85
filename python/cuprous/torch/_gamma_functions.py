"""The incomplete gamma functions and polygamma, by those of `torch.special`."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from cuprous import _core
from cuprous._common.naming import named, related_names
from cuprous._core import Tensor
from cuprous.torch._args import by_name, in_place, write_out


def _special(name: str) -> Callable[..., Tensor]:
    """Returns a function of `torch.special`, which is imported when it is used because its import takes long."""
    module = importlib.import_module("cuprous.torch._special_functions")
    found: Callable[..., Tensor] = module.FUNCTIONS.get(name) or getattr(module, name)
    return found


def _incomplete(name: str, special: str, kind: str, result: str) -> Callable[..., Tensor]:
    """Returns an incomplete gamma function, which PyTorch has under two names."""

    def incomplete(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        return _special(special)(input, other, out=out)

    return named(
        incomplete,
        name,
        f"""Returns the regularized {kind} incomplete gamma function, as `torch.special.{special}`.

    Parameters
    ----------
    input : Tensor
        The parameter a, which has no derivative.
    other : Tensor or number
        The argument x, a tensor or number that broadcasts with `input`.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A floating tensor of the shape that the operands broadcast to.

    See Also
    --------
    {related_names(name, "igamma igammac lgamma")}

    Examples
    --------
    >>> torch.{name}(torch.tensor([1.0]), torch.tensor([0.5]))
    tensor([{result}])
    """,
    )


igamma = _incomplete("igamma", "gammainc", "lower", "0.3935")
igammac = _incomplete("igammac", "gammaincc", "upper", "0.6065")


def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the n-th derivative of the digamma function.

    Parameters
    ----------
    n : int
        The order, a nonnegative integer.
    input : Tensor
        A tensor of positive numbers.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A floating tensor of the shape of `input`.

    Raises
    ------
    RuntimeError
        For a negative order.

    See Also
    --------
    torch.digamma, torch.lgamma, torch.special.zeta

    Examples
    --------
    >>> torch.polygamma(1, torch.tensor([1.0, 2.0]))
    tensor([1.6449, 0.6449])
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return write_out(out, _core.t_map("digamma", input))
    return write_out(out, _special("polygamma_of")(n, input))


def _polygamma_of(self: Tensor, n: int) -> Tensor:
    """Returns the n-th derivative of the digamma function.

    Parameters
    ----------
    n : int
        The order, a nonnegative integer.

    Returns
    -------
    Tensor
        A floating tensor of the shape of the tensor.

    Examples
    --------
    >>> torch.tensor([1.0, 2.0]).polygamma(1)
    tensor([1.6449, 0.6449])
    """
    return polygamma(n, self)


_polygamma_of.__name__ = _polygamma_of.__qualname__ = "polygamma"

FUNCTIONS = by_name(igamma, igammac, polygamma)
METHODS = by_name(
    igamma, igammac, _polygamma_of,
    in_place(igamma, "torch.ones(1).igamma_(torch.tensor([0.5])) -> tensor([0.3935])"),
    in_place(igammac, "torch.ones(1).igammac_(torch.tensor([0.5])) -> tensor([0.6065])"),
    in_place(_polygamma_of, "torch.tensor([1.0]).polygamma_(1) -> tensor([1.6449])"),
)  # fmt: skip

__all__ = ["FUNCTIONS", "METHODS"]
