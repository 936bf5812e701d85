"""NumPy and CuPy, recorded and fused: `import cuprous as cp`.

Operations on arrays are recorded, and run fused with their neighbors when a value is needed. Arrays live on the CPU or
on an NVIDIA GPU (`cp.set_device`). Names, defaults and errors are NumPy's, or CuPy's for what NumPy does not have.
Importing this package imports neither NumPy nor ml_dtypes.
"""

from __future__ import annotations

import sys
from typing import Any

from cuprous import _clients, _unsupported
from cuprous._array import native as _native
from cuprous._core import OutOfMemoryError, ndarray, ufunc
from cuprous._exports import Exports as _Exports

__version__ = "0.1.0"

#: Module -> public names, which are imported on first use. `__init__.pyi` has them for type checkers
#: (`python -m tests.make_stubs`).
_PUBLIC = {
    "._array.array_api": "__array_api_version__ __array_namespace_info__",
    "._array.flat_iterator": "flatiter",
    "._common.convert": "asnumpy",
    "._common.device": (
        "MemoryPool fuse get_default_memory_pool get_device set_device show_code show_config synchronize"
    ),
    "._common.dlpack": "from_dlpack",
    "._common.dtype_info": "can_cast common_type finfo iinfo isdtype min_scalar_type promote_types result_type",
    "._common.masks": "flatnonzero",
    "._common.transfers": "ImplicitConversionError TransferWarning get_transfers set_transfers",
    "._functions.apply_along": "apply_along_axis apply_over_axes",
    "._functions.arg_reductions": "argmax argmin",
    "._functions.broadcast": "broadcast",
    "._functions.calculus": "convolve corrcoef correlate cov diff ediff1d gradient interp trapezoid unwrap",
    "._functions.choosing": "choose piecewise select",
    "._functions.complex_parts": "angle imag real",
    "._functions.constants": "e euler_gamma inf nan newaxis pi",
    "._functions.conversion": (
        "array asanyarray asarray asarray_chkfinite ascontiguousarray asfarray asfortranarray astype copy require"
    ),
    "._functions.counting": "argwhere count_nonzero nonzero",
    "._functions.creation": "empty empty_like full full_like ones ones_like zeros zeros_like",
    "._functions.cumulative": "cumprod cumsum cumulative_prod cumulative_sum",
    "._functions.einsum": "einsum einsum_path",
    "._functions.elementwise": "around clip fix i0 isneginf isposinf nan_to_num real_if_close round sinc where",
    "._functions.from_buffers": "frombuffer fromiter fromstring",
    "._functions.histograms": "bincount histogram histogram2d histogram_bin_edges histogramdd",
    "._functions.index_tricks": "c_ ix_ mgrid ndenumerate ndindex ogrid r_",
    "._functions.insertion": "append delete insert",
    "._functions.io": "fromfile genfromtxt load loadtxt save savetxt savez savez_compressed",
    "._functions.joining": "block column_stack concat concatenate dstack hstack row_stack stack vstack",
    "._functions.logic": (
        "allclose array_equal array_equiv get_array_module isclose iscomplex iscomplexobj isfortran isreal "
        "isrealobj isscalar iterable"
    ),
    "._functions.manipulation": (
        "atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes broadcast_to expand_dims matrix_transpose "
        "moveaxis ndim permute_dims ravel reshape rollaxis shape size squeeze swapaxes transpose"
    ),
    "._functions.matrices": "diag diagflat eye fromfunction identity indices meshgrid tri tril triu vander",
    "._functions.matrix_indices": (
        "diag_indices diag_indices_from diagonal fill_diagonal mask_indices tril_indices tril_indices_from "
        "triu_indices triu_indices_from"
    ),
    "._functions.memory": "copyto may_share_memory shares_memory",
    "._functions.moments": "average mean std var",
    "._functions.multi_indices": "ravel_multi_index unravel_index",
    "._functions.nan_reductions": (
        "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar"
    ),
    "._functions.padding": "pad",
    "._functions.poly1d": "poly1d",
    "._functions.polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
    "._functions.printing": "array2string array_repr array_str who",
    "._functions.products": "cross dot inner kron outer tensordot trace vdot",
    "._functions.quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "._functions.ranges": "arange geomspace linspace logspace",
    "._functions.rearrangement": "flip fliplr flipud resize roll rot90 trim_zeros",
    "._functions.reductions": "all amax amin any max min prod ptp sum",
    "._functions.repetition": "repeat tile",
    "._functions.selection": "compress extract place put put_along_axis putmask take take_along_axis",
    "._functions.sets": (
        "in1d intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts unique_inverse unique_values"
    ),
    "._functions.sorting": "argpartition argsort digitize lexsort partition searchsorted sort sort_complex topk",
    "._functions.splitting": "array_split dsplit hsplit split unstack vsplit",
    "._functions.windows": "bartlett blackman hamming hanning kaiser packbits unpackbits",
    "._tools.estimate": "estimate estimate_simple",
    "._tools.explanation": "explain",
    "._tools.pacing": "paced",
    "._tools.profile": "profile",
    "._tools.scaling": "estimate_scaling",
    "._tools.timing": "timeit",
    "._ufuncs.gufuncs": "matmul matvec vecdot vecmat",
    "._ufuncs.one_output": (
        "abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan "
        "atan2 atanh bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or "
        "bitwise_right_shift bitwise_xor cbrt ceil conj conjugate copysign cos cosh deg2rad degrees divide "
        "equal exp exp2 expm1 fabs float_power floor floor_divide fmax fmin fmod gcd greater greater_equal "
        "heaviside hypot invert isfinite isinf isnan lcm ldexp left_shift less less_equal log log10 log1p "
        "log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum mod "
        "multiply negative nextafter not_equal positive pow power rad2deg radians reciprocal remainder "
        "right_shift rint rsqrt sign signbit sin sinh spacing sqrt square subtract tan tanh true_divide trunc"
    ),
    "._ufuncs.two_outputs": "divmod frexp modf",
    ".cuda._elementwise_kernel": "ElementwiseKernel",
    ".cuda._pinned_pool": "PinnedMemoryPool get_default_pinned_memory_pool",
    ".cuda._raw_kernels": "RawKernel RawModule",
    ".cuda._reduction_kernel": "ReductionKernel",
    ".runner": "bind bound real_package unbind",
}

