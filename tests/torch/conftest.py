"""Tensors of these tests live on the device under test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import cuprous.torch as torch
from cuprous import _core
from tests.conftest import DEVICE

#: Images lie with their channels last on every device, as on a GPU with cuDNN.
CHANNELS_LAST = "CUPROUS_TEST_CHANNELS_LAST" in os.environ


@pytest.fixture
def double(_torch_defaults: None) -> None:
    """Makes float64 the default dtype."""
    torch.set_default_dtype(torch.float64)


@pytest.fixture(autouse=True)
def _torch_defaults() -> Iterator[None]:
    """The device under test, float32 and a known seed, whatever a test sets."""
    torch.set_default_device(DEVICE)
    torch.manual_seed(0)
    _core.set_convolution_tf32(False)  # all digits of float32, as on the CPU
    _core.set_always_channels_last(CHANNELS_LAST)
    yield
    _core.set_always_channels_last(False)
    torch.set_default_device("cpu")
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
