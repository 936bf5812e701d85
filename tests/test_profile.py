"""Tests `cp.profile`: exact counts, correct source lines, and profiles of whole scripts."""

from __future__ import annotations

import functools
import itertools
import json
import os
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
import cuprous.torch as torch
from cuprous import cuda
from cuprous._tools.profile_rows import ProfileRow
from tests.conftest import DEVICE
from tests.robust.stand_ins import compiled
from tests.support import assert_errors

SOURCE = Path(__file__).read_text().splitlines()


def line_of(mark: str) -> int:
    """Returns the line of this file that ends with that comment."""
    return next(k for k, line in enumerate(SOURCE, 1) if line.endswith(f"# {mark}"))


def rows(p: cp.profile) -> dict[int, ProfileRow]:
    return {row.line: row for row in p.rows if row.file == __file__}


def fresh() -> Callable[[Any], Any]:
    """Returns a function whose program is new: its constant is a shape."""
    n = next(NUMBERS)
    return lambda x: x[:n]


NUMBERS = itertools.count(3)


def test_bytes_and_launches_are_exact() -> None:
    host = np.ones(1000, "f4")
    with cp.profile() as p:
        x = cp.asarray(host)  # bytes in
        y = x * 2 + 1  # one kernel
        y.get()  # bytes out
        for k in range(5):
            float(y[k])  # values
    got, total = rows(p), p.total
    assert (got[line_of("bytes in")].bytes_in, got[line_of("bytes in")].copies_in) == (4000, 1)
    assert got[line_of("one kernel")].launches == 1
    assert (got[line_of("bytes out")].bytes_out, got[line_of("bytes out")].copies_out) == (4000, 1)
    assert (got[line_of("values")].bytes_out, got[line_of("values")].copies_out) == (20, 5)
    # On a GPU, reading an element runs a kernel that extracts it and a copy.
    assert (total.bytes_in, total.bytes_out, total.launches) == (4000, 4020, 1 if DEVICE == "cpu" else 6)
    assert total.memory_peak >= 8000
    # Sums of rows are the totals, and no part is longer than the whole.
    for name in ("device_time", "copy_time", "wait_time", "plan_time", "run_time"):
        assert sum(getattr(row, name) for row in p.rows) == pytest.approx(getattr(total, name), abs=1e-12)
    parts = total.run_time + total.plan_time + total.copy_time + total.wait_time
    assert parts + total.python == pytest.approx(total.wall)


def test_cached_programs_have_the_right_lines() -> None:
    def step(x: Any) -> float:
        y = cp.exp(x)  # inner, exp
        return float((y + 3).sum())  # inner, sum

    x = cp.ones(5000)
    for _ in range(3):
        step(x)
    with cp.profile() as p:
        for _ in range(10):
            step(x)
    got = rows(p)
    assert got[line_of("inner, sum")].replayed == 10 and p.total.planned == 0
    assert got[line_of("inner, sum")].launches == 10
    # One kernel of exp | add, sum: a third is the first line's.
    assert got[line_of("inner, exp")].device_time == pytest.approx(p.total.device_time / 3, rel=1e-3)
    assert got[line_of("inner, exp")].function.endswith("step")


