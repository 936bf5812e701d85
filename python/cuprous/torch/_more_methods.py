"""Rarer functions and methods of PyTorch: forms that write to their first argument, and others of few calls."""

from __future__ import annotations

import importlib
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import (
    _further,
    _joining,
    _ordering,
    _products,
    _reductions,
    _shape,
    _stft,
)
from cuprous.torch._args import by_name, in_place
from cuprous.torch._reductions import FUNCTIONS as _R

_map = _core.t_map

nanmedian_result = namedtuple("nanmedian_result", ("values", "indices"))


def _special(name: str) -> Callable[..., Tensor]:
    """Returns a function of `torch.special`, which is imported when it is used because its import takes long."""
    found: Callable[..., Tensor] = getattr(importlib.import_module("cuprous.torch.special"), name)
    return found


def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the regularized lower incomplete gamma function.

    Args:
        input: the parameter a, which has no derivative.
        other: the argument x, a tensor or number that broadcasts with `input`.
        out: a tensor of the result's shape to write to.

    Returns:
        A floating tensor of the shape that the operands broadcast to.

    Examples:
        >>> torch.igamma(torch.tensor([1.0]), torch.tensor([0.5]))
        tensor([0.3935])
    """
    return _special("gammainc")(input, other, out=out)


def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the regularized upper incomplete gamma function.

    Args:
        input: the parameter a, which has no derivative.
        other: the argument x, a tensor or number that broadcasts with `input`.
        out: a tensor of the result's shape to write to.

    Returns:
        A floating tensor of the shape that the operands broadcast to.

    Examples:
        >>> torch.igammac(torch.tensor([1.0]), torch.tensor([0.5]))
        tensor([0.6065])
    """
    return _special("gammaincc")(input, other, out=out)


def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the n-th derivative of the digamma function.

    Args:
        n: the order, a nonnegative integer.
        input: a tensor of positive numbers.
        out: a tensor of the result's shape to write to.

    Returns:
        A floating tensor of the shape of `input`.

    Examples:
        >>> torch.polygamma(1, torch.tensor([1.0, 2.0]))
        tensor([1.6449, 0.6449])
    """
    return _special("polygamma")(n, input, out=out)


def _polygamma_of(self: Tensor, n: int) -> Tensor:
    """Returns the n-th derivative of the digamma function.

    Args:
        n: the order, a nonnegative integer.

    Returns:
        A floating tensor of the shape of the tensor.

    Examples:
        >>> torch.tensor([1.0, 2.0]).polygamma(1)
        tensor([1.6449, 0.6449])
    """
    return polygamma(n, self)


_polygamma_of.__name__ = _polygamma_of.__qualname__ = "polygamma"


def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Returns the median of the elements that are not NaN: the lower one of two.

    Args:
        input: a tensor of any shape, of a real dtype.
        dim: the dimension; None for all elements.
        keepdim: whether to keep the reduced dimension with extent 1.

    Returns:
        A tensor without dimensions, or with `dim` the named tuple `(values, indices)`.

    Examples:
        >>> torch.nanmedian(torch.tensor([1.0, float("nan"), 3.0, 5.0]))
        tensor(3.)
    """
    if dim is None:
        return nanmedian(input.reshape(-1), 0).values
    values, order = _ordering.sort(input, dim)  # NaN come last
    count = _reductions.sum(_map("equal", input, input), dim, True)
    at = _map("maximum", count - 1, 0) // 2
    found, indices = values.gather(dim, at), order.gather(dim, at)
    return nanmedian_result(*(x if keepdim else x.squeeze(dim) for x in (found, indices)))


def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Returns a copy of a part of a dimension.

    Args:
        input: a tensor of any shape and dtype.
        dim: the dimension.
        start: the first index.
        length: the extent of the part.

    Returns:
        A tensor with memory of its own.

    Examples:
        >>> torch.narrow_copy(torch.tensor([1, 2, 3]), 0, 1, 2)
        tensor([2, 3])
    """
    return _shape.narrow(input, dim, start, length).clone()


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Returns a copy with other values at positions in row-major order.

    Args:
        input: a tensor of any shape and dtype.
        index: the positions (int64); negative ones count from the end.
        source: the values, as many as positions.
        accumulate: whether values are added to what is there.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        RuntimeError: for numbers of positions and values that differ.

    Examples:
        >>> torch.put(torch.zeros(2, 2), torch.tensor([1, 2]), torch.tensor([5.0, 6.0]))
        tensor([[0., 5.],
                [6., 0.]])
    """
    if index.numel() != source.numel():
        raise RuntimeError("put_(): Expected source and index to have the same number of elements, but got source "
                           f"with {source.numel()} and index with {index.numel()}")  # fmt: skip
    flat = input.reshape(-1).clone()
    return flat.index_put((index.reshape(-1),), source.reshape(-1), accumulate).reshape(list(input.dims))


def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns `torch.chunk`.

    Args:
        input: a tensor of any shape and dtype.
        chunks: the number of parts.
        dim: the dimension.

    Returns:
        A tuple of tensors.

    Examples:
        >>> torch.unsafe_chunk(torch.tensor([1, 2]), 2)
        (tensor([1]), tensor([2]))
    """
    return _joining.chunk(input, chunks, dim)


def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns `torch.split`.

    Args:
        tensor: a tensor of any shape and dtype.
        split_size: the extent of each part.
        dim: the dimension.

    Returns:
        A tuple of tensors.

    Examples:
        >>> torch.unsafe_split(torch.tensor([1, 2]), 1)
        (tensor([1]), tensor([2]))
    """
    return _joining.split(tensor, split_size, dim)


