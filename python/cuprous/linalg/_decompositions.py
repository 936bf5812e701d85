"""Decompositions of matrices in the last two axes: Cholesky, QR, eigenvalues, determinants.

They are computed in the precision of the array (NumPy computes float32 in float64); integers in float64.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._common.casting import astype
from cuprous._functions.complex_parts import imag, real
from cuprous._functions.matrices import eye
from cuprous._functions.reductions import all as all_


class EigResult(NamedTuple):
    """The result of `eig`."""

    eigenvalues: ndarray
    eigenvectors: ndarray


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: ndarray
    eigenvectors: ndarray


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: ndarray
    R: ndarray


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: ndarray
    logabsdet: ndarray


_NOT_CONVERGED = "Eigenvalues did not converge"


def linalg_error(text: str) -> Exception:
    """Returns NumPy's LinAlgError with a message."""
    from numpy.linalg import LinAlgError

    return LinAlgError(text)


def inexact(*arrays: ArrayLike) -> list[ndarray]:
    """Casts arrays to a common dtype that decompositions can be computed in.

    Raises
    ------
    TypeError
        For 16-bit floating point.
    """
    converted = [array(a) for a in arrays]
    name = dtypes.inexact(converted[0].dtype_name)
    for a in converted:
        if a.dtype_name in ("float16", "bfloat16"):
            raise TypeError(f"array type {a.dtype_name} is unsupported in linalg")
        name = _core.promote_types(name, dtypes.inexact(a.dtype_name))
    return [astype(a, name) for a in converted]


