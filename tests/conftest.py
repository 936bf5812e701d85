"""Shared setup: the device (CUPROUS_TEST_DEVICE, by default the CPU) and a clean engine after each test."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from tests.simulated import NOT_SIMULATED, is_simulated, select

# The first program of a kind is planned and, on a GPU, compiled, which hypothesis must not report as a slow example.
settings.register_profile("cuprous", deadline=None)
settings.load_profile("cuprous")

DEVICE = select(os.environ.get("CUPROUS_TEST_DEVICE", "cpu"))

# Some releases of Numba use this name, which new releases of NumPy lack.
np.row_stack = getattr(np, "row_stack", np.vstack)


#: Markers for whole folders and files.
MARKED = {
    "slow": ["robust"],
    "browser": ["robust/page"],
    "clients": ["clients", "ported"],
    "nvrtc": ["test_cuda_code.py"],
    "gpu": ["gpu"],
}


def _has_nvrtc() -> bool:
    from cuprous.cuda import _nvrtc

    try:
        return _nvrtc.version() > (0, 0)
    except (ImportError, RuntimeError):
        return False


def pytest_collection_finish() -> None:
    """Takes what is there before the first test from the garbage collector's sight: a million objects that stay."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    root = Path(__file__).parent
    for item in items:
        for marker, places in MARKED.items():
            if any(item.path == root / place or root / place in item.path.parents for place in places):
                item.add_marker(marker)
    for item in items if is_simulated() else []:
        if why := NOT_SIMULATED.get(item.name.split("[")[0]):
            item.add_marker(pytest.mark.skip(reason=f"not simulated: {why}"))
    wanting = [item for item in items if item.get_closest_marker("nvrtc")]
    if wanting and not _has_nvrtc():
        for item in wanting:
            item.add_marker(pytest.mark.skip(reason="NVRTC is not installed"))


@pytest.fixture(scope="session", autouse=True)
def _device() -> None:
    """Creates new arrays of all tests on the device under test."""
    core = pytest.importorskip("cuprous._core")
    core.set_device(DEVICE)


#: Kernels that are compiled together. The compiler's start takes as long as some five kernels.
KERNELS = 64


@pytest.fixture(scope="session", autouse=True)
def _kernels() -> Iterator[None]:
    """With CUPROUS_CHECK_CUDA, compiles kernels in batches, the last ones at the end. Errors name the kernel's test."""
    from cuprous import _core

    _core.check_in_batches(KERNELS)
    yield
    _core.check_in_batches(KERNELS)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    """Restores the replay mode and the device after each test, and checks that it left no setting of PyTorch's."""
    yield
    from cuprous import _core

    _core.set_replay("auto")
    settings_of_torch = sys.modules.get("cuprous.torch._settings")
    if settings_of_torch is not None and settings_of_torch.are_deterministic_algorithms_enabled():
        settings_of_torch.use_deterministic_algorithms(False)
        pytest.fail("the test left deterministic algorithms on")
    if _core.get_device().split(":")[0] != DEVICE.split(":")[0]:
        _core.set_device(DEVICE)


@pytest.fixture(params=["single", "fused", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """Runs the test in each execution mode."""
    from cuprous import _core

    _core.set_replay(request.param)
    return str(request.param)