def twice(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inside(*args: Any) -> Any:
        function(*args)
        return function(*args)

    return inside


@twice
def decorated(x: Any) -> Any:
    return (x * 5).get()  # decorated


def generated(x: Any) -> Iterator[Any]:
    for k in range(4):
        yield x + k  # generated


def test_lines_in_generators_comprehensions_and_decorated_functions() -> None:
    x = cp.ones(700)
    with cp.profile() as p:
        decorated(x)
        [y.get() for y in generated(x)]  # taken
        cp.stack([cp.sqrt(x) for _ in range(2)]).get()  # listed
        (lambda: (x - 9).get())()  # lambda
    got = rows(p)
    assert {n: got[line_of(n)].launches for n in ("decorated", "generated", "lambda")} == {
        "decorated": 2, "generated": 4, "lambda": 1}  # fmt: skip
    assert got[line_of("taken")].copies_out == 4 and got[line_of("listed")].copies_out == 1


def test_one_program_from_two_lines() -> None:
    x = cp.ones(900)
    with cp.profile() as p:
        for _ in range(3):
            (x * 7).get()  # first of two
            (x * 7).get()  # second of two
    got = rows(p)
    assert [got[line_of(f"{n} of two")].launches for n in ("first", "second")] == [3, 3]


def test_an_exception_in_the_block() -> None:
    p = cp.profile()
    with pytest.raises(ZeroDivisionError), p:
        (cp.ones(10) + 1).get()
        _ = 1 // 0
    assert p.total.copies_out == 1
    with cp.profile() as again:
        pass
    assert again.total.copies_out == 0 and again.rows == []


def test_profiles_do_not_nest() -> None:
    with cp.profile() as p, pytest.raises(RuntimeError, match="cannot be nested"), cp.profile():
        pass
    assert p.total.wall > 0
    waiting = cp.profile()
    for ask in (lambda: waiting.rows, waiting.table, lambda: waiting.save("x.json")):
        with pytest.raises(RuntimeError, match="has not ended"):
            ask()
    with pytest.raises(RuntimeError, match="has not been started"):
        waiting.stop()
    assert str(waiting) == "<cuprous.profile: not ended>"


def test_threads() -> None:
    def one() -> None:
        for _ in range(20):
            (cp.ones(300) * 2).get()  # thread one

    def two() -> None:
        for _ in range(20):
            (cp.ones(400) - 2).get()  # thread two

    with cp.profile() as p:
        threads = [threading.Thread(target=target) for target in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    got = rows(p)
    assert [got[line_of(f"thread {n}")].copies_out for n in ("one", "two")] == [20, 20]
    assert got[line_of("thread one")].launches == got[line_of("thread two")].launches == 20


def test_replanned_programs_and_reasons() -> None:
    x = cp.ones(500)
    shorter = [fresh() for _ in range(6)]
    with cp.profile() as p:
        for cut in shorter:
            (cut(x) * 1.5).get()  # another shape
        for _ in range(4):
            (x * 1.5).get()  # the same shape
    got = rows(p)
    assert (got[line_of("another shape")].planned, got[line_of("another shape")].replayed) == (6, 0)
    assert got[line_of("the same shape")].replayed >= 3
    assert any("with another shape" in reason for reason in got[line_of("another shape")].reasons)


@cuda.jit
def double(x: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


def test_kernels_of_the_user(tmp_path: Path) -> None:
    x = cp.ones(256)
    double[1, 256](x)
    with cp.profile() as p:
        for _ in range(3):
            double[1, 256](x)  # launched
    assert rows(p)[line_of("launched")].launches == p.total.launches == 3
    p.save(tmp_path / "trace.json")
    names = [event["name"] for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]]
    # On a GPU they may have run as one program.
    assert names.count("double") == 3 or cp.get_device() != "cpu"


@pytest.mark.skipif(DEVICE != "cpu", reason="numbers of tracks and steps as the CPU has them; tests/gpu has the GPU's")
def test_the_timeline(tmp_path: Path) -> None:
    x = cp.ones(3000)
    with cp.profile() as p:
        for _ in range(5):
            float((cp.sin(x) + 2).sum())  # in the timeline
    p.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    devices = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    # The number counts the threads that have used the engine before.
    assert [name.rstrip("0123456789") for (pid, _), name in tracks.items() if pid == 1] == ["Python thread "]
    assert tracks[2, 1] == "work" and devices == {1: "host", 2: "cpu"}
    assert all((e["pid"], e["tid"]) in tracks and e["dur"] >= 0 and e["ts"] >= 0 for e in events if e["ph"] == "X")
    steps = [e for e in events if e["ph"] == "X" and e["pid"] == 2]
    line = f"test_profile.py:{line_of('in the timeline')}"
    assert len(steps) == 5 and {e["args"]["line"] for e in steps} == {line} and steps[0]["name"] == "sin, add, sum"
    # An arrow from each submission to what ran, forward in time.
    begins = {e["id"]: e for e in events if e["ph"] == "s" and e["pid"] == 1}
    ends = [e for e in events if e["ph"] == "f"]
    assert len(ends) == 5 and all(begins[e["id"]]["ts"] <= e["ts"] and e["pid"] == 2 for e in ends)
    assert any(e["ph"] == "C" and e["args"]["bytes"] >= 24000 for e in events)
    # Nothing overlaps on one track, unless one lies within the other.
    for track in tracks:
        end = 0.0
        for e in sorted((e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == track), key=lambda e: e["ts"]):
            assert e["ts"] >= end - 0.002
            end = e["ts"] + e["dur"]


def test_the_flame_graph(tmp_path: Path) -> None:
    def deep(x: Any, levels: int) -> float:
        return deep(x, levels - 1) if levels else float(cp.cos(x).sum())  # deep

    with cp.profile() as p:
        for _ in range(20):
            deep(cp.ones(100_000), 3)
    p.save(tmp_path / "flame.svg")
    titles = [e.text or "" for e in ET.parse(tmp_path / "flame.svg").iter("{http://www.w3.org/2000/svg}title")]
    assert sum(f"deep (test_profile.py:{line_of('deep')})" in title for title in titles) >= 4
    assert any("cos, sum (" in title for title in titles)


def test_advice_in_words() -> None:
    x = cp.ones(1_000_000)
    with cp.profile() as p:
        for _ in range(30):
            x.get()  # 8 MB each time
    name = f"test_profile.py:{line_of('8 MB each time')}"
    assert any(said.startswith(f"{name} copies 8.0 MB to the host in each of 30 iterations, 240.0 MB in all")
               for said in p.advice), p.advice  # fmt: skip
    assert name in p.table() and name in str(p) and p.advice[0] in str(p)


def test_the_table() -> None:
    with cp.profile() as p:
        a = cp.asarray(np.ones(10))
        b = a + 1
        b.get()
    text = p.table(limit=1)
    assert "other lines" in text and "in Python and recording" in text
    assert p.table(sort_by="bytes_in").splitlines()[1].startswith("test_profile.py")
    assert_errors(
        (lambda: p.table(sort_by="beauty"), ValueError, "is not a column"),
        (lambda: p.table(limit=-1), ValueError, "negative"),
        (lambda: p.save("/no/such/folder/trace.json"), OSError, ""),
    )


def test_a_profile_changes_no_result() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(40, 50)), rng.normal(size=(50, 30))

    def work() -> Any:
        x, y = cp.asarray(a), cp.asarray(b)
        z = cp.tanh(x @ y)
        z[3:7] += 2
        return (z - z.mean(0)).get()

    plain = work()
    with cp.profile():
        noted = [work() for _ in range(4)]
    assert all(np.array_equal(plain, other) for other in noted)


SCRIPT = """\
import sys
import cuprous as cp
assert __name__ == "__main__"
def work(x):
    return (x * 2).get()
work(cp.ones(1000))
print("arguments", sys.argv[1:])
if "exit" in sys.argv:
    sys.exit(3)
if "words" in sys.argv:
    sys.exit("no such luck")
if "raise" in sys.argv:
    raise ValueError("a fault of the script")
"""


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "cuprous", "profile", *arguments]
    return subprocess.run(line, capture_output=True, text=True, cwd=folder, timeout=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "wrong.py").write_text("def f(:\n")
    return folder


