"""Distributions of vectors. Parameters that are vectors or matrices are copied to the host and checked."""

from __future__ import annotations

import operator
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import array
from cuprous._functions.reductions import all as all_
from cuprous.random._rejection import LIMIT, Rejection
from cuprous.random._shapes import (
    check,
    common_shape,
    float_dtype,
    ndarray,
    non_negative,
    parameter,
    shape_of,
    to_dtype,
)

_map = _core.map


class Vectors(Rejection):
    """Draws of vectors, along the last axis."""

    def dirichlet(self, alpha: Any, size: Any = None, dtype: Any = None) -> ndarray:
        """Draws Dirichlet vectors, whose elements sum to one.

        Parameters
        ----------
        alpha : array_like
            The concentrations, not negative, 1-d.
        size : int or tuple of ints, optional
            The number of vectors, a shape; by default one.
        dtype : dtype, optional
            The dtype of the result, float64 (the default) or float32.

        Returns
        -------
        ndarray
            An array of shape (*size, len(alpha)).

        Raises
        ------
        ValueError
            For concentrations that are negative, or not 1-d.

        See Also
        --------
        random.gamma, random.chisquare, random.beta

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.dirichlet([1.0, 2.0, 3.0], size=2).sum(axis=1).round(6)
        array([1., 1.])
        """
        alpha, name = parameter(alpha), float_dtype(dtype, "dirichlet")
        check(isinstance(alpha, ndarray) and alpha.ndim == 1 and alpha.size > 0, "alpha must be a non-empty vector")
        check(bool(all_(alpha >= 0)), "alpha < 0")
        logs = self._log_gamma(alpha, (*shape_of(size)[0], alpha.size))
        if logs.size == 0:
            return to_dtype(logs, name)
        weights = _map("exp", logs - _core.reduce("max", logs, (logs.ndim - 1,), True))
        return to_dtype(weights / _core.reduce("sum", weights, (weights.ndim - 1,), True), name)

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> ndarray:
        """Draws counts of `n` trials over the outcomes on the last axis of `pvals`, as a chain of binomials; int64.

        Parameters
        ----------
        n : array_like
            The number of trials; an integer or an array.
        pvals : array_like
            The probabilities of the outcomes, along the last axis.
        size : int or tuple of ints, optional
            The number of vectors, a shape; by default one.

        Returns
        -------
        ndarray
            An array (int64) whose last axis has the outcomes.

        Raises
        ------
        ValueError
            If probabilities are negative or sum to more than one, or shapes do not broadcast.

        See Also
        --------
        random.poisson, random.hypergeometric, random.binomial, random.negative_binomial

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.multinomial(10, [0.2, 0.3, 0.5], size=4).sum(axis=1)
        array([10, 10, 10, 10])
        """
        n, p = parameter(n), to_dtype(array(pvals), "float64")
        check(
            p.ndim > 0 and p.shape[-1] > 0,
            "pvals must have at least 1 dimension and the last dimension of pvals must be greater than 0.",
        )
        non_negative(n, "n", nan=False)
        check(bool(all_((p >= 0) & (p <= 1))), "pvals < 0, pvals > 1 or pvals contains NaNs")
        k = p.shape[-1]
        before = _core.scan("sum", p, p.ndim - 1) - p
        check(bool(all_(before[..., k - 1] <= 1.0 + 1e-12)), "sum(pvals[..., :-1]) > 1.0")
        share = _map("where", before < 1.0, _map("minimum", p / (1.0 - before), 1.0), 0.0)
        shape = common_shape(size, n, p[..., 0])
        result = _core.empty((*shape, k), "int64")
        left = _core.full(shape, 0, "int64") + (to_dtype(n, "int64") if isinstance(n, ndarray) else int(n))
        for i in range(k - 1):
            counts = self._binomial(left, share[..., i], shape)
            _core.update(result[..., i], counts)
            left = left - counts
        _core.update(result[..., k - 1], left)
        return result

    def multivariate_hypergeometric(
        self, colors: Any, nsample: int, size: Any = None, method: str = "marginals"
    ) -> ndarray:
        """Returns the number of items of each color (int64) among `nsample` drawn without replacement from a population
        with `colors` items of each. Both of NumPy's methods, "marginals" and "count", are a chain of `hypergeometric`
        here.

        Raises
        ------
        ValueError
            If `colors` is not a vector of counts with a sum from `nsample` to 10**9, or for another method.
        """
        check(method in ("count", "marginals"), 'method must be "count" or "marginals".')
        counts = array(colors)
        integral = counts.size == 0 or dtypes.kind(counts.dtype_name) in "iu"
        values: list[int] = _core.to_numpy(counts).tolist() if counts.ndim == 1 and integral else [-1]
        check(min(values, default=0) >= 0, "colors must be a one-dimensional sequence of nonnegative integers")
        check(hasattr(nsample, "__index__"), "nsample must be an integer")
        total, wanted = sum(values), operator.index(nsample)
        check(wanted >= 0, "nsample must be nonnegative.")
        check(wanted <= total, "nsample > sum(colors)")
        check(total < LIMIT, f"sum(colors) must be less than {LIMIT}")
        shape = shape_of(size)[0]
        result = _core.empty((*shape, len(values)), "int64")
        left = _core.full(shape, float(wanted), "float64")
        for i, value in enumerate(values[:-1]):
            total -= value
            good, bad = (_core.full((), float(v), "float64") for v in (value, total))
            drawn = self._hypergeometric(good, bad, left, shape)
            _core.update(result[..., i], _core.cast(drawn, "int64"))
            left = left - drawn
        if values:
            _core.update(result[..., len(values) - 1], _core.cast(left, "int64"))
        return result

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: float = 1e-8, *,
        method: str = "svd", dtype: Any = None,
    ) -> ndarray:  # fmt: skip
        """Draws normal vectors with that mean and covariance, which is factored on the host ("svd", "eigh" or
        "cholesky").

        Parameters
        ----------
        mean : array_like
            The mean, of shape (N,).
        cov : array_like
            The covariance, of shape (N, N).
        size : int or tuple of ints, optional
            The number of vectors, a shape; by default one.
        check_valid : str, default "warn"
            What to do about a covariance that is not positive semidefinite: "warn", "raise" or "ignore".
        tol : float, default 1e-08
            The tolerance of this check.
        method : str, default "svd"
            The factorization: "svd", "eigh" or "cholesky".
        dtype : dtype, optional
            float64, which is the default, or float32, as in CuPy.

        Returns
        -------
        ndarray
            An array of shape (*size, N).

        Raises
        ------
        ValueError
            If the shapes do not fit, or for check_valid="raise" if `cov` is not positive semidefinite.
        numpy.linalg.LinAlgError
            If "cholesky" meets a covariance that is not positive definite.

        See Also
        --------
        random.wald, random.lognormal, random.normal

        Examples
        --------
        >>> rng = cp.random.default_rng(1)
        >>> rng.multivariate_normal([0.0, 10.0], [[1.0, 0.5], [0.5, 2.0]], size=4).shape
        (4, 2)
        """
        import numpy as np

        wanted = float_dtype(dtype, "multivariate_normal")
        check(method in ("svd", "eigh", "cholesky"), "method must be one of {'eigh', 'svd', 'cholesky'}")
        check(check_valid in ("warn", "raise", "ignore"), "check_valid must equal 'warn', 'raise', or 'ignore'")
        m, c = (_core.to_numpy(v) if isinstance(v, ndarray) else np.asarray(v) for v in (mean, cov))
        check(m.ndim == 1, "mean must be 1 dimensional")
        check(c.ndim == 2 and c.shape[0] == c.shape[1], "cov must be 2 dimensional and square")
        check(m.size == c.shape[0], "mean and cov must have same length")
        factor = _factor(c.astype(np.float64), check_valid, tol, method)
        z = self._normal((*shape_of(size)[0], m.size), "float64")
        product = _core.dot(z.reshape(-1, m.size), _core.from_numpy(factor))
        drawn = product.reshape(z.shape) + _core.from_numpy(m.astype(np.float64))
        return drawn if wanted == "float64" else _core.cast(drawn, wanted)


def _factor(cov: Any, check_valid: str, tol: float, method: str) -> Any:
    """Returns a matrix A with AᵀA = cov."""
    import numpy as np

    if method == "cholesky":
        return np.linalg.cholesky(cov).T
    if method == "eigh":
        values, vectors = np.linalg.eigh(cov)
        valid = bool((values >= -tol).all())
        factor = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    else:
        _, values, right = np.linalg.svd(cov)
        valid = np.allclose((right.T * values) @ right, cov, rtol=tol, atol=tol)
        factor = np.sqrt(values)[:, None] * right
    if not valid and check_valid != "ignore":
        if check_valid == "raise":
            raise ValueError("covariance is not symmetric positive-semidefinite.")
        import warnings

        warnings.warn("covariance is not symmetric positive-semidefinite.", RuntimeWarning, stacklevel=3)
    return factor
