"""Functions that are short expressions of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _creation, _diagonals, _joining, _products, _shape
from cuprous.torch._args import by_name, in_place, tensor_of, unsupported
from cuprous.torch._info import get_default_dtype
from cuprous.torch.linalg import multi_dot, vector_norm

_map = _core.t_map


class frexp_result(NamedTuple):
    """Fractions and powers of two."""

    mantissa: Tensor
    exponent: Tensor


def fliplr(input: Tensor) -> Tensor:
    """Returns the tensor with its second dimension reversed.

    Args:
        input: a tensor of at least two dimensions.

    Returns:
        A tensor of the same shape, as a copy.

    Examples:
        >>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
    """
    return _joining.flip(input, [1])


def flipud(input: Tensor) -> Tensor:
    """Returns the tensor with its first dimension reversed.

    Args:
        input: a tensor of at least one dimension.

    Returns:
        A tensor of the same shape, as a copy.

    Examples:
        >>> torch.flipud(torch.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
    """
    return _joining.flip(input, [0])


def ldexp(input: Any, other: Any) -> Tensor:
    """Returns `input * 2**other`.

    Args:
        input: a tensor or number.
        other: the exponents, a tensor or number.

    Returns:
        A tensor of the shape that the operands broadcast to.

    Examples:
        >>> torch.ldexp(torch.tensor([1.0, 3.0]), torch.tensor([3, 2]))
        tensor([ 8., 12.])
    """
    return _map("multiply", input, _map("exp2", tensor_of(other).to(get_default_dtype())))


def frexp(input: Tensor) -> frexp_result:
    """Returns mantissas of magnitude from 0.5 to below 1, and exponents: the input is `mantissa * 2**exponent`.

    Infinities, NaN and zeros are their own mantissas, with the exponent 0.

    Args:
        input: a tensor of any shape, of a floating dtype.

    Returns:
        The named tuple `(mantissa, exponent)`, with int32 exponents.

    Raises:
        RuntimeError: if the dtype is not a floating one.

    Examples:
        >>> torch.frexp(torch.tensor([4.0, 10.0])).mantissa
        tensor([0.5000, 0.6250])
    """
    if not input.is_floating_point():
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return frexp_result(_map("frexp_mantissa", input), _map("frexp_exponent", input.detach()))


def isposinf(input: Tensor) -> Tensor:
    """Returns, for each element, whether it is positive infinity.

    Args:
        input: a tensor of any shape, of a real dtype.

    Returns:
        A bool tensor of the shape of `input`.

    Examples:
        >>> torch.isposinf(torch.tensor([1.0, float("inf")]))
        tensor([False,  True])
    """
    return _map("equal", input, math.inf)


def isneginf(input: Tensor) -> Tensor:
    """Returns, for each element, whether it is negative infinity.

    Args:
        input: a tensor of any shape, of a real dtype.

    Returns:
        A bool tensor of the shape of `input`.

    Examples:
        >>> torch.isneginf(torch.tensor([1.0, -float("inf")]))
        tensor([False,  True])
    """
    return _map("equal", input, -math.inf)


def isreal(input: Tensor) -> Tensor:
    """Returns, for each element, whether its imaginary part is 0.

    Args:
        input: a tensor of any shape and dtype.

    Returns:
        A bool tensor of the shape of `input`.

    Examples:
        >>> torch.isreal(torch.tensor([1 + 0j, 1 + 2j]))
        tensor([ True, False])
    """
    return _map("equal", _map("imag", input), 0) if input.is_complex() else _map("equal", input, input) | True


def is_nonzero(input: Tensor) -> bool:
    """Returns True if a tensor of one element is not zero.

    Args:
        input: a tensor of one element.

    Returns:
        A bool.

    Raises:
        RuntimeError: for another number of elements.

    Examples:
        >>> torch.is_nonzero(torch.tensor([2.0]))
        True
    """
    if input.numel() != 1:
        raise RuntimeError(f"Boolean value of Tensor with {input.numel()} values is ambiguous")
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Returns True if the shapes are equal.

    Args:
        input: a tensor of any shape and dtype.
        other: another tensor.

    Returns:
        A bool.

    Examples:
        >>> torch.is_same_size(torch.ones(2, 3), torch.zeros(2, 3))
        True
    """
    return input.dims == other.dims


def positive(input: Tensor) -> Tensor:
    """Returns the tensor itself.

    Args:
        input: a tensor of any dtype but bool.

    Returns:
        The tensor itself.

    Raises:
        RuntimeError: for bools.

    Examples:
        >>> torch.positive(torch.tensor([-1.0]))
        tensor([-1.])
    """
    if input.dtype_name == "bool":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def scalar_tensor(s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
                  pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Returns a tensor without dimensions. Without a dtype it has the default dtype.

    Args:
        s: a number.
        dtype: the dtype, by default the default dtype.
        layout: `torch.strided`, the only layout of tensors.
        device: the device, by default the default device.
        requires_grad: whether operations on the result are recorded for gradients.
        pin_memory: whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns:
        A tensor of shape ().

    Examples:
        >>> torch.scalar_tensor(3)
        tensor(3.)
    """
    unsupported("scalar_tensor", layout=(layout, None))
    return _creation.tensor(s, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad,
                            pin_memory=pin_memory)  # fmt: skip


def empty_strided(size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, layout: Any = None,
                  device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Returns a tensor with the given strides, whose elements are not set to anything in particular.

    Args:
        size: the extents.
        stride: the strides in elements.
        dtype: the dtype, by default the default dtype.
        layout: `torch.strided`, the only layout of tensors.
        device: the device, by default the default device.
        requires_grad: whether operations on the result are recorded for gradients.
        pin_memory: whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns:
        A tensor of the given extents.

    Examples:
        >>> torch.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    last = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if math.prod(size) else -1
    memory = _creation.empty(last + 1, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return _shape.as_strided(memory, size, stride).requires_grad_(requires_grad)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Returns a tensor with a copy of a buffer's bytes. PyTorch's tensors share the memory instead.

    Args:
        buffer: an object with Python's buffer protocol.
        dtype: the dtype of the elements.
        count: the number of elements, -1 for all.
        offset: the bytes before the first element.
        requires_grad: whether operations on the result are recorded for gradients.

    Returns:
        A tensor of one dimension.

    Raises:
        ValueError: if the buffer has less than `count` elements after `offset` bytes.

    Examples:
        >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
        tensor([1, 2], dtype=torch.int16)
    """
    import numpy as np

    width = dtype.itemsize
    raw = memoryview(buffer).cast("B")
    size = len(raw) - offset
    if offset < 0 or size < 0 or (count < 0 and size % width) or count * width > size:
        raise ValueError(f"a buffer of {len(raw)} bytes has no {count} elements of {width} bytes after offset {offset}")
    taken = np.frombuffer(raw, np.uint8, count * width if count >= 0 else size, offset)
    return _creation.from_numpy(taken.copy()).view(dtype).requires_grad_(requires_grad)


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Returns views of consecutive parts of several sizes.

    Args:
        input: a tensor of any shape and dtype.
        split_sizes: the extents of the parts, whose sum is that of the dimension.
        dim: the dimension; a negative one counts from the end.

    Returns:
        A tuple of tensors.

    Examples:
        >>> torch.split_with_sizes(torch.arange(5), [2, 3])
        (tensor([0, 1]), tensor([2, 3, 4]))
    """
    return _joining.split(input, list(split_sizes), dim)


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """Returns the coordinates of flat indices in a shape.

    Args:
        indices: int64 indices of the flattened shape.
        shape: the extents.

    Returns:
        A tuple of int64 tensors, one for each dimension.

    Examples:
        >>> torch.unravel_index(torch.tensor([4]), (2, 3))
        (tensor([1]), tensor([1]))
    """
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    found = []
    for n in reversed(extents):
        found.append(indices % n)
        indices = _map("floor_divide", indices, n)
    return tuple(reversed(found))


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Returns a matrix with the elements on a diagonal.

    Args:
        input: a tensor of any shape and dtype.
        offset: the diagonal; 0 is the main one, positive ones are above it.

    Returns:
        A square matrix.

    Examples:
        >>> torch.diagflat(torch.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    return _diagonals.diag(input.reshape(-1), offset)


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Returns the product of the conjugate of a vector with a vector.

    Args:
        input: a vector of n elements.
        other: a vector of n elements and of the same dtype.

    Returns:
        A tensor of shape ().

    Examples:
        >>> torch.vdot(torch.tensor([1 + 1j]), torch.tensor([2 + 0j]))
        tensor(2.-2.j)
    """
    return _products.dot(_map("conjugate", input) if input.is_complex() else input, other)


def addr(input: Tensor, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Returns `beta * input + alpha * outer(vec1, vec2)`.

    Args:
        input: a tensor that broadcasts with (n, m).
        vec1: a vector of n elements.
        vec2: a vector of m elements.
        beta: the factor of `input`.
        alpha: the factor of the product.

    Returns:
        A tensor of shape (n, m).

    Examples:
        >>> torch.addr(torch.zeros(2, 2), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
        tensor([[3., 4.],
                [6., 8.]])
    """
    product = vec1[:, None] * vec2 * alpha
    return product if beta == 0 else product + input * beta


def addbmm(input: Tensor, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Returns `beta * input` plus `alpha` times the sum of the products of two batches of matrices.

    Args:
        input: a tensor that broadcasts with (n, p).
        batch1: a tensor of shape (b, n, m).
        batch2: a tensor of shape (b, m, p).
        beta: the factor of `input`.
        alpha: the factor of the sum.

    Returns:
        A tensor of shape (n, p).

    Examples:
        >>> torch.addbmm(torch.zeros(1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1))
        tensor([[6.]])
    """
    product = _products.matmul(batch1, batch2).sum(0) * alpha
    return product if beta == 0 else product + input * beta


@_autocast.policy
def chain_matmul(*matrices: Any) -> Tensor:
    """Returns the product of several matrices.

    Args:
        *matrices: matrices whose neighbors fit.

    Returns:
        A matrix.

    Examples:
        >>> torch.chain_matmul(torch.ones(1, 2), torch.ones(2, 3), torch.ones(3, 1))
        tensor([[6.]])
    """
    return multi_dot(matrices[0] if len(matrices) == 1 and not isinstance(matrices[0], Tensor) else matrices)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Returns the matrix of powers of a vector's elements.

    Args:
        x: a vector of n elements.
        N: the number of columns, by default n.
        increasing: whether powers increase from left to right; they decrease otherwise.

    Returns:
        A tensor of shape (n, N).

    Examples:
        >>> torch.vander(torch.tensor([1, 2, 3]), 3)
        tensor([[1, 1, 1],
                [4, 2, 1],
                [9, 3, 1]])
    """
    count = x.numel() if N is None else N
    powers = _creation.arange(count, device=x.device)
    result = _map("power", x[:, None], powers)
    return result if increasing else fliplr(result)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """Returns the running integral along a dimension by the trapezoidal rule.

    Args:
        y: the values of the function, a tensor of at least one dimension.
        x: the positions of the values; None for equal distances.
        dx: the distance of neighbors, without `x`.
        dim: the dimension; a negative one counts from the end.

    Returns:
        A tensor with one element less along the dimension.

    Examples:
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

    Args:
        input: a tensor of any shape and dtype.

    Returns:
        An integer.

    Examples:
        >>> torch.get_device(torch.ones(1))
        -1
    """
    return input.get_device()


def is_inference_mode_enabled() -> bool:
    """Returns False: `inference_mode` is `no_grad`, and tensors are ordinary ones.

    Returns:
        A bool.

    Examples:
        >>> torch.is_inference_mode_enabled()
        False
    """
    return False


def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Returns the logarithm of the multivariate gamma function of dimension p.

    Args:
        input: a tensor of any shape, of a floating dtype.
        p: the dimension.

    Returns:
        A tensor of the shape of `input`.

    Examples:
        >>> torch.mvlgamma(torch.tensor([2.0, 3.0]), 1)
        tensor([0.0000, 0.6931])
    """
    steps = _creation.arange(p, dtype=input.dtype, device=input.device)
    terms = _map("gammaln", input[..., None] - steps / 2)
    return terms.sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


def _int_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the product of two int8 matrices, which is summed as int32.

    Args:
        input: a matrix (m, n) of dtype int8.
        mat2: a matrix (n, p) of dtype int8.
        out: a tensor of the result's shape to write to.

    Returns:
        A matrix (m, p) of dtype int32.

    Raises:
        RuntimeError: for other dtypes or numbers of dimensions.
    """
    if (input.dtype_name, mat2.dtype_name) != ("int8", "int8"):
        raise RuntimeError(f"_int_mm: expected two matrices of torch.int8, got {input.dtype} and {mat2.dtype}")
    return _products.mm(_core.t_cast(input, "int32"), _core.t_cast(mat2, "int32"), out=out)


def frobenius_norm(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Returns the root of the sum of squares.

    Args:
        input: a tensor of any shape, of a floating or complex dtype.
        dim: a dimension or several; None for all.
        keepdim: whether to keep reduced dimensions with extent 1.
        out: a tensor of the result's shape to write to.

    Returns:
        A tensor.

    Examples:
        >>> torch.frobenius_norm(torch.tensor([[3.0, 4.0]]), (0, 1))
        tensor(5.)
    """
    return vector_norm(input, 2, dim, keepdim, out=out)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any = None) -> Tensor:
    """Returns the gradient of what softmax got, from that of its result.

    Args:
        grad_output: the gradient of the result.
        output: the result of softmax.
        dim: the dimension along which it sums to 1.
        input_dtype: the dtype of the gradient, by default that of `output`.

    Returns:
        A tensor of the shape of `output`.
    """
    weighted = _map("multiply", grad_output, output)
    found = weighted - output * weighted.sum(dim, keepdim=True)
    return found if input_dtype is None else found.to(input_dtype)


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
