"""NumPy and CuPy, recorded and fused: `import cuprous as cp`.

Every operation on an array is recorded and runs, fused with its neighbours, when a value is needed. Arrays live on
the CPU or on an NVIDIA GPU (`cp.set_device`); the names, defaults and errors are NumPy's, and CuPy's where NumPy has
none. Importing this package imports neither NumPy nor ml_dtypes.
"""

from __future__ import annotations

from typing import Any

from cuprous import _clients, _core, _names
from cuprous._array import interop
from cuprous._array import methods as _methods
from cuprous._array.array_api import __array_api_version__
from cuprous._array.array_api import namespace_info as __array_namespace_info__
from cuprous._array.interop import asnumpy, from_dlpack
from cuprous._common import indexing, transfers
from cuprous._common.device import (
    MemoryPool,
    PinnedMemoryPool,
    explain,
    fuse,
    get_default_memory_pool,
    get_default_pinned_memory_pool,
    get_device,
    set_device,
    show_code,
    show_config,
    synchronize,
)  # fmt: skip
from cuprous._common.dtype_info import can_cast, finfo, iinfo, isdtype, min_scalar_type, promote_types, result_type
from cuprous._common.indexing import put, put_along_axis, take, take_along_axis
from cuprous._common.transfers import ImplicitConversionError, TransferWarning, get_transfers, set_transfers
from cuprous._functions import products
from cuprous._functions.broadcast import broadcast
from cuprous._functions.calculus import convolve, corrcoef, correlate, cov, diff, ediff1d, gradient, interp, trapezoid
from cuprous._functions.counting import argwhere, compress, count_nonzero, extract, flatnonzero, nonzero, place, putmask
from cuprous._functions.creation import (
    arange,
    asanyarray,
    asarray,
    asarray_chkfinite,
    ascontiguousarray,
    asfarray,
    asfortranarray,
    astype,
    copy,
    diag,
    diagflat,
    empty,
    empty_like,
    eye,
    frombuffer,
    fromfunction,
    fromiter,
    fromstring,
    full,
    full_like,
    geomspace,
    identity,
    indices,
    linspace,
    logspace,
    meshgrid,
    ones,
    ones_like,
    require,
    tri,
    tril,
    triu,
    vander,
    zeros,
    zeros_like,
)  # fmt: skip
from cuprous._functions.creation import (
    array_ as array,
)
from cuprous._functions.einsum import einsum, einsum_path
from cuprous._functions.elementwise import (
    angle,
    around,
    clip,
    fix,
    i0,
    imag,
    isneginf,
    isposinf,
    nan_to_num,
    real,
    real_if_close,
    round,
    sinc,
    unwrap,
    where,
)  # fmt: skip
from cuprous._functions.histograms import bincount, histogram, histogram2d, histogram_bin_edges, histogramdd
from cuprous._functions.index_routines import (
    apply_along_axis,
    apply_over_axes,
    c_,
    choose,
    diag_indices,
    diag_indices_from,
    diagonal,
    fill_diagonal,
    ix_,
    mask_indices,
    mgrid,
    ndenumerate,
    ndindex,
    ogrid,
    piecewise,
    r_,
    ravel_multi_index,
    select,
    tril_indices,
    tril_indices_from,
    triu_indices,
    triu_indices_from,
    unravel_index,
)  # fmt: skip
from cuprous._functions.io import fromfile, genfromtxt, load, loadtxt, save, savetxt, savez, savez_compressed
from cuprous._functions.joining import (
    append,
    array_split,
    block,
    column_stack,
    concat,
    concatenate,
    delete,
    dsplit,
    dstack,
    hsplit,
    hstack,
    insert,
    repeat,
    row_stack,
    split,
    stack,
    tile,
    unstack,
    vsplit,
    vstack,
)  # fmt: skip
from cuprous._functions.logic import (
    allclose,
    array_equal,
    array_equiv,
    get_array_module,
    isclose,
    iscomplex,
    iscomplexobj,
    isfortran,
    isreal,
    isrealobj,
    isscalar,
    iterable,
)  # fmt: skip
from cuprous._functions.manipulation import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    copyto,
    expand_dims,
    flip,
    fliplr,
    flipud,
    matrix_transpose,
    may_share_memory,
    moveaxis,
    ndim,
    permute_dims,
    ravel,
    reshape,
    resize,
    roll,
    rollaxis,
    rot90,
    shape,
    shares_memory,
    size,
    squeeze,
    swapaxes,
    transpose,
    trim_zeros,
)  # fmt: skip
from cuprous._functions.nan_reductions import (
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
)  # fmt: skip
from cuprous._functions.padding import pad
from cuprous._functions.polynomials import (
    poly,
    polyadd,
    polyder,
    polydiv,
    polyfit,
    polyint,
    polymul,
    polysub,
    polyval,
    roots,
)  # fmt: skip
from cuprous._functions.printing import array2string, array_repr, array_str, who
from cuprous._functions.products import (
    cross,
    dot,
    inner,
    kron,
    outer,
    tensordot,
    trace,
    vdot,
)  # fmt: skip
from cuprous._functions.quantiles import median, nanmedian, nanpercentile, nanquantile, percentile, quantile
from cuprous._functions.reductions import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    average,
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    max,
    mean,
    min,
    prod,
    ptp,
    std,
    sum,
    var,
)  # fmt: skip
from cuprous._functions.sets import (
    in1d,
    intersect1d,
    isin,
    setdiff1d,
    setxor1d,
    union1d,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)  # fmt: skip
