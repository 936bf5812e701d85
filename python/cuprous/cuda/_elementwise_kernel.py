"""CuPy's `ElementwiseKernel`: kernels from CUDA C++ for one element, generic in the dtypes."""

from __future__ import annotations

import math
import struct
from typing import Any

import cuprous
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import ndarray
from cuprous._common.convert import _shared
from cuprous.cuda._headers import COMPLEX
from cuprous.cuda._raw_kernels import RawKernel


class _Names(dict[str, str]):
    def __missing__(self, dtype: str) -> str:
        raise NotImplementedError(f"{dtype} is not supported in kernels of CUDA C++ for elements")


#: Dtypes' names in C++.
C_TYPES = _Names({
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    "float16": "__half",
    "float32": "float", "float64": "double", "complex64": "complex<float>", "complex128": "complex<double>",
})  # fmt: skip
#: C's names as parameters' types.
_FROM_C = {
    "int": "int32", "float": "float32", "double": "float64", "char": "int8", "short": "int16", "long": "int64",
    "longlong": "int64", "uint": "uint32", "size_t": "uint64", "ptrdiff_t": "int64", "half": "float16",
}  # fmt: skip

_PRELUDE = """
template <class T, int N, bool Contiguous> struct CArray {
    T* data;
    const long long* shape_;
    const long long* strides_;
    long long size_;
    __device__ long long size() const { return size_; }
    __device__ const long long* shape() const { return shape_; }
    __device__ const long long* strides() const { return strides_; }
    __device__ T& operator[](long long i) const {
        if (Contiguous) return data[i];
        char* p = (char*)data;
        for (int k = N - 1; k > 0; k--) {
            p += i % shape_[k] * strides_[k];
            i /= shape_[k];
        }
        if (N > 0) p += i * strides_[0];
        return *(T*)p;
    }
    template <class I> __device__ T& operator[](const I* index) const {
        char* p = (char*)data;
        for (int k = 0; k < N; k++) p += index[k] * strides_[k];
        return *(T*)p;
    }
};
template <int N> struct Geometry { long long size, shape[N > 0 ? N : 1], strides[N > 0 ? N : 1]; };
struct Indexer {
    long long n;
    __device__ long long size() const { return n; }
};
"""


class Param:
    """A parameter: `float32 x`, `T y`, `raw T z`."""

    def __init__(self, text: str) -> None:
        words = text.split()
        self.raw = "raw" in words[:-1]
        self.constant = "_non_const" not in words
        words = [w for w in words if w not in ("raw", "const", "_non_const")]
        if len(words) != 2:
            raise ValueError(f'Invalid parameter: {text!r}; write "float32 x", "T y" or "raw T z"')
        self.type, self.name = words
        self.generic = len(self.type) == 1 and self.type.isupper()

    def dtype(self, letters: dict[str, str]) -> str:
        """The dtype's name."""
        if self.generic:
            if self.type not in letters:
                raise TypeError(f"Ambiguous type of {self.name}: no argument has the type {self.type}")
            return letters[self.type]
        return _FROM_C.get(self.type) or _dtypes.name_of(self.type)


def _parse(text: str) -> list[Param]:
    return [Param(part) for part in text.split(",") if part.strip()]


