"""Copies between two simulated GPUs of one process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_PROGRAM = """
import ctypes
import numpy as np
import cuprous as cp
import cuprous.torch as torch
rng = np.random.default_rng(0)
cp.zeros(1, device="cuda:0")    # starts CUDA, which counts simulated GPUs
assert torch.cuda.device_count() == 2
for k in range(30):
    host = rng.integers(0, 1000, size=int(rng.choice([1, 7, 5000, 200_000])))
    a = cp.asarray(host, device="cuda:0") * 2
    b = cp.asarray(a, device="cuda:1")
    a += 1                      # after the copy
    back = cp.asarray(b + 1, device="cuda:0")
    del b                       # its memory is used again, after the copy back
    c = cp.zeros(host.size, dtype=np.int64, device="cuda:1")
    assert (a == back).all().item() and not c.any().item()
    np.testing.assert_array_equal(back.get(), host * 2 + 1)
x = torch.arange(12.0, device="cuda:0").reshape(3, 4).t().requires_grad_()
y = x.to("cuda:1")
assert y.device == torch.device("cuda:1") and y.tolist() == x.tolist()
(y * y).sum().backward()
assert x.grad.device == torch.device("cuda:0") and torch.equal(x.grad, 2 * x.detach())
print(torch.cuda.can_device_access_peer(0, 1), cp.cuda.runtime.deviceCanAccessPeer(1, 0))
try:
    torch.cuda.can_device_access_peer(0, 2)
except AssertionError as e:
    assert "Invalid device id" in str(e)
else:
    raise SystemExit("accepted")
simulator = ctypes.CDLL("SIMULATOR")
simulator.cuprous_sim_fail.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int]
simulator.cuprous_sim_forget.restype = ctypes.c_bool
simulator.cuprous_sim_fail(b"cuMemcpyPeerAsync", 0, 999)
try:
    cp.asarray(cp.asarray([1, 2], device="cuda:0"), device="cuda:1").get()
except RuntimeError as e:
    assert "cuMemcpyPeerAsync" in str(e)
print("through the host" if simulator.cuprous_sim_forget() else "direct")
"""


@pytest.mark.parametrize(
    ("peers", "answer", "way"),
    [("yes", "True 1", "direct"), ("no", "False 0", "through the host"), ("broken", "True 1", "through the host")],
)
def test_copies_between_gpus_are_exact_and_in_order(peers: str, answer: str, way: str) -> None:
    """Directly where that works, else through the host; a pair that loses data is found before it is used."""
    settings = os.environ["CUPROUS_SIM"] + f",devices=2,peers={peers},seed=3"
    program = _PROGRAM.replace("SIMULATOR", os.environ["CUPROUS_CUDA_PATH"] + "/libcuda.so.1")
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | {"CUPROUS_SIM": settings},
                          capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [answer, way]
