"""Tests engine behavior that needs a GPU: replay tiers, out of memory, copies, streams and events."""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.simulated import is_simulated

R = np.random.default_rng(0)


def stats(*names: str) -> tuple[int, ...]:
    cp._core.synchronize()
    counters = cp._core.stats()
    return tuple(counters[name] for name in names)


def test_arrays_are_on_the_gpu() -> None:
    x = cp.ones(3)
    name, number = ("cuda:0", 2) if cp._core.hip_version() is None else ("hip:0", 10)
    assert x.device_name == name
    assert x.__dlpack_device__()[0] == number


def test_the_tiers_of_replay() -> None:
    """The first run plans, the second launches, the third builds a graph, and later runs launch the graph."""
    x = cp.asarray(R.random(1001))
    # Pending work of an earlier test would be part of the first program.
    cp._core.synchronize()

    def sums(y: Any, np_like: Any) -> Any:
        """Cumulative sums, which are no single kernel; HIP gets a graph from ten kernels on."""
        for _ in range(12):
            y = np_like.cumsum(y) / 500
        return y

    def step(k: float) -> float:
        y = sums(x * k, cp)
        z = cp.exp(-y).sum()
        return float(z + (y * y).max())

    first = step(1.0)
    (planned,) = stats("planned")
    for _ in range(3):
        assert step(1.0) == pytest.approx(first, rel=1e-12)
    (graphs,) = stats("graph_launches")
    for k in (2.0, 3.0, 4.0, 5.0, 6.0):
        host = sums(cp.asnumpy(x) * k, np)
        assert step(k) == pytest.approx(np.exp(-host).sum() + (host * host).max(), rel=1e-12)
    planned_after, graphs_after = stats("planned", "graph_launches")
    assert graphs_after - graphs >= 4, "the graph is not used"
    # `cp.asnumpy(x)` reads existing data and plans nothing.
    assert planned_after == planned


def test_a_kernel_is_compiled_once() -> None:
    """Kernels do not contain extents, so other lengths are planned again without compiling."""
    cp._core.synchronize()

    # pytest keeps parts of an asserted expression alive, and live arrays are stored, which gives another kernel.
    def total(n: int) -> float:
        return float((cp.ones(n) * 3 + 0.125).sum())

    assert [total(n) for n in (200_001, 300_001)] == [625_003.125, 937_503.125]
    (compiled,) = stats("kernels_compiled")
    assert [total(n) for n in (210_001, 250_003, 290_005)] == [656_253.125, 781_259.375, 906_265.625]
    (after,) = stats("kernels_compiled")
    assert after == compiled


def test_function_calls_preserve_registers() -> None:
    """NVIDIA's assembler overwrote registers in double divisions of a kernel with too few registers."""
    n = R.integers(-2, 3, (7, 3))
    y = R.uniform(-4, 4, (7, 3))
    a, b = cp.asarray(n), cp.asarray(y)
    s, r = cp.arcsinh(a), cp.rint(b)
    v = s.var()
    np.testing.assert_array_equal(cp.asnumpy(r), np.rint(y))
    assert float(v) == pytest.approx(np.arcsinh(n).var(), rel=1e-12)


