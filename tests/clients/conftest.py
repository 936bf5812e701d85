"""Array libraries' own checks run without implicit copies to the host, as on a device where these are refused."""

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