def _scalar_dtype(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return _dtypes.name_of(dtype)
    return {bool: "bool", int: "int64", float: "float64", complex: "complex128"}[type(value)]


class Typed:
    """The base class of both kinds of kernel: type inference and argument conversion.

    Raises
    ------
    ValueError
        For a name that is not a C identifier, and for invalid parameters.
    """

    def __init__(self, in_params: str, out_params: str, name: str, preamble: str, options: tuple[str, ...]) -> None:
        if not name.isidentifier():
            raise ValueError(f"Invalid kernel name: {name!r}")
        self.in_params, self.out_params = _parse(in_params), _parse(out_params)
        self.params = self.in_params + self.out_params
        self.nin, self.nout, self.nargs = len(self.in_params), len(self.out_params), len(self.params)
        self.name, self.preamble, self.options = name, preamble, tuple(options)
        #: The function's name in CUDA C++, where `norm` and many other names are taken.
        self._symbol = f"{name}_kernel"
        self._kernels: dict[tuple[Any, ...], RawKernel] = {}

    @property
    def cached_codes(self) -> dict[tuple[Any, ...], str]:
        """The CUDA C++ by the argument types that it was generated for."""
        return {key: kernel.code or "" for key, kernel in self._kernels.items()}

    @property
    def cached_code(self) -> str:
        """The CUDA C++, if it was generated for a single list of argument types.

        Raises
        ------
        RuntimeError
            If it was not called, or for several kinds of arguments.
        """
        if len(self._kernels) != 1:
            raise RuntimeError(f"{self.name} was made for {len(self._kernels)} kinds of arguments: see cached_codes")
        return next(iter(self.cached_codes.values()))

    def _letters(self, params: list[Param], args: list[Any]) -> dict[str, str]:
        """Returns the dtype of each type letter, from the arrays first, then from numbers."""
        letters: dict[str, str] = {}
        pairs = list(zip(params, args, strict=True))
        for arrays in (True, False):
            for param, arg in pairs:
                if not param.generic or isinstance(arg, ndarray) is not arrays:
                    continue
                found = arg.dtype_name if arrays else _scalar_dtype(arg)
                if arrays and letters.setdefault(param.type, found) != found:
                    raise TypeError(
                        f"Type is mismatched. {param.name} {found} {letters[param.type]}: "
                        f"all arguments of type {param.type} must have one dtype"
                    )
                letters.setdefault(param.type, found)
        return letters

    def _shapes(self, operands: list[Any]) -> list[tuple[int, ...]]:
        """Returns the shapes of the arrays that broadcast."""
        pairs = zip(self.params, operands, strict=False)
        return [a.shape for p, a in pairs if isinstance(a, ndarray) and not p.raw]

    def _arguments(self, args: tuple[Any, ...]) -> list[Any]:
        result = []
        for arg in args:
            shared = None if type(arg) in (bool, int, float, complex) else _shared(arg)
            if shared is None and type(arg) not in (bool, int, float, complex) and not hasattr(arg, "item"):
                raise TypeError(f"Unsupported type {type(arg)}")
            if shared is None and getattr(arg, "ndim", 0) > 0:
                raise TypeError(f"Unsupported type {type(arg)}: move it with cuprous.asarray first")
            result.append(arg if shared is None else shared)
        return result


def _geometry(array: ndarray) -> bytes:
    shape, strides = array.shape or (1,), array.strides or (0,)
    return struct.pack(f"{1 + 2 * len(shape)}q", array.size, *shape, *strides)


def source(preamble: str, dtypes: list[str]) -> str:
    half = "#include <cuda_fp16.h>\n" if "float16" in dtypes else ""
    return half + (COMPLEX if "complex" in preamble + " ".join(dtypes) else "") + _PRELUDE


class ElementwiseKernel(Typed):
    """A kernel for each element: `ElementwiseKernel("float32 x, T y", "T z", "z = x * y", "k")`.

    A parameter is `dtype name`. A capital letter stands for a dtype that is inferred from the arguments. The code
    indexes `raw` parameters itself; `i` is the element's index. Arguments broadcast.

    Parameters
    ----------
    in_params, out_params : str
        The parameters.
    operation : str
        The code for one element.
    name : str, default "kernel"
        The kernel's name.
    reduce_dims : bool, default True
        Has no effect; accepted for compatibility with CuPy.
    preamble : str, default ""
        Code before the kernel.
    no_return : bool, default False
        Whether the kernel writes only to arrays that are passed.
    return_tuple : bool, default False
        Whether a single output is returned as a tuple.
    loop_prep, after_loop : str, default ""
        Code before and after the loop over a thread's elements.
    options : tuple of str, optional
        Options for the compiler.

    Raises
    ------
    NotImplementedError
        If the device is a CPU.

    See Also
    --------
    ReductionKernel, RawKernel, fuse

    Examples
    --------
    >>> scale = cp.ElementwiseKernel("float32 x, T y", "T z", "z = x * y", "scale")
    >>> scale(cp.ones(3, cp.float32), cp.arange(3.0))  # doctest: +SKIP
    array([0., 1., 2.])
    """

    def __init__(
        self, in_params: str, out_params: str, operation: str, name: str = "kernel", reduce_dims: bool = True,
        preamble: str = "", no_return: bool = False, return_tuple: bool = False, *, loop_prep: str = "",
        after_loop: str = "", options: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(in_params, out_params, name, preamble, options)
        self.operation, self.loop_prep, self.after_loop = operation, loop_prep, after_loop
        self.no_return, self.return_tuple = no_return, return_tuple

    def __call__(self, *args: Any, size: int | None = None, block_size: int = 128, stream: Any = None) -> Any:
        """Launches the kernel; without output arguments the results are new arrays.

        Raises
        ------
        TypeError
            For another number of arguments, or dtypes that do not agree with the letters.
        ValueError
            If the shape cannot be inferred; pass `size=`.
        """
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(f"Wrong number of arguments for {self.name!r}: {self.nin} or {self.nargs}, got {len(args)}")
        operands = self._arguments(args)
        letters = self._letters(self.params[: len(operands)], operands)
        shapes = self._shapes(operands)
        if size is not None:
            if shapes:
                raise ValueError("Specified 'size' can be used only if all of the ndarray are 'raw'.")
            shapes = [(size,)]
        if not shapes:
            raise ValueError("Loop size is undecided.")
        shape = cuprous.broadcast_shapes(*shapes)
        for param in self.out_params[len(operands) - self.nin :]:
            operands.append(_core.empty(shape, param.dtype(letters)))
        for param, out in zip(self.out_params, operands[self.nin :], strict=True):
            if not param.raw and out.shape != shape:
                raise ValueError("Out shape is mismatched")
        if block_size <= 0:
            raise ValueError(f"block_size must be positive, not {block_size}")
        count = math.prod(shape)
        if count:
            self._launch(operands, letters, shape, count, block_size)
        outs = operands[self.nin :]
        if self.no_return or not outs:
            return None
        return tuple(outs) if len(outs) > 1 or self.return_tuple else outs[0]

    def _launch(
        self, operands: list[Any], letters: dict[str, str], shape: tuple[int, ...], count: int, block_size: int
    ) -> None:
        arrays = [
            _core.broadcast_to(a, shape) if isinstance(a, ndarray) and not p.raw else a
            for p, a in zip(self.params, operands, strict=True)
        ]
        # A contiguous array is indexed by the element's index alone; the code of a raw array sees the axes.
        arrays = [
            a.reshape(-1) if isinstance(a, ndarray) and a.is_c_contiguous and not p.raw else a
            for p, a in zip(self.params, arrays, strict=True)
        ]
        key = (
            tuple((a.dtype_name, a.ndim, a.is_c_contiguous) if isinstance(a, ndarray) else None for a in arrays),
            tuple(sorted(letters.items())),
        )
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._make(arrays, letters)
        values: list[Any] = []
        for param, a in zip(self.params, arrays, strict=True):
            if isinstance(a, ndarray):
                values += [a, _geometry(a)]
            else:
                values.append(_dtypes.numpy_dtype(param.dtype(letters)).type(a))
        blocks = min(-(-count // block_size), 1 << 20)
        import numpy as np

        kernel((blocks,), (block_size,), (*values, np.int64(count)))

    def _make(self, arrays: list[Any], letters: dict[str, str]) -> RawKernel:
        heads, views, elements, dtypes = [], [], [], []
        for param, a in zip(self.params, arrays, strict=True):
            c_type = C_TYPES[a.dtype_name if isinstance(a, ndarray) else param.dtype(letters)]
            dtypes.append(a.dtype_name if isinstance(a, ndarray) else param.dtype(letters))
            if not isinstance(a, ndarray):
                heads.append(f"{c_type} {param.name}")
                continue
            n, contiguous = a.ndim, str(a.is_c_contiguous).lower()
            heads += [f"{c_type}* {param.name}_data", f"Geometry<{n}> {param.name}_geometry"]
            array = param.name if param.raw else f"_raw_{param.name}"
            views.append(
                f"const CArray<{c_type}, {n}, {contiguous}> {array} = {{{param.name}_data, "
                f"{param.name}_geometry.shape, {param.name}_geometry.strides, {param.name}_geometry.size}};"
            )
            if not param.raw:
                const = "const " if param in self.in_params and param.constant else ""
                elements.append(f"{const}{c_type}& {param.name} = {array}[i];")
        types = "".join(f"typedef {C_TYPES[d]} {letter};\n" for letter, d in letters.items())
        code = f"""{source(self.preamble + self.operation, dtypes)}
{types}{self.preamble}
extern "C" __global__ void {self._symbol}({", ".join([*heads, "long long _count"])}) {{
    const Indexer _ind = {{_count}};
    {" ".join(views)}
    {self.loop_prep};
    const long long _step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < _ind.size(); i += _step) {{
        {" ".join(elements)}
        {self.operation};
    }}
    {self.after_loop};
}}
"""
        return RawKernel(code, self._symbol, self.options)


__all__ = ["ElementwiseKernel"]