def test_out_of_memory_is_raised_and_the_program_goes_on() -> None:
    total = cp._core.memory_stats("cuda").get("device_bytes") or 1 << 42
    kept = cp.arange(1000.0)
    with pytest.raises(MemoryError) as raised:
        huge = cp.ones((max(total, 1 << 42) // 8,), dtype=cp.float64) + kept[0]
        cp._core.synchronize()
        del huge
    text = str(raised.value)
    assert "requested" in text
    assert isinstance(raised.value, cp.cuda.OutOfMemoryError)
    assert float((kept * 2).sum()) == 999_000.0


def test_a_limit_on_the_pool() -> None:
    gc.collect()
    cp._core.synchronize()
    cp._core.trim_memory("cuda")
    used = cp._core.memory_stats("cuda")["used_bytes"]
    cp._core.set_memory_limit("cuda", used + (64 << 20))
    with pytest.raises(MemoryError, match="limit"):
        arrays = [cp.asarray(np.full(1 << 20, float(n))) for n in range(40)]  # 320 MiB
        del arrays
    gc.collect()
    assert float((cp.ones(1 << 20) * 2).sum()) == 2.0 * (1 << 20)
    cp._core.set_memory_limit("cuda", 0)
    many = [cp.asarray(np.full(1 << 20, float(n))) for n in range(40)]
    assert float(sum(a[0] for a in many)) == sum(range(40))


def test_freed_memory_is_used_again() -> None:
    size = 1 << 18 if is_simulated() else 1 << 22

    def work() -> None:
        x = cp.ones(size) * 2
        for _ in range(20):
            x = cp.sin(x) + x[::-1]
        cp._core.synchronize()

    work()
    before = cp._core.memory_stats("cuda")["total_bytes"]
    for _ in range(10):
        work()
    assert cp._core.memory_stats("cuda")["total_bytes"] <= before * 1.2


def test_trim_gives_memory_back() -> None:
    x = cp.ones(1 << 26)
    cp._core.synchronize()
    del x
    gc.collect()
    cp._core.trim_memory("cuda")
    assert cp._core.memory_stats("cuda")["free_bytes"] < 1 << 26


@pytest.mark.parametrize("n", [1, 1000, (1 << 20) + 3, (64 << 20) + 17])
def test_pageable_copies_both_ways(n: int) -> None:
    host = R.integers(0, 256, n, dtype=np.uint8)
    device = cp.asarray(host)
    want = host.copy()
    host[:] = 0  # the copy must not see this write
    np.testing.assert_array_equal(cp.asnumpy(device), want)
    np.testing.assert_array_equal(cp.asnumpy(device[::-1]), want[::-1])


def test_strided_and_transposed_copies() -> None:
    host = R.random((300, 200))
    np.testing.assert_array_equal(cp.asnumpy(cp.asarray(host.T[::2])), host.T[::2])
    device = cp.asarray(host)
    np.testing.assert_array_equal(cp.asnumpy(device.T[5:, ::-3]), host.T[5:, ::-3])


def test_between_devices() -> None:
    host = R.random(1000)
    on_gpu = cp.asarray(host)
    on_cpu = cp._core.to_device(on_gpu * 2, "cpu")
    assert on_cpu.device_name == "cpu"
    np.testing.assert_array_equal(cp.asnumpy(cp._core.to_device(on_cpu + 1, "cuda")), host * 2 + 1)
    with pytest.raises((ValueError, TypeError, RuntimeError), match=r"(?i)device|cpu"):
        cp.asnumpy(on_cpu + on_gpu)


def test_arrays_of_a_second_gpu_say_so() -> None:
    if cp.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one GPU")
    with cp.cuda.Device(1):
        x = cp.arange(1000.0)
        y = (x[x > 500] * 2).sum() + x[[3, 4]].sum()
    assert x.device == y.device == cp.cuda.Device(1)
    assert float(y) == 2 * sum(range(501, 1000)) + 7
    assert x.__dlpack_device__() == (2, 1)
    assert x.to_device("cuda:1") is x
    here = x.to_device("cuda:0")
    assert here.device == cp.cuda.Device(0)
    np.testing.assert_array_equal(here.get(), np.arange(1000.0))
    with pytest.raises(RuntimeError, match=r"arrays on cuda:[01]"):
        here + x


def test_events_measure_time() -> None:
    start, end = cp.cuda.Event(), cp.cuda.Event()
    x = cp.ones((512, 512))
    begin = time.perf_counter()
    start.record()
    for _ in range(10):
        x = x @ x * 1e-3
    end.record()
    end.synchronize()
    assert end.done
    assert 0.01 < cp.cuda.get_elapsed_time(start, end) < (time.perf_counter() - begin) * 1000


def test_streams() -> None:
    stream = cp.cuda.Stream(non_blocking=True)
    assert stream.ptr
    with stream:
        x = cp.arange(100.0) * 2
    stream.synchronize()
    assert float(x.sum()) == 9900
    assert stream.done


def test_every_kind_of_kernel_at_sizes_around_its_blocks() -> None:
    for n in (1, 31, 32, 33, 127, 255, 256, 257, 1023, 1024, 1025, 4097, 65_537):
        host = R.random(n)
        x = cp.asarray(host)
        assert float(x.sum()) == pytest.approx(host.sum(), rel=1e-12)
        assert float(x.max()) == host.max()
        assert int(x.argmin()) == host.argmin()
        np.testing.assert_allclose(cp.asnumpy(cp.cumsum(x)), np.cumsum(host), rtol=1e-12)
        np.testing.assert_array_equal(cp.asnumpy(cp.sort(x)), np.sort(host))


def test_reductions_along_each_axis_at_odd_sizes() -> None:
    for shape in ((3, 1000), (1000, 3), (129, 257), (7, 11, 13), (1, 5000), (5000, 1)):
        host = R.random(shape)
        x = cp.asarray(host)
        for axis in range(len(shape)):
            np.testing.assert_allclose(cp.asnumpy(x.sum(axis=axis)), host.sum(axis=axis), rtol=1e-12)
            np.testing.assert_allclose(cp.asnumpy(x.var(axis=axis)), host.var(axis=axis), rtol=1e-10, atol=1e-15)


def test_results_are_the_same_run_after_run() -> None:
    x = cp.asarray(R.random(1_000_003))
    sums = {float((cp.sin(x) * x).sum()) for _ in range(10)}
    assert len(sums) == 1


def test_random_streams_equal_the_cpus() -> None:
    def draw() -> list[np.ndarray]:
        rng = cp.random.default_rng(11)
        return [cp.asnumpy(a) for a in (rng.random(1001), rng.standard_normal(1001), rng.integers(0, 9, 1001))]

    on_gpu = draw()
    cp._core.set_device("cpu")
    for gpu, cpu in zip(on_gpu, draw(), strict=True):
        np.testing.assert_allclose(gpu, cpu, rtol=1e-14, atol=1e-300)


def test_a_program_keeps_the_shared_memory_that_it_asked_for() -> None:
    """The kernel of a larger matrix runs again after a smaller matrix was planned."""
    for n in (70, 40, 70, 60, 70):
        a = R.random((n, 20)) + 1j * R.random((n, 20))
        q, r = cp.linalg.qr(cp.asarray(a))
        np.testing.assert_allclose(cp.asnumpy(q) @ cp.asnumpy(r), a, atol=1e-12)


def test_writes_of_long_correlations_stay_inside() -> None:
    """Weights longer than a launch takes, far from outputs at the end of a line."""
    from cuprous.scipy import ndimage

    for n in (58, 125, 300):
        after = cp.zeros(1000)
        x, weights = R.random((n, 3)), R.random(249) / 249
        got = ndimage.correlate1d(cp.asarray(x), cp.asarray(weights), 0)
        padded = np.pad(x, ((124, 124), (0, 0)), "symmetric")
        want = [[np.dot(padded[i : i + 249, c], weights) for c in range(3)] for i in range(n)]
        np.testing.assert_allclose(cp.asnumpy(got), want, rtol=1e-10)
        assert not cp.asnumpy(after).any()
