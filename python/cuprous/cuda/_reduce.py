"""`cuda.reduce`: reductions of whole arrays by a function of two values."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.convert import convert
from cuprous.cuda import types
from cuprous.cuda._intrinsics import blockDim, blockIdx, grid, gridsize, shared, syncthreads, threadIdx
from cuprous.cuda._jit import jit

#: Threads of a block, and blocks of the first pass.
_THREADS = 256
_BLOCKS = 256


class Reduce:
    """A reduction by an associative and commutative function of two values. Calling it reduces an array.

    Parameters
    ----------
    functor : callable
        The function.

    See Also
    --------
    cuda.reduce

    Examples
    --------
    >>> total = cuda.Reduce(lambda a, b: a + b)
    >>> total(np.arange(5.0))
    10.0
    """

    def __init__(self, functor: Any) -> None:
        self._functor = functor
        self._kernels: dict[str, Any] = {}

    def _kernel(self, dtype: types.Type) -> Any:
        known = self._kernels.get(dtype.name)
        if known is not None:
            return known
        combine = jit(device=True)(self._functor)
        threads = _THREADS

        @jit
        def kernel(values, size, start, has_start, out):  # type: ignore[no-untyped-def]
            part = shared.array(threads, dtype)
            t, i = threadIdx.x, grid(1)
            if i < size:
                total = values[i]
                for k in range(i + gridsize(1), size, gridsize(1)):
                    total = combine(total, values[k])
                part[t] = total
            syncthreads()
            remaining = size - blockIdx.x * blockDim.x
            step = threads // 2
            while step > 0:
                if t < step and t + step < remaining:
                    part[t] = combine(part[t], part[t + step])
                syncthreads()
                step //= 2
            if t == 0:
                out[blockIdx.x] = combine(start, part[0]) if has_start else part[0]

        self._kernels[dtype.name] = kernel
        return kernel

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0) -> Any:
        """Reduces the first `size` elements of a 1-d array, starting with `init`; writes to `res[0]` if it is passed.

        Raises
        ------
        TypeError
            For an array that is not 1-d.
        """
        values = convert(arr)
        if values.ndim != 1:
            raise TypeError("only support 1D array")
        count = values.size if size is None else min(size, values.size)
        dtype = types.as_type(values.dtype_name)
        start = values.dtype.type(init)
        if count == 0:
            if res is None:
                return start
            res[0] = start
            return None
        kernel = self._kernel(dtype)
        blocks = min(_BLOCKS, -(-count // _THREADS))
        partial = _core.empty((blocks,), values.dtype_name)
        kernel[blocks, _THREADS](values, count, start, False, partial)
        result = _core.empty((1,), values.dtype_name) if res is None else res
        kernel[1, _THREADS](partial, blocks, start, True, result)
        return result[0].item() if res is None else None


def reduce(functor: Any) -> Reduce:
    """Returns a reduction of arrays by a function of two values. It is a decorator.

    Parameters
    ----------
    functor : callable
        The function, associative and commutative.

    Returns
    -------
    Reduce

    See Also
    --------
    cuda.jit

    Examples
    --------
    >>> @cuda.reduce
    ... def largest(a, b):
    ...     return max(a, b)
    >>> largest(np.array([1.0, 5.0, 3.0]))
    5.0
    """
    return Reduce(functor)
