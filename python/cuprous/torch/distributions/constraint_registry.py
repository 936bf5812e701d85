"""Transforms from unconstrained numbers to the values of a set: `biject_to` and `transform_to`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous.torch.distributions import constraints, transforms
from cuprous.torch.distributions.constraints import Constraint
from cuprous.torch.distributions.transforms import Transform

_Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """A table from classes of constraints to functions that create transforms. It is called with a constraint.

    Parameters
    ----------
    constraint : Constraint
        The constraint whose transform the call returns.

    See Also
    --------
    torch.distributions.constraints.Constraint, torch.distributions.Transform

    Examples
    --------
    >>> d = torch.distributions
    >>> d.transform_to(d.constraints.positive)(torch.tensor(0.0))
    tensor(1.)
    """

    def __init__(self) -> None:
        self._registry: dict[type, _Factory] = {}

    def register(self, constraint: Any, factory: _Factory | None = None) -> Any:
        """Registers a function that creates the transform of a constraint.

        Parameters
        ----------
        constraint : Constraint
            A class of constraints, or one constraint for its class.
        factory : callable, optional
            A function of a constraint; without it a decorator is returned.

        Returns
        -------
        callable
            The function, or a decorator.

        Raises
        ------
        TypeError
            For what is not a constraint.

        Examples
        --------
        >>> registry = torch.distributions.constraint_registry.ConstraintRegistry()
        >>> registry.register(torch.distributions.constraints.real, lambda c: torch.distributions.ExpTransform())
        <function ...>
        """
        if factory is None:
            return lambda given: self.register(constraint, given)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, Constraint):
            raise TypeError("Expected constraint to be either a Constraint subclass or instance, but got "
                            f"{constraint}")  # fmt: skip
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """Returns the transform to a constraint's values.

        Raises
        ------
        NotImplementedError
            For a constraint without a function.
        """
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints; register a transform for them"
            ) from None
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _affine_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and low == 0 and isinstance(high, (int, float)) and high == 1:
        return transforms.SigmoidTransform()
    scale = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), scale])


def _above(constraint: Any) -> Transform:
    if isinstance(constraint.lower_bound, (int, float)) and constraint.lower_bound == 0:
        return transforms.ExpTransform()
    return transforms.ComposeTransform([transforms.ExpTransform(),
                                        transforms.AffineTransform(constraint.lower_bound, 1)])  # fmt: skip


def _below(constraint: Any) -> Transform:
    return transforms.ComposeTransform([transforms.ExpTransform(),
                                        transforms.AffineTransform(constraint.upper_bound, -1)])  # fmt: skip


def _independent(registry: ConstraintRegistry) -> _Factory:
    def make(constraint: Any) -> Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    return make


def _cat(registry: ConstraintRegistry) -> _Factory:
    return lambda c: transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths)


def _stack(registry: ConstraintRegistry) -> _Factory:
    return lambda c: transforms.StackTransform([registry(part) for part in c.cseq], c.dim)


#: The functions of both tables.
_BOTH: dict[Any, _Factory] = {
    constraints.real: lambda _: transforms.identity_transform,
    constraints.greater_than: _above, constraints.greater_than_eq: _above, constraints.less_than: _below,
    constraints.interval: _affine_interval, constraints.half_open_interval: _affine_interval,
    constraints.corr_cholesky: lambda _: transforms.CorrCholeskyTransform(),
}  # fmt: skip
for _registry in (biject_to, transform_to):
    for _constraint, _make in _BOTH.items():
        _registry.register(_constraint, _make)
    _registry.register(constraints.independent, _independent(_registry))
    _registry.register(constraints.cat, _cat(_registry))
    _registry.register(constraints.stack, _stack(_registry))
biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda _: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform())
for _constraint in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_constraint, lambda _: transforms.PositiveDefiniteTransform())

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
