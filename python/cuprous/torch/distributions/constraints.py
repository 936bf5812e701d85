"""Constraints: the sets from which parameters and values come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._info import finfo
from cuprous.torch._joining import cat as join
from cuprous.torch._joining import split
from cuprous.torch._joining import stack as stacked
from cuprous.torch.linalg import cholesky_ex, eigvalsh

_map = _core.t_map


class Constraint:
    """A set of values. `event_dim` is the number of dimensions that one value has.

    See Also
    --------
    torch.distributions.biject_to, torch.distributions.transform_to, torch.distributions.constraints.is_dependent

    Examples
    --------
    >>> torch.distributions.constraints.positive.event_dim
    0
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Any:
        """Returns, for each value, whether it is in the set.

        Parameters
        ----------
        value : Tensor
            The values.

        Returns
        -------
        Tensor
            A bool tensor without the dimensions of a value.

        Examples
        --------
        >>> torch.distributions.constraints.positive.check(torch.tensor([-1.0, 2.0]))
        tensor([False,  True])
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        words = type(self).__name__.strip("_").split("_")
        name = "".join(word[:1].upper() + word[1:] for word in words)
        bounds = [(key, self.__dict__.get(key)) for key in ("lower_bound", "upper_bound")]
        return f"{name}({', '.join(f'{key}={bound}' for key, bound in bounds if bound is not None)})"


class _Dependent(Constraint):
    """A set that depends on other parameters, which is not known without them.

    Parameters
    ----------
    is_discrete : bool, default False
        Whether values are integers.
    event_dim : int, default 0
        The number of dimensions of a value.

    See Also
    --------
    torch.distributions.constraints.dependent_property, torch.distributions.constraints.is_dependent

    Examples
    --------
    >>> torch.distributions.constraints.is_dependent(torch.distributions.constraints.dependent)
    True
    """

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, *, is_discrete: bool = False, event_dim: int = 0) -> _Dependent:
        """Returns a set of another kind."""
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value: Tensor) -> Any:
        """Raises ValueError."""
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Returns True for sets that depend on other parameters.

    Parameters
    ----------
    constraint : Constraint
        The set.

    Returns
    -------
    bool

    See Also
    --------
    torch.distributions.constraints.dependent, torch.distributions.constraints.dependent_property

    Examples
    --------
    >>> torch.distributions.constraints.is_dependent(torch.distributions.constraints.positive)
    False
    """
    return isinstance(constraint, _Dependent)


class dependent_property(property, _Dependent):
    """A property that returns a set which depends on other parameters.

    Parameters
    ----------
    fn : callable, optional
        The method that returns the set.
    is_discrete : bool, default False
        Whether values are integers.
    event_dim : int, default 0
        The number of dimensions of a value.

    See Also
    --------
    torch.distributions.constraints.dependent, torch.distributions.constraints.is_dependent

    Examples
    --------
    >>> class Truncated:
    ...     bound = 1.0
    ...
    ...     @torch.distributions.constraints.dependent_property
    ...     def support(self):
    ...         return torch.distributions.constraints.less_than(self.bound)
    >>> Truncated().support.check(torch.tensor([0.0, 2.0]))
    tensor([ True, False])
    """

    def __init__(self, fn: Any = None, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        super().__init__(fn)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, fn: Any) -> dependent_property:  # type: ignore[override]
        """Returns the property, as a decorator with arguments."""
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


class _Interval(Constraint):
    """An interval; None stands for no bound."""

    def __init__(self, lower_bound: Any = None, upper_bound: Any = None, open_low: bool = False,
                 open_high: bool = False, is_discrete: bool = False) -> None:  # fmt: skip
        self.lower_bound, self.upper_bound, self.is_discrete = lower_bound, upper_bound, is_discrete
        self._open = open_low, open_high

    def check(self, value: Any) -> Any:
        """Returns, for each value, whether it is within the bounds."""
        found = _map("equal", value, value)
        if self.lower_bound is not None:
            found = found & _map("greater" if self._open[0] else "greater_equal", value, self.lower_bound)
        if self.upper_bound is not None:
            found = found & _map("less" if self._open[1] else "less_equal", value, self.upper_bound)
        return found & (value % 1 == 0) if self.is_discrete else found


class _Real(_Interval):
    """The set of all numbers but NaN."""


