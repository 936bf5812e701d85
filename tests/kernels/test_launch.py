"""Tests launches: arguments, signatures, ordering with recorded work, errors."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda
from cuprous.cuda import errors, float32, int32, void
from tests.support import assert_errors


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


def test_device_arrays_are_used_in_place_and_in_order() -> None:
    a = cp.arange(100, dtype=cp.float64)
    b = a * 2  # pending
    c = cp.zeros(100)
    before = c + 1  # reads c before the kernel writes it
    add[4, 32](a, b, c)
    after = c + 1
    np.testing.assert_array_equal(before.get(), np.ones(100))
    np.testing.assert_array_equal(after.get(), np.arange(100) * 3 + 1)
    add[4, 32](c, c, c)
    np.testing.assert_array_equal(c.get(), np.arange(100) * 6)


def test_views_and_numba_api() -> None:
    d = cuda.to_device(np.arange(20.0))
    out = cuda.device_array(10, np.float64)
    add[1, 16](d[::2], d[1::2], out)
    np.testing.assert_array_equal(out.copy_to_host(), np.arange(20.0).reshape(10, 2).sum(1))
    host = np.empty(10)
    assert cuda.device_array_like(out).shape == (10,)
    fortran = np.zeros((2, 3), order="F")
    for like in (cuda.device_array_like, cuda.pinned_array_like, cuda.mapped_array_like):
        assert like(fortran).strides == fortran.strides
    out.copy_to_device(np.ones(10))
    out.copy_to_host(host, stream=cuda.stream())
    np.testing.assert_array_equal(host, np.ones(10))


def test_keywords_and_defaults_at_launch() -> None:
    @cuda.jit
    def kernel(out, x, y=10, *, z=5):
        out[0] = x * 100 + y + z

    out = np.zeros(1)
    kernel[1, 1](out, y=3, x=2)
    assert out[0] == 208
    assert_errors(
        (lambda: kernel[1, 1](out), TypeError, "missing the argument 'x'"),
        (lambda: kernel[1, 1](out, 1, w=2), TypeError, "unexpected keyword argument 'w'"),
        (lambda: kernel[1, 1](out, 1, 2, 3, 4), TypeError, "4 arguments, 5 given"),
    )


def test_signatures_convert_arguments() -> None:
    @cuda.jit("void(float32[:], int32)")
    def by_text(a, n):
        a[0] = n / 2

    @cuda.jit([void(float32[::1], float32), "void(float32[::1], int64)"])
    def by_list(a, x):
        a[0] = x / 3

    a = np.zeros(1, np.float32)
    by_text[1, 1](a, np.int64(5))
    assert a[0] == 2.5
    assert by_text.signatures == [(float32[:], int32)]
    by_list[1, 1](a, 2)
    assert a[0] == np.float32(2 / 3)
    assert len(by_list.signatures) == 2
    with pytest.raises(TypeError, match="No matching definition"):
        by_text[1, 1](np.zeros(1), 1)
    with pytest.raises(TypeError, match="void return type"):
        cuda.jit("int32(int32)")(lambda x: x)


def test_numbers_tuples_and_none() -> None:
    @cuda.jit
    def kernel(out, t, n, flag, z):
        if n is None:
            out[0] = t[0] + t[1][0]
        else:
            out[0] = n
        out[1] = flag
        out[2] = z.imag

    out = np.zeros(3)
    kernel[1, 1](out, (2.5, np.arange(3)), None, True, 1 + 4j)
    assert out.tolist() == [2.5, 1.0, 4.0]
    kernel[1, 1](out, (2.5, np.arange(3)), np.uint8(200), False, np.complex64(2j))
    assert out.tolist() == [200.0, 0.0, 2.0]
    assert len(kernel.signatures) == 2


def test_empty_tuples() -> None:
    @cuda.jit
    def kernel(out, t):
        out[0] = len(t[0])
        out[1] = t[1]
        out[2] = 1 if t[2] is None else 0
        out[3] = t[3][1]

    out = np.zeros(4)
    kernel[1, 1](out, ((), 7, None, (5, 6)))
    assert out.tolist() == [0, 7, 1, 6]


def test_arrays_that_are_only_read_may_be_read_only() -> None:
    a, b, c = np.arange(4.0), np.ones(4), np.zeros(4)
    a.flags.writeable = False
    add[1, 4](a, b, c)
    assert c.tolist() == [1, 2, 3, 4]
    c.flags.writeable = False
    with pytest.raises(TypeError, match="constant and cannot be written"):
        add[1, 4](a, b, c)


def test_saved_values_survive_a_kernel() -> None:
    import cuprous.torch as torch

    x = torch.ones(4, dtype=torch.float64, requires_grad=True)
    y = x * 2
    z = (y * y).sum()

    @cuda.jit
    def clear(a):
        a[cuda.grid(1)] = 0

    clear[1, 4](y.detach())
    z.backward()
    assert x.grad.tolist() == [8.0] * 4


def test_forall_and_facts() -> None:
    a, b, c = np.arange(1000.0), np.ones(1000), np.zeros(1000)
    add.forall(1000)(a, b, c)
    np.testing.assert_array_equal(c, a + 1)
    assert set(add.get_max_threads_per_block()) == set(add.signatures)
    assert "c(" in add.cuda_source() and "c[i] = a[i] + b[i]" in add.cuda_source()
    table = np.arange(3)

    @cuda.jit("void(float64[::1])")
    def shares(a):
        part = cuda.shared.array(5, cuda.float32)
        part[0] = a[0]
        a[1] = part[0] + table[1]

    assert shares.specialized
    if not cuda.is_available():  # a GPU compiler keeps them in registers
        assert shares.get_shared_mem_per_block() == 20
        assert shares.get_const_mem_size() == 24


def test_arrays_of_the_host_keep_their_order() -> None:
    @cuda.jit("void(float64[::1, :], float64[::1, :])")
    def double(a, out):
        i, j = cuda.grid(2)
        if i < a.shape[0] and j < a.shape[1]:
            out[i, j] = 2 * a[i, j]

    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    out = np.zeros_like(a)
    double[1, (2, 3)](a, out)
    np.testing.assert_array_equal(out, 2 * a)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_constant_arrays_with_nan_and_infinity(dtype: str) -> None:
    table = np.array([np.nan, np.inf, -np.inf, 1.5], dtype)

    @cuda.jit
    def fill(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = table[i]

    out = np.zeros(4, dtype)
    fill[1, 4](out)
    np.testing.assert_array_equal(out, table)


def test_specialize() -> None:
    @cuda.jit
    def fill(a):
        a[cuda.grid(1)] = 7

    single, same = fill.specialize(cuda.float32[::1]), fill.specialize(np.zeros(3, np.float32))
    assert single is same and single.specialized and not fill.specialized
    assert len(fill.specializations) == 1
    out = np.zeros(3, np.float32)
    single[1, 3](out)
    assert out.tolist() == [7, 7, 7]
    assert isinstance(single.get_max_threads_per_block(), int)
    assert_errors(
        (lambda: single.specialize(cuda.int32[::1]), RuntimeError, "already specialized"),
        (lambda: single[1, 3](np.zeros(3)), TypeError, "No matching definition"),
        (lambda: cuda.jit(launch_bounds=(1, 2, 3, 4)), ValueError, "Got 4 launch bounds"),
    )


def test_errors_name_cause_location_and_fix() -> None:
    def check(function, *args, match, hint=None, error=errors.TypingError):
        with pytest.raises(error) as caught:
            cuda.jit(function)[1, 1](*args)
        text = str(caught.value)
        assert match in text.splitlines()[0], text
        assert 'File "' in text and "^" in text
        if hint:
            assert hint in text, text

    a = np.zeros(4)

    def allocates(a):
        b = np.zeros(3)
        a[0] = b[0]

    def undefined(a):
        a[0] = nothing  # noqa: F821

    def whole_array(a):
        a[0] = a + 1

    def float_index(a):
        a[len(a) / 2] = 1

    def too_many(a):
        a[0, 1] = 1

    def unbound(a):
        if False:
            x = 1
        a[0] = x

    def listed(a):
        x = [1, 2]
        a[0] = x[0]

    def two_types(a):
        x = (1, 2)
        if a[0] > 0:
            x = 1.0
        a[0] = x

    def shape(a, n):
        s = cuda.shared.array(n, float32)
        a[0] = s[0]

    def returns(a):
        return a[0]

    def misspelled(a):
        a[0] = cuda.atomic.ad(a, 0, 1)

    def attribute(a):
        a[0] = a.nothing

    def empty(a):
        a[0] = len()

    def no_step(a):
        a[0] = len(a[::0])

    unsupported = errors.UnsupportedError
    check(attribute, a, match='array(float64, 1d, C) has no attribute "nothing"', error=unsupported)
    check(empty, a, match="len takes 1 argument, 0 given")
    check(no_step, a, match="slice step cannot be zero")
    check(allocates, a, match="np.zeros is not supported", hint="cuda.local.array", error=unsupported)
    check(undefined, a, match="NameError: name 'nothing' is not defined")
    check(whole_array, a, match="array(float64, 1d, C) and int64", hint="index the array")
    check(float_index, a, match="an index must be an integer, not float64", hint="//")
    check(too_many, a, match="2 indices for an array of 1 axes")
    check(unbound, a, match="used before it is assigned")
    check(listed, a, match="a list is not supported", hint="tuple", error=unsupported)
    check(two_types, a, match="is assigned both")
    check(shape, a, 3, match="shape must be known", hint="at the launch")
    check(returns, a, match="void return type", hint="device=True")
    check(misspelled, a, match="not supported", error=unsupported)


def test_wrong_launches() -> None:
    a = np.zeros(4)
    assert_errors(
        (lambda: add(a, a, a), ValueError, "Kernel launch configuration was not specified"),
        (lambda: add[3], ValueError, "at least the griddim and blockdim"),
        (lambda: add[0, 32](a, a, a), ValueError, "at least one thread"),
        (lambda: add[1, 1200](a, a, a), ValueError, "1200 threads a block > 1024 allowed"),
    )
    # No GPU accepts these either.
    for grid, block, match in [
        ((1, 65536), 1, "65536 blocks along axis 1 of a grid > 65535"),
        (1, (1, 1, 65), "65 threads along axis 2 of a block > 64"),
        (1, (1 << 16, 1 << 16), "threads a block > 1024"),
    ]:
        with pytest.raises(ValueError, match=match):
            add[grid, block](a, a, a)
    with pytest.raises(TypeError, match="cannot be an argument of a kernel"):
        add[1, 1](a, a, object())


def test_source_location_of_errors_in_called_functions() -> None:
    @cuda.jit(device=True)
    def inner(x):
        return x.nothing()

    @cuda.jit
    def outer(a):
        a[0] = inner(a[0])

    with pytest.raises(errors.UnsupportedError) as caught:
        outer[1, 1](np.zeros(1))
    text = str(caught.value)
    assert "return x.nothing()" in text and "a[0] = inner(a[0])" in text


def test_named_tuple_types_select_overloads() -> None:
    @cuda.jit
    def kernel(out, p):
        out[0] = p.x

    out = np.zeros(1)
    for names in ("x y", "y x", "x y"):
        kernel[1, 1](out, namedtuple("Pair", names)(1.0, 2.0))
        assert out[0] == (1 if names == "x y" else 2)
    with pytest.raises(errors.TypingError, match="has no attribute"):
        kernel[1, 1](out, (1.0, 2.0))


def _enumerate(a):
    for i, x in enumerate(a, step=2):
        a[i] = x


def _enumerate_twice(a):
    for i, x in enumerate(a, 1, start=2):
        a[i] = x


def _round_to_tens(a):
    a[0] = round(1234, -2)


def _method(a):
    a[0] = a[1].conjugate(out=1)


def _memory(a):
    s = cuda.shared.array(3, float32, 16, 1)
    a[0] = s[0]


def _memory_twice(a):
    s = cuda.shared.array(3, float32, shape=4)
    a[0] = s[0]


def _tuple_of_an_array(a):
    t = tuple(a)
    a[0] = 5
    a[1] = t[0]


def _least_of_one(a):
    a[0] = min(3)


Point = namedtuple("Point", "x y")


def _point(a):
    a[0] = Point(1, 2, x=3).x


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (_enumerate, "no keyword argument"), (_enumerate_twice, "no keyword argument"),
        (_round_to_tens, "negative digits"), (_method, "no keyword argument"), (_memory, "4 given"),
        (_memory_twice, "no keyword argument"), (_tuple_of_an_array, r"tuple\(\) of array"),
        (_least_of_one, "two or more"), (_point, "2 items, 3 given"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_no_argument_is_ignored(function: Callable[..., None], match: str) -> None:
    with pytest.raises(errors.KernelError, match=match):
        cuda.jit(function)[1, 1](np.zeros(4))


def test_digits_of_round_by_name() -> None:
    @cuda.jit
    def kernel(out):
        out[0] = round(out[0], ndigits=1)

    out = np.array([2.26])
    kernel[1, 1](out)
    assert out[0] == 2.3


def test_misaligned_arrays() -> None:
    @cuda.jit
    def fill(a, b, pair):
        i = cuda.grid(1)
        a[i] += i * 10
        cuda.atomic.add(b, 0, 2.5)
        pair[0][i] = 1j

    a = np.frombuffer(bytearray(17), np.uint8)[1:].view(np.int32)
    packed = np.zeros(4, np.dtype([("x", "i1"), ("y", "f8")]))
    z = np.zeros(33, np.uint8)[1:].view(np.complex64)
    assert not a.flags.aligned and not packed["y"].flags.aligned
    fill[1, 4](a, packed["y"], (z, 1))
    np.testing.assert_array_equal(a, [0, 10, 20, 30])
    np.testing.assert_array_equal(packed["y"], [10, 0, 0, 0])
    np.testing.assert_array_equal(z, [1j] * 4)
    a.flags.writeable = False
    out = np.zeros(4, np.int32)

    @cuda.jit
    def read(out, a):
        out[0] = a[1]

    read[1, 1](out, a)
    assert out[0] == 10


def test_launch_cache_checks_each_argument() -> None:
    @cuda.jit
    def kernel(out, source, n, x):
        out[0] = source[0, 1] + n * 10 + x * 100

    out = cp.zeros(1)
    rows = cp.asarray(np.array([[1.0, 2.0], [3.0, 4.0]]))
    for source, n, x, expected in [
        (rows, 1, 2.0, 212), (rows, 2, 2.0, 222), (rows.T, 2, 2.0, 223), (rows, 2, 2, 222), (rows, 2.5, 2.0, 227),
        (rows, True, np.float32(2), 212), (rows.astype("i4"), 1, 2.0, 212), (rows, -1, -0.0, -8),
        (rows[::-1], 1, 2.0, 214), (rows.T[::-1].T, 1, 2.0, 211), (rows, 1, 2.0, 212),
        (rows, 1 << 40, 2.0, (10 << 40) + 202),
    ]:  # fmt: skip
        kernel[1, 1](out, source, n, x)
        assert float(out[0]) == expected
    with pytest.raises(TypeError, match="missing"):
        kernel[1, 1](out, rows, 1)
    for huge in (1 << 64, 1 << 70, -(1 << 63) - 1, 1 << 200):
        with pytest.raises(OverflowError):
            kernel[1, 1](out, rows, huge, 1.0)
    assert len(kernel.overloads) >= 6
