"""Distributions of vectors and matrices with covariances."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _broadcasting, _joining, _reductions
from cuprous.torch._comparisons import clamp
from cuprous.torch._diagonals import diag_embed, tril
from cuprous.torch._further import mvlgamma
from cuprous.torch._info import finfo
from cuprous.torch.autograd._modes import no_grad
from cuprous.torch.distributions import constraints
from cuprous.torch.distributions._base import LOG_2PI, Distribution, ExponentialFamily, common, normal
from cuprous.torch.distributions._gamma import Beta, Gamma
from cuprous.torch.linalg import cholesky, cholesky_inverse, cholesky_solve, slogdet, solve_triangular, vector_norm

_map = _core.t_map


def _eye(n: int, like: Tensor) -> Tensor:
    return diag_embed(_core.t_full([n], 1, like.dtype_name, like.device_name))


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """Returns the Cholesky factor of the inverse of a precision matrix."""
    upper = tril(cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT)
    return tril(solve_triangular(upper, _eye(precision.dims[-1], precision), upper=False))


def log_diagonal(lower: Tensor) -> Tensor:
    """Returns the sum of the logarithms of the diagonal of matrices."""
    return _reductions.sum(_map("log", lower.diagonal(0, -2, -1)), -1)


def mahalanobis(lower: Tensor, difference: Tensor) -> Tensor:
    """Returns the squared distance in units of the covariance with a Cholesky factor."""
    z = solve_triangular(lower, difference.unsqueeze(-1), upper=False).squeeze(-1)
    return _reductions.sum(_map("square", z), -1)


class _Covariance(Distribution):
    """A distribution with one of three matrices: the covariance, its inverse or its lower Cholesky factor."""

    def _set_matrix(self, covariance: Tensor | None, precision: Tensor | None, factor: Tensor | None,
                    batch: Sequence[int]) -> None:  # fmt: skip
        given = {"covariance_matrix": covariance, "precision_matrix": precision, "scale_tril": factor}
        (name, matrix), *_ = ((key, value) for key, value in given.items() if value is not None)
        assert matrix is not None
        if matrix.ndim < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        matrix = matrix.expand([*batch, *matrix.dims[-2:]])
        self.__dict__[name] = matrix
        if name == "covariance_matrix":
            self._unbroadcasted_scale_tril = cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix) if name == "precision_matrix" else matrix

    @functools.cached_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix."""
        return self._unbroadcasted_scale_tril

    @functools.cached_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT

    @functools.cached_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return cholesky_inverse(self._unbroadcasted_scale_tril)


def _count(*matrices: Any) -> int:
    return sum(matrix is not None for matrix in matrices)


