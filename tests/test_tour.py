"""The whole system in five minutes of reading. Each test shows one idea; other files test the details."""

from __future__ import annotations

import numpy as np
import pytest

import cuprous as cp

R = np.random.default_rng(0)


def test_change_the_import_keep_the_code() -> None:
    def program(xp):  # type: ignore[no-untyped-def]
        x = xp.arange(12, dtype=xp.float64).reshape(3, 4)
        y = xp.sin(x) ** 2 + xp.cos(x) ** 2
        return (y.T @ x).sum(axis=0)

    np.testing.assert_allclose(cp.asnumpy(program(cp)), program(np), rtol=1e-12)


def test_arrays_look_like_numpys() -> None:
    a = cp.zeros((2, 3), dtype=cp.int32)
    assert (a.shape, a.ndim, a.size, a.dtype, a.strides) == ((2, 3), 2, 6, np.dtype("int32"), (12, 4))
    assert len(a) == 2
    assert str(cp.arange(3)) == "[0 1 2]"


def test_dtypes_promote_as_numpys() -> None:
    small = cp.ones(3, dtype=cp.int8)
    assert (small + 1).dtype == np.int8  # Python numbers promote weakly
    assert (small + cp.ones(3, dtype=cp.float32)).dtype == np.float32
    assert (small / 2).dtype == np.float16 or (small / 2).dtype == (np.ones(3, np.int8) / 2).dtype
    with pytest.raises(OverflowError):
        small + 300


def test_a_view_of_a_view_sees_later_writes() -> None:
    a = cp.zeros((4, 4))
    view = a[1:3].T[::-1]
    a += 1
    a[2] = 5
    assert cp.asnumpy(view).tolist() == [[1, 5]] * 4
    view[0] = 7
    assert cp.asnumpy(a)[1:3, 3].tolist() == [7, 7]


def test_overlapping_writes_behave_as_if_copied_first() -> None:
    a = cp.arange(6)
    a[1:] += a[:-1]
    assert cp.asnumpy(a).tolist() == [0, 1, 3, 5, 7, 9]


def test_nothing_runs_until_a_value_is_needed() -> None:
    x = cp.ones(1000)
    cp._core.synchronize()
    before = cp._core.stats()
    for _ in range(10):
        x = x * 1.5
    assert cp._core.stats()["steps"] == before["steps"]
    assert float(x[0]) == 1.5**10


def test_a_repeated_step_is_recognised() -> None:
    x = cp.asarray(R.random(1000))

    def step(scale: float) -> float:
        return float((cp.exp(-x) * scale).sum())

    expected = np.exp(-cp.asnumpy(x)).sum()
    for _ in range(3):
        step(1.0)
    planned = cp._core.stats()["planned"]
    for scale in (2.0, 3.0, 4.0):  # scalars are not part of a program
        assert step(scale) == pytest.approx(scale * expected, rel=1e-12)
    assert cp._core.stats()["planned"] == planned


def test_explain_and_show_code_speak() -> None:
    x = cp.ones(10) * 2 + 1
    assert isinstance(cp.show_code(x), str)
    float(x.sum())
    assert isinstance(cp.explain(), str)


def test_python_decides_each_time() -> None:
    x = cp.asarray(np.array([1.0, -3.0, 2.0, -5.0]))
    out = []
    for value in range(4):
        y = x[value] * 2
        y = y + 1 if y > 0 else y - 1
        out.append(float(y))
    assert out == [3.0, -7.0, 5.0, -11.0]


def test_indexing_by_integers_and_booleans() -> None:
    host = R.integers(0, 100, (5, 6))
    a = cp.asarray(host)
    np.testing.assert_array_equal(cp.asnumpy(a[[0, -1, 2], 1:4]), host[[0, -1, 2], 1:4])
    np.testing.assert_array_equal(cp.asnumpy(a[a > 50]), host[host > 50])
    a[a > 50] = -1
    host[host > 50] = -1
    np.testing.assert_array_equal(cp.asnumpy(a), host)


def test_reductions_and_scans() -> None:
    host = R.random((7, 9))
    a = cp.asarray(host)
    for name in ("sum", "mean", "max", "argmin", "var", "cumsum"):
        got, want = getattr(a, name)(axis=1), getattr(host, name)(axis=1)
        np.testing.assert_allclose(cp.asnumpy(got), want, rtol=1e-12)


def test_the_same_random_stream_every_time() -> None:
    first = cp.asnumpy(cp.random.default_rng(5).standard_normal(10))
    rng = cp.random.default_rng(5)
    np.testing.assert_array_equal(cp.asnumpy(rng.standard_normal(10)), first)
    assert not np.array_equal(cp.asnumpy(rng.standard_normal(10)), first)  # the state has advanced


def test_filters_and_special_functions() -> None:
    from cuprous.scipy.ndimage import gaussian_filter
    from cuprous.scipy.special import erf

    image = cp.zeros((32, 32))
    image[16, 16] = 1
    assert float(gaussian_filter(image, 2).sum()) == pytest.approx(1, rel=1e-6)
    assert float(erf(cp.asarray([0.5]))[0]) == pytest.approx(0.5204998778130465, rel=1e-12)


def test_memory_is_shared_with_numpy_where_it_lies_on_the_host() -> None:
    if cp._core.get_device() != "cpu":
        pytest.skip("the arrays are on a GPU")
    a = cp.arange(5)
    shared = np.from_dlpack(a)
    a += 10
    assert float(a.sum()) == 60
    np.testing.assert_array_equal(shared, [10, 11, 12, 13, 14])


def test_numpy_reads_arrays_unless_transfers_are_refused() -> None:
    assert np.asarray(cp.ones(3)).tolist() == [1, 1, 1]
    with cp.set_transfers("refuse"), pytest.raises(TypeError):
        np.asarray(cp.ones(3))


def test_errors_come_at_the_call_and_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"\(3,\).*\(4,\)"):
        cp.ones(3) + cp.ones(4)
