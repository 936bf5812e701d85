"""Runs the array libraries' own checks without implicit copies to the host, as on a device that forbids them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import cuprous as cp


@pytest.fixture(autouse=True)
def _transfers(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.path.stem in ("test_sklearn", "test_sklearn_own", "test_dask"):
        with cp.set_transfers("refuse"):
            yield
    else:
        yield
