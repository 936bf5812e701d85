"""`cuprous.scipy.ndimage`'s filters of Fourier transforms against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import ndimage
from tests.support import assert_errors

theirs = pytest.importorskip("scipy.ndimage")

RNG = np.random.default_rng(12)


def draw(shape: Any, dtype: str) -> Any:
    """Normal numbers."""
    values = RNG.normal(size=shape)
    return (values + 1j * RNG.normal(size=shape) if dtype.startswith("c") else values).astype(dtype)


@pytest.mark.parametrize("dtype", ["c16", "f8", "f4", "c8", "i4"])
@pytest.mark.parametrize("name", ["fourier_gaussian", "fourier_uniform", "fourier_ellipsoid", "fourier_shift"])
def test_filters(name: str, dtype: str) -> None:
    for shape in ((9,), (8, 5), (4, 5, 6)):
        x = draw(shape, dtype)
        for size in (1.7, [0.5 + i for i in range(len(shape))]):
            for n, axis in ((-1, -1), (14, -1), (9, 0)):
                expected = getattr(theirs, name)(x, size, n, axis)
                ours = getattr(ndimage, name)(cp.asarray(x), size, n, axis)
                assert (ours.dtype, ours.shape) == (expected.dtype, expected.shape)
                single = expected.dtype.itemsize <= (8 if expected.dtype.kind == "c" else 4)
                np.testing.assert_allclose(ours.get(), expected, rtol=1e-4 if single else 1e-10, atol=1e-5 if single
                                           else 1e-12)  # fmt: skip


def test_output_and_errors() -> None:
    x = draw((6, 5), "c16")
    out = cp.zeros((6, 5), complex)
    assert ndimage.fourier_gaussian(cp.asarray(x), 1.0, output=out) is out
    np.testing.assert_allclose(out.get(), theirs.fourier_gaussian(x, 1.0), rtol=1e-12)
    assert_errors(
        (lambda: ndimage.fourier_shift(cp.asarray(x), [1.0]), RuntimeError, "length"),
        (lambda: ndimage.fourier_uniform(cp.asarray(x), 1.0, axis=2), np.exceptions.AxisError, ""),
        (lambda: ndimage.fourier_ellipsoid(cp.ones((2, 2, 2, 2)), 1.0), NotImplementedError, "3d"),
    )
