"""Transforms of random variables, by which `TransformedDistribution` makes distributions of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _cumulative, _reductions
from cuprous.torch._comparisons import clamp
from cuprous.torch._diagonals import diag_embed, tril
from cuprous.torch._info import finfo
from cuprous.torch.distributions import constraints
from cuprous.torch.distributions._base import Distribution
from cuprous.torch.distributions._transform import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    StackTransform,
    Transform,
    _InverseTransform,  # noqa: F401
    identity_transform,
)
from cuprous.torch.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from cuprous.torch.linalg import cholesky
from cuprous.torch.nn.functional import pad, softmax, softplus

_map = _core.t_map


class _Bijection(Transform):
    """An increasing function of numbers."""

    domain: Any = constraints.real
    codomain: Any = constraints.real
    bijective = True

    @property
    def sign(self) -> Any:
        """The sign of the derivative."""
        return 1

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = Transform.__hash__


class ExpTransform(_Bijection):
    """The exponential function.

    Parameters
    ----------
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.AffineTransform, torch.distributions.PowerTransform, torch.distributions.AbsTransform

    Examples
    --------
    >>> torch.distributions.ExpTransform()(torch.tensor(0.0))
    tensor(1.)
    """

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return _map("exp", x)

    def _inverse(self, y: Any) -> Any:
        return _map("log", y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(_Bijection):
    """A power of positive numbers.

    Parameters
    ----------
    exponent : Tensor or number
        The exponent, a number or tensor.
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.AbsTransform, torch.distributions.ExpTransform, torch.distributions.AffineTransform

    Examples
    --------
    >>> torch.distributions.PowerTransform(torch.tensor(2.0))(torch.tensor(3.0))
    tensor(9.)
    """

    domain = constraints.positive
    codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.exponent = exponent

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Any:
        """The sign of the derivative."""
        exponent = self.exponent
        return _map("sign", exponent) if isinstance(exponent, Tensor) else math.copysign(1, exponent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _equal(self.exponent, other.exponent)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return x**self.exponent

    def _inverse(self, y: Any) -> Any:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return _map("log", _map("absolute", self.exponent * y / x))

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return _broadcast(shape, self.exponent)

    inverse_shape = forward_shape


def _equal(a: Any, b: Any) -> bool:
    found = a == b
    return bool(found.all()) if isinstance(found, Tensor) else bool(found)


def _broadcast(shape: Sequence[int], *parameters: Any) -> Sequence[int]:
    from cuprous.torch._broadcasting import broadcast_shapes

    return tuple(broadcast_shapes(shape, *(getattr(p, "dims", ()) for p in parameters)))


class SigmoidTransform(_Bijection):
    """The logistic function.

    Parameters
    ----------
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.TanhTransform, torch.distributions.SoftplusTransform, torch.distributions.SoftmaxTransform,
    torch.distributions.StickBreakingTransform

    Examples
    --------
    >>> torch.distributions.SigmoidTransform()(torch.tensor(0.0))
    tensor(0.5000)
    """

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        limits = finfo(x.dtype)
        return clamp(_map("expit", x), limits.tiny, 1 - limits.eps)

    def _inverse(self, y: Any) -> Any:
        limits = finfo(y.dtype)
        y = clamp(y, limits.tiny, 1 - limits.eps)
        return _map("log", y) - _map("log1p", -y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Bijection):
    """The function log(1 + exp(x)).

    Parameters
    ----------
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.SoftmaxTransform, torch.distributions.StickBreakingTransform,
    torch.distributions.SigmoidTransform, torch.distributions.TanhTransform

    Examples
    --------
    >>> torch.distributions.SoftplusTransform()(torch.tensor(0.0))
    tensor(0.6931)
    """

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return _map("log", -_map("expm1", -y)) + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(_Bijection):
    """The hyperbolic tangent.

    Parameters
    ----------
    cache_size : int, default 0
        1 to keep the last argument and result, which an inverse near -1 and 1 needs.

    See Also
    --------
    torch.distributions.SoftplusTransform, torch.distributions.SoftmaxTransform,
    torch.distributions.StickBreakingTransform, torch.distributions.SigmoidTransform

    Examples
    --------
    >>> torch.distributions.TanhTransform()(torch.tensor(0.0))
    tensor(0.)
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return _map("tanh", x)

    def _inverse(self, y: Any) -> Any:
        return _map("arctanh", y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """The absolute value, whose inverse is taken to be the identity.

    Parameters
    ----------
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.ExpTransform, torch.distributions.AffineTransform, torch.distributions.PowerTransform

    Examples
    --------
    >>> torch.distributions.AbsTransform()(torch.tensor(-2.0))
    tensor(2.)
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return _map("absolute", x)

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """The function loc + scale * x.

    Parameters
    ----------
    loc : Tensor or number
        What is added, a number or tensor.
    scale : Tensor or number
        The factor, a number or tensor.
    event_dim : int, default 0
        The number of dimensions that one value has.
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.PowerTransform, torch.distributions.AbsTransform, torch.distributions.ExpTransform

    Examples
    --------
    >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor(3.0))
    tensor(7.)
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """The number of dimensions that one value has."""
        return self._event_dim

    @property
    def domain(self) -> Any:
        """The set of arguments."""
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, AffineTransform)
        return same and _equal(self.loc, other.loc) and _equal(self.scale, other.scale)  # type: ignore[attr-defined]

    __hash__ = Transform.__hash__

    @property
    def sign(self) -> Any:
        """The sign of the derivative."""
        if isinstance(self.scale, Tensor):
            return _map("sign", self.scale)
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        scale = self.scale
        if isinstance(scale, Tensor):
            logarithm = _map("log", _map("absolute", scale))
        else:
            logarithm = _core.t_full([], math.log(abs(scale)), x.dtype_name, x.device_name)
        at = x.ndim - self._event_dim
        if self._event_dim:
            logarithm = logarithm.expand(x.dims) if logarithm.ndim <= self._event_dim else logarithm
            logarithm = _reductions.sum(logarithm, list(range(-self._event_dim, 0)))
        return logarithm.expand(x.dims[:at])

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return _broadcast(shape, self.loc, self.scale)

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution.

    Parameters
    ----------
    distribution : Distribution
        The distribution.
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.Transform, torch.distributions.TransformedDistribution

    Examples
    --------
    >>> d = torch.distributions
    >>> d.CumulativeDistributionTransform(d.Normal(0.0, 1.0))(torch.tensor(0.0))
    tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The values of the distribution."""
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)


class SoftmaxTransform(Transform):
    """The softmax along the last dimension, whose inverse is taken to be the logarithm.

    Parameters
    ----------
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.StickBreakingTransform, torch.distributions.SigmoidTransform,
    torch.distributions.TanhTransform, torch.distributions.SoftplusTransform

    Examples
    --------
    >>> torch.distributions.SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return softmax(x, -1)

    def _inverse(self, y: Any) -> Any:
        return _map("log", y)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return _checked(shape, 1)

    inverse_shape = forward_shape


