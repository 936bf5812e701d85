"""Random frames: every supported dtype, nulls, NaN, signed zeros, several chunks."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import polars as pl

SIZES = (0, 1, 2, 5, 33, 300, 1000)
NULLS = (0.0, 0.0, 0.05, 0.7, 1.0)
WORDS = ["", "a", "b", "ab", "B", "zebra", "été", "x y", "abc", "Abc"]
LEVELS = ["low", "mid", "high"]
DTYPES: list[Any] = [
    pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64,
    pl.Boolean, pl.Date, pl.Datetime("us"), pl.Datetime("ms"), pl.Duration("ms"), pl.Time, pl.String, pl.Categorical,
    pl.Enum(LEVELS), pl.Decimal(12, 2), pl.Decimal(18, 4), pl.Datetime("us", "Europe/Berlin"),
]  # fmt: skip
#: Dtypes that are chosen more often than others.
COMMON: list[Any] = [pl.Int64, pl.Float64, pl.String, pl.Int32, pl.Boolean, pl.Date]


def value(random: Random, dtype: Any, wide: bool) -> Any:
    """A value of a dtype; `wide` takes all of its range."""
    base = dtype.base_type()
    if base.is_integer():
        low, high = base.min(), base.max()
        least, most = pl.select(low).item(), pl.select(high).item()
        if wide and random.random() < 0.5:
            return random.choice([least, most, random.randint(least, most)])
        return random.randint(max(least, -5), min(most, 12))
    if base.is_float():
        if random.random() < 0.2:
            return random.choice([math.nan, 0.0, -0.0, math.inf, -math.inf] if wide else [math.nan, 0.0, -0.0])
        return random.choice([float(random.randint(-5, 5)), random.randint(-4000, 4000) / 64])
    if base == pl.Decimal:
        most = 10**dtype.precision - 1 if wide else 400
        return Decimal(random.choice([random.randint(-most, most), random.randint(-9, 9)])).scaleb(-dtype.scale)
    if base == pl.Boolean:
        return random.random() < 0.5
    if base == pl.Date:
        return date(1970, 1, 1) + timedelta(days=random.randint(-40000, 40000) if wide else random.randint(0, 20))
    if base == pl.Datetime:
        return datetime(2000, 2, 28) + timedelta(
            milliseconds=random.randint(-(10**12), 10**12) if wide else random.randint(0, 9) * 7_200_000
        )
    if base == pl.Duration:
        return timedelta(milliseconds=random.randint(-(10**9), 10**9) if wide else random.randint(-3, 3))
    if base == pl.Time:
        return time(random.randint(0, 23), random.randint(0, 3))
    return random.choice(LEVELS if base == pl.Enum else WORDS)


def series(random: Random, name: str, dtype: Any, height: int) -> pl.Series:
    """A column of random values."""
    nulls, wide = random.choice(NULLS), random.random() < 0.3
    values = [None if random.random() < nulls else value(random, dtype, wide) for _ in range(height)]
    return pl.Series(name, values, dtype=dtype)


def frame(random: Random, prefix: str = "") -> pl.DataFrame:
    """A frame of a few columns: in one chunk, several, or a slice of another."""
    height = random.choice(SIZES)
    cut = random.random()
    extra = 3 if cut < 0.2 else 0
    dtypes = [random.choice(COMMON if random.random() < 0.6 else DTYPES) for _ in range(random.randint(2, 6))]
    found = pl.DataFrame([series(random, f"{prefix}c{i}", dtype, height + extra) for i, dtype in enumerate(dtypes)])
    if extra:
        return found.slice(2, height)
    if cut < 0.5 and height > 1:
        at = random.randint(0, height)
        return pl.concat([found.slice(0, at), found.slice(at)], rechunk=False)
    return found
