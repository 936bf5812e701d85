"""More functions: products, linear algebra, transforms, creation, histograms, calculus, windows, bits, polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from .operands import ANY, REAL, Draw, Operand
from .rows import row

# --- products


@row("dot ndarray.dot inner outer vdot matmul kron", "sum", wild=False)
def _products(g: Draw, name: str) -> Any:
    n = g.pick([0, 1, 2, 3, 5, 17])
    a = g.array(shape=g.pick([(n,), (2, n), (3, n), (2, 3, n)]) if name not in ("outer", "vdot", "kron") else None)
    shape: Any = g.pick([(n,), (n, 2), (2, n, 4), (n, n)]) if name in ("dot", "ndarray.dot", "matmul") else g.pick(
        [(n,), (4, n)])  # fmt: skip
    return [a, g.array(shape=shape if g.chance(0.97) else None)]


@row("tensordot", "sum", wild=False)
def _tensordot(g: Draw) -> Any:
    if g.chance(0.4):
        return [g.array(shape=(2, 3)), g.array(shape=(3, 2))], {"axes": 1}
    return [g.array(shape=(2, 3, 4)), g.array(shape=(3, 4, 2))], {"axes": g.pick([([1, 2], [0, 1]), ([0], [2]), 0])}


@row("cross", "sum", wild=False)
def _cross(g: Draw) -> Any:
    return [g.array("iufc", shape=g.pick([(3,), (2, 3), (1, 3)])), g.array("iufc", shape=g.pick([(3,), (2, 3)]))]


@row("einsum", "sum", wild=False)
def _einsum(g: Draw) -> Any:
    subscripts = g.pick(["ij,jk->ik", "ij,jk", "ii", "ii->i", "ij->", "ij->i", "ij->ji", "i,i", "i,j->ij", "...j->...",
                         "ij,ij->i", "ijk->k", "...->", "ij,j"])  # fmt: skip
    terms = subscripts.split("->")[0].split(",")
    extents = {c: g.pick([0, 1, 2, 3]) for c in "ijk"}
    arrays = []
    for term in terms:
        letters = term.replace("...", "")
        shape = (*((2,) if "..." in term else ()), *(extents[c] if g.chance(0.97) else 3 for c in letters))
        arrays.append(g.array(shape=shape))
    return [subscripts, *arrays]


@row("convolve correlate", "sum", wild=False)
def _convolve(g: Draw) -> Any:
    n, m = (g.pick([0, 1, 2, 3, 5, 9, 70]) for _ in range(2))
    return [g.array(shape=(n,)), g.array(shape=(m,))], g.some(0.6, mode=lambda: g.pick(["full", "same", "valid"]))


# --- linear algebra


def _matrix(g: Draw, kinds: str = "iufc", square: bool = True) -> Operand:
    n = g.pick([1, 2, 3, 4])
    m = n if square else g.pick([1, 2, 3])
    lead = g.pick([(), (), (2,), (0,)])
    a = g.array(kinds, shape=(*lead, n, m))
    values = g.values(a.dtype, (*lead, n, m))
    if square and values.size:  # far from singular
        values = (np.abs(values.astype("f8") if a.kind != "c" else values) % 3 + 9 * np.eye(n)).astype(a.dtype)
    return Operand(values)


@row("linalg.det linalg.inv linalg.slogdet linalg.cholesky linalg.pinv linalg.matrix_rank linalg.svdvals linalg.cond",
     "solve", wild=False)  # fmt: skip
def _linalg(g: Draw, name: str) -> Any:
    a = _matrix(g)
    if name == "linalg.cholesky":
        a = Operand((a.values + np.swapaxes(a.values.conj(), -1, -2)).astype(a.values.dtype))
    return [a]


@row("linalg.solve", "solve", wild=False)
def _solve(g: Draw) -> Any:
    a = _matrix(g)
    return [a, g.array("iufc", shape=(*a.shape[:-1], 2))]


row("linalg.eigvalsh", "solve", wild=False)(lambda g: [_matrix(g)])


@row("linalg.norm", "sum", wild=False)
def _norm(g: Draw) -> Any:
    a = g.array(ndim=g.pick([1, 2]))
    return [a], g.some(ord=lambda: g.pick([1, np.inf, -np.inf, 2 if a.ndim == 1 else 1, 0 if a.ndim == 1 else -1]),
                       axis=lambda: g.axis(a) if a.ndim == 1 else (0, 1), keepdims=True)  # fmt: skip


row("linalg.vector_norm linalg.matrix_norm", "sum", wild=False)(lambda g: ([g.array(ndim=2)], g.some(keepdims=True)))
row("linalg.matrix_power", "solve", wild=False)(lambda g: [_matrix(g), g.pick([0, 1, 2, 3])])


@row("linalg.matmul linalg.vecdot linalg.outer linalg.multi_dot", "sum", wild=False)
def _linalg_products(g: Draw, name: str) -> Any:
    a, b = g.array("iufc", shape=(3, 3)), g.array("iufc", shape=(3, 3))
    if name.endswith("outer"):
        return [g.array("iufc", ndim=1), g.array("iufc", ndim=1)]
    return [[a, b]] if "multi" in name else [a, b]


row("linalg.diagonal linalg.trace linalg.matrix_transpose", "sum", wild=False)(lambda g: [g.array(ndim=g.pick([2, 3]))])


# --- transforms


@row("fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft", "solve", wild=False)
def _fft(g: Draw, name: str) -> Any:
    a = g.array(REAL if name in ("fft.rfft", "fft.ihfft") else ANY, least=1)
    return [a], g.some(n=lambda: g.pick([1, 2, 4, 7]), axis=lambda: g.axis(a),
                       norm=lambda: g.pick(["ortho", "forward", "backward"]))  # fmt: skip


@row("fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.rfft2 fft.rfftn", "solve", wild=False)
def _fftn(g: Draw, name: str) -> Any:
    return [g.array(REAL if "rfft" in name else ANY, ndim=2)], g.some(norm="ortho")


@row("fft.fftshift fft.ifftshift")
def _shift(g: Draw) -> Any:
    a = g.array(least=1)
    return [a], g.some(axes=lambda: g.axes(a))


row("fft.fftfreq fft.rfftfreq", "ulp")(lambda g: ([g.pick([1, 2, 5, 8])], g.some(d=0.5)))


# --- creation


@row("zeros ones identity")
def _filled(g: Draw, name: str) -> Any:
    shape: Any = g.pick([0, 3]) if name == "identity" else g.pick([3, (), (2, 0), (2, 3), -1])
    return [shape], g.some(dtype=lambda: g.dtype())


row("full")(lambda g: [g.pick([3, (), (2, 3)]), g.scalar(ANY)])


@row("zeros_like ones_like empty_like", "exact")
def _like(g: Draw, name: str) -> Any:
    return [g.array()], g.some(dtype=lambda: g.dtype(), shape=(2, 2)) | ({"shape": (0, 2)} if "empty" in name else {})


row("full_like", wild=False)(lambda g: ([g.array(), g.scalar("bi")], g.some(0.3, dtype=lambda: g.dtype("if"))))


@row("arange", "ulp", wild=False)
def _arange(g: Draw) -> Any:
    args = [g.pick([0, 1, 5, -3, 2.5, np.int8(3), np.float32(2)]) for _ in range(g.pick([1, 2]))]
    if len(args) == 2 and g.chance(0.4):
        args.append(g.pick([1, -1, 2.5, np.int8(3)]))
    return args, g.some(0.3, dtype=lambda: g.dtype("iuf"))


@row("linspace", "sum", wild=False)
def _linspace(g: Draw) -> Any:
    ends = [g.scalar("biufc") if g.chance(0.7) else g.array("iufc", (2,)) for _ in range(2)]
    return ends, g.some(num=lambda: g.pick([0, 1, 2, 5]), endpoint=lambda: False, retstep=True,
                        dtype=lambda: g.dtype("if"))  # fmt: skip


@row("logspace", "solve", wild=False)
def _logspace(g: Draw) -> Any:
    return [g.pick([0, 1, -1, 2.0]), g.pick([1, 2, 0.5])], g.some(num=lambda: g.pick([0, 1, 5]), base=2)


@row("geomspace", "solve", wild=False)
def _geomspace(g: Draw) -> Any:
    return [g.pick([1, 2.0, -1, np.float32(3), 1j, 0]), g.pick([100, 5.5, -8, np.float32(2), 2 + 1j])], g.some(
        num=lambda: g.pick([0, 1, 5]), endpoint=lambda: False)  # fmt: skip


@row("eye tri")
def _eye(g: Draw) -> Any:
    return [g.pick([0, 1, 3]), g.pick([None, 2, 4])], g.some(k=lambda: g.pick([1, -1]), dtype=lambda: g.dtype())


row("vander", "sum", wild=False)(lambda g: ([g.array(ndim=1)], g.some(N=lambda: g.pick([0, 2, 4]), increasing=True)))


@row("diag_indices tril_indices triu_indices indices")
def _indices(g: Draw, name: str) -> Any:
    return [(2, 3) if name == "indices" else g.pick([0, 1, 3])]


row("meshgrid")(lambda g: ([g.array(ndim=1), g.array(ndim=1)], g.some(indexing="ij")))
row("ix_")(lambda g: [g.array("bi", ndim=1), g.array("i", ndim=1)])


@row("asarray array asanyarray ascontiguousarray asfortranarray astype ndarray.astype", wild=False)
def _conversions(g: Draw, name: str) -> Any:
    a: Any = g.array() if "astype" in name or g.chance(0.6) else g.scalar()
    if not isinstance(a, Operand):
        return [a]
    to = g.dtype()
    if a.kind != "c" or np.dtype(to).kind == "c":
        if a.kind == "f" and np.dtype(to).kind == "u":
            to = "int64"
        return ([a, to] if "astype" in name else [a]), {} if "astype" in name else {"dtype": to}
    return [a] if "astype" not in name else [a, a.dtype]


# --- histograms and bins


@row("bincount", wild=False)
def _bincount(g: Draw) -> Any:
    a = g.array("iu", ndim=1)
    return [a], g.some(weights=lambda: g.array("if", a.shape), minlength=lambda: g.pick([0, 3, 20]))


@row("histogram", "sum", wild=False)
def _histogram(g: Draw) -> Any:
    a = g.array("iuf")
    return [a], g.some(bins=lambda: g.pick([1, 3, 10, [0, 1, 2], [-2.5, 0.1, 3]]),
                       range=lambda: g.pick([(0, 3), (-1.5, 2.0)]),
                       weights=lambda: g.array("f", a.shape, dtype="float64"), density=True)  # fmt: skip


@row("histogram_bin_edges", "sum", wild=False)
def _edges(g: Draw) -> Any:
    return [g.array("iuf")], g.some(bins=lambda: g.pick([1, 4, "sqrt", "sturges", "rice"]), range=lambda: (0, 4))


@row("histogram2d", "sum", wild=False)
def _histogram2d(g: Draw) -> Any:
    n = g.pick([0, 1, 9])
    return [g.array("iuf", (n,)), g.array("iuf", (n,))], g.some(bins=lambda: g.pick([2, (2, 3), [0, 1, 2]]),
                                                                   range=lambda: [[0, 2], [-1, 3]])  # fmt: skip


@row("histogramdd", "sum", wild=False)
def _histogramdd(g: Draw) -> Any:
    return [g.array("iuf", (g.pick([0, 5]), 2))], g.some(bins=lambda: g.pick([2, (2, 3)]))


# --- calculus


@row("diff", wild=False)
def _diff(g: Draw) -> Any:
    a = g.array()
    return [a], g.some(n=lambda: g.pick([0, 1, 2, 3]), axis=lambda: g.axis(a), prepend=lambda: g.scalar("bi"),
                       append=lambda: g.scalar("bi"))  # fmt: skip


row("ediff1d", wild=False)(lambda g: ([g.array("iufc")], g.some(0.2, to_end=lambda: 1, to_begin=lambda: [1, 2])))


@row("gradient", "sum", wild=False)
def _gradient(g: Draw) -> Any:
    a = g.array(least=1)
    return [a, *([g.pick([1, 2.0, np.float32(0.5)])] if g.chance(0.4) else [])], g.some(
        axis=lambda: g.axis(a), edge_order=lambda: g.pick([1, 2])
    )


@row("trapezoid", "sum", wild=False)
def _trapezoid(g: Draw) -> Any:
    a = g.array(least=1)
    return [a], g.some(dx=lambda: g.pick([1, 0.5, 2]), axis=lambda: g.axis(a))


@row("interp", "sum")
def _interp(g: Draw) -> Any:
    n = g.pick([1, 2, 5])
    xp = Operand(np.sort(g.array("f", (n,), dtype="float64").host))
    g.wild = g.chance(0.5)
    return [g.operand("if", p=0.3), xp, g.array("fc", (n,))], g.some(left=lambda: 7, right=lambda: -1.5)


@row("cov corrcoef", "solve", wild=False)
def _cov(g: Draw, name: str) -> Any:
    a = g.array("iufc", shape=(g.pick([1, 2, 3]), g.pick([2, 5, 9])))
    return [a], g.some(rowvar=lambda: False) | (g.some(bias=True, ddof=lambda: g.pick([0, 1])) if name == "cov" else {})


# --- windows, bits, polynomials


@row("bartlett blackman hamming hanning", "sum")
def _windows(g: Draw) -> Any:
    # No array of a wide dtype: its extremes are more points than there is memory for.
    small = g.array("u", (), dtype="uint8")
    return [g.pick([0, 1, 2, 5, 10, np.uint8(10), np.int8(5), np.uint32(3), np.float64(4), 4.5, -1, small])]


@row("kaiser", "sum", wild=False)
def _kaiser(g: Draw) -> Any:
    return [g.pick([0, 1, 2, 5, np.uint8(10), np.int16(4)]), g.pick([0, 2.5, np.uint8(3), 14])]


@row("packbits")
def _packbits(g: Draw) -> Any:
    a = g.array("biu")
    return [a], g.some(axis=lambda: g.axis(a), bitorder="little")


@row("unpackbits")
def _unpackbits(g: Draw) -> Any:
    a = g.array(dtype="uint8", shape=g.pick([(1,), (5,), (2, 3)]))
    return [a], g.some(axis=lambda: g.axis(a), count=lambda: g.pick([3, 10, -2]), bitorder="little")


row("polyadd polysub polymul", "sum", wild=False)(lambda g: [g.array("if", ndim=1), g.array("if", ndim=1)])
row("polyval", "sum", wild=False)(lambda g: [g.array("ifc", ndim=1), g.operand("if")])
row("polyder polyint", "sum", wild=False)(lambda g: [g.array("if", ndim=1)])
row("poly", "solve", wild=False)(lambda g: [g.array("if", shape=(g.pick([0, 1, 3]),))])


# --- lists to arrays, bytes


@row("ndarray.tobytes ndarray.item ndarray.byteswap")
def _bytes(g: Draw, name: str) -> Any:
    return [g.array(ndim=0 if name.endswith("item") and g.chance(0.8) else None)]


@row("ndarray.view")
def _view(g: Draw) -> Any:
    a = Operand(g.values(g.dtype("iu"), (4, 8)))
    return [a, g.pick(["int8", "uint16", "int32", "uint64"])]


row("ndarray.fill", wild=False)(lambda g: [g.array("ifc", plain=True), g.scalar("b")])


@row("apply_along_axis", wild=False)
def _along(g: Draw) -> Any:
    a = g.array(least=1)
    return [_first, g.axis(a), a]


def _first(x: Any) -> Any:
    return x[:1]


@row("shares_memory may_share_memory", "exact")
def _shares(g: Draw, name: str) -> Any:
    a = g.array()
    return [a, a if g.chance(0.5) else g.array()]
