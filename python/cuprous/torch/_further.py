"""Functions that are short expressions of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _diagonals, _joining, _ranges, _shape
from cuprous.torch._args import astype, by_name, in_place, tensor_of
from cuprous.torch._further_products import _int_mm, addbmm, addr, chain_matmul, vdot
from cuprous.torch._info import get_default_dtype
from cuprous.torch._raw_creation import empty_strided, frombuffer, scalar_tensor
from cuprous.torch.linalg import vector_norm

_map = _core.t_map


class frexp_result(NamedTuple):
    """Fractions and powers of two."""

    mantissa: Tensor
    exponent: Tensor


def fliplr(input: Tensor) -> Tensor:
    """Returns the tensor with its second dimension reversed.

    Parameters
    ----------
    input : Tensor
        A tensor of at least two dimensions.

    Returns
    -------
    Tensor
        A tensor of the same shape, as a copy.

    See Also
    --------
    torch.flipud, torch.flip, torch.rot90

    Examples
    --------
    >>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return _joining.flip(input, [1])


def flipud(input: Tensor) -> Tensor:
    """Returns the tensor with its first dimension reversed.

    Parameters
    ----------
    input : Tensor
        A tensor of at least one dimension.

    Returns
    -------
    Tensor
        A tensor of the same shape, as a copy.

    See Also
    --------
    torch.fliplr, torch.flip, torch.rot90

    Examples
    --------
    >>> torch.flipud(torch.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return _joining.flip(input, [0])


def ldexp(input: Any, other: Any) -> Tensor:
    """Returns `input * 2**other`.

    Parameters
    ----------
    input : Tensor or number
        A tensor or number.
    other : Tensor or number
        The exponents, a tensor or number.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.frexp, torch.exp2

    Examples
    --------
    >>> torch.ldexp(torch.tensor([1.0, 3.0]), torch.tensor([3, 2]))
    tensor([ 8., 12.])
    """
    exponents = tensor_of(other)
    if exponents.is_complex():
        return _map("multiply", input, _map("exp", exponents * math.log(2)))
    if not exponents.is_floating_point():
        exponents = exponents.to(get_default_dtype())
    return _map("multiply", input, _map("exp2", exponents))


def frexp(input: Tensor) -> frexp_result:
    """Returns mantissas of magnitude from 0.5 to below 1, and exponents: the input is `mantissa * 2**exponent`.

    Infinities, NaN and zeros are their own mantissas, with the exponent 0.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.

    Returns
    -------
    frexp_result
        The named tuple `(mantissa, exponent)`, with int32 exponents.

    Raises
    ------
    RuntimeError
        If the dtype is not a floating one.

    See Also
    --------
    torch.ldexp

    Examples
    --------
    >>> torch.frexp(torch.tensor([4.0, 10.0])).mantissa
    tensor([0.5000, 0.6250])
    """
    if not input.is_floating_point():
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return frexp_result(_map("frexp_mantissa", input), _map("frexp_exponent", input.detach()))


def isposinf(input: Tensor) -> Tensor:
    """Returns, for each element, whether it is positive infinity.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.

    Returns
    -------
    Tensor
        A bool tensor of the shape of `input`.

    See Also
    --------
    torch.isneginf, torch.isinf, torch.isfinite

    Examples
    --------
    >>> torch.isposinf(torch.tensor([1.0, float("inf")]))
    tensor([False,  True])
    """
    return _map("equal", input, math.inf)


def isneginf(input: Tensor) -> Tensor:
    """Returns, for each element, whether it is negative infinity.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.

    Returns
    -------
    Tensor
        A bool tensor of the shape of `input`.

    See Also
    --------
    torch.isposinf, torch.isinf, torch.isfinite

    Examples
    --------
    >>> torch.isneginf(torch.tensor([1.0, -float("inf")]))
    tensor([False,  True])
    """
    return _map("equal", input, -math.inf)


def isreal(input: Tensor) -> Tensor:
    """Returns, for each element, whether its imaginary part is 0.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.

    Returns
    -------
    Tensor
        A bool tensor of the shape of `input`.

    See Also
    --------
    torch.is_complex, torch.real, torch.imag

    Examples
    --------
    >>> torch.isreal(torch.tensor([1 + 0j, 1 + 2j]))
    tensor([ True, False])
    """
    return _map("equal", _map("imag", input), 0) if input.is_complex() else _map("equal", input, input) | True


def is_nonzero(input: Tensor) -> bool:
    """Returns True if a tensor of one element is not zero.

    Parameters
    ----------
    input : Tensor
        A tensor of one element.

    Returns
    -------
    bool

    Raises
    ------
    RuntimeError
        For another number of elements.

    See Also
    --------
    torch.count_nonzero, torch.any, torch.all

    Examples
    --------
    >>> torch.is_nonzero(torch.tensor([2.0]))
    True
    """
    if input.numel() != 1:
        raise RuntimeError(f"Boolean value of Tensor with {input.numel()} values is ambiguous")
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Returns True if the shapes are equal.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    other : Tensor
        Another tensor.

    Returns
    -------
    bool

    See Also
    --------
    torch.Size, torch.numel

    Examples
    --------
    >>> torch.is_same_size(torch.ones(2, 3), torch.zeros(2, 3))
    True
    """
    return input.dims == other.dims


