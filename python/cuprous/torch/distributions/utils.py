"""What distributions share: parameters of one shape, and both forms of probabilities."""

from __future__ import annotations

import functools
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _indexing
from cuprous.torch._comparisons import clamp
from cuprous.torch._info import finfo
from cuprous.torch._random_numbers import randn
from cuprous.torch._rearrangement import tril_indices
from cuprous.torch._softmax import logsumexp
from cuprous.torch.distributions._base import common
from cuprous.torch.nn.functional import softmax

_map = _core.t_map
lazy_property = functools.cached_property


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Returns numbers and tensors as tensors of the shape that they broadcast to.

    Parameters
    ----------
    *values : Tensor
        Numbers and tensors.

    Returns
    -------
    tuple of Tensors

    Raises
    ------
    ValueError
        For values of other types.

    Examples
    --------
    >>> torch.distributions.utils.broadcast_all(1.0, torch.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    return tuple(common(*values))


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Returns normal random numbers."""
    return randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """Returns the sum over the last `dim` dimensions."""
    return value if dim == 0 else value.sum(list(range(-dim, 0)))


def clamp_probs(probs: Tensor) -> Tensor:
    """Returns probabilities clamped away from 0 and 1, so that their logarithms are finite.

    Parameters
    ----------
    probs : Tensor
        Probabilities.

    Returns
    -------
    Tensor
        A tensor of the shape of `probs`.

    Examples
    --------
    >>> torch.distributions.utils.clamp_probs(torch.tensor([0.5])).item()
    0.5
    """
    eps = finfo(probs.dtype).eps
    return clamp(probs, eps, 1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Returns the logarithms of probabilities, or of their odds.

    Parameters
    ----------
    probs : Tensor
        Probabilities.
    is_binary : bool, default False
        Whether to return the logarithms of the odds.

    Returns
    -------
    Tensor
        A tensor of the shape of `probs`.

    Examples
    --------
    >>> torch.distributions.utils.probs_to_logits(torch.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    safe = clamp_probs(probs)
    return _map("log", safe) - _map("log1p", -safe) if is_binary else _map("log", safe)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Returns the probabilities of their logarithms, or of the logarithms of their odds.

    Parameters
    ----------
    logits : Tensor
        Logarithms.
    is_binary : bool, default False
        Whether they are those of odds.

    Returns
    -------
    Tensor
        A tensor of the shape of `logits`.

    Examples
    --------
    >>> torch.distributions.utils.logits_to_probs(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """
    if is_binary:
        return _map("expit", logits)
    return softmax(logits - logsumexp(logits, -1, True), -1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Returns the elements of the lower triangle, row by row, along the last dimension.

    Parameters
    ----------
    mat : Tensor
        Square matrices.
    diag : int, default 0
        The last diagonal that is part of the triangle.

    Returns
    -------
    Tensor
        A tensor with a dimension less.

    Raises
    ------
    ValueError
        For a diagonal out of range.

    Examples
    --------
    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 4])
    """
    n = mat.dims[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = tril_indices(n, n, diag, device=mat.device)
    return _indexing.gather(mat.flatten(-2), -1, (rows * n + columns).expand([*mat.dims[:-2], -1]))


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Returns the matrices whose lower triangles have given elements, and that are 0 elsewhere.

    Parameters
    ----------
    vec : Tensor
        The elements, row by row, along the last dimension.
    diag : int, default 0
        The last diagonal that is part of the triangle.

    Returns
    -------
    Tensor
        A tensor with a dimension more.

    Raises
    ------
    ValueError
        For a number of elements that no triangle has.

    Examples
    --------
    >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    count = vec.dims[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > finfo(vec.dtype).eps:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as the lower triangular "
                         "part of a square D x D matrix.")  # fmt: skip
    n = round(n)
    rows, columns = tril_indices(n, n, diag, device=vec.device)
    zeros = _core.t_full([*vec.dims[:-1], n * n], 0, vec.dtype_name, vec.device_name)
    index = (rows * n + columns).expand([*vec.dims[:-1], -1])
    return zeros.scatter(-1, index, vec).unflatten(-1, [n, n])


__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip
