"""Tests `cuprous kernels` and CUPROUS_DEBUG."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cuprous._tools import kernel_report as report
from cuprous.cuda._occupancy import MULTIPROCESSORS, blocks_per_multiprocessor, occupancy

from .test_raw_kernels import ON_GPU

PROGRAM = """
import sys
import numpy as np
import cuprous as cp
from cuprous import cuda

@cuda.jit
def halve(a, b):
    s = cuda.shared.array(64, np.float32)
    s[cuda.threadIdx.x] = a[cuda.threadIdx.x]
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < b.size:
        b[i] = s[0] * 0.5

@cuda.jit(max_registers=24)
def spills(a, b):
    m = cuda.local.array(64, np.float32)
    for k in range(64):
        m[(k * 7 + int(a[0])) % 64] = a[k % a.size]
    b[0] = m[int(b[0])]

@cuda.jit
def never(a):
    a[0] = 1

print("hello from the program", sys.argv[1:])
a = cp.ones(100, cp.float32)
halve[2, 50](a, a)
spills[1, 32](a, a)
"""


def run(tmp_path: Path, *arguments: str, program: str = PROGRAM, **env: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "program.py"
    file.write_text(program)
    command = [sys.executable, "-m", "cuprous"] if "kernels" in arguments else [sys.executable]
    line = [a if a != "FILE" else str(file) for a in arguments]
    return subprocess.run([*command, *line], capture_output=True, text=True, env={**os.environ, **env})


@pytest.mark.nvrtc
def test_kernels_of_a_program(tmp_path: Path) -> None:
    result = run(tmp_path, "kernels", "--arch", "sm_80", "FILE", "one", "--two")
    assert result.returncode == 0, result.stderr
    assert "hello from the program ['one', '--two']" in result.stderr
    assert "2 kernels of" in result.stdout
    assert "on sm_80" in result.stdout
    assert "never" not in result.stdout
    assert "50 threads a block leave 14 of 32 lanes" in result.stdout
    assert "first in `b[i] = s[0] * 0.5`" in result.stdout
    assert "a thread keeps" in result.stdout

    result = run(tmp_path, "kernels", "--json", "--arch", "sm_90", "FILE")
    halve, spills = json.loads(result.stdout)
    assert (halve["kernel"], halve["arch"], halve["block"], halve["shared"]) == ("halve", "sm_90", [50], 256)
    assert 0 < halve["occupancy"] <= 1
    assert spills["stack"] >= 256
    assert spills["registers"] <= 24


@pytest.mark.nvrtc
def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text(encoding="utf-8")
    found = re.search(
        r"`fade\.py`\n\n```python\n(.*?)```\n\nit prints\n\n```text\n\$ cuprous (.*?)\n(.*?)```", page, re.DOTALL
    )
    assert found
    (tmp_path / "fade.py").write_text("import cuprous as cp\nfrom cuprous import cuda\n\n" + found[1])
    line = [sys.executable, "-m", "cuprous", *found[2].split()]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)

    def facts(text: str) -> list[str]:
        """Returns the lines without the number of registers, which depends on NVRTC's version."""
        return re.sub(r"(fade\.py:4\)) +\d+", r"\1", text).splitlines()

    assert facts(done.stdout) == facts(found[3])


@pytest.mark.nvrtc
def test_float64_of_the_library_is_not_the_programs(tmp_path: Path) -> None:
    program = """
import numpy as np
from cuprous import cuda
from cuprous.cuda.random import create_xoroshiro128p_states, xoroshiro128p_normal_float32

@cuda.jit
def noise(states, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = xoroshiro128p_normal_float32(states, i)HALF

noise[1, 32](create_xoroshiro128p_states(32, 1), cuda.to_device(np.ones(32, np.float32)))
"""
    for factor, own in (("", False), (" * 0.5", True)):
        done = run(tmp_path, "kernels", "--arch", "sm_90", "FILE", program=program.replace("HALF", factor))
        assert "1 kernel of" in done.stdout, done.stderr
        assert ("float64 though" in done.stdout) == own
        assert not own or "first in `out[i] = xoroshiro128p_normal_float32(states, i) * 0.5`" in done.stdout


@pytest.mark.nvrtc
def test_programs_that_fail_or_launch_nothing(tmp_path: Path) -> None:
    broken = PROGRAM.replace("spills[1, 32](a, a)", "raise ValueError('on purpose')")
    result = run(tmp_path, "kernels", "FILE", program=broken)
    assert result.returncode == 1
    assert "ended early" in result.stderr
    assert "ValueError: on purpose" in result.stderr
    assert "1 kernel of" in result.stdout
    result = run(tmp_path, "kernels", "FILE", program="print(1)")
    assert result.returncode == 0
    assert "launched no kernels" in result.stdout
    assert run(tmp_path, "kernels", "--arch", "gfx90", "FILE").returncode == 2
    assert run(tmp_path, "kernels").returncode == 2


RAW = '''
import cuprous as cp
code = """
__device__ __noinline__ float twice(float x) { return 2 * x; }
extern "C" __global__ void first(float* x) { x[threadIdx.x] += 1; }
extern "C" __global__ void second(float* x) {
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = twice(s[0]);
}"""
cp.RawModule(code=code).get_function("second")((200,), (128,), (cp.ones(128, cp.float32),), shared_mem=512)
'''


