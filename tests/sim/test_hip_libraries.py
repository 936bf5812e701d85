"""AMD's libraries compute what NumPy and SciPy compute: hipBLASLt, rocBLAS, hipFFT, hipSOLVER and hipSPARSE.

The libraries are those of crates/fake-hip, which translates AMD's values back and forwards to the simulated libraries
of NVIDIA. What this cannot show: what AMD's own libraries compute, and with which kernels.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.test_hip import ROOT, pytestmark, run  # noqa: F401
from tests.simulated import FOLDER, HIP

START = """
import cuprous as cp, numpy as np
from cuprous import _core
_core.set_device({device!r})
rng = np.random.default_rng(0)
ALLOWED = dict(float16=0.3, float32=2e-3, complex64=2e-3, float64=1e-11, complex128=1e-11)
def array(name, *shape):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if name[0] == "c" else x).astype(name)
def near(found, expected, name):
    error = np.abs(np.asarray(cp.asnumpy(found), np.complex128) - expected).max()
    assert error < ALLOWED[name] * max(1, np.abs(expected).max()), (name, error)
"""
PRODUCTS = """
for name in ALLOWED:
    a, b, c = array(name, 3, 40, 33), array(name, 33, 35), array(name, 3, 40, 35)
    on = [cp.asarray(x) for x in (a, b, c)]
    wide = [x.astype(np.complex128) for x in (a, b, c)]
    for f in (
        lambda a, b, c: a @ b,
        lambda a, b, c: a[0] @ b,
        lambda a, b, c: b.T @ a[0].T,
        lambda a, b, c: a[:, 3:, 1:20] @ b[1:20],
        lambda a, b, c: c - 0.25 * (a @ b),
        lambda a, b, c: a.swapaxes(1, 2)[:, ::-1] @ c,
        lambda a, b, c: a[1, 5] @ b,
    ):
        near(f(*on), f(*wide), name)
    print(name, cp.show_code(on[0] @ on[1]).split(":")[0].split()[-1])
"""
#: The bias of a layer is an epilogue of the product.
BIAS = """
import cuprous.torch as torch
for name in ("float32", "bfloat16", "float16"):
    arrays = (array("float32", *shape) for shape in [(20, 33), (35, 33), (35,)])
    x, w, b = (torch.tensor(x, device="cuda").to(getattr(torch, name)) for x in arrays)
    out = torch.nn.functional.linear(x, w, b)
    wide = [v.float().cpu().numpy().astype(np.float64) for v in (x, w, b)]
    error = np.abs(out.float().cpu().numpy() - (wide[0] @ wide[1].T + wide[2])).max()
    assert error < (1e-4 if name == "float32" else 0.2), (name, error)
    print(name)
"""
TRANSFORMS = """
for real, cplx in (("float32", "complex64"), ("float64", "complex128")):
    x, z = array(real, 3, 10, 1009), array(cplx, 3, 10, 1009)
    for f in (
        lambda m, x, z: m.fft.fft(z),
        lambda m, x, z: m.fft.ifft(z),
        lambda m, x, z: m.fft.rfft(x),
        lambda m, x, z: m.fft.irfft(z, 1009),
        lambda m, x, z: m.fft.hfft(z, 1010),
        lambda m, x, z: m.fft.ihfft(x),
        lambda m, x, z: m.fft.fftn(z, axes=(0, 2)),
        lambda m, x, z: m.fft.ifft2(z),
        lambda m, x, z: m.fft.rfft2(x),
        lambda m, x, z: m.fft.irfftn(z),
        lambda m, x, z: m.fft.fft(x),
        lambda m, x, z: m.fft.fft(z, axis=0, norm="ortho"),
    ):
        near(f(cp, cp.asarray(x), cp.asarray(z)), f(np, x.astype(np.float64), z.astype(np.complex128)), cplx)
    print(cplx, "hipFFT" in cp.show_code(cp.fft.fft(cp.asarray(z))))
