"""Transforms of random variables: the base class, and transforms that are made of others."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _joining
from cuprous.torch._args import zeros_like
from cuprous.torch._types import Size
from cuprous.torch.distributions import constraints
from cuprous.torch.distributions._base import sum_last


class Transform:
    """A function of tensors with an inverse and with the logarithm of its Jacobian's determinant.

    A subclass defines `domain`, `codomain`, `_call`, `_inverse` and `log_abs_det_jacobian`.

    Parameters
    ----------
    cache_size : int, default 0
        1 to keep the last argument and result, so that the inverse of the result is the argument itself.

    Raises
    ------
    ValueError
        For another size than 0 and 1.

    See Also
    --------
    torch.distributions.ComposeTransform, torch.distributions.CatTransform, torch.distributions.StackTransform,
    torch.distributions.IndependentTransform

    Examples
    --------
    >>> exp = torch.distributions.ExpTransform()
    >>> exp.inv(exp(torch.tensor(2.0)))
    tensor(2.)
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: weakref.ref[Transform] | None = None
        self._cached_x_y: tuple[Any, Any] = (None, None)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """The number of dimensions that one value has."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse transform."""
        found = None if self._inv is None else self._inv()
        if found is None:
            found = _InverseTransform(self)
            self._inv = weakref.ref(found)
        return found

    @property
    def sign(self) -> Any:
        """The sign of the derivative of a monotone function of numbers."""
        raise NotImplementedError(f"[{type(self).__name__}] sign is not supported")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Returns the transform with a cache of another size.

        Parameters
        ----------
        cache_size : int, default 1
            0 or 1.

        Returns
        -------
        Transform
            A transform.

        Raises
        ------
        NotImplementedError
            For a subclass whose `__init__` has parameters and that does not define this method.

        Examples
        --------
        >>> torch.distributions.ExpTransform().with_cache()
        ExpTransform()
        """
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __call__(self, x: Any) -> Any:
        """Returns the transformed value."""
        if self._cache_size == 0:
            return self._call(x)
        old_x, old_y = self._cached_x_y
        if x is old_x:
            return old_y
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size == 0:
            return self._inverse(y)
        old_x, old_y = self._cached_x_y
        if y is old_y:
            return old_x
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError(f"[{type(self).__name__}] the transform is not supported")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError(f"[{type(self).__name__}] the inverse is not supported")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Returns the logarithm of the absolute value of the Jacobian's determinant.

        Parameters
        ----------
        x : Tensor
            Arguments.
        y : Tensor
            Their results.

        Returns
        -------
        Tensor
            A tensor without the dimensions of a value.

        Raises
        ------
        NotImplementedError
            For transforms that are not bijective.

        Examples
        --------
        >>> torch.distributions.ExpTransform().log_abs_det_jacobian(torch.tensor(2.0), torch.tensor(7.4))
        tensor(2.)
        """
        raise NotImplementedError(f"[{type(self).__name__}] log_abs_det_jacobian is not supported")

    def __repr__(self) -> str:
        return type(self).__name__ + "()"

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """Returns the shape of a result.

        Parameters
        ----------
        shape : sequence of ints
            The shape of the argument.

        Returns
        -------
        sequence of ints
            A shape.

        Examples
        --------
        >>> torch.distributions.StickBreakingTransform().forward_shape((2, 3))
        (2, 4)
        """
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """Returns the shape of an argument.

        Parameters
        ----------
        shape : sequence of ints
            The shape of the result.

        Returns
        -------
        sequence of ints
            A shape.

        Examples
        --------
        >>> torch.distributions.StickBreakingTransform().inverse_shape((2, 4))
        (2, 3)
        """
        return shape