def stacked(a: ndarray, square: bool = True) -> None:
    """Checks that an array holds matrices.

    Raises
    ------
    LinAlgError
        For fewer than two axes, or matrices that should be square and are not.
    """
    if a.ndim < 2:
        raise linalg_error(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square and a.shape[-1] != a.shape[-2]:
        raise linalg_error("Last 2 dimensions of the array must be square")


def results(
    name: str, a: ndarray, shapes: list[tuple[int, ...]], error: str | None = None, b: ndarray | None = None
) -> list[ndarray]:
    """Returns the results of a decomposition, each with the shape of the batch followed by its own shape in `shapes`.

    Raises
    ------
    LinAlgError
        With the message `error` if the decomposition of a matrix fails. If `error` is None, the results of that matrix
        are NaN instead.
    """
    batch = a.shape[:-2]
    if not a.size or not math.prod(batch + shapes[0]):
        return [_empty_result(batch, shape, a.dtype_name) for shape in shapes]
    flat = _core.decompose(name, a, b)
    if error is not None and flat[-1].item() != 0:
        raise linalg_error(error)
    outputs, at = [], 0
    for shape in shapes:
        size = math.prod(batch + shape)
        outputs.append(_core.without_base(flat[at : at + size].reshape(batch + shape)))
        at += size
    return outputs


def _empty_result(batch: tuple[int, ...], shape: tuple[int, ...], name: str) -> ndarray:
    """Returns the result of a decomposition without elements: empty, or an identity for singular vectors and Q."""
    if len(shape) == 2 and shape[0] == shape[1]:
        return _core.broadcast_to(eye(shape[0], dtype=name), batch + shape).copy()
    return _core.full(batch + shape, 0, name)


def adjoint(a: ndarray) -> ndarray:
    """Returns the conjugate transpose over the last two axes."""
    transposed = a.transpose(*range(a.ndim - 2), a.ndim - 1, a.ndim - 2)
    return _core.map("conjugate", transposed) if dtypes.kind(a.dtype_name) == "c" else transposed


def cholesky(a: ArrayLike, /, *, upper: bool = False) -> ndarray:
    """Returns L with A = L Lᴴ for Hermitian positive definite matrices. Only their lower triangle is read. With
    `upper`, returns U with A = Uᴴ U from the upper triangle.

    Parameters
    ----------
    a : array_like
        Hermitian matrices of shape (..., N, N). Integers are computed in float64.
    upper : bool, default False
        Whether to read the upper triangle and return U.

    Returns
    -------
    ndarray
        An array of the shape of `a`.

    Raises
    ------
    LinAlgError
        For matrices that are not positive definite, or not square.

    See Also
    --------
    linalg.qr, linalg.svd, linalg.eigh, linalg.solve

    Examples
    --------
    >>> cp.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    array([[2., 0.],
           [1., 2.]])
    """
    (a,) = inexact(a)
    stacked(a)
    name = "cholesky_upper" if upper else "cholesky"
    return results(name, a, [a.shape[-2:]], "Matrix is not positive definite")[0]


def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Returns Q with orthonormal columns and R upper triangular with A = Q R, by Householder reflections.

    Parameters
    ----------
    a : array_like
        Matrices of M x N; K = min(M, N).
    mode : str, default "reduced"
        "reduced" for Q of M x K and R of K x N, "complete" for M x M and M x N, "r" for R of K x N alone, "raw" for the
        reflectors (N x M) and their K factors as in LAPACK's geqrf.

    Returns
    -------
    tuple
        A named tuple of `Q` and `R`; for "r" R alone, for "raw" a tuple of the reflectors and factors.

    Raises
    ------
    LinAlgError
        For fewer than two axes.
    ValueError
        For any other mode.

    See Also
    --------
    linalg.svd, linalg.eigh, linalg.solve, linalg.cholesky

    Examples
    --------
    >>> a = cp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> q, r = cp.linalg.qr(a)
    >>> q.shape, r.shape, bool(cp.allclose(q @ r, a))
    ((3, 2), (2, 2), True)
    """
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    (a,) = inexact(a)
    stacked(a, square=False)
    m, n = a.shape[-2:]
    k = min(m, n)
    if mode == "r":
        return results("qr_r", a, [(k, n)])[0]
    if mode == "raw":
        return tuple(results("qr_raw", a, [(n, m), (k,)]))
    if mode == "complete":
        return QRResult(*results("qr_complete", a, [(m, m), (m, n)]))
    return QRResult(*results("qr", a, [(m, k), (k, n)]))


def eigh(a: ArrayLike, UPLO: str = "L") -> EighResult:
    """Returns the ascending eigenvalues and the eigenvectors (orthonormal, in columns) of Hermitian matrices. Only
    their lower ("L") or upper ("U") triangle is read. If it holds infinity or NaN, the results are NaN.

    Parameters
    ----------
    a : array_like
        Hermitian matrices of shape (..., N, N).
    UPLO : str, default "L"
        The triangle that is read: "L" for the lower, "U" for the upper one.

    Returns
    -------
    EighResult
        A named tuple of `eigenvalues`, real, of shape (..., N), and `eigenvectors`, of shape (..., N, N).

    Raises
    ------
    LinAlgError
        For matrices that are not square, or if the iteration does not converge.
    ValueError
        For any other UPLO.

    See Also
    --------
    eigvalsh, eig, eigvals

    Examples
    --------
    >>> values, vectors = cp.linalg.eigh([[2.0, 1.0], [1.0, 2.0]])
    >>> values.round(6)
    array([1., 3.])
    """
    a, upper = _hermitian(a, UPLO)
    n = a.shape[-1]
    w, v = results("eigh" + upper, a, [(n,), (n, n)], _NOT_CONVERGED)
    return EighResult(real_part(w), v)


def eigvalsh(a: ArrayLike, UPLO: str = "L") -> ndarray:
    """Returns the ascending eigenvalues of Hermitian matrices.

    Parameters
    ----------
    a : array_like
        Hermitian matrices of shape (..., N, N).
    UPLO : str, default "L"
        The triangle that is read: "L" for the lower, "U" for the upper one.

    Returns
    -------
    ndarray
        A real array of shape (..., N).

    Raises
    ------
    LinAlgError
        For matrices that are not square, or if the iteration does not converge.
    ValueError
        For any other UPLO.

    See Also
    --------
    eigh, eigvals, eig

    Examples
    --------
    >>> cp.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).round(6)
    array([1., 3.])
    """
    a, upper = _hermitian(a, UPLO)
    return real_part(results("eigvalsh" + upper, a, [a.shape[-1:]], _NOT_CONVERGED)[0])


def _hermitian(a: ArrayLike, triangle: str) -> tuple[ndarray, str]:
    triangle = triangle.upper()
    if triangle not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    (a,) = inexact(a)
    stacked(a)
    return a, "_upper" if triangle == "U" else ""


def eig(a: ArrayLike) -> EigResult:
    """Returns the eigenvalues, in unspecified order, and eigenvectors (of norm 1, in columns). They are complex even if
    all are real, as in NumPy from 2.5 on and in the array API standard.

    Parameters
    ----------
    a : array_like
        Matrices of shape (..., N, N).

    Returns
    -------
    EigResult
        A named tuple of `eigenvalues`, of shape (..., N), and `eigenvectors`, of shape (..., N, N); both complex.

    Raises
    ------
    LinAlgError
        For matrices that are not square or not finite.

    See Also
    --------
    eigvals, eigh, eigvalsh

    Examples
    --------
    >>> values, vectors = cp.linalg.eig([[2.0, 0.0], [0.0, 3.0]])
    >>> cp.sort(values.real)
    array([2., 3.])
    """
    w, v = _general("eig", a, vectors=True)
    return EigResult(w, v)


def eigvals(a: ArrayLike) -> ndarray:
    """Returns the eigenvalues, in unspecified order.

    Parameters
    ----------
    a : array_like
        Matrices of shape (..., N, N).

    Returns
    -------
    ndarray
        A complex array of shape (..., N).

    Raises
    ------
    LinAlgError
        For matrices that are not square or not finite.

    See Also
    --------
    eig, eigvalsh, eigh

    Examples
    --------
    >>> cp.sort(cp.linalg.eigvals([[2.0, 1.0], [1.0, 2.0]]).real).round(6)
    array([1., 3.])
    """
    return _general("eigvals", a, vectors=False)[0]


def _general(name: str, a: ArrayLike, vectors: bool) -> list[ndarray]:
    (a,) = inexact(a)
    stacked(a)
    if not bool(all_(_core.map("isfinite", a))):
        raise linalg_error("Array must not contain infs or NaNs")
    n = a.shape[-1]
    outputs = results(name, a, [(n,), (n, n)] if vectors else [(n,)], _NOT_CONVERGED)
    return [astype(x, _core.promote_types(a.dtype_name, "complex64")) for x in outputs]


def real_if_all_are(values: ndarray) -> ndarray:
    """Returns the real parts if all imaginary parts are zero, otherwise `values`. Copies the condition to the host."""
    return real_part(values) if bool(all_(imag(values) == 0)) else values


def slogdet(a: ArrayLike) -> SlogdetResult:
    """Returns the sign of the determinant (for complex matrices its phase) and the logarithm of its absolute value: (0,
    -inf) if it is zero.

    Parameters
    ----------
    a : array_like
        Matrices of shape (..., N, N).

    Returns
    -------
    SlogdetResult
        A named tuple of `sign` and `logabsdet`, both of shape (...).

    Raises
    ------
    LinAlgError
        For matrices that are not square.

    See Also
    --------
    det

    Examples
    --------
    >>> sign, logabsdet = cp.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
    >>> sign, logabsdet
    (array(-1.), array(0.))
    """
    (a,) = inexact(a)
    stacked(a)
    if not a.size:
        component = dtypes.component(a.dtype_name)
        return SlogdetResult(_core.full(a.shape[:-2], 1, a.dtype_name), _core.full(a.shape[:-2], 0, component))
    sign, logarithm = results("slogdet", a, [(), ()])
    return SlogdetResult(sign, real_part(logarithm))


def det(a: ArrayLike) -> ndarray:
    """Returns the determinant.

    Parameters
    ----------
    a : array_like
        Matrices of shape (..., N, N).

    Returns
    -------
    ndarray
        An array of shape (...).

    Raises
    ------
    LinAlgError
        For matrices that are not square.

    See Also
    --------
    slogdet

    Examples
    --------
    >>> cp.linalg.det([[2.0, 1.0], [1.0, 3.0]]).round(6)
    array(5.)
    """
    sign, logarithm = slogdet(a)
    return sign * _core.map("exp", logarithm)


def real_part(x: ndarray) -> ndarray:
    return real(x).copy() if dtypes.kind(x.dtype_name) == "c" else x


__all__ = [
    "EigResult", "EighResult", "QRResult", "SlogdetResult", "adjoint", "cholesky", "det", "eig", "eigh", "eigvals",
    "eigvalsh", "inexact", "linalg_error", "qr", "real_if_all_are", "real_part", "results", "slogdet", "stacked",
]  # fmt: skip
