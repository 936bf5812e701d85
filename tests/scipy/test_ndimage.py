"""`cuprous.scipy.ndimage` against SciPy: modes, origins, even and odd windows, ranks, dtypes, outputs, errors."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import ndimage

from .compared import beside, moved

scipy_ndimage = pytest.importorskip("scipy.ndimage")

MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]
RNG = np.random.default_rng(20)
LINE = RNG.normal(size=13)
IMAGE = RNG.normal(size=(11, 9))
CUBE = RNG.normal(size=(5, 6, 7))
INPUTS = {1: LINE, 2: IMAGE, 3: CUBE}

#: Filters that take (input, mode=, cval=) with fixed other arguments.
FILTERS: dict[str, dict[str, Any]] = {
    "gaussian_filter": {"sigma": 1.3}, "gaussian_laplace": {"sigma": 0.9},
    "gaussian_gradient_magnitude": {"sigma": 1.1}, "uniform_filter": {"size": 4}, "median_filter": {"size": 3},
    "minimum_filter": {"size": 3}, "maximum_filter": {"size": 4}, "percentile_filter": {"percentile": 30, "size": 3},
    "rank_filter": {"rank": -2, "size": 2}, "sobel": {}, "prewitt": {}, "laplace": {},
}  # fmt: skip


check = beside(scipy_ndimage, ndimage)


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FILTERS)
def test_filters_in_all_modes_and_ranks(name: str, mode: str, ndim: int) -> None:
    check(name, INPUTS[ndim], mode=mode, cval=1.5, **FILTERS[name])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["correlate1d", "convolve1d"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_line_filters(name: str, size: int, mode: str) -> None:
    weights = RNG.normal(size=size)
    for origin in range(-(size // 2) + (1 if name == "convolve1d" and not size & 1 else 0), (size - 1) // 2 + 1):
        check(name, LINE, weights, mode=mode, cval=-0.5, origin=origin)
    for axis in (0, 1, -1):
        check(name, IMAGE, list(weights), axis=axis, mode=mode, cval=2.0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["correlate", "convolve"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (5, 2), (1, 1)])
def test_plane_filters(name: str, shape: tuple[int, int], mode: str) -> None:
    weights = RNG.normal(size=shape)
    for origin in (0, *((v, -v) for v in (-1, 1) if min(shape) > 2)):
        check(name, IMAGE, weights, mode=mode, cval=-0.5, origin=origin)


@pytest.mark.parametrize("name", ["correlate", "convolve"])
def test_all_origins_of_even_and_odd_windows(name: str) -> None:
    weights = RNG.normal(size=(2, 3))
    for origin in itertools.product((-1, 0), (-1, 0, 1)):
        try:
            theirs = getattr(scipy_ndimage, name)(IMAGE, weights, origin=origin)
        except ValueError:
            with pytest.raises(ValueError, match="origin"):
                getattr(ndimage, name)(cp.asarray(IMAGE), weights, origin=origin)
            continue
        ours = getattr(ndimage, name)(cp.asarray(IMAGE), cp.asarray(weights), origin=origin)
        np.testing.assert_allclose(cp.asnumpy(ours), theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_windows_longer_than_the_input(mode: str) -> None:
    short = np.array([1.0, 2.0, 4.0])
    check("correlate1d", short, np.arange(11.0), mode=mode, cval=3.0)
    check("gaussian_filter", short, 3.0, mode=mode, cval=3.0)
    check("minimum_filter", short, 9, mode=mode, cval=3.0)
    check("median_filter", short, 9, mode=mode, cval=3.0)
    check("correlate1d", np.array([2.0]), np.arange(5.0), mode=mode, cval=3.0)


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "uint32", "int64"])
def test_integers_are_truncated_as_scipy_does(name: str, dtype: str) -> None:
    image = (IMAGE * 100 + 500).astype(dtype)
    gaussian = name.startswith("gaussian")  # its sums are rounded in another order, and may fall on the other side
    if name == "gaussian_gradient_magnitude":
        check(name, image.astype("int64"), atol=3, **FILTERS[name])
    else:
        check(name, image, atol=1 + (name == "gaussian_laplace") if gaussian else 0, rtol=0, **FILTERS[name])


@pytest.mark.parametrize("name", FILTERS)
def test_float32_stays_within_a_few_ulps_of_scipys_float64_sums(name: str) -> None:
    check(name, IMAGE.astype(np.float32), rtol=1e-5, atol=1e-5, **FILTERS[name])


def test_float32_convolution_by_float64_weights() -> None:
    check("convolve", IMAGE.astype(np.float32), RNG.normal(size=(5, 4)), rtol=1e-5, atol=1e-5)
    check("convolve", IMAGE.astype(np.float32), RNG.normal(size=(5, 4)), output=np.float64, rtol=1e-12)


def test_float16_and_bool() -> None:
    ours = ndimage.gaussian_filter(cp.asarray(IMAGE.astype(np.float16)), 1)
    assert ours.dtype == np.float16
    np.testing.assert_allclose(cp.asnumpy(ours), scipy_ndimage.gaussian_filter(IMAGE, 1), atol=3e-3)
    for name in ("minimum_filter", "maximum_filter", "median_filter"):
        check(name, IMAGE > 0, size=3)
    check("correlate", IMAGE > 0, np.array([[0.4, 0.3], [0.2, 0.5]]))


@pytest.mark.parametrize("name", ["gaussian_filter", "uniform_filter"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_input(name: str, dtype: str) -> None:
    z = (IMAGE + 1j * IMAGE[::-1]).astype(dtype)
    check(name, z, 2, mode="constant", cval=1 - 2j, rtol=1e-5 if dtype == "complex64" else 1e-12, atol=1e-6)


@pytest.mark.parametrize("name", ["correlate", "convolve", "correlate1d", "convolve1d"])
def test_complex_weights(name: str) -> None:
    weights = RNG.normal(size=3) + 1j * RNG.normal(size=3)
    check(name, LINE, weights)
    check(name, LINE + 1j * LINE[::-1], weights, mode="constant", cval=1 - 2j)
    check(name, LINE + 1j * LINE[::-1], weights.real)
    check(name, LINE.astype(np.float32), weights, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="complex-valued cval"):
        getattr(ndimage, name)(cp.asarray(LINE), weights, cval=1j)


def test_values_per_axis() -> None:
    check("gaussian_filter", CUBE, (1.0, 0.0, 2.0), order=(0, 1, 2), mode=["wrap", "mirror", "constant"], cval=1.0)
    check("gaussian_filter", IMAGE, 2.0, radius=(2, 3), truncate=9.0)
    check("gaussian_filter", CUBE, (1.0, 2.0), axes=(2, 0), radius=(1, 4))
    check("gaussian_filter1d", IMAGE, 1.5, axis=0, order=1, radius=4)
    check("gaussian_filter1d", IMAGE, 1.5, order=3, truncate=2.5)
    check("uniform_filter", CUBE, (2, 3, 1), mode=["wrap", "mirror", "constant"], origin=(-1, 1, 0))
    check("minimum_filter", CUBE, (2, 3, 9), mode=["wrap", "mirror", "constant"], origin=(-1, 1, 2))
    check("maximum_filter", CUBE, (2, 5), axes=(0, 2), origin=(0, -2))
    check("median_filter", CUBE, (3, 2), axes=(0, -1), origin=(1, 0))
    check("sobel", IMAGE, axis=0, mode=["wrap", "nearest"])
    check("laplace", CUBE, axes=(1, 2), mode=["wrap", "nearest"])
    check("gaussian_laplace", CUBE, (1.0, 2.0), axes=(1, 2))
    check("gaussian_gradient_magnitude", IMAGE, 1.0, truncate=2.0)
    check("correlate", CUBE, IMAGE[:3, :2], axes=(0, 2), origin=(1, 0))
    check("convolve", CUBE, IMAGE[:2, :3], axes=(0, 1), mode="wrap")


@pytest.mark.parametrize("size", [1, 2, 8, 9, 16, 31])
@pytest.mark.parametrize("mode", ["reflect", "constant"])
def test_long_lines_of_extremes(size: int, mode: str) -> None:
    line = RNG.normal(size=100)
    for origin in (-(size // 2), 0, (size - 1) // 2):
        check("minimum_filter1d", line, size, mode=mode, origin=origin)
        check("maximum_filter1d", line, size, mode=mode, origin=origin, cval=3.0)
        check("uniform_filter1d", line, size, mode=mode, origin=origin, cval=3.0)
    check("maximum_filter", CUBE, (size, 2, 7), mode=mode)


@pytest.mark.parametrize("name", ["minimum_filter", "maximum_filter", "median_filter"])
@pytest.mark.parametrize("as_array", [False, True])
def test_footprints(name: str, as_array: bool) -> None:
    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0], [0, 1, 1]], dtype=bool)
    theirs = getattr(scipy_ndimage, name)(IMAGE, footprint=cross, origin=(1, -1), mode="mirror")
    given = cp.asarray(cross) if as_array else cross.tolist()
    ours = getattr(ndimage, name)(cp.asarray(IMAGE), footprint=given, origin=(1, -1), mode="mirror")
    np.testing.assert_array_equal(cp.asnumpy(ours), theirs)


@pytest.mark.parametrize("size", [(3, 3), (5, 5), (2, 4), (6, 6), (8, 7)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8", "int64"])
def test_medians_by_network_and_by_sorting(size: tuple[int, int], dtype: str) -> None:
    image = (RNG.normal(size=(20, 17)) * 50 + 100).astype(dtype)
    check("median_filter", image, size, rtol=0, atol=0)
    check("rank_filter", image, 2, size, mode="wrap", rtol=0, atol=0)


def test_sorting_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuprous.scipy.ndimage import _rank

    monkeypatch.setattr(_rank, "_CHUNK", 1000)
    monkeypatch.setattr(_rank, "_NETWORK", 8)
    check("median_filter", RNG.normal(size=(20, 31)), (7, 6), rtol=0, atol=0)
    ring = np.ones((7, 7), dtype=bool)
    ring[3, 2:5] = False
    check("percentile_filter", RNG.normal(size=(40, 12)), 60.0, footprint=ring, rtol=0, atol=0)


def test_selection_networks_select_every_rank() -> None:
    from cuprous.scipy.ndimage._network import select, selection_network

    for n in (1, 2, 5, 9, 12, 25, 32):
        values = RNG.normal(size=(n, 64))
        lanes = [cp.asarray(row) for row in values]
        for rank in {0, n // 3, n // 2, n - 1}:
            np.testing.assert_array_equal(cp.asnumpy(select(lanes, rank)), np.sort(values, axis=0)[rank])
    assert sum(low + high for _, _, low, high in selection_network(9, (4,))) <= 36


@pytest.mark.parametrize("name", FILTERS)
def test_output(name: str) -> None:
    a, arguments = cp.asarray(IMAGE), FILTERS[name]
    theirs = getattr(scipy_ndimage, name)(IMAGE, output=np.float32, **arguments)
    ours = getattr(ndimage, name)(a, output=np.float32, **arguments)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(cp.asnumpy(ours), theirs, rtol=1e-5, atol=1e-6)
    out = cp.zeros(IMAGE.shape, dtype="float32")
    assert getattr(ndimage, name)(a, output=out, **arguments) is out
    np.testing.assert_allclose(cp.asnumpy(out), theirs, rtol=1e-5, atol=1e-6)
    assert getattr(ndimage, name)(a, output="int32", **arguments).dtype == np.int32
    with pytest.raises(RuntimeError, match="output shape"):
        getattr(ndimage, name)(a, output=cp.zeros((2, 2)), **arguments)
    in_place = cp.asarray(IMAGE)
    getattr(ndimage, name)(in_place, output=in_place, **arguments)
    np.testing.assert_allclose(cp.asnumpy(in_place), cp.asnumpy(getattr(ndimage, name)(a, **arguments)))
    np.testing.assert_array_equal(cp.asnumpy(a), IMAGE)


@pytest.mark.parametrize("name", FILTERS)
def test_empty_input_and_views(name: str) -> None:
    assert getattr(ndimage, name)(cp.zeros((0, 3)), **FILTERS[name]).shape == (0, 3)
    ours = getattr(ndimage, name)(cp.asarray(IMAGE)[::2, ::-1].T, **FILTERS[name])
    theirs = getattr(scipy_ndimage, name)(IMAGE[::2, ::-1].T, **FILTERS[name])
    np.testing.assert_allclose(cp.asnumpy(ours), theirs, rtol=1e-12, atol=1e-13)


def test_zero_dimensional_input() -> None:
    point = np.array(5.0)
    check("correlate", point, np.array(2.0))
    for name in ("gaussian_filter", "uniform_filter", "median_filter", "minimum_filter", "laplace"):
        check(name, point, **FILTERS[name])
    with pytest.raises(np.exceptions.AxisError):
        ndimage.sobel(cp.asarray(point))


def test_nan_and_infinity_reach_their_windows_only() -> None:
    image = IMAGE.copy()
    image[3, 4], image[8, 1] = np.nan, np.inf
    check("correlate", image, np.ones((3, 3)))
    check("gaussian_filter", image, 0.5)
    # SciPy's moving sum carries a NaN to the end of the line; ours does not
    means = cp.asnumpy(ndimage.uniform_filter1d(cp.array([1.0, np.nan, 2.0, 3.0, 4.0, 5.0]), 3))
    np.testing.assert_array_equal(np.isnan(means), [True, True, True, False, False, False])
    np.testing.assert_allclose(means[3:], [3, 4, 14 / 3])


#: (call, error class, text)
MISTAKES: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda a: ndimage.correlate(a, np.ones(3)), RuntimeError, "must match"),
    (lambda a: ndimage.correlate(a, np.ones((0, 3))), RuntimeError, "no filter weights"),
    (lambda a: ndimage.correlate1d(a, []), RuntimeError, "no filter weights"),
    (lambda a: ndimage.correlate1d(a, np.ones((2, 2))), RuntimeError, "no filter weights"),
    (lambda a: ndimage.correlate1d(a, [1, 2], origin=1), ValueError, "origin"),
    (lambda a: ndimage.correlate1d(a, [1], axis=2), np.exceptions.AxisError, "axis 2"),
    (lambda a: ndimage.convolve(a, np.ones((3, 3)), mode="mirrored"), RuntimeError, "mode"),
    (lambda a: ndimage.convolve(a, np.ones((3, 3)), mode=["wrap", "wrap"]), RuntimeError, "sequence of modes"),
    (lambda a: ndimage.gaussian_filter(a, (1, 2, 3)), RuntimeError, "length"),
    (lambda a: ndimage.gaussian_filter(a, 1, order=-1), ValueError, "order"),
    (lambda a: ndimage.gaussian_filter(a, 1, radius=-1), ValueError, "Radius"),
    (lambda a: ndimage.gaussian_filter(a, 1, radius=1.5), ValueError, "Radius"),
    (lambda a: ndimage.gaussian_filter(a, 1, axes=(0, 0)), ValueError, "unique"),
    (lambda a: ndimage.gaussian_filter(a, 1, axes=(2,)), ValueError, "out of range"),
    (lambda a: ndimage.uniform_filter1d(a, 0), RuntimeError, "filter size"),
    (lambda a: ndimage.uniform_filter(a, 3, origin=2), ValueError, "origin"),
    (lambda a: ndimage.minimum_filter(a), RuntimeError, "footprint"),
    (lambda a: ndimage.minimum_filter(a, 3, origin=2), ValueError, "origin"),
    (lambda a: ndimage.minimum_filter(a, footprint=np.zeros((2, 2))), ValueError, "All-zero"),
    (lambda a: ndimage.median_filter(a), RuntimeError, "footprint"),
    (lambda a: ndimage.median_filter(a, 3, mode=["wrap", "wrap"]), RuntimeError, "sequence of modes"),
    (lambda a: ndimage.rank_filter(a, 9, 3), RuntimeError, "rank"),
    (lambda a: ndimage.percentile_filter(a, 101, 3), RuntimeError, "percentile"),
    (lambda a: ndimage.median_filter(a * 1j, 3), TypeError, "Complex"),
    (lambda a: ndimage.gaussian_filter(a, 1, output=np.ones((11, 9))), TypeError, "asarray"),
    (lambda a: ndimage.gaussian_filter(a * 1j, 1, output="float32"), RuntimeError, "complex"),
]


@pytest.mark.parametrize(("call", "error", "text"), MISTAKES)
def test_errors(call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(cp.asarray(IMAGE))


def test_warnings() -> None:
    a = cp.asarray(IMAGE)
    with pytest.warns(UserWarning, match="ignoring size"):
        ndimage.median_filter(a, 3, footprint=np.ones((2, 2)))
    with pytest.warns(UserWarning, match="promoting"):
        assert ndimage.gaussian_filter(a * 1j, 1, output=np.float32).dtype == np.complex64
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ndimage.median_filter(a, footprint=np.ones((2, 2)))


def test_a_gaussian_of_float32_is_one_native_call_per_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuprous import _core

    calls: list[str] = []
    for name in ("correlate", "cast", "map", "update", "pad", "from_numpy"):
        native = getattr(_core, name)
        monkeypatch.setattr(_core, name, lambda *a, _f=native, _n=name, **k: (calls.append(_n), _f(*a, **k))[1])
    image = cp.ones((8, 8), dtype="float32")
    ndimage.gaussian_filter(image, 2.0)
    calls.clear()
    ndimage.gaussian_filter(image, 2.0)
    assert calls == ["correlate", "correlate"]
    weights = cp.ones((5, 5), dtype="float32")
    calls.clear()
    ndimage.convolve(image, weights)
    assert calls == ["correlate"]


def test_windows_that_are_sorted_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuprous import _core
    from cuprous.scipy.ndimage import _rank

    monkeypatch.setattr(_rank, "_CHUNK", 1 << 15)
    image = np.random.default_rng(1).normal(size=(80, 70))
    a = cp.asarray(image)
    np.testing.assert_array_equal(ndimage.median_filter(a, 15).get(), scipy_ndimage.median_filter(image, 15))
    device = a.device_name
    _core.reset_peak_memory(device)
    before = _core.memory_stats(device)["used_bytes"]
    ndimage.median_filter(a, 15).get()
    # All windows together take 10 MB, those of a piece a quarter of one.
    assert _core.memory_stats(device)["peak_bytes"] - before < 3 << 20


def test_sums_of_empty_input() -> None:
    for name in ("sum", "mean", "variance"):
        for more in ((), (np.zeros(0, bool),), (np.zeros(0, int), 1)):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = getattr(scipy_ndimage, name)(np.zeros(0), *more)
            np.testing.assert_equal(float(getattr(ndimage, name)(cp.zeros(0), *moved(more))), float(theirs))
    with pytest.raises(ValueError, match="zero-size"):
        ndimage.sum(cp.zeros(0), cp.zeros(0, int), cp.array([1, 2]))
