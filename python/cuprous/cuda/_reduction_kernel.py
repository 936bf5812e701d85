"""CuPy's `ReductionKernel`: reductions along axes from a few expressions of CUDA C++."""

from __future__ import annotations

import math
from typing import Any

import cuprous
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import ndarray
from cuprous.cuda._elementwise_kernel import C_TYPES, Typed, source
from cuprous.cuda._raw_kernels import RawKernel


class ReductionKernel(Typed):
    """A kernel that reduces axes: `ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")`.

    Parameters
    ----------
    in_params, out_params : str
        The parameters, as for `ElementwiseKernel`; there is one output.
    map_expr : str
        An element's value.
    reduce_expr : str
        Two values `a` and `b` as one.
    post_map_expr : str
        What is done with the result `a`.
    identity : scalar
        The result for no elements.
    name : str, default "reduce_kernel"
        The kernel's name.
    reduce_type : str, optional
        The type in which it reduces; that of the output if None.
    reduce_dims : bool, default True
        Has no effect; accepted for compatibility with CuPy.
    preamble : str, default ""
        Code before the kernel.
    options : tuple of str, optional
        Options for the compiler.

    Raises
    ------
    NotImplementedError
        If the device is a CPU.

    See Also
    --------
    ElementwiseKernel, RawKernel, fuse

    Examples
    --------
    >>> norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    >>> norm(cp.asarray([3.0, 4.0]))  # doctest: +SKIP
    array(5.)
    """

    def __init__(
        self, in_params: str, out_params: str, map_expr: str, reduce_expr: str, post_map_expr: str, identity: Any,
        name: str = "reduce_kernel", reduce_type: str | None = None, reduce_dims: bool = True, preamble: str = "",
        options: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(in_params, out_params, name, preamble, options)
        if self.nout != 1:
            raise NotImplementedError("[ReductionKernel] one output is supported")
        self.map_expr, self.reduce_expr, self.post_map_expr = map_expr, reduce_expr, post_map_expr
        self.identity, self.reduce_type = identity, reduce_type

    def __call__(
        self, *args: Any, out: Any = None, axis: Any = None, keepdims: bool = False, stream: Any = None
    ) -> Any:
        """Reduces some axes, all of them if `axis` is None."""
        import numpy as np

        if len(args) == self.nargs and out is None:
            *rest, out = args
            args = tuple(rest)
        if len(args) != self.nin:
            raise TypeError(f"Wrong number of arguments for {self.name!r}: {self.nin}, got {len(args)}")
        inputs = self._arguments(args)
        letters = self._letters(self.in_params, inputs)
        if out is not None and self.out_params[0].generic:
            letters.setdefault(self.out_params[0].type, out.dtype_name)
        shapes = self._shapes(inputs)
        if not shapes:
            raise ValueError("Loop size is undecided.")
        shape = cuprous.broadcast_shapes(*shapes)
        axes = tuple(range(len(shape))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(a + len(shape) if a < 0 else a for a in axes)
        if len(set(axes)) != len(axes):
            raise ValueError("duplicate value in 'axis'")
        if any(not 0 <= a < len(shape) for a in axes):
            raise np.exceptions.AxisError(f"axis {axis} is out of bounds for array of dimension {len(shape)}")
        kept = [a for a in range(len(shape)) if a not in axes]
        result_shape = tuple(1 if a in axes else shape[a] for a in range(len(shape)))
        plain = tuple(shape[a] for a in kept)
        width, height = math.prod(shape[a] for a in axes), math.prod(plain)
        if width == 0 and self.identity is None:
            raise ValueError(f"zero-size array to reduction operation {self.name} which has no identity")
        target = _core.empty(plain, self.out_params[0].dtype(letters))
        values: list[Any] = []
        dtypes = []
        for param, a in zip(self.in_params, inputs, strict=True):
            if isinstance(a, ndarray) and not param.raw:
                moved = cuprous.transpose(_core.broadcast_to(a, shape), (*kept, *axes))
                a = cuprous.ascontiguousarray(moved)
            elif not isinstance(a, ndarray):
                a = _dtypes.numpy_dtype(param.dtype(letters)).type(a)
            dtypes.append(a.dtype_name if isinstance(a, ndarray) else None)
            values.append(a)
        key = (tuple(dtypes), tuple(sorted(letters.items())))
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._make(values, letters)
        if height:
            kernel((min(height, 1 << 20),), (256,), (*values, target, np.int64(height), np.int64(width)))
        result = cuprous.reshape(target, result_shape if keepdims else plain)
        if out is None:
            return result
        out[...] = result
        return out

    def _make(self, values: list[Any], letters: dict[str, str]) -> RawKernel:
        heads, elements, dtypes = [], [], []
        for param, a in zip(self.in_params, values, strict=True):
            dtype = a.dtype_name if isinstance(a, ndarray) else param.dtype(letters)
            dtypes.append(dtype)
            c_type = C_TYPES[dtype]
            if not isinstance(a, ndarray):
                heads.append(f"{c_type} {param.name}")
            elif param.raw:
                heads.append(f"const {c_type}* {param.name}")
            else:
                heads.append(f"const {c_type}* _raw_{param.name}")
                elements.append(f"const {c_type} {param.name} = _raw_{param.name}[_i];")
        out = self.out_params[0]
        dtypes.append(out.dtype(letters))
        out_type = C_TYPES[dtypes[-1]]
        reduce_dtype = self.reduce_type or out_type
        heads += [f"{out_type}* _out", "long long _rows", "long long _width"]
        types = "".join(f"typedef {C_TYPES[d]} {letter};\n" for letter, d in letters.items())
        start = f"_type_reduce({self.identity})" if self.identity not in (None, "") else "_type_reduce()"
        code = f"""{source(self.preamble + self.map_expr, dtypes)}
{types}{self.preamble}
typedef {reduce_dtype} _type_reduce;
extern "C" __global__ void {self._symbol}({", ".join(heads)}) {{
    __shared__ __align__(16) unsigned char _memory[256 * sizeof(_type_reduce)];
    __shared__ bool _there[256];
    _type_reduce* _shared = (_type_reduce*)_memory;
    const Indexer _ind = {{_rows * _width}};
    const Indexer _in_ind = _ind;
    const Indexer _out_ind = {{_rows}};
    for (long long _row = blockIdx.x; _row < _rows; _row += gridDim.x) {{
        _type_reduce _total = {start};
        bool _any = {"true" if self.identity not in (None, "") else "false"};
        for (long long _j = threadIdx.x; _j < _width; _j += blockDim.x) {{
            const long long _i = _row * _width + _j;
            {" ".join(elements)}
            const _type_reduce b = static_cast<_type_reduce>({self.map_expr});
            const _type_reduce a = _total;
            _total = _any ? static_cast<_type_reduce>({self.reduce_expr}) : b;
            _any = true;
        }}
        _shared[threadIdx.x] = _total;
        _there[threadIdx.x] = _any;
        __syncthreads();
        for (int _step = 128; _step > 0; _step /= 2) {{
            if (threadIdx.x < _step && _there[threadIdx.x + _step]) {{
                const _type_reduce a = _shared[threadIdx.x], b = _shared[threadIdx.x + _step];
                _shared[threadIdx.x] = _there[threadIdx.x] ? static_cast<_type_reduce>({self.reduce_expr}) : b;
                _there[threadIdx.x] = true;
            }}
            __syncthreads();
        }}
        if (threadIdx.x == 0) {{
            const _type_reduce a = _shared[0];
            {out_type}& {out.name} = _out[_row];
            {self.post_map_expr};
        }}
        __syncthreads();
    }}
}}
"""
        return RawKernel(code, self._symbol, self.options)


__all__ = ["ReductionKernel"]