def _checked(shape: Sequence[int], least: int) -> Sequence[int]:
    if len(shape) < least:
        raise ValueError("Too few dimensions on input")
    return shape


class StickBreakingTransform(Transform):
    """A bijection from vectors to points of a simplex with one more element: each element takes a part of what is left.

    Parameters
    ----------
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.SigmoidTransform, torch.distributions.TanhTransform, torch.distributions.SoftplusTransform,
    torch.distributions.SoftmaxTransform

    Examples
    --------
    >>> torch.distributions.StickBreakingTransform()(torch.zeros(1))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = Transform.__hash__

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        """Returns the logarithms of n, n - 1, ..., 1 for vectors of n elements."""
        count = x.dims[-1]
        return _map("log", _core.t_cast(count - _core.t_iota([count], [1], 0, x.device_name), x.dtype_name))

    def _call(self, x: Any) -> Any:
        z = _map("expit", x - self._offset(x))
        left = _cumulative.cumprod(1 - z, -1)
        return pad(z, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        head = y[..., :-1]
        left = clamp(1 - _cumulative.cumsum(head, -1), min=finfo(y.dtype).tiny)
        return _map("log", head) - _map("log", left) + self._offset(head)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._offset(x)
        return _reductions.sum(-x + log_sigmoid(x) + _map("log", y[..., :-1]), -1)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return (*_checked(shape, 1)[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return (*_checked(shape, 1)[:-1], shape[-1] - 1)


def log_sigmoid(x: Tensor) -> Tensor:
    """Returns the logarithm of the logistic function."""
    return -softplus(-x)


class LowerCholeskyTransform(Transform):
    """A bijection from matrices to lower triangular ones with a positive diagonal: its exponential.

    Parameters
    ----------
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.CorrCholeskyTransform, torch.distributions.PositiveDefiniteTransform

    Examples
    --------
    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return tril(x, -1) + diag_embed(_map("exp", x.diagonal(dim1=-2, dim2=-1)))

    def _inverse(self, y: Any) -> Any:
        return tril(y, -1) + diag_embed(_map("log", y.diagonal(dim1=-2, dim2=-1)))


class PositiveDefiniteTransform(Transform):
    """A function from matrices to positive definite ones, the product of a lower triangular matrix and its transpose.

    Parameters
    ----------
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.LowerCholeskyTransform, torch.distributions.CorrCholeskyTransform

    Examples
    --------
    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(cholesky(y))


class CorrCholeskyTransform(Transform):
    """A bijection from vectors of n (n - 1) / 2 elements to Cholesky factors of correlation matrices of n rows.

    Parameters
    ----------
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.PositiveDefiniteTransform, torch.distributions.LowerCholeskyTransform

    Examples
    --------
    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        x = _map("tanh", x)
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(clamp(x, -1 + eps, 1 - eps), diag=-1)
        left = _cumulative.cumprod(_map("sqrt", 1 - r * r), -1)
        eye = _core.t_cast(diag_embed(_core.t_full([r.dims[-1]], 1, r.dtype_name, r.device_name)), r.dtype_name)
        return (r + eye) * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = 1 - _cumulative.cumsum(y * y, -1)
        shifted = pad(left[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / _map("sqrt", tril_matrix_to_vec(shifted, diag=-1))
        return (_map("log1p", t) - _map("log1p", -t)) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        left = tril_matrix_to_vec(1 - _cumulative.cumsum(y * y, -1), diag=-2)
        of_rows = 0.5 * _reductions.sum(_map("log", left), -1)
        return of_rows - 2 * _reductions.sum(x + softplus(-2 * x) - math.log(2.0), -1)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        count = _checked(shape, 1)[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        if _checked(shape, 2)[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip
