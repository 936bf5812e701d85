"""CuPy's kernels as the functions of filters: `RawKernel` and `ReductionKernel` become device functions, which one
thread calls for one window or line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cuprous import _core
from cuprous._common.arguments import ndarray
from cuprous.cuda._elementwise_kernel import C_TYPES, ElementwiseKernel
from cuprous.cuda._elementwise_kernel import source as prelude
from cuprous.cuda._raw_kernels import RawKernel
from cuprous.cuda._reduction_kernel import ReductionKernel

if TYPE_CHECKING:
    from cuprous.cuda._elementwise_kernel import Typed

#: The threads of a block.
_THREADS = 128
_LOOP = (
    "for (long long _row = blockIdx.x * (long long)blockDim.x + threadIdx.x; _row < _rows; "
    "_row += (long long)gridDim.x * blockDim.x)"
)


def is_kernel(function: Any) -> bool:
    """Returns true for CuPy's kernels."""
    return isinstance(function, (RawKernel, ReductionKernel, ElementwiseKernel))


def check_kernel(name: str, function: Any, kinds: tuple[type, ...], arguments: Sequence[Any], keywords: Any) -> None:
    """Checks a kernel as a filter's function.

    Raises
    ------
    TypeError
        For a kind of kernel that the filter does not take, other numbers of parameters than one input and one output,
        and further arguments, which kernels do not have.
    ValueError
        For a kernel of a file, whose code is not known.
    """
    if not isinstance(function, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"[{name}] only {wanted} allowed (not {type(function).__name__})")
    if isinstance(function, ReductionKernel) and (function.nin, function.nout) != (1, 1):
        raise TypeError("ReductionKernel must have 1 input and output")
    if arguments or keywords:
        raise TypeError(f"[{name}] kernels take no extra_arguments and extra_keywords: write the values in their code")
    if isinstance(function, RawKernel) and function.code is None:
        raise ValueError(f"[{name}] {function.name} is a kernel of a file: pass RawKernel(code, {function.name!r})")


def _as_device_function(kernel: RawKernel) -> str:
    return f"namespace raw_kernel {{\n{(kernel.code or '').replace('__global__', '__device__')}\n}}\n"


def _launch(code: str, name: str, like: RawKernel | Typed, arrays: Sequence[ndarray], rows: int) -> None:
    import numpy as np

    if isinstance(like, RawKernel):
        kernel = RawKernel(code, name, like.options, like.backend, like._module.translate_cucomplex)
    else:
        kernel = RawKernel(code, name, like.options)
    kernel((min(-(-rows // _THREADS), 1 << 20),), (_THREADS,), (*arrays, np.int64(rows)))


def window_dtype(kernel: RawKernel | ReductionKernel, input_dtype: str) -> str:
    """Returns the dtype of the windows that a kernel is called with."""
    if isinstance(kernel, RawKernel):
        return "float64"
    param = kernel.in_params[0]
    return param.dtype({param.type: input_dtype})


def of_windows(kernel: RawKernel | ReductionKernel, windows: ndarray, output_dtype: str) -> ndarray:
    """Returns a kernel's value for each window, a row of the last axis.

    Parameters
    ----------
    kernel : RawKernel or ReductionKernel
        `void f(double* window, int size, double* value)`, or a reduction of a window's elements.
    windows : ndarray
        The windows in the kernel's `window_dtype`, in C order.
    output_dtype : str
        The dtype of a reduction's output whose letter is not its input's.
    """
    *shape, size = windows.shape
    rows = windows.size // max(1, size)
    name = f"windows_{kernel.name}"
    if isinstance(kernel, RawKernel):
        result = _core.empty(shape, "float64")
        code = f"""{_as_device_function(kernel)}
extern "C" __global__ void {name}(double* _windows, double* _out, long long _rows) {{
    {_LOOP} raw_kernel::{kernel.name}(_windows + _row * {size}, {size}, _out + _row);
}}
"""
    else:
        into, out = kernel.in_params[0], kernel.out_params[0]
        letters = {into.type: windows.dtype_name} if into.generic else {}
        if out.generic:
            letters.setdefault(out.type, output_dtype)
        result = _core.empty(shape, out.dtype(letters))
        code = _reduction(kernel, name, letters, size, [windows.dtype_name, result.dtype_name])
    _launch(code, name, kernel, (windows, result), rows)
    return result


def _reduction(kernel: ReductionKernel, name: str, letters: dict[str, str], size: int, dtypes: list[str]) -> str:
    """Returns the code of a reduction of each window; `_in_ind` and the raw input are those of the window."""
    into, out = kernel.in_params[0].name, kernel.out_params[0].name
    in_type, out_type = (C_TYPES[dtype] for dtype in dtypes)
    known = kernel.identity not in (None, "")
    types = "".join(f"typedef {C_TYPES[dtype]} {letter};\n" for letter, dtype in letters.items())
    return f"""{prelude(kernel.preamble + kernel.map_expr, dtypes)}
{types}{kernel.preamble}
typedef {kernel.reduce_type or out_type} _type_reduce;
extern "C" __global__ void {name}(const {in_type}* _windows, {out_type}* _out, long long _rows) {{
    const Indexer _ind = {{{size}}}, _in_ind = {{{size}}}, _out_ind = {{1}};
    {_LOOP} {{
        const {in_type}* _raw_{into} = _windows + _row * {size};
        _type_reduce _total = {f"_type_reduce({kernel.identity})" if known else "_type_reduce()"};
        for (int _j = 0; _j < {size}; ++_j) {{
            const {in_type} {into} = _raw_{into}[_j];
            const _type_reduce b = static_cast<_type_reduce>({kernel.map_expr});
            const _type_reduce a = _total;
            _total = {"" if known else "_j == 0 ? b : "}static_cast<_type_reduce>({kernel.reduce_expr});
        }}
        const _type_reduce a = _total;
        {out_type}& {out} = _out[_row];
        {kernel.post_map_expr};
    }}
}}
"""


def of_lines(kernel: RawKernel, lines: ndarray, length: int) -> ndarray:
    """Returns what a kernel writes for each line of float64, a row of the last axis.

    Parameters
    ----------
    kernel : RawKernel
        `void f(double* line, ptrdiff_t length, double* result, ptrdiff_t length)`.
    lines : ndarray
        The lines with their extensions, in C order.
    length : int
        The length of a result.
    """
    *shape, extent = lines.shape
    result = _core.full((*shape, length), 0.0, "float64")
    name = f"lines_{kernel.name}"
    code = f"""{_as_device_function(kernel)}
extern "C" __global__ void {name}(double* _lines, double* _out, long long _rows) {{
    {_LOOP} raw_kernel::{kernel.name}(_lines + _row * {extent}, {extent}, _out + _row * {length}, {length});
}}
"""
    _launch(code, name, kernel, (lines, result), lines.size // extent)
    return result


__all__ = ["check_kernel", "is_kernel", "of_lines", "of_windows", "window_dtype"]
