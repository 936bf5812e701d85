"""Tests array methods that return arrays, captured arrays, constant records, and type checks in kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda


def run(function: Any, *args: Any, threads: int = 1) -> None:
    cuda.jit(function)[1, threads](*args)


@pytest.mark.parametrize("shape", [(24,), (4, 6), (8, -1), (2, -1, 3), -1, (-1, 1)])
def test_reshape(shape: Any) -> None:
    """The shape is a tuple known at launch, or separate numbers; writes go to the original array."""
    a = np.arange(24.0).reshape(2, 12)
    wanted = a.reshape(shape)
    out = np.zeros_like(wanted)

    def kernel(a, shape, out):
        out[:] = a.reshape(shape)
        b = a.reshape(3, -1)
        b[0, 1] = b[2, 7] + 100

    run(kernel, a.copy(), shape, out)
    np.testing.assert_array_equal(out, wanted)
    changed = a.copy()
    run(kernel, changed, shape, out)
    assert changed[0, 1] == a[1, 11] + 100

    def flat(a, out):
        out[:] = a.ravel()

    out = np.zeros(24)
    run(flat, a, out)
    np.testing.assert_array_equal(out, a.ravel())


def test_reshape_of_empty_arrays_and_bad_shapes() -> None:
    out = np.zeros((1, 0, 2))

    def empty(a, out):
        out[:] = a.reshape(1, 0, 2)

    run(empty, np.zeros(0), out)

    def kernel(a, n, out):
        out[0] = a.reshape(n)[0]

    def two_axes(a, n, out):
        out[0] = a.reshape(n)[0, 0]

    with pytest.raises(ValueError, match="different number of elements"):
        run(kernel, np.zeros(6), 7, np.zeros(1))
    with pytest.raises(ValueError, match="different number of elements"):
        run(two_axes, np.zeros(6), (4, -1), np.zeros(1))
    if not cuda.is_available():  # copies to a GPU have no gaps
        with pytest.raises(cuda.errors.UnsupportedError, match=r"reshape\(\).*may not be contiguous"):
            run(kernel, np.zeros(12)[::2], 6, np.zeros(1))
    with pytest.raises(cuda.errors.TypingError, match="must be an integer, not float64"):
        run(kernel, np.zeros(6), 2.0, np.zeros(1))


def test_repeated_reshape_of_a_variable() -> None:
    def kernel(result, arr):
        for _ in range(2):
            arr = arr.reshape(3 * 2)
            arr = arr.reshape(3, 2)
        for i in range(arr.shape[0]):
            for j in range(arr.shape[1]):
                result[i, j] = arr[i, j]

    a, result = np.arange(6.0).reshape(3, 2), np.zeros((3, 2))
    run(kernel, result, a)
    np.testing.assert_array_equal(result, a)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float64, np.int16])
def test_view_as_another_dtype(dtype: Any) -> None:
    a = np.arange(4, 28, dtype=np.uint8).reshape(3, 8)
    wanted = a.view(dtype)
    out = np.zeros_like(wanted)

    def kernel(a, out):
        out[:] = a.view(dtype)

    run(kernel, a, out)
    np.testing.assert_array_equal(out, wanted)

    def part(a, out, start):
        out[0] = a[start : start + 8].view(np.int32)[1]

    for start in (0, 8):
        first = np.zeros(1, np.int32)
        run(part, a.ravel(), first, start)
        assert first[0] == a.ravel()[start : start + 8].view(np.int32)[1]

    def ragged(a, out):
        out[0] = a[:7].view(np.int32)[0]

    with pytest.raises(ValueError, match="the size of int32 does not divide the size of the last axis"):
        run(ragged, a.ravel(), np.zeros(1, np.int32))


def test_bits_of_numbers() -> None:
    def kernel(x, bits, back):
        bits[0] = x[0].view(np.int32)
        back[0] = bits[0].view(np.float32)

    x, bits, back = np.array([-1.5], np.float32), np.zeros(1, np.int32), np.zeros(1, np.float32)
    run(kernel, x, bits, back)
    assert (bits[0], back[0]) == (x.view(np.int32)[0], x[0])


def test_copies_use_thread_local_memory() -> None:
    table = np.array([1.0, 2.0, 3.0])[::-1]

    def kernel(out, i):
        mine = table.copy()
        mine[i] = 10
        out[:] = mine

    out = np.zeros(3)
    run(kernel, out, 1)
    assert out.tolist() == [3, 10, 1]

    def unknown(a, out):
        b = a.copy()
        out[0] = b[0]

    with pytest.raises(cuda.errors.UnsupportedError, match=r"(?s)copy\(\).*cuda.local.array"):
        run(unknown, np.zeros(3), np.zeros(1))


def test_arrays_of_devices_from_outside_are_used_in_place() -> None:
    table, result = cp.arange(4.0), cp.zeros(4)

    @cuda.jit(device=True)
    def twice(i):
        return 2 * table[i]

    @cuda.jit
    def kernel(n):
        i = cuda.grid(1)
        if i < n:
            result[i] = twice(i) + table.size

    kernel[1, 32](4)
    assert result.tolist() == [4, 6, 8, 10]
    table *= 10  # its contents at launch are used
    kernel[1, 32](4)
    assert result.tolist() == [4, 24, 44, 64]
    assert kernel.signatures == [(cuda.int64,)]

    many = (table, result)
    # An array that is captured with others, and by an inner function.

    @cuda.jit
    def inside(out):
        def of(i):
            return table[i]

        out[0] = of(3)

    out = np.zeros(1)
    inside[1, 1](out)
    assert out[0] == 30
    assert len(many) == 2


POINTS = np.array([(1.0, 2), (3.0, 4)], dtype=[("x", float), ("y", int)])
PACKED = np.array([(1, 0xDEADBEEF, 3), (4, 5, 6)], np.dtype([("a", "u1"), ("b", "u4"), ("c", "u1")], align=True))
NONE = np.array([], dtype=POINTS.dtype)


def test_constant_arrays_of_records() -> None:
    def kernel(x, y, b):
        points, packed = cuda.const.array_like(POINTS), cuda.const.array_like(PACKED)
        for i in range(len(points)):
            x[i], y[i], b[i] = points[i].x, points[i]["y"], packed[i].b
        y[0] += len(cuda.const.array_like(NONE))

    x, y, b = np.zeros(2), np.zeros(2, int), np.zeros(2, np.uint32)
    run(kernel, x, y, b)
    np.testing.assert_array_equal(x, POINTS["x"])
    np.testing.assert_array_equal(y, POINTS["y"])
    np.testing.assert_array_equal(b, PACKED["b"])


def kinds(x):
    if isinstance(x, int):
        return 1
    if isinstance(x, (float, complex)):
        return 2 if isinstance(x, float) else 3
    return 4 if isinstance(x, tuple) else 5


def test_isinstance_is_known_when_the_kernel_is_compiled() -> None:
    cases = [1, True, np.int8(1), 2.5, np.float32(1), 1j, (1, 2), np.zeros(2)]
    for case in cases:
        out = np.zeros(3, int)

        def kernel(x, out):
            out[0] = kinds(x)
            out[1] = isinstance(x, (np.integer, np.float32))
            out[2] = isinstance(x, np.ndarray)

        run(kernel, case, out)
        is_int = isinstance(case, (int, np.integer))
        wanted = 1 if is_int else kinds(case.item() if isinstance(case, np.generic) else case)
        exact = isinstance(case, (np.integer, np.float32)) or type(case) is int
        assert out.tolist() == [wanted, exact, isinstance(case, np.ndarray)], case


def test_signatures_of_device_functions_convert_arguments() -> None:
    def add(x, y):
        return x + y

    whole = cuda.jit("(int64, int64)", device=True)(add)
    either = cuda.jit(["(int64, int64)", "(float64, float64)"], device=True)(add)

    def kernel(a, out):
        out[0] = whole(a[0], 2.5)
        out[1] = either(1, a[0])
        out[2] = either(a.size, 2)

    out = np.zeros(3)
    run(kernel, np.array([1.5]), out)
    assert out.tolist() == [3, 2.5, 3]
    with pytest.raises(cuda.errors.TypingError, match=r"Invalid use of type.*with parameters \(complex128, int64\)"):
        run(lambda a, out: whole(a[0], 1), np.zeros(1, complex), out)


def test_errors_name_endless_recursion() -> None:
    def runaway(x):
        return runaway(x)

    def grows(n):
        if n > 0:
            return grows(n - 1), 0
        return None

    with pytest.raises(cuda.errors.TypingError, match="runaway recursion"):
        cuda.jit("void()")(lambda: runaway(1))
    with pytest.raises(cuda.errors.TypingError, match="Return type of recursive function does not converge"):
        cuda.jit("void()")(lambda: grows(1))
    with pytest.raises(cuda.errors.TypingError, match="Invalid NumPy dtype specified: 'int33'"):
        cuda.jit("void()")(lambda: cuda.local.array(3, "int33"))


def test_rect_of_infinite_and_nan_angles() -> None:
    import cmath

    def kernel(r, phi, out):
        for i in range(r.size):
            out[i] = cmath.rect(r[i], phi[i])

    r, phi = np.array([0.0, 0.0, 0.0, 2.0, -0.0]), np.array([np.inf, -np.inf, np.nan, 1.0, 3.0])
    out = np.zeros(5, complex)
    run(kernel, r, phi, out)
    np.testing.assert_allclose(out, [cmath.rect(a, b) for a, b in zip(r, phi, strict=True)])


def test_text_is_written_into_arrays_of_text() -> None:
    def kernel(a, b, r):
        i = cuda.grid(1)
        if i < r.size:
            a[i] = "Xÿ€"
            b[i] = b"XYZ too long"
            r[i]["y"] = "ABC"
            r[i].x = i

    a, b = np.full(3, "before", "U6"), np.full(3, b"before", "S7")
    r = np.zeros(2, [("x", np.int32), ("y", "U4")])
    run(kernel, a, b, r, threads=4)
    assert a.tolist() == ["Xÿ€", "Xÿ€", "before"]
    assert b.tolist() == [b"XYZ too", b"XYZ too", b"before"]
    assert r.tolist() == [(0, "ABC"), (1, "ABC")]
    with pytest.raises(cuda.errors.TypingError, match="string cannot be stored in"):
        run(kernel, np.zeros(3), b, r)

    def wide(b):
        b[0] = "€"

    with pytest.raises(cuda.errors.TypingError, match="cannot hold this character"):
        run(wide, b)


def test_dates_are_counts_of_one_unit() -> None:
    def kernel(dates, target, delta, matches, out):
        i = cuda.grid(1)
        if i < dates.size:
            matches[i] = dates[i] == target
            out[i] = dates[i] - delta

    dates = np.arange("2005-02", "2005-03", dtype="datetime64[D]")
    matches, out = np.zeros(dates.size, bool), np.zeros_like(dates)
    run(kernel, dates, dates[5], dates[6] - dates[3], matches, out, threads=64)
    np.testing.assert_array_equal(out, dates - np.timedelta64(3, "D"))
    assert matches.nonzero()[0].tolist() == [5]
    with pytest.raises(TypeError, match="one unit"):
        run(kernel, dates, dates[5].astype("M8[s]"), dates[6] - dates[3], matches, out)
    with pytest.raises(ValueError, match="NaT"):
        run(kernel, dates, np.datetime64("NaT", "D"), dates[6] - dates[3], matches, out)
    run(kernel, dates, dates[5], dates[6] - dates[3], matches, out)  # the failed launch wrote nothing


def test_dtype_classes_are_arguments() -> None:
    @cuda.jit
    def kernel(out, dtype):
        mine = cuda.local.array(3, dtype)
        mine[0] = 2.75
        out[0] = mine[0]

    out = np.zeros(1)
    for dtype, wanted in ((np.int32, 2), (np.float64, 2.75), (cuda.float32, 2.75), (np.dtype("u1"), 2)):
        kernel[1, 1](out, dtype)
        assert out[0] == wanted
    special = kernel.specialize(out, np.float64)
    assert cuda.is_available() or special.get_local_mem_per_thread() >= 24  # a GPU keeps them in registers
    assert repr(special.signatures[0][1]) == "class(float64)"


def test_device_array_api() -> None:
    a = cuda.to_device(np.arange(10).reshape(2, 5))
    assert (a.is_c_contiguous(), a.is_f_contiguous(), bool(a.is_c_contiguous)) == (True, False, True)
    f = a.reshape(5, 2, order="F").copy("F")
    assert (f.is_f_contiguous(), f.copy_to_host().flags.f_contiguous) == (True, True)
    assert cuda.device_array(np.array([3, 4]), bool).shape == (3, 4)
    with pytest.raises(TypeError):
        cuda.device_array(np.array([3.0, 4.0]))
    assert cuda.float32x3 is cuda.float3
    assert cuda.float32x3.aliases == ("float3",)
    with pytest.raises(ValueError, match="repeated axis in transpose"):
        np.transpose(a, (0, 0))
    with pytest.raises(ValueError, match=r"from shape \(2,3\) into shape \(35,\)"):
        cp.zeros(35)[:] = np.ones((1, 2, 3))
    with pytest.raises(RuntimeError, match="Cannot compile a device function as a kernel"):
        cuda.jit(device=True)(lambda: None)[1, 1]()

    @cuda.vectorize(["int64(int64)"])
    def ufunc(x):
        return x

    def kernel(a):
        a[0] = ufunc(a[1])

    with pytest.raises(cuda.errors.TypingError, match="Untyped global name 'ufunc'"):
        run(kernel, np.zeros(3))


def test_a_grid_barrier_makes_a_kernel_cooperative() -> None:
    @cuda.jit
    def kernel(a):
        cuda.cg.this_grid().sync()
        a[0] = 1

    kernel[1, 1](np.zeros(1))
    assert all(facts.cooperative for facts in kernel.overloads.values())
    plain = cuda.jit(lambda a: None)
    plain[1, 1](np.zeros(1))
    assert not any(facts.cooperative for facts in plain.overloads.values())


def test_transposes_of_one_axis() -> None:
    @cuda.jit
    def kernel(a, b):
        a.T[-1] += 2.5
        b.T[1, 0] = 7

    a, b = np.zeros(3), np.zeros((2, 3))
    kernel[1, 1](a, b)
    assert a.tolist() == [0, 0, 2.5] and b[0, 1] == 7 and b.sum() == 7


def test_meaningless_programs_are_rejected() -> None:
    @cuda.jit
    def of_no_axes(x):
        a = cuda.shared.array((), np.float64)
        x[0] = a[0]

    @cuda.jit
    def rest(x):
        x[0] = abs((x[0] + 1j) % 2)

    for kernel, words in ((of_no_axes, "the shape is empty"), (rest, "% is not defined for complex128 and int64")):
        with pytest.raises(cuda.errors.TypingError, match=words):
            kernel[1, 1](cp.zeros(1))


def test_tuples_with_names_are_looped_over() -> None:
    out = cp.zeros(3)

    def places(out):
        for k, x in enumerate(cuda.threadIdx):
            cuda.atomic.add(out, k, x + 1)
        for x in cuda.blockDim:
            cuda.atomic.add(out, 2, x)

    run(places, out, threads=4)
    assert out.get().tolist() == [1 + 2 + 3 + 4, 4, 4 + 4 * (4 + 1 + 1)]