class MultivariateNormal(_Covariance):
    """The multivariate normal distribution with a mean, and one of three matrices.

    Parameters
    ----------
    loc : Tensor
        The mean, a tensor of shape (..., n).
    covariance_matrix : Tensor, optional
        A positive definite tensor of shape (..., n, n).
    precision_matrix : Tensor, optional
        Its inverse.
    scale_tril : Tensor, optional
        Its lower Cholesky factor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        Unless exactly one of the three matrices is given.

    See Also
    --------
    torch.distributions.LowRankMultivariateNormal, torch.distributions.LogisticNormal, torch.distributions.HalfNormal,
    torch.distributions.Normal, torch.distributions.LogNormal

    Examples
    --------
    >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support: Any = constraints.real_vector

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:  # fmt: skip
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if _count(covariance_matrix, precision_matrix, scale_tril) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        matrix = next(m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None)
        batch = _broadcasting.broadcast_shapes(matrix.dims[:-2], loc.dims[:-1])
        self.loc = loc.expand([*batch, loc.dims[-1]])
        self._set_matrix(covariance_matrix, precision_matrix, scale_tril, batch)
        super().__init__(batch, loc.dims[-1:], validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The vector of the highest density."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variances."""
        return _reductions.sum(_map("square", self._unbroadcasted_scale_tril), -1).expand(self.loc.dims)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        z = normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ z.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        distance = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (distance + self.loc.dims[-1] * LOG_2PI) - log_diagonal(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        return 0.5 * self.loc.dims[-1] * (1 + LOG_2PI) + log_diagonal(self._unbroadcasted_scale_tril)


class LowRankMultivariateNormal(Distribution):
    """The multivariate normal distribution whose covariance is cov_factor @ cov_factor.T + diag(cov_diag).

    Parameters
    ----------
    loc : Tensor
        The mean, a tensor of shape (..., n).
    cov_factor : Tensor
        A tensor of shape (..., n, k) with few columns.
    cov_diag : Tensor
        A positive tensor of shape (..., n).
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For parameters of other shapes.

    See Also
    --------
    torch.distributions.LogisticNormal, torch.distributions.HalfNormal, torch.distributions.Normal,
    torch.distributions.LogNormal, torch.distributions.MultivariateNormal

    Examples
    --------
    >>> factor = torch.tensor([[1.0], [0.0]])
    >>> torch.distributions.LowRankMultivariateNormal(torch.zeros(2), factor, torch.ones(2)).covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support: Any = constraints.real_vector

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if cov_factor.ndim < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        event = loc.dims[-1:]
        if cov_factor.dims[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.dims[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {tuple(event)}")
        batch = _broadcasting.broadcast_shapes(loc.dims[:-1], cov_factor.dims[:-2], cov_diag.dims[:-1])
        self.loc = loc.expand([*batch, *event])
        self.cov_factor, self.cov_diag = (
            cov_factor.expand([*batch, *cov_factor.dims[-2:]]),
            cov_diag.expand([*batch, *event]),
        )
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        self._capacitance = cholesky(scaled @ self.cov_factor + _eye(cov_factor.dims[-1], loc))
        super().__init__(batch, event, validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The vector of the highest density."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variances."""
        return _reductions.sum(_map("square", self.cov_factor), -1) + self.cov_diag

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self.cov_factor @ self.cov_factor.mT + diag_embed(self.cov_diag)

    @property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix."""
        root = _map("sqrt", self.cov_diag).unsqueeze(-1)
        scaled = self.cov_factor / root
        return root * cholesky(scaled @ scaled.mT + _eye(self.loc.dims[-1], self.loc))

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix, by Woodbury's formula."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        part = solve_triangular(self._capacitance, scaled, upper=False)
        return diag_embed(1 / self.cov_diag) - part.mT @ part

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        few = normal([*shape[:-1], self.cov_factor.dims[-1]], self.loc)
        spread = (self.cov_factor @ few.unsqueeze(-1)).squeeze(-1)
        return self.loc + spread + _map("sqrt", self.cov_diag) * normal(shape, self.loc)

    def _log_determinant(self) -> Tensor:
        return 2 * log_diagonal(self._capacitance) + _reductions.sum(_map("log", self.cov_diag), -1)

    def distance(self, difference: Tensor) -> Tensor:
        """Returns the squared distance from the mean in units of the covariance.

        Parameters
        ----------
        difference : Tensor
            Differences from the mean.

        Returns
        -------
        Tensor
            A tensor without the last dimension.

        Examples
        --------
        >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(1), torch.zeros(1, 1), torch.ones(1))
        >>> d.distance(torch.tensor([2.0]))
        tensor(4.)
        """
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        inner = (scaled @ difference.unsqueeze(-1)).squeeze(-1)
        direct = _reductions.sum(_map("square", difference) / self.cov_diag, -1)
        return direct - mahalanobis(self._capacitance, inner)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        distance = self.distance(value - self.loc)
        return -0.5 * (self.loc.dims[-1] * LOG_2PI + self._log_determinant() + distance)

    def entropy(self) -> Tensor:
        return 0.5 * (self.loc.dims[-1] * (1 + LOG_2PI) + self._log_determinant())


class LKJCholesky(Distribution):
    """The distribution of Cholesky factors of correlation matrices, uniform for a concentration of 1.

    Parameters
    ----------
    dim : int
        The number of rows, at least 2.
    concentration : Tensor or number, default 1.0
        The concentration, a positive number or tensor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For fewer than 2 rows.

    See Also
    --------
    torch.distributions.Wishart

    Examples
    --------
    >>> torch.distributions.LKJCholesky(3, 1.0).sample().shape
    torch.Size([3, 3])
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support: Any = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = common(concentration)
        like = self.concentration
        offset = _core.t_cast(_core.t_iota([dim - 1], [1], 0, like.device_name), like.dtype_name)
        offset = _joining.cat([offset[:1] * 0, offset])
        marginal = like + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(like.dims, (dim, dim), validate_args)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            u = tril(normal(self._extended_shape(sample_shape), y), -1)
            rows = u / _map("maximum", vector_norm(u, dim=-1, keepdim=True), finfo(u.dtype).tiny)  # the first is 0
            w = _map("sqrt", y) * rows
            left = clamp(1 - _reductions.sum(_map("square", w), -1), min=finfo(w.dtype).tiny)
            return w + diag_embed(_map("sqrt", left))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        count = self.dim - 1
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = _core.t_cast(_core.t_iota([count], [1], 2, value.device_name), value.dtype_name)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = _reductions.sum(order * _map("log", diagonal), -1)
        alpha = self.concentration + 0.5 * count
        normalizer = 0.5 * count * math.log(math.pi) + mvlgamma(alpha - 0.5, count) - _map("gammaln", alpha) * count
        return unnormalized - normalizer


