"""These tests need a GPU and are skipped without one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _on_gpu() -> Iterator[None]:
    import cuprous as cp

    if cp._core.device_count() == 0:
        pytest.skip(f"no usable GPU: {cp._core.unusable_gpu_reason() or 'there is none'}")
    before = cp._core.get_device()
    cp._core.set_device("cuda")
    yield
    cp._core.set_memory_limit("cuda", 0)
    cp._core.set_device(before)
