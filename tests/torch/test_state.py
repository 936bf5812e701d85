"""Tests process-wide state: random numbers, devices, switches, the profiler, and unsupported parts."""

from __future__ import annotations

import contextlib
import importlib
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import _core
from cuprous.torch._unsupported_parts import PARTS
from tests.conftest import DEVICE
from tests.robust.helpers import output

GPU = torch.cuda.is_available()


def test_random_state() -> None:
    torch.manual_seed(5)
    first = torch.rand(3).tolist()
    state = torch.get_rng_state()
    second = torch.rand(3).tolist()
    torch.set_rng_state(state)
    assert torch.rand(3).tolist() == second
    with torch.random.fork_rng():
        torch.rand(7)
    third = torch.rand(3).tolist()
    torch.manual_seed(5)
    assert [torch.rand(3).tolist() for _ in range(3)] == [first, second, third]
    assert torch.initial_seed() == torch.cuda.initial_seed() == 5
    torch.cuda.manual_seed_all(5)
    assert torch.rand(3).tolist() == first
    one, two = torch.Generator().manual_seed(9), torch.Generator()
    two.set_state(one.get_state())
    assert torch.randn(4, generator=one).tolist() == torch.randn(4, generator=two).tolist()
    assert one.initial_seed() == 9 and torch.seed() != torch.seed()


def test_devices() -> None:
    assert torch.cuda.device_count() == torch.accelerator.device_count()
    assert (torch.accelerator.current_accelerator() is None) != GPU
    with torch.device("cpu"):
        assert torch.ones(1).device.type == "cpu"
    assert torch.cuda.memory_allocated() >= 0 and "MiB" in torch.cuda.memory_summary()
    assert torch.cuda.memory_reserved() == torch.cuda.memory_cached() >= torch.cuda.memory_allocated()
    torch.cuda.empty_cache()
    with pytest.raises(RuntimeError):
        torch.cuda.set_device(99)
    for call in (lambda: torch.device(-1), lambda: torch.device("cuda", -1), lambda: torch.ones(1).to(-1)):
        with pytest.raises(RuntimeError, match="index must not be negative"):
            call()
    with pytest.raises(RuntimeError, match="must be cuda"):
        torch.ones(1).cuda(torch.device("cpu"))
    if not GPU:
        with pytest.raises(RuntimeError, match=r"GPU|driver"):
            torch.cuda.current_device()
        assert not torch.cuda.is_bf16_supported()
    else:
        properties = torch.cuda.get_device_properties(0)
        assert properties.name == torch.cuda.get_device_name() and properties.multi_processor_count > 0
        free, total = torch.cuda.mem_get_info()
        assert 0 < free <= total and torch.cuda.get_device_capability() == (properties.major, properties.minor)
        before = torch.cuda.memory_allocated()
        x = torch.cuda.FloatTensor(1000, 1000).fill_(1)
        torch.cuda.synchronize()
        assert torch.cuda.memory_allocated() >= before + 4_000_000 and x.is_cuda
        assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated()
        with torch.cuda.device(0):
            assert torch.cuda.current_device() == 0


def test_peaks_of_memory_begin_anew() -> None:
    x = torch.ones(1 << 20, device=DEVICE)
    float((x * 2).sum())
    float(x.cumsum(0)[-1])
    del x
    assert _core.memory_stats(DEVICE)["peak_bytes"] > _core.memory_stats(DEVICE)["used_bytes"] + (1 << 20)
    _core.reset_peak_memory(DEVICE)
    stats = _core.memory_stats(DEVICE)
    assert stats["peak_bytes"] == stats["used_bytes"]
    torch.cuda.reset_peak_memory_stats()
    if GPU:
        assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()


def test_streams_and_events() -> None:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with pytest.raises(ValueError, match="recorded"):
        begin.elapsed_time(end)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() is stream
        begin.record()
        x = torch.rand(100, 100) @ torch.rand(100, 100)
        end.record(stream)
    stream.wait_stream(torch.cuda.default_stream())
    torch.cuda.synchronize()
    assert begin.elapsed_time(end) >= 0 and end.query() and torch.cuda.current_stream() is not stream
    assert float(x.sum()) > 0
    with pytest.raises(ValueError, match="enable_timing"):
        begin.elapsed_time(torch.cuda.Event())


def test_switches() -> None:
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    with torch.backends.cudnn.flags(enabled=False):
        assert not torch.backends.cudnn.enabled
    assert torch.backends.cudnn.enabled and torch.backends.cudnn.version() is None
    assert not torch.backends.mps.is_available() and torch.backends.cuda.is_available() == GPU
    with pytest.raises(AttributeError, match="no flag"):
        torch.backends.cudnn.benchmrk = True
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    with pytest.raises(ValueError):
        torch.set_float32_matmul_precision("low")
    torch.ones(2).sum().item()
    torch.set_num_threads(torch.get_num_threads())
    with pytest.raises(RuntimeError, match="RAYON_NUM_THREADS"):
        torch.set_num_threads(torch.get_num_threads() + 1)


