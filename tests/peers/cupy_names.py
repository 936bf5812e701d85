"""Names outside CuPy's public API that its kernel tests import: public equivalents, or empty stand-ins."""

from __future__ import annotations

import subprocess
from types import ModuleType
from typing import Any

import cuprous
from cuprous.cuda import _nvrtc
from cuprous.cuda._nvcc import find_nvcc
from tests.peers.binding import package


def lent() -> dict[str, ModuleType]:
    """Returns the CuPy modules that its kernel tests import. Code is compiled by other means here."""
    accelerators: dict[str, Any] = {"ACCELERATOR_CUB": 1}
    for what in ("reduction", "routine"):
        accelerators[f"get_{what}_accelerators"] = list
        accelerators[f"set_{what}_accelerators"] = lambda _: None
    core = {
        "create_reduction_func": _create_reduction_func,
        "elementwise_copy": lambda src, dst: cuprous.copyto(dst, src),
        **accelerators,
    }
    device = {"get_compute_capability": lambda: cuprous.cuda.Device().compute_capability}
    compiler: dict[str, Any] = {
        "CompileException": _Failure,
        "JitifyException": _Failure,
        "_get_arch": device["get_compute_capability"],
        "_run_cc": lambda command, folder, _: subprocess.check_output(command, cwd=folder, text=True),
        # Patched by tests that disable or move CuPy's code cache
        "_kernel_cache_backend": None,
        "_empty_file_preprocess_cache": {},
        "_get_bool_env_variable": None,
    }
    return {
        "cupy._core": package("cupy._core", **core),
        "cupy._core._accelerator": package("cupy._core._accelerator", **accelerators),
        "cupy._util": package("cupy._util", clear_memo=lambda: None),
        "cupy.cuda.compiler": package("cupy.cuda.compiler", **compiler),
        "cupy.cuda._compiler_cache": package("cupy.cuda._compiler_cache", DiskKernelCacheBackend=_Cache),
        "cupy.cuda.device": package("cupy.cuda.device", **device),
        "cupy.cuda.driver": package(
            "cupy.cuda.driver",
            CUDADriverError=_Failure,
            _is_cuda_python=lambda: True,
        ),
        "cupy_backends.cuda.libs": package("cupy_backends.cuda.libs"),
        "cupy_backends.cuda.libs.nvrtc": package("cupy_backends.cuda.libs.nvrtc", getVersion=_nvrtc.version),
    }


def public() -> dict[str, Any]:
    """Returns the names of `cupy.cuda` that this package lacks."""
    return {"get_nvcc_path": lambda: " ".join(find_nvcc())}


class _OfCuda(type):
    def __instancecheck__(cls, error: object) -> bool:
        return isinstance(error, RuntimeError) and not isinstance(error, NotImplementedError)


class _Failure(RuntimeError, metaclass=_OfCuda):
    """Compiler and driver errors, here RuntimeError, but not the error that the CPU cannot run CUDA C++."""


class _Cache:
    """A code cache in a folder that is never filled."""

    def __init__(self, path: str) -> None: ...


def _create_reduction_func(name: str, ops: Any, routine: Any, identity: Any) -> cuprous.ReductionKernel:
    """Returns a reduction whose result has the input's dtype; the tests use no others."""
    value, reduced, result, _ = routine
    return cuprous.ReductionKernel("T in0", "T out0", value, reduced, result, str(identity), name)
