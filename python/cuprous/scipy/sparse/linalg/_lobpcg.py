"""Extreme eigenvalues by the locally optimal block preconditioned conjugate gradient method (Knyazev, 2001)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.casting import astype
from cuprous._functions.joining import concatenate, stack
from cuprous.scipy.sparse.linalg._interface import LinearOperator, aslinearoperator

Product = Callable[[ndarray], ndarray]


def _product(a: Any, n: int, name: str) -> Product | None:
    """Returns the product of a matrix, operator or function with blocks of columns; None stays None."""
    if a is None:
        return None
    if callable(a) and not isinstance(a, LinearOperator):
        return lambda x: array(a(x))
    operator = aslinearoperator(a)
    if operator.shape != (n, n):
        raise ValueError(f"The shape {operator.shape} of {name} does not match the {n} rows of X")
    return operator.matmat


def _adjoint(x: ndarray) -> ndarray:
    return (_core.map("conjugate", x) if _dtypes.kind(x.dtype_name) == "c" else x).T


def _gram(x: ndarray, y: ndarray) -> Any:
    """Returns xᴴy on the host in double precision."""
    import numpy as np

    gram = _core.to_numpy(_adjoint(x) @ y)
    return gram.astype(np.result_type(gram.dtype, np.float64))


def _times(x: ndarray, small: Any) -> ndarray:
    """Returns the product with a small matrix of the host, in the dtype of `x`."""
    import numpy as np

    return x @ astype(_core.from_numpy(np.ascontiguousarray(small), x.device_name), x.dtype_name)


class _Block:
    """A block of columns with their products with A and B."""

    def __init__(self, x: ndarray, ax: ndarray, bx: ndarray) -> None:
        self.x, self.ax, self.bx = x, ax, bx

    def times(self, small: Any) -> _Block:
        """The block's combinations by a small matrix of the host."""
        return _Block(*(_times(part, small) for part in (self.x, self.ax, self.bx)))

    def plus(self, other: _Block) -> _Block:
        """The sum of two blocks."""
        return _Block(self.x + other.x, self.ax + other.ax, self.bx + other.bx)

    def orthonormal(self) -> _Block:
        """The block with orthonormal columns in the product of B, by Cholesky's factor.

        Raises
        ------
        LinAlgError
            If the columns depend on each other.
        """
        return self.times(_inverse_factor(_gram(self.x, self.bx)))


def _inverse_factor(gram: Any) -> Any:
    """Returns R⁻¹ of RᴴR = gram."""
    import numpy as np

    # Scaled to ones, so that columns of other lengths do not count as dependent.
    scale = 1 / np.sqrt(np.maximum(np.diag(gram).real, np.finfo(np.float64).tiny))
    lower = np.linalg.cholesky(gram * scale * scale[:, None])
    return scale[:, None] * np.linalg.inv(lower).conj().T


def _pencil(a: Any, b: Any) -> tuple[Any, Any]:
    """Returns the ascending eigenvalues and eigenvectors of a x = λ b x.

    Raises
    ------
    LinAlgError
        If `b` is not positive definite.
    """
    import numpy as np

    factor = _inverse_factor((b + b.conj().T) / 2)
    reduced = factor.conj().T @ a @ factor
    values, vectors = np.linalg.eigh((reduced + reduced.conj().T) / 2)
    return values, factor @ vectors


def _extreme(values: Any, count: int, largest: bool) -> Any:
    """Returns the indices of the wanted ones among ascending eigenvalues, the most extreme first."""
    import numpy as np

    order = np.arange(values.size)
    return (order[::-1] if largest else order)[:count]


class _Problem:
    """A x = λ B x in the complement of Y."""

    def __init__(self, a: Product, b: Product | None, y: ndarray | None) -> None:
        import numpy as np

        self.a, self.b, self.y = a, b, y
        if y is not None:
            self.by = y if b is None else b(y)
            try:
                factor = _inverse_factor(_gram(y, self.by))
            except np.linalg.LinAlgError:
                raise ValueError("Linearly dependent constraints") from None
            self.project = factor @ factor.conj().T

    def constrained(self, x: ndarray) -> ndarray:
        """Returns the part of `x` in the complement of Y."""
        if self.y is None:
            return x
        return x - _times(self.y, self.project @ _gram(self.by, x))

    def block(self, x: ndarray) -> _Block:
        """Returns orthonormal columns with the span of `x`."""
        bx = x if self.b is None else astype(self.b(x), x.dtype_name)
        factor = _inverse_factor(_gram(x, bx))
        x, bx = _times(x, factor), _times(bx, factor)
        return _Block(x, astype(self.a(x), x.dtype_name), bx)

    def ritz(self, block: _Block, largest: bool) -> tuple[Any, _Block]:
        """Returns the eigenvalues within a block's span, and their vectors."""
        values, vectors = _pencil(_gram(block.x, block.ax), _gram(block.x, block.bx))
        order = _extreme(values, values.size, largest)
        return values[order], block.times(vectors[:, order])