def test_threads_are_set_before_the_first_computation() -> None:
    code = "import cuprous.torch as torch; torch.set_num_threads(1); print(torch.get_num_threads())"
    assert output(code) == "1"


def test_importing_takes_no_numpy() -> None:
    """Other slow modules are also imported only when they are used."""
    names = "{'numpy', 'inspect', 'ctypes', 'pickle'}"
    code = f"import sys; a = set(sys.modules); import cuprous.torch; print(*({names} & (set(sys.modules) - a)))"
    assert output(code) == ""


def test_compiling_changes_nothing() -> None:
    model = torch.nn.Linear(2, 2)
    assert torch.compile(model, mode="reduce-overhead") is model

    @torch.compile(fullgraph=True)
    def f(x: Any) -> Any:
        return x + 1

    assert f(1) == 2 and torch.compile(f) is f and not torch.compiler.is_compiling()
    with pytest.raises(RuntimeError):
        torch.compile(model, mode="default", options={})


def test_unsupported_parts_raise() -> None:
    for part, name in (("onnx", "export"), ("fx", "symbolic_trace"), ("quantization", "quantize_dynamic"),
                       ("jit", "save"), ("cuda", "CUDAGraph"), ("distributed.fsdp", "FullyShardedDataParallel"),
                       ("utils.cpp_extension", "load"), ("", "sparse_bsr_tensor")):  # fmt: skip
        module = importlib.import_module(f"cuprous.torch.{part}".rstrip("."))
        unsupported = getattr(module, name)
        path = f"{part}.{name}".lstrip(".")
        with pytest.raises(NotImplementedError, match=rf"^\[torch.{path}\] is not supported: "):
            unsupported(1, a=2)
        with pytest.raises(NotImplementedError):
            type("Derived", (unsupported,), {})()
        assert not isinstance(3, unsupported) and unsupported | None
        assert not hasattr(module, "no_such_name")
    assert torch.onnx.TrainingMode.EVAL
    assert not torch.jit.is_scripting() and not torch.mps.is_available()
    assert torch.jit.ignore()(len) is torch.jit.ignore(len) is torch.fx.wrap(len) is len


@pytest.mark.parametrize("path", sorted(PARTS))
def test_unsupported_parts_can_be_imported(path: str) -> None:
    module = importlib.import_module(f"cuprous.torch.{path}")
    for name in PARTS[path].names.split():
        assert getattr(module, name)


def test_the_profiler(tmp_path: Path) -> None:
    p = torch.profiler
    traces: list[Any] = []

    @p.record_function("inside")
    def work() -> Any:
        return (torch.rand(50, 50) @ torch.rand(50, 50)).sum()

    with p.profile(activities=[p.ProfilerActivity.CPU], schedule=p.schedule(wait=1, warmup=1, active=2, repeat=1),
                   on_trace_ready=traces.append) as prof:  # fmt: skip
        for _ in range(6):
            with p.record_function("step"):
                work()
                time.sleep(0.002)
            prof.step()
    assert traces == [prof]
    rows = {row.key: row for row in prof.key_averages()}
    assert {name: row.count for name, row in rows.items()} == {"inside": 2, "step": 2, "ProfilerStep*": 2}
    assert rows["ProfilerStep*"].cpu_time_total >= rows["step"].cpu_time_total >= 4000
    assert rows["step"].cpu_time_total > rows["inside"].cpu_time_total > 0 <= rows["inside"].device_time_total
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=2)
    assert "ProfilerStep*" in table and "inside" not in table
    p.tensorboard_trace_handler(str(tmp_path))(prof)
    (path,) = tmp_path.glob("*.pt.trace.json")
    events = json.loads(path.read_text())["traceEvents"]
    assert {e["name"] for e in events} >= {"inside", "ProfilerStep#2"}
    # Ranges are nested in their steps, and steps do not overlap.
    spans = {e["name"]: (e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["cat"] == "part"}
    last = spans["ProfilerStep#3"]
    assert last[0] - 1 <= spans["step"][0] <= spans["inside"][0] + 1 <= spans["inside"][1] + 2 <= last[1] + 3
    assert spans["ProfilerStep#2"][1] <= last[0] + 1
    # Device work starts within a step (on a GPU also shortly after it was submitted) and counts for it.
    ran = [e["ts"] for e in events if e["ph"] == "X" and e["pid"] > 1]
    assert any(spans["inside"][0] <= at <= spans["step"][1] for at in ran)
    assert rows["inside"].device_time_total > 0 and prof.profile.total.launches >= 2
    with p.profile() as whole:
        work()
    assert [row.key for row in whole.key_averages()] == ["inside", "ProfilerStep*"]
    with pytest.raises(RuntimeError, match="cannot be nested"), p.profile(), p.profile():
        pass
    with pytest.raises(RuntimeError, match="nothing has been recorded"):
        p.profile().export_chrome_trace("x.json")
    with pytest.raises(NotImplementedError, match="with_stack"):
        p.profile(with_stack=True)
    with p.record_function("outside of any profile"):
        work()


@contextlib.contextmanager
def deterministic(**more: bool) -> Iterator[None]:
    torch.use_deterministic_algorithms(True, **more)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


#: A device where deterministic mode makes a difference.
UNORDERED = DEVICE if DEVICE != "cpu" else _core.stand_in_device()


def test_deterministic_mode_reports_what_has_no_order() -> None:
    x, index, one = (torch.zeros(3, device=UNORDERED), torch.tensor([0, 0, 2], device=UNORDERED),
                     torch.ones(3, device=UNORDERED))  # fmt: skip
    asked = [lambda: torch.cumsum(one, 0), lambda: x.scatter_reduce(0, index, one, "prod")]
    with deterministic():
        assert torch.are_deterministic_algorithms_enabled()
        assert not torch.is_deterministic_algorithms_warn_only_enabled()
        for ask in asked:
            with pytest.raises(RuntimeError, match="does not have a deterministic implementation"):
                ask()
        torch.zeros(3, dtype=torch.int64, device=UNORDERED).scatter_reduce(0, index, index, "prod")
        torch.cumsum(one.cpu(), 0)
        table = torch.zeros(4, 2, device=UNORDERED).requires_grad_(True)
        torch.nn.functional.embedding(index, table).sum().backward()
        assert table.grad.tolist() == [[2, 2], [0, 0], [1, 1], [0, 0]]
    with deterministic(warn_only=True):
        for ask in asked:
            with pytest.warns(UserWarning, match="does not have a deterministic implementation"):
                ask()
    for wrong in (1, "yes", None):
        with pytest.raises(TypeError, match="must be bool"):
            torch.use_deterministic_algorithms(wrong)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.complex64])