class _InverseTransform(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._forward = transform

    @property
    def domain(self) -> Any:
        return self._forward.codomain

    @property
    def codomain(self) -> Any:
        return self._forward.domain

    @property
    def bijective(self) -> Any:
        return self._forward.bijective

    @property
    def sign(self) -> Any:
        return self._forward.sign

    @property
    def inv(self) -> Transform:
        return self._forward

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._forward.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._forward == other._forward

    __hash__ = Transform.__hash__

    def __call__(self, x: Any) -> Any:
        return self._forward._inv_call(x)

    def _inv_call(self, y: Any) -> Any:
        return self._forward(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._forward.log_abs_det_jacobian(y, x)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._forward!r})"

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._forward.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._forward.forward_shape(shape)


class ComposeTransform(Transform):
    """Transforms that are applied one after another.

    Parameters
    ----------
    parts : sequence of Transforms
        The transforms, the first of which is applied first.
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.CatTransform, torch.distributions.StackTransform, torch.distributions.IndependentTransform,
    torch.distributions.Transform

    Examples
    --------
    >>> d = torch.distributions
    >>> d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)])(torch.tensor(0.0))
    tensor(3.)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        self.parts = [part.with_cache(cache_size) if cache_size else part for part in parts]
        super().__init__(cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = Transform.__hash__

    @property
    def domain(self) -> Any:
        """The set of arguments."""
        if not self.parts:
            return constraints.real
        domain, event_dim = self.parts[0].domain, self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _widened(domain, event_dim)

    @property
    def codomain(self) -> Any:
        """The set of results."""
        if not self.parts:
            return constraints.real
        codomain, event_dim = self.parts[-1].codomain, self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _widened(codomain, event_dim)

    @property
    def bijective(self) -> Any:
        """Whether all parts are bijective."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The sign of the derivative."""
        found: Any = 1
        for part in self.parts:
            found = found * part.sign
        return found

    @property
    def inv(self) -> Transform:
        """The inverse transform."""
        found = None if self._inv is None else self._inv()
        if found is None:
            found = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = weakref.ref(found)
            found._inv = weakref.ref(self)
        return found

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    _inverse = _inv_call

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        event_dim, total = self.domain.event_dim, None
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            term = sum_last(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim)
            total = term if total is None else total + term
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(repr(part) for part in self.parts) + "\n)"


