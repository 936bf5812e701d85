"""The Kullback-Leibler divergence and its registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous._core import Tensor
from cuprous.torch.distributions._base import Distribution, Independent
from cuprous.torch.distributions._formulas import FORMULAS
from cuprous.torch.distributions._transformed import TransformedDistribution

#: The formulas of pairs of classes, to which programs add their own.
_registered: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = dict(FORMULAS)


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Returns a decorator that registers a function as the divergence of distributions of two classes.

    Parameters
    ----------
    type_p : type
        The first class.
    type_q : type
        The second class.

    Returns
    -------
    callable
        A decorator for a function of two distributions.

    See Also
    --------
    torch.distributions.kl_divergence

    Examples
    --------
    >>> class Constant(torch.distributions.Distribution):
    ...     arg_constraints = {}
    >>> @torch.distributions.register_kl(Constant, Constant)
    ... def divergence(p, q):
    ...     return torch.tensor(0.0)
    >>> torch.distributions.kl_divergence(Constant(), Constant())
    tensor(0.)
    """

    def register(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        _registered[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Returns the Kullback-Leibler divergence of p from q in nats.

    Parameters
    ----------
    p : Distribution
        A distribution.
    q : Distribution
        A distribution.

    Returns
    -------
    Tensor
        A tensor of the batch's shape.

    Raises
    ------
    NotImplementedError
        For pairs without a formula.

    See Also
    --------
    torch.distributions.register_kl

    Examples
    --------
    >>> p, q = torch.distributions.Normal(0.0, 1.0), torch.distributions.Normal(1.0, 1.0)
    >>> torch.distributions.kl_divergence(p, q)
    tensor(0.5000)
    """
    ranks_p, ranks_q = ({cls: at for at, cls in enumerate(type(x).__mro__)} for x in (p, q))
    found = [pair for pair in _registered if pair[0] in ranks_p and pair[1] in ranks_q]
    if found:
        best = min(found, key=lambda pair: (ranks_p[pair[0]] + ranks_q[pair[1]], ranks_p[pair[0]]))
        return _registered[best](p, q)
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
                              f"{type(q).__name__}")  # fmt: skip


def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("No KL(p || q) is implemented for different reinterpreted_batch_ndims")
    return p._total(kl_divergence(p.base_dist, q.base_dist))


def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("No KL(p || q) is implemented for different transforms")
    return kl_divergence(p.base_dist, q.base_dist)


_registered[Independent, Independent] = _independent
_registered[TransformedDistribution, TransformedDistribution] = _transformed
