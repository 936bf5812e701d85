"""Quantiles, histograms, covariances and differences; random numbers written in place."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import (
    _autocast,
    _creation,
    _cumulative,
    _diagonals,
    _extremes,
    _indexing,
    _joining,
    _ordering,
    _products,
    _random_numbers,
    _reductions,
    _shape,
)
from cuprous.torch._args import astype, by_name, tensor_of, wrap_dim
from cuprous.torch._comparisons import clamp

_map = _core.t_map

nanmedian_result = namedtuple("nanmedian_result", ("values", "indices"))


@_autocast.policy
def quantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
             interpolation: str = "linear") -> Tensor:  # fmt: skip
    """Returns quantiles along a dimension or of all elements. Several of them become the first dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    q : float or Tensor
        Numbers in [0, 1]: a number, or a vector of the dtype of `input`.
    dim : int, optional
        The dimension; None for all elements.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    interpolation : {"linear", "lower", "higher", "midpoint", "nearest"}, default "linear"
        "linear", "lower", "higher", "midpoint" or "nearest".

    Returns
    -------
    Tensor

    Raises
    ------
    RuntimeError
        If q is outside [0, 1], or has another dtype than the input.

    See Also
    --------
    torch.nanquantile, torch.median, torch.kthvalue

    Examples
    --------
    >>> torch.quantile(torch.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
    values, several = _levels("quantile", input, q, interpolation)
    x = input.reshape(-1) if dim is None or not input.ndim else input
    axis = 0 if dim is None else wrap_dim(dim, input.ndim)
    x = _ordering.sort(x, axis).values
    n, found = x.dims[axis], []
    for v in values:
        at = v * (n - 1)
        low, high = math.floor(at), math.ceil(at)
        t = {"linear": at - low, "midpoint": 0.5 * (high > low), "lower": 0.0, "higher": float(high > low),
             "nearest": float(round(at) > low)}[interpolation]  # fmt: skip
        a, b = (_shape.narrow(x, axis, k, 1) for k in (low, high))
        found.append(a if not t else b if t == 1 else _map("add", a, _map("multiply", _map("subtract", b, a), t)))
    bad = _reductions.any(_map("isnan", x), axis, keepdim=True)
    return _joined([_map("where", bad, math.nan, part) for part in found], input, dim, keepdim, several)


@_autocast.policy
def nanquantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
                interpolation: str = "linear") -> Tensor:  # fmt: skip
    """Returns quantiles of the elements that are not NaN, as `quantile` does. Without such elements they are NaN.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    q : float or Tensor
        Numbers in [0, 1]: a number, or a vector of the dtype of `input`.
    dim : int, optional
        The dimension; None for all elements.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    interpolation : {"linear", "lower", "higher", "midpoint", "nearest"}, default "linear"
        "linear", "lower", "higher", "midpoint" or "nearest".

    Returns
    -------
    Tensor

    Raises
    ------
    RuntimeError
        If q is outside [0, 1], or has another dtype than the input.

    See Also
    --------
    torch.quantile, torch.nanmedian, torch.nanmean

    Examples
    --------
    >>> torch.nanquantile(torch.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    values, several = _levels("nanquantile", input, q, interpolation)
    x = input.reshape(-1) if dim is None else input
    axis = 0 if dim is None else wrap_dim(dim, input.ndim)
    x = _ordering.sort(x, axis).values  # NaN comes last
    count = _reductions.sum(_map("logical_not", _map("isnan", x)), axis, keepdim=True)
    last, found = clamp(_core.t_cast(count, input.dtype_name) - 1, min=0), []
    for v in values:
        at = last * v
        low, high = _map("floor", at), _map("ceil", at)
        a, b = (_indexing.gather(x, axis, _core.t_cast(k, "int64")) for k in (low, high))
        t = {"linear": at - low, "midpoint": (high - low) * 0.5, "lower": 0.0, "higher": high - low,
             "nearest": _map("rint", at) - low}[interpolation]  # fmt: skip
        found.append(_map("where", _map("equal", a, b), a, _map("add", a, _map("multiply", _map("subtract", b, a), t))))
    return _joined(found, input, dim, keepdim, several)


def _levels(name: str, input: Tensor, q: Any, interpolation: str) -> tuple[list[float], bool]:
    """Returns the numbers that `q` has, and whether there may be several.

    Raises
    ------
    RuntimeError
        For a wrong `q` or interpolation.
    """
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
                           f"got {interpolation}")  # fmt: skip
    if isinstance(q, Tensor):
        if q.dtype_name != input.dtype_name:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
        values = q.tolist() if q.ndim else [q.item()]
        several = q.ndim > 0
    else:
        values, several = [float(q)], False
    if any(not 0 <= v <= 1 for v in values):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1], but got {values}")
    return values, several


def _joined(found: list[Tensor], input: Tensor, dim: int | None, keepdim: bool, several: bool) -> Tensor:
    """Returns quantiles that were reduced along one axis in the shape that was requested."""
    if keepdim and (dim is None or not input.ndim):
        found = [part.reshape((1,) * input.ndim) for part in found]
    elif not keepdim:
        found = [_shape.squeeze(part, 0 if dim is None else wrap_dim(dim, input.ndim)) for part in found]
    return _joining.stack(found) if several else found[0]


def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """Returns the most frequent value along a dimension, and one of its indices. Of several such values it is the
    smallest.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int, default -1
        The dimension; a negative one counts from the end.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.

    Returns
    -------
    tuple
        The named tuple `(values, indices)`, with an int64 index.

    See Also
    --------
    torch.unique, torch.bincount, torch.median

    Examples
    --------
    >>> torch.mode(torch.tensor([3, 1, 3, 2])).values
    tensor(3)
    """
    axis = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return _extremes.only(input)
    x = input.detach().unsqueeze(axis)
    counts = _reductions.sum(_map("equal", x, input.detach().unsqueeze(axis + 1)), axis)
    order = _ordering.argsort(input.detach(), axis)
    at = _extremes.argmax(_indexing.gather(counts, axis, order), axis, True)
    return _extremes.picked(input, _indexing.gather(order, axis, at), axis, keepdim)


def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Returns, for each element, the index of its bucket between sorted boundaries.

    Parameters
    ----------
    input : Tensor or number
        A tensor or number.
    boundaries : Tensor
        A sorted vector.
    out_int32 : bool, default False
        Whether the result is int32; it is int64 otherwise.
    right : bool, default False
        Whether an element that equals a boundary belongs to the bucket after it.

    Returns
    -------
    Tensor
        An integer tensor of the shape of `input`.

    See Also
    --------
    torch.isin, torch.searchsorted

    Examples
    --------
    >>> torch.bucketize(torch.tensor([0, 3, 9]), torch.tensor([1, 3, 5]))
    tensor([0, 1, 3])
    """
    found = _ordering.searchsorted(boundaries, tensor_of(input), right=right)
    return _core.t_cast(found, "int32") if out_int32 else found


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Returns, for each element, whether it is one of `test_elements`.

    Parameters
    ----------
    elements : Tensor or number
        A tensor or number.
    test_elements : Tensor or number
        A tensor or number.
    assume_unique : bool, default False
        For PyTorch's signature; it has no effect.
    invert : bool, default False
        Whether to return the opposite.

    Returns
    -------
    Tensor
        A bool tensor of the shape of `elements`.

    See Also
    --------
    torch.searchsorted, torch.bucketize

    Examples
    --------
    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([1, 3]))
    tensor([ True, False,  True])
    """
    x = tensor_of(elements, test_elements if isinstance(test_elements, Tensor) else None)
    others = tensor_of(test_elements, x).reshape(-1)
    found = _reductions.any(_map("equal", x.detach().unsqueeze(-1), others.detach()), -1)
    return _map("logical_not", found) if invert else found


def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Returns differences of neighboring elements along a dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of at least one dimension.
    n : int, default 1
        How often differences are taken.
    dim : int, default -1
        The dimension; a negative one counts from the end.
    prepend : Tensor, optional
        Elements before the first one.
    append : Tensor, optional
        Elements after the last one.

    Returns
    -------
    Tensor
        A tensor whose extent along the dimension is smaller by `n`. For `n` = 0, a copy of the input without what is to
        be put before and after it.

    Raises
    ------
    RuntimeError
        If `n` is negative.

    See Also
    --------
    torch.gradient

    Examples
    --------
    >>> torch.diff(torch.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:
        return input.clone()
    pieces = [x for x in (prepend, input, append) if x is not None]
    x = _joining.cat(pieces, dim) if len(pieces) > 1 else input
    for _ in range(n):
        extent = x.dims[wrap_dim(dim, x.ndim)]
        if extent < 2:
            return _shape.narrow(x, dim, 0, 0)
        after, before = _shape.narrow(x, dim, 1, extent - 1), _shape.narrow(x, dim, 0, extent - 1)
        x = _map("not_equal", after, before) if x.dtype_name == "bool" else _map("subtract", after, before)
    return x


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """Returns the integral along a dimension by the trapezoidal rule.

    Parameters
    ----------
    y : Tensor
        The values of the function, a tensor of at least one dimension.
    x : Tensor, optional
        The positions of the values; None for equal distances.
    dx : float, default 1
        The distance of neighbors, without `x`.
    dim : int, default -1
        The dimension; a negative one counts from the end.

    Returns
    -------
    Tensor
        A tensor without the dimension.

    See Also
    --------
    torch.cumulative_trapezoid

    Examples
    --------
    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    extent = y.dims[wrap_dim(dim, y.ndim)]
    mean = (_shape.narrow(y, dim, 1, extent - 1) + _shape.narrow(y, dim, 0, extent - 1)) / 2
    if x is None:
        return _reductions.sum(mean, dim) * (dx.item() if isinstance(dx, Tensor) else dx)
    if x.ndim == 1:
        x = x.reshape([-1 if k == wrap_dim(dim, y.ndim) else 1 for k in range(y.ndim)])
    return _reductions.sum(mean * diff(x, 1, dim), dim)


