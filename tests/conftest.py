"""What all tests share: the device (CUPROUS_TEST_DEVICE, by default the CPU) and a clean engine after each test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings

# The first program of a kind is planned and, for a GPU, compiled: that is no slow example.
settings.register_profile("cuprous", deadline=None)
settings.load_profile("cuprous")

DEVICE = os.environ.get("CUPROUS_TEST_DEVICE", "cpu")

# Some releases of Numba ask for it; new NumPys lack it.
np.row_stack = getattr(np, "row_stack", np.vstack)


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