def _residual(block: _Block, values: Any) -> tuple[ndarray, Any]:
    """Returns the residuals of eigenpairs, and their lengths on the host."""
    rest = block.ax - block.bx * astype(_core.from_numpy(values.copy(), block.x.device_name), block.x.dtype_name)
    magnitude = _core.map("absolute", rest)
    return rest, _core.to_numpy(_core.map("sqrt", _core.reduce("sum", magnitude * magnitude, (0,))))


def _improved(now: _Block, more: _Block, before: _Block | None, largest: bool
              ) -> tuple[Any, _Block, _Block]:  # fmt: skip
    """Returns the eigenvalues and vectors in the span of the blocks, and the part of the vectors that is not from the
    present ones."""
    import numpy as np

    parts = [now, more] if before is None else [now, more, before]
    whole = [concatenate([getattr(part, name) for part in parts], 1) for name in ("x", "ax", "bx")]
    values, vectors = _pencil(_gram(whole[0], whole[1]), _gram(whole[0], whole[2]))
    count = now.x.shape[1]
    chosen = _extreme(values, count, largest)
    vectors = vectors[:, chosen]
    if not np.isfinite(vectors).all():
        raise np.linalg.LinAlgError("not finite")
    rest = _Block(*(part[:, count:] for part in whole)).times(vectors[count:])
    return values[chosen], now.times(vectors[:count]).plus(rest), rest


def lobpcg(
    A: Any, X: Any, B: Any = None, M: Any = None, Y: Any = None, tol: float | None = None, maxiter: int | None = None,
    largest: bool = True, verbosityLevel: int = 0, retLambdaHistory: bool = False,
    retResidualNormsHistory: bool = False, restartControl: int = 20,
) -> Any:  # fmt: skip
    """Returns extreme eigenvalues and eigenvectors of A x = λ B x for Hermitian A and positive definite B, by the
    locally optimal block preconditioned conjugate gradient method (Knyazev, 2001). The blocks stay on the device; the
    projected problem is solved on the host in each iteration.

    Parameters
    ----------
    A : array_like, sparse matrix or LinearOperator
        Matrices, operators or functions of blocks (n x n); M approximates the inverse of A. None for B and M is the
        identity.
    B : array_like, sparse matrix or LinearOperator, optional
        Matrices, operators or functions of blocks (n x n); M approximates the inverse of A. None for B and M is the
        identity.
    M : array_like, sparse matrix or LinearOperator, optional
        Matrices, operators or functions of blocks (n x n); M approximates the inverse of A. None for B and M is the
        identity.
    X : array_like
        The initial vectors (n x k).
    Y : array_like, optional
        Vectors (n x m) to whose complement in the product of B the eigenvectors are restricted.
    tol : float, optional
        The length of a residual at which it has converged; n times the square root of the dtype's precision by default.
    maxiter : int, optional
        The greatest number of iterations; 20 by default.
    largest : bool, default True
        Whether the largest eigenvalues are wanted, or the smallest.
    verbosityLevel : int, default 0
        Prints the residuals' lengths if positive.
    retLambdaHistory, retResidualNormsHistory : bool, default False
        Whether to return the eigenvalues and lengths of residuals by iteration too.
    restartControl : int, default 20
        The previous directions are dropped if an iteration makes the residuals this many times as long.

    Returns
    -------
    ndarray
        The eigenvalues (k), descending for `largest` and otherwise ascending; the eigenvectors (n x k) with the
        smallest residuals of all iterations; and the requested histories (iterations + 2, k). If n is below 5 k + m,
        the problem is solved as a dense one instead, without histories.

    Raises
    ------
    ValueError
        For arrays of the wrong shape, and initial vectors or constraints that depend on each other.
    NotImplementedError
        For constraints of small problems.

    See Also
    --------
    scipy.sparse.linalg.eigsh, scipy.sparse.linalg.svds

    Examples
    --------
    >>> a = cp.scipy.sparse.diags([cp.arange(1.0, 101.0)], [0])
    >>> x = cp.random.default_rng(0).random((100, 3))
    >>> values, vectors = cp.scipy.sparse.linalg.lobpcg(a, x, largest=False, tol=1e-5, maxiter=200)
    >>> values.round(5)
    array([1., 2., 3.])
    """
    import numpy as np

    if X is None:
        raise ValueError("The mandatory initial matrix X cannot be None")
    x = array(X)
    if x.ndim != 2:
        raise ValueError("expected rank-2 array for argument X")
    n, k = x.shape
    y = None if Y is None else array(Y)
    if y is not None and (y.ndim != 2 or y.shape[0] != n):
        raise ValueError(f"The constraints Y must have two axes and {n} rows, not the shape {y.shape}")
    if k > n or not k:
        raise ValueError(f"X has {k} columns and {n} rows: it needs between 1 and {n}")
    a, b, m = _product(A, n, "A"), _product(B, n, "B"), _product(M, n, "M")
    assert a is not None
    x = astype(x, _dtypes.inexact(x.dtype_name))
    if n - (0 if y is None else y.shape[1]) < 5 * k:
        if y is not None:
            raise NotImplementedError("The dense eigensolver does not support constraints.")
        return _dense(a, b, n, k, x.dtype_name, largest)
    limit = 20 if maxiter is None else int(maxiter)
    allowed = float(tol) if tol is not None and tol > 0 else float(np.sqrt(np.finfo(x.dtype_name).eps)) * n
    dtype = x.dtype_name
    for product in (a, b):
        if product is not None:
            dtype = _core.promote_types(dtype, product(x[:, :1]).dtype_name)
    x = astype(x, dtype)
    problem = _Problem(a, b, None if y is None else astype(y, dtype))
    try:
        block = problem.block(problem.constrained(x))
    except np.linalg.LinAlgError:
        raise ValueError("Linearly dependent initial approximations") from None
    values, block = problem.ritz(block, largest)
    best, least, previous = block, np.inf, np.inf
    before: _Block | None = None
    history: list[tuple[Any, Any]] = []
    for iteration in range(limit + 1):
        rest, lengths = _residual(block, values)
        history.append((values, lengths))
        worst = float(lengths.max())
        if verbosityLevel > 0:
            print(f"iteration {iteration}: eigenvalues {values}, residuals {lengths}")
        if worst < least:
            best, least = block, worst
        active = lengths > allowed
        if iteration == limit or not active.any():
            break
        if worst > restartControl * previous:
            before = None
        previous = worst
        try:
            values, block, before = _step(problem, block, rest, before, active, m, largest)
        except np.linalg.LinAlgError:
            warnings.warn(f"Failed at iteration {iteration} with accuracies {lengths}.", UserWarning, stacklevel=2)
            break
    values, block = problem.ritz(problem.block(problem.constrained(best.x)), largest)
    _, lengths = _residual(block, values)
    history.append((values, lengths))
    if lengths.max() > allowed:
        warnings.warn(
            f"Exited with accuracies {lengths} not reaching the requested tolerance {allowed}.", UserWarning,
            stacklevel=2,
        )  # fmt: skip
    real = _dtypes.component(dtype)
    result: list[Any] = [astype(_core.from_numpy(values.copy(), x.device_name), real), block.x]
    for wanted, which in ((retLambdaHistory, 0), (retResidualNormsHistory, 1)):
        if wanted:
            rows = np.array([row[which] for row in history])
            result.append(astype(_core.from_numpy(rows, x.device_name), real))
    return tuple(result)


