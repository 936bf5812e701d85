"""What all tests share: the device (CUPROUS_TEST_DEVICE, by default the CPU) and a clean engine after each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# The first program of a kind is planned and, for a GPU, compiled: that is no slow example.
settings.register_profile("cuprous", deadline=None)
settings.load_profile("cuprous")

DEVICE = os.environ.get("CUPROUS_TEST_DEVICE", "cpu")

# Some releases of Numba ask for it; new NumPys lack it.
np.row_stack = getattr(np, "row_stack", np.vstack)


#: Markers of whole folders and files.
MARKED = {
    "slow": ["robust"],
    "browser": ["robust/test_page.py"],
    "clients": ["clients"],
    "nvrtc": ["test_cuda_code.py"],
    "gpu": ["gpu"],
}


def _has_nvrtc() -> bool:
    from cuprous.cuda import _nvrtc

    try:
        return _nvrtc.version() > (0, 0)
    except (ImportError, RuntimeError):
        return False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    root = Path(__file__).parent
    for item in items:
        for marker, places in MARKED.items():
            if any(item.path == root / place or root / place in item.path.parents for place in places):
                item.add_marker(marker)
    wanting = [item for item in items if item.get_closest_marker("nvrtc")]
    if wanting and not _has_nvrtc():
        for item in wanting:
            item.add_marker(pytest.mark.skip(reason="NVRTC is not installed"))


@pytest.fixture(scope="session", autouse=True)
def _device() -> None:
    """New arrays of all tests live on the device under test."""
    core = pytest.importorskip("cuprous._core")
    core.set_device(DEVICE)


@pytest.fixture(scope="module", autouse=True)
def _kernels() -> Iterator[None]:
    """With CUPROUS_CHECK_CUDA, sixteen kernels are compiled at once, the last ones of a module at its end."""
    from cuprous import _core

    _core.check_in_batches(16)
    yield
    _core.check_in_batches(16)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    """A test that changes the replay mode or the device does not change the next test."""
    yield
    from cuprous import _core

    _core.set_replay("auto")
    if _core.get_device().split(":")[0] != DEVICE.split(":")[0]:
        _core.set_device(DEVICE)


@pytest.fixture(params=["single", "fused", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """The ways in which a program can run; the test runs in each."""
    from cuprous import _core

    _core.set_replay(request.param)
    return str(request.param)
