"""PyCUDA's `elementwise`: kernels from a few lines of CUDA C++ for each element `i` of contiguous arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuprous.cuda._raw_kernels import RawKernel
from cuprous.pycuda.compiler import translated
from cuprous.pycuda.tools import Argument, parse_arguments

#: The greatest number of blocks of a launch; threads iterate over further elements.
_MOST_BLOCKS = 4096


def vectors_of(arguments: list[Argument], operands: tuple[Any, ...], name: str) -> list[Any]:
    """Returns the arrays among the arguments, after checking them.

    Raises
    ------
    TypeError
        For a wrong number of arguments.
    RuntimeError
        For arrays that are not contiguous.
    """
    if len(operands) != len(arguments):
        raise TypeError(f"{name} takes {len(arguments)} arguments, got {len(operands)}")
    vectors = [a for a, argument in zip(operands, arguments, strict=True) if argument.is_vector]
    for a in vectors:
        if not (a.flags.c_contiguous or a.flags.f_contiguous):
            raise RuntimeError(f"{name} cannot deal with non-contiguous arrays")
    return vectors


def launch_values(arguments: list[Argument], operands: tuple[Any, ...]) -> list[Any]:
    """Converts arguments for the launch: to arrays, and numbers of their dtypes."""
    return [
        a._launch_argument if argument.is_vector else _number(argument.dtype, a)
        for a, argument in zip(operands, arguments, strict=True)
    ]


def _number(dtype: np.dtype[Any], value: Any) -> Any:
    return dtype.type(value) if dtype.names is None else np.asarray(value, dtype).tobytes()


class ElementwiseKernel:
    """An elementwise kernel: `ElementwiseKernel("float a, float *x, float *z", "z[i] = a * x[i]", "scale")(2, x, z)`.

    Parameters
    ----------
    arguments : str or list
        The parameters as C declarations, or a list of `VectorArg` and `ScalarArg`.
    operation : str
        The code for one element.
    name : str, default "kernel"
        The kernel's name.
    preamble : str, default ""
        Code before the kernel.
    loop_prep, after_loop : str, default ""
        Code before and after the loop over a thread's elements.
    keep : bool, default False
        Ignored, as compilation leaves no files behind.
    options : sequence of str, optional
        Compiler options.

    Raises
    ------
    NotImplementedError
        If the device is a CPU.
    RuntimeError
        If compilation fails.

    See Also
    --------
    pycuda.reduction.ReductionKernel, pycuda.scan.InclusiveScanKernel, pycuda.compiler.SourceModule

    Examples
    --------
    >>> # needs a GPU
    >>> axpy = ElementwiseKernel("float a, float *x, float *y", "y[i] = a * x[i] + y[i]", "axpy")
    >>> x, y = gpuarray.arange(3, dtype=np.float32), gpuarray.ones(3, np.float32)
    >>> axpy(2, x, y)
    >>> y
    array([1., 3., 5.], dtype=float32)
    """

    def __init__(
        self, arguments: Any, operation: str, name: str = "kernel", keep: bool = False, options: Any = None,
        preamble: str = "", loop_prep: str = "", after_loop: str = "",
    ) -> None:  # fmt: skip
        self.arguments = parse_arguments(arguments)
        self.name = name
        if not any(a.is_vector for a in self.arguments):
            raise RuntimeError("ElementwiseKernel can only be used with functions that have a vector argument")
        complex_ = "#include <pycuda-complex.hpp>\n" if any(a.dtype.kind == "c" for a in self.arguments) else ""
        parameters = ", ".join(a.declarator() for a in self.arguments)
        source = f"""{complex_}{preamble}
extern "C" __global__ void {name}({parameters}, long long _start, long long _stop, long long _step) {{
    const long long total_threads = gridDim.x * (long long)blockDim.x;
    const long long n = _stop;
    {loop_prep};
    for (long long i = _start + (blockIdx.x * (long long)blockDim.x + threadIdx.x) * _step; i < _stop;
         i += total_threads * _step) {{
        {operation};
    }}
    {after_loop};
}}
"""
        self.kernel = RawKernel(translated(source, True), name, tuple(options or ()))

    def __call__(self, *args: Any, range: Any = None, slice: Any = None, stream: Any = None) -> None:
        """Runs the kernel for all elements, or for those of a slice.

        Raises
        ------
        NotImplementedError
            If the device is a CPU.
        """
        import builtins

        first = vectors_of(self.arguments, args, self.name)[0]
        chosen = range if range is not None else slice if slice is not None else builtins.slice(None)
        span = builtins.range(*chosen.indices(first.size))
        if span.step < 0:  # the same elements; threads have no order
            span = span[::-1]
        if span:
            values = [*launch_values(self.arguments, args), *map(np.int64, (span.start, span.stop, span.step))]
            self.kernel((min(-(-len(span) // 128), _MOST_BLOCKS),), (128,), values)


__all__ = ["ElementwiseKernel"]