def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Returns `torch.split` with an extent for each part.

    Args:
        input: a tensor of any shape and dtype.
        split_sizes: the extents.
        dim: the dimension.

    Returns:
        A tuple of tensors.

    Examples:
        >>> torch.unsafe_split_with_sizes(torch.tensor([1, 2, 3]), [1, 2])
        (tensor([1]), tensor([2, 3]))
    """
    return _joining.split(input, list(split_sizes), dim)


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
    return importlib.import_module("cuprous.torch.linalg").vector_norm(input, 2, dim, keepdim, out=out)


def _answer(name: str, found: Callable[[Tensor], bool], summary: str, example: str) -> Callable[[Tensor], bool]:
    def query(input: Tensor) -> bool:
        return found(input)

    query.__name__ = query.__qualname__ = name
    call, result = example.split(" -> ")
    query.__doc__ = f"""Returns {summary}.

    Args:
        input: a tensor.

    Returns:
        A bool.

    Examples:
        >>> {call}
        {result}
    """
    return query


_SIGNED = ("int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
is_signed = _answer("is_signed", lambda x: x.dtype_name in _SIGNED, "whether a dtype has negative numbers",
                    "torch.is_signed(torch.ones(1)) -> True")  # fmt: skip
is_conj = _answer("is_conj", lambda _: False, "False: conjugation is computed and not remembered",
                  "torch.is_conj(torch.ones(1).conj()) -> False")  # fmt: skip
is_neg = _answer("is_neg", lambda _: False, "False: negation is computed and not remembered",
                 "torch.is_neg(-torch.ones(1)) -> False")  # fmt: skip
is_distributed = _answer("is_distributed", lambda _: False, "False: the older kind of distributed tensors",
                         "torch.is_distributed(torch.ones(1)) -> False")  # fmt: skip


def resolve_conj(input: Tensor) -> Tensor:
    """Returns the tensor itself: conjugation is computed and not remembered.

    Args:
        input: a tensor.

    Returns:
        The tensor.

    Examples:
        >>> torch.resolve_conj(torch.ones(1))
        tensor([1.])
    """
    return input


def resolve_neg(input: Tensor) -> Tensor:
    """Returns the tensor itself: negation is computed and not remembered.

    Args:
        input: a tensor.

    Returns:
        The tensor.

    Examples:
        >>> torch.resolve_neg(torch.ones(1))
        tensor([1.])
    """
    return input


_WRITERS = (
    in_place(_products.addmm, "torch.zeros(1, 1).addmm_(torch.ones(1, 2), torch.ones(2, 1)) -> tensor([[2.]])"),
    in_place(_products.addmv, "torch.zeros(1).addmv_(torch.ones(1, 2), torch.ones(2)) -> tensor([2.])"),
    in_place(_products.baddbmm, "torch.zeros(1, 1, 1).baddbmm_(torch.ones(1, 1, 2), torch.ones(1, 2, 1)) -> "
             "tensor([[[2.]]])"),
    in_place(_further.addbmm, "torch.zeros(1, 1).addbmm_(torch.ones(1, 1, 2), torch.ones(1, 2, 1)) -> tensor([[2.]])"),
    in_place(_further.addr, "torch.zeros(1, 2).addr_(torch.ones(1), torch.ones(2)) -> tensor([[1., 1.]])"),
    in_place(_R["cumsum"], "torch.tensor([1.0, 2.0]).cumsum_(0) -> tensor([1., 3.])"),
    in_place(_R["cumprod"], "torch.tensor([2.0, 3.0]).cumprod_(0) -> tensor([2., 6.])"),
    in_place(_further.ldexp, "torch.ones(1).ldexp_(torch.tensor([2])) -> tensor([4.])"),
    in_place(_further.mvlgamma, "torch.tensor([2.0]).mvlgamma_(1) -> tensor([0.])"),
    in_place(igamma, "torch.ones(1).igamma_(torch.tensor([0.5])) -> tensor([0.3935])"),
    in_place(igammac, "torch.ones(1).igammac_(torch.tensor([0.5])) -> tensor([0.6065])"),
    in_place(_polygamma_of, "torch.tensor([1.0]).polygamma_(1) -> tensor([1.6449])"),
    in_place(put, "torch.zeros(2).put_(torch.tensor([1]), torch.tensor([5.0])) -> tensor([0., 5.])"),
)  # fmt: skip
FUNCTIONS = by_name(
    igamma, igammac, polygamma, nanmedian, narrow_copy, put, unsafe_chunk, unsafe_split, unsafe_split_with_sizes,
    frobenius_norm, is_signed, is_conj, is_neg, is_distributed, resolve_conj, resolve_neg,
)  # fmt: skip
METHODS = by_name(
    igamma, igammac, _polygamma_of, nanmedian, narrow_copy, put, unsafe_chunk, unsafe_split, unsafe_split_with_sizes,
    is_conj, is_neg, is_distributed, *_WRITERS,
) | {name: _stft.FUNCTIONS[name] for name in ("stft", "istft")}  # fmt: skip

__all__ = ["FUNCTIONS", "METHODS"]
