"""Singular values and vectors of large matrices on a GPU, from products, QR decompositions and eigenvalues.

A = U H with orthonormal columns in U and H Hermitian, whose eigenvalues are A's singular values (N. J. Higham and P.
Papadimitriou, 1993). U is the limit of X (a + b XᴴX) / (1 + c XᴴX) for weights that follow from a bound of the least
singular value (Y. Nakatsukasa, Z. Bai and F. Gygi, SIAM J. Matrix Anal. Appl. 31 (2010)); with the bound of rounding
itself that is four steps for single and six for double precision, the same for every matrix. Both parts are backward
stable (Y. Nakatsukasa and N. J. Higham, SIAM J. Sci. Comput. 35 (2013)) in double precision, which is used for both:
the steps' weights differ too much for QR decompositions without pivoting in single precision.
"""

from __future__ import annotations

import functools
import math

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ndarray
from cuprous._functions.joining import concatenate
from cuprous._functions.matrices import eye
from cuprous._functions.reductions import max as max_
from cuprous._functions.reductions import sum as sum_
from cuprous.linalg._decompositions import adjoint, eigh, eigvalsh, qr, results

#: For each precision of the result, the bound below which singular values count as zero, and the largest weight c for
#: which forming and inverting 1 + c XᴴX keeps that precision.
_BOUNDS = {"float32": (2.0**-26, 1e6), "float64": (2.0**-52, 100.0)}


@functools.cache
def weights(bound: float) -> tuple[tuple[float, float, float], ...]:
    """Returns a, b and c of the steps that map singular values from `bound` upwards to 1, up to an error of size
    `bound`."""
    steps: list[tuple[float, float, float]] = []
    nearly = 1.0 - 4.0 * bound
    while bound < nearly and len(steps) < 9:
        square = bound * bound
        d = (4.0 * (1.0 - square) / square**2) ** (1.0 / 3.0)
        root = math.sqrt(1.0 + d)
        a = root + 0.5 * math.sqrt(8.0 - 4.0 * d + 8.0 * (2.0 - square) / (square * root))
        b = (a - 1.0) ** 2 / 4.0
        c = a + b - 1.0
        steps.append((a, b, c))
        bound = min(bound * (a + b * square) / (1.0 + c * square), 1.0)
    return tuple(steps)


def _unitary(a: ndarray, precision: str) -> ndarray:
    """Returns the factor U of a matrix with at least as many rows as columns. Its columns for singular values of the
    size of rounding errors are not orthonormal."""
    m, n = a.shape
    bound, products = _BOUNDS[precision]
    norm = _core.map("sqrt", sum_(_core.map("square", _core.map("absolute", a))))
    x = a / _core.map("where", norm == 0, 1.0, norm)
    one = eye(n, dtype=a.dtype_name)
    for p, q, c in weights(bound):
        if c > products:
            both = qr(concatenate((x * math.sqrt(c), one))).Q
            x = x * (q / c) + (both[:m] @ adjoint(both[m:])) * ((p - q / c) / math.sqrt(c))
        else:
            x_adjoint = adjoint(x)
            (part,) = results("solve", (x_adjoint @ x) * c + one, [(n, m)], None, x_adjoint.copy())
            x = x * (q / c) + adjoint(part) * (p - q / c)
    return x


def _scaled(a: ndarray) -> tuple[ndarray, float]:
    """Returns the matrix in double precision, scaled so that its elements are at most about 1 and squares do not
    overflow, and the scale."""
    largest = float(max_(_core.map("absolute", a)))
    scale = 2.0 ** min(1000, max(-1000, math.frexp(largest)[1])) if largest else 1.0
    return _core.cast(a * (1.0 / scale), _core.promote_types(a.dtype_name, "float64")), scale


def _hermitian(core: ndarray, x: ndarray) -> ndarray:
    h = adjoint(x) @ core
    return (h + adjoint(h)) * 0.5


def values(a: ndarray) -> ndarray:
    """Returns the singular values of a matrix of finite numbers, in descending order."""
    m, n = a.shape
    if m < n:
        a, m, n = adjoint(a).copy(), n, m
    real = dtypes.component(a.dtype_name)
    a, scale = _scaled(a)
    core = qr(a, "r") if m > 2 * n else a
    w = eigvalsh(_hermitian(core, _unitary(core, real)))
    return _core.cast(_core.sort(_core.map("absolute", w))[::-1], real) * scale


def svd(a: ndarray, full: bool) -> tuple[ndarray, ndarray, ndarray]:
    """Returns U, the singular values in descending order, and Vᴴ of a matrix of finite numbers. With `full`, U and Vᴴ
    are square."""
    m, n = a.shape
    name, real = a.dtype_name, dtypes.component(a.dtype_name)
    if m < n:
        u, s, vh = svd(adjoint(a).copy(), full)
        return adjoint(vh), s, adjoint(u)
    a, scale = _scaled(a)
    tall = qr(a) if m > 2 * n else None
    core = a if tall is None else tall.R
    x = _unitary(core, real)
    w, v = eigh(_hermitian(core, x))
    w, v = w[::-1], v[:, ::-1]
    u = x @ v
    if tall is not None:
        u = tall.Q @ u
    # QR keeps orthonormal columns up to a sign or phase, and replaces the others.
    q, r = qr(u, "complete" if full else "reduced")
    diagonal = r.diagonal()
    phases = _core.map("where", _core.map("absolute", diagonal) < 0.5, 1.0, diagonal)
    phases = phases / _core.map("absolute", phases) * _core.map("where", w < 0, -1.0, 1.0)
    _core.update(q[:, :n], q[:, :n] * _core.cast(phases, a.dtype_name))
    s = _core.cast(_core.map("absolute", w), real) * scale
    return _core.cast(q, name), s, _core.cast(adjoint(v), name)
