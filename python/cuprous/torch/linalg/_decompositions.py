"""Decompositions and their backward passes. The formulas are those of Giles (2008), "Collected matrix derivative
results", and for complex matrices of Wan and Zhang (2019)."""

from __future__ import annotations

from typing import Any, NamedTuple

from cuprous import _core
from cuprous._core import Tensor
from cuprous.linalg._decompositions import results
from cuprous.torch import _diagonals, _joining
from cuprous.torch._args import astype, write_out, write_outs, zeros_like
from cuprous.torch._pointwise import conj
from cuprous.torch._shape import adjoint
from cuprous.torch.autograd import Function
from cuprous.torch.linalg._common import (
    LinAlgError,
    checked,
    diagonals,
    embedded,
    engine,
    eye,
    gaps,
    has_nan,
    matrices,
    off_diagonal,
)
from cuprous.torch.linalg._solving import solve

_wrap, _map = _core.t_wrap, _core.t_map


class qr_result(NamedTuple):
    """The factors of a QR decomposition."""

    Q: Tensor
    R: Tensor


class svd_result(NamedTuple):
    """The factors of a singular value decomposition."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class eig_result(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class eigh_result(NamedTuple):
    """Eigenvalues and eigenvectors of a Hermitian matrix."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class cholesky_ex_result(NamedTuple):
    """A Cholesky factor, and nonzero where there is none."""

    L: Tensor
    info: Tensor


def _complex(x: Tensor, like: Tensor) -> Tensor:
    """Returns a real tensor cast to the dtype of another."""
    return astype(x, like.dtype_name)


def _halved(a: Tensor) -> Tensor:
    """Returns the lower triangle with its diagonal halved."""
    return _diagonals.tril(a) * (1 - 0.5 * eye(a.dims[-1], a))


