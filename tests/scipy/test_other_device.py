"""Functions of `cuprous.scipy` with arrays that are not on the default device."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import _core
from tests.arrays.test_other_device import OTHER, There
from tests.conftest import DEVICE
from tests.inputs.scipy_rows import CALLS, OURS
from tests.support import assert_same, to_host

THERE = SimpleNamespace(**{**vars(OURS), "np": There()})


def _arrays(result: Any) -> Iterator[cp.ndarray]:
    """Yields arrays of a result, also of a matrix or of a named tuple."""
    if isinstance(result, cp.ndarray):
        yield result
    elif isinstance(result, (tuple, list)):
        for part in result:
            yield from _arrays(part)
    elif hasattr(result, "tocoo"):
        yield result.tocoo().data


def _host(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [_host(part) for part in result]
    return to_host(result.toarray() if hasattr(result, "toarray") else result)


_SQUARE = np.array([[0.25, 0.5, 0.125], [0.75, 0.375, 0.0625], [0.5, 0.875, 0.3125]])
#: What each call is given; one of these fits at least.
GIVEN = (
    _SQUARE, _SQUARE[0], np.array([[1, 0, 2], [2, 1, 1]]), np.array([1.0, 0.5, 0.25, 0.125, 0.75, 0.625]),
    np.array([[1.0, 0.2, 0.1, 1.0, 0.3, 0.1]]), np.array([[1.0, 0.2, 0.1, 0.4, 0.6], [0.5, 0.7, 0.8, 0.9, 0.3]]),
)  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str) -> None:
    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in GIVEN:
            try:
                expected = CALLS[name](OURS, cp.asarray(given))
            except Exception:
                continue
            count += 1
            result = CALLS[name](THERE, cp.asarray(given, device=OTHER))
            assert _core.get_device().split(":")[0] == DEVICE.split(":")[0]
            assert {part.device_name for part in _arrays(result)} <= {OTHER}
            if isinstance(result, (cp.ndarray, tuple, list)) or hasattr(result, "toarray"):
                assert_same(_host(result), _host(expected), rtol=1e-5, atol=1e-6)
    assert count, "the call raises for all arrays on the default device, so it shows nothing"
