"""Random queries of Polars, and what of their results is certain: exact columns, the order of rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from tests.frames.random_frames import WORDS, frame, value
from tests.frames.random_joins import NUMBERS, Joins, Query, is_number
from tests.frames.random_windows import CLOSED, Windows

INTERPOLATIONS: list[Any] = ["nearest", "higher", "lower", "midpoint", "linear", "equiprobable"]
RANKS: list[Any] = ["average", "dense", "max", "min", "ordinal"]
#: Sums of a frame's integers up to this are exact in float64 in any order.
EXACT = 1 << 40


class Plans(Joins, Windows):
    """A source of random queries.

    Parameters
    ----------
    seed : int
        Its number.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._names = count()

    def name(self) -> str:
        """A name that no column has yet."""
        return f"n{next(self._names)}"

    def query(self) -> Query:
        """A query of up to six steps."""
        found = frame(self.random)
        query = Query(found.lazy(), dict(found.schema), steps=[f"frame {found.height} {dict(found.schema)}"])
        for _ in range(self.random.randint(1, 6)):
            step = self.random.choice(STEPS)
            try:
                query = step(self, query) or query
            except PolarsError:  # a name twice: the step is left out
                continue
            if query.last:
                break
            if len(query.schema) > 14:
                query = self.select(query) or query
        return query

    # --- expressions

    def literal(self, dtype: Any) -> pl.Expr:
        """A constant."""
        return pl.lit(value(self.random, dtype, False), dtype=dtype)

    def operand(self, query: Query, dtype: Any, depth: int) -> pl.Expr:
        """An expression of a dtype."""
        names = [n for n in query.names() if query.schema[n] == dtype]
        if names and (depth <= 0 or self.random.random() < 0.6):
            return pl.col(self.random.choice(names))
        if depth > 0 and names and is_number(dtype):
            return self.number(query, dtype, depth - 1)
        return self.literal(dtype)

    def number(self, query: Query, dtype: Any, depth: int) -> pl.Expr:
        """Arithmetic whose result has the same dtype."""
        a, b = self.operand(query, dtype, depth), self.operand(query, dtype, depth)
        choices: list[Callable[[], pl.Expr]] = [
            lambda: a + b, lambda: a - b, lambda: a * b, lambda: a // b, lambda: a % b, lambda: a.fill_null(b),
            lambda: pl.when(self.condition(query, depth - 1)).then(a).otherwise(b), lambda: pl.coalesce(a, b),
            lambda: a.abs() if dtype.is_float() or dtype.is_signed_integer() else a,
            lambda: -a if dtype.is_float() or dtype.is_signed_integer() else a,
        ]  # fmt: skip
        if dtype.is_float():
            choices += [lambda: a.floor(), lambda: a.ceil(), lambda: a / b, lambda: a.round(2), lambda: a.sqrt()]
        return self.random.choice(choices)()

    def condition(self, query: Query, depth: int) -> pl.Expr:
        """An expression of bool."""
        random = self.random
        names = query.names()
        if not names:
            return pl.lit(True)
        name = random.choice(names)
        dtype = query.schema[name]
        a = pl.col(name)
        if depth > 0 and random.random() < 0.35:
            one, other = self.condition(query, depth - 1), self.condition(query, depth - 1)
            return random.choice([lambda: one & other, lambda: one | other, lambda: one ^ other, lambda: ~one])()
        if dtype == pl.Boolean and random.random() < 0.5:
            return a
        if dtype == pl.String and random.random() < 0.6:
            word = random.choice(["a", "b", "ab", "é", ""])
            return random.choice([
                a.str.contains(word, literal=True), a.str.contains("^[ab]"), a.str.starts_with(word),
                a.str.ends_with(word),
            ])  # fmt: skip
        if dtype.base_type() == pl.Categorical or not (is_number(dtype) or random.random() < 0.8):
            return random.choice([a.is_null(), a.is_not_null()])
        b = self.operand(query, dtype, depth - 1)
        choices = [
            lambda: a == b, lambda: a != b, lambda: a < b, lambda: a <= b, lambda: a > b, lambda: a >= b,
            lambda: a.eq_missing(b), lambda: a.ne_missing(b), lambda: a.is_null(), lambda: a.is_not_null(),
            lambda: a.is_between(self.literal(dtype), self.literal(dtype), closed=random.choice(CLOSED)),
            lambda: a.is_in([value(random, dtype, False) for _ in range(random.randint(1, 4))]),
        ]  # fmt: skip
        if dtype.is_float():
            choices += [a.is_nan, a.is_not_nan, a.is_finite, a.is_infinite]
        return random.choice(choices)()

    def other_expression(self, query: Query) -> pl.Expr:
        """Casts, parts of dates, functions of strings, and now and then what only Polars has."""
        random = self.random
        choices: list[Any] = []
        for name, dtype in query.schema.items():
            if name in query.inexact:
                continue
            a = pl.col(name)
            if is_number(dtype):
                target = random.choice([*NUMBERS, pl.Boolean])
                choices += [
                    lambda a=a, t=target: a.cast(t, strict=random.random() < 0.3),
                    lambda a=a, d=dtype: a / self.operand(query, d, 0),
                    lambda a=a: a.is_null().cast(pl.Int32) + 1,
                    lambda a=a, d=dtype: a * self.operand(query, d, 0) + self.operand(query, d, 0),
                    lambda a=a, d=dtype: self.operand(query, d, 0) - a * self.operand(query, d, 0),
                    lambda a=a, d=dtype: pl.max_horizontal(a, self.operand(query, d, 0), self.operand(query, d, 0)),
                    lambda a=a, d=dtype: pl.min_horizontal(a, self.operand(query, d, 0)),
                    lambda a=a, d=dtype: pl.sum_horizontal(a, self.operand(query, d, 0)),
                    lambda a=a, d=dtype: a.clip(self.literal(d), self.literal(d)),
                ]
            if dtype.is_decimal():
                choices += [
                    lambda a=a, d=dtype: a + self.operand(query, d, 0),
                    lambda a=a, d=dtype: self.operand(query, d, 0) - a,
                    lambda a=a, d=dtype: a * self.operand(query, d, 0),
                    lambda a=a: a / random.choice([2, 3, -7]),
                    lambda a=a: a.cast(random.choice([pl.Decimal(14, 1), pl.Decimal(18, 5), pl.Float64]), strict=False),
                    lambda a=a: a.abs(), lambda a=a: a * pl.lit("1.05").cast(pl.Decimal(4, 2)),
                ]  # fmt: skip
            if dtype.base_type() in (pl.Date, pl.Datetime):
                choices += [
                    lambda a=a: a.dt.year(),
                    lambda a=a: a.dt.month(),
                    lambda a=a: a.dt.day(),
                    lambda a=a: a.dt.weekday(),
                ]
                choices += [lambda a=a: a.dt.quarter()]
            if dtype.base_type() == pl.Datetime:
                choices += [lambda a=a: a.dt.hour(), lambda a=a: a.dt.minute(), lambda a=a: a.dt.second()]
            if dtype == pl.Date:
                choices += [lambda a=a: a.cast(pl.Datetime("ms"))]
            if dtype == pl.String:
                choices += [
                    lambda a=a: a.str.to_uppercase(), lambda a=a: a.str.len_chars(), lambda a=a: a.str.slice(0, 1),
                    lambda a=a: a.str.replace("a", "<$0>"), lambda a=a: a.str.strip_chars(),
                    lambda a=a: a.str.len_bytes(), lambda a=a: a.fill_null("none"), lambda a=a: a + "!",
                    lambda a=a: "<" + a + ">", lambda a=a: a.str.head(2),
                    lambda a=a: pl.when(self.condition(query, 1)).then(a).otherwise(pl.lit(random.choice(WORDS))),
                ]  # fmt: skip
            if dtype.is_float():
                choices += [lambda a=a: a.fill_nan(0.0), lambda a=a: a.sign()]
            if dtype.base_type() in (pl.Duration, pl.Datetime):
                choices += [lambda a=a, d=dtype: a - self.operand(query, d, 0)]
            choices += [lambda a=a: a, lambda a=a: a.is_not_null()]
            if query.ordered:
                choices += [lambda a=a: a.shift(random.randint(-4, 4))]
                choices += [lambda a=a: a.cum_count(reverse=random.random() < 0.3)]
                if is_number(dtype):
                    choices += [lambda a=a: a.diff(random.choice([1, 2, -1]))]
                    choices += [lambda a=a: a.rank(random.choice(RANKS), descending=random.random() < 0.4)]
                if dtype.is_integer():
                    choices += [lambda a=a: a.cum_sum(reverse=random.random() < 0.3)]
                    choices += [
                        lambda a=a: a.rolling_sum(random.randint(1, 5), min_samples=1, center=random.random() < 0.3)
                    ]
        return random.choice(choices)() if choices else pl.lit(1)

    def expression(self, query: Query, depth: int = 2) -> pl.Expr:
        """Any expression of the rows."""
        random = self.random
        numbers = [n for n in query.names(*NUMBERS)]
        what = random.random()
        if numbers and what < 0.45:
            return self.number(query, query.schema[random.choice(numbers)], depth)
        if what < 0.7:
            return self.condition(query, depth)
        return self.other_expression(query)

    def aggregate(self, query: Query) -> tuple[pl.Expr, bool]:
        """An aggregate of a column, and whether its value is exact."""
        random = self.random
        names = query.names()
        if not names or random.random() < 0.1:
            return pl.len(), True
        name = random.choice(names)
        dtype = query.schema[name]
        column = pl.col(name)
        if is_number(dtype) and random.random() < 0.3:
            column = self.number(query, dtype, 1)
        if random.random() < 0.2:
            column = column.filter(self.condition(query, 1))
        methods = ["count", "n_unique", "null_count", "len"]
        if query.ordered:
            methods += ["first", "last"]
        if dtype.base_type() not in (pl.Categorical, pl.Boolean):
            methods += ["min", "max"]
        if is_number(dtype) or dtype.is_decimal():
            methods += ["sum", "mean", "std", "var", "median"] * 2
        if dtype == pl.Boolean:
            methods += ["any", "all", "sum"]
        method = random.choice(methods)
        inexact = method in ("std", "var", "mean") or (method == "sum" and dtype.is_float())
        if method == "mean" and dtype in (pl.Int64, pl.UInt64):
            # Sums of wider values are rounded, and values that cancel leave nothing else: test_means_of_wide_integers.
            column = column.filter(column.is_between(pl.lit(0 if dtype == pl.UInt64 else -EXACT), pl.lit(EXACT)))
        found = getattr(column, method)()
        if method == "median" and random.random() < 0.6:
            quantile, interpolation = random.choice([0.0, 0.25, 0.3, 0.5, 0.9, 1.0]), random.choice(INTERPOLATIONS)
            found = column.quantile(quantile, interpolation)
        if inexact or random.random() < 0.8:
            return found, not inexact
        return random.choice(
            [found.is_null(), pl.when(found.is_null()).then(pl.lit(1, pl.Int32)).otherwise(pl.lit(2, pl.Int32))]
        ), True

    def aggregates(self, query: Query) -> tuple[list[pl.Expr], set[str]]:
        """Named aggregates and the names of those that are not exact."""
        expressions, inexact = [], set()
        for _ in range(self.random.randint(1, 4)):
            found, exact = self.aggregate(query)
            name = self.name()
            expressions.append(found.alias(name))
            if not exact:
                inexact.add(name)
        return expressions, inexact

    # --- steps

    def filter(self, query: Query) -> Query:
        """Some of the rows."""
        condition = self.condition(query, 2)
        return query.then(f"filter({condition})", query.lf.filter(condition))

    def with_columns(self, query: Query) -> Query:
        """More columns, or others of the same name."""
        new = [self.expression(query) for _ in range(self.random.randint(1, 3))]
        exact = query.names()
        named = [
            e.alias(self.random.choice(exact) if exact and self.random.random() < 0.2 else self.name()) for e in new
        ]
        names = [e.meta.output_name() for e in named]
        named = [e for i, e in enumerate(named) if names[i] not in names[:i]]
        inexact = query.inexact - {e.meta.output_name() for e in named}
        return query.then(f"with_columns({named})", query.lf.with_columns(named), inexact=inexact)

    def select(self, query: Query) -> Query | None:
        """Some columns and new ones."""
        names = self.random.sample(list(query.schema), k=min(len(query.schema), self.random.randint(1, 5)))
        new = [self.expression(query).alias(self.name()) for _ in range(self.random.randint(0, 2))]
        return query.then(f"select({names}, {new})", query.lf.select(*names, *new))

    def reduce(self, query: Query) -> Query:
        """One row."""
        expressions, inexact = self.aggregates(query)
        return query.then(f"select({expressions})", query.lf.select(expressions), ordered=True, inexact=inexact)

    def sort(self, query: Query) -> Query | None:
        """The rows in an order that is certain only if it was, or of one column."""
        names = query.names()
        if not names:
            return None
        keys = self.random.sample(names, k=min(len(names), self.random.randint(1, 3)))
        descending = [self.random.random() < 0.5 for _ in keys]
        nulls_last = [self.random.random() < 0.5 for _ in keys]
        lf = query.lf.sort(keys, descending=descending, nulls_last=nulls_last, maintain_order=True)
        return query.then(f"sort({keys}, {descending}, {nulls_last})", lf)

    def slice(self, query: Query) -> Query | None:
        """Adjacent rows."""
        if not query.ordered:
            return None
        offset, length = self.random.randint(-8, 8), self.random.randint(0, 40)
        last = self._order_is_lost(query)
        return query.then(f"slice({offset}, {length})", query.lf.slice(offset, length), last=last)

    def unique(self, query: Query) -> Query | None:
        """One row for each combination."""
        names = query.names()
        if not names or query.inexact:
            return None
        if not query.ordered:
            return query.then("unique()", query.lf.unique())
        subset = self.random.sample(names, k=min(len(names), self.random.randint(1, 2)))
        keep = self.random.choice(["first", "last", "none"])
        order = self.random.random() < 0.5
        lf = query.lf.unique(subset=subset, keep=keep, maintain_order=order)
        return query.then(f"unique({subset}, {keep}, {order})", lf, ordered=order)

    def group_by(self, query: Query) -> Query | None:
        """One row for each combination of keys."""
        names = query.names()
        if not names:
            return None
        keys = self.random.sample(names, k=min(len(names), self.random.randint(1, 3)))
        expressions, inexact = self.aggregates(query)
        order = query.ordered and self.random.random() < 0.4
        lf = query.lf.group_by(keys, maintain_order=order).agg(expressions)
        return query.then(f"group_by({keys}, {order}).agg({expressions})", lf, ordered=order, inexact=inexact)

    def window(self, query: Query) -> Query | None:
        """An aggregate of each group beside its rows."""
        names = query.names()
        if not names:
            return None
        found, exact = self.aggregate(query)
        numbers = query.names(*NUMBERS)
        if query.ordered and numbers and self.random.random() < 0.4:
            found, exact = self.sequence(pl.col(self.random.choice(numbers))), True
        keys = self.random.sample(names, k=min(len(names), self.random.randint(1, 2)))
        name = self.name()
        lf = query.lf.with_columns(found.over(keys).alias(name))
        inexact = query.inexact | (set() if exact else {name})
        return query.then(f"with_columns({found}.over({keys}))", lf, inexact=inexact)

    def sequence(self, column: pl.Expr) -> pl.Expr:
        """A function of a column of numbers that depends on other rows."""
        random = self.random
        return random.choice([
            column.shift(random.randint(-3, 3)), column.diff(), column.cum_count(),
            column.rank(random.choice(RANKS), descending=random.random() < 0.4),
            column.cast(pl.Int64, strict=False).cum_sum(reverse=random.random() < 0.3),
            column - column.shift(1), column - column.min(), column.cum_max(reverse=random.random() < 0.3),
            column.cum_min(), column.rolling_max(random.randint(1, 5), min_samples=1),
            column.rolling_min(random.randint(1, 5), center=random.random() < 0.3),
        ])  # fmt: skip

    def union(self, query: Query) -> Query | None:
        """The rows twice, with a change between."""
        changed = self.filter(query)
        return query.then("concat", pl.concat([query.lf, changed.lf]))

    def row_index(self, query: Query) -> Query | None:
        """The rows with their numbers."""
        if not query.ordered or "index" in query.schema:
            return None
        return query.then("with_row_index()", query.lf.with_row_index())


STEPS: list[Callable[[Plans, Query], Query | None]] = [
    Plans.filter, Plans.filter, Plans.with_columns, Plans.with_columns, Plans.select, Plans.reduce, Plans.sort,
    Plans.slice, Plans.unique, Plans.group_by, Plans.group_by, Plans.join, Plans.join, Plans.join_where, Plans.cross,
    Plans.union, Plans.row_index, Plans.window, Plans.as_of, Plans.windows,
]  # fmt: skip