class _Cholesky(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        lower = _wrap(engine.cholesky(a.as_array()))
        ctx.save_for_backward(lower)
        return lower

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (lower,) = ctx.saved_tensors
        upper = adjoint(lower)
        inner = _halved(upper @ g)
        # L⁻ᴴ inner L⁻¹, made symmetric.
        half = solve(upper, adjoint(solve(upper, adjoint(inner))))
        return 0.5 * (half + adjoint(half))


def cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """Returns the lower triangular L with A = L Lᴴ for Hermitian positive definite matrices.

    Parameters
    ----------
    A : Tensor
        A Hermitian matrix or a batch of them, of a floating or complex dtype.
    upper : bool, default False
        Whether to return Lᴴ instead.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `A`.

    Raises
    ------
    LinAlgError
        For matrices that are not positive definite.

    See Also
    --------
    torch.linalg.cholesky_ex, torch.linalg.solve, torch.linalg.qr

    Examples
    --------
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    with checked("linalg.cholesky", A, square=True):
        lower: Tensor = _Cholesky.apply(adjoint(A) if upper else A)
    return write_out(out, adjoint(lower) if upper else lower)


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """Returns `cholesky` without an error, and whether it exists.

    Parameters
    ----------
    A : Tensor
        A Hermitian matrix or a batch of them, of a floating or complex dtype.
    upper : bool, default False
        Whether to return the upper triangular factor.
    check_errors : bool, default False
        Whether to raise an error where the factor does not exist.

    Returns
    -------
    tuple
        The named tuple `(L, info)`: info is int32, 0 or for a matrix that is not positive definite 1, with NaN in L.

    Raises
    ------
    LinAlgError
        With `check_errors`, for matrices that are not positive definite.

    See Also
    --------
    torch.linalg.solve, torch.linalg.qr, torch.linalg.cholesky

    Examples
    --------
    >>> torch.linalg.cholesky_ex(torch.tensor([[-1.0]])).info
    tensor(1, dtype=torch.int32)
    """
    matrices("linalg.cholesky_ex", A, square=True)

    plain = _wrap(results("cholesky", A.detach().as_array(), [A.dims[-2:]], None)[0])
    info = _core.t_cast(has_nan(plain), "int32")
    if bool(info.any()):
        if check_errors:
            raise LinAlgError("linalg.cholesky_ex: the input is not positive-definite.")
        return cholesky_ex_result(adjoint(plain) if upper else plain, info)
    return cholesky_ex_result(cholesky(A, upper=upper), info)


def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """Returns the inverse of the matrix with the given Cholesky factor.

    Parameters
    ----------
    L : Tensor
        The Cholesky factor, a matrix or a batch of matrices.
    upper : bool, default False
        Whether the factor is upper triangular.

    Returns
    -------
    Tensor
        A tensor of the shape of `L`.

    See Also
    --------
    torch.linalg.cholesky, torch.cholesky_solve, torch.linalg.inv

    Examples
    --------
    >>> torch.cholesky_inverse(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([[0.2500, 0.0000],
            [0.0000, 1.0000]])
    """
    product = adjoint(L) @ L if upper else L @ adjoint(L)
    return solve(product, eye(L.dims[-1], L))


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """Returns X with A X = B for the matrix A with a given Cholesky factor.

    Parameters
    ----------
    B : Tensor
        A tensor of shape (..., n, k).
    L : Tensor
        The factor, a tensor of shape (..., n, n).
    upper : bool, default False
        Whether the factor is upper triangular.

    Returns
    -------
    Tensor
        A tensor of the shape of `B`.

    See Also
    --------
    torch.linalg.cholesky, torch.cholesky_inverse, torch.linalg.solve

    Examples
    --------
    >>> torch.cholesky_solve(torch.tensor([[4.0], [1.0]]), torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([[1.],
            [1.]])
    """
    first, second = (adjoint(L), L) if upper else (L, adjoint(L))
    return solve(second, solve(first, B))


class _Qr(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, mode: str) -> tuple[Tensor, Tensor]:
        q, r = (_wrap(x) for x in engine.qr(a.as_array(), mode=mode))
        if a.is_complex():
            q, r = _with_real_diagonal(q, r)
        ctx.mode = mode
        ctx.save_for_backward(q, r)
        return q, r

    @staticmethod
    def backward(ctx: Any, gq: Any, gr: Any) -> Any:
        q, r = ctx.saved_tensors
        m, n = q.dims[-2], r.dims[-1]
        if ctx.mode == "complete" and m > n:
            raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
        if m >= n:
            return _qr_back(q, r, gq, gr), None
        # A = Q [U | V]: U by the formula for square matrices, V = Qᴴ Y for the other columns Y.
        u, gu, v, gv = r[..., :m], gr[..., :m], r[..., m:], gr[..., m:]
        y = q @ v
        left = _qr_back(q, u, gq + y @ adjoint(gv), gu)
        return _joining.cat([left, q @ gv], -1), None


def _with_real_diagonal(q: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
    """Returns Q and R with a real diagonal of R, as in LAPACK. The backward pass relies on it."""
    signs = _map("sign", diagonals(r))
    signs = _map("where", signs == 0, 1, signs)
    k = signs.dims[-1]
    rest = [*signs.dims[:-1], q.dims[-1] - k]
    wide = _joining.cat([signs, _core.t_full(rest, 1, q.dtype_name, q.device_name)], -1) if rest[-1] else signs
    return q * wide.unsqueeze(-2), r * conj(wide).unsqueeze(-1)


def _qr_back(q: Tensor, r: Tensor, gq: Tensor, gr: Tensor) -> Tensor:
    inner = _diagonals.triu(gr @ adjoint(r) - adjoint(q) @ gq)
    # Real parts of the diagonal count once; the rest is added to its mirror image.
    inner = off_diagonal(inner)
    diagonal = diagonals(_diagonals.triu(gr @ adjoint(r) - adjoint(q) @ gq))
    diagonal = _complex(_map("real", diagonal), q) if q.is_complex() else diagonal
    ga = gq + q @ (inner + adjoint(inner) + embedded(diagonal))
    return adjoint(solve(r, adjoint(ga)))


def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """Returns Q with orthonormal columns and the upper triangular R with A = Q R.

    Parameters
    ----------
    A : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    mode : str, default "reduced"
        "reduced" for Q of shape (m, k) and R of shape (k, n), where k is the smaller of m and n; "complete" for Q of
        shape (m, m); "r" for R alone.
    out : Tensor, optional
        For PyTorch's signature; only None.

    Returns
    -------
    tuple
        The named tuple `(Q, R)`.

    See Also
    --------
    torch.linalg.cholesky, torch.linalg.cholesky_ex, torch.linalg.solve, torch.linalg.svd, torch.linalg.svdvals

    Examples
    --------
    >>> A = torch.tensor([[3.0, 0.0], [4.0, 5.0]])
    >>> Q, R = torch.linalg.qr(A)
    >>> torch.allclose(Q @ R, A, atol=1e-5)
    True
    """
    matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           "'complete'")  # fmt: skip
    if mode == "r":
        if A.requires_grad and _core.is_grad_enabled():
            raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
                               "use linalg.qr(A, mode='reduced') if you are going to require gradients.")  # fmt: skip
        return write_outs(out, qr_result(A.new_empty(0), _wrap(engine.qr(A.as_array(), mode="r"))))
    return write_outs(out, qr_result(*_Qr.apply(A, mode)))


class _Svd(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, full: bool) -> tuple[Tensor, Tensor, Tensor]:
        u, s, vh = (_wrap(x) for x in engine.svd(a.as_array(), full_matrices=full))
        ctx.save_for_backward(u, s, vh)
        ctx.set_materialize_grads(False)
        return u, s, vh

    @staticmethod
    def backward(ctx: Any, gu: Any, gs: Any, gvh: Any) -> Any:
        u, s, vh = ctx.saved_tensors
        k = s.dims[-1]
        if gu is None and gvh is None:
            # The gradient with respect to the values alone does not need the gaps between them, which may be zero.
            return (u[..., :k] * _complex(gs, u).unsqueeze(-2)) @ vh[..., :k, :], None
        gu, gs, gvh = (zeros_like(t) if g is None else g for g, t in ((gu, u), (gs, s), (gvh, vh)))
        u, gu, vh, gvh = u[..., :k], gu[..., :k], vh[..., :k, :], gvh[..., :k, :]
        v, gv = adjoint(vh), adjoint(gvh)
        uu, vv = _skew(adjoint(u) @ gu), _skew(vh @ gv)
        scale = _complex(s, u)
        inner = (uu * scale.unsqueeze(-2) + scale.unsqueeze(-1) * vv) / _complex(gaps(_map("square", s)), u)
        inner = off_diagonal(inner) + embedded(_complex(gs, u))
        if u.is_complex():
            inner = inner + embedded(diagonals(uu) / (2 * scale))
        ga = u @ inner @ vh
        m, n = u.dims[-2], vh.dims[-1]
        if m > k:
            part = gu / scale.unsqueeze(-2)
            ga = ga + (part - u @ (adjoint(u) @ part)) @ vh
        if n > k:
            part = gvh / scale.unsqueeze(-1)
            ga = ga + u @ (part - (part @ v) @ vh)
        return ga, None


def _skew(a: Tensor) -> Tensor:
    return a - adjoint(a)


class _Svdvals(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return _wrap(engine.svdvals(a.as_array()))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        u, _, vh = svd(ctx.saved_tensors[0], False)
        return (u * _complex(g, u).unsqueeze(-2)) @ vh


def _check_driver(driver: str | None) -> None:
    """Raises for unknown names of cuSOLVER's algorithms, of which all compute the same."""
    if driver not in (None, "gesvd", "gesvdj", "gesvda"):
        raise RuntimeError(f"torch.linalg.svd: driver={driver!r} is not known")


def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """Returns the singular value decomposition A = U diag(S) Vᴴ, with nonnegative descending S.

    The columns that `full_matrices` adds have no gradient, because they are an arbitrary completion of a basis.

    Parameters
    ----------
    A : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    full_matrices : bool, default True
        Whether U and Vᴴ are square.
    driver : str, optional
        For PyTorch's signature; it has no effect.
    out : Tensor, optional
        For PyTorch's signature; only None.

    Returns
    -------
    tuple
        The named tuple `(U, S, Vh)`.

    See Also
    --------
    torch.linalg.svdvals, torch.linalg.qr

    Examples
    --------
    >>> torch.linalg.svd(torch.tensor([[3.0, 0.0], [0.0, 2.0]])).S
    tensor([3., 2.])
    """
    _check_driver(driver)
    with checked("linalg.svd", A):
        return write_outs(out, svd_result(*_Svd.apply(A, full_matrices)))


def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """Returns the singular values, in descending order.

    Parameters
    ----------
    A : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    driver : str, optional
        For PyTorch's signature; it has no effect.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A real tensor of shape (..., k), where k is the smaller extent.

    See Also
    --------
    torch.linalg.qr, torch.linalg.svd, torch.linalg.cond, torch.linalg.matrix_rank

    Examples
    --------
    >>> torch.linalg.svdvals(torch.tensor([[0.0, 2.0], [3.0, 0.0]]))
    tensor([3., 2.])
    """
    _check_driver(driver)
    with checked("linalg.svdvals", A):
        result: Tensor = _Svdvals.apply(A)
    return write_out(out, result)


class _Eigh(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, triangle: str) -> tuple[Tensor, Tensor]:
        values, vectors = (_wrap(x) for x in engine.eigh(a.as_array(), UPLO=triangle))
        ctx.save_for_backward(values, vectors)
        ctx.set_materialize_grads(False)
        return values, vectors

    @staticmethod
    def backward(ctx: Any, gl: Any, gv: Any) -> Any:
        values, v = ctx.saved_tensors
        vh = adjoint(v)
        inner: Any = None if gl is None else embedded(_complex(gl, v))
        if gv is not None:
            # Only the gradient with respect to the vectors needs the gaps between the values, which may be zero.
            rotated = off_diagonal((vh @ gv) / _complex(gaps(values), v))
            inner = rotated if inner is None else rotated + inner
        return v @ inner @ vh, None


def eigh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """Returns the eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices.

    One triangle is read. The gradient is that of a symmetric input.

    Parameters
    ----------
    A : Tensor
        A Hermitian matrix or a batch of them, of a floating or complex dtype.
    UPLO : str, default "L"
        The triangle that is read, "L" or "U".
    out : Tensor, optional
        For PyTorch's signature; only None.

    Returns
    -------
    tuple
        The named tuple `(eigenvalues, eigenvectors)`, with eigenvectors as columns.

    See Also
    --------
    torch.linalg.eigvals, torch.linalg.eigvalsh, torch.linalg.eig

    Examples
    --------
    >>> torch.linalg.eigh(torch.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    tensor([1., 3.])
    """
    with checked("linalg.eigh", A, square=True):
        if UPLO.upper() not in ("L", "U"):
            raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
        return write_outs(out, eigh_result(*_Eigh.apply(A, UPLO.upper())))


def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """Returns the eigenvalues of Hermitian matrices, in ascending order.

    Parameters
    ----------
    A : Tensor
        A Hermitian matrix or a batch of them, of a floating or complex dtype.
    UPLO : str, default "L"
        The triangle that is read, "L" or "U".
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A real tensor of shape (..., n).

    See Also
    --------
    torch.linalg.eig, torch.linalg.eigh, torch.linalg.eigvals

    Examples
    --------
    >>> torch.linalg.eigvalsh(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """
    if A.requires_grad and _core.is_grad_enabled():
        return write_out(out, eigh(A, UPLO).eigenvalues)
    with checked("linalg.eigvalsh", A, square=True):
        return write_out(out, _wrap(engine.eigvalsh(A.as_array(), UPLO=UPLO.upper())))


class _Eig(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> tuple[Tensor, Tensor]:
        values, vectors = (_wrap(x) for x in engine.eig(a.as_array()))
        ctx.save_for_backward(values, vectors)
        ctx.set_materialize_grads(False)
        return values, vectors

    @staticmethod
    def backward(ctx: Any, gl: Any, gv: Any) -> Any:
        values, v = ctx.saved_tensors
        vh = adjoint(v)
        inner: Any = None if gl is None else embedded(gl)
        if gv is not None:
            rotated = vh @ gv
            own = _complex(_map("real", diagonals(rotated)), v)
            rotated = off_diagonal((rotated - (vh @ v) * own.unsqueeze(-2)) / conj(gaps(values)))
            inner = rotated if inner is None else rotated + inner
        return solve(vh, inner @ vh)


def eig(A: Tensor, *, out: Any = None) -> Any:
    """Returns the eigenvalues, in no particular order, and eigenvectors of norm 1.

    Parameters
    ----------
    A : Tensor
        A square matrix or a batch of them, of a floating or complex dtype.
    out : Tensor, optional
        For PyTorch's signature; only None.

    Returns
    -------
    tuple
        The named tuple `(eigenvalues, eigenvectors)` of complex tensors, with eigenvectors as columns.

    See Also
    --------
    torch.linalg.eigh, torch.linalg.eigvals, torch.linalg.eigvalsh

    Examples
    --------
    >>> torch.linalg.eig(torch.tensor([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    tensor([2.+0.j, 3.+0.j])
    """
    with checked("linalg.eig", A, square=True):
        return write_outs(out, eig_result(*_Eig.apply(astype(A, _core.t_promote_types(A.dtype_name, "complex64")))))


def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the eigenvalues, in no particular order.

    Parameters
    ----------
    A : Tensor
        A square matrix or a batch of them, of a floating or complex dtype.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A complex tensor of shape (..., n).

    See Also
    --------
    torch.linalg.eigvalsh, torch.linalg.eig, torch.linalg.eigh

    Examples
    --------
    >>> torch.linalg.eigvals(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
    tensor([2.+0.j, 3.+0.j])
    """
    return write_out(out, eig(A).eigenvalues)
