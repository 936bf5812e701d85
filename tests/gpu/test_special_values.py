"""Elementwise functions of a GPU have the CPU's values for infinities, NaN, zeros of both signs, and tiny numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.conftest import DEVICE

VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e-6, -1e-6]
NAMES = {
    **{name: getattr(cp, name) for name in dir(cp)},
    **{f"special.{name}": getattr(cp.scipy.special, name) for name in dir(cp.scipy.special)},
}
UFUNCS = {
    name: f for name, f in NAMES.items() if isinstance(f, (cp.ufunc, cp.scipy.special.SpecialFunction)) and f.nin <= 3
}
#: Functions in parts, each of which is a few kernels.
PARTS = [
    names[k : k + 12]
    for names in ([name for name, f in UFUNCS.items() if f.nin == count] for count in (1, 2, 3))
    for k in range(0, len(names), 12)
]
#: Relative differences of float32 and float64.
TOLERANCES = {"float32": 2e-5, "float64": 1e-10}
#: Inverses by iteration, which amplify the last bits of the functions that they invert: where both parameters are 1e-6,
#: the last bit of the probability 1/2 is 1e-10 of the quantile.
LOOSER = {f"special.{name}": 1e-8 for name in ("chdtri", "betaincinv", "betainccinv", "btdtri", "fdtri")}


def results(names: Sequence[str], rows: Any, device: str) -> dict[str, Any]:
    """Returns what functions compute, or the class of their error."""
    found: dict[str, Any] = {}
    operands = [cp.asarray(row, device=device) for row in rows]
    for name in names:
        try:
            found[name] = UFUNCS[name](*operands)
        except (TypeError, ValueError, NotImplementedError) as error:
            found[name] = type(error)
    return found


def values(result: Any) -> list[Any]:
    return [part.get() for part in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("names", PARTS, ids=lambda names: names[0])
def test_as_on_the_cpu(names: Sequence[str], dtype: str) -> None:
    count = UFUNCS[names[0]].nin
    rows = np.array(list(itertools.product(VALUES if count < 3 else VALUES[::2], repeat=count)), dtype).T
    on_cpu, on_gpu = (results(names, rows, device) for device in ("cpu", DEVICE.partition(":")[0]))
    wrong = []
    for name in names:
        if isinstance(on_cpu[name], type):
            assert on_gpu[name] is on_cpu[name], name
            continue
        for a, b in zip(values(on_cpu[name]), values(on_gpu[name]), strict=True):
            tolerance = max(TOLERANCES[dtype], LOOSER.get(name, 0))
            is_same = np.isclose(b, a, tolerance, 1e-30, equal_nan=True)
            if a.dtype.kind == "f":
                is_same &= (a != 0) | (np.signbit(a) == np.signbit(b))
            wrong += [f"{name} {row}: {x} on the CPU, {y}" for row, x, y in zip(rows.T[~is_same], a[~is_same],
                                                                               b[~is_same], strict=True)]  # fmt: skip
    assert not wrong, "\n".join(wrong)
