"""Filters of `cuprous.scipy.ndimage` against SciPy: every mode, axes in any order, constants beyond the dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import ndimage

scipy_ndimage = pytest.importorskip("scipy.ndimage")

MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap")
AXES: tuple[Any, ...] = (None, 0, (1,), (0, 1), (1, 0), ())
CONSTANTS = (0, 3.7, -1, 300, -2.5, 1e6)
FOOTPRINT = np.array([[1, 0, 1], [0, 1, 1]])
STRUCTURE = np.array([[1, 2, 0], [0, 1, 3]])


def image(dtype: str) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(1)
    low, high = (-100, 100) if dtype[0] in "if" else (0, 200)
    return np.asarray(rng.integers(low, high, (7, 6)).astype(dtype))


def agree(call: Callable[[Any, Any], Any], a: np.ndarray[Any, Any], tolerance: float, message: str) -> None:
    """The same values and dtype, or errors of one class."""
    try:
        theirs = call(scipy_ndimage, a)
    except Exception as error:
        with pytest.raises(type(error)):
            call(ndimage, cp.asarray(a))
        return
    ours = call(ndimage, cp.asarray(a)).get()
    assert ours.dtype == theirs.dtype, message
    if tolerance >= 1 and ours.dtype.kind in "iu":  # results wrap around, and so does their difference
        signed = f"i{ours.dtype.itemsize}"
        apart = np.abs((ours - theirs).view(signed).astype("float64"))
        assert apart.max(initial=0) <= tolerance, message
        return
    np.testing.assert_allclose(
        ours.astype("float64"), theirs.astype("float64"), rtol=tolerance, atol=tolerance, err_msg=message
    )


#: name -> (arguments after the input, tolerance)
FILTERS: dict[str, tuple[Callable[..., Any], float]] = {
    "minimum": (lambda m, a, **k: m.minimum_filter(a, 3, **k), 0),
    "maximum": (lambda m, a, **k: m.maximum_filter(a, 3, **k), 0),
    "median": (lambda m, a, **k: m.median_filter(a, 3, **k), 0),
    "rank": (lambda m, a, **k: m.rank_filter(a, 2, 3, **k), 0),
    "percentile": (lambda m, a, **k: m.percentile_filter(a, 30, 3, **k), 0),
    "uniform": (lambda m, a, **k: m.uniform_filter(a, 3, **k), 1e-4),
    "erosion": (lambda m, a, **k: m.grey_erosion(a, 3, **k), 0),
    "dilation": (lambda m, a, **k: m.grey_dilation(a, 3, **k), 0),
    "opening": (lambda m, a, **k: m.grey_opening(a, 3, **k), 0),
    "closing": (lambda m, a, **k: m.grey_closing(a, 3, **k), 0),
    "laplace": (lambda m, a, **k: m.laplace(a, **k), 1e-3),
    "gaussian": (lambda m, a, **k: m.gaussian_filter(a, 1.0, **k), 1e-3),
    "gaussian laplace": (lambda m, a, **k: m.gaussian_laplace(a, 1.0, **k), 1e-3),
    "gaussian gradient": (lambda m, a, **k: m.gaussian_gradient_magnitude(a, 1.0, **k), 1e-3),
    "minimum, footprint": (lambda m, a, **k: m.minimum_filter(a, footprint=FOOTPRINT, **k), 0),
    "median, footprint": (lambda m, a, **k: m.median_filter(a, footprint=FOOTPRINT, **k), 0),
    "correlate": (lambda m, a, **k: m.correlate(a, FOOTPRINT, **k), 1e-3),
    "convolve": (lambda m, a, **k: m.convolve(a, FOOTPRINT, **k), 1e-3),
}


#: Those that compute with weights that are not integers: results of integers differ by one ulp before truncation.
ROUNDED = ("uniform", "laplace", "gaussian", "gaussian laplace", "gaussian gradient")
DTYPES = ("bool", "int8", "uint8", "int32", "uint16", "int64", "float32", "float64")


@pytest.mark.parametrize(("name", "dtype"), [
    (name, dtype) for name in FILTERS for dtype in DTYPES
    if dtype != "bool" or name not in ROUNDED  # one ulp would be the difference of True and False
])  # fmt: skip
def test_filters(name: str, dtype: str) -> None:
    call, tolerance = FILTERS[name]
    a = image(dtype)
    if name in ROUNDED and dtype[0] != "f":
        tolerance = 1.0
    for k, mode in enumerate(MODES):
        for j, axes in enumerate(AXES):
            for cval in CONSTANTS if "constant" in mode else CONSTANTS[:1]:
                if tolerance and (k + j) % 3:
                    continue
                if name == "gaussian gradient" and cval > 300 and dtype[0] != "f":
                    continue  # the root of a square that wrapped around means nothing
                given = {"mode": mode, "axes": axes, "cval": cval}
                agree(lambda m, x, g=given: call(m, x, **g), a, tolerance, f"{name} {dtype} {given}")  # type: ignore[misc]


@pytest.mark.parametrize("name", ["grey_erosion", "grey_dilation"])
def test_structures(name: str) -> None:
    for dtype in ("int32", "float64"):
        for mode in MODES:
            for axes in (None, (0, 1), (1, 0)):
                given = {"structure": STRUCTURE, "mode": mode, "axes": axes, "cval": 300}
                agree(lambda m, x, g=given: getattr(m, name)(x, **g), image(dtype), 0, f"{dtype} {given}")  # type: ignore[misc]


def test_footprints_along_some_axes() -> None:
    a = np.random.default_rng(2).normal(size=(5, 6, 4))
    for axes in ((2, 0), (0, 2), (1, 0)):
        for origin in (0, (0, -1)):
            given = {"footprint": FOOTPRINT, "axes": axes, "origin": origin}
            agree(lambda m, x, g=given: m.minimum_filter(x, **g), a, 0, str(given))  # type: ignore[misc]
            agree(lambda m, x, g=given: m.rank_filter(x, 1, **g), a, 0, str(given))  # type: ignore[misc]
            more = {"axes": axes, "origin": origin}
            agree(lambda m, x, g=more: m.convolve(x, FOOTPRINT, **g), a, 1e-12, str(more))  # type: ignore[misc]
            agree(lambda m, x, g=more: m.binary_erosion(x > 0, FOOTPRINT, **g), a, 0, str(more))  # type: ignore[misc]
    for axes in ((0,), (2, 0), (0, 1, 2)):
        agree(lambda m, x, g=axes: m.gaussian_gradient_magnitude(x, 1.0, axes=g), a, 1e-10, str(axes))  # type: ignore[misc]
    agree(lambda m, x: m.gaussian_gradient_magnitude(x, (1.0, 0.5, 2.0), axes=(2, 0)), a, 1e-10, "")
    agree(lambda m, x: m.gaussian_gradient_magnitude(x, (1.0, 0.5), axes=(2, 0)), a, 1e-10, "")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float32", "float64"])
@pytest.mark.parametrize("prefilter", [True, False])
@pytest.mark.parametrize("order", range(6))
def test_interpolation(order: int, prefilter: bool, dtype: str) -> None:
    a = image(dtype)
    tolerance = 1e-9 if dtype == "float64" else 1e-3 if dtype == "float32" else 1.0
    if prefilter and order > 1:
        # The recursion of splines begins in another way, which shows on few elements.
        a, tolerance = np.kron(a, np.ones((3, 4), dtype)), max(tolerance, 2e-3)
    matrix = [[0.9, 0.2], [-0.1, 1.1]]
    for mode in MODES:
        for cval in (0, 300, -2.5) if "constant" in mode and tolerance < 1 else (3,):
            given = {"order": order, "mode": mode, "cval": cval, "prefilter": prefilter}
            agree(lambda m, x, g=given: m.shift(x, (0.7, -2.3), **g), a, tolerance, f"{dtype} {given}")  # type: ignore[misc]
            agree(lambda m, x, g=given: m.shift(x, (9.0, -30.25), **g), a, tolerance, f"{dtype} {given}")  # type: ignore[misc]
            agree(lambda m, x, g=given: m.affine_transform(x, matrix, **g), a, tolerance, f"{dtype} {given}")  # type: ignore[misc]


def test_derivatives_get_arrays_and_dtypes() -> None:
    a = np.random.default_rng(3).normal(size=(5, 6))
    seen: list[Any] = []

    def sobel(m: Any) -> Callable[..., Any]:
        def derivative(x: Any, axis: int, output: Any, mode: str, cval: float, *more: Any) -> Any:
            seen.append(output)
            return m.sobel(x, axis, output, mode, cval)

        return derivative

    for name in ("generic_laplace", "generic_gradient_magnitude"):
        for axes in (None, (1,), ()):
            agree(lambda m, x, n=name, g=axes: getattr(m, n)(x, sobel(m), axes=g), a, 1e-12, name)  # type: ignore[misc]
    ours = [s for s in seen if isinstance(s, cp.ndarray)]
    assert len(ours) == 4
    assert not any(isinstance(s, str) for s in seen)
    out = cp.zeros((5, 6))
    assert ndimage.generic_laplace(cp.asarray(a), sobel(ndimage), out) is out
    np.testing.assert_allclose(out.get(), scipy_ndimage.generic_laplace(a, sobel(scipy_ndimage)), rtol=1e-12)
