"""PyCUDA's `gpuarray`: arrays on the default device, and functions of them."""

from __future__ import annotations

from builtins import any as _any
from collections.abc import Callable
from typing import Any

import numpy as np

import cuprous
from cuprous._common.naming import named
from cuprous.pycuda import _vectors as vec
from cuprous.pycuda._gpuarray import Allocator, GPUArray, allocator_of, into, raw, wrap

# --- creation


def to_gpu(ary: Any, allocator: Allocator | None = None) -> GPUArray:
    """Copies a NumPy array to the default device."""
    ary = np.asarray(ary)
    if ary.dtype.names is None:
        return wrap(cuprous.array(ary, order="K"), allocator)
    result = GPUArray(ary.shape, ary.dtype, allocator)
    result.set(ary)
    return result


def to_gpu_async(ary: Any, allocator: Allocator | None = None, stream: Any = None) -> GPUArray:
    """Performs `to_gpu`. All work runs in order."""
    return to_gpu(ary, allocator)


def empty(shape: Any, dtype: Any = np.float64, allocator: Allocator | None = None, order: str = "C") -> GPUArray:
    """Returns an uninitialized array."""
    return GPUArray(shape, dtype, allocator, order=order)


def zeros(shape: Any, dtype: Any = np.float64, allocator: Allocator | None = None, order: str = "C") -> GPUArray:
    """Returns an array of zeros."""
    return _zeroed(empty(shape, dtype, allocator, order))


def _zeroed(array: GPUArray) -> GPUArray:
    return array.fill(0 if array.dtype.names is None else np.zeros((), array.dtype))


def ones(shape: Any, dtype: Any = np.float64, allocator: Allocator | None = None, order: str = "C") -> GPUArray:
    """Returns an array of ones."""
    return empty(shape, dtype, allocator, order).fill(1)


def empty_like(other_ary: Any, dtype: Any = None, order: str = "K") -> GPUArray:
    """Returns an uninitialized array with the shape and dtype of another."""
    wanted = np.dtype(other_ary.dtype if dtype is None else dtype)
    if wanted.names is not None or other_ary.dtype.names is not None:
        return GPUArray(other_ary.shape, wanted, allocator_of(other_ary), order="F" if order == "F" else "C")
    return wrap(cuprous.empty_like(raw(other_ary), dtype, order), allocator_of(other_ary))


def zeros_like(other_ary: Any, dtype: Any = None, order: str = "K") -> GPUArray:
    """Returns zeros with the shape and dtype of another array."""
    return _zeroed(empty_like(other_ary, dtype, order))


def ones_like(other_ary: Any, dtype: Any = None, order: str = "K") -> GPUArray:
    """Returns ones with the shape and dtype of another array."""
    return empty_like(other_ary, dtype, order).fill(1)


def arange(*args: Any, dtype: Any = None, allocator: Allocator | None = None, stream: Any = None) -> GPUArray:
    """Returns the numbers from `start` up to, but excluding, `stop`, in steps of `step`.

    Raises:
        TypeError: for a wrong number of arguments.
    """
    if not 1 <= len(args) <= 3:
        raise TypeError(f"arange takes start, stop and step, got {len(args)} arguments")
    start, stop, step = (*args, None, None)[:3]
    return wrap(cuprous.arange(start, stop, 1 if step is None else step, dtype), allocator)


def concatenate(arrays: Any, axis: int = 0, allocator: Allocator | None = None) -> GPUArray:
    """Concatenates arrays along an axis."""
    if arrays[0].dtype.names is None:
        return wrap(cuprous.concatenate([raw(a) for a in arrays], axis), allocator or allocator_of(*arrays))
    record = arrays[0].dtype
    if _any(a.dtype != record for a in arrays):
        raise TypeError("arrays of records can be concatenated only with arrays of the same dtype")
    joined = cuprous.concatenate([a._array for a in arrays], axis if axis >= 0 else axis - 1)
    return wrap(joined, allocator or allocator_of(*arrays), record)


def stack(arrays: Any, axis: int = 0, allocator: Allocator | None = None) -> GPUArray:
    """Stacks arrays along a new axis."""
    return wrap(cuprous.stack([raw(a) for a in arrays], axis), allocator or allocator_of(*arrays))


def transpose(a: GPUArray, axes: Any = None) -> GPUArray:
    """Returns a view with permuted axes."""
    return a.transpose(axes)


def reshape(a: GPUArray, *shape: Any, order: str = "C") -> GPUArray:
    """Returns the elements in another shape."""
    return a.reshape(*shape, order=order)


# --- selection


def take(a: GPUArray, indices: GPUArray, out: GPUArray | None = None, stream: Any = None) -> GPUArray:
    """Returns the elements at the given indices."""
    return into(out, cuprous.take(raw(a), raw(indices)), a.allocator)


def multi_take(arrays: Any, indices: GPUArray, out: Any = None, stream: Any = None) -> list[GPUArray]:
    """Applies `take` to several arrays."""
    outs = [None] * len(arrays) if out is None else out
    return [take(a, indices, o) for a, o in zip(arrays, outs, strict=True)]


def multi_put(
    arrays: Any, dest_indices: GPUArray, dest_shape: Any = None, out: Any = None, stream: Any = None
) -> list[GPUArray]:
    """Scatters the elements of each array to `dest_indices` of new arrays (or of `out`).

    Raises:
        ValueError: without `dest_shape` and `out`.
    """
    if out is None and dest_shape is None:
        raise ValueError("multi_put needs dest_shape or out")
    outs = [zeros(dest_shape, a.dtype, a.allocator) for a in arrays] if out is None else out
    for a, o in zip(arrays, outs, strict=True):
        raw(o)[raw(dest_indices)] = raw(a)
    return list(outs)


