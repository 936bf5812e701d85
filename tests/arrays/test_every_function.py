"""Compares every array function with NumPy: dtypes, shapes, NaN, infinities and empty arrays.

Each function is covered once and evenly. Details of single functions are tested elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.conftest import DEVICE
from tests.support import DTYPES, alike, hypot, outcome, sample

Call = Callable[[Any, Any], Any]

SHAPES: list[tuple[int, ...]] = [(), (1,), (5,), (0,), (3, 4), (2, 0, 3), (0, 3), (2, 3, 4)]
if DEVICE != "cpu":  # each call compiles its own kernels
    SHAPES = [(), (5,), (0,), (3, 4)]
    DTYPES = ["bool", "int32", "float32"]


def axes(name: str, **more: list[Any]) -> dict[str, Call]:
    """Returns calls of a function with an array and an axis, with and without keepdims if it has that parameter."""
    calls: dict[str, Call] = {}
    for axis in more.pop("axis", [None, 0, -1, 1, 5]):
        calls[f"{name} axis={axis}"] = lambda xp, x, axis=axis: getattr(xp, name)(x, axis=axis)
        for key, values in more.items():
            for value in values:
                calls[f"{name} axis={axis} {key}={value}"] = lambda xp, x, axis=axis, key=key, value=value: getattr(
                    xp, name
                )(x, axis=axis, **{key: value})
    return calls


def plain(*names: str) -> dict[str, Call]:
    """Returns calls of functions with one array."""
    return {name: lambda xp, x, name=name: getattr(xp, name)(x) for name in names}


def pairs(*names: str) -> dict[str, Call]:
    """Returns calls with two arrays of the same dtype: of equal shapes, and broadcast."""
    calls: dict[str, Call] = {}
    for name in names:
        calls[name] = lambda xp, x, name=name: function(xp, name)(x, x[::-1] if x.ndim else x)
        calls[f"{name} row"] = lambda xp, x, name=name: function(xp, name)(x, x[:1] if x.ndim else x)
    return calls


def function(xp: Any, name: str) -> Callable[..., Any]:
    return hypot if xp is np and name == "hypot" else getattr(xp, name)


FOLDS = {
    key: call
    for name in ("sum", "prod", "max", "min", "mean", "std", "var", "any", "all", "ptp", "nansum", "nanprod",
                 "nanmax", "nanmin", "nanmean", "nanstd", "nanvar", "median", "nanmedian", "count_nonzero")
    for key, call in axes(name, axis=[None, 0, -1, 1, (0, 1), (0, -1), (0, 0), ()], keepdims=[True]).items()
}  # fmt: skip

INDICES = {
    key: call
    for name in ("argmax", "argmin", "nanargmax", "nanargmin")
    for key, call in axes(name, keepdims=[True]).items()
}

RUNNING = {
    key: call
    for name in ("cumsum", "cumprod", "nancumsum", "nancumprod", "cumulative_sum", "cumulative_prod", "sort", "diff",
                 "flip", "trapezoid", "gradient", "unwrap", "packbits")
    for key, call in axes(name).items()
}  # fmt: skip

MOMENTS = {
    **axes("average"), **axes("std", ddof=[1]), **axes("var", ddof=[1], correction=[0.5]),
    "average weights": lambda xp, x: xp.average(x, axis=0, weights=xp.arange(x.shape[0])),
    "average returned": lambda xp, x: xp.average(x, axis=-1, returned=True, keepdims=True),
    "cov": lambda xp, x: xp.cov(x), "cov columns": lambda xp, x: xp.cov(x, rowvar=False, bias=True),
    "cov two": lambda xp, x: xp.cov(x, x * 2 + 1), "corrcoef": lambda xp, x: xp.corrcoef(x),
}  # fmt: skip

UNARY = plain(
    "abs", "absolute", "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh",
    "atan", "atanh", "bitwise_count", "bitwise_invert", "bitwise_not", "cbrt", "ceil", "conj", "conjugate", "cos",
    "cosh", "deg2rad", "degrees", "exp", "exp2", "expm1", "fabs", "floor", "frexp", "invert", "isfinite", "isinf",
    "isnan", "log", "log10", "log1p", "log2", "logical_not", "modf", "negative", "positive", "rad2deg", "radians",
    "rint", "sign", "signbit", "sin", "sinh", "spacing", "sqrt", "square", "tan", "tanh", "trunc", "angle", "fix",
    "i0", "imag", "real", "isneginf", "isposinf", "iscomplex", "isreal", "nan_to_num", "real_if_close", "round",
    "sinc", "around", "iscomplexobj", "isrealobj", "isfortran",
)  # fmt: skip

BINARY = pairs(
    "add", "arctan2", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "divide", "divmod", "equal",
    "float_power", "floor_divide", "fmax", "fmin", "fmod", "gcd", "greater", "greater_equal", "heaviside", "hypot",
    "lcm", "less", "less_equal", "logaddexp", "logaddexp2", "logical_and", "logical_or", "logical_xor", "maximum",
    "minimum", "mod", "multiply", "nextafter", "not_equal", "remainder", "subtract", "true_divide", "allclose",
    "array_equal", "array_equiv", "isclose", "dot", "inner", "matmul", "outer", "vdot", "vecdot", "kron",
    "convolve", "correlate", "union1d", "intersect1d", "setdiff1d", "setxor1d", "isin", "append", "polyadd", "polysub",
    "polymul", "polyval", "concatenate_pair", "searchsorted_sorted", "digitize_sorted", "interp_sorted",
)  # fmt: skip
for special in [key for key in BINARY if key.split()[0] in (
    "concatenate_pair", "searchsorted_sorted", "digitize_sorted", "interp_sorted")]:  # fmt: skip
    del BINARY[special]


def _cross(xp: Any, a: Any, b: Any) -> Any:
    """Returns the cross product of vectors of length 3 or 2.

    NumPy accepts length 2 only until 2.4; there a third component of 0 is appended.
    """
    if xp is np and a.ndim and a.shape[-1] == b.shape[-1] == 2:
        a, b = (np.concatenate([v, np.zeros_like(v[..., :1])], -1) for v in (a, b))
        return np.cross(a, b)[..., 2]
    return xp.cross(a, b)


SHAPED = {
    "cross": lambda xp, x: _cross(xp, x, x[::-1] if x.ndim else x),
    "cross row": lambda xp, x: _cross(xp, x, x[:1] if x.ndim else x),
    **plain("ravel", "transpose", "squeeze", "atleast_1d", "atleast_2d", "atleast_3d", "fliplr", "flipud", "rot90",
            "matrix_transpose", "copy", "nonzero", "argwhere", "flatnonzero", "unique", "unique_values", "diag",
            "diagflat", "diagonal", "trace", "tril", "triu", "trim_zeros", "ediff1d", "sort_complex", "ndim", "shape",
            "size", "zeros_like", "ones_like", "vander", "ix_", "mintypecode_char", "unstack", "poly", "polyder",
            "polyint", "array2string", "array_repr", "array_str", "asarray_chkfinite", "bincount", "unpackbits",
            "diag_indices_from", "tril_indices_from", "triu_indices_from", "histogram", "histogram_bin_edges"),
    "empty_like": lambda xp, x: xp.empty_like(x).shape, "full_like": lambda xp, x: xp.full_like(x, 1),
    "argsort": lambda xp, x: xp.argsort(x, kind="stable"), "argsort 0": lambda xp, x: xp.argsort(x, 0, kind="stable"),
    "argsort None": lambda xp, x: xp.argsort(x, None, kind="stable"), "lexsort": lambda xp, x: xp.lexsort((x, x[::-1])),
    "partition": lambda xp, x: xp.partition(x, 1)[..., 1], "unique all": lambda xp, x: xp.unique(x, True, True, True),
    "unique axis": lambda xp, x: xp.unique(x, axis=0), "unique_all": lambda xp, x: tuple(xp.unique_all(x)),
    "unique_counts": lambda xp, x: tuple(xp.unique_counts(x)),
    "unique_inverse": lambda xp, x: tuple(xp.unique_inverse(x)), "reshape": lambda xp, x: xp.reshape(x, (-1, 2)),
    "reshape flat": lambda xp, x: xp.reshape(x, -1), "swapaxes": lambda xp, x: xp.swapaxes(x, 0, -1),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, -1), "rollaxis": lambda xp, x: xp.rollaxis(x, -1),
    "permute_dims": lambda xp, x: xp.permute_dims(x, tuple(range(x.ndim))[::-1]),
    "expand_dims": lambda xp, x: xp.expand_dims(x, (0, -1)), "squeeze 0": lambda xp, x: xp.squeeze(x, 0),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, *x.shape)),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[:1]), "roll": lambda xp, x: xp.roll(x, 2),
    "roll axis": lambda xp, x: xp.roll(x, -1, 0), "repeat": lambda xp, x: xp.repeat(x, 2),
    "repeat axis": lambda xp, x: xp.repeat(x, 3, axis=0),
    "repeat counts": lambda xp, x: xp.repeat(x, xp.arange(x.shape[0]), axis=0),
    "tile": lambda xp, x: xp.tile(x, (2, 1, 2)), "resize": lambda xp, x: xp.resize(x, (3, 3)),
    "pad": lambda xp, x: xp.pad(x, 1), "pad edge": lambda xp, x: xp.pad(x, ((1, 2),), mode="edge"),
    "pad wrap": lambda xp, x: xp.pad(x, 2, mode="wrap"), "pad mean": lambda xp, x: xp.pad(x, 1, mode="mean"),
    "pad ramp": lambda xp, x: xp.pad(x, 2, mode="linear_ramp", end_values=3),
    "concatenate": lambda xp, x: xp.concatenate((x, x), axis=-1), "concat": lambda xp, x: xp.concat([x, x[:1]]),
    "stack": lambda xp, x: xp.stack((x, x), axis=-1), "vstack": lambda xp, x: xp.vstack((x, x)),
    "hstack": lambda xp, x: xp.hstack((x, x)), "dstack": lambda xp, x: xp.dstack((x, x)),
    "column_stack": lambda xp, x: xp.column_stack((x, x)), "block": lambda xp, x: xp.block([[x, x], [x, x]]),
    "split": lambda xp, x: xp.split(x, 2), "array_split": lambda xp, x: xp.array_split(x, 3, axis=-1),
    "split at": lambda xp, x: xp.split(x, [1, 2], axis=-1),
    "hsplit": lambda xp, x: xp.hsplit(x, 2), "vsplit": lambda xp, x: xp.vsplit(x, 1),
    "dsplit": lambda xp, x: xp.dsplit(x, 2), "insert": lambda xp, x: xp.insert(x, 1, 5),
    "insert axis": lambda xp, x: xp.insert(x, [0, 1], 1, axis=0), "delete": lambda xp, x: xp.delete(x, 0),
    "delete axis": lambda xp, x: xp.delete(x, slice(None, None, 2), axis=0), "take": lambda xp, x: xp.take(x, [0, -1]),
    "take axis": lambda xp, x: xp.take(x, xp.asarray([0, 1, 0]), axis=-1, mode="wrap"),
    "take clip": lambda xp, x: xp.take(x, [[5, -5]], mode="clip"),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.argsort(x, axis=-1, kind="stable"), -1),
    "compress": lambda xp, x: xp.compress([True, False, True], x), "extract": lambda xp, x: xp.extract(x != 0, x),
    "choose": lambda xp, x: xp.choose(x, [1, 2, 3], mode="clip"), "where": lambda xp, x: xp.where(x, x, 0),
    "select": lambda xp, x: xp.select([x == 0, x == 1], [x, x + x], 7),
    "piecewise": lambda xp, x: xp.piecewise(x, [x == 0, x == 1], [3, lambda v: v + v, 1]),
    "clip": lambda xp, x: xp.clip(x, 0, 2), "clip low": lambda xp, x: xp.clip(x, 1, None),
    "clip nothing": lambda xp, x: xp.clip(x),
    "power": lambda xp, x: xp.power(x, 2), "pow": lambda xp, x: xp.pow(x, xp.abs(x)),
    "ldexp": lambda xp, x: xp.ldexp(x, 2), "reciprocal": lambda xp, x: xp.reciprocal(x + 10),
    "left_shift": lambda xp, x: xp.left_shift(x, 1), "right_shift": lambda xp, x: xp.bitwise_right_shift(x, 1),
    "round 1": lambda xp, x: xp.round(x / 7, 1), "round -1": lambda xp, x: xp.round(x, -1),
    "quantile": lambda xp, x: xp.quantile(x, 0.3), "percentile": lambda xp, x: xp.percentile(x, [10, 80], axis=-1),
    "nanquantile": lambda xp, x: xp.nanquantile(x, 0.3, axis=0),
    "nanpercentile": lambda xp, x: xp.nanpercentile(x, [0, 50.0]),
    "histogram 3": lambda xp, x: xp.histogram(x, 3, (-2, 2)), "histogram2d": lambda xp, x: xp.histogram2d(x, x, 3),
    "histogramdd": lambda xp, x: list(xp.histogramdd(x, 2)),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.sort(x.ravel()), x),
    "searchsorted right": lambda xp, x: xp.searchsorted(xp.sort(x.ravel()), x, side="right"),
    "digitize": lambda xp, x: xp.digitize(x, xp.asarray([-1.0, 0.0, 2.5])),
    "digitize falling": lambda xp, x: xp.digitize(x, xp.asarray([2.5, 0.0, -1.0]), right=True),
    "interp": lambda xp, x: xp.interp(x, xp.asarray([-3.0, 0.0, 2.0]), xp.asarray([1.0, 4.0, 2.0])),
    "interp period": lambda xp, x: xp.interp(x, xp.asarray([0.0, 1, 2]), xp.asarray([1.0, 4.0, 2.0]), period=4),
    "convolve same": lambda xp, x: xp.convolve(x, xp.asarray([1, 2, 3]).astype(x.dtype), "same"),
    "correlate full": lambda xp, x: xp.correlate(x, xp.asarray([1, 2]).astype(x.dtype), "full"),
    "diff 2": lambda xp, x: xp.diff(x, 2), "diff prepend": lambda xp, x: xp.diff(x, prepend=1, append=x[..., :1]),
    "gradient h": lambda xp, x: xp.gradient(x, 0.5, edge_order=2),
    "trapezoid dx": lambda xp, x: xp.trapezoid(x, dx=0.5, axis=0),
    "tensordot": lambda xp, x: xp.tensordot(x, x, axes=1),
    "tensordot all": lambda xp, x: xp.tensordot(x, x, axes=x.ndim),
    "einsum": lambda xp, x: xp.einsum("i...,i...->...", x, x), "einsum trace": lambda xp, x: xp.einsum("ij,ij", x, x),
    "matvec": lambda xp, x: xp.matvec(x, x[..., 0, :]), "vecmat": lambda xp, x: xp.vecmat(x[..., 0], x),
    "trace offset": lambda xp, x: xp.trace(x, 1), "diagonal axes": lambda xp, x: xp.diagonal(x, -1, -2, -1),
    "tril 1": lambda xp, x: xp.tril(x, 1), "triu -1": lambda xp, x: xp.triu(x, -1),
    "vander n": lambda xp, x: xp.vander(x, 3, increasing=True),
    "meshgrid": lambda xp, x: xp.meshgrid(x, x[:2]), "meshgrid ij": lambda xp, x: xp.meshgrid(x, x, indexing="ij"),
    "apply_along_axis": lambda xp, x: xp.apply_along_axis(lambda row: row[::-1], 0, x),
    "apply_along_axis sum": lambda xp, x: xp.apply_along_axis(lambda row: row.sum(), -1, x),
    "apply_over_axes": lambda xp, x: xp.apply_over_axes(xp.sum, x, [0, -1]),
    "cumulative_sum initial": lambda xp, x: xp.cumulative_sum(x, axis=0, include_initial=True),
    "nan_to_num values": lambda xp, x: xp.nan_to_num(x, nan=3, posinf=4, neginf=-4),
    "isclose loose": lambda xp, x: xp.isclose(x, x + x, rtol=0.1, atol=1, equal_nan=True),
    "astype": lambda xp, x: xp.astype(x, "complex64"), "result_type": lambda xp, x: xp.result_type(x, 1.0),
    "sum dtype": lambda xp, x: xp.sum(x, dtype="float32"), "prod dtype": lambda xp, x: xp.prod(x, 0, dtype="complex64"),
    "sum initial": lambda xp, x: xp.sum(x, axis=0, initial=3), "max initial": lambda xp, x: xp.max(x, 0, initial=1),
    "sum where": lambda xp, x: xp.sum(x, where=x != 0), "max where": lambda xp, x: xp.max(x, initial=0, where=x != 1),
    "mean where": lambda xp, x: xp.mean(x, axis=0, where=x != 0), "std where": lambda xp, x: xp.std(x, where=x != 0),
    "any where": lambda xp, x: xp.any(x, axis=-1, where=x != 0),
    "polydiv": lambda xp, x: xp.polydiv(x, xp.asarray([1.0, 2.0])),
    "polyder 2": lambda xp, x: xp.polyder(x, 2), "polyint 2": lambda xp, x: xp.polyint(x, 2, [1, 2]),
    "fill_diagonal": lambda xp, x: _filled(xp, x.copy(), lambda y: xp.fill_diagonal(y, 5)),
    "put": lambda xp, x: _filled(xp, x.copy(), lambda y: xp.put(y, [0, -1], [1, 0])),
    "putmask": lambda xp, x: _filled(xp, x.copy(), lambda y: xp.putmask(y, y != 0, [1, 0, 1])),
    "place": lambda xp, x: _filled(xp, x.copy(), lambda y: xp.place(y, y != 0, [1, 0])),
    "copyto": lambda xp, x: _filled(xp, x.copy(), lambda y: xp.copyto(y, True, where=y == 0)),
    "put_along_axis": lambda xp, x: _filled(
        xp, x.copy(), lambda y: xp.put_along_axis(y, xp.asarray([[0]] if y.ndim == 2 else [0]), 1, -1)),
}  # fmt: skip
del SHAPED["mintypecode_char"]


def _filled(xp: Any, x: Any, write: Callable[[Any], Any]) -> Any:
    """Returns an array after a function has written into it."""
    assert write(x) is None
    return x


TABLE: dict[str, Call] = {**FOLDS, **INDICES, **RUNNING, **MOMENTS, **UNARY, **BINARY, **SHAPED}

#: Tolerances of functions whose rounding errors grow with the operands, or for which NumPy is inexact.
#: NumPy computes small integers in half and single precision.
LOOSE = {"float16": 2e-2, "int8": 2e-2, "uint8": 2e-2, "bool": 2e-2, "float32": 2e-5, "int16": 2e-5, "uint16": 2e-5,
         "complex64": 4e-5, "bfloat16": 3e-2}  # fmt: skip


def flat(a: np.ndarray[Any, Any]) -> bool:
    """Returns true if the array is not 1-d."""
    return a.ndim != 1


def scalar(a: np.ndarray[Any, Any]) -> bool:
    """Returns true if the array is 0-d."""
    return a.ndim == 0


def infinite(a: np.ndarray[Any, Any]) -> bool:
    """Returns true if the array has an infinity."""
    return a.dtype.kind in "fc" and bool(np.isinf(a).any())


#: Inputs for which NumPy's result is an accident of its implementation.
ACCIDENTS: dict[str, Callable[[np.ndarray[Any, Any]], bool]] = {
    "median": lambda a: not a.size,  # cannot reshape
    "nanmean": scalar, "nanstd": scalar, "nanvar": scalar,  # an axis of a scalar is an error for integers only
    "average": lambda a: not a.size,  # ZeroDivisionError, sometimes
    "cov": lambda a: not a.size and a.dtype.kind == "c", "corrcoef": lambda a: not a.size and a.dtype.kind == "c",
    "unwrap axis=None": lambda a: True,  # not an axis
    "cumprod": lambda a: a.dtype == "float16",  # overflows at different steps, or not at all
    "nancumprod": lambda a: a.dtype == "float16", "cumulative_prod": lambda a: a.dtype == "float16",
    "i0": infinite,  # ∞ / ∞; ours is tested below
    "convolve": infinite, "polymul": infinite,  # 0 · inf at the end of the shorter operand
    "unique_values": lambda a: a.size > 1,  # not sorted
    "unique axis": lambda a: a.dtype == "float16" and bool(np.isnan(a).any()),  # compares bytes
    "tril": scalar, "triu": scalar,  # tri() missing an argument
    "poly": flat, "polyder": flat, "polyint": flat, "polydiv": flat,
    "clip nothing": lambda a: a.dtype == "bool", "round -1": lambda a: a.dtype == "bool",
    "histogram": lambda a: a.dtype.kind == "c", "histogram_bin_edges": lambda a: a.dtype.kind == "c",
    "histogram2d": lambda a: a.dtype.kind == "c", "histogramdd": lambda a: a.dtype.kind == "c",
    "apply_over_axes": scalar, "mean where": scalar,
    "result_type": lambda a: a.dtype.name == "bfloat16",
    "interp period": lambda a: a.dtype.kind == "c",  # drops the imaginary part
}  # fmt: skip


def specials(dtype: str) -> Iterator[np.ndarray[Any, Any]]:
    """Returns an array with NaN, infinities and zeros of both signs.

    NumPy does not define products of complex infinities.
    """
    if dtype == "bfloat16":
        return
    if np.dtype(dtype).kind == "c":
        yield np.asarray([np.nan, 1 + 2j, complex(2, np.nan), 3], dtype)
    if np.dtype(dtype).kind == "f":
        for values in ([np.nan, 1, 2, 0], [np.inf, -np.inf, 3, -0.0], [[0.0, -0.0], [np.nan, np.nan]]):
            yield np.asarray(values, dtype)


def inputs(name: str, dtypes: list[str]) -> Iterator[np.ndarray[Any, Any]]:
    """Returns the arrays that a call is tested with."""
    accident = ACCIDENTS.get(name, ACCIDENTS.get(name.split()[0], lambda a: False))
    for dtype in dtypes:
        for a in (*(sample(dtype, shape, 11, -3, 4) for shape in SHAPES), *specials(dtype)):
            if not accident(a):
                yield a


@pytest.mark.parametrize("name", TABLE)
def test_function(name: str) -> None:
    for a in inputs(name, DTYPES):
        check(name, a)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TABLE)
def test_function_of_bfloat16(name: str) -> None:
    """Only functions for which NumPy accepts bfloat16. NumPy sometimes promotes it: the dtype is not its own."""
    for a in inputs(name, ["bfloat16"]):
        if not isinstance(outcome(lambda a=a: TABLE[name](np, a)), Exception):
            check(name, a, dtype=False)


def test_i0_at_infinity_is_its_limit() -> None:
    np.testing.assert_array_equal(cp.i0(cp.asarray([np.inf, -np.inf, np.nan])).get(), [np.inf, np.inf, np.nan])


def check(name: str, a: np.ndarray[Any, Any], **options: Any) -> None:
    call, tolerance = TABLE[name], LOOSE.get(a.dtype.name, 1e-10)
    alike(lambda xp: call(xp, xp.asarray(a)), rtol=tolerance, atol=tolerance, **options)