#: NumPy's own objects, functions that need the kernel compiler, and hooks: available, but not in `__all__`.
_OTHERS = {
    "._functions.vectorize": "guvectorize vectorize",
    "ml_dtypes": "bfloat16",
    "numpy": (
        "dtype issubdtype ScalarType typecodes sctypeDict mintypecode typename errstate seterr geterr s_ "
        "index_exp format_float_positional format_float_scientific get_printoptions set_printoptions "
        "printoptions base_repr binary_repr bool bool_ byte ubyte short ushort intc uintc int_ uint intp "
        "uintp long ulong longlong ulonglong int8 int16 int32 int64 uint8 uint16 uint32 uint64 half float16 "
        "single float32 double float64 csingle complex64 cdouble complex128 generic number integer "
        "signedinteger unsignedinteger inexact floating complexfloating True_ False_ little_endian"
    ),
    "numpy.exceptions": "AxisError",
    ".runner.hooks": (
        "load_ipython_extension pytest_addoption pytest_load_initial_conftests pytest_report_header "
        "unload_ipython_extension"
    ),
}

#: Submodules. SciPy looks for special functions under `special` (data-apis/array-api#725).
_MODULES = {
    **{
        name: f".{name}"
        for name in (
            "cuda",
            "cupyx",
            "exceptions",
            "fft",
            "lib",
            "linalg",
            "polynomial",
            "random",
            "scipy",
        )
    },
    "special": ".scipy.special",
}

_EXPORTS = _Exports(__name__, _PUBLIC, _OTHERS, modules=_MODULES)

__all__ = ["OutOfMemoryError", "ndarray", "ufunc"]
__all__ += [name for names in _PUBLIC.values() for name in names.split()]


def __getattr__(name: str) -> Any:
    if name in _unsupported.ALTERNATIVES:
        return _unsupported.Unsupported(name)
    try:
        return _EXPORTS.get(name)
    except AttributeError as error:
        if name not in _unsupported.ABSENT:
            raise
        raise AttributeError(f"{error}: {_unsupported.ABSENT[name]}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})


_native.register()
_clients.install()
if "IPython" in sys.modules:
    from cuprous._tools import notebook as _notebook

    _notebook.install_if_running()