def multi_take_put(
    arrays: Any, dest_indices: GPUArray, src_indices: GPUArray, dest_shape: Any = None, out: Any = None,
    stream: Any = None, src_offsets: Any = None,
) -> list[GPUArray]:  # fmt: skip
    """Applies `multi_take`, with an offset to the indices for each array, then `multi_put`."""
    offsets = [0] * len(arrays) if src_offsets is None else src_offsets
    taken = [take(a, wrap(raw(src_indices) + int(k))) for a, k in zip(arrays, offsets, strict=True)]
    return multi_put(taken, dest_indices, dest_shape, out)


def where(criterion: Any, then_: Any, else_: Any, out: GPUArray | None = None, stream: Any = None) -> GPUArray:
    """Returns elements of `then_` where `criterion` is true, else of `else_`."""
    return into(out, cuprous.where(raw(criterion) != 0, raw(then_), raw(else_)), allocator_of(then_, else_, criterion))


def if_positive(criterion: Any, then_: Any, else_: Any, out: GPUArray | None = None, stream: Any = None) -> GPUArray:
    """Returns elements of `then_` where `criterion` is positive, else of `else_`."""
    return into(out, cuprous.where(raw(criterion) > 0, raw(then_), raw(else_)), allocator_of(then_, else_, criterion))


def _elementwise(name: str, doc: str) -> Callable[..., GPUArray]:
    def function(
        *args: Any, out: GPUArray | None = None, stream: Any = None, allocator: Allocator | None = None
    ) -> GPUArray:
        return into(out, getattr(cuprous, name)(*map(raw, args)), allocator or allocator_of(*args))

    return named(function, name, doc)


maximum = _elementwise("maximum", "Returns the elementwise maximum of two operands.")
minimum = _elementwise("minimum", "Returns the elementwise minimum of two operands.")
logical_and = _elementwise("logical_and", "Returns whether both operands are true, elementwise.")
logical_or = _elementwise("logical_or", "Returns whether at least one operand is true, elementwise.")
logical_not = _elementwise("logical_not", "Returns whether the operand is false, elementwise.")


# --- reductions


def sum(a: GPUArray, dtype: Any = None, stream: Any = None, allocator: Allocator | None = None) -> GPUArray:
    """Returns the sum, in the array's dtype unless `dtype` is given."""
    return wrap(cuprous.sum(raw(a), dtype=a.dtype if dtype is None else dtype), allocator or a.allocator)


def any(a: GPUArray, stream: Any = None, allocator: Allocator | None = None) -> GPUArray:
    """Returns whether any element is true."""
    return a.any(allocator=allocator)


def all(a: GPUArray, stream: Any = None, allocator: Allocator | None = None) -> GPUArray:
    """Returns whether all elements are true."""
    return a.all(allocator=allocator)


def dot(
    a: GPUArray, b: GPUArray, dtype: Any = None, stream: Any = None, allocator: Allocator | None = None
) -> GPUArray:
    """Returns the sum of the products of elements."""
    product = raw(a) * raw(b)
    return wrap(cuprous.sum(product, dtype=product.dtype if dtype is None else dtype), allocator or a.allocator)


def max(a: GPUArray, stream: Any = None) -> GPUArray:
    """Returns the largest element."""
    return wrap(cuprous.max(raw(a)), a.allocator)


def min(a: GPUArray, stream: Any = None) -> GPUArray:
    """Returns the smallest element."""
    return wrap(cuprous.min(raw(a)), a.allocator)


def subset_sum(
    subset: GPUArray, a: GPUArray, dtype: Any = None, stream: Any = None, allocator: Allocator | None = None
) -> GPUArray:
    """Returns the sum of the elements at the indices `subset`."""
    return sum(take(a, subset), dtype, allocator=allocator)


def subset_dot(subset: GPUArray, a: GPUArray, b: GPUArray, dtype: Any = None, stream: Any = None,
               allocator: Allocator | None = None) -> GPUArray:  # fmt: skip
    """Returns the dot product of the elements at the indices `subset`."""
    return dot(take(a, subset), take(b, subset), dtype, allocator=allocator)


def subset_max(subset: GPUArray, a: GPUArray, stream: Any = None) -> GPUArray:
    """Returns the maximum of the elements at the indices `subset`."""
    return max(take(a, subset))


def subset_min(subset: GPUArray, a: GPUArray, stream: Any = None) -> GPUArray:
    """Returns the minimum of the elements at the indices `subset`."""
    return min(take(a, subset))


def splay(n: int, dev: Any = None) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """Returns a grid and a block for `n` elements."""
    threads = 128 if n >= 128 else 32
    blocks = -(-n // threads)
    return (blocks if blocks < 65535 else 65535, 1), (threads, 1, 1)


__all__ = [
    "GPUArray", "all", "any", "arange", "concatenate", "dot", "empty", "empty_like", "if_positive", "logical_and",
    "logical_not", "logical_or", "max", "maximum", "min", "minimum", "multi_put", "multi_take", "multi_take_put",
    "ones", "ones_like", "reshape", "splay", "stack", "subset_dot", "subset_max", "subset_min", "subset_sum", "sum",
    "take", "to_gpu", "to_gpu_async", "transpose", "vec", "where", "zeros", "zeros_like",
]  # fmt: skip