from cuprous._functions.sorting import (
    argpartition,
    argsort,
    digitize,
    lexsort,
    partition,
    searchsorted,
    sort,
    sort_complex,
    topk,
)  # fmt: skip
from cuprous._functions.windows import bartlett, blackman, hamming, hanning, kaiser, packbits, unpackbits
from cuprous._names import common_type, e, euler_gamma, inf, nan, newaxis, pi
from cuprous._tools.estimate import estimate, estimate_simple
from cuprous._tools.profile import profile
from cuprous._tools.timing import timeit
from cuprous._ufuncs import methods as _ufunc_methods
from cuprous._ufuncs.gufuncs import matmul, matvec, vecdot, vecmat
from cuprous._ufuncs.one_output import (
    abs,
    absolute,
    acos,
    acosh,
    add,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_count,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    cbrt,
    ceil,
    conj,
    conjugate,
    copysign,
    cos,
    cosh,
    deg2rad,
    degrees,
    divide,
    equal,
    exp,
    exp2,
    expm1,
    fabs,
    float_power,
    floor,
    floor_divide,
    fmax,
    fmin,
    fmod,
    gcd,
    greater,
    greater_equal,
    heaviside,
    hypot,
    invert,
    isfinite,
    isinf,
    isnan,
    lcm,
    ldexp,
    left_shift,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    mod,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    power,
    rad2deg,
    radians,
    reciprocal,
    remainder,
    right_shift,
    rint,
    rsqrt,
    sign,
    signbit,
    sin,
    sinh,
    spacing,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    true_divide,
    trunc,
)  # fmt: skip
from cuprous._ufuncs.two_outputs import divmod, frexp, modf
from cuprous.cuda._elementwise_kernel import ElementwiseKernel
from cuprous.cuda._raw_kernels import RawKernel, RawModule
from cuprous.cuda._reduction_kernel import ReductionKernel

__version__ = "0.1.0"

ndarray = _core.ndarray
ufunc = _core.ufunc
OutOfMemoryError = _core.OutOfMemoryError

_ufunc_methods.attach()
_methods.attach()
indexing.attach()
products.attach()
interop.attach()
transfers.attach()


def __getattr__(name: str) -> Any:
    value = _names.lookup(__name__, name)
    if not isinstance(value, _names.Unsupported):
        globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_names.names()})


