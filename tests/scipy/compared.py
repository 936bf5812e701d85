"""Calls of SciPy's functions and ours side by side, and the comparison of their results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import cuprous as cp


def moved(x: Any) -> Any:
    """Returns NumPy arrays on the device, also those in tuples, and anything else as it is."""
    if isinstance(x, tuple):
        return tuple(map(moved, x))
    return cp.asarray(x) if isinstance(x, np.ndarray) else x


def close(ours: Any, theirs: Any, rtol: float = 1e-10, atol: float | None = None) -> None:
    """Asserts equal dtypes, shapes and values, by default in terms of the greatest value; tuples element by element."""
    if isinstance(theirs, tuple):
        for mine, other in zip(ours, theirs, strict=True):
            close(mine, other, rtol, atol)
        return
    expected = np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (expected.dtype, expected.shape)
    if atol is None:
        atol = rtol * (np.nanmax(np.abs(expected)) if np.isfinite(expected).any() else 1.0)
    np.testing.assert_allclose(cp.asnumpy(ours), expected, rtol=rtol, atol=atol)


def beside(theirs: Any, ours: Any, rtol: float = 1e-12, atol: float = 1e-13) -> Callable[..., None]:
    """Returns a check that a function of two modules gives the same; its arrays by position are moved for ours."""

    def check(name: str, *args: Any, rtol: float = rtol, atol: float = atol, **kwargs: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(theirs, name)(*args, **kwargs)
            found = getattr(ours, name)(*moved(args), **kwargs)
        close(found, expected, rtol, atol)

    return check
