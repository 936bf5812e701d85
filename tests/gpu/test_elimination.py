"""Compares Gaussian elimination by GPU kernels with NumPy, at sizes around panels, clusters and groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cuprous as cp


def matrix(n: int, dtype: str) -> np.ndarray:
    """Returns a matrix that needs pivoting: its diagonal is 0."""
    a = np.random.default_rng(n).standard_normal((n, n))
    np.fill_diagonal(a, 0)
    return a.astype(dtype)


def residual(a: np.ndarray, x: np.ndarray, b: np.ndarray) -> float:
    a, x, b = (v.astype("float64") for v in (a, x, b))
    return float(np.linalg.norm(a @ x - b) / (np.linalg.norm(a) * np.linalg.norm(x))) / float(np.finfo("float64").eps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [129, 160, 513, 1030, 2080])
def test_solutions_and_determinants(n: int, dtype: str) -> None:
    a = matrix(n, dtype)
    x = cp.asarray(a)
    bound = 20 * np.finfo(dtype).eps / np.finfo("float64").eps
    for b in (np.ones((n, 1), dtype), np.random.default_rng(1).standard_normal((n, 7)).astype(dtype)):
        assert residual(a, cp.linalg.solve(x, cp.asarray(b)).get(), b) < bound
        assert residual(a.T, cp.linalg.solve(x.T, cp.asarray(b)).get(), b) < bound
    assert residual(a, cp.linalg.inv(x).get(), np.eye(n)) < bound
    (sign, logarithm), (want_sign, want) = cp.linalg.slogdet(x), np.linalg.slogdet(a.astype("float64"))
    assert float(sign) == want_sign
    # The relative error of a determinant follows the smallest singular value: size 1030 has condition number 2e6.
    conditioned = np.linalg.cond(a.astype("float64"))
    assert abs(float(logarithm) - want) < np.finfo(dtype).eps * max(100 * abs(want), conditioned)


@pytest.mark.parametrize("n", [200, 700])
def test_matrices_without_an_inverse(n: int) -> None:
    a = matrix(n, "float64")
    a[:, n // 2] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        cp.linalg.inv(cp.asarray(a))
    assert float(cp.linalg.slogdet(cp.asarray(a))[1]) == -np.inf
    a[3, 5] = np.nan
    assert np.isnan(cp.linalg.slogdet(cp.asarray(a))[1].get())


def test_nan_is_no_error() -> None:
    a = matrix(300, "float32")
    a[250, 10] = np.nan
    assert np.isnan(cp.linalg.solve(cp.asarray(a), cp.ones((300, 2), dtype="float32")).get()).all()


def test_inverse_of_a_permutation_matrix() -> None:
    order = np.random.default_rng(3).permutation(600)
    a = np.eye(600)[order]
    np.testing.assert_array_equal(cp.linalg.inv(cp.asarray(a)).get(), a.T)


#: The kernels of a decomposition in panels of 32 columns, each factored by one block of 96 threads. `linalg.solve` uses
#: them from compute capability 9.0 on, which a simulated GPU does not have.
PANELS = """
extern "C" __global__ void begin(const double* a, const double* b, double* out, int64 n, int64 k, int64 stride) {
    lu_init(a, b, out, n, k, stride, 2);
}
extern "C" __global__ void panel(double* a, int64* pivots, int32* moves, int32* info, int64 n, int64 stride,
                                 int64 column, int64 count) {
    lu_panel<double, 32, 1, 96>(a, pivots, moves, info, n, stride, column, count);
}
extern "C" __global__ void rows_1(double* a, int32* moves, int64 stride, int64 from, int64 to, int64 start, int64 end,
                                  int64 gap) {
    lu_rows<double, 32, 1, 32>(a, moves, stride, from, to, start, end, gap);
}
extern "C" __global__ void rows_2(double* a, int32* moves, int64 stride, int64 from, int64 to, int64 start, int64 end,
                                  int64 gap) {
    lu_rows<double, 32, 2, 32>(a, moves, stride, from, to, start, end, gap);
}
extern "C" __global__ void corners(const double* a, double* inverses, int64 n, int64 stride) {
    lu_invert_diagonal<double, 32>(a, inverses, n, stride);
}
"""


def test_kernels_of_panels() -> None:
    sources = Path(__file__).parents[2] / "crates/cuda/src"
    files = [sources / "prelude/base.cuh", sources / "codegen/routines/lu.cuh"]
    module = cp.RawModule(code="\n".join([*(f.read_text() for f in files), PANELS]))
    n, k, stride, width, gap = 75, 3, 80, 32, 132
    i = np.arange(n * n)
    a = ((i * i * 31 + i * 7919) % 1013 / 101.0 - 5.0).reshape(n, n)
    b = ((np.arange(n * k) * 7919 % 1013 - 506.0) / 64.0).reshape(n, k)
    lu, moves, inverses = cp.zeros((n, stride)), cp.zeros((2, gap), "int32"), cp.zeros((3, width, width))
    pivots, info = cp.zeros(n, "int64"), cp.zeros(1, "int32")
    room = 40 << 10

    def launch(name: str, blocks: int, threads: int, *args: object) -> None:
        kernel = module.get_function(name)
        kernel((blocks,), (threads,), tuple(np.int64(x) if isinstance(x, int) else x for x in args), shared_mem=room)

    def rows(panels: int, which: int, start: int, end: int, first: int, last: int) -> None:
        """Moves the rows of columns start..first and last..end as the panels first..last did, and solves the latter."""
        blocks = -(-(first - start) // 32) + -(-(end - last) // 32)
        if blocks:
            launch(f"rows_{panels}", blocks, 64, lu, moves[which], stride, start, end, first, last, gap)

    def update(end: int, first: int, last: int) -> None:
        """Subtracts what the panels first..last contribute, which a library does for `linalg.solve`."""
        lu[last:, last:end] -= lu[last:, first:last] @ lu[first:last, last:end]

    launch("begin", 2 * n, 32, cp.asarray(a), cp.asarray(b), lu, n, k, stride)
    for group in range(0, n, 2 * width):
        end = min(n, group + 2 * width)
        for which, column in enumerate(range(group, end, width)):
            after = min(n, column + width)
            launch("panel", 1, 96, lu, pivots, moves[which], info, n, stride, column, after - column)
            rows(1, which, group, end, column, after)
            update(end, column, after)
        rows(2, 0, 0, n + k, group, end)
        update(n + k, group, end)
    launch("corners", 3, 32, lu, inverses, n, stride)

    assert int(info[0]) == 0
    whole, order = lu.get()[:, : n + k], np.arange(n)
    for j, p in enumerate(pivots.get()):
        assert j < p <= n
        order[[j, p - 1]] = order[[p - 1, j]]
    lower = np.tril(whole[:, :n], -1)
    assert np.abs(lower).max() <= 1
    product = (lower + np.eye(n)) @ np.triu(whole)
    np.testing.assert_allclose(product, np.hstack([a, b])[order], rtol=0, atol=1e-11)
    for inverse, first in zip(inverses.get(), range(0, n, width), strict=True):
        block = np.triu(whole[first : first + width, first : min(n, first + width)])
        count = len(block)
        np.testing.assert_allclose(block @ inverse[:count, :count], np.eye(count), rtol=0, atol=1e-9)
