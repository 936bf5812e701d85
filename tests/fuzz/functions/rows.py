"""Functions with generators of their calls: reductions, elementwise functions, shapes, indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .operands import ANY, REAL, Case, Draw, Operand

Row = Callable[[Draw], Case]
ROWS: dict[str, Row] = {}


def register(name: str, make: Row) -> None:
    """Adds a function. Each has one row."""
    assert name not in ROWS, name
    ROWS[name] = make


def row(names: str, kind: str = "exact", wild: bool = True) -> Callable[[Any], Any]:
    """Registers a generator of arguments: `draw(g)` returns a list and a dict of keyword arguments."""

    def registered(draw: Any) -> Any:
        for name in names.split():

            def make(g: Draw, name: str = name) -> Case:
                g.wild = wild
                drawn = draw(g) if draw.__code__.co_argcount == 1 else draw(g, name)
                args, kwargs = drawn if isinstance(drawn, tuple) else (drawn, {})
                return Case(name, args, kwargs, kind)

            register(name, make)
        return draw

    return registered


def both(names: str) -> str:
    """Returns the functions and the methods of the same names."""
    return " ".join(f"{name} ndarray.{name}" for name in names.split())


def reduced(a: Operand, axis: Any, keepdims: bool) -> tuple[int, ...]:
    """Returns the shape of a reduction, or any shape if the axis is invalid."""
    try:
        return tuple(np.empty(a.shape, "b").sum(axis=axis, keepdims=keepdims).shape)
    except Exception:  # the call will raise
        return ()


# --- reductions


def _reduction(g: Draw, a: Operand, result: Callable[[str], str], **options: Any) -> tuple[Any, Any]:
    axis, keepdims = g.axes(a), g.chance(0.3)
    kwargs = {"axis": axis} if g.chance(0.8) else {}
    shape = reduced(a, kwargs.get("axis"), keepdims)
    if keepdims:
        kwargs["keepdims"] = True
    kwargs |= g.some(0.2, **options)
    if g.chance(0.15):
        kwargs["out"] = g.out(shape, result(kwargs.get("dtype") or a.dtype), a)
    return [a], kwargs


def _wide(dtype: str) -> str:
    kind = np.dtype(dtype).kind
    return "int64" if kind in "bi" else "uint64" if kind == "u" else dtype


def _float(dtype: str) -> str:
    return dtype if np.dtype(dtype).kind in "fc" else "float64"


@row(both("sum prod"), "sum", wild=False)
def _sums(g: Draw) -> Any:
    a = g.array()
    return _reduction(g, a, _wide, dtype=lambda: g.wider(a),
                      initial=lambda: g.scalar("biuf"), where=lambda: g.mask(a.shape))  # fmt: skip


@row(both("max min") + " amax amin")
def _extremes(g: Draw) -> Any:
    a = g.array()
    args, kwargs = _reduction(g, a, lambda d: d, initial=lambda: g.scalar("biuf"))
    if "initial" in kwargs and g.chance(0.5):
        kwargs["where"] = g.mask(a.shape)
    return args, kwargs


@row(both("any all"))
def _truth(g: Draw) -> Any:
    a = g.array()
    return _reduction(g, a, lambda d: "bool", where=lambda: g.mask(a.shape))


row("ptp")(lambda g: _reduction(g, g.array(), lambda d: d))


@row(both("argmax argmin") + " nanargmax nanargmin")
def _arguments(g: Draw) -> Any:
    a = g.array()
    return [a], g.some(0.8, axis=lambda: g.axis(a, True)) | g.some(keepdims=True)


@row("mean ndarray.mean", "sum", wild=False)
def _mean(g: Draw) -> Any:
    a = g.array()
    return _reduction(g, a, _float, dtype=lambda: g.dtype("f" if a.kind != "c" else "c"), where=lambda: g.mask(a.shape))


@row(both("var std"), "sum", wild=False)
def _moments(g: Draw) -> Any:
    a = g.array()
    return _reduction(g, a, lambda d: {"complex64": "float32", "complex128": "float64"}.get(d, _float(d)),
                      ddof=lambda: g.pick([0, 1, 2, 0.5]), where=lambda: g.mask(a.shape))  # fmt: skip


@row("nansum nanprod nanmean nanvar nanstd", "sum", wild=False)
def _nan_sums(g: Draw) -> Any:
    a = g.array(g.pick(["fc", ANY]))
    if a.of is None and a.kind in "fc" and a.values.size and g.chance(0.5):
        a.values.flat[:: g.pick([2, 3])] = np.nan
    return [a], g.some(0.7, axis=lambda: g.axes(a)) | g.some(keepdims=True)


@row("nanmax nanmin")
def _nan_extremes(g: Draw) -> Any:
    a = g.array(g.pick(["f", ANY]))
    return [a], g.some(0.7, axis=lambda: g.axes(a)) | g.some(keepdims=True)


@row("count_nonzero")
def _count(g: Draw) -> Any:
    a = g.array()
    return [a], g.some(0.6, axis=lambda: g.axes(a), keepdims=True)


@row("average", "sum", wild=False)
def _average(g: Draw) -> Any:
    a = g.array(shape=g.pick([(3,), (2, 3), (5, 1), (2, 2, 3)]))
    axis = g.axis(a, True)
    weights = g.array("iuf", a.shape if g.chance(0.6) or axis is None or not a.ndim or abs(axis) > a.ndim else
                      (a.shape[axis],))  # fmt: skip
    return [a], {"axis": axis} | g.some(weights=weights, returned=True, keepdims=True)


@row(both("cumsum cumprod") + " nancumsum nancumprod", "sum", wild=False)
def _running(g: Draw) -> Any:
    a = g.array()
    axis = g.axis(a, True)
    kwargs = {"axis": axis} | g.some(0.2, dtype=lambda: g.wider(a))
    if g.chance(0.15):
        kwargs["out"] = g.out(
            (a.size,) if axis is None or not a.ndim else a.shape, _wide(kwargs.get("dtype") or a.dtype), exact=True
        )
    return [a], kwargs


@row("cumulative_sum cumulative_prod", "sum", wild=False)
def _cumulative(g: Draw) -> Any:
    a = g.array()
    return [a], {"axis": g.axis(a)} | g.some(include_initial=True, dtype=lambda: g.wider(a))


@row("median nanmedian", "ulp")
def _median(g: Draw) -> Any:
    a = g.array(REAL)
    return [a], g.some(0.7, axis=lambda: g.axis(a, True)) | g.some(keepdims=True)


METHODS = ["linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf", "averaged_inverted_cdf",
           "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
           "normal_unbiased"]  # fmt: skip


@row("quantile percentile nanquantile nanpercentile", "sum", wild=False)
def _quantile(g: Draw, name: str) -> Any:
    a = g.array(REAL)
    scale = 100 if "percent" in name else 1
    q: Any = g.pick([0, 1, 0.5, 0.25, 0.3, np.float32(0.5), np.float64(0.75), [0.1, 0.5], 0.9, 1.5])
    q = [x * scale for x in q] if isinstance(q, list) else q * scale
    return [a, q], g.some(0.7, axis=lambda: g.axis(a, True)) | g.some(method=lambda: g.pick(METHODS), keepdims=True)


# --- elementwise functions


@row("round around ndarray.round")
def _round(g: Draw) -> Any:
    g.finite, g.wild = g.chance(0.5), g.chance(0.5)
    return [g.array()], g.some(0.6, decimals=lambda: g.pick([0, 1, 2, 3] if g.wild else [0, 1, -1]))


@row("clip ndarray.clip")
def _clip(g: Draw) -> Any:
    a = g.array(REAL)
    low, high = (None if g.chance(0.15) else g.operand(REAL, g.beside(a.shape), 0.7) for _ in range(2))
    return [a, low, high]


@row("where")
def _where(g: Draw) -> Any:
    shape = g.shape()
    return [g.array(shape=shape), g.operand(ANY, g.beside(shape), 0.3), g.operand(ANY, g.beside(shape), 0.3)]


@row("nan_to_num")
def _nan_to_num(g: Draw) -> Any:
    a = g.array()
    return [a], g.some(nan=lambda: g.scalar("if"), posinf=lambda: g.scalar("f"), neginf=lambda: g.scalar("f"))


row("i0 sinc", "sum", wild=False)(lambda g, name: [g.array("iuf" if name == "i0" else ANY)])


@row("isposinf isneginf fix real imag isreal iscomplex iscomplexobj isrealobj ndim size shape copy ravel "
     "atleast_1d atleast_2d atleast_3d squeeze transpose matrix_transpose permute_dims flatnonzero "
     "nonzero argwhere trim_zeros isfortran ndarray.ravel ndarray.flatten ndarray.copy ndarray.conj "
     "ndarray.conjugate ndarray.nonzero ndarray.T ndarray.real ndarray.imag ndarray.squeeze ndarray.transpose "
     "ndarray.tolist ndarray.size ndarray.ndim ndarray.nbytes ndarray.itemsize ndarray.mT "
     "real_if_close", "ulp")  # fmt: skip
def _one(g: Draw, name: str) -> Any:
    return [g.array()]


row("angle", "ulp")(lambda g: ([g.array()], g.some(deg=True)))


@row("isclose allclose")
def _close(g: Draw) -> Any:
    a = g.array()
    return [a, g.operand(ANY, g.beside(a.shape), 0.2)], g.some(rtol=0.1, atol=0.5, equal_nan=True)


@row("array_equal array_equiv")
def _equal(g: Draw, name: str) -> Any:
    a = g.array()
    b = g.array(dtype=a.dtype, shape=a.shape) if g.chance(0.6) else g.array()
    return [a, a if g.chance(0.2) else b], g.some(equal_nan=True) if name == "array_equal" else {}


@row("can_cast")
def _can_cast(g: Draw) -> Any:
    from_: Any = g.dtype() if g.chance(0.7) else g.scalar() if g.chance(0.5) else g.array()
    return [from_, g.dtype()], g.some(casting=lambda: g.pick(["no", "equiv", "safe", "same_kind", "unsafe"]))


row("promote_types")(lambda g: [g.dtype(), g.dtype()])
row("result_type")(lambda g: [g.dtype() if g.chance(0.5) else g.operand() for _ in range(g.pick([1, 2, 3]))])
row("min_scalar_type")(lambda g: [g.operand()])
row("common_type")(lambda g: [g.array(), g.array()])


@row("unwrap", "sum", wild=False)
def _unwrap(g: Draw) -> Any:
    a = g.array(REAL, least=1)
    return [a], g.some(axis=lambda: g.axis(a), period=lambda: g.pick([2, 3, 4.5]))


# --- shapes


@row("reshape ndarray.reshape")
def _reshape(g: Draw) -> Any:
    a = g.array()
    shape: Any = g.pick([-1, (a.size,), (a.size, 1), (-1, 1), (1, *a.shape), (2, -1), tuple(reversed(a.shape))])
    return [a, shape], g.some(0.3, order=lambda: g.pick(["C", "F", "A"]))


@row("moveaxis")
def _moveaxis(g: Draw) -> Any:
    a = g.array()
    return [a, g.axis(a), g.axis(a)]


@row("swapaxes ndarray.swapaxes rollaxis")
def _swapaxes(g: Draw) -> Any:
    a = g.array()
    return [a, g.axis(a), g.axis(a)]


row("expand_dims")(lambda g: [g.array(), g.pick([0, -1, 1, (0, 1), 4])])


@row("flip")
def _flip(g: Draw) -> Any:
    a = g.array()
    return [a], g.some(0.7, axis=lambda: g.axes(a))


row("fliplr flipud rot90")(lambda g: [g.array()])


@row("roll")
def _roll(g: Draw) -> Any:
    a = g.array()
    axis = g.axes(a)
    shift: Any = g.pick([0, 1, -1, 2, 100])
    if isinstance(axis, tuple) and axis and g.chance(0.5):
        shift = tuple(g.pick([0, 1, -2]) for _ in axis)
    return [a, shift], g.some(0.8, axis=axis)


row("tile")(lambda g: [g.array(most=2), g.pick([0, 1, 2, (2, 1), (1, 2, 1), (3,)])])


@row("repeat ndarray.repeat")
def _repeat(g: Draw) -> Any:
    a = g.array()
    axis = g.axis(a, True)
    return [a, g.pick([0, 1, 2, 3])], {"axis": axis}


@row("broadcast_to")
def _broadcast(g: Draw) -> Any:
    a = g.array(most=2)
    return [a, g.pick([a.shape, (2, *a.shape), (3,), (2, 3)])]


@row("broadcast_arrays")
def _broadcasts(g: Draw) -> Any:
    shape = g.shape()
    return [g.array(shape=g.beside(shape)) for _ in range(2)]


@row("broadcast_shapes")
def _broadcast_shapes(g: Draw) -> Any:
    shape = g.shape()
    return [g.beside(shape), g.beside(shape)]


@row("concatenate concat stack vstack hstack dstack column_stack row_stack")
def _join(g: Draw, name: str) -> Any:
    first = g.array()
    parts = [first] + [g.array(shape=first.shape if g.chance(0.93) else None) for _ in range(g.pick([0, 1, 2]))]
    kwargs = g.some(0.6, axis=lambda: g.axis(first)) if name in ("concatenate", "concat", "stack") else {}
    if name not in ("dstack", "column_stack", "row_stack"):
        kwargs |= g.some(0.1, dtype=lambda: g.dtype("fc"), casting=lambda: g.pick(["same_kind", "safe", "no"]))
    return [parts], kwargs


@row("block")
def _block(g: Draw) -> Any:
    a = g.array(ndim=2)
    return [[[a, g.array(shape=a.shape)], [g.array(shape=a.shape), g.array(shape=a.shape)]]]


@row("split array_split hsplit vsplit dsplit")
def _split(g: Draw, name: str) -> Any:
    a = g.array()
    kwargs = g.some(axis=lambda: g.axis(a)) if name in ("split", "array_split") else {}
    return [a, g.pick([1, 2, 3, [1, 2], [1], 0])], kwargs


@row("unstack")
def _unstack(g: Draw) -> Any:
    a = g.array()
    return [a], g.some(axis=lambda: g.axis(a))


@row("append")
def _append(g: Draw) -> Any:
    a = g.array()
    return [a, g.array(shape=a.shape)], g.some(axis=lambda: g.axis(a))


@row("insert")
def _insert(g: Draw) -> Any:
    g.wild = False
    a = g.array()
    return [a, g.pick([0, 1, -1, [0, 1]]), g.scalar("iu")], {"axis": g.axis(a, True)}


@row("delete")
def _delete(g: Draw) -> Any:
    a = g.array()
    return [a, g.pick([0, 1, -1, [0, 1], []])], {"axis": g.axis(a, True)}


row("resize")(lambda g: [g.array(), g.pick([0, 3, (2, 3), (5,), ()])])


@row("pad")
def _pad(g: Draw) -> Any:
    mode = g.pick(["constant", "edge", "symmetric", "reflect", "wrap", "linear_ramp", "maximum", "minimum", "mean",
                   "median"])  # fmt: skip
    g.wild = mode in ("constant", "edge", "symmetric", "reflect", "wrap", "maximum", "minimum")
    a = g.array(ANY if g.wild and mode not in ("maximum", "minimum") else REAL, least=1)
    width: Any = g.pick([0, 1, 2, (1, 2), (0, 3)])
    kwargs: dict[str, Any] = {"mode": mode}
    if mode == "constant":
        kwargs |= g.some(constant_values=lambda: g.pick([0, 1, 2, (1, 3)]))
    if mode in ("maximum", "minimum", "mean", "median"):
        kwargs |= g.some(0.4, stat_length=lambda: g.pick([None, 1, 2, (1, 2), 0, -1]))
    if mode == "linear_ramp":
        kwargs |= g.some(end_values=lambda: g.pick([0, 1, (2, 3)]))
    return [a, width], kwargs


# --- indices and order


@row("take ndarray.take")
def _take(g: Draw) -> Any:
    a = g.array(shape=g.pick([(), (0,), (1,), (4,), (3, 4), (2, 1, 3)]))
    index: Any = g.pick([0, 1, -1, [0, 1], [[0], [-1]], []]) if g.chance(0.7) else g.array("i", dtype="int64")
    if isinstance(index, Operand) and index.of is None:
        index.values[...] %= 4
    return [a, index], {"axis": g.axis(a, True)} | g.some(mode=lambda: g.pick(["raise", "wrap", "clip"]))


@row("take_along_axis")
def _take_along(g: Draw) -> Any:
    a = g.array(least=1)
    axis = g.axis(a)
    index = g.array(dtype=g.pick(["int64", "int32", "uint8"]), shape=a.shape)
    index.values[...] %= 2
    return [a, index, axis]


@row("compress ndarray.compress")
def _compress(g: Draw, name: str) -> Any:
    a = g.array(shape=g.pick([(), (0,), (1,), (4,), (3, 4), (2, 1, 3)]))
    condition = g.array("b", ndim=1)
    kwargs = {"axis": g.axis(a, True)}
    return ([a, condition] if name.startswith("nd") else [condition, a]), kwargs


@row("extract")
def _extract(g: Draw) -> Any:
    a = g.array()
    return [g.array("b", a.shape), a]


@row("choose ndarray.choose")
def _choose(g: Draw, name: str) -> Any:
    index = g.array("iu")
    if index.of is None:
        index.values[...] %= 2
    choices = [g.operand(ANY, g.beside(index.shape), 0.4) for _ in range(2)]
    return [index, choices], g.some(0.2, mode=lambda: g.pick(["wrap", "clip"]))


@row("select", wild=False)
def _select(g: Draw) -> Any:
    shape = g.shape()
    n = g.pick([1, 2])
    return [[g.array("b", shape) for _ in range(n)], [g.array(ANY, shape) for _ in range(n)]], g.some(
        default=lambda: g.scalar("iuf")
    )


@row("piecewise", wild=False)
def _piecewise(g: Draw) -> Any:
    x = g.array("f")
    return [x, [g.array("b", x.shape)], [1, 2]]


@row("put", wild=False)
def _put(g: Draw) -> Any:
    a = g.array(plain=True)
    return [a, g.pick([[0], [0, 1], [-1], 5]), g.scalar("bi" if a.kind in "bi" else "biu")], g.some(
        0.3, mode=lambda: g.pick(["wrap", "clip"])
    )


@row("putmask place copyto")
def _masked(g: Draw, name: str) -> Any:
    a = g.array(plain=True)
    values = g.array(dtype=a.dtype, ndim=1)
    if name == "copyto":
        return [a, g.array(a.kind, g.beside(a.shape))], g.some(where=lambda: g.mask(a.shape))
    return [a, g.array("b", a.shape), values]


row("fill_diagonal")(lambda g: ([g.array("ifc", ndim=2, plain=True), 1], g.some(wrap=True)))


@row("sort ndarray.sort sort_complex")
def _sort(g: Draw, name: str) -> Any:
    a = g.array(ANY if name != "sort_complex" else REAL + "c", plain=True)
    return [a], {} if name == "sort_complex" else g.some(0.7, axis=lambda: g.axis(a, name == "sort"))


@row("argsort ndarray.argsort")
def _argsort(g: Draw) -> Any:
    a = g.array()
    return [a], {"kind": "stable"} | g.some(0.7, axis=lambda: g.axis(a, True))


@row("lexsort")
def _lexsort(g: Draw) -> Any:
    n = g.pick([0, 1, 5, 9])
    return [[g.array(REAL, (n,)) for _ in range(2)]]


@row("searchsorted ndarray.searchsorted")
def _searchsorted(g: Draw) -> Any:
    a = g.array(REAL, ndim=1)
    a = Operand(np.sort(a.host))
    return [a, g.operand(REAL, p=0.4)], g.some(side="right")


@row("digitize")
def _digitize(g: Draw) -> Any:
    bins = g.array(REAL, ndim=1)
    order = np.sort(bins.host)
    bins = bins if g.chance(0.1) else Operand(order[::-1].copy() if g.chance(0.3) else order)
    return [g.array(REAL), bins], g.some(right=True)


@row("unique unique_values unique_counts unique_inverse unique_all")
def _unique(g: Draw, name: str) -> Any:
    a = g.array()
    kwargs = {}
    if name == "unique":
        kwargs = g.some(0.3, return_index=True, return_inverse=True, return_counts=True, equal_nan=lambda: False)
        kwargs |= g.some(0.2, axis=lambda: g.axis(a)) if a.kind in "biu" else {}
    return [a], kwargs


@row("intersect1d union1d setdiff1d setxor1d isin")
def _sets(g: Draw, name: str) -> Any:
    g.wild = g.chance(0.5)  # NumPy finds values that become equal only after two casts
    a = g.array()
    b = g.array(dtype=a.dtype if g.wild else None)
    return [a, b], g.some(invert=True) if name == "isin" else {}


@row("ravel_multi_index")
def _ravel_multi(g: Draw) -> Any:
    parts = [g.array("i", (3,), dtype="int64") for _ in range(2)]
    for p in parts:
        p.values[...] %= 4
    return [tuple(parts), (4, 5)], g.some(mode=lambda: g.pick(["wrap", "clip"]), order="F")


@row("unravel_index")
def _unravel(g: Draw) -> Any:
    a = g.array("i", dtype="int64")
    a.values[...] %= 12
    return [a, (3, 4)], g.some(order="F")


@row("diag tril triu diagflat diag_indices_from tril_indices_from triu_indices_from trace diagonal ndarray.trace "
     "ndarray.diagonal", "sum", wild=False)  # fmt: skip
def _diagonals(g: Draw, name: str) -> Any:
    a = g.array(ndim=1 if name == "diagflat" else g.pick([1, 2, 2]) if name in ("diag", "tril", "triu") else 2)
    if name == "diag_indices_from":
        return [a]
    key = "offset" if "trace" in name or "diagonal" in name else "k"
    return [a], {key: g.pick([0, 1, -1, 3])} if g.chance(0.4) else {}
