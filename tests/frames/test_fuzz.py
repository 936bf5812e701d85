"""A part of the random queries; `python -m tests.frames.fuzz` runs as many as one likes."""

from __future__ import annotations

import pytest

import cuprous.frames
from tests.frames.fuzz import check


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_random_queries_give_the_values_of_polars(first: int) -> None:
    engine = cuprous.frames.Engine(take="all")
    kinds = [check(seed, engine)[0] for seed in range(first, first + 20)]
    assert kinds.count("whole") >= 15


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 500, 50))
def test_more_random_queries(first: int) -> None:
    engine = cuprous.frames.Engine(take="all")
    for seed in range(first, first + 50):
        check(seed, engine)
