"""`cuda.jit(check=True)`: races, uninitialized reads and divergent barriers, each with threads, array and line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda
from cuprous.cuda import float32, int32
from cuprous.cuda.errors import KernelCheckError


def problems(kernel: Any, shape: tuple[int, int], *args: Any) -> str:
    """Returns the report of a launch; empty if there is none."""
    try:
        kernel[shape](*args)
    except KernelCheckError as error:
        return str(error)
    return ""


def line(text: str) -> int:
    """Returns the number of the only line of this file that ends with a comment."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (found,) = (k for k, each in enumerate(lines, 1) if each.endswith(f"# {text}"))
    return found


@cuda.jit(check=True)
def reverse(a, synchronize):
    part = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    part[t] = a[t]  # write of the race
    if synchronize:
        cuda.syncthreads()
    a[t] = part[63 - t]  # read of the race


def test_a_race_in_shared_memory() -> None:
    report = problems(reverse, (1, 64), np.zeros(64, np.float32), False)
    assert report.startswith("1 problem in kernel 'reverse'\nrace: two threads access array 'part', index 31,")
    assert "thread (31, 0, 0) of block (0, 0, 0) writes: file" in report
    assert f"line {line('write of the race')}, in 'reverse'\n      part[t] = a[t]" in report
    assert "thread (32, 0, 0) of block (0, 0, 0) reads: file" in report
    assert f"line {line('read of the race')}, in 'reverse'" in report
    assert "and 31 more at the same lines" in report


def test_a_barrier_orders_accesses() -> None:
    a = np.arange(64, dtype=np.float32)
    assert problems(reverse, (1, 64), a, True) == ""
    np.testing.assert_array_equal(a, np.arange(63, -1, -1))


@cuda.jit(device=True)
def bump(x, i):
    x[i] += 1  # in a function


