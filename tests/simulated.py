"""Selects the simulated GPU (crates/sim) as this process's device: `sim:32` or `sim:64`, by the width of a wave."""

from __future__ import annotations

import os
from pathlib import Path

#: Where `make build/sim/.built` puts the simulator under the names of NVIDIA's libraries.
FOLDER = Path(__file__).resolve().parents[1] / "build" / "sim"

#: Tests that a simulated GPU cannot run, with the reason.
NOT_SIMULATED = {
    "test_mapped_managed_and_pinned_arrays": "mapped and managed memory",
    "test_views_and_numba_api": "mapped memory",
    "test_mapped_memory_has_array_interface": "mapped memory",
    "test_ipc_handles_need_gpu_memory": "memory of other processes",
    "test_opt_in_warnings": "memory of other processes",
    "test_device_code_is_linked": "nvJitLink",
    "test_modules_of_several_parts": "PTX",
    "test_names_of_templates": "names of templates in NVRTC",
    "test_functions_of_libdevice": "rounding modes",
    "test_kernels_of_cuda_cpp": "targets other than the device's",
}


def is_simulated() -> bool:
    """Returns true if the device under test is a simulated GPU."""
    return "CUPROUS_SIM" in os.environ


def select(device: str) -> str:
    """Returns the name that Cuprous has for a device of tests, and sets up the simulator if it is one of those.

    It must run before the CUDA driver is loaded. Processes that this one starts have the same device.

    Raises:
        FileNotFoundError: if the simulator was not built.
    """
    if not device.startswith("sim:"):
        return device
    if not (FOLDER / "libcuda.so.1").exists():
        raise FileNotFoundError(f"{FOLDER}: the simulator was not built; run `make build/sim/.built`")
    os.environ["CUPROUS_CUDA_PATH"] = str(FOLDER)
    kept = f"cache={FOLDER / 'kernels'}"
    os.environ["CUPROUS_SIM"] = ",".join(filter(None, [f"wave={device[4:]}", kept, os.environ.get("CUPROUS_SIM")]))
    os.environ["CUPROUS_TEST_DEVICE"] = "cuda"
    return "cuda"
