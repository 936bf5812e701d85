"""Tests builtins of the kernel language: NumPy functions of whole arrays, parts of complex arrays, varargs, cache
hints, 16-bit atomics, bfloat16 under CUDA's names, grid barriers, printed tuples."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cuprous import cuda
from cuprous.cuda import bf16

from .test_array_methods import run


def test_numpy_functions_into_arrays() -> None:
    def kernel(a, b, out, two):
        np.add(a, b, out)
        np.sin(a, two)
        np.hypot(two, 2.0, two)

    a, b = np.arange(6.0).reshape(2, 3), np.array([[10.0], [20.0]])
    out, two = np.zeros((2, 3)), np.zeros((2, 2, 3), order="F")
    run(kernel, a, b, out, two)
    np.testing.assert_array_equal(out, a + b)
    np.testing.assert_allclose(two, np.broadcast_to(np.hypot(np.sin(a), 2), two.shape))
    with pytest.raises(cuda.errors.TypingError, match="does not fit into"):
        run(lambda x, y: np.sin(x, y), a, np.zeros(3))


FOLDS = ["sum", "prod", "min", "max", "amax", "mean", "std", "var", "nansum", "nanmax", "nanmin", "nanmean", "nanvar"]


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("shape", [(7,), (2, 3)])
def test_reductions_of_arrays(name: str, shape: tuple[int, ...]) -> None:
    reduce = getattr(np, name)
    rng = np.random.default_rng(3)
    for a in (rng.normal(size=shape), rng.integers(1, 9, shape), np.where(rng.random(shape) > 0.5, np.nan, 2.5)):
        out = np.zeros(1)

        def kernel(a, out):
            out[0] = reduce(a)

        run(kernel, a, out)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(out[0], reduce(a), rtol=1e-12)


def test_truth_of_complex_numbers_and_floats_from_text() -> None:
    def kernel(z, out, x):
        np.logical_not(z, out)
        x[0] = float("inf") + x[1]
        x[1] = float32("nan")

    float32 = cuda.float32
    z, out, x = np.array([0, 1j, 2 + 0j, complex(0, np.nan)]), np.zeros(4, bool), np.ones(2)
    run(kernel, z, out, x)
    np.testing.assert_array_equal(out, np.logical_not(z))
    np.testing.assert_array_equal(x, [np.inf, np.nan])


def test_reductions_of_empty_arrays() -> None:
    def kernel(a, out):
        out[0], out[1], out[2] = np.sum(a), np.prod(a), np.all(a)

    out = np.zeros(3)
    run(kernel, np.zeros((0, 3)), out)
    assert out.tolist() == [0, 1, 1]

    def least(a, out):
        out[0] = np.min(a)

    with pytest.raises(ValueError, match="no identity"):
        run(least, np.zeros(0), out)


def test_loops_over_items_of_several_types() -> None:
    rows, line, pair = np.arange(6.0).reshape(2, 3), np.arange(4), (1, 2.5)

    def kernel(out, a):
        k = 0
        for items in (rows, line, rows[::-1], a):
            out[k] = np.sum(items)
            k += 1
        for x in pair:
            out[k] += x
        else:
            out[k] += 1

    out = np.zeros(5)
    run(kernel, out, np.ones((2, 2, 2), np.float32))
    np.testing.assert_array_equal(out, [15, 6, 15, 8, 4.5])

    def leaves(out):
        for x in pair:
            if out[0] == x:
                break

    with pytest.raises(cuda.errors.UnsupportedError, match="items of different types"):
        run(leaves, out)


def test_truth_of_arrays() -> None:
    def kernel(a, out):
        out[0] = np.all(a)
        out[1] = np.any(a)
        out[2] = np.count_nonzero(a)

    for a in (np.array([1, 0, 2]), np.zeros((2, 2)), np.ones((2, 2), bool)):
        out = np.zeros(3, int)
        run(kernel, a, out)
        assert out.tolist() == [np.all(a), np.any(a), np.count_nonzero(a)]


def test_rounding_to_digits() -> None:
    def kernel(a, digits, out):
        for i in range(a.size):
            out[i] = round(a[i], digits)

    a = np.array([0.5, 1.005, -1234.5678, 1e300, 0.342, np.inf, 12345678.9, 4e15 + 0.5])
    for digits in (0, 2, 3, 30, -2):
        out = np.zeros_like(a)
        run(kernel, a, digits, out)
        np.testing.assert_allclose(out, [round(x, digits) for x in a.tolist()], rtol=1e-15)
    single = np.array([0.342, 3.4028e38], np.float32)
    out = np.zeros(2, np.float32)
    run(kernel, single, 2, out)
    np.testing.assert_array_equal(out, np.array([0.34, 3.4028e38], np.float32))


def test_parts_of_complex_arrays() -> None:
    def kernel(z, out):
        i = cuda.threadIdx.x
        cuda.atomic.add(z.real, i, 10.0)
        z.imag[i] = -1.0
        out[i] = z[i:].real[0] + z.T.imag[i]

    z, out = np.arange(4) * (1 + 2j), np.zeros(4)
    run(kernel, z, out, threads=4)
    np.testing.assert_array_equal(z, np.arange(4) + 10 - 1j)
    np.testing.assert_array_equal(out, np.arange(4) + 9)


def test_ctypes_address_is_rejected() -> None:
    def kernel(a):
        a[0] = a.ctypes.data

    with pytest.raises(cuda.errors.UnsupportedError, match=r"(?s)address \(\.ctypes\).*hint"):
        run(kernel, np.zeros(1, int))


def test_varargs_and_tuple_arguments() -> None:
    @cuda.jit(device=True)
    def weighted(first, *rest, scale=1):
        total = first
        for x in rest:
            total += x
        return total * scale

    @cuda.jit(device=True)
    def passed_on(function, *args):
        return function(*args)

    def kernel(out):
        pair = (2.0, 3.0)
        out[0] = weighted(1.0)
        out[1] = weighted(1.0, *pair)
        out[2] = weighted(1.0, 5.0, *pair, scale=2)
        out[3] = passed_on(weighted, *pair)

    out = np.zeros(4)
    run(kernel, out)
    np.testing.assert_array_equal(out, [1, 6, 22, 5])

    def further(out, *rest):
        out[0] = 1

    with pytest.raises(cuda.errors.UnsupportedError, match=r"\*args"):
        run(further, out)


def test_closures_as_arguments() -> None:
    @cuda.jit(device=True)
    def twice(function, x):
        return function(function(x))

    def kernel(out):
        step, width = 2.5, (3, 4)

        def further(x):
            return x + step * width[1]

        out[0] = twice(further, 1.0)
        out[1] = twice(lambda x: x * width[0], 1.0)

    out = np.zeros(2)
    run(kernel, out)
    np.testing.assert_array_equal(out, [21, 9])

    def unknown(out):
        step = out[0]
        out[1] = twice(lambda x: x + step, 1.0)

    with pytest.raises(cuda.errors.TypingError, match=r"(?s)cannot capture \"step\".*hint"):
        run(unknown, out)


def test_fields_of_a_record_by_number() -> None:
    def kernel(a, out):
        out[0] = a[1][0] + a[1][-1]

    a, out = np.array([(1, 2.5), (3, 4.5)], np.dtype([("i", "i8"), ("x", "f8")])), np.zeros(1)
    run(kernel, a, out)
    assert out[0] == 7.5


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float16, np.float32, np.int64, np.float64])
def test_hints_for_caches(dtype: Any) -> None:
    def kernel(a, b, out):
        out[0] = cuda.ldca(a, 0)
        out[1] = cuda.ldcg(a, 1)
        out[2] = cuda.ldcs(b, (1, 0))
        cuda.stcg(out, 3, cuda.ldcv(a, 3))
        cuda.stwb(b, (0, 1), cuda.ldlu(a, 2))
        cuda.stcs(out, 4, a[0])
        cuda.stwt(out, 5, a[1])

    a = np.arange(1, 5).astype(dtype)
    b, out = a.reshape(2, 2).copy(), np.zeros(6, dtype)
    run(kernel, a, b, out)
    np.testing.assert_array_equal(out, [1, 2, 3, 4, 1, 2])
    np.testing.assert_array_equal(b, [[1, 3], [3, 4]])


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.float16, ml_dtypes.bfloat16])
def test_atomics_of_16_bits(dtype: Any) -> None:
    def kernel(a, old):
        i = cuda.grid(1)
        cuda.atomic.add(a, 0, a.dtype.type(1))
        cuda.atomic.sub(a, 1, a.dtype.type(2))
        cuda.atomic.max(a, 2, a.dtype.type(i))
        cuda.atomic.min(a, 3, a.dtype.type(i))
        cuda.atomic.exch(a, 4, a.dtype.type(9))
        old[i] = cuda.atomic.cas(a, 5, a.dtype.type(0), a.dtype.type(i + 1))

    a, old = np.zeros(6, dtype), np.zeros(64, dtype)
    a[1], a[3] = 130, 50
    cuda.jit(kernel)[2, 32](a, old)
    assert a[:5].astype(float).tolist() == [64, 2, 63, 0, 9]
    assert 1 <= float(a[5]) <= 64
    assert (old.astype(float) == 0).sum() == 1


def test_bfloat16_by_cudas_names() -> None:
    def kernel(a, b, out, ints, back):
        i = cuda.grid(1)
        x, y = a[i], b[i]
        out[0, i] = bf16.hadd(x, y)
        out[1, i] = bf16.hfma(x, y, x)
        out[2, i] = bf16.hmul_sat(x, y)
        out[3, i] = bf16.hmax(x, y)
        out[4, i] = bf16.hmax_nan(x, y)
        out[5, i] = bf16.hsqrt(bf16.habs(x))
        ints[0, i] = bf16.bfloat16_to_int32_rd(x)
        ints[1, i] = bf16.bfloat16_to_int32_ru(x)
        ints[2, i] = bf16.bfloat16_to_uint8_rz(x)
        ints[3, i] = bf16.bfloat16_as_int16(x)
        back[0, i] = bf16.float32_to_bfloat16_rd(float32(1.0) / float32(3 + i))
        back[1, i] = bf16.int32_to_bfloat16_ru(1001 + i)
        back[2, i] = bf16.int16_as_bfloat16(bf16.bfloat16_as_int16(y))

    float32 = cuda.float32
    low = ml_dtypes.bfloat16
    a, b = np.array([1.25, -2.5, np.nan, 300.0], low), np.array([0.5, np.nan, 2.0, -7.0], low)
    out, ints, back = np.zeros((6, 4), low), np.zeros((4, 4), int), np.zeros((3, 4), low)
    run(kernel, a, b, out, ints, back, threads=4)
    x, y = a.astype(np.float32), b.astype(np.float32)
    with np.errstate(invalid="ignore"):
        largest = np.where(np.isnan(x) | np.isnan(y), np.nan, np.fmax(x, y))
        expected = [x + y, x * y + x, np.clip(x * y, 0, 1), np.fmax(x, y), largest, np.sqrt(abs(x))]
    wanted = np.array(expected, np.float32).astype(low).astype(np.float32)
    for k in (0, 1, 3, 4, 5):
        np.testing.assert_array_equal(out[k].astype(np.float32), wanted[k])
    assert out[2, [0, 3]].astype(float).tolist() == [0.625, 0]
    assert ints[:3].tolist() == [[1, -3, 0, 300], [2, -2, 0, 300], [1, 0, 0, 255]]
    np.testing.assert_array_equal(ints[3], a.view(np.int16))
    thirds = 1 / np.arange(3, 7, dtype=np.float32)
    assert np.all(back[0].astype(np.float32) <= thirds)
    assert np.all(back[0].astype(np.float32) > thirds * (1 - 2**-7))
    assert back[1].astype(int).tolist() == [1004] * 4
    np.testing.assert_array_equal(back[2].astype(np.float32), y)
    assert "hadd" in dir(bf16)
    with pytest.raises(AttributeError, match="no attribute 'hnone'"):
        bf16.hnone  # noqa: B018


def test_a_barrier_of_the_grid() -> None:
    @cuda.jit
    def rows(m):
        # Each row is computed from the previous one, starting at the other end of the grid.
        column = cuda.grid(1)
        grid = cuda.cg.this_grid()
        for row in range(1, m.shape[0]):
            m[row, column] = m[row - 1, m.shape[1] - column - 1] + 1
            cuda.syncthreads()
            grid.sync()

    m = np.zeros((9, 256), np.int32)
    rows[8, 32](m)
    np.testing.assert_array_equal(m, np.broadcast_to(np.arange(9)[:, None], m.shape))
    (facts,) = rows.overloads.values()
    assert facts.max_cooperative_grid_blocks((8, 4)) >= 8
    code = rows.cuda_source(cuda.int32[:, ::1])
    assert "grid_sync()" in code
    if not cuda.is_available():
        with pytest.raises(ValueError, match="131072 threads wait for one another > 65536"):
            rows[1024, 128](np.zeros((2, 1 << 17), np.int32))


def test_printed_tuples(capfd: Any) -> None:
    def kernel(pair):
        print(pair, (1,), None, cuda.threadIdx)
        print((1, ((2, 4), 3.0), (), 5), "end")

    run(kernel, (1, 2))
    cuda.synchronize()
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "(1, 2) (1,) None (0, 0, 0)"
    assert lines[1].startswith("(1, ((2, 4), 3.0") and lines[1].endswith("), (), 5) end")


def test_more_values_than_one_printf_takes(capfd: Any) -> None:
    def kernel(a):
        print(
            a[0], (1, 2, 3, 4, 5, 6, 7, 8), (1, 2, 3, 4, 5, 6, 7, 8), (1, 2, 3, 4, 5, 6, 7, 8), (1, 2, 3, 4, 5, 6, 7, 8)
        )

    run(kernel, np.arange(1))
    cuda.synchronize()
    assert capfd.readouterr().out == "0" + 4 * " (1, 2, 3, 4, 5, 6, 7, 8)" + "\n"
    code = cuda.jit(kernel).cuda_source(cuda.int64[::1])
    assert [line.count("%lld") for line in code.splitlines() if "printf" in line] == [32, 1]


def test_type_attributes() -> None:
    types = cuda.types
    array, pair = cuda.float32[:, ::1], types.Tuple([cuda.int8, cuda.float64[:]])
    assert (array.dtype, array.ndim, array.layout) == (cuda.float32, 2, "C")
    assert (len(pair), list(pair)) == (2, [cuda.int8, cuda.float64[:]])
    record = types.Record([("a", "f4")])
    assert isinstance(array, types.Array) and not isinstance(cuda.int8, types.Array)
    assert isinstance(pair, types.Tuple) and isinstance(types.UniTuple(cuda.int8, 2), types.Tuple)
    assert isinstance(record, types.Record) and isinstance(record[:].dtype, types.Record)
    assert isinstance(types.void, types.NoneType)
    assert pickle.loads(pickle.dumps([array, pair, record])) == [array, pair, record]
    assert cuda.complex64.underlying_float == cuda.float32
    assert cuda.int16 in types.signed_domain
    for wrong in ("ndim", "underlying_float"):
        with pytest.raises(AttributeError, match="int8 is"):
            getattr(cuda.int8, wrong)
