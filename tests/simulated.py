"""Selects a simulated GPU (crates/sim) as this process's device.

`sim:32` and `sim:64` have waves of so many threads. `hip:32` and `hip:64` are the same GPU behind HIP's functions
(crates/fake-hip), so that the device runs as on a GPU of AMD.
"""

from __future__ import annotations

import os
from pathlib import Path

#: Where `make build/sim/.built` puts the simulator under the names of NVIDIA's libraries.
FOLDER = Path(__file__).resolve().parents[1] / "build" / "sim"
#: Where `make build/fake-hip/.built` puts HIP on CUDA's driver.
HIP = FOLDER.parent / "fake-hip"

#: Tests that a simulated GPU cannot run, with the reason.
NOT_SIMULATED = {
    "test_mapped_managed_and_pinned_arrays": "mapped and managed memory",
    "test_views_and_numba_api": "mapped memory",
    "test_mapped_memory_has_array_interface": "mapped memory",
    "test_ipc_handles_need_gpu_memory": "memory of other processes",
    "test_opt_in_warnings": "memory of other processes",
    "test_device_code_is_linked": "nvJitLink",
    "test_modules_of_several_parts": "PTX",
    "test_names_of_templates": "machine code of NVIDIA's compiler",
    "test_functions_of_libdevice": "rounding modes",
    "test_kernels_of_cuda_cpp": "targets other than the device's",
}


def is_simulated() -> bool:
    """Returns true if the device under test is a simulated GPU."""
    return "CUPROUS_SIM" in os.environ


def select(device: str) -> str:
    """Returns the name that Cuprous has for a device of tests, and sets up the simulator if it is one of those.

    It must run before the CUDA driver is loaded. Processes that this one starts have the same device.

    Raises
    ------
    FileNotFoundError
        If the simulator was not built.
    """
    kind, _, wave = device.partition(":")
    if kind not in ("sim", "hip"):
        return device
    if not (FOLDER / "libcuda.so.1").exists():
        raise FileNotFoundError(f"{FOLDER}: the simulator was not built; run `make build/sim/.built`")
    os.environ["CUPROUS_CUDA_PATH"] = str(FOLDER)
    kept = f"cache={FOLDER / 'kernels'}"
    os.environ["CUPROUS_SIM"] = ",".join(filter(None, [f"wave={wave}", kept, os.environ.get("CUPROUS_SIM")]))
    if kind == "hip":
        if not (HIP / "libamdhip64.so.5").exists():
            raise FileNotFoundError(f"{HIP}: the stand-in for HIP was not built; run `make build/fake-hip/.built`")
        os.environ["CUPROUS_ROCM_PATH"] = str(HIP)
    os.environ["CUPROUS_TEST_DEVICE"] = "cuda"
    return "cuda"
