"""Times the kernels of examples/kernels at large sizes, against numba-cuda on a GPU and Numba on all cores of a CPU.

`python -m bench.kernel_examples` prints, for each, milliseconds of the first launch (compiling; a second process finds
the code on disk) and of one of many. `--simulator` adds Numba's simulator, at small sizes, for the ratio only.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES = Path(__file__).parent.parent / "examples" / "kernels"
Module = Any
Run = Callable[[], Any]


@functools.cache
def example(name: str, package: str) -> Module:
    """Returns the example, importing the kernel API from `package`."""
    folder = Path(tempfile.mkdtemp())
    path = folder / f"{name}_{package}.py"
    path.write_text((EXAMPLES / f"{name}.py").read_text().replace("from cuprous", f"from {package}"))
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))  # png.py
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prepared(name: str, package: str, scale: float) -> Run:
    """Returns one launch on device arrays (for `n_body`: of the expensive kernel)."""
    m = example(name, package)
    cuda = m.cuda
    rng = np.random.default_rng(0)

    def side(n: int) -> int:
        return max(16, int(n * scale**0.5) // 16 * 16)

    count = max(512, int((1 << 22) * scale))
    if name == "stencil":
        n = side(2048)
        a, b = (cuda.to_device(rng.random((n, n), np.float32)) for _ in range(2))
        return lambda: m.spread[(n // 16, n // 16), (16, 16)](a, b)
    if name == "mandelbrot":
        n = side(1024)
        turns = cuda.to_device(np.zeros((n, n), np.int32))
        step = np.float32(2.5 / n)
        return lambda: m.mandelbrot[(n // 16, n // 16), (16, 16)](turns, np.float32(-2), np.float32(1.25), step, 200)
    if name == "image_filter":
        image = cuda.to_device(rng.integers(0, 256, (side(1088), side(1920), 3), np.uint8))
        result = cuda.device_array_like(image)
        blocks = (image.shape[1] // 16, image.shape[0] // 16)
        return lambda: m.sharpen[blocks, (16, 16)](image, result)
    if name == "reduction":
        values, out = cuda.to_device(rng.random(count)), cuda.to_device(np.zeros(1))
        return lambda: m.by_tree[min(512, count // 256), 256](values, out)
    if name == "histogram":
        values, counts = cuda.to_device(rng.random(count, np.float32)), cuda.to_device(np.zeros(256, np.int32))
        return lambda: m.histogram[min(1024, count // 256), 256](values, np.float32(0), np.float32(1), counts)
    if name == "matmul":
        n = side(512)
        a, b = (cuda.to_device(rng.random((n, n), np.float32)) for _ in range(2))
        c = cuda.device_array((n, n), dtype=np.float32)
        return lambda: m.matmul[(n // 16, n // 16), (16, 16)](a, b, c)
    if name == "n_body":
        n = side(4096)
        stars, speeds = cuda.to_device(rng.random((n, 4), np.float32)), cuda.to_device(np.zeros((n, 3), np.float32))
        return lambda: m.accelerate[-(-n // m.THREADS), m.THREADS](stars, speeds, np.float32(0.01))
    paths = max(256, int(65536 * scale))
    states, means = m.create_xoroshiro128p_states(paths, 1), cuda.to_device(np.zeros(paths, np.float32))
    drift, spread = np.float32(1e-4), np.float32(0.0126)
    return lambda: m.simulate[paths // 256, 256](states, 252, drift, spread, means)


NAMES = ["stencil", "mandelbrot", "image_filter", "reduction", "histogram", "matmul", "n_body", "monte_carlo"]
#: Not one of the examples: creation of xoroshiro128+ states for a million threads.
STATES = "random states for 1e6 threads"
NAMES.append(STATES)


def timed(run: Run, wait: Run, repeats: int) -> tuple[float, float]:
    """Returns the milliseconds of the first call and of a later one."""
    wait()
    start = time.perf_counter()
    run()
    wait()
    first = time.perf_counter() - start
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        wait()
        times.append(time.perf_counter() - start)
    return first * 1e3, statistics.median(times) * 1e3


def measure(package: str, scale: float, repeats: int) -> dict[str, tuple[float, float]]:
    """Measures all examples with one package."""
    # numba-cuda 0.30 uses a name that NumPy 2.5 has removed.
    setattr(np, "row_stack", np.vstack)  # noqa: B010
    results: dict[str, tuple[float, float]] = {}
    run: Run
    for name in NAMES:
        try:
            if name == STATES:
                m = example("monte_carlo", package)
                count = max(1000, int(1_000_000 * min(scale, 1.0)))
                run = functools.partial(m.create_xoroshiro128p_states, count, 1)
            else:
                run = prepared(name, package, scale)
            results[name] = timed(run, example("stencil", package).cuda.synchronize, repeats)
        except Exception as error:
            print(f"# {package} {name}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
    return results


def on_cores(scale: float, repeats: int) -> dict[str, tuple[float, float]]:
    """Measures the same work with `numba.njit(parallel=True)`."""
    from bench import kernel_peers

    kernels = [name for name in NAMES if name != STATES]
    return {name: timed(kernel_peers.prepared(name, scale), lambda: None, repeats) for name in kernels}


def child(what: str, scale: float, repeats: int, **env: str) -> dict[str, tuple[float, float]]:
    """Measures in a new process, in which nothing is compiled yet."""
    command = [sys.executable, "-m", "bench.kernel_examples", "--child", what, str(scale), str(repeats)]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env})
    sys.stderr.write("".join(line + "\n" for line in result.stderr.splitlines() if line.startswith("#")))
    lines = result.stdout.splitlines()
    return json.loads(lines[-1]) if result.returncode == 0 and lines else {}


def record(columns: dict[str, dict[str, tuple[float, float]]], gpu: bool) -> None:
    """Adds the rows to this machine's file."""
    from bench import history, table
    from bench.context import Measured

    run = history.Run("cuda" if gpu else "cpu", {})
    each = table.best_peer() if gpu else table.versus(numba=0.8)
    found = []
    for name, ours in columns["cuprous"].items():
        row, title = ("states", name) if name == STATES else (name, name.replace("_", " "))
        disk, theirs = columns["from disk"].get(name), columns["numba"].get(name)
        figures = [("", "", table.at_most(5) if name == STATES else each, 1, ours, theirs)]
        if gpu and name != STATES:
            figures.append((".first", ", first launch", table.at_most(150), 0, ours, theirs))
            figures += [(".disk", ", first launch from disk", table.at_most(20), 0, disk, None)] if disk else []
        for suffix, what, target, column, mine, peer in figures:
            ms = {"cuprous": mine[column]} | ({"numba": peer[column]} if peer else {})
            found.append(table.entry(run, Measured(f"examples.{row}{suffix}", f"kernel: {title}{what}", ms), target))
    history.append(run.machine.file, found)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="add the rows to this machine's file in bench/results")
    parser.add_argument("--child", nargs=3)
    parser.add_argument("--simulator", action="store_true")
    options = parser.parse_args()
    if options.child:
        what, scale, repeats = options.child[0], float(options.child[1]), int(options.child[2])
        results = on_cores(scale, repeats) if what == "njit" else measure(what, scale, repeats)
        print(json.dumps(results))
        return
    from cuprous import cuda

    gpu = cuda.is_available()
    scale, repeats = (16.0, 20) if gpu else (1.0, 9)
    with tempfile.TemporaryDirectory() as cache:
        columns = {"cuprous": child("cuprous", scale, repeats, CUPROUS_CACHE_DIR=cache)}
        columns["from disk"] = child("cuprous", scale, repeats, CUPROUS_CACHE_DIR=cache)
    columns["numba"] = child("numba" if gpu else "njit", scale, repeats)
    if options.simulator:
        small = 1 / 4096
        columns["small"] = child("cuprous", small, 3)
        columns["simulator"] = child("numba", small, 1, NUMBA_ENABLE_CUDASIM="1")
    print(
        f"{'ms: first launch, then each':<28}" + "".join(f"{name:>22}" for name in columns) + "   Numba's time / ours"
    )
    for name in NAMES:
        cells = [column.get(name) for column in columns.values()]
        ours, theirs = columns["cuprous"].get(name), columns["numba"].get(name)
        line = f"{name:<28}" + "".join(f"{c[0]:12.1f}{c[1]:10.3f}" if c else " " * 22 for c in cells)
        print(line + (f"{theirs[1] / ours[1]:12.2f}" if ours and theirs else ""), flush=True)
    if options.record:
        record(columns, gpu)
    if gpu:
        for column, most in (("cuprous", 150), ("from disk", 20)):
            late = [name for name, (first, _) in columns[column].items() if name != STATES and first > most]
            print(f"# first launch, {column}: above {most} ms: {', '.join(late) or 'none'}")


if __name__ == "__main__":
    main()
