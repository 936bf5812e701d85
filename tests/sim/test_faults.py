"""Each function of the driver fails once, at its first and at later calls, while programs are planned, captured and
replayed. The error reaches the user, and what comes after it is right."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

import cuprous as cp
import cuprous.torch as torch
from tests.simulated import FOLDER

OUT_OF_MEMORY, UNKNOWN = 2, 999
#: The driver's functions that programs call, as crates/cuda-sys lists them.
FUNCTIONS = [
    "cuCtxGetCurrent", "cuCtxSetCurrent", "cuEventCreate", "cuEventDestroy_v2", "cuEventQuery", "cuEventRecord",
    "cuEventSynchronize", "cuFuncGetAttribute", "cuFuncSetAttribute", "cuGraphAddChildGraphNode",
    "cuGraphAddEventRecordNode", "cuGraphAddKernelNode_v2", "cuGraphAddMemcpyNode", "cuGraphCreate", "cuGraphDestroy",
    "cuGraphExecChildGraphNodeSetParams", "cuGraphExecDestroy", "cuGraphExecKernelNodeSetParams_v2",
    "cuGraphExecMemcpyNodeSetParams", "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuGraphUpload", "cuLaunchKernel",
    "cuMemAlloc_v2", "cuMemFree_v2", "cuMemGetInfo_v2", "cuMemHostAlloc", "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuMemsetD8Async", "cuModuleGetFunction", "cuModuleLoadData",
    "cuModuleUnload", "cuStreamBeginCapture_v2", "cuStreamCreateWithPriority", "cuStreamEndCapture", "cuStreamQuery",
    "cuStreamSynchronize", "cuStreamWaitEvent",
]  # fmt: skip
#: Rows of the next program. Each has another shape, so that it is planned and captured anew.
ROWS = iter(range(40, 10_000))


@pytest.fixture
def driver() -> Iterator[ctypes.CDLL]:
    library = ctypes.CDLL(str(FOLDER / "libcuda.so.1"))
    library.cuprous_sim_fail.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int]
    library.cuprous_sim_forget.restype = ctypes.c_bool
    yield library
    library.cuprous_sim_forget()


def program(rows: int) -> None:
    """Compares steps of arrays and of training with NumPy: kernels, products, a sort, copies, replays."""
    host = np.random.default_rng(rows).random((rows, 30), np.float32)
    a = cp.asarray(host)
    for _ in range(5):
        got = (cp.sort((a * 2 + 1).sum(axis=1)) + (a @ a.T)[0]).get()
        np.testing.assert_allclose(got, np.sort((host * 2 + 1).sum(axis=1)) + (host @ host.T)[0], rtol=1e-4)
    big = np.arange(100_000.0) + rows  # goes by the copy stream
    np.testing.assert_array_equal((cp.asarray(big) + 1).get(), big + 1)
    wide = host[:3].astype(np.float64)
    w = torch.tensor(wide, device="cuda", requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    x = torch.tensor(host.astype(np.float64), device="cuda")
    for _ in range(5):
        loss = ((x @ w.t()) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        y = host @ wide.T
        np.testing.assert_allclose(loss.item(), (y**2).mean(), rtol=1e-10)
        wide -= 0.2 * y.T @ host / y.size
    np.testing.assert_allclose(w.detach().cpu().numpy(), wide, rtol=1e-10)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_failing_call_is_an_error_and_nothing_else(name: str, driver: ctypes.CDLL) -> None:
    program(next(ROWS))
    for after in (0, 1, 2, 5, 20):
        rows = next(ROWS)
        driver.cuprous_sim_fail(name.encode(), after, OUT_OF_MEMORY if "Alloc" in name else UNKNOWN)
        try:
            program(rows)
        except (RuntimeError, MemoryError) as error:
            assert name in str(error) or isinstance(error, MemoryError) or "memory" in str(error)
        never_called = driver.cuprous_sim_forget()
        program(rows)
        if never_called:
            break


def test_an_error_is_reported_once(driver: ctypes.CDLL) -> None:
    """A launch that fails is named with the operation; the next one works."""
    a = cp.asarray(np.arange(1000.0))
    driver.cuprous_sim_fail(b"cuLaunchKernel", 0, UNKNOWN)
    with pytest.raises(RuntimeError, match="cuLaunchKernel failed: CUDA_ERROR_UNKNOWN"):
        float((a * 3.25).sum())
    assert float((a * 3.25).sum()) == 3.25 * 999 * 500
