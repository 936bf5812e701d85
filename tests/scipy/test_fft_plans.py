"""Plans of transforms, `scipy.fft`'s backend, and the older interface `scipy.fftpack`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.fftpack

import cuprous as cp
import cuprous.scipy.fft as ours
from cuprous.cuda import cufft
from cuprous.scipy import fftpack

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 6)) + 1j * RNG.normal(size=(4, 6))


@pytest.mark.parametrize("n", [None, 1, 2, 5, 8])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_older_interface_along_an_axis(name: str, n: int | None) -> None:
    for x in (X.real, X.real.astype("float32"), RNG.integers(-9, 9, (4, 5)), *([X] if "r" not in name else [])):
        for axis in (0, -1):
            expected = getattr(scipy.fftpack, name)(x, n, axis)
            result = cp.asnumpy(getattr(fftpack, name)(cp.array(x), n, axis))
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, 1e-4 if x.dtype == "float32" else 1e-12, 1e-6)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "fftn", "ifftn"])
def test_older_interface_along_axes(name: str) -> None:
    for options in ({}, {"shape": (3, 8)}, {"axes": (1, 0)}, {"shape": (5,), "axes": (0,)}):
        expected = getattr(scipy.fftpack, name)(X, **options)
        np.testing.assert_allclose(cp.asnumpy(getattr(fftpack, name)(cp.array(X), **options)), expected, 1e-12)


def test_real_interface_refuses_complex_numbers() -> None:
    for name in ("rfft", "irfft"):
        with pytest.raises(TypeError, match="1st argument must be real sequence"):
            getattr(fftpack, name)(cp.array(X))


#: A transform, the arguments of its plan, and another transform.
PLANNED: dict[str, tuple[Callable[[Any], Any], dict[str, Any], Callable[[Any], Any]]] = {
    "fft": (lambda x: cp.fft.fft(x), {"axes": -1}, lambda x: cp.fft.fft(x, 8)),
    "fft of padded points": (lambda x: ours.fft(x, 9, axis=0), {"shape": 9, "axes": 0}, lambda x: ours.fft(x, axis=0)),
    "number of lines": (lambda x: ours.fft(x), {"axes": 1}, lambda x: ours.fft(x[:2])),
    "ifft2": (lambda x: ours.ifft2(x), {}, lambda x: ours.ifft2(x, s=(4, 4))),
    "axes in another order": (lambda x: cp.fft.fftn(x, axes=(1, 0)), {"axes": (0, 1)}, lambda x: cp.fft.fft(x)),
    "irfft": (lambda x: ours.irfft(x), {"axes": -1, "value_type": "C2R"}, lambda x: ours.irfft(x, 11)),
    "irfft of an odd number": (lambda x: ours.irfft(x, 9), {"shape": 9, "axes": -1, "value_type": "C2R"},
                               lambda x: ours.irfft(x, 8)),
    "rfft2": (lambda x: cp.fft.rfft2(x.real), {"value_type": "R2C"}, lambda x: cp.fft.fft2(x)),
    "precision": (lambda x: ours.fftn(x), {}, lambda x: ours.fftn(x.astype("complex64"))),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANNED)
def test_plans_are_checked(name: str) -> None:
    call, options, other = PLANNED[name]
    x = cp.array(X)
    plan = ours.get_fft_plan(x.real if options.get("value_type") == "R2C" else x, **options)
    expected = call(x)
    with plan as entered:
        assert cufft.get_current_plan() is entered is plan and isinstance(plan, cufft.Plan1d) == (len(plan.axes) == 1)
        assert bool((call(x) == expected).all())
        with pytest.raises(ValueError, match="not match"):
            other(x)
    assert cufft.get_current_plan() is None


def test_plans_as_arguments() -> None:
    x = cp.array(X)
    plan = ours.get_fft_plan(x)
    for module in (ours, fftpack):
        assert bool((module.fftn(x, plan=plan) == cp.fft.fftn(x)).all())
        with pytest.raises(ValueError, match=r"a\.shape do not match"):
            module.fftn(x[:, :4], plan=plan)
        with pytest.raises(RuntimeError, match="either as a context manager or as an argument"), plan:
            module.fftn(x, plan=plan)
    assert cufft.get_current_plan() is None
    with pytest.raises(NotImplementedError, match="take a plan of get_fft_plan"):
        ours.fft(x, plan="plan")  # type: ignore[call-arg]
    with pytest.raises(NotImplementedError, match="not yet supported for this transform"):
        ours.hfft(x, plan=plan)


def test_plans_that_cannot_be() -> None:
    x = cp.array(X)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"value_type": "Z2Z"}, "value_type must be one of C2C, R2C, C2R"), ({"value_type": "R2C"}, "for real arrays"),
        ({"shape": (4,), "axes": (0, 1)}, "different lengths"), ({"axes": 2}, "out of bounds"),
        ({"shape": 0, "axes": 0}, "number of FFT data points"), ({"axes": ()}, "at least one axis"),
    ]  # fmt: skip
    for options, message in cases:
        with pytest.raises(ValueError, match=message):
            ours.get_fft_plan(x, **options)


@pytest.mark.parametrize("name", ["fft", "irfftn", "hfft2", "dct", "idstn", "ifft2"])
def test_backend_of_scipy(name: str) -> None:
    x = X.real if name in ("dct", "idstn") else X
    expected = getattr(scipy.fft, name)(x)
    with scipy.fft.set_backend(ours):
        result = getattr(scipy.fft, name)(cp.array(x))
        assert isinstance(result, cp.ndarray)
        np.testing.assert_allclose(cp.asnumpy(result), expected, 1e-10, 1e-12)
        assert isinstance(getattr(scipy.fft, name)(x), np.ndarray)  # SciPy's own arrays stay SciPy's
    with scipy.fft.set_backend(ours, coerce=True):
        assert isinstance(getattr(scipy.fft, name)(x), cp.ndarray)


def test_settings() -> None:
    config = importlib.import_module("cuprous.fft.config")
    with pytest.warns(DeprecationWarning, match="enable_nd_planning"):
        assert config.enable_nd_planning is True
    assert config.use_multi_gpus is False
    config.use_multi_gpus = False
    with pytest.raises(NotImplementedError, match="divide the batch"):
        config.use_multi_gpus = True
    with pytest.raises(NotImplementedError, match="runs on one GPU"):
        config.set_cufft_gpus(2)