def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Returns the covariance matrix of variables (rows) with samples as columns.

    Parameters
    ----------
    input : Tensor
        A matrix of shape (variables, samples), or a vector of samples.
    correction : int, default 1
        What is subtracted from the number of elements before dividing by it, by default 1.
    fweights : Tensor, optional
        How often each sample occurs, a vector of integers.
    aweights : Tensor, optional
        The weight of each sample, a vector of a floating dtype.

    Returns
    -------
    Tensor
        A matrix of shape (variables, variables), a number for one variable. Integers give the default dtype.

    Raises
    ------
    RuntimeError
        For bools, more than two dimensions, or weights that do not fit.

    See Also
    --------
    torch.corrcoef, torch.var, torch.std

    Examples
    --------
    >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} "
                           "dimensions")  # fmt: skip
    if input.dtype_name == "bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    if not (input.is_floating_point() or input.is_complex()):
        input = astype(input, _core.t_default_dtype())
    x = input.reshape(1, -1) if input.ndim < 2 else input
    weights = _sample_weights(x.dims[1], fweights, aweights)
    if weights is None:
        centred = x - _reductions.mean(x, 1, True)
        result = _products.matmul(centred, centred.T.conj()) / max(x.dims[1] - correction, 0)
    else:
        total = _reductions.sum(weights)
        centred = x - _reductions.sum(x * weights, 1, True) / total
        # The effective number of samples that the correction counts (Price, 1972).
        count = correction if aweights is None else correction * _reductions.sum(weights * aweights) / total
        result = _products.matmul(centred, (centred * weights).T.conj()) / clamp(total - count, min=0)
    return result.reshape(()) if x.dims[0] == 1 else result


