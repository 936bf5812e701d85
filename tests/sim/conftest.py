"""These tests are about a simulated GPU (CUPROUS_TEST_DEVICE=sim:32) and are skipped on other devices."""

from __future__ import annotations

import pytest

from tests.simulated import is_simulated


@pytest.fixture(autouse=True)
def _on_simulator() -> None:
    if not is_simulated():
        pytest.skip("for CUPROUS_TEST_DEVICE=sim:32 and sim:64")