class interval(_Interval):
    """The set of numbers from one bound to another, both included.

    Parameters
    ----------
    lower_bound : Tensor or number
        The lower bound, a number or tensor.
    upper_bound : Tensor or number
        The upper bound, a number or tensor.

    See Also
    --------
    torch.distributions.constraints.half_open_interval, torch.distributions.constraints.integer_interval

    Examples
    --------
    >>> torch.distributions.constraints.interval(0, 1).check(torch.tensor([0.5, 2.0]))
    tensor([ True, False])
    """

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        super().__init__(lower_bound, upper_bound)


class half_open_interval(_Interval):
    """The set of numbers from a bound to below another.

    Parameters
    ----------
    lower_bound : Tensor or number
        The lower bound, a number or tensor.
    upper_bound : Tensor or number
        The upper bound, a number or tensor.

    See Also
    --------
    torch.distributions.constraints.interval, torch.distributions.constraints.unit_interval,
    torch.distributions.constraints.greater_than_eq

    Examples
    --------
    >>> torch.distributions.constraints.half_open_interval(0, 1).check(torch.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        super().__init__(lower_bound, upper_bound, open_high=True)


class greater_than(_Interval):
    """The set of numbers above a bound.

    Parameters
    ----------
    lower_bound : Tensor or number
        The lower bound, a number or tensor.

    See Also
    --------
    torch.distributions.constraints.greater_than_eq, torch.distributions.constraints.less_than,
    torch.distributions.constraints.interval

    Examples
    --------
    >>> torch.distributions.constraints.greater_than(0).check(torch.tensor([0.0, 1.0]))
    tensor([False,  True])
    """

    def __init__(self, lower_bound: Any) -> None:
        super().__init__(lower_bound, open_low=True)


class greater_than_eq(_Interval):
    """The set of numbers from a bound on.

    Parameters
    ----------
    lower_bound : Tensor or number
        The lower bound, a number or tensor.

    See Also
    --------
    torch.distributions.constraints.greater_than, torch.distributions.constraints.half_open_interval

    Examples
    --------
    >>> torch.distributions.constraints.greater_than_eq(0).check(torch.tensor([0.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, lower_bound: Any) -> None:
        super().__init__(lower_bound)


class less_than(_Interval):
    """The set of numbers below a bound.

    Parameters
    ----------
    upper_bound : Tensor or number
        The upper bound, a number or tensor.

    See Also
    --------
    torch.distributions.constraints.greater_than, torch.distributions.constraints.interval

    Examples
    --------
    >>> torch.distributions.constraints.less_than(0).check(torch.tensor([0.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, upper_bound: Any) -> None:
        super().__init__(None, upper_bound, open_high=True)


class integer_interval(_Interval):
    """The set of integers from one bound to another, both included.

    Parameters
    ----------
    lower_bound : Tensor or number
        The lower bound, a number or tensor.
    upper_bound : Tensor or number
        The upper bound, a number or tensor.

    See Also
    --------
    torch.distributions.constraints.interval, torch.distributions.constraints.nonnegative_integer,
    torch.distributions.constraints.boolean

    Examples
    --------
    >>> torch.distributions.constraints.integer_interval(0, 2).check(torch.tensor([1.0, 1.5]))
    tensor([ True, False])
    """

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        super().__init__(lower_bound, upper_bound, is_discrete=True)


class _IntegerGreaterThan(_Interval):
    """The set of integers from a bound on."""

    def __init__(self, lower_bound: Any) -> None:
        super().__init__(lower_bound, is_discrete=True)


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class multinomial(Constraint):
    """The set of vectors of nonnegative integers whose sum is not above a bound.

    Parameters
    ----------
    upper_bound : int or Tensor
        The bound.

    See Also
    --------
    torch.distributions.constraints.simplex, torch.distributions.constraints.nonnegative_integer,
    torch.distributions.Multinomial

    Examples
    --------
    >>> torch.distributions.constraints.multinomial(3).check(torch.tensor([[1.0, 2.0], [2.0, 2.0]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _CorrCholesky(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        tolerance = 10 * value.dims[-1] * finfo(value.dtype).eps
        rows = ((value.square().sum(-1) - 1).abs() <= tolerance).all(-1)
        return lower_cholesky.check(value) & rows


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return _core.t_full(list(value.dims[:-2]), value.dims[-2] == value.dims[-1], "bool", value.device_name)


class _Symmetric(_Square):
    def check(self, value: Any) -> Any:
        return ((value - value.mT).abs() < 1e-6).all(-1).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return symmetric & (cholesky_ex(value)[1] == 0)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return symmetric & (eigvalsh(value) >= 0).all(-1)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return (value.tril() == value).all(-1).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Any) -> Any:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class independent(Constraint):
    """A set whose last dimensions together are one value.

    Parameters
    ----------
    base_constraint : Constraint
        The set of single values.
    reinterpreted_batch_ndims : int
        The number of dimensions.

    See Also
    --------
    torch.distributions.Independent

    Examples
    --------
    >>> c = torch.distributions.constraints
    >>> c.independent(c.positive, 1).check(torch.tensor([[1.0, 2.0], [-1.0, 2.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"

    def check(self, value: Any) -> Any:
        if value.ndim < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.reinterpreted_batch_ndims} but got {value.ndim}")
        found = self.base_constraint.check(value)
        for _ in range(self.reinterpreted_batch_ndims):
            found = found.all(-1)
        return found


class MixtureSameFamilyConstraint(Constraint):
    """The set of values of a mixture: those of its component with a dimension less in the batch.

    Parameters
    ----------
    base_constraint : Constraint
        The set of values of the components.

    See Also
    --------
    torch.distributions.MixtureSameFamily

    Examples
    --------
    >>> c = torch.distributions.constraints
    >>> c.MixtureSameFamilyConstraint(c.positive).check(torch.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint
        self.is_discrete, self.event_dim = base_constraint.is_discrete, base_constraint.event_dim

    def check(self, value: Any) -> Any:
        """Returns, for each value, whether it is a value of all components.

        Parameters
        ----------
        value : Tensor
            The values.

        Returns
        -------
        Tensor
            A bool tensor without the dimensions of a value.

        Raises
        ------
        ValueError
            For values with fewer dimensions than one value has.

        Examples
        --------
        >>> c = torch.distributions.constraints
        >>> c.MixtureSameFamilyConstraint(c.unit_interval).check(torch.tensor(0.5))
        tensor(True)
        """
        at = value.ndim - self.event_dim
        if at < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        return self.base_constraint.check(value.unsqueeze(at)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class cat(Constraint):
    """Sets that apply to consecutive parts of a dimension.

    Parameters
    ----------
    cseq : sequence of Constraint
        The sets.
    dim : int, default 0
        The dimension.
    lengths : sequence of ints, optional
        The extent of each part, by default 1.

    See Also
    --------
    torch.distributions.constraints.stack, torch.distributions.CatTransform

    Examples
    --------
    >>> c = torch.distributions.constraints
    >>> c.cat([c.positive, c.unit_interval], lengths=[1, 2]).check(torch.tensor([3.0, 0.5, 2.0]))
    tensor([ True,  True, False])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        self.event_dim = max(c.event_dim for c in self.cseq)

    def check(self, value: Any) -> Any:
        parts = split(value, self.lengths, self.dim)
        return join([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


class stack(Constraint):
    """Sets that apply to the elements along a dimension.

    Parameters
    ----------
    cseq : sequence of Constraint
        The sets.
    dim : int, default 0
        The dimension.

    See Also
    --------
    torch.distributions.constraints.cat, torch.distributions.StackTransform

    Examples
    --------
    >>> c = torch.distributions.constraints
    >>> c.stack([c.positive, c.unit_interval]).check(torch.tensor([3.0, 2.0]))
    tensor([ True, False])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        inner = max(c.event_dim for c in self.cseq)
        self.event_dim = inner + 1 if dim + inner < 0 else inner

    def check(self, value: Any) -> Any:
        parts = [value.select(self.dim, i) for i in range(value.dims[self.dim])]
        return stacked([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


dependent = _Dependent()
boolean, one_hot, simplex = _Boolean(), _OneHot(), _Simplex()
real, nonnegative_integer, positive_integer = _Real(), _IntegerGreaterThan(0), _IntegerGreaterThan(1)
real_vector = independent(real, 1)
positive, nonnegative, unit_interval = greater_than(0.0), greater_than_eq(0.0), interval(0.0, 1.0)
square, symmetric, positive_definite = _Square(), _Symmetric(), _PositiveDefinite()
positive_semidefinite, corr_cholesky = _PositiveSemidefinite(), _CorrCholesky()
lower_triangular, lower_cholesky = _LowerTriangular(), _LowerCholesky()

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip
