"""PyCUDA's `gpuarray`: arrays on the default device, and functions of them."""

from __future__ import annotations

from builtins import any as _any
from collections.abc import Callable
from typing import Any

import numpy as np

import cuprous
from cuprous._common.naming import named
from cuprous.pycuda import _vectors as vec
from cuprous.pycuda._gpuarray import Allocator, GPUArray, allocator_of, into, raw, to_gpu, wrap

# --- creation


def to_gpu_async(ary: Any, allocator: Allocator | None = None, stream: Any = None) -> GPUArray:
    """Performs `to_gpu`. All work runs in order.

    See Also
    --------
    pycuda.gpuarray.to_gpu, pycuda.driver.Stream

    Examples
    --------
    >>> gpuarray.to_gpu_async(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return to_gpu(ary, allocator)


def empty(shape: Any, dtype: Any = np.float64, allocator: Allocator | None = None, order: str = "C") -> GPUArray:
    """Returns an uninitialized array.

    See Also
    --------
    pycuda.gpuarray.empty_like, pycuda.gpuarray.zeros, pycuda.gpuarray.ones

    Examples
    --------
    >>> gpuarray.empty((2, 3), np.float32).shape
    (2, 3)
    """
    return GPUArray(shape, dtype, allocator, order=order)


def zeros(shape: Any, dtype: Any = np.float64, allocator: Allocator | None = None, order: str = "C") -> GPUArray:
    """Returns an array of zeros.

    See Also
    --------
    pycuda.gpuarray.zeros_like, pycuda.gpuarray.empty, pycuda.gpuarray.ones

    Examples
    --------
    >>> gpuarray.zeros(3, np.float32)
    array([0., 0., 0.], dtype=float32)
    """
    return _zeroed(empty(shape, dtype, allocator, order))


def _zeroed(array: GPUArray) -> GPUArray:
    return array.fill(0 if array.dtype.names is None else np.zeros((), array.dtype))


def ones(shape: Any, dtype: Any = np.float64, allocator: Allocator | None = None, order: str = "C") -> GPUArray:
    """Returns an array of ones.

    See Also
    --------
    pycuda.gpuarray.ones_like, pycuda.gpuarray.zeros, pycuda.gpuarray.empty

    Examples
    --------
    >>> gpuarray.ones(3, np.float32)
    array([1., 1., 1.], dtype=float32)
    """
    return empty(shape, dtype, allocator, order).fill(1)


def empty_like(other_ary: Any, dtype: Any = None, order: str = "K") -> GPUArray:
    """Returns an uninitialized array with the shape and dtype of another.

    See Also
    --------
    pycuda.gpuarray.empty, pycuda.gpuarray.zeros_like

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.empty_like(a).shape
    (3,)
    """
    wanted = np.dtype(other_ary.dtype if dtype is None else dtype)
    if wanted.names is not None or other_ary.dtype.names is not None:
        return GPUArray(other_ary.shape, wanted, allocator_of(other_ary), order="F" if order == "F" else "C")
    return wrap(cuprous.empty_like(raw(other_ary), dtype, order), allocator_of(other_ary))


def zeros_like(other_ary: Any, dtype: Any = None, order: str = "K") -> GPUArray:
    """Returns zeros with the shape and dtype of another array.

    See Also
    --------
    pycuda.gpuarray.zeros, pycuda.gpuarray.empty_like

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.zeros_like(a)
    array([0., 0., 0.])
    """
    return _zeroed(empty_like(other_ary, dtype, order))


def ones_like(other_ary: Any, dtype: Any = None, order: str = "K") -> GPUArray:
    """Returns ones with the shape and dtype of another array.

    See Also
    --------
    pycuda.gpuarray.ones, pycuda.gpuarray.zeros_like

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.ones_like(a)
    array([1., 1., 1.])
    """
    return empty_like(other_ary, dtype, order).fill(1)


def arange(*args: Any, dtype: Any = None, allocator: Allocator | None = None, stream: Any = None) -> GPUArray:
    """Returns the numbers from `start` up to, but excluding, `stop`, in steps of `step`.

    Raises
    ------
    TypeError
        For a wrong number of arguments.

    See Also
    --------
    pycuda.gpuarray.zeros, pycuda.gpuarray.to_gpu

    Examples
    --------
    >>> gpuarray.arange(0, 6, 2, dtype=np.float32)
    array([0., 2., 4.], dtype=float32)
    """
    if not 1 <= len(args) <= 3:
        raise TypeError(f"arange takes start, stop and step, got {len(args)} arguments")
    start, stop, step = (*args, None, None)[:3]
    return wrap(cuprous.arange(start, stop, 1 if step is None else step, dtype), allocator)


def concatenate(arrays: Any, axis: int = 0, allocator: Allocator | None = None) -> GPUArray:
    """Concatenates arrays along an axis.

    See Also
    --------
    pycuda.gpuarray.stack

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.concatenate([a, a])
    array([3., 1., 2., 3., 1., 2.])
    """
    if arrays[0].dtype.names is None:
        return wrap(cuprous.concatenate([raw(a) for a in arrays], axis), allocator or allocator_of(*arrays))
    record = arrays[0].dtype
    if _any(a.dtype != record for a in arrays):
        raise TypeError("arrays of records can be concatenated only with arrays of the same dtype")
    joined = cuprous.concatenate([a._array for a in arrays], axis if axis >= 0 else axis - 1)
    return wrap(joined, allocator or allocator_of(*arrays), record)


def stack(arrays: Any, axis: int = 0, allocator: Allocator | None = None) -> GPUArray:
    """Stacks arrays along a new axis.

    See Also
    --------
    pycuda.gpuarray.concatenate

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.stack([a, a])
    array([[3., 1., 2.],
           [3., 1., 2.]])
    """
    return wrap(cuprous.stack([raw(a) for a in arrays], axis), allocator or allocator_of(*arrays))


def transpose(a: GPUArray, axes: Any = None) -> GPUArray:
    """Returns a view with permuted axes.

    See Also
    --------
    pycuda.gpuarray.reshape

    Examples
    --------
    >>> gpuarray.transpose(gpuarray.zeros((2, 3), np.float32)).shape
    (3, 2)
    """
    return a.transpose(axes)


def reshape(a: GPUArray, *shape: Any, order: str = "C") -> GPUArray:
    """Returns the elements in another shape.

    See Also
    --------
    pycuda.gpuarray.transpose

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.reshape(a, (3, 1)).shape
    (3, 1)
    """
    return a.reshape(*shape, order=order)


# --- selection


def take(a: GPUArray, indices: GPUArray, out: GPUArray | None = None, stream: Any = None) -> GPUArray:
    """Returns the elements at the given indices.

    See Also
    --------
    pycuda.gpuarray.multi_take

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.take(a, gpuarray.to_gpu(np.array([2, 0], np.int32)))
    array([2., 3.])
    """
    return into(out, cuprous.take(raw(a), raw(indices)), a.allocator)


def multi_take(arrays: Any, indices: GPUArray, out: Any = None, stream: Any = None) -> list[GPUArray]:
    """Applies `take` to several arrays.

    See Also
    --------
    pycuda.gpuarray.take, pycuda.gpuarray.multi_put, pycuda.gpuarray.multi_take_put

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.multi_take([a], gpuarray.to_gpu(np.array([2, 0], np.int32)))
    [array([2., 3.])]
    """
    outs = [None] * len(arrays) if out is None else out
    return [take(a, indices, o) for a, o in zip(arrays, outs, strict=True)]


def multi_put(
    arrays: Any, dest_indices: GPUArray, dest_shape: Any = None, out: Any = None, stream: Any = None
) -> list[GPUArray]:
    """Scatters the elements of each array to `dest_indices` of new arrays (or of `out`).

    Raises
    ------
    ValueError
        Without `dest_shape` and `out`.

    See Also
    --------
    pycuda.gpuarray.multi_take, pycuda.gpuarray.multi_take_put

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> [b] = gpuarray.multi_put([a], gpuarray.to_gpu(np.array([2, 1, 0], np.int32)), dest_shape=(3,))
    >>> b
    array([2., 1., 3.])
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
    """Applies `multi_take`, with an offset to the indices for each array, then `multi_put`.

    See Also
    --------
    pycuda.gpuarray.multi_take, pycuda.gpuarray.multi_put

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> order = gpuarray.to_gpu(np.array([2, 1, 0], np.int32))
    >>> [b] = gpuarray.multi_take_put([a], order, order, dest_shape=(3,))
    >>> b
    array([3., 1., 2.])
    """
    offsets = [0] * len(arrays) if src_offsets is None else src_offsets
    taken = [take(a, wrap(raw(src_indices) + int(k))) for a, k in zip(arrays, offsets, strict=True)]
    return multi_put(taken, dest_indices, dest_shape, out)


def where(criterion: Any, then_: Any, else_: Any, out: GPUArray | None = None, stream: Any = None) -> GPUArray:
    """Returns elements of `then_` where `criterion` is true, else of `else_`.

    See Also
    --------
    pycuda.gpuarray.if_positive

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.where(a > 1, a, gpuarray.zeros_like(a))
    array([3., 0., 2.])
    """
    return into(out, cuprous.where(raw(criterion) != 0, raw(then_), raw(else_)), allocator_of(then_, else_, criterion))


def if_positive(criterion: Any, then_: Any, else_: Any, out: GPUArray | None = None, stream: Any = None) -> GPUArray:
    """Returns elements of `then_` where `criterion` is positive, else of `else_`.

    See Also
    --------
    pycuda.gpuarray.where, pycuda.gpuarray.maximum, pycuda.gpuarray.minimum

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.if_positive(a - 2, a, gpuarray.zeros_like(a))
    array([3., 0., 0.])
    """
    return into(out, cuprous.where(raw(criterion) > 0, raw(then_), raw(else_)), allocator_of(then_, else_, criterion))


def _elementwise(name: str, doc: str, example: str, result: str) -> Callable[..., GPUArray]:
    def function(
        *args: Any, out: GPUArray | None = None, stream: Any = None, allocator: Allocator | None = None
    ) -> GPUArray:
        return into(out, getattr(cuprous, name)(*map(raw, args)), allocator or allocator_of(*args))

    return named(
        function,
        name,
        f"""{doc}

    Parameters
    ----------
    *args : GPUArray or number
        The operands, `GPUArray`s or numbers.
    out : GPUArray, optional
        The array to write to.
    stream : Stream, optional
        Ignored, as all work runs in order.
    allocator : callable, optional
        What allocates the result.

    Returns
    -------
    GPUArray
        `out`, or a new array.

    See Also
    --------
    cuprous.{name}

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([0.0, 1.0, 2.0]))
    >>> gpuarray.{name}({example})
    {result}
    """,
    )