@pytest.mark.parametrize(("how", "code"), [("", 0), ("exit", 3), ("words", 1), ("raise", 1)])
def test_a_script_is_profiled_however_it_ends(folder: Path, how: str, code: int) -> None:
    trace, flame = folder / f"{how}.json", folder / f"{how}.svg"
    done = command("-o", str(trace), "-o", str(flame), "script.py", "-x", "--limit", how, folder=folder)
    assert done.returncode == code, done.stderr
    assert done.stdout.strip() == f"arguments {['-x', '--limit', how]}"
    assert "script.py:5 work" in done.stderr and "in all, of which the host spent" in done.stderr
    assert len(json.loads(trace.read_text())["traceEvents"]) > 5 and flame.read_text().startswith("<?xml")
    assert ("no such luck" in done.stderr) == (how == "words")
    if how == "raise":
        assert "ValueError: a fault of the script" in done.stderr and 'script.py", line 13' in done.stderr
        assert "runpy" not in done.stderr and "_profile_command" not in done.stderr


def test_a_module_is_profiled(folder: Path) -> None:
    done = command("-q", "-m", "script", "a", folder=folder)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "arguments ['a']", "")


@pytest.mark.parametrize(("arguments", "said"), [
    (["none.py"], "file 'none.py' does not exist"),
    (["-o", "trace.txt", "script.py"], "must end with .json or .svg"),
    (["-o", "no/such/trace.json", "script.py"], "in a folder that is there"),
    (["--limit", "-1", "script.py"], "negative"),
    (["--sort-by", "nonsense", "script.py"], "--sort-by"),
    ([], "SCRIPT"),
])  # fmt: skip
def test_a_wrong_command_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str],
                              folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    from cuprous.cli import main

    monkeypatch.chdir(folder)
    assert main(["profile", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_script_that_does_not_parse(folder: Path) -> None:
    done = command("wrong.py", folder=folder)
    assert done.returncode == 1 and "SyntaxError" in done.stderr and "no operation ran." in done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_child_writes_no_profile(folder: Path) -> None:
    (folder / "forks.py").write_text(
        "import os, sys\nimport cuprous as cp\nfloat(cp.ones(9).sum())\nchild = os.fork()\n"
        "if child == 0:\n    sys.exit(7)\nprint(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = command("forks.py", folder=folder)
    assert (done.returncode, done.stdout, done.stderr.count("in all")) == (0, "7\n", 1), done.stderr


def test_stop_of_an_unstarted_profile(tmp_path: Path) -> None:
    with cp.profile() as p:
        with pytest.raises(RuntimeError, match="has not been started"):
            cp.profile().stop()
        float(cp.ones(9).sum())
    assert p.table(10**30) and p.total.launches == 1
    p.save(os.fsencode(tmp_path / "trace.json"))
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


@pytest.mark.slow
def test_ranges_for_nvidias_tools(tmp_path: Path) -> None:
    """An attached tool receives ranges for programs, kernels and named parts; without one NVTX is not loaded."""
    heard = tmp_path / "heard.txt"
    script = """if True:
        import cuprous as cp, cuprous.torch as torch
        from cuprous import cuda
        @cuda.jit
        def double(x):
            x[cuda.threadIdx.x] *= 2
        with torch.profiler.record_function("the part"):
            x = cp.exp(cp.ones(32)) + 1
            double[1, 32](x)
        with cp.profile():
            (x * 3).get()
    """
    line = [sys.executable, "-c", script]
    tool = compiled("nvtx.c", "nvtx.so") / "nvtx.so"
    environment = {**os.environ, "NVTX_INJECTION64_PATH": str(tool), "STAND_IN_NVTX": str(heard)}
    subprocess.run(line, env=environment, check=True, timeout=300)
    said = heard.read_text().splitlines()
    assert said[0] == "push the part" and said.count("pop ") == sum(s.startswith("push") for s in said)
    assert any(s.startswith("push cuprous ") and "exp, add" in s for s in said)
    assert any(s.endswith("kernel of the user") for s in said)
    assert any("multiply (<string>:11)" in s for s in said)
    for wrong in ("/no/such/library.so", str(Path(__file__)), ""):
        subprocess.run(line, env={**environment, "NVTX_INJECTION64_PATH": wrong}, check=True, timeout=300)
    assert heard.read_text().splitlines() == said


def test_a_timeline_obeys_the_formats_rules(tmp_path: Path) -> None:
    """Checks Perfetto's rules for traces: known event kinds, valid times, nested slices per track, arrows."""
    make, x = fresh(), cp.ones(50_000)
    with cp.profile() as p:

        def work() -> None:
            for _ in range(20):
                with torch.profiler.record_function("outer"), torch.profiler.record_function("inner"):
                    float(make(x).sum())
            cp.synchronize()

        others = [threading.Thread(target=work) for _ in range(2)]
        for thread in others:
            thread.start()
        work()
        for thread in others:
            thread.join()
    p.save(tmp_path / "trace.json")
    # NaN and infinities are not valid JSON.
    trace = json.loads((tmp_path / "trace.json").read_text(), parse_constant=lambda name: pytest.fail(name))
    events = trace["traceEvents"]
    arrow = {"pid", "tid", "ts", "id", "name", "cat"}
    needed = {"X": {"pid", "tid", "ts", "dur", "name"}, "C": {"pid", "ts", "name", "args"},
              "M": {"pid", "name", "args"}, "s": arrow, "f": arrow}  # fmt: skip
    tracks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    arrows: dict[str, list[Any]] = {"s": [], "f": []}
    for e in events:
        assert needed[e["ph"]] <= set(e), e
        assert all(e.get(key, 0) >= 0 for key in ("ts", "dur"))
        if e["ph"] == "X":
            begin = round(e["ts"] * 1000)
            tracks.setdefault((e["pid"], e["tid"]), []).append((begin, begin + round(e["dur"] * 1000)))
        elif e["ph"] == "C":
            assert all(type(value) is int for value in e["args"].values())
        elif e["ph"] in arrows:
            arrows[e["ph"]].append(e["id"])
    assert set(tracks) == named and len(tracks) >= 3
    for track, slices in tracks.items():
        around: list[int] = []
        for begin, end in sorted(slices, key=lambda s: (s[0], -s[1])):
            while around and around[-1] <= begin:
                around.pop()
            assert not around or end <= around[-1], f"two slices of {track} overlap, and neither is within the other"
            around.append(end)
    assert sorted(arrows["s"]) == sorted(arrows["f"]) and len(arrows["s"]) == len(set(arrows["s"]))


@pytest.mark.slow
def test_names_for_nvidias_tools(tmp_path: Path) -> None:
    """CuPy's and PyTorch's names for ranges and marks; without a tool they return NVTX's default values."""
    heard = tmp_path / "heard.txt"
    script = """if True:
        import cuprous.torch as torch
        from cuprous.cuda import nvtx
        from cuprous.cupyx.profiler import time_range
        said = [torch.cuda.nvtx.range_push("a"), torch.cuda.nvtx.range_pop(), torch.cuda.nvtx.range_start("r")]
        torch.cuda.nvtx.range_end(said[-1])
        torch.cuda.nvtx.mark("m")
        with torch.cuda.nvtx.range("step {} of {n}", 3, n=4):
            nvtx.RangePush("coloured", 11)
            nvtx.RangePop()
        nvtx.RangePush("plain")
        nvtx.RangePop()
        nvtx.Mark("dot", 2)
        nvtx.MarkC("dot", 0xff123456)
        nvtx.RangeEnd(nvtx.RangeStart("any thread", 0xff00ff00))
        @time_range(color_id=0)
        def work():
            pass
        work()
        with time_range("red", argb_color=0xffff0000, sync=True):
            pass
        print(said)
    """
    line = [sys.executable, "-c", script]
    run = functools.partial(subprocess.run, line, check=True, timeout=300, capture_output=True, text=True)
    tool = compiled("nvtx.c", "nvtx.so") / "nvtx.so"
    done = run(env={**os.environ, "NVTX_INJECTION64_PATH": str(tool), "STAND_IN_NVTX": str(heard)})
    assert done.stdout.strip() == "[0, 0, 7]"
    said = [line for line in heard.read_text().splitlines() if not line.startswith("push cuprous ")]
    assert [line for line in said if line != "pop "] == [
        "push a", "start r", "end 7", "mark m", "push step 3 of 4", "push ff007fff coloured", "push plain",
        "mark ff7f00ff dot", "mark ff123456 dot", "start ff00ff00 any thread", "end 8", "push ff00ff00 work",
        "push ffff0000 red",
    ]  # fmt: skip
    assert said.count("pop ") == sum(line.startswith("push") for line in said)
    assert run(env={**os.environ, "NVTX_INJECTION64_PATH": ""}).stdout.strip() == "[-2, -2, 0]"


def test_cupyx_benchmark() -> None:
    from cuprous.cupyx import profiler

    x = cp.ones(100)
    calls: list[float] = []

    def scaled(a: cp.ndarray, by: float = 2.0) -> cp.ndarray:
        calls.append(by)
        return a * by

    got = profiler.benchmark(scaled, (x,), {"by": 3.0}, n_repeat=5, n_warmup=2)
    assert (len(calls), calls[0], got.cpu_times.shape, got.gpu_times.shape[1]) == (7, 3.0, (5,), 5)
    assert (got.cpu_times > 0).all() and str(got).startswith("scaled ") and "+/-" in str(got)
    once = profiler.benchmark(scaled, (x,), n_repeat=100, n_warmup=0, max_duration=0.0, name="one")
    assert (len(once.cpu_times), once.to_str()[:4]) == (1, "one ")
    bad: list[dict[str, Any]] = [{"args": [x]}, {"kwargs": 3}, {"n_repeat": 1.5}, {"n_repeat": 0}, {"name": 3},
                                 {"devices": [0]}, {"max_duration": "1"}]  # fmt: skip
    for wrong in bad:
        with pytest.raises(ValueError, match="benchmark"):
            profiler.benchmark(scaled, **wrong)
    with pytest.raises(NotImplementedError, match="GPU 0"):
        profiler.benchmark(scaled, devices=(1,))
    with pytest.raises(ValueError, match="only one"):
        profiler.time_range("a", 1, 2)
    with pytest.raises(ValueError, match="message"), profiler.time_range():
        pass
    with profiler.profile():
        pass
