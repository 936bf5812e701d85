"""Functions that are short expressions of others."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _creation, _products, _shape
from cuprous.torch._args import by_name, tensor_of, unsupported
from cuprous.torch._info import get_default_dtype
from cuprous.torch.linalg import multi_dot

_map = _core.t_map

frexp_result = namedtuple("frexp_result", ("mantissa", "exponent"))


def fliplr(input: Tensor) -> Tensor:
    """Returns the tensor with its second dimension reversed."""
    return _shape.flip(input, [1])


def flipud(input: Tensor) -> Tensor:
    """Returns the tensor with its first dimension reversed."""
    return _shape.flip(input, [0])


def ldexp(input: Any, other: Any) -> Tensor:
    """Returns `input * 2**other`."""
    return _map("multiply", input, _map("exp2", tensor_of(other).to(get_default_dtype())))


def frexp(input: Tensor) -> frexp_result:
    """Returns mantissas in [0.5, 1) and exponents (int32): the input is `mantissa * 2**exponent`. Infinities, NaN and
    zeros are their own mantissas, with the exponent 0.

    Raises:
        RuntimeError: if the dtype is not a floating one.
    """
    if not input.is_floating_point():
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return frexp_result(_map("frexp_mantissa", input), _map("frexp_exponent", input.detach()))


def isposinf(input: Tensor) -> Tensor:
    """Returns, for each element, whether it is positive infinity."""
    return _map("equal", input, math.inf)


def isneginf(input: Tensor) -> Tensor:
    """Returns, for each element, whether it is negative infinity."""
    return _map("equal", input, -math.inf)


def isreal(input: Tensor) -> Tensor:
    """Returns, for each element, whether its imaginary part is 0."""
    return _map("equal", _map("imag", input), 0) if input.is_complex() else _map("equal", input, input) | True


def is_nonzero(input: Tensor) -> bool:
    """Returns True if a tensor of one element is not zero.

    Raises:
        RuntimeError: for another number of elements.
    """
    if input.numel() != 1:
        raise RuntimeError(f"Boolean value of Tensor with {input.numel()} values is ambiguous")
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Returns True if the shapes are equal."""
    return input.dims == other.dims


def positive(input: Tensor) -> Tensor:
    """Returns the tensor itself.

    Raises:
        RuntimeError: for bools.
    """
    if input.dtype_name == "bool":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def scalar_tensor(
    s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False
) -> Tensor:
    """Returns a tensor without dimensions; without a dtype it is a float."""
    unsupported("scalar_tensor", layout=(layout, None))
    return _creation.tensor(s, dtype=dtype or get_default_dtype(), device=device, pin_memory=pin_memory)


def empty_strided(size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, layout: Any = None,
                  device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Returns an uninitialized tensor with the given strides."""
    last = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if math.prod(size) else -1
    memory = _creation.empty(last + 1, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return _shape.as_strided(memory, size, stride).requires_grad_(requires_grad)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Returns a tensor with a copy of a buffer's bytes. PyTorch's tensors share the memory instead.

    Raises:
        ValueError: if the buffer has less than `count` elements after `offset` bytes.
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
    """Returns views of consecutive parts of several sizes."""
    return _shape.split(input, list(split_sizes), dim)


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """Returns the coordinates of flat indices in a shape."""
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    found = []
    for n in reversed(extents):
        found.append(indices % n)
        indices = _map("floor_divide", indices, n)
    return tuple(reversed(found))


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Returns a matrix with the elements on a diagonal."""
    return _shape.diag(input.reshape(-1), offset)


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Returns the product of the conjugate of a vector with a vector."""
    return _products.dot(_map("conjugate", input) if input.is_complex() else input, other)


def addr(input: Tensor, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    product = vec1[:, None] * vec2 * alpha
    return product if beta == 0 else product + input * beta


def addbmm(input: Tensor, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (the sum of the products of two batches)`."""
    product = _products.matmul(batch1, batch2).sum(0) * alpha
    return product if beta == 0 else product + input * beta


@_autocast.policy
def chain_matmul(*matrices: Any) -> Tensor:
    """Returns the product of several matrices."""
    return multi_dot(matrices[0] if len(matrices) == 1 and not isinstance(matrices[0], Tensor) else matrices)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Returns the powers of elements, the highest first unless `increasing`."""
    count = x.numel() if N is None else N
    powers = _creation.arange(count, device=x.device)
    result = _map("power", x[:, None], powers)
    return result if increasing else fliplr(result)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """Returns the running integral by trapezoids."""
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
    """Returns the index of a tensor's GPU, or -1 for the CPU."""
    return input.get_device()


def is_inference_mode_enabled() -> bool:
    """Returns False: `inference_mode` is `no_grad`, and tensors are ordinary ones."""
    return False


def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Returns the logarithm of the multivariate gamma function of dimension p."""
    steps = _creation.arange(p, dtype=input.dtype, device=input.device)
    terms = _map("gammaln", input[..., None] - steps / 2)
    return terms.sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


_BOTH = by_name(
    fliplr, flipud, ldexp, frexp, isposinf, isneginf, isreal, is_nonzero, is_same_size, positive, split_with_sizes,
    diagflat,
    vdot, addr, addbmm, mvlgamma,
)  # fmt: skip
METHODS = _BOTH
FUNCTIONS = _BOTH | by_name(
    scalar_tensor, empty_strided, frombuffer, unravel_index, chain_matmul, vander, cumulative_trapezoid, get_device,
    is_inference_mode_enabled,
)  # fmt: skip