def _step(
    problem: _Problem, block: _Block, rest: ndarray, before: _Block | None, active: Any, m: Product | None,
    largest: bool,
) -> tuple[Any, _Block, _Block]:  # fmt: skip
    """Returns the next eigenvalues, vectors and directions, without the previous directions where they depend on the
    others."""
    import numpy as np

    (columns,) = active.nonzero()
    search = stack([rest[:, int(j)] for j in columns], 1)
    if m is not None:
        search = astype(m(search), rest.dtype_name)
    search = problem.constrained(search)
    search = search - _times(block.x, _gram(block.bx, search))
    more = problem.block(search)
    if before is not None:
        try:
            kept = _Block(*(stack([part[:, int(j)] for j in columns], 1)
                            for part in (before.x, before.ax, before.bx)))  # fmt: skip
            return _improved(block, more, kept.orthonormal(), largest)
        except np.linalg.LinAlgError:
            pass
    return _improved(block, more, None, largest)


def _dense(a: Product, b: Product | None, n: int, k: int, dtype: str, largest: bool) -> tuple[ndarray, ndarray]:
    import numpy as np

    warnings.warn(
        f"The problem size {n} minus the constraints size is too small relative to the block size {k}. "
        "Using a dense eigensolver instead of LOBPCG iterations.", UserWarning, stacklevel=3,
    )  # fmt: skip
    identity = _core.from_numpy(np.eye(n, dtype=dtype))
    whole = _core.to_numpy(a(identity))
    values, vectors = _pencil(whole, np.eye(n) if b is None else _core.to_numpy(b(identity)))
    chosen = _extreme(values, k, largest)
    found = _core.promote_types(dtype, _dtypes.inexact(_dtypes.name_of(whole.dtype)))
    return (
        astype(_core.from_numpy(values[chosen]), _dtypes.component(found)),
        astype(_core.from_numpy(np.ascontiguousarray(vectors[:, chosen])), found),
    )


__all__ = ["lobpcg"]
