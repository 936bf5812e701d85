"""Selects the simulated GPU (crates/sim) as this process's device: `sim:32` or `sim:64`, by the width of a wave."""

from __future__ import annotations

import os
from pathlib import Path

#: Where `make build/sim/.built` puts the simulator under the names of NVIDIA's libraries.
FOLDER = Path(__file__).resolve().parents[1] / "build" / "sim"


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
