"""PyCUDA's `gpuarray`: arrays of the default device and functions of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cuprous
from cuprous.pycuda import _vectors as vec
from cuprous.pycuda._gpuarray import GPUArray, into, raw, wrap

# --- making


def to_gpu(ary: Any, allocator: Any = None) -> GPUArray:
    """A copy of a NumPy array on the default device."""
    ary = np.asarray(ary)
    if ary.dtype.names is not None:
        raise NotImplementedError(
            "[to_gpu] arrays of records are not supported; use driver.to_device, or an array a field"
        )
    return wrap(cuprous.array(ary, order="K"))


def to_gpu_async(ary: Any, allocator: Any = None, stream: Any = None) -> GPUArray:
    """`to_gpu`: all work runs in order."""
    return to_gpu(ary)


def empty(shape: Any, dtype: Any = np.float64, allocator: Any = None, order: str = "C") -> GPUArray:
    """Arbitrary contents."""
    return GPUArray(shape, dtype, order=order)


def zeros(shape: Any, dtype: Any = np.float64, allocator: Any = None, order: str = "C") -> GPUArray:
    """Zeros."""
    return empty(shape, dtype, order=order).fill(0)


def ones(shape: Any, dtype: Any = np.float64, allocator: Any = None, order: str = "C") -> GPUArray:
    """Ones."""
    return empty(shape, dtype, order=order).fill(1)


def empty_like(other_ary: Any, dtype: Any = None, order: str = "K") -> GPUArray:
    """Arbitrary contents, of the shape and dtype of another."""
    return wrap(cuprous.empty_like(raw(other_ary), dtype, order))


def zeros_like(other_ary: Any, dtype: Any = None, order: str = "K") -> GPUArray:
    """Zeros of the shape and dtype of another."""
    return empty_like(other_ary, dtype, order).fill(0)


def ones_like(other_ary: Any, dtype: Any = None, order: str = "K") -> GPUArray:
    """Ones of the shape and dtype of another."""
    return empty_like(other_ary, dtype, order).fill(1)


def arange(*args: Any, dtype: Any = None, allocator: Any = None, stream: Any = None) -> GPUArray:
    """Numbers from `start` to before `stop`, `step` apart.

    Raises:
        TypeError: for another number of arguments.
    """
    if not 1 <= len(args) <= 3:
        raise TypeError(f"arange takes start, stop and step, got {len(args)} arguments")
    start, stop, step = (*args, None, None)[:3]
    return wrap(cuprous.arange(start, stop, 1 if step is None else step, dtype))


def concatenate(arrays: Any, axis: int = 0, allocator: Any = None) -> GPUArray:
    """Arrays one after the other along an axis."""
    return wrap(cuprous.concatenate([raw(a) for a in arrays], axis))


def stack(arrays: Any, axis: int = 0, allocator: Any = None) -> GPUArray:
    """Arrays along a new axis."""
    return wrap(cuprous.stack([raw(a) for a in arrays], axis))


def transpose(a: GPUArray, axes: Any = None) -> GPUArray:
    """A view with axes in another order."""
    return a.transpose(axes)


def reshape(a: GPUArray, *shape: Any, order: str = "C") -> GPUArray:
    """The elements in another shape."""
    return a.reshape(*shape, order=order)


# --- choosing


def take(a: GPUArray, indices: GPUArray, out: GPUArray | None = None, stream: Any = None) -> GPUArray:
    """Elements by their numbers."""
    return into(out, cuprous.take(raw(a), raw(indices)))


def multi_take(arrays: Any, indices: GPUArray, out: Any = None, stream: Any = None) -> list[GPUArray]:
    """`take` of several arrays."""
    outs = [None] * len(arrays) if out is None else out
    return [take(a, indices, o) for a, o in zip(arrays, outs, strict=True)]


def multi_put(
    arrays: Any, dest_indices: GPUArray, dest_shape: Any = None, out: Any = None, stream: Any = None
) -> list[GPUArray]:
    """New arrays (or `out`) with the elements of each array at `dest_indices`.

    Raises:
        ValueError: without `dest_shape` and `out`.
    """
    if out is None and dest_shape is None:
        raise ValueError("multi_put needs dest_shape or out")
    outs = [zeros(dest_shape, a.dtype) for a in arrays] if out is None else out
    for a, o in zip(arrays, outs, strict=True):
        o._array[raw(dest_indices)] = raw(a)
    return list(outs)


def multi_take_put(
    arrays: Any, dest_indices: GPUArray, src_indices: GPUArray, dest_shape: Any = None, out: Any = None,
    stream: Any = None, src_offsets: Any = None,
) -> list[GPUArray]:  # fmt: skip
    """`multi_put` of `multi_take`; each array's elements are counted from its own offset."""
    offsets = [0] * len(arrays) if src_offsets is None else src_offsets
    taken = [take(a, wrap(src_indices._array + int(k))) for a, k in zip(arrays, offsets, strict=True)]
    return multi_put(taken, dest_indices, dest_shape, out)


