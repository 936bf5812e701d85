"""Softmax and the logarithm of sums of exponentials."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import astype, dims_of, write_out
from cuprous.torch._types import dtype_name

_map = _core.t_map
_operand = _core.t_operand
_reduce = _core.t_reduce


def logsumexp(input: Tensor, dim: Any, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Returns the logarithm of the sum of exponentials, computed without overflow.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating or complex dtype.
    dim : int or sequence of ints
        One dimension or several.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions.

    See Also
    --------
    torch.logaddexp, torch.logcumsumexp, torch.softmax

    Examples
    --------
    >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6932)
    """
    if not (input.is_floating_point() or input.is_complex()):
        input = astype(input, _core.t_default_dtype())
    real = _map("real", input.detach()) if input.is_complex() else input.detach()
    if real.numel():
        top = _reduce("max", real, dims_of(dim), True)
        top = _map("where", _map("isfinite", top), top, 0)
    else:
        top = _reduce("sum", real, dims_of(dim), True)
    total = _map("log", _reduce("sum", _map("exp", _map("subtract", input, top)), dims_of(dim), keepdim))
    return write_out(out, _map("add", total, top if keepdim else top.reshape(total.dims)))


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None, _stacklevel: int = 3) -> Tensor:
    """Returns `exp(x) / sum(exp(x))` along a dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating or complex dtype.
    dim : int, optional
        The dimension along which results sum to 1.
    dtype : dtype, optional
        The dtype to compute in, by default that of the input.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.nn.functional.glu, torch.nn.functional.gumbel_softmax, torch.nn.functional.softmin,
    torch.nn.functional.log_softmax

    Examples
    --------
    >>> torch.softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    x = _operand(input, dtype and dtype_name(dtype), False, False)
    return _core.t_softmax(x, _implicit(x.ndim) if dim is None else dim, False)


def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None, _stacklevel: int = 3) -> Tensor:
    """Returns the logarithm of `softmax`, computed without overflow.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating or complex dtype.
    dim : int, optional
        The dimension along which the exponentials of results sum to 1.
    dtype : dtype, optional
        The dtype to compute in, by default that of the input.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.nn.functional.softmax, torch.nn.functional.softmin

    Examples
    --------
    >>> torch.log_softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    x = _operand(input, dtype and dtype_name(dtype), False, False)
    return _core.t_softmax(x, _implicit(x.ndim) if dim is None else dim, True)


def _implicit(ndim: int) -> int:
    """Returns the dimension that PyTorch's softmax uses if none is given."""
    return 0 if ndim in (0, 1, 3) else 1