def _log_multigamma(x: Tensor, p: int) -> Tensor:
    """Returns the logarithm of the multivariate gamma function, which has a gradient."""
    shifted = x.unsqueeze(-1) - _half_steps(p, x)
    return p * (p - 1) / 4 * math.log(math.pi) + _reductions.sum(_map("gammaln", shifted), -1)


def _half_steps(p: int, like: Tensor) -> Tensor:
    return 0.5 * _core.t_cast(_core.t_iota([p], [1], 0, like.device_name), like.dtype_name)


class Wishart(_Covariance, ExponentialFamily):
    """The Wishart distribution of positive definite matrices.

    Parameters
    ----------
    df : Tensor or number
        The degrees of freedom, above the number of rows less 1.
    covariance_matrix : Tensor, optional
        A positive definite tensor of shape (..., n, n).
    precision_matrix : Tensor, optional
        Its inverse.
    scale_tril : Tensor, optional
        Its lower Cholesky factor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        Unless exactly one of the three matrices is given, or for too few degrees of freedom.

    See Also
    --------
    torch.distributions.Chi2, torch.distributions.Gamma, torch.distributions.InverseGamma,
    torch.distributions.FisherSnedecor, torch.distributions.LKJCholesky

    Examples
    --------
    >>> torch.distributions.Wishart(torch.tensor(2.0), torch.eye(2)).mean
    tensor([[2., 0.],
            [0., 2.]])
    """

    has_rsample = True
    support: Any = constraints.positive_definite

    def __init__(self, df: Any, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:  # fmt: skip
        if _count(covariance_matrix, precision_matrix, scale_tril) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        matrix = next(m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None)
        if matrix.ndim < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if not isinstance(df, Tensor):
            df = _core.t_full([], float(df), matrix.dtype_name, matrix.device_name)
        batch = _broadcasting.broadcast_shapes(df.dims, matrix.dims[:-2])
        self.df, n = df.expand(batch), matrix.dims[-1]
        self._set_matrix(covariance_matrix, precision_matrix, scale_tril, batch)
        if bool((self.df.detach() <= n - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        super().__init__(batch, (n, n), validate_args)

    @property
    def arg_constraints(self) -> Any:
        """The parameters and the set that each of them comes from."""
        return {
            "df": constraints.greater_than(self.event_shape[-1] - 1),
            "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
        }  # fmt: skip

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """The matrix of the highest density; NaN for few degrees of freedom."""
        factor = self.df - self.covariance_matrix.dims[-1] - 1
        return _map("where", factor > 0, factor, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        """The variance of each element."""
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (_map("square", covariance) + outer)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        n, shape = self.event_shape[-1], self._extended_shape(sample_shape)
        degrees = self.df.unsqueeze(-1) - 2 * _half_steps(n, self.df)
        chi = _map("sqrt", Gamma(0.5 * degrees, 0.5, validate_args=False).rsample(sample_shape))
        product = self._unbroadcasted_scale_tril @ (tril(normal(shape, self.df), -1) + diag_embed(chi))
        return product @ product.mT

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        nu, n = self.df, self.event_shape[-1]
        trace = _reductions.sum(cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1), -1)
        return (
            -nu * (n * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril)) - _log_multigamma(nu / 2, n)
            + (nu - n - 1) / 2 * slogdet(value).logabsdet - trace / 2
        )  # fmt: skip

    def entropy(self) -> Tensor:
        nu, n = self.df, self.event_shape[-1]
        digamma = _reductions.sum(_map("digamma", (nu / 2).unsqueeze(-1) - _half_steps(n, nu)), -1)
        volume = n * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril)
        return (n + 1) * volume + _log_multigamma(nu / 2, n) - (nu - n - 1) / 2 * digamma + nu * n / 2

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.df / 2, -self.precision_matrix / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        n = y.dims[-1]
        return x * (-slogdet(-2 * y).logabsdet + n * math.log(2)) + _log_multigamma(x, n)

    _mean_carrier_measure = 0.0
