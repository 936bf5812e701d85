"""Functions of arrays on a device that is not the default one: on the CPU, where a GPU is the default."""

from __future__ import annotations

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import special

UFUNCS = {name: f for name in dir(special) if isinstance(f := getattr(special, name), special.SpecialFunction)}
assert len(UFUNCS) > 50
#: Functions that are no ufuncs: what stands before and after the array.
OTHERS: dict[str, tuple[list[int], list[float]]] = {
    "polygamma": ([1], []), "jn": ([2], []), "softmax": ([], []), "log_softmax": ([], []), "logsumexp": ([], []),
    "multigammaln": ([], [1]),
}  # fmt: skip


@pytest.mark.parametrize("name", UFUNCS)
def test_special_functions(name: str) -> None:
    rows = np.array([[0.3, 0.6, 0.9], [0.5, 0.7, 0.2], [0.4, 0.1, 0.8], [0.2, 0.3, 0.6]])[: UFUNCS[name].nin]
    results = UFUNCS[name](*(cp.asarray(row, device="cpu") for row in rows))
    for result in results if isinstance(results, tuple) else (results,):
        assert result.device == "cpu"
        result.get()


@pytest.mark.parametrize("name", OTHERS)
def test_other_special_functions(name: str) -> None:
    first, last = OTHERS[name]
    result = getattr(special, name)(*first, cp.asarray([1.25, 1.5], device="cpu"), *last)
    assert result.device == "cpu"
    result.get()
