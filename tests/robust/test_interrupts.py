"""Tests Ctrl-C while recorded work runs: it takes effect soon, and interrupted work never yields a value."""

from __future__ import annotations

import os
import textwrap

import pytest

from .helpers import DEVICE, HEARS, interrupted, output

pytestmark = pytest.mark.skipif(
    DEVICE != "cpu" or not hasattr(os, "fork"), reason="a GPU's work ends at its next wait; needs POSIX signals"
)

#: Limit in seconds. Measured times are far below one; the margin is for a busy machine.
SOON = 4.0


LONG = {
    "matmul": ("x = cp.ones((7000, 7000))", "float((x @ x)[0, 0])"),
    "chain of products": (
        "y = cp.ones((2000, 2000))",
        "for k in range(10000): y = cp.sin(y) @ y * 1e-3",
    ),
    "sort": ("x = cp.random.default_rng(0).random(30_000_000); cp.synchronize()", "cp.sort(x); cp.sort(-x)[0].item()"),
    "unique": ("x = cp.random.default_rng(0).random(30_000_000); cp.synchronize()", "len(cp.unique(x))"),
    "random": ("g = cp.random.default_rng(0)", "[float(g.standard_normal(150_000_000).sum()) for _ in range(9)]"),
    "prime fft": ("x = cp.ones(10_000_019)", "float(abs(cp.fft.fft(x)[0]))"),
    "fused chain": (
        "x = cp.ones(100_000_000, dtype='float32')",
        "for _ in range(40): x = cp.sin(x) + cp.cos(x) * cp.exp(x * 1e-3)\nfloat(x.sum())",
    ),
    "in place": (
        "x = cp.ones(50_000_000); cp.synchronize()",
        "for _ in range(15): x[...] = cp.sin(x) + cp.cos(x) * cp.exp(x * 1e-3)\nfloat(x.sum())",
    ),
    "eig": ("x = cp.random.default_rng(0).random((1500, 1500))", "cp.linalg.eig(x)[0][0].item()"),
    "svd": ("x = cp.random.default_rng(0).random((2500, 2500))", "float(cp.linalg.svd(x)[1][0])"),
    "einsum": ("x = cp.ones((7000, 7000))", "float(cp.einsum('ij,jk->ik', x, x)[0, 0])"),
    "integer product": ("x = cp.ones((4000, 4000), dtype='int64')", "int((x @ x)[0, 0])"),
    "correlate": (
        "import cuprous.scipy.ndimage as nd\nx = cp.ones((4000, 4000))",
        "[float(nd.correlate(x + k, cp.ones((41, 41)))[0, 0]) for k in range(9)]",
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_long_calls_answer_soon(name: str) -> None:
    setup, work = LONG[name]
    seconds, _ = interrupted(setup, "while True:\n" + textwrap.indent(work, "    "))
    assert seconds < SOON


def test_an_interrupted_program_goes_on_when_it_is_read() -> None:
    """No value is lost, including in-place writes before and after the interrupt."""
    setup = """
        x = cp.ones(30_000_000)
        p = cp.zeros(30_000_000)
        small = cp.arange(4.0)
        cp.synchronize()
    """
    work = """
        p += 1
        y = x
        for _ in range(15):
            y = cp.sin(y) + cp.cos(y) * cp.exp(y * 1e-3)
            p += 1
        z = y * 1
        small += 1
        float(z[0])
    """
    after = """
        start = time.time()
        print(float(small.sum() * 0 + cp.ones(3).sum()), small.shape)
        x[:] = 5  # what is still to be computed reads it: as it was
        import math
        want = 1.0
        for _ in range(15):
            want = math.sin(want) + math.cos(want) * math.exp(want * 1e-3)
        print(abs(float(z[0]) - want) < 1e-9, abs(float(z[-1]) - want) < 1e-9)
        print(float(p.min()), float(p.max()), small.tolist(), float(x.sum()))
    """
    _, lines = interrupted(setup, work, after, wait=0.5)
    assert lines == ["3.0 (4,)", "True True", "16.0 16.0 [1.0, 2.0, 3.0, 4.0] 150000000.0"]


def test_dropped_values_are_not_computed_later() -> None:
    after = """
        del x, y
        start = time.time()
        float(cp.ones(3).sum())
        print(time.time() - start < 3)
        before = cp._core.memory_stats("cpu")["used_bytes"]
        float(cp.ones(3).sum())
        print(cp._core.memory_stats("cpu")["used_bytes"] < 100_000_000)
    """
    work = """
        y = x
        for _ in range(80): y = cp.sin(y) + cp.cos(y) * cp.exp(y * 1e-3)
        float(y[0])
    """
    _, lines = interrupted("x = cp.ones(20_000_000)", work, after)
    assert lines == ["True", "True"]


def test_uninterruptible_routine_finishes_in_background() -> None:
    """Reading its result waits for it; the main thread is free until then."""
    after = """
        start = time.time()
        float((cp.ones(1000) + 1).sum())
        print(time.time() - start < 3)
        print(abs(float(abs(y[0])) - 5_000_011) < 1e-3)
    """
    work = "y = cp.fft.fft(x)\nfloat(abs(y[0]))"
    _, lines = interrupted("x = cp.ones(5_000_011)", work, after, wait=0.5)
    assert lines == ["True", "True"]


def test_another_handler_is_called_when_the_work_is_done() -> None:
    """With a user-defined handler the work continues."""
    code = HEARS + textwrap.dedent("""
        import os, threading
        heard = []
        signal.signal(signal.SIGINT, lambda *_: heard.append(1))
        x = cp.ones((1500, 1500))
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        total = 0.0
        for _ in range(3):
            total += float((x @ x)[0, 0])
        while not heard:
            time.sleep(0.01)
        print(total, heard)
    """)
    assert output(code) == "4500.0 [1]"


def test_a_handler_in_c_that_calls_ours_still_reaches_pythons() -> None:
    """A library may replace our handler and call it; ours is then installed before the library's."""
    code = HEARS + textwrap.dedent("""
        import ctypes, os
        libc, handler = ctypes.CDLL(None), ctypes.CFUNCTYPE(None, ctypes.c_int)
        libc.signal.restype = ctypes.c_void_p
        libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
        x = cp.ones((2000, 2000))
        float((x @ x)[0, 0])
        heard = []
        def library(number):
            try:
                handler(replaced)(number)
                time.sleep(0)
            except KeyboardInterrupt:
                heard.append(number)
        kept = handler(library)
        replaced = libc.signal(signal.SIGINT, ctypes.cast(kept, ctypes.c_void_p))
        float((x @ x)[0, 0])
        os.kill(os.getpid(), signal.SIGINT)
        print(heard)
    """)
    assert output(code) == "[2]"


def test_only_the_main_thread_is_interrupted() -> None:
    """Work of another thread continues, and the main thread does not wait for it."""
    setup = """
        import threading
        x = cp.ones(20_000_000)
        done = []
        def other():
            y = x
            for _ in range(20): y = cp.sin(y) + cp.cos(y) * cp.exp(y * 1e-3)
            done.append(float(y[0]) == float(y[-1]))
        thread = threading.Thread(target=other)
        thread.start()
        time.sleep(0.3)
    """
    after = "thread.join()\nprint(done)"
    seconds, lines = interrupted(setup, "z = cp.ones(5) + 1\nfloat(z.sum())\nwhile True: time.sleep(0.01)", after)
    assert seconds < SOON
    assert lines == ["[True]"]


def test_a_profile_counts_what_was_interrupted() -> None:
    """The host computed until then: that time does not count as the program's own."""
    _, lines = interrupted(
        "x = cp.ones((1500, 1500)); p = cp.profile(); p.start()",
        "for k in range(10000): x = cp.sin(x) @ x * 1e-3",
        "p.stop(); t = p.total; print(t.run_time, t.device_time, t.python, t.wall)",
        wait=0.5,
    )
    computing, device, python, wall = map(float, lines[0].split())
    assert computing >= 0.9 * device > 0
    assert python < 0.5 * wall
