"""Correlations as other expressions: means, products and sums."""

from __future__ import annotations

import polars as pl

from cuprous.frames.plan.expressions import Aggregate, Call, Expression, Literal

_FLOAT = pl.Float64()


def correlation(left: Expression, right: Expression) -> Expression:
    """Returns Pearson's coefficient of two expressions of numbers, of the rows in which both are not null."""
    known = [Call(pl.Boolean(), "boolean.isnotnull", (one,)) for one in (left, right)]
    both = Call(pl.Boolean(), "op.And", tuple(known))
    x, y = (_centered(Call(_FLOAT, "ternary", (both, _as_float(one), Literal(_FLOAT, None)))) for one in (left, right))
    scale = Call(_FLOAT, "sqrt", (Call(_FLOAT, "op.Multiply", (_sum_of_products(x, x), _sum_of_products(y, y))),))
    return Call(_FLOAT, "op.TrueDivide", (_sum_of_products(x, y), scale))


def _as_float(one: Expression) -> Expression:
    return one if one.dtype == pl.Float64 else Call(_FLOAT, "cast", (one,), ("strict",))


def _centered(one: Expression) -> Expression:
    """The distances from the mean; those of equal values are exactly 0."""
    above = Call(_FLOAT, "op.Minus", (one, Aggregate(_FLOAT, "min", one)))
    return Call(_FLOAT, "op.Minus", (above, Aggregate(_FLOAT, "mean", above)))


def _sum_of_products(one: Expression, other: Expression) -> Expression:
    return Aggregate(_FLOAT, "sum", Call(_FLOAT, "op.Multiply", (one, other)))
