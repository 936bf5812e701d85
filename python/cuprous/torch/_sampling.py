"""Sampling from weighted choices."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _ordering, _random_numbers
from cuprous.torch._args import by_name


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Tensor | None = None
) -> Tensor:
    """Returns indices drawn with the probabilities in each row, which need not sum to 1.

    Exponential random variables are divided by the weights: each index then has the smallest quotient with its
    probability, and indices in the order of their quotients are a sample without replacement (Efraimidis and
    Spirakis, 2006). The weights are not read on the host, and so they are not checked.

    Parameters
    ----------
    input : Tensor
        Nonnegative weights, a vector of n elements or a matrix of shape (m, n).
    num_samples : int
        The number of indices in a row.
    replacement : bool, default False
        Whether an index may be drawn several times.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        An int64 tensor of shape (num_samples) or (m, num_samples).

    Raises
    ------
    RuntimeError
        If more samples are drawn without replacement than there are weights.

    See Also
    --------
    torch.bernoulli, torch.randint, torch.distributions.Categorical

    Examples
    --------
    >>> torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    if out is not None:
        raise NotImplementedError("[multinomial] out= is not supported")
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not input.is_floating_point():
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype_name}")
    n = input.dims[-1]
    if not replacement and num_samples > n:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    weights = input.detach().reshape(-1, 1, n)
    unit = _random_numbers.draw_unit(input, [weights.dims[0], num_samples if replacement else 1, n], generator)
    variate = _core.t_map("negative", _core.t_map("log1p", _core.t_map("negative", unit))) + 1e-37
    keys = _core.t_map("where", weights > 0, weights / variate, -1)
    if replacement:
        index = _core.t_reduce("argmax", keys, [-1])
    else:
        index = _ordering.topk(keys.reshape(-1, n), num_samples).indices
    return index.reshape([*input.dims[:-1], num_samples])


METHODS = FUNCTIONS = by_name(multinomial)
