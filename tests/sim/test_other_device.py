"""Functions of arrays on a device that is not the default one: on the CPU, where a GPU is the default."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import special

UFUNCS = {name: f for name in dir(special) if isinstance(f := getattr(special, name), cp.ufunc)}
OTHERS = {name: f for name in ("polygamma", "jn", "softmax", "log_softmax", "logsumexp", "multigammaln", "sph_harm_y")
          if inspect.isfunction(f := getattr(special, name, None)) or callable(f)}  # fmt: skip


@pytest.mark.parametrize("name", UFUNCS)
def test_special_functions(name: str) -> None:
    rows = np.array([[0.3, 0.6, 0.9], [0.5, 0.7, 0.2], [0.4, 0.1, 0.8], [0.2, 0.3, 0.6]])[: UFUNCS[name].nin]
    results = UFUNCS[name](*(cp.asarray(row, device="cpu") for row in rows))
    for result in results if isinstance(results, tuple) else (results,):
        assert result.device == "cpu"
        result.get()


@pytest.mark.parametrize("name", OTHERS)
def test_other_special_functions(name: str) -> None:
    x = cp.asarray([0.25, 0.5], device="cpu")
    first = {"polygamma": [1], "jn": [2], "multigammaln": [], "sph_harm_y": [2, 1]}.get(name, [])
    last = {"multigammaln": [1], "sph_harm_y": [0.5]}.get(name, [])
    result = OTHERS[name](*first, x + 1 if name == "multigammaln" else x, *last)
    assert result.device == "cpu"
    result.get()
