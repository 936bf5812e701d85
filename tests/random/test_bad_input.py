"""Tests invalid sizes and parameters for every method of both generators. NumPy is the oracle."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import outcome

#: Valid arguments; a new distribution needs a row.
COMMON: dict[str, tuple[Any, ...]] = {
    "beta": (1.5, 2.5), "binomial": (5, 0.3), "chisquare": (3,), "dirichlet": ([1.0, 2, 3],), "exponential": (2.0,),
    "f": (2, 3), "gamma": (2.0,), "geometric": (0.3,), "gumbel": (0, 1), "hypergeometric": (5, 6, 4),
    "laplace": (0, 1), "logistic": (0, 1), "lognormal": (0, 1), "logseries": (0.5,),
    "multinomial": (5, [0.2, 0.3, 0.5]),
    "multivariate_normal": ([0, 0], [[1, 0], [0, 1]]), "negative_binomial": (4, 0.5), "noncentral_chisquare": (3, 1.0),
    "noncentral_f": (3, 4, 1.0), "normal": (0, 1), "pareto": (3,), "poisson": (3,), "power": (2,), "rayleigh": (1,),
    "standard_cauchy": (), "standard_exponential": (), "standard_gamma": (2,), "standard_normal": (),
    "standard_t": (3,),
    "triangular": (0, 1, 2), "uniform": (0, 1), "vonmises": (0, 1), "wald": (1, 1), "weibull": (2,), "zipf": (2.5,),
    "random": (), "choice": (5,),
}  # fmt: skip
NEW = {**COMMON, "integers": (0, 10), "multivariate_hypergeometric": ([3, 4, 5], 4)}
LEGACY = {**COMMON, "randint": (0, 10), "random_integers": (1, 5), "random_sample": ()}
#: Methods without a size.
ELSEWHERE = {"permutation", "permuted", "shuffle", "bytes", "spawn", "rand", "randn", "seed", "get_state", "set_state",
             "bit_generator", "tomaxint", "ranf", "sample"}  # fmt: skip
CASES = [(cp.random.default_rng, np.random.default_rng, name, NEW[name]) for name in NEW]
CASES += [(cp.random.RandomState, np.random.RandomState, name, LEGACY[name]) for name in LEGACY]

SIZES: list[Any] = [None, (), 0, 3, (2, 0), (2, 3), -1, (2, -1), 2.5, "x", [2, 3], np.int64(3), (2.5,)]
VALUES: list[Any] = [-1, np.nan, "x", None, 1j, np.inf, 1.5]
#: Cases in which NumPy's result is an accident: (method, position of the parameter, value).
ODD = {("noncentral_chisquare", 1, "nan"), ("noncentral_f", 2, "nan"), ("negative_binomial", 0, "nan")}


def test_every_method_has_a_row() -> None:
    for cls, rows in ((cp.random.Generator, NEW), (cp.random.RandomState, LEGACY)):
        public = {name for name in dir(cls) if name[0] != "_"}
        assert public - {*rows, *ELSEWHERE} <= {"multivariate_hypergeometric"}  # which only our legacy generator has
        assert {*rows} <= public


def _check(theirs: Callable[[], Any], ours: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, actual = outcome(theirs), outcome(lambda: np.asarray(ours().get()))
    if isinstance(expected, Exception):
        # NumPy raises TypeError or ValueError for a wrong object, depending on the function.
        assert isinstance(expected, (TypeError, ValueError, OverflowError))
        assert isinstance(actual, (TypeError, ValueError, OverflowError)), f"{expected!r}, ours {actual!r}"
        return
    assert not isinstance(actual, Exception), f"NumPy gives {expected!r}, ours {actual!r}"
    assert actual.shape == np.shape(expected)
    assert actual.dtype == np.asarray(expected).dtype


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[2]}")
def test_sizes(case: tuple[Any, ...]) -> None:
    mine, numpys, name, arguments = case
    for size in SIZES:
        _check(
            lambda size=size: getattr(numpys(0), name)(*arguments, size=size),
            lambda size=size: getattr(mine(0), name)(*arguments, size=size),
        )


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[2]}")
def test_parameters(case: tuple[Any, ...]) -> None:
    mine, numpys, name, arguments = case
    for place in range(len(arguments)):
        for value in VALUES:
            endless = numpys is np.random.RandomState and value == np.inf  # for some, NumPy never returns
            if not endless and (name, place, str(value)) not in ODD:
                bad = (*arguments[:place], value, *arguments[place + 1 :])
                _check(lambda bad=bad: getattr(numpys(0), name)(*bad), lambda bad=bad: getattr(mine(0), name)(*bad))
    _check(lambda: getattr(numpys(0), name)(*arguments, bogus=1), lambda: getattr(mine(0), name)(*arguments, bogus=1))
