"""Tests ways in which a replayed program could be silently wrong. Each step runs many times with one change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import to_host

pytestmark = pytest.mark.usefixtures("mode")
REPEATS = 6
R = np.random.default_rng(1)


def same_each_time(step: Callable[..., Any], variants: Sequence[Any]) -> None:
    """Asserts that step(xp, variant) agrees with NumPy for each variant, in this order."""
    for variant in variants:
        expected, actual = step(np, variant), to_host(step(cp, variant))
        expected = expected if isinstance(expected, tuple) else (expected,)
        actual = actual if isinstance(actual, tuple) else (actual,)
        for want, got in zip(expected, actual, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, err_msg=f"variant {variant!r}")


def test_a_changed_constant() -> None:
    same_each_time(lambda xp, c: xp.arange(10) * c + 0.5, [1.0, 1.0, 1.0, 2.0, 3.5, 1.0, -1.0])


def test_a_constant_that_changes_its_type() -> None:
    same_each_time(lambda xp, c: xp.arange(10) * c, [1, 1, 1, 1.0, True, 2, 2.5, 1j, 1])


def test_a_constant_of_another_sign_of_zero_and_nan() -> None:
    constants = [1.0, 1.0, 1.0, 0.0, -0.0, np.nan, np.inf, 1.0]
    same_each_time(lambda xp, c: xp.copysign(xp.ones(3), xp.ones(3) * c), constants)


def test_an_exponent_is_a_value_not_code() -> None:
    same_each_time(lambda xp, p: (xp.arange(1, 6) * 1.0) ** p, [2, 2, 2, 3, 0.5, -1, 2, 0])


def test_a_branch_that_changes() -> None:
    def step(xp: Any, n: int) -> Any:
        x = xp.arange(5) - n
        return x + 1 if int(x.sum()) > 0 else x * 10

    same_each_time(step, [0, 0, 0, 5, 5, 0, 1, 9])


def test_a_changed_shape() -> None:
    same_each_time(lambda xp, n: xp.exp(xp.arange(n) / 7.0).sum(), [8, 8, 8, 9, 1, 8, 1000, 0, 8])


def test_a_changed_dtype() -> None:
    def step(xp: Any, dtype: str) -> Any:
        return xp.arange(6, dtype=getattr(xp, dtype)) * 2 + 1

    same_each_time(step, ["int32", "int32", "int32", "float32", "int64", "uint8", "int32"])


def test_a_changed_layout_of_the_same_shape() -> None:
    square = R.random((6, 6))

    def step(xp: Any, kind: int) -> Any:
        a = xp.asarray(square)
        a = (a, a.T, a[::-1], a[:, ::-1], a.copy().T)[kind]
        return a * 2 + xp.arange(6)

    same_each_time(step, [0, 0, 0, 1, 2, 3, 4, 0, 1])


def test_a_changed_axis() -> None:
    cube = R.random((3, 4, 5))
    same_each_time(lambda xp, axis: xp.asarray(cube).sum(axis=axis), [0, 0, 0, 1, 2, (0, 1), None, 0])


def test_a_changed_slice_start() -> None:
    """The offset moves; shape and strides do not."""
    line = R.random(20)
    same_each_time(lambda xp, i: xp.asarray(line)[i : i + 5] * 2, [*range(8), 0, 3])


def test_aliased_outputs() -> None:
    def step(xp: Any, n: int) -> Any:
        a = xp.arange(6) * n
        b = a[::2]
        a += 1
        b *= 3
        return a, b

    same_each_time(step, range(REPEATS))


def test_an_element_that_is_kept_across_writes() -> None:
    """The index moves; the element that was read stays what it was."""

    def step(xp: Any, n: int) -> Any:
        a = xp.arange(6.0) * (n + 1)
        kept = a[n % 6]
        a[n % 6], a[0] = a[0], kept
        a += kept
        return a, kept

    same_each_time(step, [*range(REPEATS + 3), 0, 0])


def test_memory_shared_with_numpy_in_some_steps() -> None:
    if cp.get_device() != "cpu":
        pytest.skip("NumPy sees memory of the CPU")
    x, hx = cp.zeros(4), np.zeros(4)
    for n in range(2 * REPEATS):
        before = x * 10
        if n % 3 == 2:
            np.asarray(x)[n % 4] = n  # visible to later operations, not to recorded ones
        x += 1
        want = hx * 10
        if n % 3 == 2:
            hx[n % 4] = n
        hx += 1
        np.testing.assert_array_equal(cp.asnumpy(before), want)
    np.testing.assert_array_equal(cp.asnumpy(x), hx)


def test_inputs_that_alias_this_time_and_not_the_next() -> None:
    def step(xp: Any, alias: bool) -> Any:
        a = xp.arange(6.0)
        b = a if alias else a.copy()
        a += b[0] + 1
        b *= 2
        return a, b

    same_each_time(step, [True, True, True, False, True, False, False, False, True])


def test_partly_overlapping_inputs() -> None:
    def step(xp: Any, shift: int) -> Any:
        a = xp.arange(12.0)
        a[shift : shift + 6] += a[:6]
        return a

    same_each_time(step, [6, 6, 6, 0, 1, 3, 5, 6, 1])


def test_an_output_kept_across_iterations() -> None:
    kept, expected = [], []
    x, hx = cp.arange(5.0), np.arange(5.0)
    for n in range(REPEATS):
        kept.append(x * n + 1)
        expected.append(hx * n + 1)
        cp._core.flush()
    for got, want in zip(kept, expected, strict=True):
        np.testing.assert_array_equal(cp.asnumpy(got), want)


def test_an_output_kept_now_and_then() -> None:
    """The arrays alive at the end of a step must be written, so liveness is part of the program's key."""
    kept: list[Any] = []
    for n in range(12):
        a = cp.arange(5.0) + n
        b = a * 2
        c = b + 1
        if n % 3 == 2:
            kept.append((n, b))
        np.testing.assert_array_equal(cp.asnumpy(c), (np.arange(5.0) + n) * 2 + 1)
    for n, b in kept:
        np.testing.assert_array_equal(cp.asnumpy(b), (np.arange(5.0) + n) * 2)