"""
#: Sizes that do not fit into the memory that a block shares, from which on the library is called.
DECOMPOSITIONS = """
for name, n in (("float32", 130), ("float64", 92), ("complex64", 92), ("complex128", 66)):
    wide = np.complex128 if name[0] == "c" else np.float64
    a, b = array(name, 2, n, n), array(name, 2, n, 3)
    h = (a @ a.conj().swapaxes(1, 2) / n + np.eye(n)).astype(name)
    A, B, H = (cp.asarray(x) for x in (a, b, h))
    near(cp.linalg.cholesky(H), np.linalg.cholesky(h.astype(wide)), name)
    near(cp.linalg.cholesky(H, upper=True), np.linalg.cholesky(h.astype(wide)).conj().swapaxes(1, 2), name)
    near(A @ cp.linalg.solve(A, B), b.astype(wide), name)
    near(cp.linalg.slogdet(A)[1], np.linalg.slogdet(a.astype(wide))[1], name)
    k = n - 20
    for tall in (A[:1, :, :k], A[:1, :k]):
        host = cp.asnumpy(tall).astype(wide)
        q, r = cp.linalg.qr(tall)
        near(q @ r, host, name)
        near(q.conj().swapaxes(1, 2) @ q, np.broadcast_to(np.eye(q.shape[2]), (1, q.shape[2], q.shape[2])), name)
        for full in (False, True):
            u, s, v = cp.linalg.svd(tall, full_matrices=full)
            near(s, np.linalg.svd(host, compute_uv=False), name)
            near((u[:, :, :k] * s[:, None]) @ v[:, :k], host, name)
    near(cp.linalg.svdvals(A), np.linalg.svd(a.astype(wide), compute_uv=False), name)
    for uplo in "LU":
        values, vectors = cp.linalg.eigh(H, UPLO=uplo)
        near(values, np.linalg.eigvalsh(h.astype(wide)), name)
        near(H @ vectors, cp.asnumpy(vectors) * cp.asnumpy(values)[:, None], name)
    near(cp.linalg.eigvalsh(H[0]), np.linalg.eigvalsh(h[0].astype(wide)), name)
    print(name, "hipSOLVER" in cp.show_code(cp.linalg.cholesky(H)))
try:
    cp.linalg.eig(cp.asarray(array("float64", 5, 5)))
except Exception as error:
    print(str(error).splitlines()[0])
"""
SPARSE = """
import cuprous.scipy.sparse as sparse, scipy.sparse
for name in ("float32", "float64", "complex64", "complex128"):
    host = scipy.sparse.random(60, 47, 0.2, format="csr", random_state=0, dtype=np.float64)
    host.data = array(name, host.nnz)
    wide = host.astype(np.complex128)
    on = sparse.csr_matrix(host)
    for matrix, of in ((on, wide), (on.T, wide.T)):
        for dense in (array(name, matrix.shape[1]), array(name, matrix.shape[1], 5)):
            near(matrix @ cp.asarray(dense), of @ dense.astype(np.complex128), name)
    print(name, "hipSPARSE" in cp.show_code(on @ cp.asarray(array(name, 47))))
