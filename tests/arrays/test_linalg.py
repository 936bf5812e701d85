"""Tests products and norms of `cuprous.linalg`, and `numpy.linalg` called with our arrays."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cuprous as cp
from tests.support import SOME_DTYPES, alike, assert_errors, assert_same, check, sample

VECTOR_ORDERS = [None, 0, 1, 2, 3, -1, -2, 0.5, math.inf, -math.inf, "fro", "nuc"]
MATRIX_ORDERS = [None, "fro", 1, -1, 2, -2, "nuc", math.inf, -math.inf, 0, 3, "nonsense"]
SHAPES = [(4,), (3, 3), (2, 3), (2, 3, 3), (0,), (0, 3), (3, 0), (2, 0, 0), ()]

CALLS: dict[str, Any] = {
    "matmul": lambda xp, x: xp.linalg.matmul(x, x),
    "outer": lambda xp, x: xp.linalg.outer(x, x),
    "cross": lambda xp, x: xp.linalg.cross(x, x[::-1]),
    "cross axis": lambda xp, x: xp.linalg.cross(x, x * 2 - 1 if x.dtype.kind != "b" else x, axis=-2),
    "tensordot": lambda xp, x: xp.linalg.tensordot(x, x, axes=1),
    "vecdot": lambda xp, x: xp.linalg.vecdot(x, x),
    "vecdot axis": lambda xp, x: xp.linalg.vecdot(x, x, axis=0),
    "diagonal": lambda xp, x: xp.linalg.diagonal(x),
    "diagonal offset": lambda xp, x: xp.linalg.diagonal(x, offset=-1),
    "trace": lambda xp, x: xp.linalg.trace(x),
    "trace offset": lambda xp, x: xp.linalg.trace(x, offset=1),
    "trace dtype": lambda xp, x: xp.linalg.trace(x, dtype=xp.complex128),
    "matrix_transpose": lambda xp, x: xp.linalg.matrix_transpose(x),
    "power 0": lambda xp, x: xp.linalg.matrix_power(x, 0),
    "power 1": lambda xp, x: xp.linalg.matrix_power(x, 1),
    "power 2": lambda xp, x: xp.linalg.matrix_power(x, 2),
    "power 5": lambda xp, x: xp.linalg.matrix_power(x, 5),
    "power of a fraction": lambda xp, x: xp.linalg.matrix_power(x, 2.5),
    "multi_dot": lambda xp, x: xp.linalg.multi_dot([x, x.T, x]),
    "multi_dot one": lambda xp, x: xp.linalg.multi_dot([x]),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, shape: tuple[int, ...]) -> None:
    for dtype in SOME_DTYPES:
        if dtype == "bool" and name == "cross":
            continue  # NumPy has no boolean subtract
        check(CALLS[name], sample(dtype, shape, 3, -2, 3), rtol=1e-5)


@pytest.mark.parametrize("ord", VECTOR_ORDERS, ids=str)
def test_vector_norms(ord: Any) -> None:
    for dtype in ("float32", "float64", "int32", "complex64"):
        for shape in SHAPES:
            a = sample(dtype, shape, 5, 1, 7)  # no zeros, whose negative powers are infinite
            for axis in (None, 0, -1, (0, 1), ()):
                for keepdims in (False, True):
                    check(
                        lambda xp, x, axis=axis, keepdims=keepdims: xp.linalg.vector_norm(
                            x, axis=axis, keepdims=keepdims, ord=2 if ord is None else ord
                        ),
                        a,
                        rtol=1e-5,
                    )
            check(lambda xp, x: xp.linalg.norm(x, ord, -1), a, rtol=1e-5)


@pytest.mark.parametrize("ord", MATRIX_ORDERS, ids=str)
def test_matrix_norms(ord: Any) -> None:
    for dtype in ("float32", "float64", "int32", "complex64"):
        for shape in SHAPES:
            a = sample(dtype, shape, 5)
            for keepdims in (False, True):
                if ord is not None:
                    check(lambda xp, x, k=keepdims: xp.linalg.matrix_norm(x, keepdims=k, ord=ord), a, rtol=1e-5)
                check(lambda xp, x, k=keepdims: xp.linalg.norm(x, ord, (-1, -2), k), a, rtol=1e-5)
                check(lambda xp, x, k=keepdims: xp.linalg.norm(x, ord, keepdims=k), a, rtol=1e-5)


def test_norms_see_nan_and_infinity() -> None:
    for values in ([1.0, np.nan, 2.0], [1.0, -np.inf, 2.0], [-0.0, 0.0]):
        for ord in (1, 2, 3, math.inf, -math.inf, 0):
            check(lambda xp, x, o=ord: xp.linalg.vector_norm(x, ord=o), np.asarray(values))


def test_errors_are_numpys() -> None:
    assert_errors(
        (lambda: cp.linalg.matrix_power(cp.ones((2, 3)), 2), np.linalg.LinAlgError, ""),
        (lambda: cp.linalg.multi_dot([cp.ones((2, 2)), cp.ones(2), cp.ones((2, 2))]), cp.linalg.LinAlgError, ""),
        (lambda: cp.linalg.matrix_power(cp.ones((2, 2)), -1), np.linalg.LinAlgError, "Singular matrix"),
    )


@settings(max_examples=40)
@given(st.lists(st.integers(0, 6), min_size=3, max_size=7), st.booleans(), st.booleans())
def test_chains(extents: list[int], row: bool, column: bool) -> None:
    chain = [sample("float64", (m, n), i) for i, (m, n) in enumerate(pairwise(extents))]
    if row:
        chain[0] = sample("float64", (extents[1],), 8)
    if column:
        chain[-1] = sample("float64", (extents[-2],), 9)
    alike(lambda xp: xp.linalg.multi_dot([xp.asarray(a) for a in chain]), rtol=1e-9, atol=1e-9)


def test_numpys_functions_dispatch() -> None:
    a = sample("float64", (3, 3))
    x: Any = cp.asarray(a)
    assert isinstance(np.linalg.matrix_power(x, 3), cp.ndarray)
    assert_same(np.linalg.vector_norm(x, axis=0), np.linalg.vector_norm(a, axis=0))
    assert_same(np.linalg.trace(x), np.linalg.trace(a))
