"""Initialization of parameters, in place and without gradient."""

from __future__ import annotations

import math
import warnings
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._creation import from_numpy
from cuprous.torch._random_numbers import draw_floats
from cuprous.torch._ranges import eye as _eye
from cuprous.torch.autograd._modes import no_grad

_GAINS = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0,
          "conv_transpose2d": 1.0, "conv_transpose3d": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2),
          "selu": 3 / 4}  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Returns the factor by which a weight's standard deviation is multiplied to compensate for an activation.

    Parameters
    ----------
    nonlinearity : str
        The name of an activation, such as "relu" or "tanh".
    param : float, optional
        The parameter of the activation, the slope of "leaky_relu".

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For an unknown activation.

    See Also
    --------
    torch.nn.init.xavier_uniform_, torch.nn.init.xavier_normal_, torch.nn.init.kaiming_uniform_,
    torch.nn.init.kaiming_normal_

    Examples
    --------
    >>> nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.dims[2:])
    return tensor.dims[1] * field, tensor.dims[0] * field


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    return uniform_(tensor, a, b, generator)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Any = None) -> Tensor:
    return normal_(tensor, mean, std, generator)


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fills the tensor with uniform random numbers.

    Parameters
    ----------
    tensor : Tensor
        The tensor to write to, of a floating dtype.
    a : float, default 0.0
        The lower bound.
    b : float, default 1.0
        The upper bound, which is not included.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    See Also
    --------
    torch.nn.init.normal_, torch.nn.init.trunc_normal_, torch.nn.init.constant_

    Examples
    --------
    >>> x = nn.init.uniform_(torch.empty(3), 5, 6)
    >>> bool((x >= 5).all())
    True
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fills the tensor with normal random numbers.

    Parameters
    ----------
    tensor : Tensor
        The tensor to write to, of a floating dtype.
    mean : float, default 0.0
        The mean.
    std : float, default 1.0
        The standard deviation.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    See Also
    --------
    torch.nn.init.trunc_normal_, torch.nn.init.constant_, torch.nn.init.uniform_

    Examples
    --------
    >>> nn.init.normal_(torch.empty(3)).shape
    torch.Size([3])
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Any = None) -> Tensor:  # fmt: skip
    """Fills the tensor with normal random numbers within bounds, by inversion of the distribution function.

    Parameters
    ----------
    tensor : Tensor
        The tensor to write to, of a floating dtype.
    mean : float, default 0.0
        The mean.
    std : float, default 1.0
        The standard deviation.
    a : float, default -2.0
        The lower bound.
    b : float, default 2.0
        The upper bound.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    See Also
    --------
    torch.nn.init.constant_, torch.nn.init.uniform_, torch.nn.init.normal_

    Examples
    --------
    >>> x = nn.init.trunc_normal_(torch.empty(3), a=-1, b=1)
    >>> bool((x.abs() <= 1).all())
    True
    """
    low, high = (math.erf((end - mean) / std / math.sqrt(2)) for end in (a, b))
    tensor.uniform_(low, high, generator=generator)
    values = _core.t_map("erfinv", tensor) * (std * math.sqrt(2)) + mean
    return tensor.copy_(values.clamp(a, b))


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills the tensor with a value.

    Parameters
    ----------
    tensor : Tensor
        The tensor to write to, of a floating dtype.
    val : float
        The value.

    Returns
    -------
    Tensor
        The tensor itself.

    See Also
    --------
    torch.nn.init.uniform_, torch.nn.init.normal_, torch.nn.init.trunc_normal_

    Examples
    --------
    >>> nn.init.constant_(torch.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return tensor.fill_(val)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fills the tensor with 0.

    Parameters
    ----------
    tensor : Tensor
        The tensor to write to, of a floating dtype.

    Returns
    -------
    Tensor
        The tensor itself.

    See Also
    --------
    torch.nn.init.ones_, torch.nn.init.eye_, torch.nn.init.dirac_

    Examples
    --------
    >>> nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    return tensor.fill_(0.0)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """Fills the tensor with 1.

    Parameters
    ----------
    tensor : Tensor
        The tensor to write to, of a floating dtype.

    Returns
    -------
    Tensor
        The tensor itself.

    See Also
    --------
    torch.nn.init.eye_, torch.nn.init.dirac_, torch.nn.init.zeros_

    Examples
    --------
    >>> nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return tensor.fill_(1.0)


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fills a matrix with ones on the diagonal and zeros elsewhere.

    Parameters
    ----------
    tensor : Tensor
        The matrix to write to.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError
        For another number of dimensions.

    See Also
    --------
    torch.nn.init.dirac_, torch.nn.init.zeros_, torch.nn.init.ones_

    Examples
    --------
    >>> nn.init.eye_(torch.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(_eye(*tensor.dims, dtype=tensor.dtype, device=tensor.device))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fills the tensor with uniform random numbers of variance `2 gain² / (fan in + fan out)` (Glorot and Bengio,
    2010).

    Parameters
    ----------
    tensor : Tensor
        The tensor to write to, of a floating dtype.
    gain : float, default 1.0
        The factor of the standard deviation.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError
        For fewer than two dimensions.

    See Also
    --------
    torch.nn.init.xavier_normal_, torch.nn.init.kaiming_uniform_, torch.nn.init.kaiming_normal_,
    torch.nn.init.calculate_gain

    Examples
    --------
    >>> nn.init.xavier_uniform_(torch.empty(2, 3)).shape
    torch.Size([2, 3])
    """
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fills the tensor with normal random numbers of variance `2 gain² / (fan in + fan out)` (Glorot and Bengio, 2010).

    Parameters
    ----------
    tensor : Tensor
        The tensor to write to, of a floating dtype.
    gain : float, default 1.0
        The factor of the standard deviation.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError
        For fewer than two dimensions.

    See Also
    --------
    torch.nn.init.kaiming_uniform_, torch.nn.init.kaiming_normal_, torch.nn.init.calculate_gain,
    torch.nn.init.xavier_uniform_

    Examples
    --------
    >>> nn.init.xavier_normal_(torch.empty(2, 3)).shape
    torch.Size([2, 3])
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Any = None) -> Tensor:  # fmt: skip
    """Fills the tensor with uniform random numbers of variance `gain² / fan` (He et al., 2015).

    Parameters
    ----------
    tensor : Tensor
        The tensor to write to, of a floating dtype.
    a : float, default 0
        The slope of "leaky_relu".
    mode : str, default "fan_in"
        The fan: "fan_in" or "fan_out".
    nonlinearity : str, default "leaky_relu"
        The activation, whose gain is used.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError
        For another mode, or fewer than two dimensions.

    See Also
    --------
    torch.nn.init.kaiming_normal_, torch.nn.init.calculate_gain, torch.nn.init.xavier_uniform_,
    torch.nn.init.xavier_normal_

    Examples
    --------
    >>> nn.init.kaiming_uniform_(torch.empty(2, 3)).shape
    torch.Size([2, 3])
    """
    if 0 in tensor.dims:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Any = None) -> Tensor:  # fmt: skip
    """Fills the tensor with normal random numbers of variance `gain² / fan` (He et al., 2015).

    Parameters
    ----------
    tensor : Tensor
        The tensor to write to, of a floating dtype.
    a : float, default 0
        The slope of "leaky_relu".
    mode : str, default "fan_in"
        The fan: "fan_in" or "fan_out".
    nonlinearity : str, default "leaky_relu"
        The activation, whose gain is used.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError
        For another mode, or fewer than two dimensions.

    See Also
    --------
    torch.nn.init.calculate_gain, torch.nn.init.xavier_uniform_, torch.nn.init.xavier_normal_,
    torch.nn.init.kaiming_uniform_

    Examples
    --------
    >>> nn.init.kaiming_normal_(torch.empty(2, 3)).shape
    torch.Size([2, 3])
    """
    if 0 in tensor.dims:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity), generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fills the tensor with orthogonal rows of one length, or columns if there are fewer (Saxe et al., 2013).

    The tensor is treated as a matrix with its first dimension as rows. The QR decomposition runs on the host.

    Parameters
    ----------
    tensor : Tensor
        The tensor to write to, of a floating dtype.
    gain : float, default 1
        The length.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError
        For fewer than two dimensions.

    See Also
    --------
    torch.nn.init.sparse_

    Examples
    --------
    >>> x = nn.init.orthogonal_(torch.empty(2, 2))
    >>> torch.allclose(x @ x.T, torch.eye(2), atol=1e-5)
    True
    """
    import numpy as np

    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows, columns = tensor.dims[0], tensor.numel() // tensor.dims[0]
    values = draw_floats("normal", [max(rows, columns), min(rows, columns)], "float64", "cpu", generator).to_numpy()
    q, r = np.linalg.qr(values)
    q = q * np.sign(np.diag(r))
    q = (q.T if rows < columns else q) * gain
    return tensor.copy_(from_numpy(np.ascontiguousarray(q.reshape(tensor.dims))))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fills the weights of a convolution so that it preserves as many channels as possible in each group.

    Parameters
    ----------
    tensor : Tensor
        The weights, of shape (O, C, ...).
    groups : int, default 1
        The number of groups of channels.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError
        For another number of dimensions.

    See Also
    --------
    torch.nn.init.zeros_, torch.nn.init.ones_, torch.nn.init.eye_

    Examples
    --------
    >>> nn.init.dirac_(torch.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.dims[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    each = tensor.dims[0] // groups
    tensor.fill_(0)
    middle = tuple(n // 2 for n in tensor.dims[2:])
    for group in range(groups):
        for channel in range(min(each, tensor.dims[1])):
            tensor[(group * each + channel, channel, *middle)] = 1
    return tensor


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fills a matrix with normal random numbers, and sets a fraction of each column to 0 (Martens, 2010).

    Parameters
    ----------
    tensor : Tensor
        The matrix to write to.
    sparsity : float
        The fraction.
    std : float, default 0.01
        The standard deviation.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError
        For another number of dimensions.

    See Also
    --------
    torch.nn.init.orthogonal_

    Examples
    --------
    >>> int((nn.init.sparse_(torch.empty(4, 1), sparsity=0.5) == 0).sum())
    2
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows = tensor.dims[0]
    tensor.normal_(0.0, std, generator=generator)
    keys = draw_floats("unit", tensor.dims, "float64", tensor.device_name, generator)
    return tensor.masked_fill_(keys.argsort(0).argsort(0) < math.ceil(sparsity * rows), 0)


#: Deprecated names.
uniform, normal, constant, eye, dirac, sparse = uniform_, normal_, constant_, eye_, dirac_, sparse_
xavier_uniform, xavier_normal = xavier_uniform_, xavier_normal_
kaiming_uniform, kaiming_normal, orthogonal = kaiming_uniform_, kaiming_normal_, orthogonal_


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """Returns the number of inputs ("fan_in") or outputs ("fan_out") of a weight.

    Raises
    ------
    ValueError
        For another mode.
    """
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]
