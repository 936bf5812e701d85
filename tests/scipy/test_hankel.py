"""`cuprous.scipy.fft`'s Hankel transforms against SciPy's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import fft

scipy_fft = pytest.importorskip("scipy.fft")

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("n", [1, 2, 9, 10, 64])
@pytest.mark.parametrize(("mu", "bias"), [(0.3, 0.0), (-1.2, 0.8), (0.0, -0.5), (1.0, 1.0)])
def test_hankel_transforms(mu: float, bias: float, n: int) -> None:
    for x in (RNG.random((3, n)), RNG.random(n).astype("float32"), np.arange(n)):
        for name in ("fht", "ifht"):
            for offset in (0.0, fft.fhtoffset(0.2, mu, 0.1, bias)):
                ours = getattr(fft, name)(cp.asarray(x), 0.2, mu, offset=offset, bias=bias)
                theirs = getattr(scipy_fft, name)(x, 0.2, mu, offset=offset, bias=bias)
                assert ours.dtype == theirs.dtype
                rounding = 1e-4 if ours.dtype == "float32" else 1e-10
                np.testing.assert_allclose(ours.get(), theirs, rtol=rounding, atol=rounding * np.abs(theirs).max())


def test_hankel_transforms_at_singular_biases() -> None:
    x = RNG.random(8)
    for name, mu, bias in (("fht", 0.5, -1.5), ("ifht", 0.5, 1.5), ("fht", -3.0, 2.0)):
        with warnings.catch_warnings(record=True) as ours_said:
            warnings.simplefilter("always")
            ours = getattr(fft, name)(cp.asarray(x), 0.2, mu, bias=bias)
        with warnings.catch_warnings(record=True) as theirs_said:
            warnings.simplefilter("always")
            theirs = getattr(scipy_fft, name)(x, 0.2, mu, bias=bias)
        assert [str(w.message) for w in ours_said] == [str(w.message) for w in theirs_said]
        np.testing.assert_allclose(ours.get(), theirs, rtol=1e-9, atol=1e-10 * np.abs(theirs).max())
    with pytest.raises(TypeError, match="real"):
        fft.fht(cp.ones(3, dtype=complex), 0.1, 0.5)
    assert fft.fhtoffset(0.1, 0.5, 0.3, 0.2) == pytest.approx(scipy_fft.fhtoffset(0.1, 0.5, 0.3, 0.2), abs=1e-12)