def _sample_weights(count: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor | None:
    """Returns the product of both weights of samples."""
    for name, given, is_right in (
        ("fweights", fweights, fweights is None or not fweights.is_floating_point()),
        ("aweights", aweights, aweights is None or aweights.is_floating_point()),
    ):
        if given is not None and (given.dims != (count,) or not is_right):
            kind = "integers" if name == "fweights" else "a floating dtype"
            raise RuntimeError(f"cov(): {name} must be a vector of {count} elements of {kind}, but got "
                               f"{list(given.dims)} of {given.dtype}")  # fmt: skip
        if given is not None and bool((given < 0).any()):
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


def corrcoef(input: Tensor) -> Tensor:
    """Returns the correlation matrix of variables (rows) with samples as columns.

    Parameters
    ----------
    input : Tensor
        A matrix of shape (variables, samples), or a vector of samples.

    Returns
    -------
    Tensor
        A matrix of shape (variables, variables).

    See Also
    --------
    torch.cov, torch.std

    Examples
    --------
    >>> torch.corrcoef(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    c = cov(input)
    if not c.ndim:
        return c / c
    deviation = _map("sqrt", _diagonals.diagonal(c))
    return clamp(c / deviation.unsqueeze(1) / deviation, -1, 1)


def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """Returns the logarithm of the cumulative sum of exponentials.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    dim : int
        The dimension; a negative one counts from the end.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.logsumexp, torch.cumsum, torch.logaddexp

    Examples
    --------
    >>> torch.logcumsumexp(torch.tensor([0.0, 0.0]), 0)
    tensor([0.0000, 0.6931])
    """
    wide = astype(input, "float32") if input.dtype_name in ("float16", "bfloat16") else input
    top = _extremes.amax(_map("real", wide.detach()) if wide.is_complex() else wide.detach(), dim, True)
    top = _map("where", _map("isfinite", top), top, 0)
    total = _map("log", _cumulative.cumsum(_map("exp", _map("subtract", wide, top)), dim))
    return astype(_map("add", total, top), input.dtype_name)


@_autocast.policy
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Returns the tensor with slices along a dimension scaled so that their p-norms are not above a bound.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    p : float
        The order of the norm.
    dim : int
        The dimension; a negative one counts from the end.
    maxnorm : float
        The bound.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    Raises
    ------
    RuntimeError
        For fewer than two dimensions.

    See Also
    --------
    torch.norm, torch.linalg.vector_norm

    Examples
    --------
    >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    axis = wrap_dim(dim, input.ndim)
    norms = _reductions.norm(input, p, [k for k in range(input.ndim) if k != axis], True)
    factor = _map("where", _map("greater", norms, maxnorm), _map("divide", maxnorm, norms + 1e-7), 1)
    return _map("multiply", input, factor)


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Returns Poisson random numbers with the given rates. NumPy draws them on the host, seeded from the generator.

    Parameters
    ----------
    input : Tensor
        The rates, a floating tensor of any shape.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.bernoulli

    Examples
    --------
    >>> torch.poisson(torch.tensor([0.0, 4.0])).shape
    torch.Size([2])
    """
    import numpy as np

    bits = _random_numbers.draw_integers(0, 1 << 62, [1], "cpu", generator).item()
    values = np.random.default_rng(int(bits)).poisson(input.detach().to_numpy())
    made = _creation.from_numpy(np.asarray(values, np.float64))
    return _core.t_to_device(_core.t_cast(made, input.dtype_name), input.device_name)


# --- random numbers written in place


def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fills the tensor with exponential random numbers.

    Parameters
    ----------
    lambd : float, default 1
        The rate.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> bool((torch.empty(3).exponential_() >= 0).all())
    True
    """
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    _core.t_update(
        self,
        _map("divide", _map("log1p", _map("negative", _random_numbers.draw_unit(self, generator=generator))), -lambd),
    )
    return self


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fills the tensor with geometric random numbers: the number of trials until the first success.

    Parameters
    ----------
    p : float
        The probability of success, in (0, 1).
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> bool((torch.empty(3).geometric_(0.5) >= 1).all())
    True
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    log = _map("log1p", _map("negative", _random_numbers.draw_unit(self, generator=generator)))
    _core.t_update(self, clamp(_map("ceil", _map("divide", log, math.log1p(-p))), min=1))
    return self


def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fills the tensor with log-normal random numbers.

    Parameters
    ----------
    mean : float, default 1
        The mean of the logarithm.
    std : float, default 2
        The standard deviation of the logarithm.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> bool((torch.empty(3).log_normal_() > 0).all())
    True
    """
    draw = _random_numbers.draw_floats("normal", self.dims, self.dtype_name, self.device_name, generator)
    _core.t_update(self, _map("exp", draw * std + mean))
    return self


def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fills the tensor with Cauchy random numbers.

    Parameters
    ----------
    median : float, default 0
        The median.
    sigma : float, default 1
        Half of the distance of the quartiles.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> torch.empty(3).cauchy_().shape
    torch.Size([3])
    """
    _core.t_update(
        self, _map("tan", (_random_numbers.draw_unit(self, generator=generator) - 0.5) * math.pi) * sigma + median
    )
    return self


def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Returns the median of the elements that are not NaN: the lower one of two.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int, optional
        The dimension; None for all elements.
    keepdim : bool, default False
        Whether to keep the reduced dimension with extent 1.

    Returns
    -------
    Tensor
        A tensor without dimensions, or with `dim` the named tuple `(values, indices)`.

    See Also
    --------
    torch.median, torch.nanquantile, torch.nanmean

    Examples
    --------
    >>> torch.nanmedian(torch.tensor([1.0, float("nan"), 3.0, 5.0]))
    tensor(3.)
    """
    if dim is None:
        return nanmedian(input.reshape(-1), 0).values
    values, order = _ordering.sort(input, dim)  # NaN come last
    count = _reductions.sum(_map("equal", input, input), dim, True)
    at = _map("maximum", count - 1, 0) // 2
    found, indices = values.gather(dim, at), order.gather(dim, at)
    return nanmedian_result(*(x if keepdim else x.squeeze(dim) for x in (found, indices)))


_BOTH = by_name(quantile, nanquantile, nanmedian, mode, diff, cov, corrcoef, logcumsumexp, renorm)
METHODS = _BOTH | by_name(exponential_, geometric_, log_normal_, cauchy_)
FUNCTIONS = _BOTH | by_name(bucketize, isin, trapezoid, poisson) | {"trapz": trapezoid}
