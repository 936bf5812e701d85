"""Tests `cp.estimate`: its counts, its lack of side effects, and its output."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
import cuprous.torch as torch
from cuprous import _core, cuda
from cuprous._tools.charts import times
from tests.robust.helpers import output

N = 1000


def array(*shape: int, dtype: str = "float32") -> Any:
    return cp.asarray(np.random.default_rng(0).random(shape).astype(dtype))


@pytest.mark.parametrize(
    ("function", "shapes", "flops", "read", "written"),
    [
        (lambda a: a * 2 + 1, [(N,)], 2 * N, 4 * N, 4 * N),
        (lambda a, b: a @ b, [(20, 30), (30, 40)], 2 * 20 * 30 * 40, 4 * (600 + 1200), 4 * 800),
        (lambda a: a.sum(), [(N,)], N, 4 * N, 4),
        (lambda a: a[::2] + a[1::2], [(N,)], None, 4 * N, 2 * N),
        (lambda a: a[:-2] + a[1:-1] + a[2:], [(N,)], 2 * (N - 2), 4 * N, 4 * (N - 2)),
        (lambda a, b: a + b, [(10, N), (N,)], 10 * N, 4 * 11 * N, 40 * N),
        (lambda a: cp.sort(a), [(N,)], None, 4 * N, 4 * N),
        (lambda a: cp.fft.fft(a.astype("complex64")), [(1024,)], None, None, None),
        (lambda a, b: cp.linalg.solve(a, b), [(50, 50), (50, 2)], None, None, None),
        (lambda a: a.cumsum(), [(N,)], None, 4 * N, 4 * N),
    ],
)
def test_work_is_counted(function: Any, shapes: Any, flops: Any, read: Any, written: Any) -> None:
    got = cp.estimate(function, *(array(*shape) for shape in shapes))
    assert flops is None or got.flops == flops
    assert read is None or got.bytes_read == read
    assert written is None or got.bytes_written == written
    assert got.flops > 0
    assert got.cpu.seconds > 0
    assert got.upload == sum(4 * math.prod(shape) for shape in shapes)


def test_pending_work_stays_as_it_is() -> None:
    x = array(N)
    cp.synchronize()
    pending = x * 3
    before = _core.stats()
    assert cp.estimate(lambda a: cp.exp(a) + 1, x).ran == 0
    after = _core.stats()
    assert before["planned"] + before["replayed"] == after["planned"] + after["replayed"]
    np.testing.assert_array_equal(pending.get(), x.get() * np.float32(3))


def test_pending_reads_come_before_the_functions_writes() -> None:
    x = array(N)
    old = x.get()
    pending = x * 3

    def write(a: Any) -> None:
        a += 1

    cp.estimate(write, x)
    np.testing.assert_array_equal(pending.get(), old * np.float32(3))
    np.testing.assert_array_equal(x.get(), old + np.float32(1))


def test_values_on_the_host_end_programs() -> None:
    def half(a: Any) -> Any:
        while float(a.max()) > 0.2:
            a = a / 2
        return a

    got = cp.estimate(half, array(N))
    assert got.ran >= 3
    assert len(got.programs) >= 3
    assert got.upload == 4 * N


def test_a_failing_function_leaves_nothing_behind() -> None:
    with pytest.raises(ZeroDivisionError):
        cp.estimate(lambda a: (a + 1, 1 // 0), array(N))
    assert cp.estimate(lambda a: a + 1, array(N)).flops == N


def test_values_kept_by_a_function_are_computed() -> None:
    kept = []
    cp.estimate(lambda a: kept.append(a + 1), cp.ones(3))
    np.testing.assert_array_equal(kept[0].get(), [2, 2, 2])


def test_a_training_step() -> None:
    layer = torch.nn.Linear(10, 2)
    optimizer = torch.optim.Adam(layer.parameters())
    x = torch.randn(64, 10)

    def step() -> Any:
        loss = layer(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    got = cp.estimate(step, device="H200", repeats=1000)
    assert got.gpu is not None
    assert got.gpu.name == "H200 SXM"
    assert got.flops >= 2 * 2 * 64 * 10 * 2
    assert got.launches >= 2


def test_user_kernels_are_named() -> None:
    @cuda.jit
    def twice(a):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < a.size:
            a[i] *= 2

    got = cp.estimate(lambda a: twice[4, 256](a), array(N))
    assert got.own_kernels == 1
    assert "kernels of your own" in repr(got)


def test_gpus_without_float64_are_refused_for_it() -> None:
    x = cp.ones(1000)
    for gpu in ("Apple M1 Max", "Arc A770"):
        with pytest.raises(ValueError, match=rf"{gpu} cannot compute in float64; use float32"):
            cp.estimate(lambda a: a * 2 + 1, x, device=gpu)
        assert cp.estimate(lambda a: a * 2 + 1, x.astype("float32"), device=gpu).speedup > 0


def test_listed_devices_and_the_recommendation() -> None:
    a = array(512, 512)
    got = cp.estimate(lambda x: x @ x, a, device=("EPYC 9654", "h100 sxm"), repeats=10, startup=0.4)
    assert got.gpu is not None
    assert (got.cpu.name, got.gpu.name) == ("EPYC 9654", "H100 SXM")
    assert not got.cpu.measured
    assert got.total_gpu is not None
    assert got.total_gpu > 0.4
    assert got.bound == "startup"
    assert "The CPU is faster" in got.sentence
    assert "H100 SXM" in repr(got)
    more = cp.estimate(lambda x: x @ x, a, device="h100 sxm", repeats=int(got.break_even_repeats or 0) + 10**7)
    assert more.speedup is not None
    assert more.speedup > 1


def test_measured_beside_estimated() -> None:
    got = cp.estimate(lambda a: a * 2 + 1, array(N), measure=True)
    assert got.measured is not None
    assert got.measured > 0
    assert f"measured on {got.measured_on}" in repr(got)


def waits() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("arguments", "options", "error", "named"),
    [
        ((3,), {}, TypeError, "function"),
        ((abs, 1), {"device": "voodoo"}, ValueError, "voodoo"),
        ((abs, 1), {"device": ("h100 sxm", "l4")}, ValueError, "both GPUs"),
        ((abs, 1), {"repeats": 0}, ValueError, "repeats"),
        ((abs, 1), {"repeats": float("nan")}, ValueError, "repeats"),
        ((abs, 1), {"repeats": "3"}, TypeError, "repeats"),
        ((waits,), {}, TypeError, "generator"),
        ((abs, 1), {"startup": -1.0}, ValueError, "start-up"),
        ((abs, 1), {"device": 1.5}, TypeError, "device"),
    ],
)
def test_bad_arguments_are_named(arguments: Any, options: Any, error: Any, named: str) -> None:
    with pytest.raises(error, match=named):
        cp.estimate(*arguments, **options)


def test_empty_estimate_says_why() -> None:
    got = cp.estimate(np.sqrt, np.ones(3))
    assert (got.flops, got.programs, got.cpu.seconds) == (0, (), 0)
    assert "0 operations" in repr(got) and "cuprous.asarray" in repr(got)


def test_estimates_do_not_nest() -> None:
    with pytest.raises(RuntimeError, match="another estimate"):
        cp.estimate(lambda: cp.estimate(abs, 1))
    assert cp.estimate(abs, 1).flops == 0


def test_a_stale_file_is_ignored_with_one_hint(tmp_path: Any) -> None:
    (tmp_path / "machine.json").write_text("{}")
    code = """
    import warnings
    import cuprous as cp
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            got = cp.estimate(lambda: cp.ones(9) + 1)
    print(len(seen), "cuprous calibrate" in str(seen[0].message), got.cpu.measured)
    """
    assert output(code, CUPROUS_CACHE_DIR=str(tmp_path)) == "1 True False"


def test_the_simple_formula() -> None:
    """The two worked examples of the article that the formula is from."""
    network = cp.estimate_simple(
        "10,000 GFLOP", "1 GB", cpu_rate="400 GFLOPS", gpu_rate="12.5 TFLOPS", bandwidth="8 GB/s", startup="375 ms"
    )
    assert (network.cpu_seconds, network.gpu_seconds) == (25.0, pytest.approx(1.3))
    assert (network.compute, network.copies, network.startup) == (0.8, 0.125, 0.375)
    assert network.sentence == "The GPU is 19.2x faster by the simple formula."
    assert "400 GFLOPS as given" in repr(network)
    paths = cp.estimate_simple(1.2e14, cpu_rate=4e11, gpu_rate="30 TFLOPS", startup=0.5)
    assert (paths.cpu_seconds, paths.gpu_seconds) == (300.0, 4.5)
    assert "66.7x" in paths.sentence
    assert "CPU 5 min 0 s (" in repr(paths)
    listed = cp.estimate_simple("10T", "1GB", cpu="i7-10700K", gpu="RTX 3080")
    assert listed.speedup > 1
    assert listed.figures[1] == "RTX 3080, the peak of data sheets"


@pytest.mark.parametrize(
    ("quantities", "named"),
    [
        ({"flops": "10,000"}, "write 10,000 GFLOP"),
        ({"flops": "1,5 TFLOP"}, "1.5"),
        ({"flops": 1e9, "data": "1 gb"}, "B a byte"),
        ({"flops": 1e9, "cpu_rate": "400"}, "cpu_rate: .*write 400 GFLOPS"),
        ({"flops": 1e9, "startup": "3 GB"}, "startup: .*3 s"),
        ({"flops": -1.0}, "operations"),
        ({"flops": 1e9, "gpu": "voodoo"}, "voodoo"),
        ({"flops": 1e9, "gpu": "rtx"}, "RTX 3080, RTX 3090"),
    ],
)
def test_ambiguous_quantities_raise(quantities: dict[str, Any], named: str) -> None:
    given = {"cpu_rate": 4e11, "gpu_rate": 1e13, "bandwidth": 8e9} | quantities
    with pytest.raises(ValueError, match=named):
        cp.estimate_simple(**given)
    with pytest.raises(TypeError, match="data must be a number or text"):
        cp.estimate_simple(1e9, None)  # type: ignore[arg-type]


def test_a_name_that_fits_several_devices_is_refused() -> None:
    with pytest.raises(ValueError, match="use one of H100 PCIe, H100 SXM"):
        cp.estimate(lambda a: a + 1, array(N), device="h100")


def test_timeit_waits_for_what_is_computed() -> None:
    """A clock around the call alone would only measure the recording, which takes microseconds."""
    a = array(1 << 22)
    got = cp.timeit(lambda x: cp.exp(x) + 1, a, repeat=3)
    assert (len(got.runs), got.best) == (3, min(got.runs))
    assert got.best > 32 * (1 << 20) / (1e12 if cp.get_device() == "cpu" else 1e13)  # the bandwidth of caches
    assert "a call, computed (median of 3 runs of" in repr(got)
    assert cp.timeit(sum, [1, 2], repeat=1, number=2, kwargs={"start": 1}).number == 2
    for wrong in ({"repeat": 0}, {"number": 0}):
        with pytest.raises(ValueError, match="1 or more"):
            cp.timeit(len, [], **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="function"):
        cp.timeit(a)  # type: ignore[arg-type]


def test_the_range_stands_beside_the_speedup() -> None:
    got = cp.estimate(lambda a: a @ a, cp.ones((1000, 1000)), device="H200")
    low, high = got.speedup_range or (0, 0)
    assert low < (got.speedup or 0) < high
    assert repr(got).endswith(got.range_text()) and f"{times(low)} and {times(high)}," in got.range_text()
    assert "may lie between" not in repr(cp.estimate(lambda a: a @ a, cp.ones((10, 10)), device="cpu"))


def test_what_was_measured_and_what_is_on_paper_is_said() -> None:
    from cuprous._tools.estimate import _notes
    from cuprous._tools.estimate_result import On

    facts = {"programs": [1], "kernels": 0}
    here, listed = (On(name, 1.0, "memory", name == "here", True) for name in ("here", "H200"))
    assert any(
        "here was measured and H200 is known from data sheets" in note for note in _notes(facts, here, (listed,))
    )
    assert not any("data sheets" in note for note in _notes(facts, here, (here,)))


def test_disturbed_measurements_are_marked() -> None:
    from cuprous._tools.timing import Timing, disturbance

    assert disturbance([1.0, 1.1, 1.2, 1.3, 9.0]) == ""  # one run that was interrupted
    assert disturbance([1.0, 1.1, 2.0, 2.1, 2.2]) == "disturbed: runs differ by 2.1x, so other work may be running"
    assert "disturbed: runs differ" in repr(Timing((1e-3, 3e-3, 3e-3, 3e-3), 1))
    assert "disturbed" not in repr(Timing((1e-3, 1.1e-3), 1))
    pace = iter(range(1, 10_000))

    def uneven(a: Any) -> Any:
        time.sleep(0.01 if next(pace) % 2 else 0.001)
        return a + 1

    got = cp.estimate(uneven, cp.ones(10), measure=True)
    assert got.disturbed and got.disturbed in repr(got)
