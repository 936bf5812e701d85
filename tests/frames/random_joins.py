"""Random joins of Polars' queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import polars as pl

from tests.frames.random_frames import frame

NUMBERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64)


@dataclass
class Query:
    """A lazy frame with its schema.

    Parameters
    ----------
    lf : LazyFrame
        The query.
    schema : dict
        Name -> dtype.
    ordered : bool, default True
        Whether the order of the rows is certain.
    inexact : set of str, optional
        Columns whose values depend on an order of additions.
    steps : list of str, optional
        What it does, for reports of failures.
    last : bool, default False
        Whether no step may follow.
    """

    lf: pl.LazyFrame
    schema: dict[str, Any]
    ordered: bool = True
    inexact: set[str] = field(default_factory=set)
    steps: list[str] = field(default_factory=list)
    last: bool = False

    def then(self, step: str, lf: pl.LazyFrame, **changes: Any) -> Query:
        """The query after one more step."""
        schema = dict(lf.collect_schema())
        values = {"ordered": self.ordered, "inexact": {n for n in self.inexact if n in schema}, **changes}
        return Query(lf, schema, steps=[*self.steps, step], **values)

    def names(self, *bases: Any) -> list[str]:
        """Exact columns of some dtypes."""
        exact = [(n, d) for n, d in self.schema.items() if n not in self.inexact]
        return [n for n, d in exact if not bases or d.base_type() in bases]


def is_number(dtype: Any) -> bool:
    """Whether a dtype is one of numbers."""
    return dtype.base_type() in NUMBERS


class Joins:
    """Steps with another frame; `Plans` has the others."""

    random: Random

    def filter(self, query: Query) -> Query:
        """Some of the rows."""
        raise NotImplementedError

    def join(self, query: Query) -> Query | None:
        """Pairs with another frame, or with itself."""
        random = self.random
        if query.inexact:
            return None
        other = query if random.random() < 0.2 else self._other(query)
        pairs = [(a, b) for a, d in query.schema.items() for b, e in other.schema.items() if d == e]
        pairs = [p for p in pairs if query.schema[p[0]].base_type() != pl.Categorical]
        how = random.choice(["inner", "left", "semi", "anti", "full", "right", "inner", "left"])
        if not pairs:
            return None
        chosen = random.sample(pairs, k=min(len(pairs), random.choice([1, 1, 2])))
        left, right = [p[0] for p in chosen], [p[1] for p in chosen]
        if len({*left}) < len(left) or len({*right}) < len(right):
            left, right = left[:1], right[:1]
        options: dict[str, Any] = {"how": how, "nulls_equal": random.random() < 0.3}
        if how in ("left", "right", "full", "inner"):
            options["coalesce"] = random.choice([None, True, False])
        if how in ("left", "inner"):
            options["maintain_order"] = random.choice(["none", "left_right"])
        if how == "right":
            options["maintain_order"] = random.choice(["none", "right_left"])
        # A join of many equal keys is bounded by the height of the other frame.
        lf = query.lf.join(
            other.lf.slice(0, 40) if other.ordered else other.lf, left_on=left, right_on=right, **options
        )
        ordered = query.ordered and options.get("maintain_order") == "left_right"
        return query.then(f"join({other.steps}, {left}, {right}, {options})", lf, ordered=ordered)

    @staticmethod
    def _order_is_lost(query: Query) -> bool:
        """Whether Polars may forget an order: it moves slices into joins and groups, and drops `maintain_order` there
        if nothing above the slice needs an order."""
        return any(step.startswith(("group_by", "join", "unique")) for step in query.steps)

    def _other(self, query: Query) -> Query:
        found = frame(self.random, self.random.choice(["", "r"]))
        other = Query(found.lazy(), dict(found.schema), steps=[f"frame {found.height} {dict(found.schema)}"])
        return self.filter(other) if self.random.random() < 0.3 else other

    def join_where(self, query: Query) -> Query | None:
        """Pairs whose columns are in an order."""
        if not query.ordered or query.inexact or self._order_is_lost(query):
            return None
        other = self._other(query)
        dtypes = (*NUMBERS, pl.Date, pl.String)
        pairs = [
            (a, b) for a in query.names(*dtypes) for b in other.names(*dtypes) if query.schema[a] == other.schema[b]
        ]
        if not pairs:
            return None
        conditions = []
        for a, b in self.random.sample(pairs, k=min(len(pairs), self.random.choice([1, 1, 2]))):
            one, two = pl.col(a), pl.col(b + "_right" if b in query.schema else b)
            conditions.append(self.random.choice([one < two, one <= two, one > two, one >= two]))
        lf = query.lf.slice(0, 30).join_where(other.lf.slice(0, 30), *conditions)
        return query.then(f"slice(0, 30).join_where({conditions})", lf, ordered=False)

    def cross(self, query: Query) -> Query | None:
        """All pairs of a few rows."""
        if not query.ordered or query.inexact or self._order_is_lost(query):
            return None
        lf = query.lf.slice(0, 5).join(self._other(query).lf.slice(0, 7), how="cross")
        return query.then("slice(0, 5).join(cross)", lf, ordered=False)

    def as_of(self, query: Query) -> Query | None:
        """The next row of another frame."""
        random = self.random
        if not query.ordered or query.inexact or self._order_is_lost(query):
            return None
        other = self._other(query)
        pairs = [
            (a, b) for a in query.names(*NUMBERS, pl.Date) for b in other.names(*NUMBERS, pl.Date)
            if query.schema[a] == other.schema[b]
        ]  # fmt: skip
        if not pairs:
            return None
        left, right = random.choice(pairs)
        by = [
            (a, b) for a, d in query.schema.items() for b, e in other.schema.items()
            if d == e and d.base_type() in (pl.String, pl.Int8, pl.Boolean) and (a, b) != (left, right)
        ]  # fmt: skip
        options: dict[str, Any] = {"strategy": random.choice(["backward", "forward", "nearest"])}
        if by and random.random() < 0.5:
            options["by_left"], options["by_right"] = random.choice(by)
        if random.random() < 0.4:
            is_date = query.schema[left] == pl.Date
            options["tolerance"] = random.choice(["1d", "3d", "60h"] if is_date else [0, 1, 3])
        sides = (lf.lf.drop_nulls(on).sort(on, maintain_order=True) for lf, on in ((query, left), (other, right)))
        one, two = sides
        lf = one.join_asof(two, left_on=left, right_on=right, coalesce=False, **options)
        return query.then(f"join_asof({left}, {right}, {options})", lf)
