"""The device drives GPUs of AMD by HIP as it drives those of NVIDIA by CUDA: by the same calls in the same order.

HIP is a library that forwards its functions to CUDA's driver (crates/fake-hip), on the simulated GPU. What this cannot
show: what AMD's own driver and compiler do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulated import FOLDER, HIP

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not (HIP / "libamdhip64.so.5").exists(), reason="the stand-in for HIP was not built: make build/fake-hip/.built"
)

#: A training step as often as it takes to become a graph, and its losses.
TRAIN = """
import cuprous.torch as torch
from cuprous.torch import nn
from cuprous import _core
torch.manual_seed(0)
_core.set_device({device!r})
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 4)).to("cuda")
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(24, 16, device="cuda"), torch.randint(0, 4, (24,), device="cuda")
for _ in range(6):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
"""
#: Calls about devices and contexts, which the two interfaces have in different numbers, and about the shared memory of
#: a kernel, which HIP does not request.
OWN = ("cuInit", "cuDriverGetVersion", "cuDevice", "cuCtx", "cuFunc")


def run(code: str, tmp_path: Path, *, hip: bool) -> tuple[list[str], list[str]]:
    """Runs a program on one of the two devices. Returns the lines that it prints and the calls of the driver."""
    log = tmp_path / f"{'hip' if hip else 'cuda'}.log"
    env = os.environ | {"CUPROUS_CUDA_PATH": str(FOLDER), "CUPROUS_CACHE_DIR": str(tmp_path / "cubins")}
    env["CUPROUS_SIM"] = f"{os.environ.get('CUPROUS_SIM', 'wave=32')},log={log}"
    if hip:
        env["CUPROUS_ROCM_PATH"] = str(HIP)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code.format(device="hip" if hip else "cuda")],
        env=env, cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), [call for call in log.read_text().split() if not call.startswith(OWN)]


def test_a_training_step_makes_the_same_calls(tmp_path: Path) -> None:
    losses, calls = run(TRAIN, tmp_path, hip=True)
    expected, cuda = run(TRAIN, tmp_path, hip=False)
    assert [float(loss) for loss in losses] == pytest.approx([float(loss) for loss in expected], rel=1e-5)
    assert "cuGraphLaunch" in calls
    assert calls == cuda


@pytest.mark.parametrize("code", [
    "a = cp.arange(1000.0).reshape(10, 100); print(cp.sort(a[:, ::-1] % 7)[3, :5], (a + a.sum(1)[:, None]).sum())",
    "print([cp.cumsum(cp.arange(5000))[-1].item() for _ in range(2)], cp.unique(cp.arange(100) % 9).tolist())",
])  # fmt: skip
def test_programs_without_products_make_exactly_the_same_calls(code: str, tmp_path: Path) -> None:
    """In two runs. From the third one on, only CUDA runs a program of few kernels as a graph."""
    code = "import cuprous as cp\nfrom cuprous import _core\n_core.set_device({device!r})\n" + code
    assert run(code, tmp_path, hip=True) == run(code, tmp_path, hip=False)


def test_names_and_versions(tmp_path: Path) -> None:
    code = """
import cuprous as cp, cuprous.torch as torch, numpy as np
from cuprous import _core
_core.set_device({device!r})
a = cp.arange(3)
print(torch.version.hip, torch.version.cuda, _core.get_device(), a.__dlpack_device__())
"""
    assert run(code, tmp_path, hip=True)[0] == ["5.4 None hip:0 (10, 0)"]


def test_handles_of_memory_say_what_to_do(tmp_path: Path) -> None:
    code = """
import cuprous as cp
from cuprous import _core, cuda
_core.set_device({device!r})
try:
    cuda.current_context().get_ipc_handle(cp.ones(3))
except RuntimeError as error:
    print(error)
"""
    (message,) = run(code, tmp_path, hip=True)[0]
    assert "not supported on a GPU of AMD" in message and "asnumpy" in message


def test_names_of_templates_by_hiprtc(tmp_path: Path) -> None:
    """hiprtc says how the linker knows a kernel, also where the code comes from the disk."""
    code = """
import cuprous as cp
from cuprous import _core
from cuprous.pycuda import compiler
_core.set_device({device!r})
twice = "template <class T> __global__ void twice(T* x) {{ x[threadIdx.x] *= 2; }}"
for _ in range(2):
    module = cp.RawModule(code=twice, name_expressions=["twice<float>", "twice<int>"])
    x, y = cp.arange(4, dtype=cp.int32), cp.arange(3, dtype=cp.float32)
    module.get_function("twice<int>")((1,), (4,), (x,))
    module.get_function("twice<float>")((1,), (3,), (y,))
    print(x.tolist(), y.tolist())
for wrong in (
    lambda: cp.RawModule(code=twice, backend="nvcc").compile(),
    lambda: compiler.compile(twice, target="ptx", no_extern_c=True),
    lambda: compiler.DynamicSourceModule(twice, no_extern_c=True),
):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__, str(error))
"""
    *values, nvcc, ptx, link = run(code, tmp_path, hip=True)[0]
    assert values == ["[0, 2, 4, 6] [0.0, 2.0, 4.0]"] * 2
    assert nvcc.startswith("NotImplementedError") and "hiprtc" in nvcc
    assert ptx.startswith("NotImplementedError") and "no PTX" in ptx
    assert link.startswith("CompileError") and "cannot be linked" in link