maximum = _elementwise("maximum", "Returns the elementwise maximum of two operands.", "a, 1.0", "array([1., 1., 2.])")
minimum = _elementwise("minimum", "Returns the elementwise minimum of two operands.", "a, 1.0", "array([0., 1., 1.])")
logical_and = _elementwise(
    "logical_and", "Returns whether both operands are true, elementwise.", "a, a", "array([False,  True,  True])"
)
logical_or = _elementwise(
    "logical_or", "Returns whether at least one operand is true, elementwise.", "a, a", "array([False,  True,  True])"
)
logical_not = _elementwise(
    "logical_not", "Returns whether the operand is false, elementwise.", "a", "array([ True, False, False])"
)


# --- reductions


def sum(a: GPUArray, dtype: Any = None, stream: Any = None, allocator: Allocator | None = None) -> GPUArray:
    """Returns the sum, in the array's dtype unless `dtype` is given.

    See Also
    --------
    pycuda.gpuarray.subset_sum, pycuda.gpuarray.dot

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.sum(a)
    array(6.)
    """
    return wrap(cuprous.sum(raw(a), dtype=a.dtype if dtype is None else dtype), allocator or a.allocator)


def any(a: GPUArray, stream: Any = None, allocator: Allocator | None = None) -> GPUArray:
    """Returns whether any element is true.

    See Also
    --------
    pycuda.gpuarray.all, pycuda.gpuarray.logical_or

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.any(a)
    array(True)
    """
    return a.any(allocator=allocator)


def all(a: GPUArray, stream: Any = None, allocator: Allocator | None = None) -> GPUArray:
    """Returns whether all elements are true.

    See Also
    --------
    pycuda.gpuarray.any, pycuda.gpuarray.logical_and

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.all(a)
    array(True)
    """
    return a.all(allocator=allocator)


