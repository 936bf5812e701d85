"""Labels and measurements of `cuprous.scipy.ndimage` against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cuprous as cp
from cuprous.scipy import ndimage
from tests.support import assert_errors

from .compared import moved

scipy_ndimage = pytest.importorskip("scipy.ndimage")

RNG = np.random.default_rng(0)
VALUES = RNG.permutation(np.arange(400) - 50.0).reshape(20, 20)
LABELS = scipy_ndimage.label(RNG.random((20, 20)) < 0.5)[0]
COUNT = int(LABELS.max())
MEASURES = [
    "sum", "sum_labels", "mean", "variance", "standard_deviation", "minimum", "maximum", "median",
    "minimum_position", "maximum_position", "extrema", "center_of_mass",
]  # fmt: skip


def snake(n: int) -> np.ndarray[Any, Any]:
    """One long component."""
    image = np.zeros((n, n), dtype=int)
    image[::2] = 1
    image[1::4, -1] = image[3::4, 0] = 1
    return image


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 3), st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.1]))
def test_label(seed: int, ndim: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    image = rng.random(rng.integers(0, 14, ndim)) < density
    for connectivity in range(1, ndim + 1):
        structure = scipy_ndimage.generate_binary_structure(ndim, connectivity)
        theirs, count = scipy_ndimage.label(image, structure)
        ours, found = ndimage.label(cp.asarray(image), structure)
        assert (found, ours.dtype) == (count, theirs.dtype)
        np.testing.assert_array_equal(ours.get(), theirs)
        if image.size:
            assert ndimage.find_objects(ours) == scipy_ndimage.find_objects(theirs)


def test_label_of_long_and_unusual_shapes() -> None:
    for image in (snake(41), np.array(3.0), np.array(0)):
        theirs, ours = scipy_ndimage.label(image), ndimage.label(cp.asarray(image))
        assert ours[1] == theirs[1]
        np.testing.assert_array_equal(ours[0].get(), theirs[0])
    slanted = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    image = RNG.random((20, 20)) < 0.5
    ours = ndimage.label(cp.asarray(image), cp.asarray(slanted))[0]
    np.testing.assert_array_equal(ours.get(), scipy_ndimage.label(image, slanted)[0])
    out = cp.zeros((20, 20), dtype="uint16")
    assert ndimage.label(cp.asarray(image), output=out) == scipy_ndimage.label(image)[1]
    np.testing.assert_array_equal(out.get(), scipy_ndimage.label(image)[0])
    assert ndimage.label(cp.asarray(image), output="int16")[0].dtype == np.int16
    assert_errors(
        (lambda: ndimage.label(cp.asarray(np.tile([1, 0], 300)), output="int8"), RuntimeError, "bit-depth"),
        (lambda: ndimage.label(cp.asarray(image), [[0, 1, 0], [0, 1, 1], [0, 0, 0]]), ValueError, "symmetric"),
        (lambda: ndimage.label(cp.asarray(image), np.ones((2, 2))), ValueError, "equal to 3"),
        (lambda: ndimage.label(cp.asarray(image), np.ones(3)), RuntimeError, "equal rank"),
    )
    image = np.array([[1, 1, 0, 3]])
    assert ndimage.find_objects(cp.asarray(image), 4) == scipy_ndimage.find_objects(image, 4)


def agree(theirs: Any, ours: Any, rtol: float, what: str) -> None:
    """The same numbers, dtypes and nesting."""
    if isinstance(theirs, (list, tuple)):
        assert len(theirs) == len(ours), what
        for mine, other in zip(ours, theirs, strict=True):
            agree(other, mine, rtol, what)
        return
    if isinstance(ours, cp.ndarray):
        assert ours.dtype == np.asarray(theirs).dtype, what
        ours = ours.get()
    assert np.shape(ours) == np.shape(theirs), what
    np.testing.assert_allclose(ours, theirs, rtol=rtol, err_msg=what)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_measures(name: str, dtype: str) -> None:
    values = VALUES.astype(dtype)
    rtol = 1e-5 if dtype == "float32" else 1e-12
    cases: list[tuple[Any, Any]] = [(None, None), *((m, None) for m in (LABELS, LABELS - 1, LABELS.astype("uint8")))]
    for labels in (LABELS, LABELS - 1, LABELS.astype(float)):
        cases += [(labels, i) for i in (1, 2, [1, 3, 2], [3, 3, 1, 2], np.arange(1, COUNT - 2))]
        cases += [(labels, [[1, 2], [3, 4]])] if name != "center_of_mass" else []
    for labels, index in cases:
        theirs = getattr(scipy_ndimage, name)(values, labels, index)
        ours = getattr(ndimage, name)(*moved((values, labels, index)))
        agree(theirs, ours, rtol, f"{name} {dtype} {index}")


@pytest.mark.parametrize("name", ["sum_labels", "minimum", "maximum", "mean", "variance"])
def test_labels_that_do_not_occur(name: str) -> None:
    index = [1, 999, 2, -5]
    with np.errstate(all="ignore"):
        theirs = getattr(scipy_ndimage, name)(VALUES, LABELS, index)
    ours = getattr(ndimage, name)(cp.asarray(VALUES), cp.asarray(LABELS), index).get()
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_broadcast_labels_nan_and_no_labels() -> None:
    rows = np.arange(20)[:, None] % 3
    for name in ("sum_labels", "maximum", "median"):
        theirs = getattr(scipy_ndimage, name)(VALUES, rows, [1, 2])
        ours = getattr(ndimage, name)(cp.asarray(VALUES), cp.asarray(rows), [1, 2])
        np.testing.assert_allclose(ours.get(), theirs, rtol=1e-12)
        assert getattr(ndimage, name)(cp.asarray(VALUES), cp.asarray(LABELS), cp.zeros(0, int)).shape == (0,)
    spoiled = VALUES.copy()
    spoiled[LABELS == 2] = np.nan
    for name in ("sum_labels", "minimum", "maximum", "median", "mean"):
        for index in (None, 1, 2):
            theirs = getattr(scipy_ndimage, name)(spoiled, LABELS, index)
            ours = getattr(ndimage, name)(cp.asarray(spoiled), cp.asarray(LABELS), index)
            np.testing.assert_allclose(ours.get(), theirs, rtol=1e-12)


def test_histogram_and_functions() -> None:
    values, labels = cp.asarray(VALUES), cp.asarray(LABELS)
    for index in (None, 1, [1, 2, 3]):
        theirs = scipy_ndimage.histogram(VALUES, -20, 200, 7, LABELS, index)
        ours = ndimage.histogram(values, -20, 200, 7, labels, index).get()
        np.testing.assert_array_equal(ours, np.stack(theirs) if isinstance(index, list) else theirs)
    theirs = scipy_ndimage.labeled_comprehension(VALUES, LABELS, [1, 2, 999], np.ptp, float, -1)
    ours = ndimage.labeled_comprehension(values, labels, [1, 2, 999], cp.ptp, float, -1)
    np.testing.assert_array_equal(ours.get(), theirs)
    with pytest.raises(ValueError, match="without defined labels"):
        ndimage.labeled_comprehension(values, None, 1, cp.ptp, float, 0)
    found, known = ndimage.value_indices(labels, ignore_value=0), scipy_ndimage.value_indices(LABELS, ignore_value=0)
    assert found.keys() == known.keys()
    for key, places in known.items():
        for mine, other in zip(found[key], places, strict=True):
            np.testing.assert_array_equal(mine.get(), other)


def test_index_without_labels() -> None:
    """An index is no part of the result without labels: refused, not ignored."""
    with pytest.raises(ValueError, match="index without defined labels"):
        ndimage.histogram(cp.arange(5.0), 0, 4, 5, None, cp.array([0, 2]))


@pytest.mark.parametrize("name", ["sum", "sum_labels", "mean", "variance", "standard_deviation", "center_of_mass"])
def test_measurements_of_empty_input(name: str) -> None:
    empty = np.zeros(0)
    found = getattr(ndimage, name)(*[cp.asarray(empty)] * 3)
    assert np.shape(found) == np.shape(getattr(scipy_ndimage, name)(empty, empty, empty)) == (0,)


def test_arguments_of_cupy() -> None:
    image = np.random.default_rng(0).random((5, 7)) > 0.2
    single = ndimage.distance_transform_edt(cp.asarray(image), float64_distances=False, block_params=(1, 1, 2))
    assert single.dtype == "float32"
    np.testing.assert_allclose(cp.asnumpy(single), scipy_ndimage.distance_transform_edt(image), 1e-6)
    out = cp.zeros((5, 7), "float32")
    with pytest.raises(RuntimeError, match="distances"):
        ndimage.distance_transform_edt(cp.asarray(image), distances=out)
    assert ndimage.distance_transform_edt(cp.asarray(image), distances=out, float64_distances=False) is None
    assert bool((out == single).all())
    for extent, dtype in ((100, "int8"), (200, "int16")):
        labels = np.arange(extent) % 3
        found = ndimage.value_indices(cp.asarray(labels), adaptive_index_dtype=True)
        assert {one[0].dtype.name for one in found.values()} == {dtype}
        np.testing.assert_array_equal(cp.asnumpy(found[2][0]), np.flatnonzero(labels == 2))
