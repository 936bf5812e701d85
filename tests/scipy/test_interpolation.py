"""Splines, coordinates and geometry of `cuprous.scipy.ndimage` against SciPy, for every order and mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import ndimage

from .compared import beside

scipy_ndimage = pytest.importorskip("scipy.ndimage")

MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]
RNG = np.random.default_rng(1)
INPUTS = [RNG.normal(size=60), RNG.normal(size=(34, 41)), RNG.normal(size=(3,)), RNG.normal(size=(5, 6, 7))]
#: SciPy starts its recursion approximately in these modes: short lines differ, here they do not.
APPROXIMATE = ("reflect", "grid-mirror", "nearest")


close = beside(scipy_ndimage, ndimage, rtol=0, atol=1e-10)


def tolerance(mode: str, order: int, x: np.ndarray[Any, Any]) -> float:
    """How far SciPy is from the exact coefficients."""
    if order < 2 or mode not in APPROXIMATE:
        return 1e-10
    if min(x.shape) <= 30:
        return 0.01
    # Far out, SciPy has an error of the greatest pole to the power of its margin of 12.
    return 5e-4 if mode == "nearest" else 1e-10


@pytest.mark.parametrize("mode", MODES)
# Of three axes up to order 3: an element of order 5 has 216 terms.
@pytest.mark.parametrize(("i", "order"), [(i, n) for i in range(4) for n in range(4 if INPUTS[i].ndim == 3 else 6)])
def test_orders_and_modes(i: int, order: int, mode: str) -> None:
    x = INPUTS[i]
    atol = tolerance(mode, order, x)
    options = {"order": order, "mode": mode, "atol": atol}
    if order > 1:
        close("spline_filter", x, order, mode=mode, atol=atol)
    close("map_coordinates", x, np.stack([RNG.uniform(-2.5 * n, 3.5 * n, 40) for n in x.shape]), cval=1.5, **options)
    points = np.stack([RNG.integers(-5 * n, 7 * n, 60) / 2 for n in x.shape])
    close("map_coordinates", x, points, cval=1.5, **options)
    close("shift", x, 1.3, cval=2, **options)
    close("zoom", x, 1.7, **options)
    close("zoom", x, 0.6, grid_mode=True, **options)
    matrix = RNG.normal(size=(x.ndim, x.ndim))
    close("affine_transform", x, matrix, 0.3, **options)
    close("affine_transform", x, matrix[0], 0.3, **options)
    if x.ndim > 1:
        close("rotate", x, 33.0, **options)
        close("rotate", x, 90.0, reshape=False, axes=(0, -1), **options)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "int64", "bool", "float32", "complex64", "complex128"])
def test_dtypes(dtype: str) -> None:
    x = (RNG.normal(size=(9, 12)) * 300).astype(dtype)
    x = x + 1j * x[::-1] if "complex" in dtype else x
    for order in (0,) if dtype == "bool" else (0, 1):  # of bools, sums that round to less than 1 are dropped
        for name, argument in (("zoom", 2.3), ("shift", (0.25, -1.75)), ("rotate", 20.0)):
            close(name, x, argument, order=order, atol=1e-4 if dtype in ("float32", "complex64") else 1e-10)


def test_arguments() -> None:
    x = INPUTS[1]
    homogeneous = np.array([[0.5, 0.1, 2.0], [0.0, 0.8, -1.0], [0.0, 0.0, 1.0]])
    for order in (1, 3):
        close("affine_transform", x, homogeneous, order=order)
        close("affine_transform", x, homogeneous[:2], output_shape=(5, 70), order=order)
        close("map_coordinates", x, RNG.uniform(0, 30, (2, 3, 4)), output=np.float32, order=order, atol=1e-6)
        close("zoom", x, (1, 0.5), order=order, prefilter=False)
    close("zoom", x, 1)
    close("spline_filter1d", x, 3, 0)
    close("spline_filter1d", x, 4, -1, mode="grid-wrap")
    close("spline_filter1d", x, 1)
    close("spline_filter", x[0] + 1j * x[1])
    out = cp.zeros((3,))
    assert ndimage.map_coordinates(cp.asarray(x), cp.ones((2, 3)), output=out, order=1) is out
    np.testing.assert_allclose(out.get(), x[1, 1])
    assert ndimage.map_coordinates(cp.asarray(x), cp.ones((2, 0))).shape == (0,)
    view = cp.asarray(x)[::-2, ::3]
    np.testing.assert_allclose(ndimage.shift(view, 0.5, order=1).get(), scipy_ndimage.shift(x[::-2, ::3], 0.5, order=1))


MISTAKES: list[tuple[Any, type[Exception], str]] = [
    (lambda a: ndimage.zoom(a, 2, order=6), RuntimeError, "order"),
    (lambda a: ndimage.spline_filter(a, 1), RuntimeError, "order"),
    (lambda a: ndimage.spline_filter(a, mode="odd"), RuntimeError, "mode"),
    (lambda a: ndimage.shift(a, 1, mode="odd"), RuntimeError, "mode"),
    (lambda a: ndimage.shift(a, (1, 2, 3)), RuntimeError, "length"),
    (lambda a: ndimage.map_coordinates(a, cp.ones((3, 4))), RuntimeError, "coordinate array"),
    (lambda a: ndimage.map_coordinates(a, cp.ones((2, 4)) * 1j), TypeError, "Complex"),
    (lambda a: ndimage.map_coordinates(a, cp.ones(2)), RuntimeError, "rank"),
    (lambda a: ndimage.map_coordinates(a, cp.ones((2, 4)), output=cp.ones(3)), RuntimeError, "shape"),
    (lambda a: ndimage.affine_transform(a, np.ones((3, 2))), RuntimeError, "rows"),
    (lambda a: ndimage.affine_transform(a, np.ones((2, 4))), RuntimeError, "columns"),
    (lambda a: ndimage.affine_transform(a, np.ones((3, 3))), ValueError, "bottom row"),
    (lambda a: ndimage.rotate(a[0], 3), ValueError, "at least 2D"),
    (lambda a: ndimage.rotate(a, 3, axes=(0, 2)), ValueError, "plane"),
    (lambda a: ndimage.rotate(a, 3, axes=(0,)), ValueError, "exactly two"),
]


@pytest.mark.parametrize(("call", "error", "text"), MISTAKES)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(cp.ones((4, 5)))


@pytest.mark.parametrize("mode", ["constant", "nearest"])
def test_affine_transforms_for_texture_memory(mode: str) -> None:
    x = np.random.default_rng(4).random((5, 6)).astype("float32")
    matrix = np.array([[0.9, 0.2, 0.3], [-0.1, 1.1, -0.4], [0, 0, 1]], "float32")
    for order, shape in ((0, None), (1, (7, 4)), (3, None)):  # splines are linear there
        ours = ndimage.affine_transform(
            cp.asarray(x), cp.asarray(matrix), output_shape=shape, order=order, mode=mode, cval=2.0, texture_memory=True
        )
        theirs = scipy_ndimage.affine_transform(x, matrix, output_shape=shape, order=min(order, 1), mode=mode, cval=2.0)
        np.testing.assert_allclose(ours.get(), theirs, rtol=1e-5)


def test_what_texture_memory_refuses() -> None:
    image, matrix = cp.ones((4, 4), dtype="float32"), cp.eye(3, dtype="float32")
    for args, keywords, message in (
        ((cp.ones(4, dtype="float32"), cp.eye(2)), {}, "two or three axes, not 1"),
        ((cp.ones((4, 4)), matrix), {}, "float32, not float64"),
        ((image, matrix[:2]), {}, "homogeneous matrix"),
        ((image, matrix), {"mode": "wrap"}, "not 'wrap'"),
        ((image, matrix), {"output": cp.empty((3, 3), dtype="float32"), "output_shape": (4, 4)}, "output_shape"),
        ((image, matrix), {"output": "float64"}, "results of float32"),
    ):
        with pytest.raises(ValueError, match=message):
            ndimage.affine_transform(*args, **keywords, texture_memory=True)