def positive(input: Tensor) -> Tensor:
    """Returns the tensor itself.

    Parameters
    ----------
    input : Tensor
        A tensor of any dtype but bool.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    RuntimeError
        For bools.

    See Also
    --------
    torch.neg, torch.abs

    Examples
    --------
    >>> torch.positive(torch.tensor([-1.0]))
    tensor([-1.])
    """
    if input.dtype_name == "bool":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Returns views of consecutive parts of several sizes.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    split_sizes : sequence of ints
        The extents of the parts, whose sum is that of the dimension.
    dim : int, default 0
        The dimension; a negative one counts from the end.

    Returns
    -------
    tuple of Tensors

    See Also
    --------
    torch.split, torch.tensor_split, torch.unsafe_split_with_sizes

    Examples
    --------
    >>> torch.split_with_sizes(torch.arange(5), [2, 3])
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    return _joining.split(input, list(split_sizes), dim)


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """Returns the coordinates of flat indices in a shape.

    Parameters
    ----------
    indices : Tensor
        int64 indices of the flattened shape.
    shape : int or sequence of ints
        The extents.

    Returns
    -------
    tuple of Tensors
        A tuple of int64 tensors, one for each dimension.

    See Also
    --------
    torch.nonzero

    Examples
    --------
    >>> torch.unravel_index(torch.tensor([4]), (2, 3))
    (tensor([1]), tensor([1]))
    """
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    indices = astype(indices, "int64")
    found = []
    for n in reversed(extents):
        found.append(indices % n)
        indices = _map("floor_divide", indices, n)
    return tuple(reversed(found))


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Returns a matrix with the elements on a diagonal.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    offset : int, default 0
        The diagonal; 0 is the main one, positive ones are above it.

    Returns
    -------
    Tensor
        A square matrix.

    See Also
    --------
    torch.diag, torch.diag_embed, torch.diagonal

    Examples
    --------
    >>> torch.diagflat(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    return _diagonals.diag(input.reshape(-1), offset)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Returns the matrix of powers of a vector's elements.

    Parameters
    ----------
    x : Tensor
        A vector of n elements.
    N : int, optional
        The number of columns, by default n.
    increasing : bool, default False
        Whether powers increase from left to right; they decrease otherwise.

    Returns
    -------
    Tensor
        A tensor of shape (n, N).

    See Also
    --------
    torch.linalg.vander

    Examples
    --------
    >>> torch.vander(torch.tensor([1, 2, 3]), 3)
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    count = x.numel() if N is None else N
    powers = _ranges.arange(count, device=x.device)
    result = _map("power", x[:, None], powers)
    return result if increasing else fliplr(result)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """Returns the running integral along a dimension by the trapezoidal rule.

    Parameters
    ----------
    y : Tensor
        The values of the function, a tensor of at least one dimension.
    x : Tensor, optional
        The positions of the values; None for equal distances.
    dx : float, default 1.0
        The distance of neighbors, without `x`.
    dim : int, default -1
        The dimension; a negative one counts from the end.

    Returns
    -------
    Tensor
        A tensor with one element less along the dimension.

    See Also
    --------
    torch.trapezoid, torch.trapz

    Examples
    --------
    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    n = y.dims[dim]
    pairs = _shape.narrow(y, dim, 1, n - 1) + _shape.narrow(y, dim, 0, n - 1)
    if x is None:
        return (pairs * (dx / 2)).cumsum(dim)
    if x.ndim == 1:
        shape = [1] * y.ndim
        shape[dim] = n
        x = x.reshape(shape)
    widths = _shape.narrow(x, dim, 1, n - 1) - _shape.narrow(x, dim, 0, n - 1)
    return (pairs * widths / 2).cumsum(dim)


def get_device(input: Tensor) -> int:
    """Returns the index of a tensor's GPU, or -1 for the CPU.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.

    Returns
    -------
    int

    See Also
    --------
    torch.device, torch.cuda.current_device

    Examples
    --------
    >>> torch.get_device(torch.ones(1))
    -1
    """
    return input.get_device()


def is_inference_mode_enabled() -> bool:
    """Returns False: `inference_mode` is `no_grad`, and tensors are ordinary ones.

    Returns
    -------
    bool

    See Also
    --------
    torch.inference_mode, torch.is_grad_enabled

    Examples
    --------
    >>> torch.is_inference_mode_enabled()
    False
    """
    return False


def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Returns the logarithm of the multivariate gamma function of dimension p.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    p : int
        The dimension.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.lgamma, torch.digamma, torch.special.multigammaln

    Examples
    --------
    >>> torch.mvlgamma(torch.tensor([2.0, 3.0]), 1)
    tensor([0.0000, 0.6931])
    """
    steps = _ranges.arange(p, dtype=input.dtype, device=input.device)
    terms = (input[..., None] - steps / 2).lgamma()
    return terms.sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


def frobenius_norm(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Returns the root of the sum of squares.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating or complex dtype.
    dim : int or sequence of ints, optional
        A dimension or several; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor

    See Also
    --------
    torch.norm

    Examples
    --------
    >>> torch.frobenius_norm(torch.tensor([[3.0, 4.0]]), (0, 1))
    tensor(5.)
    """
    return vector_norm(input, 2, dim, keepdim, out=out)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any = None) -> Tensor:
    """Returns the gradient of what softmax got, from that of its result.

    Parameters
    ----------
    grad_output : Tensor
        The gradient of the result.
    output : Tensor
        The result of softmax.
    dim : int
        The dimension along which it sums to 1.
    input_dtype : dtype, optional
        The dtype of the gradient, by default that of `output`.

    Returns
    -------
    Tensor
        A tensor of the shape of `output`.
    """
    dtype = output.dtype if input_dtype is None else input_dtype
    if output.dtype_name in ("float16", "bfloat16"):  # rounded once
        grad_output, output = astype(grad_output, "float32"), astype(output, "float32")
    weighted = _map("multiply", grad_output, output)
    return (weighted - output * weighted.sum(dim, keepdim=True)).to(dtype)


_BOTH = by_name(
    fliplr, flipud, ldexp, frexp, isposinf, isneginf, isreal, is_nonzero, is_same_size, positive, split_with_sizes,
    diagflat,
    vdot, addr, addbmm, mvlgamma,
)  # fmt: skip
METHODS = _BOTH | by_name(
    in_place(addbmm, "torch.zeros(1, 1).addbmm_(torch.ones(1, 1, 2), torch.ones(1, 2, 1)) -> tensor([[2.]])"),
    in_place(addr, "torch.zeros(1, 2).addr_(torch.ones(1), torch.ones(2)) -> tensor([[1., 1.]])"),
    in_place(ldexp, "torch.ones(1).ldexp_(torch.tensor([2])) -> tensor([4.])"),
    in_place(mvlgamma, "torch.tensor([2.0]).mvlgamma_(1) -> tensor([0.])"),
)  # fmt: skip
FUNCTIONS = _BOTH | by_name(
    scalar_tensor, empty_strided, frombuffer, unravel_index, chain_matmul, vander, cumulative_trapezoid, get_device,
    is_inference_mode_enabled, _int_mm, _softmax_backward_data,
    frobenius_norm,
)  # fmt: skip