@cuda.jit(check=True)
def bumps(a, atomic):
    if atomic:
        cuda.atomic.add(a, cuda.grid(1) // 2, 1)
    else:
        bump(a, cuda.grid(1) // 2)


def test_a_race_in_global_memory_and_a_called_function() -> None:
    report = problems(bumps, (2, 4), cp.zeros(8), False)
    assert "race: two threads access array 'x', index 0" in report
    assert f"line {line('in a function')}, in 'bump'\n      x[i] += 1" in report
    assert problems(bumps, (2, 4), cp.zeros(8), True) == ""


@cuda.jit(check=True)
def same_value(found, a):
    if a[cuda.grid(1)] > 0:
        found[0] = 1


def test_threads_may_write_the_same_value() -> None:
    assert problems(same_value, (4, 32), np.zeros(1), np.ones(128)) == ""


@cuda.jit(check=True)
def last_block(parts, out, count, fence):
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    ticket = cuda.shared.array(1, int32)
    if t == 0:
        parts[b] = b
        if fence:
            cuda.threadfence()
        ticket[0] = cuda.atomic.add(count, 0, 1)
    cuda.syncthreads()
    if ticket[0] == cuda.gridDim.x - 1 and t == 3:
        for i in range(cuda.gridDim.x):
            out[0] += parts[i]


def test_a_fence_and_an_atomic_operation_order_blocks() -> None:
    def arguments() -> tuple[Any, ...]:
        return np.zeros(8), np.zeros(1), np.zeros(1, np.int32)

    args = arguments()
    assert problems(last_block, (8, 32), *args, True) == ""
    assert args[1][0] == 28
    assert "race: two threads access array 'parts'" in problems(last_block, (8, 32), *arguments(), False)


@cuda.jit(check=True)
def lanes(a, synchronize):
    t = cuda.threadIdx.x
    s = cuda.shared.array(32, int32)
    s[t] = t
    if synchronize:
        cuda.syncwarp()
    a[t] = s[31 - t]


def test_an_operation_of_the_warp_orders_its_lanes() -> None:
    assert problems(lanes, (1, 32), np.zeros(32), True) == ""
    assert "race" in problems(lanes, (1, 32), np.zeros(32), False)


@cuda.jit(check=True)
def waves(m, synchronize):
    j = cuda.grid(1)
    grid = cuda.cg.this_grid()
    for i in range(1, m.shape[0]):
        m[i, j] = m[i - 1, m.shape[1] - 1 - j] + 1
        if synchronize:
            grid.sync()


def test_a_barrier_of_the_grid_orders_blocks() -> None:
    m = np.zeros((4, 64), np.int32)
    assert problems(waves, (2, 32), m, True) == ""
    np.testing.assert_array_equal(m[:, 5], np.arange(4))
    assert "race" in problems(waves, (2, 32), np.zeros((4, 64), np.int32), False)


@cuda.jit(check=True)
def uninitialized(a):
    t = cuda.threadIdx.x
    own, part = cuda.local.array(4, float32), cuda.shared.array((2, 4), float32)
    own[0] = 1
    a[t] = own[t]  # of the own array
    a[t] += part[1, t]  # of the shared array


def test_reads_of_arrays_that_were_not_written() -> None:
    report = problems(uninitialized, (2, 4), np.zeros(4))
    assert "uninitialized read: array 'own', index 1 was not written\n  thread (1, 0, 0) of block (0, 0, 0)" in report
    assert f"line {line('of the own array')}, in 'uninitialized'" in report
    assert "uninitialized read: array 'part', index (1, 0) was not written" in report
    assert f"line {line('of the shared array')}, in 'uninitialized'" in report


@cuda.jit(check=True)
def unassigned(a):
    if a[0] > 0:
        x = 1.0
    a[1] = x


def test_a_variable_that_was_not_assigned() -> None:
    with pytest.raises(UnboundLocalError, match="'x'"):
        unassigned[1, 1](np.zeros(2))


@cuda.jit(check=True)
def branches(a):
    if cuda.threadIdx.x < 40:
        cuda.syncthreads()  # one barrier
    else:
        cuda.syncthreads()  # other barrier
    a[cuda.threadIdx.x] = 1


@cuda.jit(check=True)
def early_end(a):
    if cuda.threadIdx.x >= a.size:
        return
    cuda.syncthreads()
    a[cuda.threadIdx.x] = 1


def test_divergent_barriers() -> None:
    report = problems(branches, (1, 64), np.zeros(64))
    assert report.splitlines()[1].startswith("divergent barrier: the threads of a block")
    assert "40 threads, the first is thread (0, 0, 0) of block (0, 0, 0), at cuda.syncthreads(): file" in report
    assert "24 threads, the first is thread (40, 0, 0) of block (0, 0, 0), at cuda.syncthreads(): file" in report
    assert f"line {line('one barrier')}, in" in report
    assert f"line {line('other barrier')}, in" in report
    report = problems(early_end, (1, 64), np.zeros(63))
    assert "1 thread, thread (63, 0, 0) of block (0, 0, 0), ended" in report
    assert problems(early_end, (1, 63), np.zeros(63)) == ""


@cuda.jit(check=True)
def beyond(a, shared):
    t = cuda.threadIdx.x
    part, own = cuda.shared.array(8, float32), cuda.local.array(8, float32)
    if shared:
        part[t] = 1
    else:
        own[t] = 1
    a[t] = t


def test_indices_out_of_bounds() -> None:
    for args, name in (((np.zeros(4), True), "a"), ((np.zeros(9), True), "part"), ((np.zeros(9), False), "own")):
        bound = min(args[0].size, 8)
        with pytest.raises(IndexError, match=rf"tid=\[{bound}, 0, 0\].*index {bound} .*array '{name}'"):
            beyond[1, 9](*args)


def test_results_are_those_without_checks() -> None:
    def histogram(values, bins):
        i = cuda.grid(1)
        if i < values.size:
            cuda.atomic.add(bins, (values[i], 0), 1)

    values = np.random.default_rng(0).integers(0, 10, 1000)
    found = []
    for check in (False, True):
        bins = cp.zeros((10, 1), np.int64)
        cuda.jit(check=check)(histogram)[8, 128](cp.asarray(values), bins)
        found.append(cp.asnumpy(bins))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0][:, 0], np.bincount(values, minlength=10))


def test_the_environment_turns_checks_on(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\nfrom cuprous import cuda\n\n\n@cuda.jit\ndef all_at_one(a):\n    a[0] = cuda.grid(1)\n\n\n"
        "all_at_one[2, 32](np.zeros(1))\n",
        encoding="utf-8",
    )
    for value, code in (("1", 1), ("0", 0)):
        environment = {**os.environ, "CUPROUS_KERNEL_CHECK": value}
        done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert ("KernelCheckError: 1 problem in kernel 'all_at_one'" in done.stderr) == bool(code)
