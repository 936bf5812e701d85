"""Polynomials as 1-d arrays of coefficients, that of the highest power first: `numpy.poly*`."""

from __future__ import annotations

from cuprous import _core, _dtypes
from cuprous._args import ArrayLike, array, astype, common_dtype, ndarray
from cuprous._calculus import convolve
from cuprous._counting import flatnonzero
from cuprous._elementwise import real
from cuprous._joining import concatenate
from cuprous._logic import isclose
from cuprous._manipulation import atleast_1d, trim_zeros
from cuprous._reductions import all as all_


def _powers(n: int) -> ndarray:
    """n, n - 1, …, 1."""
    return _core.iota((n,), (-1,), n)


def _padded(a: ndarray, n: int) -> ndarray:
    """Coefficients with zeros in front, n in all."""
    return concatenate((_core.full((n - a.shape[0],), 0, a.dtype_name), a)) if a.shape[0] < n else a


def polyadd(a1: ArrayLike, a2: ArrayLike) -> ndarray:
    """Sum of two polynomials."""
    a1, a2 = atleast_1d(a1), atleast_1d(a2)
    n = max(a1.shape[0], a2.shape[0])
    return _core.map("add", _padded(a1, n), _padded(a2, n))


def polysub(a1: ArrayLike, a2: ArrayLike) -> ndarray:
    """Difference of two polynomials."""
    a1, a2 = atleast_1d(a1), atleast_1d(a2)
    n = max(a1.shape[0], a2.shape[0])
    return _core.map("subtract", _padded(a1, n), _padded(a2, n))


def _trimmed(a: ArrayLike) -> ndarray:
    """Coefficients from the first that is not zero on; one zero if all are."""
    a = atleast_1d(a)
    if a.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    kept = trim_zeros(a, "f")
    return kept if kept.size else _core.full((1,), 0, a.dtype_name)


def polymul(a1: ArrayLike, a2: ArrayLike) -> ndarray:
    """Product of two polynomials, of whose leading zeros nothing is left: their number is read back.

    Raises:
        ValueError: for more than one axis.
    """
    return convolve(_trimmed(a1), _trimmed(a2))


def polydiv(u: ArrayLike, v: ArrayLike) -> tuple[ndarray, ndarray]:
    """Quotient and remainder of two polynomials, in floating point. The number of the remainder's leading zeros is
    read back."""
    u, v = (_core.map("add", atleast_1d(x), 0.0) for x in (u, v))
    name = common_dtype((u, v))
    n = v.shape[0]
    steps = u.shape[0] - n + 1
    scale = _core.map("divide", 1.0, v[0])
    if not u.shape[0]:
        raise IndexError("index 0 is out of bounds for axis 0 with size 0")
    quotient = _core.full((max(steps, 1),), 0, name)
    rest = u.copy() if u.dtype_name == name else _core.cast(u, name)
    for k in range(steps):
        digit = scale * rest[k]
        _core.update(quotient[k], digit)
        stretch = rest[k : k + n]
        _core.update(stretch, stretch - digit * v)
    left = flatnonzero(~isclose(rest, 0, rtol=1e-14))
    first = int(left[0]) if left.size else rest.shape[0] - 1
    return quotient, rest[first:]


def polyder(p: ArrayLike, m: int = 1) -> ndarray:
    """Derivative of order m.

    Raises:
        ValueError: for a negative order.
    """
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = array(p)
    for _ in range(int(m)):
        p = p[:-1] * _powers(max(len(p) - 1, 0))
    return p


def polyint(p: ArrayLike, m: int = 1, k: ArrayLike = None) -> ndarray:
    """Antiderivative of order m with integration constants k (by default zeros), the first integration's first.

    Raises:
        ValueError: for a negative order, or fewer than m constants.
    """
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = _core.full((m,), 0, "float64") if k is None else atleast_1d(k)
    if constants.shape[0] == 1 and m > 1:
        constants = constants * _core.full((m,), 1, "float64")
    if constants.shape[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = array(p)
    for i in range(m):
        p = concatenate((p / _powers(len(p)), constants[i : i + 1]))
    return p


def poly(seq_of_zeros: ArrayLike) -> ndarray:
    """The polynomial with these roots and leading coefficient one; real where complex roots come in conjugate pairs,
    which is read back.

    Raises:
        NotImplementedError: for a matrix, whose eigenvalues would be the roots.
        ValueError: for other arrays that are not 1-d.
    """
    roots = atleast_1d(seq_of_zeros)
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] != 0:
        raise NotImplementedError("[poly] a matrix needs eigenvalues, which are not supported yet; pass the roots")
    if roots.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    name = roots.dtype_name if roots.dtype_name in ("float32", "complex64", "complex128") else "float64"
    roots = astype(roots, name)
    n = roots.shape[0]
    if n == 0:
        return _core.full((), 1.0, "float64")
    result = _core.full((n + 1,), 0, name)
    _core.update(result[0], 1)
    for i in range(n):  # times (x - root), in place: each coefficient loses root times the one before
        lower = result[1 : i + 2]
        _core.update(lower, lower - roots[i] * result[: i + 1])
    if _dtypes.kind(name) == "c" and _conjugate_pairs(roots):
        return real(result).copy()
    return result


def _conjugate_pairs(roots: ndarray) -> bool:
    wide = astype(roots, "complex128")
    return bool(all_(_core.sort(wide) == _core.sort(_core.map("conjugate", wide))))


def polyval(p: ArrayLike, x: ArrayLike) -> ndarray:
    """A polynomial at points, by Horner's scheme."""
    p, x = array(p), array(x)
    result = _core.full(x.shape, 0, x.dtype_name)
    for i in range(len(p)):
        result = result * x + p[i]
    return result


__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval"]
