"""Filters and geometry by a function of the caller's against SciPy's."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import ndimage

from .compared import beside, close

scipy_ndimage = pytest.importorskip("scipy.ndimage")
#: New in SciPy 1.16.
since_1_16 = pytest.mark.skipif(
    not hasattr(scipy_ndimage, "vectorized_filter"), reason="SciPy has no vectorized_filter"
)

MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]
RNG = np.random.default_rng(16)
INPUTS = [RNG.normal(size=13), RNG.normal(size=(6, 7)), RNG.normal(size=(3, 4, 5))]
FOOTPRINTS = [np.array([1, 0, 1, 1]), np.array([[0, 1, 0], [1, 1, 1]]), np.arange(8).reshape(2, 2, 2) % 3 > 0]


def first_counts(window: Any, factor: float = 0.5, shift: float = 0.0) -> Any:
    """Depends on the order of the elements."""
    return window[0] * factor - window[-1] + window.sum() + shift


def smoothed(line: Any, result: Any, factor: float = 0.5) -> None:
    """A filter of length 4."""
    result[...] = line[:-3] * factor + line[3:] - line[1:-2]


same = beside(scipy_ndimage, ndimage, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("i", range(3))
def test_generic_filter(i: int, mode: str) -> None:
    x, footprint = INPUTS[i], FOOTPRINTS[i]
    same("generic_filter", x, first_counts, 3, mode=mode, cval=1.5)
    same("generic_filter", x, first_counts, footprint=footprint, mode=mode, cval=1.5)
    same("generic_filter", x, first_counts, (2,) * x.ndim, mode=mode, origin=-1)
    same("generic_filter1d", x, smoothed, 4, mode=mode, cval=-2.0)
    same("generic_filter1d", x, smoothed, 4, 0, mode=mode, origin=1)


def test_arguments_are_passed_on() -> None:
    x = INPUTS[1]
    same("generic_filter", x, first_counts, 3, extra_arguments=(2.0,), extra_keywords={"shift": 1.0})
    same("generic_filter", x, first_counts, (2, 3), origin=(-1, 1))
    same("generic_filter", INPUTS[2], first_counts, (2, 3), axes=(0, 2), origin=(0, 1))
    same("generic_filter", INPUTS[2], first_counts, 3, axes=1)
    same("generic_filter", x[:0], first_counts, 3)
    same("generic_filter", x, len, footprint=np.zeros((3, 3)))
    same("generic_filter1d", x, smoothed, 4, extra_arguments=(2.0,))
    same("generic_filter1d", x, smoothed, 4, 0, extra_keywords={"factor": -1})
    assert float(ndimage.generic_filter(2.5, np.sum, 3)) == 2.5
    with pytest.warns(UserWarning, match="ignoring size"):
        ndimage.generic_filter(cp.ones((3, 3)), np.sum, 3, np.ones((3, 3)))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32", "bool"])
def test_results_are_cast_as_by_scipy(dtype: str) -> None:
    x = (INPUTS[1] * 40).astype(dtype)
    for output in (None, "float64", np.int16, "uint8"):
        same("generic_filter", x, first_counts, 2, output=output)
        same("generic_filter1d", x, smoothed, 4, output=output)
    same("geometric_transform", x, halfway, order=1, output="float64")


def test_functions_own_what_they_are_given() -> None:
    def spoils(window: Any) -> float:
        total = float(window.sum())
        window[...] = np.nan
        return total

    def spoils_line(line: Any, result: Any) -> None:
        result[...] = line[1:-1]
        line[...] = np.nan

    x = cp.asarray(INPUTS[0])
    np.testing.assert_allclose(
        ndimage.generic_filter(x, spoils, 3).get(), scipy_ndimage.generic_filter(INPUTS[0], np.sum, 3)
    )
    np.testing.assert_array_equal(ndimage.generic_filter1d(x, spoils_line, 3).get(), INPUTS[0])
    np.testing.assert_array_equal(x.get(), INPUTS[0])


def test_output_arrays() -> None:
    x = INPUTS[1]
    out = cp.zeros(x.shape)
    assert ndimage.generic_filter(cp.asarray(x), first_counts, 3, output=out) is out
    np.testing.assert_allclose(out.get(), scipy_ndimage.generic_filter(x, first_counts, 3))
    both = cp.asarray(x)
    ndimage.generic_filter1d(both, smoothed, 4, 0, output=both)
    np.testing.assert_allclose(both.get(), scipy_ndimage.generic_filter1d(x, smoothed, 4, 0))
    out = cp.zeros((2, 3))
    assert ndimage.geometric_transform(cp.asarray(x), halfway, (2, 3), out, 1) is out
    np.testing.assert_allclose(out.get(), scipy_ndimage.geometric_transform(x, halfway, (2, 3), order=1))
    with pytest.raises(ZeroDivisionError):
        ndimage.generic_filter(cp.asarray(x), lambda w: 1 / 0, 3)


def halfway(place: tuple[int, ...], factor: float = 0.5, shift: float = 0.25) -> tuple[float, ...]:
    """Coordinates between elements."""
    return tuple(i * factor + shift for i in place)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1, 3])
def test_geometric_transform(order: int, mode: str) -> None:
    x = RNG.normal(size=(34, 41))
    atol = 5e-4 if mode == "nearest" and order > 1 else 1e-10  # SciPy starts its recursion approximately
    same("geometric_transform", x, halfway, output_shape=(9, 8), order=order, mode=mode, cval=1.5, atol=atol)
    same(
        "geometric_transform", x, partial(halfway, factor=4.5), output_shape=(9, 12), order=order, mode=mode, atol=atol
    )


def test_coordinates_of_other_ranks() -> None:
    x = INPUTS[1]
    same("geometric_transform", x, lambda p: (p[0] * 0.5, 2.25), output_shape=(5,), order=1)
    same("geometric_transform", x, lambda p: (p[0] + 0.5, p[1] + p[2]), output_shape=(2, 3, 2), order=1)
    same("geometric_transform", x, lambda p, a, b: (p[0] * a, p[1] + b), order=1, extra_arguments=(0.5,),
         extra_keywords={"b": 0.75})  # fmt: skip
    same("geometric_transform", x + 1j * x[::-1], halfway, order=1, cval=1 + 2j)
    same("geometric_transform", x, halfway, output_shape=(0, 3), order=1)
    same("geometric_transform", x, halfway, order=2, prefilter=False)


@since_1_16
@pytest.mark.parametrize("mode", [*MODES, "valid"])
@pytest.mark.parametrize("i", range(3))
def test_vectorized_filter(i: int, mode: str) -> None:
    x = INPUTS[i]
    options: dict[str, Any] = {"mode": mode, **({"cval": 1.5} if "constant" in mode else {})}
    shifted: dict[str, Any] = {} if mode == "valid" else {"origin": -1}
    for function, windows in (("mean", {"size": 3}), ("max", {"footprint": FOOTPRINTS[i]}), ("sum", {"size": 2})):
        vectorized(x, function, **windows, **options)
        vectorized(x, function, **windows, **options, **shifted)


def vectorized(x: Any, function: str, **options: Any) -> None:
    theirs = scipy_ndimage.vectorized_filter(x, getattr(np, function), **options)
    close(ndimage.vectorized_filter(cp.asarray(x), getattr(cp, function), **options), theirs, 1e-12, 1e-13)


@since_1_16
@pytest.mark.parametrize("dtype", ["uint8", "bool", "float16", "complex128"])
def test_vectorized_dtypes(dtype: str) -> None:
    x = np.abs(INPUTS[1] * 4).astype(dtype)
    vectorized(x, "sum" if dtype != "float16" else "max", size=3)
    vectorized(x, "any", footprint=FOOTPRINTS[1])


@since_1_16
def test_vectorized_axes_batches_and_outputs() -> None:
    x = INPUTS[2]
    vectorized(x, "sum", size=(2, 3), axes=(2, 0))
    vectorized(x, "sum", size=2, axes=1, mode="valid")
    vectorized(x, "sum", footprint=FOOTPRINTS[1], axes=(0, 2), origin=(0, 1))
    vectorized(x, "mean", size=3, batch_memory=x.size // 3 * 27 * 8)
    vectorized(x, "mean", size=3, batch_memory=np.inf)
    vectorized(x, "sum", size=3, axes=())
    vectorized(np.array(2.0), "sum", size=3)
    vectorized(np.zeros((0, 3)), "sum", size=3)
    out = cp.zeros(x.shape, "float32")
    for memory in (2**30, x.size // 3 * 27 * 8):
        ndimage.vectorized_filter(cp.asarray(x), cp.max, size=3, output=out, batch_memory=memory)
        np.testing.assert_array_equal(out.get(), scipy_ndimage.maximum_filter(x, 3).astype("f4"))

    def quartiles(xp: Any, windows: Any, axis: Any) -> Any:
        return xp.quantile(windows, xp.asarray([0.25, 0.75]), axis=axis)

    theirs = scipy_ndimage.vectorized_filter(x, partial(quartiles, np), size=3)
    ours = ndimage.vectorized_filter(cp.asarray(x), partial(quartiles, cp), size=3)
    np.testing.assert_allclose(ours.get(), theirs, rtol=1e-12, atol=1e-13)


def test_windows_stay_on_the_device() -> None:
    seen: list[Any] = []

    def spread(windows: Any, axis: Any) -> Any:
        seen.append((type(windows), windows.shape, axis))
        return cp.max(windows, axis=axis) - cp.min(windows, axis=axis)

    x = cp.asarray(INPUTS[1])
    ndimage.vectorized_filter(x, spread, size=3)
    ndimage.vectorized_filter(x, spread, footprint=FOOTPRINTS[1])
    assert seen == [(cp.ndarray, (6, 7, 3, 3), (-2, -1)), (cp.ndarray, (6, 7, 4), -1)]


class LowLevelCallable(tuple[Any, ...]):
    """Stands for SciPy's."""