def dot(
    a: GPUArray, b: GPUArray, dtype: Any = None, stream: Any = None, allocator: Allocator | None = None
) -> GPUArray:
    """Returns the sum of the products of elements.

    See Also
    --------
    pycuda.gpuarray.subset_dot, pycuda.gpuarray.sum

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.dot(a, a)
    array(14.)
    """
    product = raw(a) * raw(b)
    return wrap(cuprous.sum(product, dtype=product.dtype if dtype is None else dtype), allocator or a.allocator)


def max(a: GPUArray, stream: Any = None) -> GPUArray:
    """Returns the largest element.

    See Also
    --------
    pycuda.gpuarray.min, pycuda.gpuarray.subset_max, pycuda.gpuarray.maximum

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.max(a)
    array(3.)
    """
    return wrap(cuprous.max(raw(a)), a.allocator)


def min(a: GPUArray, stream: Any = None) -> GPUArray:
    """Returns the smallest element.

    See Also
    --------
    pycuda.gpuarray.max, pycuda.gpuarray.subset_min, pycuda.gpuarray.minimum

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.min(a)
    array(1.)
    """
    return wrap(cuprous.min(raw(a)), a.allocator)


def subset_sum(
    subset: GPUArray, a: GPUArray, dtype: Any = None, stream: Any = None, allocator: Allocator | None = None
) -> GPUArray:
    """Returns the sum of the elements at the indices `subset`.

    See Also
    --------
    pycuda.gpuarray.sum, pycuda.gpuarray.subset_dot

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.subset_sum(gpuarray.to_gpu(np.array([0, 2], np.int32)), a)
    array(5.)
    """
    return sum(take(a, subset), dtype, allocator=allocator)


def subset_dot(subset: GPUArray, a: GPUArray, b: GPUArray, dtype: Any = None, stream: Any = None,
               allocator: Allocator | None = None) -> GPUArray:  # fmt: skip
    """Returns the dot product of the elements at the indices `subset`.

    See Also
    --------
    pycuda.gpuarray.dot, pycuda.gpuarray.subset_sum

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.subset_dot(gpuarray.to_gpu(np.array([0, 2], np.int32)), a, a)
    array(13.)
    """
    return dot(take(a, subset), take(b, subset), dtype, allocator=allocator)


def subset_max(subset: GPUArray, a: GPUArray, stream: Any = None) -> GPUArray:
    """Returns the maximum of the elements at the indices `subset`.

    See Also
    --------
    pycuda.gpuarray.max, pycuda.gpuarray.subset_min

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.subset_max(gpuarray.to_gpu(np.array([1, 2], np.int32)), a)
    array(2.)
    """
    return max(take(a, subset))


def subset_min(subset: GPUArray, a: GPUArray, stream: Any = None) -> GPUArray:
    """Returns the minimum of the elements at the indices `subset`.

    See Also
    --------
    pycuda.gpuarray.min, pycuda.gpuarray.subset_max

    Examples
    --------
    >>> a = gpuarray.to_gpu(np.array([3.0, 1.0, 2.0]))
    >>> gpuarray.subset_min(gpuarray.to_gpu(np.array([0, 2], np.int32)), a)
    array(2.)
    """
    return min(take(a, subset))


def splay(n: int, dev: Any = None) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """Returns a grid and a block for `n` elements.

    See Also
    --------
    pycuda.tools.DeviceData

    Examples
    --------
    >>> gpuarray.splay(1000)
    ((8, 1), (128, 1, 1))
    """
    threads = 128 if n >= 128 else 32
    blocks = -(-n // threads)
    return (blocks if blocks < 65535 else 65535, 1), (threads, 1, 1)


__all__ = [
    "GPUArray", "all", "any", "arange", "concatenate", "dot", "empty", "empty_like", "if_positive", "logical_and",
    "logical_not", "logical_or", "max", "maximum", "min", "minimum", "multi_put", "multi_take", "multi_take_put",
    "ones", "ones_like", "reshape", "splay", "stack", "subset_dot", "subset_max", "subset_min", "subset_sum", "sum",
    "take", "to_gpu", "to_gpu_async", "transpose", "vec", "where", "zeros", "zeros_like",
]  # fmt: skip
