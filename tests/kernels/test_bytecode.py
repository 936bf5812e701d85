"""Tests kernels without source, such as those made by `exec`: rebuilt from bytecode exactly, or rejected."""

from __future__ import annotations

import math
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuprous import cuda
from cuprous.cuda import _bytecode

GRID = "def f(out, a):\n    i = cuda.grid(1)\n"

#: Programs that can be rebuilt from the bytecode of every supported Python.
PLAIN = [
    GRID + "    out[i] = a[i] * 2 + 1\n",
    GRID + "    if i < a.size:\n        out[i] += a[i]\n",
    GRID + "    if i < 3 and a[i] > 0:\n        out[i] = -a[i]\n    else:\n        out[i] = 7\n",
    GRID + "    x, y = a[i], a[-1]\n    x, y = y, x\n    out[i] = x // y if y else x\n",
    GRID + "    s = 0\n    for k in range(2, 9, 3):\n        s += a[k % 4] * k\n    out[i] = s\n",
    GRID + "    s = 1.5\n    while s < 20:\n        s *= 2\n    out[i] = s\n",
    GRID + "    m, w = math.modf(a[i] / 3)\n    out[i] = round(max(m, w), ndigits=2)\n",
    "import math\n" + GRID + "    out[i] = math.sqrt(a[i])\n    if i == 2:\n        out[i] = math.exp(-a[i])\n",
    "def f(out, a):\n    for k in range(a.size):\n        if a[k] > 1:\n            out[k] = a[k]\n",
]


#: Programs that cannot be rebuilt.
REFUSED = [
    "def f(out, a):\n    out[0] = sum([x for x in a])\n",
    "def f(out, a):\n    try:\n        out[0] = a[0]\n    except ValueError:\n        pass\n",
    "def f(out, a):\n    global kept\n    kept = a[0]\n",
]


def made(text: str, **names: Any) -> FunctionType:
    space: dict[str, Any] = {"cuda": cuda, "math": math, **names}
    exec(text, space)
    function = space["f"]
    assert isinstance(function, FunctionType)
    return function


@pytest.mark.parametrize("text", PLAIN)
def test_kernels_made_by_exec(text: str) -> None:
    data = np.array([1.0, 5.0, 2.0, 3.0])
    out, expected = np.zeros(4), np.zeros(4)
    cuda.jit(made(text))[1, 4](out, data)
    for i in range(4 if "grid" in text else 1):
        made(text, cuda=SimpleNamespace(grid=lambda n, i=i: i))(expected, data)
    np.testing.assert_allclose(out, expected)


@pytest.mark.parametrize("text", REFUSED)
def test_unsupported_bytecode_is_rejected(text: str) -> None:
    assert _bytecode.source(made(text).__code__) is None
    with pytest.raises(cuda.errors.UnsupportedError, match=r"(?s)source of 'f' is not available.*hint: write"):
        cuda.jit(made(text))[1, 1](np.zeros(4), np.zeros(4))


def test_closure_variables_and_source_location_in_messages() -> None:
    space: dict[str, Any] = {"cuda": cuda}
    text = "def around(n):\n    def f(a):\n        a[cuda.grid(1)] = n + 1\n    return f\n"
    exec(text, space)
    out = np.zeros(2)
    cuda.jit(space["around"](41))[1, 2](out)
    np.testing.assert_array_equal(out, [42, 42])
    with pytest.raises(cuda.errors.UnsupportedError, match=r"(?s)list is not.*rebuilt from its bytecode.*line 2"):
        cuda.jit(made("def f(a):\n    b = list(a)\n"))[1, 1](out)


def test_rebuilt_programs_are_never_confused() -> None:
    facts = _bytecode.facts
    assert facts(made("def f(a):\n    a[0] = 1\n").__code__) != facts(made("def f(a):\n    a[0] = 1.0\n").__code__)
    assert facts(made("def f(a):\n    a[0] = 0.0\n").__code__) != facts(made("def f(a):\n    a[0] = -0.0\n").__code__)
    assert facts(made("def f(a):\n    a.x = 1\n").__code__) != facts(made("def f(a):\n    a.y = 1\n").__code__)
    assert facts(made("def f(a, *, b):\n    a.x = b\n").__code__) != facts(made("def f(a, b):\n    a.x = b\n").__code__)
