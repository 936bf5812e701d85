"""Random programs on a GPU, their kernels compiled ahead by all cores.

A GPU process spends nearly all of its time in the compiler, which uses one core, and processes that share a GPU take
turns. So a stretch of programs first runs on the CPU in many processes, which leave the GPU's kernels in a cache folder
of the stretch's own; one process then runs it on the GPU while the next stretch is compiled.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .run import Report

STRETCH = 1000


def target() -> str:
    """The compiler's name for the GPU at hand, such as ``sm_90``."""
    import cuprous as cp

    device = cp.cuda.Device(0)
    return f"sm_{device.compute_capability}"


def run_ahead(first: int, programs: int, processes: int, at_most: int) -> Report:
    """Runs that many programs on the GPU; stops once `at_most` have failed."""
    total = Report()
    sm = target()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as compiler:
        stretches = [(at, min(STRETCH, first + programs - at)) for at in range(first, first + programs, STRETCH)]

        def compile_stretch(at: int, count: int) -> Path:
            cache = Path(folder) / str(at)
            fuzz(at, count, "cpu", processes, cache, CUPROUS_CHECK_CUDA=sm)
            return cache

        pending = [compiler.submit(compile_stretch, *stretch) for stretch in stretches]
        for (at, count), compiled in zip(stretches, pending, strict=True):
            cache = compiled.result()
            code, text = fuzz(at, count, "cuda", 1, cache)
            found = re.search(r"^(\d+) programs on cuda.*?(\d+) failed; ([\d.]+) s", text, re.MULTILINE)
            if found is None:
                total.failures[at] = f"# seeds {at} to {at + count - 1}: exit code {code}\n{text}\n"
            else:
                total.programs += int(found[1])
                total.seconds += float(found[3])
                if code:
                    total.failures[at] = text
            print(f"{total.programs} programs, {len(total.failures)} stretches with failures", flush=True)
            subprocess.run(["rm", "-rf", str(cache)], check=True)
            if len(total.failures) >= at_most:
                compiler.shutdown(wait=False, cancel_futures=True)
                break
    return total


def fuzz(first: int, programs: int, device: str, processes: int, cache: Path, **env: str) -> tuple[int, str]:
    """Runs the command in a process of its own."""
    modes = "single,fused" if device == "cpu" else "single,fused,auto"
    line = [sys.executable, "-m", "tests.fuzz", "--device", device, "--seed", str(first), "--programs", str(programs)]
    line += ["--processes", str(processes), "--modes", modes]
    environment = {**os.environ, "CUPROUS_CACHE_DIR": str(cache), **env}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
