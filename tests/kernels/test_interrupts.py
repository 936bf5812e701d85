"""Kernels on the CPU that would run for ever, or call themselves for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

import cuprous as cp
from cuprous import cuda
from tests.robust.helpers import environment

DEVICE = os.environ.get("CUPROUS_TEST_DEVICE", "cpu")
pytestmark = pytest.mark.skipif(
    DEVICE != "cpu" or not hasattr(os, "fork"), reason="a kernel on a GPU cannot be stopped; needs POSIX signals"
)

SET = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import cuprous as cp, numpy as np
from cuprous import cuda
cp._core.set_device("cpu")
a = cp.zeros(64)
other = cp.ones(3) + 1
"""

ENDLESS = {
    "while True": ("i = 0\nwhile True:\n    i += 1\n    a[0] = i", "1, 1"),
    "a while loop of lanes": ("i = cuda.grid(1)\nwhile a[i] < 1:\n    a[i] = a[i] * 0.5", "1, 64"),
    "1e11 turns": ("s = 0.0\nfor i in range(100_000_000_000):\n    s += i * 0.5\na[cuda.threadIdx.x] = s", "1, 32"),
    "constant loops": (
        "s = 0.0\nfor i in range(4000):\n    for j in range(4000):\n        for k in range(4000):\n"
        "            s += i * j + k\na[0] = s",
        "1, 1",
    ),
    "2**31 - 1 blocks": ("if cuda.blockIdx.x == 5:\n    a[0] = 1", "2**31 - 1, 128"),
    "barriers": ("while True:\n    a[cuda.threadIdx.x] += 1\n    cuda.syncthreads()", "1, 64"),
    "divergent barriers": (
        "i = cuda.threadIdx.x\nwhile True:\n    if i < 32:\n        cuda.syncwarp()\n"
        "    a[i] += 1\n    cuda.syncthreads()",
        "1, 64",
    ),
    "a spin lock": ("while cuda.atomic.cas(a.view('int64'), 0, 1, 2) != 1:\n    pass", "1, 4"),
    "an inner function": ("a[0] = spin(a)", "1, 1"),
    "a cooperative launch": ("g = cuda.cg.this_grid()\nwhile True:\n    a[0] += 1\n    g.sync()", "2, 4"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_ctrl_c_ends_a_kernel(name: str) -> None:
    body, shape = ENDLESS[name]
    body = body.replace("a.view('int64')", "lock")
    code = (
        SET
        + "lock = cp.zeros(1, dtype='int64')\n"
        + "@cuda.jit(device=True)\ndef spin(a):\n    n = 0\n    while a[1] == 0:\n        n += 1\n    return n\n"
        + "@cuda.jit\ndef endless(a, lock):\n"
        + textwrap.indent(body, "    ")
        + textwrap.dedent(f"""
        try:
            # A first launch would not end, so that compiling is not measured apart.
            print("ready", flush=True)
            endless[{shape}](a, lock)
            cp.synchronize()
            print("ended", flush=True)
        except KeyboardInterrupt:
            print("interrupted", time.time(), flush=True)
        try:
            print(a.tolist())
        except RuntimeError as error:
            print("lost" if "interrupted" in str(error) else error)
        print(float(other.sum()), float((cp.arange(5.0) * 2).sum()), flush=True)
        """)
    )
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(code)
        file.flush()
        process = subprocess.Popen(
            [sys.executable, file.name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(CUPROUS_CHECK_CUDA=None),
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "ready"
            time.sleep(2)
            sent = time.time()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    lines = out.splitlines()
    assert lines, err
    assert lines[0].startswith("interrupted"), (lines, err)
    seconds = float(lines[0].split()[1]) - sent
    print(f"{name}: {seconds:.2f} s")
    assert seconds < 4
    assert lines[1:] == ["lost", "6.0 20.0"], err


@cuda.jit(device=True)
def down(n):
    if n == 0:
        return 0
    return down(n - 1) + 1


@cuda.jit
def deep(out, n):
    i = cuda.grid(1)
    out[i] = down(n)


@cuda.jit
def deep_with_barriers(out, n):
    i = cuda.threadIdx.x
    out[i] = down(n)
    if i < 8:
        return
    cuda.syncthreads()
    out[i] += 0


@pytest.mark.parametrize("kernel", [deep, deep_with_barriers], ids=["block", "coroutines"])
def test_runaway_recursion_is_an_error(kernel: Any) -> None:
    out = cp.zeros(32, dtype="int64")
    kernel[1, 32](out, 100)
    assert out.tolist() == [100] * 32
    with pytest.raises(RecursionError, match="down"):
        kernel[1, 32](out, 50_000_000)
        cp.synchronize()
    kernel[1, 32](out, 7)
    assert out.tolist() == [7] * 32


def test_deep_recursion_works() -> None:
    out = cp.zeros(4, dtype="int64")
    deep[1, 4](out, 20_000)
    assert out.tolist() == [20_000] * 4


def test_ctrl_c_leaves_kernels_of_other_threads_alone(tmp_path: Path) -> None:
    """The main thread is interrupted, and what another thread has launched runs to its end."""
    code = SET + textwrap.dedent("""
        import os, threading
        @cuda.jit
        def count(a, n):
            s = 0.0
            for i in range(n):
                s += 1.0
            a[0] = s
        count[1, 1](a, 1)  # from here on signals are seen by the engine, too
        cp.synchronize()
        done = []
        def other():
            b = cp.zeros(1)
            count[1, 1](b, 400_000_000)
            done.append(float(b[0]))
        thread = threading.Thread(target=other)
        thread.start()
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                time.sleep(0.01)
        except KeyboardInterrupt:
            print(thread.is_alive())
        thread.join()
        print(done, a[0].item())
    """)
    file = tmp_path / "program.py"
    file.write_text(code)
    command, env = [sys.executable, str(file)], environment(CUPROUS_CHECK_CUDA=None)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert done.stdout.splitlines() == ["True", "[400000000.0] 1.0"], done.stderr
