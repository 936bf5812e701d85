"""Functions of all gradients or parameters together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _joining, _reductions
from cuprous.torch._sharded import Sharded, local_parts

_NONFINITE = "The total norm of order {} for gradients is non-finite, so it cannot be clipped."


def _tensors(parameters: Any) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Tensor:  # fmt: skip
    """Scales all gradients so that their joint norm is not above a bound.

    The factor is a recorded value like any other, so that nothing is read on the host.

    Parameters
    ----------
    parameters : iterable of Tensors or of dicts
        The parameters, or one tensor.
    max_norm : float
        The bound.
    norm_type : float, default 2.0
        The order of the norm.
    error_if_nonfinite : bool, default False
        Whether a norm that is infinite or NaN is an error, for which it is read on the host.
    foreach : bool, optional
        Has no effect.

    Returns
    -------
    Tensor
        The norm before, a tensor without dimensions.

    See Also
    --------
    torch.nn.utils.clip_grad_value_, torch.nn.utils.clip_grads_with_norm_, torch.nn.utils.get_total_norm

    Examples
    --------
    >>> x = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> nn.utils.clip_grad_norm_([x], max_norm=1.0)
    tensor(10.)
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    parameters = _tensors(parameters)
    gradients = [p.grad for p in parameters if p.grad is not None]
    total = get_total_norm(gradients, norm_type, error_if_nonfinite)
    if gradients:
        clip_grads_with_norm_(parameters, max_norm, total)
    return total


def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:  # fmt: skip
    """Returns the joint norm of several tensors.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensors
        The tensors, or one tensor.
    norm_type : float, default 2.0
        The order of the norm.
    error_if_nonfinite : bool, default False
        Whether a norm that is infinite or NaN is an error, for which it is read on the host.
    foreach : bool, optional
        Has no effect.

    Returns
    -------
    Tensor
        A tensor without dimensions; a DTensor that all ranks have, if one of the tensors is a DTensor.

    See Also
    --------
    torch.nn.utils.clip_grad_norm_, torch.nn.utils.clip_grad_value_, torch.nn.utils.clip_grads_with_norm_

    Examples
    --------
    >>> nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    found = [t.detach() for t in _tensors(tensors)]
    if not found:
        return _core.t_full([], 0.0, _core.t_default_dtype(), "cpu")
    sharded: Any = next((t for t in found if isinstance(t, Sharded)), None)
    if sharded is not None:
        total: Tensor = sharded.joint_norm(found, norm_type)
        if error_if_nonfinite and not math.isfinite(total.item()):
            raise RuntimeError(_NONFINITE.format(norm_type))
        return total
    total = _reductions.norm(_joining.stack([_reductions.norm(t, norm_type) for t in found]), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(_NONFINITE.format(norm_type))
    return total


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scales all gradients by the factor that reduces a norm to a bound, if the norm is larger.

    Parameters
    ----------
    parameters : iterable of Tensors or of dicts
        The parameters, or one tensor.
    max_norm : float
        The bound.
    total_norm : Tensor
        The norm.
    foreach : bool, optional
        Has no effect.

    See Also
    --------
    torch.nn.utils.get_total_norm, torch.nn.utils.clip_grad_norm_, torch.nn.utils.clip_grad_value_

    Examples
    --------
    >>> x = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> x.sum().backward()
    >>> nn.utils.clip_grads_with_norm_([x], 1.0, torch.tensor(2.0))
    >>> x.grad
    tensor([0.5000, 0.5000])
    """
    (norm,) = local_parts([total_norm])
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for p in local_parts(_tensors(parameters)):
        if p.grad is not None:
            _core.t_map_inplace("multiply", p.grad.detach(), factor)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clamps the elements of each gradient to a range around 0.

    Parameters
    ----------
    parameters : iterable of Tensors or of dicts
        The parameters, or one tensor.
    clip_value : float
        The bound of magnitudes.
    foreach : bool, optional
        Has no effect.

    See Also
    --------
    torch.nn.utils.clip_grads_with_norm_, torch.nn.utils.get_total_norm, torch.nn.utils.clip_grad_norm_

    Examples
    --------
    >>> x = torch.tensor([3.0, 0.1], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> nn.utils.clip_grad_value_([x], 1.0)
    >>> x.grad
    tensor([1.0000, 0.2000])
    """
    for p in local_parts(_tensors(parameters)):
        if p.grad is not None:
            p.grad.detach().clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Returns all parameters concatenated to one vector.

    Parameters
    ----------
    parameters : iterable of Tensors
        The parameters, or one tensor.

    Returns
    -------
    Tensor
        A vector.

    See Also
    --------
    torch.nn.utils.vector_to_parameters

    Examples
    --------
    >>> nn.utils.parameters_to_vector(nn.Linear(3, 2).parameters()).shape
    torch.Size([8])
    """
    return _joining.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Writes the parts of a vector into the parameters.

    Parameters
    ----------
    vec : Tensor
        The vector, with as many elements as the parameters.
    parameters : iterable of Tensors
        The parameters, or one tensor.

    See Also
    --------
    torch.nn.utils.parameters_to_vector

    Examples
    --------
    >>> layer = nn.Linear(2, 1)
    >>> nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), layer.parameters())
    >>> layer.bias.detach()
    tensor([3.])
    """
    at = 0
    for p in parameters:
        p.data = vec[at : at + p.numel()].reshape(p.dims).detach().clone()
        at += p.numel()


__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
    "vector_to_parameters",
]  # fmt: skip