def test_an_input_written_between_iterations() -> None:
    x, hx = cp.zeros(4), np.zeros(4)
    for n in range(REPEATS):
        x[n % 4] += n
        hx[n % 4] += n
        np.testing.assert_array_equal(cp.asnumpy(x * 10), hx * 10)


def test_a_read_before_a_write_keeps_the_old_value() -> None:
    x = cp.arange(4.0)
    for n in range(REPEATS):
        before = x + 0
        view_sum = x[1:].sum()
        x *= 2
        x[0] = n
        want = np.arange(4.0) * 2.0**n
        want[0] = n - 1 if n else 0
        np.testing.assert_array_equal(cp.asnumpy(before), want)
        assert float(view_sum) == want[1:].sum()


def test_state_carried_through_many_steps() -> None:
    def run(xp: Any) -> Any:
        w, m = xp.ones(5), xp.zeros(5)
        for n in range(40):
            g = w * 0.1 + n * 0.01
            m = 0.9 * m + 0.1 * g
            w = w - 0.05 * m
        return w, m

    for _ in range(3):
        for want, got in zip(run(np), to_host(run(cp)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_in_place_state_with_a_host_read_each_step() -> None:
    w, hw = cp.ones(5), np.ones(5)
    for n in range(REPEATS):
        w -= 0.1 * (w - n)
        hw -= 0.1 * (hw - n)
        assert float(w.sum()) == pytest.approx(hw.sum(), rel=1e-12)


@pytest.mark.parametrize("order", ["forward", "backward", "never"])
def test_handles_dropped_in_another_order(order: str) -> None:
    for n in range(REPEATS):
        a = cp.arange(8.0) + n
        b = a[2:]
        c = b * 2
        d = c[::2]
        if order == "forward":
            del a, b, c
        elif order == "backward":
            del c, b, a
        np.testing.assert_array_equal(cp.asnumpy(d), ((np.arange(8.0) + n)[2:] * 2)[::2])


def test_variants_that_alternate() -> None:
    def step(xp: Any, kind: int) -> Any:
        x = xp.arange(10.0)
        for n in range(3):
            x = xp.sin(x) if (n + kind) % 2 else xp.cos(x)
        return x

    same_each_time(step, [0, 1] * 6 + [0, 0, 0, 1])


def test_a_step_that_is_the_start_of_another() -> None:
    def step(xp: Any, n: int) -> Any:
        x = xp.arange(10.0)
        for _ in range(n):
            x = x * 1.5 + 1
        return x

    same_each_time(step, [2, 2, 2, 5, 5, 2, 1, 7, 2, 5])


def test_the_same_values_from_other_arrays() -> None:
    """Addresses are not part of a program."""
    kept: list[Any] = []
    for n in range(REPEATS):
        x = cp.asarray(np.full(1000, float(n)))
        kept.append(x)
        assert float((x * 3).sum()) == 3000.0 * n


def test_swapped_inputs() -> None:
    a, b = cp.arange(4.0), cp.arange(4.0) * 10
    for n in range(REPEATS):
        x, y = (a, b) if n % 2 else (b, a)
        want = np.arange(4.0) * (-9 if x is a else 9)
        np.testing.assert_array_equal(cp.asnumpy(x - y), want)


def test_one_array_as_both_operands() -> None:
    a, b = cp.arange(4.0), cp.ones(4)
    for n in range(REPEATS):
        other = a if n % 2 else b
        want = np.arange(4.0) ** 2 if n % 2 else np.arange(4.0)
        np.testing.assert_array_equal(cp.asnumpy(a * other), want)


def test_random_state_advances() -> None:
    rng, seen = cp.random.default_rng(3), []
    for _ in range(REPEATS):
        seen.append(cp.asnumpy(rng.standard_normal(4) * 2))
    assert len({s.tobytes() for s in seen}) == REPEATS
    again = cp.random.default_rng(3)
    np.testing.assert_array_equal(cp.asnumpy(again.standard_normal(4) * 2), seen[0])


def test_a_data_dependent_shape() -> None:
    def step(xp: Any, n: int) -> Any:
        x = xp.arange(10) % (n + 2)
        return x[x > 0] * 2

    same_each_time(step, [1, 1, 1, 2, 3, 8, 1, 0])


def test_indices_that_change() -> None:
    table = R.random((9, 3))

    def step(xp: Any, n: int) -> Any:
        rows = xp.asarray([n % 9, 2, (n * 4) % 9])
        return xp.asarray(table)[rows] * 2

    same_each_time(step, range(REPEATS + 3))


def test_writes_at_indices_that_change() -> None:
    def step(xp: Any, n: int) -> Any:
        x = xp.zeros(9)
        x[xp.asarray([n % 9, (n + 3) % 9])] = n + 1.0
        x[n % 9 :] += 1
        return x

    same_each_time(step, range(REPEATS + 3))


def test_an_error_in_the_middle_leaves_nothing_behind() -> None:
    x = cp.arange(4.0)
    for n in range(REPEATS):
        y = x + n
        if n % 2:
            with pytest.raises(ValueError):
                y + cp.ones(3)
        np.testing.assert_array_equal(cp.asnumpy(y * 2), (np.arange(4.0) + n) * 2)


def test_an_exception_of_the_users_own() -> None:
    w = cp.zeros(3)
    for n in range(REPEATS):
        try:
            w += 1
            if n % 2:
                raise KeyError
            w += 10
        except KeyError:
            w += 100
    assert cp.asnumpy(w).tolist() == [3 * 11 + 3 * 101.0] * 3


def test_the_gc_runs_in_the_middle() -> None:
    import gc

    for n in range(REPEATS):
        a = cp.arange(6.0) * n
        cycle: list[Any] = [a[1:]]
        cycle.append(cycle)
        b = a * 2
        del cycle, a
        gc.collect()
        np.testing.assert_array_equal(cp.asnumpy(b), np.arange(6.0) * n * 2)


def test_a_large_array_among_small_ones() -> None:
    """Large work is submitted early; the order of writes and reads is kept."""
    big, small = cp.zeros(2_000_000), cp.zeros(3)
    for _ in range(REPEATS):
        big += 1
        small += big[:3]
        big *= 2
        small -= 1
    x, s = 0.0, 0.0
    for _ in range(REPEATS):
        x += 1
        s += x
        x *= 2
        s -= 1
    assert float(big[-1]) == x
    assert cp.asnumpy(small).tolist() == [s] * 3


def test_more_programs_than_the_caches_hold() -> None:
    for n in range(300):
        x = cp.arange(n % 50 + 1.0)
        for k in range(n % 7):
            x = x + k if (n >> k) % 2 else x * 2
        y = np.arange(n % 50 + 1.0)
        for k in range(n % 7):
            y = y + k if (n >> k) % 2 else y * 2
        np.testing.assert_array_equal(cp.asnumpy(x), y)


def test_a_loop_without_any_read() -> None:
    """Only the tape's own limits end the program."""
    x = cp.zeros(10)
    for n in range(20_000):
        x += n % 3
    assert float(x[5]) == sum(n % 3 for n in range(20_000))
