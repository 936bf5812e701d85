"""Tests `cuda.reduce`: reductions of arrays by a function of two values."""

from __future__ import annotations

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda


@cuda.reduce
def total(a, b):
    return a + b


@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 1000, 70000])
def test_sums(count: int) -> None:
    a = np.arange(count, dtype=np.float64)
    assert total(a) == a.sum()
    assert total(a, init=5.0) == a.sum() + 5


def test_sizes_results_and_other_functions() -> None:
    largest = cuda.Reduce(lambda a, b: a if a > b else b)
    a = cp.asarray(np.random.default_rng(0).integers(-1000, 1000, 5000))
    assert largest(a, init=-5000) == int(a.max())
    assert total(a, size=10) == int(a[:10].sum())
    out = cp.zeros(1, a.dtype)
    assert total(a, res=out) is None
    assert int(out[0]) == int(a.sum())
    assert total(np.zeros(0), init=3) == 3
    with pytest.raises(TypeError, match="1D"):
        total(np.zeros((2, 2)))
