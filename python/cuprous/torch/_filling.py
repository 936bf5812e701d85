"""Methods that fill tensors with values and random numbers."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _diagonals, _random_numbers
from cuprous.torch._args import by_name, unsupported
from cuprous.torch._info import iinfo

_update = _core.t_update


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Copies another tensor's values into this one, with broadcasting and a cast.

    Parameters
    ----------
    src : Tensor or number
        A tensor that broadcasts to this one's shape, or a number.
    non_blocking : bool, default False
        For PyTorch's signature; it has no effect.

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> torch.zeros(2).copy_(torch.tensor([1, 2]))
    tensor([1., 2.])
    """
    if isinstance(src, Tensor):
        src = _core.t_to_device(src, self.device_name)
    _update(self, src)
    return self


def fill_(self: Tensor, value: Any) -> Tensor:
    """Fills the tensor with a value.

    Parameters
    ----------
    value : Tensor or number
        A number, or a tensor without dimensions.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    RuntimeError
        For a tensor with dimensions.

    Examples
    --------
    >>> torch.zeros(2).fill_(3)
    tensor([3., 3.])
    """
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        value = _core.t_to_device(value, self.device_name)
    _update(self, value)
    return self


def zero_(self: Tensor) -> Tensor:
    """Fills the tensor with 0.

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> torch.ones(2).zero_()
    tensor([0., 0.])
    """
    _update(self, 0)
    return self


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Fills the diagonal of a matrix with a value.

    Parameters
    ----------
    fill_value : number
        The value.
    wrap : bool, default False
        For PyTorch's signature; only False.

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> torch.zeros(2, 2).fill_diagonal_(1)
    tensor([[1., 0.],
            [0., 1.]])
    """
    unsupported("fill_diagonal_", wrap=(wrap, False))
    _update(_diagonals.diagonal(self), fill_value)
    return self


def uniform_(self: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fills the tensor with uniform random numbers.

    Parameters
    ----------
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

    Examples
    --------
    >>> x = torch.empty(3).uniform_(5, 6)
    >>> bool((x >= 5).all() and (x <= 6).all())
    True
    """
    draw = _random_numbers.draw_floats("unit", self.dims, self.dtype_name, self.device_name, generator)
    _update(self, draw if (a, b) == (0.0, 1.0) else draw * (b - a) + a)
    return self


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fills the tensor with normal random numbers.

    Parameters
    ----------
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

    Examples
    --------
    >>> torch.empty(3).normal_(0, 0.1).shape
    torch.Size([3])
    """
    draw = _random_numbers.draw_floats("normal", self.dims, self.dtype_name, self.device_name, generator)
    _update(self, draw if (mean, std) == (0.0, 1.0) else draw * std + mean)
    return self


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fills the tensor with ones with probability `p`, and zeros otherwise.

    Parameters
    ----------
    p : Tensor or number, default 0.5
        The probability of 1, a number or tensor.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> torch.empty(3).bernoulli_(1.0)
    tensor([1., 1., 1.])
    """
    draw = _random_numbers.draw_floats("unit", self.dims, "float32", self.device_name, generator)
    _update(self, draw < p)
    return self


def random_(self: Tensor, *bounds: int, generator: Any = None) -> Tensor:
    """Fills the tensor with random integers.

    Parameters
    ----------
    *bounds : int
        The bound, which is not included, or the least integer and the bound; without them, all integers that the dtype
        represents exactly.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> bool((torch.empty(3).random_(10) < 10).all())
    True
    """
    if not bounds:
        whole = {"float16": 1 << 11, "bfloat16": 1 << 8, "float32": 1 << 24, "float64": 1 << 53, "bool": 1}
        bounds = (whole[self.dtype_name] + 1 if self.dtype_name in whole else iinfo(self.dtype).max,)
    low, high = bounds if len(bounds) == 2 else (0, bounds[0])
    _update(self, _random_numbers.draw_integers(low, high, self.dims, self.device_name, generator))
    return self


METHODS = by_name(copy_, fill_, zero_, fill_diagonal_, uniform_, normal_, bernoulli_, random_)
