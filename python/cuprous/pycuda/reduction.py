"""PyCUDA's `reduction`: reductions of contiguous arrays by kernels from a few lines of CUDA C++."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuprous.cuda._raw_kernels import RawKernel
from cuprous.pycuda import gpuarray
from cuprous.pycuda._gpuarray import allocator_of
from cuprous.pycuda.compiler import translated
from cuprous.pycuda.elementwise import launch_values, vectors_of
from cuprous.pycuda.tools import VectorArg, dtype_to_ctype, parse_arguments

#: The number of threads of a block, and the greatest number of blocks in the first pass.
_THREADS = 256
_MOST_BLOCKS = 1024


def _source(name: str, c_type: str, parameters: str, neutral: str, combine: str, element: str, preamble: str) -> str:
    complex_ = "#include <pycuda-complex.hpp>\n" if "complex" in c_type + parameters else ""
    return f"""{complex_}{preamble}
typedef {c_type} out_type;
#define READ_AND_MAP(i) ({element})
#define REDUCE(a, b) ({combine})
extern "C" __global__ void {name}({parameters}, out_type *_out, long long n) {{
    __shared__ __align__(16) unsigned char _memory[{_THREADS} * sizeof(out_type)];
    out_type *_shared = (out_type *)_memory;
    out_type _total = {neutral};
    for (long long i = blockIdx.x * (long long){_THREADS} + threadIdx.x; i < n; i += gridDim.x * (long long){_THREADS})
        _total = REDUCE(_total, READ_AND_MAP(i));
    _shared[threadIdx.x] = _total;
    __syncthreads();
    for (int _half = {_THREADS // 2}; _half > 0; _half /= 2) {{
        if (threadIdx.x < _half) _shared[threadIdx.x] = REDUCE(_shared[threadIdx.x], _shared[threadIdx.x + _half]);
        __syncthreads();
    }}
    if (threadIdx.x == 0) _out[blockIdx.x] = _shared[0];
}}
"""


class ReductionKernel:
    """`ReductionKernel(np.float32, neutral="0", reduce_expr="a + b", map_expr="x[i] * y[i]",
    arguments="float *x, float *y")(x, y).get()`.

    Parameters
    ----------
    dtype_out : dtype
        The result's dtype.
    neutral : scalar
        The identity of the reduction.
    reduce_expr : str
        An expression that combines the values `a` and `b`.
    map_expr : str, optional
        An expression for the value of element `i`; the element of the first array if None.
    arguments : str or list, optional
        The parameters, as for `ElementwiseKernel`.
    name : str, default "reduce_kernel"
        As for `ElementwiseKernel`.
    preamble : str, default ""
        As for `ElementwiseKernel`.
    options : sequence of str, optional
        As for `ElementwiseKernel`.
    keep : bool, default False
        Ignored, as compilation leaves no files behind.
    allocator : callable, optional
        The allocator of results.

    Raises
    ------
    NotImplementedError
        If the device is a CPU.
    RuntimeError
        If compilation fails.

    See Also
    --------
    pycuda.elementwise.ElementwiseKernel, pycuda.scan.InclusiveScanKernel

    Examples
    --------
    >>> # needs a GPU
    >>> squares = ReductionKernel(np.float32, "0", "a + b", "x[i] * x[i]", "float *x")
    >>> squares(gpuarray.arange(4, dtype=np.float32))
    array(14., dtype=float32)
    """

    def __init__(
        self, dtype_out: Any, neutral: Any, reduce_expr: str, map_expr: str | None = None, arguments: Any = None,
        name: str = "reduce_kernel", keep: bool = False, options: Any = None, preamble: str = "", allocator: Any = None,
    ) -> None:  # fmt: skip
        self.dtype_out = np.dtype(dtype_out)
        declared = [VectorArg(self.dtype_out, "in")] if arguments is None else parse_arguments(arguments)
        self.arguments, self.name, self.allocator = declared, name, allocator
        vectors = [a for a in declared if a.is_vector]
        if not vectors:
            raise RuntimeError("ReductionKernel can only be used with functions that have at least one vector argument")
        c_type, flags = dtype_to_ctype(self.dtype_out), tuple(options or ())
        parameters = ", ".join(a.declarator() for a in declared)
        element = map_expr or f"{vectors[0].name}[i]"
        first = _source(f"{name}_stage1", c_type, parameters, str(neutral), reduce_expr, element, preamble)
        second = _source(f"{name}_stage2", c_type, f"{c_type} *_part", str(neutral), reduce_expr, "_part[i]", preamble)
        self._first = RawKernel(translated(first, True), f"{name}_stage1", flags)
        self._second = RawKernel(translated(second, True), f"{name}_stage2", flags)

    def __call__(self, *args: Any, out: Any = None, stream: Any = None, allocator: Any = None) -> Any:
        """Returns the reduction as a 0-d array; in `out` if given."""
        count = vectors_of(self.arguments, args, self.name)[0].size
        blocks = max(min(-(-count // _THREADS), _MOST_BLOCKS), 1)
        wanted = allocator or self.allocator or allocator_of(*args)
        result = gpuarray.empty((), self.dtype_out, wanted) if out is None else out
        part = result if blocks == 1 else gpuarray.empty(blocks, self.dtype_out, wanted)
        values = [*launch_values(self.arguments, args), part._launch_argument, np.int64(count)]
        self._first((blocks,), (_THREADS,), values)
        if blocks > 1:
            last = [part._launch_argument, result._launch_argument, np.int64(blocks)]
            self._second((1,), (_THREADS,), last)
        return result


__all__ = ["ReductionKernel"]
