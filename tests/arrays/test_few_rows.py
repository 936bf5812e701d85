"""Products of a few rows or columns with a matrix, which a GPU computes by kernels of its own, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.conftest import DEVICE

#: Of results of about 1.
TOLERANCES = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-13}
#: Rows, columns and terms: more multiplications than an ordinary kernel computes.
SIZES = [
    (1, 512, 512), (3, 130, 999), (5, 300, 64), (600, 1, 512), (9001, 2, 16),
    *(pytest.param(size, marks=pytest.mark.slow) for size in (
        (1, 700, 131), (2, 300, 300), (4, 9000, 8), (1, 33, 4000), (257, 3, 301), (20, 4, 5000))),
]  # fmt: skip


def drawn(rng: Any, dtype: str, *shape: int) -> Any:
    return (rng.standard_normal(shape) / shape[-1] ** 0.5).astype(dtype)


def check(result: Any, expected: Any, dtype: str) -> None:
    assert result.dtype == dtype
    close = {"rtol": TOLERANCES[dtype], "atol": TOLERANCES[dtype]}
    np.testing.assert_allclose(cp.asnumpy(result).astype("float64"), expected, **close)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_products(dtype: str, size: tuple[int, int, int]) -> None:
    m, n, k = size
    rng = np.random.default_rng(m + n)
    a, b = drawn(rng, dtype, m, k), drawn(rng, dtype, n, k)
    expected = a.astype("float64") @ b.astype("float64").T
    x, y = cp.asarray(a), cp.asarray(b)
    check(x @ y.T, expected, dtype)
    check(x @ cp.ascontiguousarray(y.T), expected, dtype)
    # Rows whose terms are apart, and views that begin and end within larger arrays.
    check(cp.asarray(np.repeat(a, 2, 1))[:, ::2] @ y.T, expected, dtype)
    inside = cp.asarray(np.pad(b, ((1, 2), (3, 5))))[1:-2, 3:-5]
    check(x @ inside.T, expected, dtype)
    check(x[:, ::-1] @ y[:, ::-1].T, expected, dtype)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_is_added(dtype: str, size: tuple[int, int, int]) -> None:
    m, n, k = size
    rng = np.random.default_rng(k)
    a, b = drawn(rng, dtype, m, k), drawn(rng, dtype, n, k)
    bias, addend = (drawn(rng, dtype, *shape) for shape in ((n,), (m, n)))
    product = a.astype("float64") @ b.astype("float64").T
    x, y, z, c = (cp.asarray(v) for v in (a, b, addend, bias))
    check(x @ y.T + c, product + bias, dtype)
    check(2 * (x @ y.T) - z, 2 * product - addend.astype("float64"), dtype)
    z += x @ y.T
    check(z, addend.astype("float64") + product, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrix_and_vector(dtype: str) -> None:
    rng = np.random.default_rng(0)
    matrix, vector = drawn(rng, dtype, 400, 300), drawn(rng, dtype, 300)
    expected = matrix.astype("float64") @ vector.astype("float64")
    check(cp.asarray(matrix) @ cp.asarray(vector), expected, dtype)
    check(cp.asarray(vector) @ cp.asarray(matrix).T, expected, dtype)
    check(cp.asarray(matrix)[None] @ cp.asarray(vector)[:, None], expected[None, :, None], dtype)


def test_special_values() -> None:
    matrix = np.ones((300, 300), "float32")
    matrix[3, 5], matrix[7, 9], matrix[8, 9] = np.inf, np.nan, -np.inf
    vector = np.ones(300, "float32")
    vector[9] = 0
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(cp.asnumpy(cp.asarray(matrix) @ cp.asarray(vector)), matrix @ vector)


@pytest.mark.parametrize(
    ("left", "right"),
    [((1, 300), (300, 64)), ((300,), (300, 64)), ((64, 300), (300,)), ((10,), (5, 10, 5)), ((64, 700), (700, 48))],
)
def test_sums_of_half_precision_are_rounded_once(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype("float16") for shape in (left, right))
    exact = np.matmul(a.astype("float64"), b.astype("float64"))
    # A GPU's library may add up parts, which can be larger than the sum, in half precision, as PyTorch's may.
    in_parts = len(left) == 2 and left[0] > 4 and DEVICE.startswith("cuda")
    size = np.matmul(np.abs(a.astype("float64")), np.abs(b.astype("float64"))) if in_parts else np.abs(exact)
    unit = np.spacing(size.astype("float16")).astype("float64")
    error = np.abs(cp.asnumpy(cp.matmul(cp.asarray(a), cp.asarray(b))) - exact)
    assert (error <= 0.6 * unit + 1e-4).all()