__all__ = [
    "ElementwiseKernel", "ImplicitConversionError", "MemoryPool", "OutOfMemoryError", "PinnedMemoryPool", "RawKernel",
    "RawModule", "ReductionKernel", "TransferWarning", "__array_api_version__",
    "__array_namespace_info__", "abs", "absolute", "acos", "acosh", "add", "all", "allclose", "amax", "amin",
    "angle", "any", "append", "apply_along_axis", "apply_over_axes", "arange", "arccos", "arccosh", "arcsin",
    "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argpartition", "argsort", "argwhere", "around",
    "array", "array2string", "array_equal", "array_equiv", "array_repr", "array_split", "array_str", "asanyarray",
    "asarray", "asarray_chkfinite", "ascontiguousarray", "asfarray", "asfortranarray", "asin", "asinh", "asnumpy",
    "astype", "atan", "atan2", "atanh", "atleast_1d", "atleast_2d", "atleast_3d", "average", "bartlett", "bincount",
    "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "blackman", "block", "broadcast", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "c_", "can_cast", "cbrt", "ceil", "choose", "clip", "column_stack", "common_type", "compress",
    "concat", "concatenate", "conj", "conjugate", "convolve", "copy", "copysign", "copyto", "corrcoef", "correlate",
    "cos", "cosh", "count_nonzero", "cov", "cross", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum",
    "deg2rad", "degrees", "delete", "diag", "diag_indices", "diag_indices_from", "diagflat", "diagonal", "diff",
    "digitize", "divide", "divmod", "dot", "dsplit", "dstack", "e", "ediff1d", "einsum", "einsum_path", "empty",
    "empty_like", "equal", "estimate", "estimate_simple", "euler_gamma", "exp", "exp2", "expand_dims", "explain",
    "expm1", "extract",
    "eye", "fabs", "fill_diagonal", "finfo", "fix", "flatnonzero", "flip", "fliplr", "flipud", "float_power", "floor",
    "floor_divide", "fmax", "fmin", "fmod", "frexp", "from_dlpack", "frombuffer", "fromfile", "fromfunction",
    "fromiter", "fromstring", "full", "full_like", "fuse", "gcd", "genfromtxt", "geomspace", "get_array_module",
    "get_default_memory_pool", "get_default_pinned_memory_pool", "get_device", "get_transfers", "gradient", "greater",
    "greater_equal", "hamming", "hanning", "heaviside", "histogram", "histogram2d", "histogram_bin_edges",
    "histogramdd", "hsplit", "hstack", "hypot", "i0", "identity", "iinfo", "imag", "in1d", "indices", "inf",
    "inner", "insert", "interp", "intersect1d", "invert", "isclose", "iscomplex", "iscomplexobj", "isdtype",
    "isfinite", "isfortran", "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal", "isrealobj", "isscalar",
    "iterable", "ix_", "kaiser", "kron", "lcm", "ldexp", "left_shift", "less", "less_equal", "lexsort", "linspace",
    "load", "loadtxt", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logspace", "mask_indices", "matmul", "matrix_transpose", "matvec", "max",
    "maximum", "may_share_memory", "mean", "median", "meshgrid", "mgrid", "min", "min_scalar_type", "minimum",
    "mod", "modf", "moveaxis", "multiply", "nan", "nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum",
    "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum",
    "nanvar", "ndarray", "ndenumerate", "ndim", "ndindex", "negative", "newaxis", "nextafter", "nonzero",
    "not_equal", "ogrid", "ones", "ones_like", "outer", "packbits", "pad", "partition", "percentile",
    "permute_dims", "pi", "piecewise", "place", "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint",
    "polymul", "polysub", "polyval", "positive", "pow", "power", "prod", "profile", "promote_types", "ptp", "put",
    "put_along_axis", "putmask", "quantile", "r_", "rad2deg", "radians", "ravel", "ravel_multi_index", "real",
    "real_if_close", "reciprocal", "remainder", "repeat", "require", "reshape", "resize", "result_type",
    "right_shift", "rint", "roll", "rollaxis", "roots", "rot90", "round", "row_stack", "rsqrt", "save", "savetxt",
    "savez", "savez_compressed", "searchsorted", "select", "set_device", "set_transfers", "setdiff1d", "setxor1d",
    "shape", "shares_memory", "show_code", "show_config", "sign", "signbit", "sin", "sinc", "sinh", "size", "sort",
    "sort_complex", "spacing", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "swapaxes",
    "synchronize", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "timeit", "topk", "trace",
    "transpose", "trapezoid", "tri", "tril", "tril_indices", "tril_indices_from", "trim_zeros", "triu", "triu_indices",
    "triu_indices_from", "true_divide", "trunc", "ufunc", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "unpackbits", "unravel_index", "unstack", "unwrap", "vander", "var", "vdot",
    "vecdot", "vecmat", "vsplit", "vstack", "where", "who", "zeros", "zeros_like",
]  # fmt: skip

_clients.attach()  # last: a client may ask for any name above