@pytest.mark.nvrtc
def test_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main(["no/such.py"]) == 2
    assert "file 'no/such.py' does not exist" in capsys.readouterr().err


def test_kernels_of_cuda_cpp(tmp_path: Path) -> None:
    """A CPU rejects the launch, but the kernel is still listed."""
    result = run(tmp_path, "kernels", "--json", "--arch", "sm_90", "FILE", program=RAW)
    (second,) = json.loads(result.stdout)
    assert (second["kernel"], second["dynamic_shared"], second["grid"]) == ("second", 512, [200])
    assert second["registers"] > 0
    assert result.returncode == (0 if ON_GPU else 1)


def kernel(**given: Any) -> report.Kernel:
    values = {
        "name": "k", "location": "p", "signature": "(float32)", "source": "", "body": "", "options": (),
        "launch": ((1000,), (256,), 0),
    }  # fmt: skip
    return report.Kernel(**{**values, **given})


def test_advice() -> None:
    assert report.advice(kernel(), report.Facts(32, 0, 0, 0), 90) == []
    for given, facts, arch, text in (
        ({}, report.Facts(32, 0, 0, 8), 90, "8 bytes of registers are spilled"),
        ({}, report.Facts(32, 0, 64, 0), 90, "keeps 64 bytes in memory"),
        ({}, report.Facts(200, 0, 0, 0), 90, "registers are the limit, 200 registers a thread"),
        ({}, report.Facts(32, 100 << 10, 0, 0), 90, "shared memory are the limit, 102400 bytes"),
        ({"launch": ((1000,), (32,), 0)}, report.Facts(16, 0, 0, 0), 86, "only 32 threads a block"),
        ({"launch": ((3, 2), (16, 16), 0)}, report.Facts(16, 0, 0, 0), 90, "6 blocks in its last launch"),
        ({"launch": ((200,), (256,), 300 << 10)}, report.Facts(16, 0, 0, 0), 90, "does not fit: shared memory"),
    ):
        notes = report.advice(kernel(**given), facts, arch)
        assert len(notes) == 1, notes
        assert text in notes[0]


def test_occupancy() -> None:
    assert occupancy(90, 256, 32, 0) == (1.0, 8, "threads")
    assert occupancy(90, 256, 64, 0) == (0.5, 4, "registers")
    assert occupancy(80, 1024, 65, 0)[1] == 0  # 65 * 1024 registers exceed the register file
    assert occupancy(90, 32, 16, 0) == (0.5, 32, "blocks")
    assert occupancy(86, 256, 0, 30 << 10) == (0.5, 3, "shared memory")
    assert occupancy(999, 256, 32, 0) == occupancy(121, 256, 32, 0)
    assert blocks_per_multiprocessor(33, 0, 0, *MULTIPROCESSORS[90])["threads"] == 32


def test_ptxas_output_is_parsed() -> None:
    log = (
        "ptxas info    : 0 bytes gmem\nptxas info    : Function properties for k\n"
        "ptxas         .     48 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
        "ptxas info    : Used 40 registers, used 1 barriers, 132 bytes smem\n"
    )
    assert report.facts_of(log) == report.Facts(40, 132, 48, 12)
    with pytest.raises(ValueError, match="registers"):
        report.facts_of("")


def test_debug_prints_launches(tmp_path: Path) -> None:
    result = run(tmp_path, "FILE", CUPROUS_DEBUG="1")
    assert result.returncode == 0, result.stderr
    assert "cuprous: halve compiled for (array(float32, 1d, C), array(float32, 1d, C))" in result.stderr
    assert "cuprous: halve[2, 50] at program.py:" in result.stderr
    assert "__global__" not in result.stderr
    assert "__global__" in run(tmp_path, "FILE", CUPROUS_DEBUG="2").stderr
    assert not run(tmp_path, "FILE", CUPROUS_DEBUG="0").stderr
    failing = run(tmp_path, "FILE", program=PROGRAM.replace("halve[2, 50](a, a)", "halve[2, 50](a)"), CUPROUS_DEBUG="1")
    assert "halve[2, 50] at program.py:" in failing.stderr
    assert "failed: TypeError" in failing.stderr


@pytest.mark.nvrtc
@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("os._exit(3)", "exit code 3"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("sys.exit('no')", "exit code no"),
    ],
)
def test_report_of_a_program_that_ends_early(tmp_path: Path, end: str, why: str) -> None:
    result = run(tmp_path, "kernels", "FILE", program=PROGRAM.replace("spills[1, 32](a, a)", f"import os\n{end}"))
    assert (result.returncode, why in result.stderr) == (1, True), result.stderr
    assert "1 kernel of" in result.stdout
    assert "halve (program.py:" in result.stdout


@pytest.mark.nvrtc
def test_uncompilable_kernel_does_not_hide_others(tmp_path: Path) -> None:
    broken = 'cp.RawKernel("__global__ void broken() { missing(); }", "broken")((1,), (1,), ())'
    program = PROGRAM.replace("spills[1, 32](a, a)", broken)
    result = run(tmp_path, "kernels", "FILE", program=program)
    assert result.returncode == 1
    assert "halve (program.py:" in result.stdout
    assert "broken (CUDA C++)" in result.stdout and "does not compile" in result.stdout
    listed = json.loads(run(tmp_path, "kernels", "--json", "FILE", program=program).stdout)
    assert ["error" in row for row in listed] == [False, True]
