"""PyCUDA's `scan`: prefix scans."""

from __future__ import annotations

from typing import Any

import numpy as np

import cuprous
from cuprous.cuda._raw_kernels import RawKernel
from cuprous.pycuda.compiler import translated
from cuprous.pycuda.tools import dtype_to_ctype

_THREADS = 512


class _ScanKernel:
    """A scan of a 1-d array by a single block. Sums use the engine's `cumsum` and run on any device."""

    exclusive = False

    def __init__(
        self, dtype: Any, scan_expr: str, neutral: Any = None, name_prefix: str = "scan", options: Any = None,
        preamble: str = "", devices: Any = None,
    ) -> None:  # fmt: skip
        if devices is not None:
            raise NotImplementedError("[scan] devices= is not supported; scans run on the current device")
        self.dtype = np.dtype(dtype)
        self.neutral = neutral
        if self.exclusive and neutral is None:
            raise ValueError("neutral element is required for exclusive scan")
        self.is_sum = scan_expr.replace(" ", "") in ("a+b", "b+a") and str(neutral) in ("None", "0", "0.0")
        c_type = dtype_to_ctype(self.dtype)
        complex_ = "#include <pycuda-complex.hpp>\n" if self.dtype.kind == "c" else ""
        source = f"""{complex_}{preamble}
typedef {c_type} value_type;
__device__ value_type scan_two(value_type a, value_type b) {{ return {scan_expr}; }}
extern "C" __global__ void {name_prefix}(const value_type *in, value_type *out, long long n) {{
    __shared__ __align__(16) unsigned char memory[{_THREADS} * sizeof(value_type)];
    value_type *part = (value_type *)memory;
    const int t = threadIdx.x;
    value_type before;  // of all earlier pieces, once there is one
    for (long long start = 0; start < n; start += {_THREADS}) {{
        const long long i = start + t;
        if (i < n) part[t] = in[i];
        __syncthreads();
        for (int step = 1; step < {_THREADS}; step *= 2) {{
            value_type mine = part[t];
            if (t >= step) mine = scan_two(part[t - step], mine);
            __syncthreads();
            part[t] = mine;
            __syncthreads();
        }}
        const value_type whole = start ? scan_two(before, part[t]) : part[t];
        const value_type left = t ? part[t - 1] : part[0];
        if (i < n) {{
            {self._store(str(neutral))}
        }}
        const value_type last = part[{_THREADS - 1}];
        before = start ? scan_two(before, last) : last;
        __syncthreads();
    }}
}}
"""
        self.kernel = RawKernel(translated(source, True), name_prefix, tuple(options or ()))

    def _store(self, neutral: str) -> str:
        return "out[i] = whole;"

    def __call__(self, input_ary: Any, output_ary: Any = None, allocator: Any = None, stream: Any = None) -> Any:
        """Computes the scan in `output_ary` if given, otherwise in place, which needs no `allocator`.

        Raises
        ------
        NotImplementedError
            For scans other than sums if the device is a CPU.
        TypeError
            For an array of another dtype.
        ValueError
            For an array that is not one-dimensional.
        """
        output = input_ary if output_ary is None else output_ary
        if input_ary.dtype != self.dtype:
            raise TypeError(f"a scan of {self.dtype} cannot take an array of {input_ary.dtype}")
        if input_ary.ndim != 1:
            raise ValueError("a scan takes a 1-d array")
        source = input_ary._launch_argument
        if self.is_sum:
            total = cuprous.cumsum(source, dtype=self.dtype)
            output._launch_argument[...] = total - source if self.exclusive else total
        elif input_ary.size:
            if output is input_ary:  # the block reads before it writes only within a chunk, so scan a copy
                source = cuprous.copy(source)
            values = [source, output._launch_argument, np.int64(input_ary.size)]
            self.kernel((1,), (_THREADS,), values)
        return output


class InclusiveScanKernel(_ScanKernel):
    """An inclusive scan: element `i` reduces the elements up to `i`, as in `InclusiveScanKernel(np.int32, "a + b")`.

    See Also
    --------
    pycuda.scan.ExclusiveScanKernel

    Examples
    --------
    >>> scan = InclusiveScanKernel(np.int32, "a + b")
    >>> scan(gpuarray.arange(4, dtype=np.int32))
    array([0, 1, 3, 6], dtype=int32)
    """


class ExclusiveScanKernel(_ScanKernel):
    """An exclusive scan: element `i` reduces the elements before `i`, as in `ExclusiveScanKernel(np.int32, "a + b",
    0)`.

    See Also
    --------
    pycuda.scan.InclusiveScanKernel

    Examples
    --------
    >>> scan = ExclusiveScanKernel(np.int32, "a + b", 0)
    >>> scan(gpuarray.arange(4, dtype=np.int32))
    array([0, 0, 1, 3], dtype=int32)
    """

    exclusive = True

    def _store(self, neutral: str) -> str:
        return f"out[i] = t ? (start ? scan_two(before, left) : left) : start ? before : value_type({neutral});"


__all__ = ["ExclusiveScanKernel", "InclusiveScanKernel"]
