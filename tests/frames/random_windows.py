"""Random windows over an index of Polars' queries."""

from __future__ import annotations

from random import Random
from typing import Any

import polars as pl

from tests.frames.random_joins import Query

#: Dtype of an index -> durations that Polars takes for it.
_DURATIONS: dict[Any, list[str]] = {
    pl.Int32: ["1i", "2i", "5i"], pl.Int64: ["1i", "3i", "7i"], pl.Date: ["1d", "2d", "36h", "1w"],
    pl.Datetime: ["2h", "90m", "1d", "5h"],
}  # fmt: skip
CLOSED: list[Any] = ["left", "right", "both", "none"]
LABELS: list[Any] = ["left", "right", "datapoint"]


class Windows:
    """Steps that group rows by intervals of an index; `Plans` has the others."""

    random: Random

    def aggregates(self, query: Query) -> tuple[list[pl.Expr], set[str]]:
        """Aggregates, and the names of those that are inexact."""
        raise NotImplementedError

    def windows(self, query: Query) -> Query | None:
        """A row for each window, or for each row the window beside it."""
        random = self.random
        if not query.ordered or any(step.startswith(("group_by", "join", "unique")) for step in query.steps):
            return None
        bases = (pl.Int32, pl.Int64, pl.Date, pl.Datetime)
        indices = [n for n in query.names(*bases) if getattr(query.schema[n], "time_zone", None) is None]
        if not indices:
            return None
        index = random.choice(indices)
        base = query.schema[index].base_type()
        durations = _DURATIONS[base]
        # Windows of all of a dtype's range would be very many.
        near = (
            pl.col(index).is_between(-60, 60) if base.is_integer() else pl.col(index).dt.year().is_between(1969, 2001)
        )
        keys = [n for n in query.names(pl.Int8, pl.Boolean, pl.Int64, pl.Float64) if n != index]
        key = random.choice(keys) if keys and random.random() < 0.4 else None
        aggregates, inexact = self.aggregates(query)
        lf = query.lf.filter(near).sort(index, maintain_order=True)
        options: dict[str, Any] = {"period": random.choice(durations), "closed": random.choice(CLOSED), "group_by": key}
        if random.random() < 0.3:
            options["offset"] = random.choice(["-", ""]) + random.choice(durations)
        if random.random() < 0.5:
            found = lf.rolling(index, **options).agg(aggregates)
        else:
            options |= {
                "every": random.choice(durations), "label": random.choice(LABELS),
                "include_boundaries": random.random() < 0.3, "start_by": random.choice(["window", "datapoint"]),
            }  # fmt: skip
            found = lf.group_by_dynamic(index, **options).agg(aggregates)
        # Polars takes the index of all groups for sorted, and is wrong in what it computes of it next.
        step = f"windows({index}, {options}).agg({aggregates})"
        return query.then(step, found, inexact=inexact, last=key is not None)