LOW = LowLevelCallable()
MISTAKES: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda a: ndimage.generic_filter(a, LOW, 3), NotImplementedError, "LowLevelCallable"),
    (lambda a: ndimage.generic_filter1d(a, LOW, 3), NotImplementedError, "LowLevelCallable"),
    (lambda a: ndimage.geometric_transform(a, LOW), NotImplementedError, "LowLevelCallable"),
    (lambda a: ndimage.generic_filter(a, 3, 3), ValueError, "callable"),
    (lambda a: ndimage.generic_filter(a, np.sum), RuntimeError, "no footprint"),
    (lambda a: ndimage.generic_filter(a * 1j, np.sum, 3), TypeError, "Complex"),
    (lambda a: ndimage.generic_filter(a, np.sum, 0), RuntimeError, "size"),
    (lambda a: ndimage.generic_filter(a, np.sum, -1), ValueError, "negative"),
    (lambda a: ndimage.generic_filter(a, np.sum, 2.0), TypeError, "integer"),
    (lambda a: ndimage.generic_filter(a, np.sum, (3, 3, 3)), RuntimeError, "length"),
    (lambda a: ndimage.generic_filter(a, np.sum, footprint=np.ones(3)), RuntimeError, "must match"),
    (lambda a: ndimage.generic_filter(a, np.sum, 3, origin=2), ValueError, "origin"),
    (lambda a: ndimage.generic_filter(a, np.sum, 3, mode="odd"), RuntimeError, "mode"),
    (lambda a: ndimage.generic_filter(a, np.sum, 3, mode=("wrap", "wrap")), RuntimeError, "mode"),
    (lambda a: ndimage.generic_filter(a, np.sum, 3, extra_arguments=3), RuntimeError, "tuple"),
    (lambda a: ndimage.generic_filter(a, np.sum, 3, extra_keywords=3), RuntimeError, "dictionary"),
    (lambda a: ndimage.generic_filter(a, np.sum, 3, axes=(0, 0)), ValueError, "unique"),
    (lambda a: ndimage.generic_filter(a, np.sum, 3, output=cp.ones(3)), RuntimeError, "shape"),
    (lambda a: ndimage.generic_filter(a, lambda w: None, 3), TypeError, "real number"),
    (lambda a: ndimage.generic_filter(a, lambda w: "1", 3), TypeError, "real number"),
    (lambda a: ndimage.generic_filter(a, lambda w: 1j, 3), TypeError, "real number"),
    (lambda a: ndimage.generic_filter1d(a, smoothed, 0), RuntimeError, "filter size"),
    (lambda a: ndimage.generic_filter1d(a, smoothed, 4, 2), np.exceptions.AxisError, "axis"),
    (lambda a: ndimage.generic_filter1d(a, smoothed, 4, origin=2), ValueError, "origin"),
    (lambda a: ndimage.generic_filter1d(a * 1j, smoothed, 4), TypeError, "Complex"),
    (lambda a: ndimage.geometric_transform(a, lambda p: p[:1]), TypeError, "tuple of 2"),
    (lambda a: ndimage.geometric_transform(a, lambda p: None), TypeError, "tuple of 2"),
    (lambda a: ndimage.geometric_transform(a, lambda p: (1, "2")), TypeError, "real number"),
    (lambda a: ndimage.geometric_transform(a, halfway, order=6), RuntimeError, "order"),
    (lambda a: ndimage.geometric_transform(a, halfway, mode="odd"), RuntimeError, "mode"),
    (lambda a: ndimage.geometric_transform(a, halfway, (2, 2), cp.ones((2, 3))), RuntimeError, "shape"),
    (lambda a: ndimage.geometric_transform(1.0, halfway), RuntimeError, "rank"),
]
#: Keyword arguments of `vectorized_filter` for which SciPy raises too.
WRONG: list[dict[str, Any]] = [
    {}, {"size": 3, "footprint": np.ones((3, 3))}, {"size": 3, "function": 3}, {"size": 0}, {"size": 1.5},
    {"size": (3, 3, 3)}, {"footprint": np.ones(3)}, {"size": 3, "axes": (0, 1, 2)}, {"size": 3, "axes": (0, 5)},
    {"size": 3, "origin": 0.5}, {"size": 3, "origin": (0, 0, 0)}, {"size": 3, "mode": "odd"},
    {"size": 3, "mode": "valid", "origin": 1}, {"size": 3, "cval": 1.0},
    {"size": 3, "mode": "constant", "cval": "one"}, {"size": 3, "batch_memory": 0},
    {"size": 3, "batch_memory": "much"}, {"size": 3, "batch_memory": 8}, {"size": 9, "mode": "valid"},
    {"size": 3, "origin": 5},
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), MISTAKES)
def test_errors(call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(cp.ones((4, 5)))


@since_1_16
@pytest.mark.parametrize("wrong", WRONG)
def test_vectorized_errors(wrong: dict[str, Any]) -> None:
    for module, xp in ((scipy_ndimage, np), (ndimage, cp)):
        with pytest.raises(ValueError):
            module.vectorized_filter(xp.ones((4, 5)), **{"function": xp.sum, **wrong})


SIZED = {
    "generic_filter": lambda m, x, size: m.generic_filter(x, np.sum, size),
    "median_filter": lambda m, x, size: m.median_filter(x, size),
    "rank_filter": lambda m, x, size: m.rank_filter(x, 1, size=size),
    "percentile_filter": lambda m, x, size: m.percentile_filter(x, 30, size=size),
}


@pytest.mark.parametrize("size", [2.5, 3.0, "3", (3, 2.0), -1, (2, -3), (3,), (3, 3, 3)])
@pytest.mark.parametrize("name", SIZED)
def test_invalid_box_extents(name: str, size: object) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError)) as theirs:
        SIZED[name](scipy_ndimage, np.ones((4, 5)), size)
    with pytest.raises(theirs.type):
        SIZED[name](ndimage, cp.ones((4, 5)), size)