@pytest.mark.parametrize(("n", "places"), [(1, 1), (7, 3), (1000, 1), (1000, 7), (333, 333)])
def test_deterministic_sums_of_equal_indices(n: int, places: int, dtype: Any) -> None:
    random = np.random.default_rng(n + places)
    at, values = random.integers(0, places, n), random.standard_normal(n)
    want = np.zeros(places)
    np.add.at(want, at, values)
    weights = np.arange(1.0, places + 1)
    index = torch.tensor(at, device=UNORDERED)
    with deterministic():
        results = []
        for _ in range(2):
            given = torch.tensor(values, device=UNORDERED).to(dtype).requires_grad_(True)
            x = torch.zeros(places, dtype=dtype, device=UNORDERED).requires_grad_(True)
            y = x.scatter_add(0, index, given)
            (y * torch.tensor(weights, device=UNORDERED).to(dtype)).real.sum().backward()
            results.append((y, x.grad, given.grad))
    for one, other in zip(*results, strict=True):
        assert one.tolist() == other.tolist()
    y, of_x, of_given = (np.asarray(t.detach().cpu().to(torch.complex64).numpy()) for t in results[0])
    # Pairs are added in float32; the result of float16 is rounded, as the values are.
    np.testing.assert_allclose(y, want, atol=(2e-3 * np.abs(values).sum() if dtype == torch.float16 else 1e-4))
    np.testing.assert_allclose(of_x, weights, rtol=1e-3)
    np.testing.assert_allclose(of_given, weights[at], rtol=1e-3)


def test_deterministic_sums_of_other_functions() -> None:
    x, index = torch.zeros(3, 4, device=UNORDERED).t(), torch.tensor([0, 1, 0], device=UNORDERED)
    two, rows = torch.tensor(2.0, device=UNORDERED), torch.ones(3, 3, device=UNORDERED)
    infinite = torch.tensor([float("inf"), 1.0, 1.0], device=UNORDERED)
    calls = [
        lambda: x.index_add(0, index, rows, alpha=3), lambda: x.index_put((index,), two, accumulate=True),
        lambda: x.scatter_reduce(0, index[:, None], two.expand(3, 1), "sum"),
        lambda: x.index_add(0, index[:0], rows[:0]),
        lambda: torch.zeros(3, device=UNORDERED).scatter_add(0, index, infinite),
        lambda: torch.nn.functional.embedding_bag(index, rows, torch.tensor([0, 2], device=UNORDERED), mode="sum"),
        lambda: torch.bincount(index, weights=infinite),
    ]  # fmt: skip
    usual = [call().tolist() for call in calls]
    with deterministic():
        assert [call().tolist() for call in calls] == usual


def test_one_hint_where_cudnn_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuprous.torch.nn import _cudnn_hint

    device = DEVICE if DEVICE != "cpu" else _core.stand_in_device()
    monkeypatch.setattr(_cudnn_hint, "_warned", False)
    monkeypatch.setattr(_cudnn_hint, "_core", SimpleNamespace(has_cudnn=lambda: False))
    conv, x = torch.nn.Conv1d(2, 3, 3), torch.ones(1, 2, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = conv.cpu()(x.cpu())
    with pytest.warns(UserWarning, match=r'pip install "cuprous\[cudnn\]"'):
        got = conv.to(device)(x.to(device))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conv(x.to(device))
    assert torch.allclose(got.cpu(), expected, rtol=1e-5, atol=1e-6)