"""


def with_libraries(tmp_path: Path, *names: str) -> Path:
    """Returns a folder with HIP, hiprtc and the libraries of these names."""
    folder = tmp_path / "rocm"
    folder.mkdir()
    for file in HIP.iterdir():
        if file.name.startswith(("libamdhip64", "libhiprtc", *(f"lib{name}." for name in names))):
            (folder / file.name).symlink_to(file.resolve())
    return folder


def test_products(tmp_path: Path) -> None:
    lines, _ = run(START + PRODUCTS + BIAS, tmp_path, hip=True)
    assert lines == [
        *(f"{name} hipBLASLt" for name in ("float16", "float32", "complex64", "float64", "complex128")),
        "float32", "bfloat16", "float16",
    ]  # fmt: skip


@pytest.mark.parametrize("library", ["rocblas", "hipblaslt", "none"])
def test_products_without_all_libraries(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """hipBLASLt lacks float64 and complex numbers here, rocBLAS the bias; our own kernel does what is left."""
    monkeypatch.setattr("tests.sim.test_hip.HIP", with_libraries(tmp_path, library))
    lines, _ = run(START + PRODUCTS + BIAS, tmp_path, hip=True)
    by_library = {line.split()[0] for line in lines[:5] if line.endswith("hipBLASLt")}
    everything = {"float16", "float32", "complex64", "float64", "complex128"}
    assert by_library == {"rocblas": everything, "hipblaslt": {"float16", "float32"}, "none": set()}[library]
    assert lines[5:] == ["float32", "bfloat16", "float16"]


def test_transforms(tmp_path: Path) -> None:
    assert run(START + TRANSFORMS, tmp_path, hip=True)[0] == ["complex64 True", "complex128 True"]


def test_decompositions(tmp_path: Path) -> None:
    *lines, error = run(START + DECOMPOSITIONS, tmp_path, hip=True)[0]
    assert lines == ["float32 True", "float64 True", "complex64 True", "complex128 True"]
    assert error.startswith("[linalg.eig] not supported on hip:0"), error


def test_sparse_products(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    assert run(START + SPARSE, tmp_path, hip=True)[0] == [
        "float32 True", "float64 True", "complex64 True", "complex128 True",
    ]  # fmt: skip


@pytest.mark.parametrize(("code", "library"), [
    ("cp.fft.fft(cp.ones(1009)).sum().item()", "hipFFT"),
    ("cp.linalg.svd(cp.ones((600, 600)))[1].sum().item()", "hipSOLVER"),
])  # fmt: skip
def test_a_missing_library_is_named(code: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.sim.test_hip.HIP", with_libraries(tmp_path))
    code = f"try:\n    {code}\nexcept Exception as error:\n    print(str(error).splitlines()[0])"
    lines, _ = run(START + code, tmp_path, hip=True)
    assert f"{library} was not found" in lines[0] and "CUPROUS_ROCM_PATH" in lines[0]


def test_the_doctor_lists_the_libraries(tmp_path: Path) -> None:
    env = os.environ | {"CUPROUS_CUDA_PATH": str(FOLDER), "CUPROUS_ROCM_PATH": str(with_libraries(tmp_path, "hipfft"))}
    done = command("doctor", "--json", env=env)
    checks = {check["name"]: check for check in json.loads(done)["checks"]}
    assert (checks["hipFFT"]["state"], checks["hipSOLVER"]["state"]) == ("ok", "note")
    assert checks["hipFFT"]["found"].endswith("libhipfft.so.0")
    assert "decompositions of larger matrices raise" in checks["hipSOLVER"]["found"]


def command(*arguments: str, env: dict[str, str]) -> str:
    line = [sys.executable, "-m", "cuprous", *arguments]
    return subprocess.run(line, env=env, cwd=ROOT, capture_output=True, text=True, timeout=100).stdout


#: Six runs of a program of few kernels, each of which needs the one before.
FEW_KERNELS = """
import cuprous as cp
from cuprous import _core
_core.set_device({device!r})
a = cp.asarray([[1.0, 2.0], [3.0, 5.0]])
for _ in range(6):
    y = a
    for axis in (0, 1, 0):
        y = y - y.max(axis, keepdims=True)
    y.sum().item()
"""


def test_programs_are_graphs_from_a_measured_number_of_kernels(tmp_path: Path) -> None:
    """Until it was measured, from ten on."""
    assert "cuGraphLaunch" not in run(FEW_KERNELS, tmp_path, hip=True)[1]
    cache = tmp_path / "cubins"
    env = os.environ | {"CUPROUS_CACHE_DIR": str(cache), "CUPROUS_DEVICE": "cpu"}
    env.pop("CUPROUS_CUDA_PATH", None)
    machine = json.loads(command("calibrate", "--quick", "--json", env=env))
    copies = dict.fromkeys(("up", "down", "up_pinned", "down_pinned"), 1e10) | {"latency": 1e-5}
    gpu = machine["cpu"] | {"graph": 2, "copies": copies}
    machine |= {"board": f"Simulated GPU (waves of {wave()}), HIP 5.4", "gpu": gpu}
    (file,) = cache.glob("*.json")
    file.write_text(json.dumps(machine))
    (tmp_path / "hip.log").unlink()
    assert "cuGraphLaunch" in run(FEW_KERNELS, tmp_path, hip=True)[1]


def wave() -> str:
    return dict(part.split("=", 1) for part in os.environ["CUPROUS_SIM"].split(","))["wave"]
