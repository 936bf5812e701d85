"""Compares kernels with numba-cuda: cost of a launch, compile time, speed of the code.

`python -m bench.kernels` on a machine with a GPU; without numba-cuda only Cuprous is measured. Each launch cost is the
median of batches of launches with one wait at the end, as the caller sees it.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Module = Any


def submit(cuda: Module) -> None:
    """Submits all recorded work to the device without waiting. Numba submits at each launch."""
    if cuda.__name__.startswith("cuprous"):
        from cuprous import _core

        _core.flush()


def per_call(call: Callable[[], Any], cuda: Module, calls: int = 400, batches: int = 15) -> float:
    """Returns the microseconds until a call is submitted to the driver. Waiting for the work is not timed."""
    wait = cuda.synchronize
    for _ in range(50):
        call()
    wait()
    times = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        submit(cuda)
        times.append((time.perf_counter() - start) / calls * 1e6)
        wait()
    return statistics.median(times)


def with_parameters(cuda: Module, count: int, body: str) -> Any:
    """Returns a kernel with `count` parameters. Its source is in a file, because kernels are compiled from source."""
    import linecache

    names = ", ".join(f"p{k}" for k in range(count))
    text = f"def kernel({names}):\n    {body}\n"
    file = f"<kernel of {count} parameters {body}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), space)
    return cuda.jit(space["kernel"])


def indexed(kernel: Any, args: list[Any]) -> None:
    """Launches a kernel with the usual syntax."""
    kernel[1, 32](*args)


def launches(cuda: Module) -> dict[str, float]:
    """Returns the cost of launches in microseconds."""
    arrays = [cuda.to_device(np.ones(16, np.float32)) for _ in range(16)]
    results = {}
    rows: list[tuple[str, list[Any]]] = [("0 arrays", []), ("1 arrays", arrays[:1]), ("16 arrays", arrays)]
    rows += [("256 ints", list(range(256))), ("256 floats", [k + 0.5 for k in range(256)])]
    for what, args in rows:
        count = len(args)
        kernel = with_parameters(cuda, count, "return")
        configured = kernel[1, 32]
        # Fewer than the 1,024 launches that a stream queues, so that no launch waits for the GPU.
        calls = 400 if count < 256 else 100
        results[what] = per_call(functools.partial(configured, *args), cuda, calls)
        whole = functools.partial(indexed, kernel, args)
        results[what + ", kernel[g, b](…)"] = per_call(whole, cuda, calls)
    return results


TPB = 16


def kernels(cuda: Module, float32: Any) -> dict[str, tuple[Any, Callable[[], tuple[Any, ...]], Any, Any]]:
    """Returns kernels with their arguments, grids and blocks."""

    @cuda.jit
    def add(a: Any, b: Any, c: Any) -> None:
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]

    @cuda.jit
    def matmul(a: Any, b: Any, c: Any) -> None:
        sa = cuda.shared.array((TPB, TPB), float32)
        sb = cuda.shared.array((TPB, TPB), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0.0)
        for k in range(cuda.gridDim.x):
            sa[ty, tx] = a[y, tx + k * TPB]
            sb[ty, tx] = b[ty + k * TPB, x]
            cuda.syncthreads()
            for j in range(TPB):
                total += sa[ty, j] * sb[j, tx]
            cuda.syncthreads()
        c[y, x] = total

    @cuda.jit
    def mandelbrot(image: Any, iterations: int) -> None:
        x, y = cuda.grid(2)
        if x < image.shape[1] and y < image.shape[0]:
            cr = float32(-2.0) + float32(3.0) * x / image.shape[1]
            ci = float32(-1.5) + float32(3.0) * y / image.shape[0]
            zr = zi = float32(0.0)
            n = 0
            while n < iterations and zr * zr + zi * zi < 4:
                zr, zi = zr * zr - zi * zi + cr, float32(2.0) * zr * zi + ci
                n += 1
            image[y, x] = n

    @cuda.jit
    def total(a: Any, out: Any) -> None:
        s = cuda.shared.array(256, float32)
        t = cuda.threadIdx.x
        mine = float32(0.0)
        for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
            mine += a[i]
        s[t] = mine
        cuda.syncthreads()
        step = 128
        while step > 0:
            if t < step:
                s[t] += s[t + step]
            cuda.syncthreads()
            step //= 2
        if t == 0:
            cuda.atomic.add(out, 0, s[0])

    @cuda.jit
    def stencil(a: Any, b: Any) -> None:
        x, y = cuda.grid(2)
        if 0 < x < a.shape[1] - 1 and 0 < y < a.shape[0] - 1:
            b[y, x] = (a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) * float32(0.25)

    rng = np.random.default_rng(0)

    def ones(*shape: int) -> Any:
        return cuda.to_device(rng.random(shape, np.float32))

    n = 1 << 24
    return {
        "add of 2^24 float32": (add, lambda: (ones(n), ones(n), ones(n)), n // 256, 256),
        "matmul of 2048 in shared memory": (
            matmul, lambda: (ones(2048, 2048), ones(2048, 2048), ones(2048, 2048)), (128, 128), (TPB, TPB),
        ),
        "mandelbrot 2048, 200 iterations": (
            mandelbrot, lambda: (cuda.to_device(np.zeros((2048, 2048), np.int32)), 200), (128, 128), (16, 16),
        ),
        "sum of 2^24 float32": (total, lambda: (ones(n), ones(1)), 1024, 256),
        "stencil 4096": (stencil, lambda: (ones(4096, 4096), ones(4096, 4096)), (256, 256), (16, 16)),
    }  # fmt: skip


def speeds(cuda: Module, float32: Any) -> dict[str, tuple[float, float]]:
    """Returns the milliseconds of the first launch, which compiles, and of a later one."""
    results = {}
    for name, (kernel, arguments, grid, block) in kernels(cuda, float32).items():
        args = arguments()
        cuda.synchronize()
        start = time.perf_counter()
        kernel[grid, block](*args)
        cuda.synchronize()
        first = (time.perf_counter() - start) * 1e3
        times = []
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(20):
                kernel[grid, block](*args)
            cuda.synchronize()
            times.append((time.perf_counter() - start) / 20 * 1e3)
        results[name] = (first, statistics.median(times))
    return results


def host_arrays(cuda: Module) -> float:
    """Returns the milliseconds of a sum of two host arrays into a third, 8 MB each."""

    @cuda.jit
    def add_numbers(a: Any, b: Any, c: Any) -> None:
        idx = cuda.grid(1)
        if idx < a.size:
            c[idx] = a[idx] + b[idx]

    a, b, c = np.arange(1000000), np.arange(1000000), np.zeros(1000000)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        add_numbers[1000, 1000](a, b, c)
        cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    assert np.array_equal(c, a + b)
    return statistics.median(times)


def modules() -> dict[str, tuple[Module, Any]]:
    """Returns Cuprous and, if installed, numba-cuda."""
    from cuprous import cuda

    found: dict[str, tuple[Module, Any]] = {"cuprous": (cuda, cuda.types.float32)}
    # numba-cuda 0.30 uses a name that NumPy 2.5 has removed.
    if "row_stack" not in vars(np):
        setattr(np, "row_stack", np.vstack)  # noqa: B010
    try:
        import numba.cuda

        if numba.cuda.is_available():
            numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
            numba.config.CUDA_WARN_ON_IMPLICIT_COPY = 0
            found["numba"] = (numba.cuda, numba.float32)
    except Exception as error:
        print(f"# numba-cuda is left out: {error}")
    return found


def main() -> None:
    """Prints three tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["launches"], help="that table alone")
    only = parser.parse_args().only
    for name, (cuda, float32) in modules().items():
        print(f"# {name}")
        for what, microseconds in launches(cuda).items():
            print(f"{name:>8} launch {what:<32} {microseconds:9.2f} us", flush=True)
        if only:
            continue
        print(f"{name:>8} 3 host arrays of 8 MB   {host_arrays(cuda):25.2f} ms", flush=True)
        for what, (first, each) in speeds(cuda, float32).items():
            print(f"{name:>8} {what:<34} first {first:9.1f} ms, then {each:9.4f} ms", flush=True)


if __name__ == "__main__":
    main()