ON_GPU = os.environ.get("CUPROUS_TEST_DEVICE", "cpu") != "cpu"
#: CuPy's kernels, and the same for NumPy. The second reads the window and not only its elements.
KERNELS: list[tuple[Any, Callable[..., Any]]] = [
    (
        cp.RawKernel(
            'extern "C" __global__ void squares(const double* x, int size, double* y) {'
            " *y = 0; for (int i = 0; i < size; i++) *y += x[i] * x[i]; }",
            "squares",
        ),
        lambda window: (window * window).sum(),
    ),
    (
        cp.ReductionKernel(
            "X x", "Y y", "_raw_x[_in_ind.size() / 2] > x", "a + b", "y = a", "0", "below", reduce_type="int"
        ),
        lambda window: (window[len(window) // 2] > window).sum(),
    ),
    (
        cp.ReductionKernel("X x", "X y", "x", "a < b ? b : a", "y = a * _in_ind.size()", None, "greatest"),
        lambda window: window.max() * len(window),
    ),
]
REVERSE = cp.RawKernel(
    'extern "C" __global__ void reverse(const double* x, ptrdiff_t size, double* y, ptrdiff_t length) {'
    " for (ptrdiff_t i = 0; i < length; i++) y[i] = x[size - 1 - i]; }",
    "reverse",
)


@pytest.mark.skipif(not ON_GPU, reason="CUDA C++ runs on GPUs only")
@pytest.mark.parametrize("mode", MODES[:5])
def test_kernels_as_functions_of_windows(mode: str) -> None:
    for a, footprint in zip(INPUTS, FOOTPRINTS, strict=True):
        for kernel, function in KERNELS:
            for kw in ({"size": 3}, {"footprint": footprint, "output": np.float32}):
                expected = scipy_ndimage.generic_filter(a, function, mode=mode, cval=1.5, origin=-1, **kw)
                close(ndimage.generic_filter(cp.asarray(a), kernel, mode=mode, cval=1.5, origin=-1, **kw), expected)
    whole = np.arange(30).reshape(5, 6) % 7
    expected = scipy_ndimage.generic_filter(whole, KERNELS[1][1], size=(3,), axes=(0,), mode=mode)
    close(ndimage.generic_filter(cp.asarray(whole), KERNELS[1][0], size=(3,), axes=(0,), mode=mode), expected)


@pytest.mark.skipif(not ON_GPU, reason="CUDA C++ runs on GPUs only")
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_kernels_as_functions_of_lines(axis: int) -> None:
    def reverse(line: Any, result: Any) -> None:
        result[...] = line[::-1][: result.size]

    for kw in ({"mode": "wrap"}, {"mode": "constant", "cval": 2.0, "origin": 1, "output": np.uint8}):
        expected = scipy_ndimage.generic_filter1d(np.abs(INPUTS[2]) * 9, reverse, 4, axis, **kw)
        close(ndimage.generic_filter1d(cp.asarray(np.abs(INPUTS[2]) * 9), REVERSE, 4, axis, **kw), expected)


def test_kernels_that_are_no_functions() -> None:
    a = cp.ones((3, 3))
    two = cp.ReductionKernel("T x, T z", "T y", "x * z", "a + b", "y = a", "0", "two")
    each = cp.ElementwiseKernel("T x", "T y", "y = x", "each")
    for call, message in (
        (lambda: ndimage.generic_filter(a, two, 3), "must have 1 input and output"),
        (lambda: ndimage.generic_filter(a, each, 3), r"only RawKernel or ReductionKernel allowed \(not Elementwise"),
        (lambda: ndimage.generic_filter1d(a, KERNELS[1][0], 3), r"only RawKernel allowed \(not Reduction"),
        (lambda: ndimage.generic_filter(a, KERNELS[0][0], 3, extra_arguments=(1,)), "take no extra_arguments"),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    if not ON_GPU:
        for call in (lambda: ndimage.generic_filter(a, KERNELS[0][0], 3),
                     lambda: ndimage.generic_filter1d(a, REVERSE, 3)):  # fmt: skip
            with pytest.raises(NotImplementedError, match="runs on a GPU only"):
                call()