def where(criterion: Any, then_: Any, else_: Any, out: GPUArray | None = None, stream: Any = None) -> GPUArray:
    """Elements of `then_` where `criterion` is true, else of `else_`."""
    return into(out, cuprous.where(raw(criterion) != 0, raw(then_), raw(else_)))


def if_positive(criterion: Any, then_: Any, else_: Any, out: GPUArray | None = None, stream: Any = None) -> GPUArray:
    """Elements of `then_` where `criterion` is positive, else of `else_`."""
    return into(out, cuprous.where(raw(criterion) > 0, raw(then_), raw(else_)))


def _elementwise(name: str, doc: str) -> Callable[..., GPUArray]:
    def function(*args: Any, out: GPUArray | None = None, stream: Any = None, allocator: Any = None) -> GPUArray:
        return into(out, getattr(cuprous, name)(*map(raw, args)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


maximum = _elementwise("maximum", "The larger of two.")
minimum = _elementwise("minimum", "The smaller of two.")
logical_and = _elementwise("logical_and", "Whether both are true.")
logical_or = _elementwise("logical_or", "Whether one is true.")
logical_not = _elementwise("logical_not", "Whether it is false.")


# --- folding


def sum(a: GPUArray, dtype: Any = None, stream: Any = None, allocator: Any = None) -> GPUArray:
    """The sum, in the array's dtype unless `dtype` is given."""
    return wrap(cuprous.sum(raw(a), dtype=a.dtype if dtype is None else dtype))


def any(a: GPUArray, stream: Any = None, allocator: Any = None) -> GPUArray:
    """Whether any element is true."""
    return wrap(cuprous.any(raw(a)))


def all(a: GPUArray, stream: Any = None, allocator: Any = None) -> GPUArray:
    """Whether all elements are true."""
    return wrap(cuprous.all(raw(a)))


def dot(a: GPUArray, b: GPUArray, dtype: Any = None, stream: Any = None, allocator: Any = None) -> GPUArray:
    """The sum of products of elements."""
    product = raw(a) * raw(b)
    return wrap(cuprous.sum(product, dtype=product.dtype if dtype is None else dtype))


def max(a: GPUArray, stream: Any = None) -> GPUArray:
    """The largest element."""
    return wrap(cuprous.max(raw(a)))


def min(a: GPUArray, stream: Any = None) -> GPUArray:
    """The smallest element."""
    return wrap(cuprous.min(raw(a)))


def subset_sum(subset: GPUArray, a: GPUArray, dtype: Any = None, stream: Any = None, allocator: Any = None) -> GPUArray:
    """`sum` of some elements."""
    return sum(take(a, subset), dtype)


def subset_dot(
    subset: GPUArray, a: GPUArray, b: GPUArray, dtype: Any = None, stream: Any = None, allocator: Any = None
) -> GPUArray:
    """`dot` of some elements."""
    return dot(take(a, subset), take(b, subset), dtype)


def subset_max(subset: GPUArray, a: GPUArray, stream: Any = None) -> GPUArray:
    """`max` of some elements."""
    return max(take(a, subset))


def subset_min(subset: GPUArray, a: GPUArray, stream: Any = None) -> GPUArray:
    """`min` of some elements."""
    return min(take(a, subset))


def splay(n: int, dev: Any = None) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """A grid and a block for so many elements."""
    threads = 128 if n >= 128 else 32
    blocks = -(-n // threads)
    return (blocks if blocks < 65535 else 65535, 1), (threads, 1, 1)


__all__ = [
    "GPUArray", "all", "any", "arange", "concatenate", "dot", "empty", "empty_like", "if_positive", "logical_and",
    "logical_not", "logical_or", "max", "maximum", "min", "minimum", "multi_put", "multi_take", "multi_take_put",
    "ones", "ones_like", "reshape", "splay", "stack", "subset_dot", "subset_max", "subset_min", "subset_sum", "sum",
    "take", "to_gpu", "to_gpu_async", "transpose", "vec", "where", "zeros", "zeros_like",
]  # fmt: skip
