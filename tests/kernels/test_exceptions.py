"""Tests exceptions in kernels: those that a program raises, and the optional debug checks."""

from __future__ import annotations

import numpy as np
import pytest

from cuprous import cuda


class OwnError(Exception):
    """A user-defined exception class."""


@cuda.jit(device=True)
def positive(x):
    assert x > 0, "not positive"
    return x


@cuda.jit
def guarded(a, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = positive(a[i]) * 2


@cuda.jit
def raises(a):
    i = cuda.grid(1)
    if a[i] == 1:
        raise OwnError("one")
    if a[i] == 2:
        raise ValueError
    a[i] = 7


def test_an_assertion_names_thread_block_and_line() -> None:
    a, out = np.ones(8), np.zeros(8)
    guarded[2, 4](a, out)
    a[5] = -1
    with pytest.raises(AssertionError) as error:
        guarded[2, 4](a, out)
    text = str(error.value)
    assert text.startswith("tid=[1, 0, 0] ctaid=[1, 0, 0]: not positive\n")
    assert "In function 'positive', file" in text and 'assert x > 0, "not positive"' in text
    # The next launch must not raise it again.
    guarded[2, 4](np.ones(8), out)
    assert out.tolist() == [2.0] * 8


def test_own_classes_are_raised() -> None:
    a = np.array([0, 0, 1, 0])
    with pytest.raises(OwnError, match=r"tid=\[2, 0, 0\] ctaid=\[0, 0, 0\]: one"):
        raises[1, 4](a)
    assert a.tolist() == [7, 7, 1, 7]
    with pytest.raises(ValueError, match=r"tid=\[0, 0, 0\]"):
        raises[1, 1](np.array([2]))


def test_without_debug_the_thread_ends_silently() -> None:
    @cuda.jit(debug=False)
    def quiet(a):
        i = cuda.grid(1)
        assert i != 2
        a[i] = 1

    a = np.zeros(4)
    quiet[1, 4](a)
    assert a.tolist() == [1, 1, 0, 1]
    assert "raise(" not in quiet.cuda_source()


def test_barrier_does_not_wait_for_a_thread_that_raised() -> None:
    @cuda.jit
    def waits(a):
        i = cuda.grid(1)
        assert a[i] < 5
        cuda.syncthreads()
        a[i] += 1

    a = np.arange(8)
    with pytest.raises(AssertionError, match=r"tid=\[5, 0, 0\]"):
        waits[1, 8](a)
    assert a.tolist() == [1, 2, 3, 4, 5, 5, 6, 7]


def test_bounds_checks_are_opt_in() -> None:
    @cuda.jit(boundscheck=True)
    def shift(a, b):
        i, j = cuda.grid(2)
        b[i, j] = a[i, j + 1]

    a, b = np.ones((2, 3)), np.zeros((2, 3))
    shift[1, (2, 2)](a, b)
    with pytest.raises(
        IndexError, match=r"tid=\[0, 2, 0\].*index 3 is out of bounds for axis 1 of array 'a' with shape \(2, 3\)"
    ):
        shift[1, (2, 3)](a, b)
    with pytest.raises(IndexError, match="axis 0 of array 'a'"):
        shift[1, (3, 1)](a, b)


def test_bounds_of_views_stores_and_atomics() -> None:
    @cuda.jit(boundscheck=True)
    def row(a, k):
        a[k, :][0] = 1

    @cuda.jit(boundscheck=True)
    def count(a, k):
        cuda.atomic.add(a, k, 1)

    a = np.zeros((2, 2))
    row[1, 1](a, -2)
    assert a[0, 0] == 1
    with pytest.raises(IndexError, match=r"index 2 is out of bounds for axis 0 of array 'a' with shape \(2, 2\)"):
        row[1, 1](a, 2)
    with pytest.raises(IndexError, match="index -3"):
        count[1, 1](np.zeros(2, np.int32), -3)


def test_debug_reports_zero_division_and_index_errors() -> None:
    @cuda.jit(debug=True)
    def divide(r, x, y):
        r[0] = y[0] // x[0]

    @cuda.jit(debug=True)
    def item(r, k):
        r[0] = (1, 2, 3)[k]

    r = np.zeros(1)
    divide[1, 1](r, np.array([2]), np.array([7]))
    assert r[0] == 3
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        divide[1, 1](r, np.array([0]), np.array([7]))
    item[1, 1](r, -1)
    assert r[0] == 3
    with pytest.raises(IndexError, match="tuple index out of range"):
        item[1, 1](r, 3)


def test_debug_reports_unassigned_variables() -> None:
    def sometimes(a, n):
        for i in range(n):
            s = a[i] + 1
            if s > 2:
                found = i
        t = 5 if n else 6
        if n > 1:
            t = s
        a[0] = t + (found if n > 2 else 0)

    checked, plain = cuda.jit(debug=True)(sometimes), cuda.jit(sometimes)
    a = np.array([1.0, 2.0, 3.0])
    checked[1, 1](a, 3)
    assert a[0] == 4 + 2
    for n in (0, 1, 2):
        a, b = np.zeros(3), np.zeros(3)
        checked[1, 1](a, n)
        plain[1, 1](b, n)
        assert a[0] == b[0] == (6, 5, 1)[n]
    a = np.zeros(3)
    message = r"cannot access local variable 'found' where it is not associated with a value"
    with pytest.raises(UnboundLocalError, match=message):
        checked[1, 1](a, 3)
    plain[1, 1](a, 3)
    assert a[0] == 1  # reads as 0

    @cuda.jit
    def never(a):
        a[0] = missing  # noqa: F821
        missing = 1  # noqa: F841

    with pytest.raises(cuda.errors.TypingError, match=r"missing.* is used before it is assigned"):
        never[1, 1](np.zeros(1))


def test_kernels_without_raise_have_no_fault_record() -> None:
    @cuda.jit("void(float64[::1])")
    def plain(a):
        a[0] = 1

    assert "fault_record" not in plain.cuda_code([("array", "float64", 1, "C")], True)
    assert "fault_record" in guarded.cuda_code([("array", "float64", 1, "C")] * 2, True)