def _widened(constraint: Any, event_dim: int) -> Any:
    """Returns a set whose values have at least a number of dimensions."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform in which the last batch dimensions are treated as dimensions of a value.

    Parameters
    ----------
    base_transform : Transform
        The transform.
    reinterpreted_batch_ndims : int
        The number of dimensions.
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.Transform, torch.distributions.ComposeTransform, torch.distributions.CatTransform,
    torch.distributions.StackTransform

    Examples
    --------
    >>> d = torch.distributions
    >>> d.IndependentTransform(d.ExpTransform(), 1).log_abs_det_jacobian(torch.ones(3), torch.ones(3))
    tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @property
    def domain(self) -> Any:
        """The set of arguments."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:
        """The set of results."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> Any:
        """Whether the transform is bijective."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """The sign of the derivative."""
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        if x.ndim < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        if y.ndim < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return sum_last(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """A transform that reshapes the last dimensions.

    Parameters
    ----------
    in_shape : sequence of ints
        Their shape.
    out_shape : sequence of ints
        The shape of the result, with as many elements.
    cache_size : int, default 0
        1 to keep the last argument and result.

    Raises
    ------
    ValueError
        For shapes of different numbers of elements.

    See Also
    --------
    torch.distributions.CatTransform

    Examples
    --------
    >>> torch.distributions.transforms.ReshapeTransform((2, 3), (6,))(torch.zeros(4, 2, 3)).shape
    torch.Size([4, 6])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(in_shape) != math.prod(out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @property
    def domain(self) -> Any:
        """The set of arguments."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        """The set of results."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        same = self._cache_size == cache_size
        return self if same else ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape([*x.dims[: x.ndim - len(self.in_shape)], *self.out_shape])

    def _inverse(self, y: Any) -> Any:
        return y.reshape([*y.dims[: y.ndim - len(self.out_shape)], *self.in_shape])

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        batch = list(x.dims[: x.ndim - len(self.in_shape)])
        return _core.t_full(batch, 0, x.dtype_name, x.device_name)

    @staticmethod
    def _replaced(shape: Sequence[int], old: Sequence[int], new: Sequence[int]) -> Sequence[int]:
        if len(shape) < len(old):
            raise ValueError("Too few dimensions on input")
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise ValueError(f"Shape mismatch: expected {tuple(shape[cut:])} but got {tuple(old)}")
        return (*shape[:cut], *new)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._replaced(shape, self.out_shape, self.in_shape)


class CatTransform(Transform):
    """Transforms that apply to consecutive parts of a dimension.

    Parameters
    ----------
    tseq : sequence of Transforms
        The transforms.
    dim : int, default 0
        The dimension.
    lengths : sequence of ints, optional
        The extent of each part, by default 1.
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.StackTransform, torch.distributions.IndependentTransform, torch.distributions.Transform,
    torch.distributions.ComposeTransform, torch.distributions.ReshapeTransform

    Examples
    --------
    >>> d = torch.distributions
    >>> d.CatTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)], lengths=[1, 2])(torch.zeros(3))
    tensor([1., 1., 1.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None,
                 cache_size: int = 0) -> None:  # fmt: skip
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.dim, self.lengths = dim, [1] * len(self.transforms) if lengths is None else list(lengths)

    @property
    def event_dim(self) -> int:
        """The number of dimensions that one value has."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The extent of the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        same = self._cache_size == cache_size
        return self if same else CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, x: Any) -> Sequence[Any]:
        return _joining.split(x, self.lengths, self.dim)

    def _call(self, x: Any) -> Any:
        return _joining.cat([t(part) for t, part in zip(self.transforms, self._parts(x), strict=True)], self.dim)

    def _inverse(self, y: Any) -> Any:
        return _joining.cat([t.inv(part) for t, part in zip(self.transforms, self._parts(y), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        terms: list[Tensor] = []
        for t, before, after in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            terms.append(sum_last(t.log_abs_det_jacobian(before, after), self.event_dim - t.event_dim))
        dim = self.dim - x.ndim if self.dim >= 0 else self.dim
        dim += self.event_dim
        if dim < 0:
            return _joining.cat(terms, dim)
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    @property
    def bijective(self) -> Any:
        """Whether all transforms are bijective."""
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self) -> Any:
        """The set of arguments."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        """The set of results."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """Transforms that apply to the elements along a dimension.

    Parameters
    ----------
    tseq : sequence of Transforms
        The transforms.
    dim : int, default 0
        The dimension.
    cache_size : int, default 0
        1 to keep the last argument and result.

    See Also
    --------
    torch.distributions.IndependentTransform, torch.distributions.Transform, torch.distributions.ComposeTransform,
    torch.distributions.CatTransform

    Examples
    --------
    >>> d = torch.distributions
    >>> d.StackTransform([d.ExpTransform(), d.AffineTransform(3.0, 2.0)])(torch.zeros(2))
    tensor([1., 3.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) if cache_size else t for t in tseq], dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, z: Any) -> list[Any]:
        if z.dims[self.dim] != len(self.transforms):
            raise ValueError(f"Expected size {len(self.transforms)} at dimension {self.dim} but got {z.dims[self.dim]}")
        return [z.select(self.dim, i) for i in range(z.dims[self.dim])]

    def _call(self, x: Any) -> Any:
        return _joining.stack([t(part) for t, part in zip(self.transforms, self._slices(x), strict=True)], self.dim)

    def _inverse(self, y: Any) -> Any:
        parts = zip(self.transforms, self._slices(y), strict=True)
        return _joining.stack([t.inv(part) for t, part in parts], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        parts = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return _joining.stack([t.log_abs_det_jacobian(before, after) for t, before, after in parts], self.dim)

    @property
    def bijective(self) -> Any:
        """Whether all transforms are bijective."""
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self) -> Any:
        """The set of arguments."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        """The set of results."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
