"""Morphology and distances of `cuprous.scipy.ndimage` against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cuprous as cp
from cuprous.scipy import ndimage

from .compared import close, moved

scipy_ndimage = pytest.importorskip("scipy.ndimage")

SHAPES = [(17,), (9, 11), (5, 6, 7)]
BINARY = ["binary_erosion", "binary_dilation", "binary_opening", "binary_closing"]
GREY = [
    "grey_erosion", "grey_dilation", "grey_opening", "grey_closing", "morphological_gradient",
    "morphological_laplace", "white_tophat", "black_tophat",
]  # fmt: skip


def same(name: str, *args: Any, **kwargs: Any) -> None:
    """The same call on both sides: same dtype and values."""
    theirs = getattr(scipy_ndimage, name)(*args, **kwargs)
    close(getattr(ndimage, name)(*map(moved, args), **{k: moved(v) for k, v in kwargs.items()}), theirs, 0, 0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    image, mask, n = rng.random(shape) < 0.6, rng.random(shape) < 0.7, len(shape)
    structures = [(None, 0), (np.ones((2,) * n), 0), (rng.random((3,) * n) < 0.5, 1), (np.ones((2,) * n), -1)]
    for structure, origin in structures:
        for iterations in (1, 2, 3):
            for border in (0, 1):
                for m in (None, mask):
                    same(name, image, structure, iterations, mask=m, border_value=border, origin=origin)
    same(name, image.astype(np.float32) * 3)
    same(name, image, np.ones((7,) * n))


@pytest.mark.parametrize("shape", SHAPES)
def test_iteration_until_convergence(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(7)
    image, mask = rng.random(shape) < 0.3, rng.random(shape) < 0.8
    same("binary_dilation", image, iterations=-1, mask=mask)
    same("binary_erosion", image, iterations=0, mask=mask)
    same("binary_propagation", image & mask, mask=mask)
    same("binary_fill_holes", mask)
    same("binary_hit_or_miss", image)
    one, two = rng.random((3,) * image.ndim) < 0.3, rng.random((3,) * image.ndim) < 0.3
    same("binary_hit_or_miss", image, one, two, origin1=1)


def test_a_long_way() -> None:
    lane = np.ones((1, 300), dtype=bool)
    seed = np.zeros_like(lane)
    seed[0, 0] = True
    same("binary_propagation", seed, mask=lane)


def test_axes_output_and_empty() -> None:
    image = np.random.default_rng(3).random((4, 7, 6)) < 0.7
    for name in BINARY:
        same(name, image, axes=(1, 2))
        out = cp.zeros(image.shape, dtype="uint8")
        assert getattr(ndimage, name)(cp.asarray(image), output=out) is out
        np.testing.assert_array_equal(out.get(), getattr(scipy_ndimage, name)(image))
        assert getattr(ndimage, name)(cp.zeros((0, 3))).shape == (0, 3)
    same("binary_hit_or_miss", image, axes=(0, 1))
    same("binary_fill_holes", image, axes=(0, 1))


@pytest.mark.parametrize("name", GREY)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_grey(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    image, n = rng.integers(20, 200, shape).astype(dtype), len(shape)
    some = rng.random((3,) * n) < 0.7
    some[(1,) * n] = True
    heights = rng.integers(0, 4, (3,) * n)
    same(name, image, size=3)
    same(name, image, size=2, origin=-1)
    same(name, image, footprint=some)
    same(name, image, structure=heights)
    same(name, image, structure=heights[(slice(2),) * n], mode="wrap")
    same(name, image, structure=heights, footprint=some, mode="constant", cval=3)


@pytest.mark.parametrize("name", ["grey_erosion", "grey_dilation", "white_tophat", "black_tophat"])
def test_grey_output(name: str) -> None:
    image = np.random.default_rng(6).integers(20, 200, (8, 9)).astype("int16")
    same(name, image, size=3, output=np.float32)
    out = cp.zeros(image.shape)
    assert getattr(ndimage, name)(cp.asarray(image), 3, output=out) is out
    np.testing.assert_array_equal(out.get(), getattr(scipy_ndimage, name)(image, 3))


def test_structures() -> None:
    for rank in range(4):
        for connectivity in range(5):
            theirs = scipy_ndimage.generate_binary_structure(rank, connectivity)
            np.testing.assert_array_equal(ndimage.generate_binary_structure(rank, connectivity).get(), theirs)
    cross = scipy_ndimage.generate_binary_structure(2, 1)
    for n in (0, 1, 2, 4):
        ours = ndimage.iterate_structure(cp.asarray(cross), n)
        np.testing.assert_array_equal(ours.get(), scipy_ndimage.iterate_structure(cross, n))
    assert ndimage.iterate_structure(cross, 3, 1)[1] == scipy_ndimage.iterate_structure(cross, 3, 1)[1]


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 3), st.sampled_from([0.3, 0.9, 0.995]))
def test_distances(seed: int, ndim: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    image = rng.random(rng.integers(1, 24 if ndim < 3 else 9, ndim)) < density
    image.flat[0] = False
    for sampling in (None, 2.5, list(rng.uniform(0.5, 3, ndim))):
        theirs = scipy_ndimage.distance_transform_edt(image, sampling)
        ours = ndimage.distance_transform_edt(cp.asarray(image), sampling).get()
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)
    for metric in ("taxicab", "chessboard"):
        same("distance_transform_cdt", image, metric)
        same("distance_transform_bf", image, metric)
    ours = ndimage.distance_transform_bf(cp.asarray(image)).get()
    np.testing.assert_allclose(ours, scipy_ndimage.distance_transform_bf(image), rtol=1e-14)


def test_distances_without_a_zero() -> None:
    ones = np.ones((3, 4))
    same("distance_transform_cdt", ones)
    same("distance_transform_bf", ones, "taxicab")
    assert np.isinf(ndimage.distance_transform_edt(cp.asarray(ones)).get()).all()
    out = cp.zeros((3, 4))
    assert ndimage.distance_transform_edt(cp.asarray(np.eye(3, 4)), distances=out) is None
    np.testing.assert_array_equal(out.get(), scipy_ndimage.distance_transform_edt(np.eye(3, 4)))
    assert ndimage.distance_transform_edt(cp.zeros((0, 3))).shape == (0, 3)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 3), st.sampled_from([0.3, 0.9, 0.99]))
def test_indices_of_distances(seed: int, ndim: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    image = rng.random(rng.integers(1, 20 if ndim < 3 else 8, ndim)) < density
    image.flat[-1] = False
    array = cp.asarray(image)
    for name, metric, the_same in (
        ("edt", None, True), ("edt", 2.5, True), ("bf", "euclidean", True), ("bf", "taxicab", True),
        ("bf", "chessboard", False), ("cdt", "taxicab", False), ("cdt", "chessboard", False),
    ):  # fmt: skip
        name = f"distance_transform_{name}"
        far, near = getattr(scipy_ndimage, name)(image, metric, return_indices=True)
        ours_far, ours = (a.get() for a in getattr(ndimage, name)(array, metric, return_indices=True))
        assert (ours_far.dtype, ours.dtype, ours.shape) == (far.dtype, near.dtype, near.shape)
        np.testing.assert_allclose(ours_far, far, rtol=1e-14)
        if the_same:
            np.testing.assert_array_equal(ours, near)
        assert not image[tuple(ours)].any()
        steps = np.abs(ours - np.indices(image.shape))
        if "taxicab" in str(metric):
            np.testing.assert_array_equal(steps.sum(axis=0), far)
        elif metric == "chessboard":
            np.testing.assert_array_equal(steps.max(axis=0), far)


def test_indices_alone_and_into_arrays() -> None:
    image = cp.asarray(np.random.default_rng(3).random((6, 7)) < 0.8)
    for function in (ndimage.distance_transform_edt, ndimage.distance_transform_cdt, ndimage.distance_transform_bf):
        far, near = function(image, return_indices=True)
        np.testing.assert_array_equal(function(image, return_indices=True, return_distances=False).get(), near.get())
        distances, indices = cp.zeros(far.shape, far.dtype), cp.zeros(near.shape, "int32")
        assert function(image, return_indices=True, distances=distances, indices=indices) is None
        np.testing.assert_array_equal(distances.get(), far.get())
        np.testing.assert_array_equal(indices.get(), near.get())
        alone = function(image, return_indices=True, distances=distances)
        np.testing.assert_array_equal(alone.get(), near.get())
    ones = np.ones((2, 3))
    ours, theirs = (m.distance_transform_cdt(x, return_indices=True)[1] for m, x in (
        (ndimage, cp.asarray(ones)), (scipy_ndimage, ones)))  # fmt: skip
    np.testing.assert_array_equal(ours.get(), theirs)
    assert ndimage.distance_transform_edt(cp.ones(0), return_indices=True)[1].shape == (1, 0)


MISTAKES: list[tuple[Any, type[Exception], str]] = [
    (lambda a: ndimage.binary_erosion(a * 1j), TypeError, "Complex"),
    (lambda a: ndimage.binary_erosion(a, np.ones(3)), RuntimeError, "dimensionality"),
    (lambda a: ndimage.binary_erosion(a, np.ones((0, 3))), RuntimeError, "empty"),
    (lambda a: ndimage.binary_erosion(a, iterations=1.5), TypeError, "integer"),
    (lambda a: ndimage.binary_erosion(a, mask=cp.ones(3)), RuntimeError, "equal sizes"),
    (lambda a: ndimage.binary_dilation(a, np.ones((3, 3)), origin=3), ValueError, "origin"),
    (lambda a: ndimage.grey_erosion(a), ValueError, "must be specified"),
    (lambda a: ndimage.grey_dilation(a), ValueError, "must be specified"),
    (lambda a: ndimage.grey_erosion(a, structure=np.ones(3)), RuntimeError, "must match"),
    (lambda a: ndimage.distance_transform_edt(a, indices=cp.zeros((2, 4, 5), "i4")), RuntimeError, "return_indices"),
    (lambda a: ndimage.distance_transform_edt(a, None, True, True, None, cp.zeros((2, 4, 5))), RuntimeError, "int32"),
    (lambda a: ndimage.distance_transform_bf(a, "taxicab", None, True, True, None, a), RuntimeError, "wrong shape"),
    (lambda a: ndimage.distance_transform_cdt(a, "taxicab", True, True, None, a), ValueError, "wrong shape"),
    (lambda a: ndimage.distance_transform_edt(a, None, True, True, None, np.zeros(2)), TypeError, "asarray"),
    (lambda a: ndimage.distance_transform_edt(a, return_distances=False), RuntimeError, "at least one"),
    (lambda a: ndimage.distance_transform_edt(a, distances=cp.ones(2)), RuntimeError, "wrong shape"),
    (lambda a: ndimage.distance_transform_cdt(a, "euclidean"), ValueError, "metric"),
    (lambda a: ndimage.distance_transform_bf(a, "none"), RuntimeError, "metric"),
    (lambda a: ndimage.distance_transform_bf(a, "taxicab", 2.0), NotImplementedError, "sampling"),
    (lambda a: ndimage.watershed_ift(a, a), NotImplementedError, "label"),
]


@pytest.mark.parametrize(("call", "error", "text"), MISTAKES)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(cp.ones((4, 5)))
