"""Tests `vectorize` and `guvectorize` against NumPy, with Numba's rules for signatures and outputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda
from cuprous.cuda import float32, float64, int32
from tests.support import assert_errors

SIGNATURES = [int32(int32, int32), float32(float32, float32), "float64(float64, float64)"]


@cuda.vectorize(SIGNATURES, target="cuda")
def add(a, b):
    """A sum."""
    return a + b


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (0,), (3, 4), (2, 1, 5)])
def test_elements_keep_their_dtype(dtype: str, shape: tuple[int, ...]) -> None:
    a = np.asarray(np.random.default_rng(0).integers(0, 100, shape), dtype)
    for x, y in ((a, a), (a.T, a.T), (a, a.flat[0] if a.size else a)):
        result = add(x, y)
        assert isinstance(result, (np.ndarray, np.generic))
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, x + y)
        on_device = add(cp.asarray(x), cp.asarray(y))
        assert isinstance(on_device, cp.ndarray)
        np.testing.assert_array_equal(on_device.get(), x + y)


def test_numbers_tuples_broadcasting_and_out() -> None:
    assert add(1.25, 2.5) == 3.75
    np.testing.assert_array_equal(add((1.0, 2.0), (3.0, 4.0)), [4, 6])
    np.testing.assert_array_equal(add(1, np.arange(3, dtype=np.float32)), np.arange(1, 4, dtype=np.float32))
    a = np.random.default_rng(1).random((10, 3, 1))
    np.testing.assert_array_equal(add(a, a.transpose(2, 1, 0)), a + a.transpose(2, 1, 0))
    for out in (np.empty(5, np.float32), cp.empty(5, cp.float32), cp.zeros((5, 2), cp.float32)[:, 0]):
        assert add(np.ones(5, np.float32), cp.arange(5, dtype=cp.float32), out=out) is out
        np.testing.assert_array_equal(cp.asnumpy(out), np.arange(1, 6))
    d = cp.arange(10, dtype=cp.int32).reshape(2, 5)
    add(d, d, out=d, stream=cuda.stream())
    np.testing.assert_array_equal(d.get(), 2 * np.arange(10).reshape(2, 5))
    assert add.__name__ == "add"
    assert add.__doc__ == "A sum."


@pytest.mark.parametrize("n", [1, 2, 100, 1025])
def test_reduce(n: int) -> None:
    result = add.reduce(np.arange(n, dtype=np.int32))
    assert result == n * (n - 1) // 2
    assert result.dtype == np.int32
    with pytest.raises(TypeError, match="empty"):
        add.reduce(np.zeros(0))


def test_types_are_inferred_without_a_signature() -> None:
    @cuda.vectorize
    def sinc(x):
        return 1.0 if x == 0 else math.sin(x) / x

    x = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(sinc(x), np.sinc(x / np.pi), rtol=1e-14)

    @cuda.vectorize
    def both(x, y):
        return x * y, x > y

    product, larger = both(np.arange(4), 1.5)
    np.testing.assert_array_equal(product, np.arange(4) * 1.5)
    np.testing.assert_array_equal(larger, np.arange(4) > 1.5)


def test_errors_of_vectorize() -> None:
    with pytest.warns(RuntimeWarning, match="redundant"):
        cuda.vectorize(SIGNATURES, nopython=True)
    assert_errors(
        (lambda: cuda.vectorize(SIGNATURES, identity=0), NotImplementedError, "identity"),
        (lambda: cuda.vectorize(SIGNATURES, target="tpu"), ValueError, "tpu"),
        (lambda: add(np.ones(2), np.ones(3)), ValueError, "broadcast"),
        (lambda: add(1), TypeError, "takes 2 arguments"),
        (lambda: cuda.vectorize(SIGNATURES, nonexistent=2), KeyError, "Unrecognized options"),
        (lambda: add(np.ones(2, complex), 1), TypeError, r"No matching version.*complex128.*astype"),
    )  # fmt: skip


def test_cupys_vectorize() -> None:
    larger = cp.vectorize(lambda a, b: a if a > b else b)
    result = larger(cp.arange(5), 2.5)
    assert isinstance(result, cp.ndarray)
    np.testing.assert_array_equal(result.get(), [2.5, 2.5, 2.5, 3, 4])
    assert cp.vectorize(lambda a: a * 2, otypes="f")(np.arange(3)).dtype == np.float32
    assert cp.vectorize(["float32(float32)"], target="cuda")(lambda a: a + 1)(np.float32(1)) == 2
    scaled = cp.vectorize(lambda x, factors: x * sum(factors), excluded={1})
    np.testing.assert_array_equal(scaled(cp.arange(3), [1, 2]).get(), [0, 3, 6])


# --- generalized ufuncs


@cuda.guvectorize(["void(float32[:,:], float32[:,:], float32[:,:])"], "(m,n),(n,p)->(m,p)", target="cuda")
def product(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            total = float32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


@cp.guvectorize(["void(int32[:], int32[:])", "void(float64[:], float64[:])"], "(n)->()")
def row_sum(row, out):
    total = row[0]
    for k in range(1, row.size):
        total += row[k]
    out[0] = total


def test_products_of_stacks() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random((5, 1, 3, 4), np.float32), rng.random((2, 4, 6), np.float32)
    np.testing.assert_allclose(product(a, b), a @ b, rtol=1e-5)
    result = product(cp.asarray(a), b)
    assert isinstance(result, cp.ndarray)
    assert result.shape == (5, 2, 3, 6)
    with pytest.raises(ValueError, match="axis n of argument 1 is 3 long, before 4"):
        product(a, rng.random((3, 6), np.float32))
    with pytest.raises(ValueError, match="argument 1 has 1 axes"):
        product(a, b[0, 0])


def test_guvectorize_scalars_and_rows() -> None:
    for x in (np.arange(12, dtype=np.int32).reshape(4, 3), np.arange(6.0).reshape(3, 2)[:, ::-1]):
        np.testing.assert_array_equal(row_sum(x), x.sum(1))
        out = np.empty(len(x), x.dtype)
        assert row_sum(x, out) is out
        np.testing.assert_array_equal(out, x.sum(1))
    assert row_sum(np.arange(3, dtype=np.int32)) == 3

    @cuda.guvectorize(["void(float32, float32[:], float32[:], float32[:])"], "(),(t),(t)->(t)")
    def saxpy(a, x, y, out):
        for i in range(out.shape[0]):
            out[i] = a * x[i] + y[i]

    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    np.testing.assert_array_equal(saxpy(np.float32(2), x, x), 3 * x)
    factors = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(saxpy(factors, x, x), factors[:, None] * x + x)

    @cuda.guvectorize(["void(int32[:], int32[:], int32[:])"], "(n),()->(n)")
    def shifted(x, y, out):
        for i in range(x.size):
            out[i] = x[i] + y[0]

    out = np.zeros(4, np.int32)
    shifted(np.arange(4, dtype=np.int32), np.array([2], np.int32), out=out)
    np.testing.assert_array_equal(out, np.arange(2, 6))


def test_types_and_extents_from_the_output() -> None:
    @cuda.guvectorize("(n)->(k)")
    def first(x, out):
        for i in range(out.size):
            out[i] = x[i]

    x, out = np.arange(6.0).reshape(2, 3), cp.zeros((2, 2))
    assert first(x, out) is out
    np.testing.assert_array_equal(out.get(), x[:, :2])
    with pytest.raises(ValueError, match="needs its outputs"):
        first(x)


ONE = ["void(int32[:])"]


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: cuda.guvectorize(["void(int32[:], int32[:])"], "(n)>()")(row_sum), ValueError, "invalid token"),
    (lambda: cuda.guvectorize([int32(int32[:], int32[:])], "(n)->()"), TypeError, "cannot return values"),
    (lambda: cuda.guvectorize(ONE, "(n)->()")(row_sum), TypeError, "has 2 arguments, a list of types 1"),
    (lambda: cuda.guvectorize(ONE, "(n)->()", writable_args=(0,)), NotImplementedError, "writable_args"),
    (lambda: cuda.guvectorize(ONE, "(n)->()", first=1, second=2), TypeError, "not supported: first, second"),
    (lambda: cuda.guvectorize(ONE, "(n)->()", nopython=False), TypeError, "nopython flag must be True"),
    (lambda: row_sum(np.arange(3), np.zeros(()), out=np.zeros(())), ValueError, "both positional and keyword"),
])  # fmt: skip
def test_errors_of_guvectorize(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_missing_argument_of_guvectorize() -> None:
    with pytest.raises(TypeError, match=r"2 positional arguments \(.*or 3.*Got 1 positional argument\."):
        cuda.guvectorize(["void(int32[:], int32[:], int32[:])"], "(n),(n)->(n)")(row_sum)(np.arange(3))
    assert float64(1) == 1
