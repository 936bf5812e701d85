"""Tests integer literals and constants in kernels: they fit into 64 bits or raise an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cuprous import cuda

HUGE = 10**30
LIMITS = (-(2**63), 2**63 - 1, 2**64 - 1)


def run(function: Callable[..., Any], dtype: str) -> int:
    out = np.zeros(1, dtype)
    cuda.jit(function)[1, 1](out)
    return int(out[0])


def test_literals_that_fit() -> None:
    def lowest(a):
        a[0] = -(2**63)

    def lowest_literal(a):
        a[0] = -9223372036854775808

    def unsigned(a):
        a[0] = 10**19

    def greatest(a):
        a[0] = 2**64 - 1

    def shifted(a):
        a[0] = (1 << 63) >> 3

    def rounded(a):
        a[0] = -7 // 2 * 10 + -7 % 3 + (5 ^ 3) + ~4

    def signs(a):
        a[0] = 7 // -2 * 1000 + -7 // -2 * 100 + 7 % -2 * 10 + -7 % -2 + 6 // -2 * 7

    def known(a):
        a[0] = LIMITS[0] + 1

    assert run(lowest, "int64") == run(lowest_literal, "int64") == -(2**63)
    assert run(unsigned, "uint64") == 10**19
    assert run(greatest, "uint64") == 2**64 - 1
    assert run(shifted, "int64") == 2**60
    assert run(rounded, "int64") == -7 // 2 * 10 + -7 % 3 + (5 ^ 3) + ~4
    assert run(signs, "int64") == 7 // -2 * 1000 + -7 // -2 * 100 + 7 % -2 * 10 + -7 % -2 + 6 // -2 * 7
    assert run(known, "int64") == 1 - 2**63


def test_literals_too_large_raise() -> None:
    def power(a):
        a[0] = 2**200

    def above(a):
        a[0] = 2**64

    def below(a):
        a[0] = -(2**63) - 1

    def literal(a):
        a[0] = 18446744073709551616

    def operand(a):
        a[0] = a[0] + 2**70

    def product(a):
        a[0] = (2**63 - 1) * 3

    def outside(a):
        a[0] = HUGE

    for function in (power, above, below, literal, operand, product, outside):
        with pytest.raises(cuda.errors.KernelError, match=r"an integer of (\d+ bits|more than 64 bits)"):
            run(function, "int64")


def test_deeply_nested_tuples() -> None:
    deep: Any = 1
    for _ in range(10_000):
        deep = (deep,)

    def captured(a):
        a[0] = deep[0][0] is None

    def passed(a, t):
        a[0] = 1

    with pytest.raises(RecursionError, match="nested too deeply"):
        run(captured, "int64")
    with pytest.raises(TypeError, match="nested more than"):
        cuda.jit(passed)[1, 1](np.zeros(1), deep)
    while isinstance(deep, tuple):
        deep = deep[0]
