"""Compares the generated CUDA C++ with the files in `snapshots`. CUPROUS_BLESS=1 rewrites them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from cuprous import cuda
from cuprous.cuda import float32

SNAPSHOTS = Path(__file__).parent / "snapshots"
TPB = 16


@cuda.jit(device=True)
def weight(x, y=2):
    return x * y, x > y


@cuda.jit
def matmul(a, b, c):
    """Tiles of 16 x 16."""
    sa = cuda.shared.array((TPB, TPB), float32)
    sb = cuda.shared.array((TPB, TPB), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range(cuda.gridDim.x):
        sa[ty, tx] = a[y, tx + k * TPB]
        sb[ty, tx] = b[ty + k * TPB, x]
        cuda.syncthreads()
        for j in range(TPB):
            total += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    c[y, x] = total


@cuda.jit
def histogram(values, bins, low, high):
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        k = int((values[i] - low) / (high - low) * bins.size)
        if 0 <= k < bins.size:
            cuda.atomic.add(bins, k, 1)


@cuda.jit
def control_flow(a, add, out):
    for row in a[1:, ::-1]:
        value, larger = weight(row[-1])
        if larger and value != add:
            out[0] = value**0.5 + (add // 3 if add > 4 else add % -7)
            break
    else:
        print("none of", len(a), "rows")


KERNELS: list[tuple[Any, str]] = [
    (matmul, "void(float32[:, ::1], float32[:, ::1], float32[:, ::1])"),
    (histogram, "void(float64[:], int32[::1], float64, float64)"),
    (control_flow, "void(int32[:, :], int64, float64[::1])"),
]


@pytest.mark.parametrize(("kernel", "signature"), KERNELS, ids=lambda x: getattr(x, "__name__", ""))
def test_generated_code_matches_snapshot(kernel: Any, signature: str) -> None:
    code = re.sub(r"^// .*tests/kernels/", "// ", kernel.cuda_source(signature), flags=re.MULTILINE)
    code = re.sub(r"(?m)(// test_snapshots\.py, line) \d+", r"\1 N", code)
    code = re.sub(r"(?m)^(\s*// )\d+:", r"\1N:", code)
    path = SNAPSHOTS / f"{kernel.__name__}.cu"
    if os.environ.get("CUPROUS_BLESS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")
    assert code == path.read_text(encoding="utf-8")
    # The compiled text has no line comments, so that cached code is found wherever its function is defined.
    assert not [line for line in code.splitlines() if "//" in line and not line.lstrip().startswith("//")]
