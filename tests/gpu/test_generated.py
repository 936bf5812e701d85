"""Compares generated kernels with NumPy in every template: little and much work, rows and columns, ragged tiles.

Sizes are the least that reach a template where a device runs 8,192 threads at a time, as the simulated GPU does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import ndimage

Array = np.ndarray[Any, np.dtype[Any]]


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    """Returns numbers from -2 to 2, or integers from 0 to 49."""
    unit = np.random.default_rng(sum(shape)).random(shape)
    if dtype == "bool":
        return unit > 0.5
    return (4 * unit - 2 if np.dtype(dtype).kind == "f" else unit * 50).astype(dtype)


def floats(n: int) -> Array:
    """Returns float32 numbers with NaN, both zeros, infinities and many others."""
    x = np.round(np.random.default_rng(n).uniform(-1e5, 1e5, n), 1).astype("float32")
    for start, special in enumerate([np.nan, -0.0, 0.0, -np.inf]):
        x[start::11] = special
    return x


def close(got: Any, want: Any, slack: float = 2e-5) -> None:
    np.testing.assert_allclose(cp.asnumpy(got).astype("float64"), want, rtol=slack, atol=slack)


# --- elementwise kernels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("n", [1, 3, 4, 1000, 1024, 2049, 70_001])
def test_vectors_of_mixed_types(n: int, start: int) -> None:
    for dtype in ("float32", "float16", "float64", "int8"):
        x, y = numbers((n + start,), dtype)[start:], numbers((n + start,), "float32")
        a, b = cp.asarray(numbers((n + start,), dtype))[start:], cp.asarray(y)[start:]
        b += a.astype("float32") + cp.arange(n).astype("float32")
        close(b, x.astype("float64") + y[start:] + np.arange(n), 4e-3 if dtype == "float16" else 2e-5)


#: The shape of a result, and the strides and the offset of an operand.
STRIDED = [
    ((10, 64), (0, 1), 0),
    ((10, 64), (1, 0), 0),
    ((10, 33), (0, 1), 0),
    ((10, 64), (128, 2), 1),
    ((10, 64), (-64, -1), 639),
    ((300, 64), (-64, -1), 19_199),
    ((3, 4, 64), (64, 0, 1), 0),
    ((60, 4, 64), (64, 0, 1), 0),
    ((3, 4, 5, 8), (0, 1, 4, 20), 0),
    ((30, 4, 15, 8), (0, 1, 4, 60), 0),
    ((160, 130), (1, 160), 0),
    ((3, 100, 160), (16000, 1, 100), 0),
    ((100, 3, 160), (1, 16000, 100), 0),
    ((2, 2, 100, 160), (3, 5, 7, 1), 0),
]


@pytest.mark.parametrize(("shape", "strides", "offset"), STRIDED)
def test_strided_operands(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> None:
    size = offset + 1 + sum(max(s * (n - 1), 0) for s, n in zip(strides, shape, strict=True))
    x, memory = numbers(shape, "float32"), numbers((size,), "float32")

    def view(module: Any, y: Any) -> Any:
        return module.lib.stride_tricks.as_strided(y[offset:], shape, [4 * s for s in strides])

    iota = np.arange(x.size).reshape(shape)
    got = cp.asarray(x) * view(cp, cp.asarray(memory)) + 0.125 + cp.asarray(iota.astype("float32"))
    close(got, x.astype("float64") * view(np, memory) + 0.125 + iota)


@pytest.mark.parametrize("shape", [(100,), (7, 12), (7, 5), (200, 90)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8", "int64"])
def test_scatters(dtype: str, shape: tuple[int, ...]) -> None:
    index, x = numbers(shape, "int64") % 33, numbers(shape, dtype) // 2
    for name in ("add", "maximum", "minimum"):
        want, got = np.ones(33, dtype), cp.ones(33, dtype)
        values = x > 0 if name == "add" and dtype == "int8" else x
        getattr(np, name).at(want, index, values)
        getattr(cp, name).at(got, cp.asarray(index), cp.asarray(values))
        close(got, want, 0.05 if dtype == "float16" else 2e-5)
    want, got = np.ones(33, dtype), cp.ones(33, dtype)
    want[index], got[cp.asarray(index)] = x, cp.asarray(x)
    close(got, want)


# --- reductions -------------------------------------------------------------------------------------------------------

#: Shapes and the axes that are reduced: lanes of a warp, a warp, a block and several blocks for a row, and columns.
REDUCED = [
    ((50, 12), (1,)),
    ((50, 13), (1,)),
    ((3, 1), (1,)),
    ((5, 700), (1,)),
    ((5, 6000), (1,)),
    ((9, 42_000), (1,)),
    ((100_007,), (0,)),
    ((2, 40_001), (1,)),
    ((8, 100), (0,)),
    ((9, 101), (0,)),
    ((3000, 12), (0,)),
    ((8, 6, 28), (0, 2)),
    ((5, 16, 3, 8), (0, 1)),
    # More work than runs at a time.
    ((9000, 12), (1,)),
    ((9000, 13), (1,)),
    ((9000, 1), (1,)),
    ((300, 700), (1,)),
    ((20, 6000), (1,)),
    ((8, 20_000), (0,)),
    ((9, 9001), (0,)),
    ((8, 600, 28), (0, 2)),
    ((5, 16, 30, 80), (0, 1)),
]


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
@pytest.mark.parametrize(("shape", "axes"), REDUCED)
def test_reductions_that_are_fused(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    x = numbers(shape, dtype)
    a, wide = cp.asarray(x), x.astype("float64")
    got = [a.max(axes), a.min(axes)]
    want = [x.max(axes), x.min(axes)]
    if len(axes) == 1:
        got += [a.argmax(axes[0]), a.argmin(axes[0])]
        want += [x.argmax(axes[0]), x.argmin(axes[0])]
    exact = len(got)
    if dtype != "float16":
        got += [a.sum(axes)]
        want += [wide.sum(axes)]
    if dtype == "float32":
        got += [a.var(axes)]
        want += [wide.var(axes)]
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        if k < exact:
            np.testing.assert_array_equal(cp.asnumpy(one), other)
        else:
            close(one, other)


@pytest.mark.parametrize(("shape", "axes"), REDUCED)
def test_values_from_the_reduction_of_their_row(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = numbers(shape, "float32")
    a, wide = cp.asarray(x), x.astype("float64")
    a -= a.max(axes, keepdims=True)
    a[...] = cp.exp(a) / cp.exp(a).sum(axes, keepdims=True)
    want = np.exp(wide - wide.max(axes, keepdims=True))
    close(a, want / want.sum(axes, keepdims=True))

    rows = numbers(x.sum(axes, keepdims=True).shape, "float32")
    a, running, iota = cp.asarray(x), cp.asarray(rows), np.arange(x.size).reshape(shape)
    mean = (a * a).sum(axes, keepdims=True) * (rows.size / x.size)
    running += mean
    got = a * running + cp.asarray(iota.astype("float32")) + mean
    wide_mean = (wide * wide).mean(axes, keepdims=True)
    close(running, rows + wide_mean)
    close(got, wide * (rows + wide_mean) + iota + wide_mean)


# --- sorts, selections, compactions -----------------------------------------------------------------------------------


def in_order(x: Array, largest: bool) -> Array:
    """Returns the positions of the sorted elements of each row: NaN last, or first if `largest`."""
    return np.argsort(np.where(np.isnan(x), -np.inf, -x) if largest else x, axis=-1, kind="stable")


@pytest.mark.parametrize(("rows", "n"), [(3, 100), (2, 700), (2, 3000), (1, 40_000)])
def test_sorts_by_lanes_by_a_block_and_by_passes(rows: int, n: int) -> None:
    x = floats(rows * n).reshape(rows, n)
    a, order = cp.asarray(x), in_order(x, False)
    ordered, got = np.take_along_axis(x, order, 1), cp.sort(a, axis=1).get()
    np.testing.assert_array_equal(cp.argsort(a, axis=1, kind="stable").get(), order)
    np.testing.assert_array_equal(got, ordered)
    # Equal numbers keep their order, which the signs of zeros show.
    np.testing.assert_array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(ordered)[~np.isnan(got)])


@pytest.mark.parametrize(
    ("rows", "n", "k"), [(3, 100, 20), (2, 700, 20), (1, 9000, 20), (1, 70_000, 30), (2, 6000, 1500)]
)
def test_selections(rows: int, n: int, k: int) -> None:
    # The last one has more elements than a block gathers, and ties at the bound.
    x = floats(rows * n).reshape(rows, n)
    x = np.round(x / 3e3) if k > 1000 else x
    a = cp.asarray(x)
    for largest in (True, False):
        values, positions = cp.topk(a, k, largest=largest)
        want = in_order(x, largest)[:, :k]
        np.testing.assert_array_equal(positions.get(), want)
        np.testing.assert_array_equal(values.get(), np.take_along_axis(x, want, 1))
    for rank in (0, 30, n - 1):
        np.testing.assert_array_equal(cp._core.select(a, rank).get(), np.sort(x, axis=1)[:, rank])


@pytest.mark.parametrize(("start", "step"), [(0, 1), (-70_000, 1), (5 << 24, 256)])
def test_digits_that_are_equal_everywhere_are_skipped(start: int, step: int) -> None:
    x = (start + np.arange(40_000) * 7919 % 3001 * step).astype("int32")
    np.testing.assert_array_equal(cp.sort(cp.asarray(x)).get(), np.sort(x))


@pytest.mark.parametrize("n", [17, 9001, 70_001])
def test_masks(n: int) -> None:
    mask = np.arange(n) ** 2 % 7 < 3
    values = np.arange(n, dtype="float32") / 2
    m = cp.asarray(mask)
    np.testing.assert_array_equal(cp.nonzero(m)[0].get(), np.nonzero(mask)[0])
    np.testing.assert_array_equal(cp.asarray(values)[m].get(), values[mask])


# --- scans ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "axis"), [((300_001,), 0), ((3, 70_000), 1), ((100, 900), 1), ((900, 70), 0)])
def test_scans_that_look_back(shape: tuple[int, ...], axis: int) -> None:
    x = numbers(shape, "int32")
    np.testing.assert_array_equal(cp.cumsum(cp.asarray(x), axis).get(), np.cumsum(x, axis))
    y = numbers(shape, "float32")
    for name in ("maximum", "minimum"):
        got = getattr(cp, name).accumulate(cp.asarray(y), axis=axis)
        np.testing.assert_array_equal(got.get(), getattr(np, name).accumulate(y, axis=axis))
    close(cp.cumsum(cp.asarray(y), axis), np.cumsum(y.astype("float64"), axis), 2e-3)


# --- images -----------------------------------------------------------------------------------------------------------


def components(image: Array, structure: Array) -> Array:
    """Numbers the connected parts of an image in the order of their first elements, by propagation of minima."""
    root = np.where(image, np.arange(1, image.size + 1).reshape(image.shape), 0)
    steps = [tuple(step - 1) for step in np.argwhere(structure)]
    large = image.size + 1
    while True:
        padded = np.pad(np.where(image, root, large), 1, constant_values=large)
        windows = [
            padded[tuple(slice(1 + s, 1 + s + n) for s, n in zip(step, image.shape, strict=True))] for step in steps
        ]
        least = np.where(image, np.min(windows, axis=0), 0)
        if np.array_equal(least, root):
            return np.unique(root, return_inverse=True)[1].reshape(image.shape) - (0 if (root == 0).any() else -1)
        root = least


def near(rank: int, distance: int) -> Array:
    """Returns the neighbors whose indices differ by `distance` in all."""
    return np.abs(np.indices((3,) * rank) - 1).sum(0) <= distance


#: Edges, edges and corners, and neighbors that are never side by side in memory.
NEIGHBORS = [
    ((700,), near(1, 1)),
    ((28, 25), near(2, 1)),
    ((70, 90), near(2, 2)),
    ((70, 90), np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])),
    ((90, 70), np.array([[0, 1, 0], [0, 1, 0], [0, 1, 0]])),
    ((9, 10, 11), near(3, 1)),
    ((9, 10, 11), near(3, 3)),
]


@pytest.mark.parametrize(("shape", "structure"), NEIGHBORS)
def test_connected_components(shape: tuple[int, ...], structure: Array) -> None:
    image = np.random.default_rng(7).random(shape) < 0.55
    labels, count = ndimage.label(cp.asarray(image), cp.asarray(structure))
    want = components(image, structure)
    np.testing.assert_array_equal(labels.get(), want)
    assert count == want.max()


@pytest.mark.parametrize(("shape", "length", "axis"), [
    ((58, 65), 249, 0), ((58, 65), 249, 1), ((300, 3), 249, 0), ((3, 300), 249, 1), ((20, 6), 93, 0),
])  # fmt: skip
@pytest.mark.parametrize(("mode", "padding"), [("mirror", "reflect"), ("reflect", "symmetric"), ("wrap", "wrap")])
def test_long_weights_along_an_axis(shape: tuple[int, int], length: int, axis: int, mode: str, padding: Any) -> None:
    # Several launches, each of which adds to the sums of the one before; elements near the edges and far from them.
    x = (np.arange(np.prod(shape)) * 7919 % 257 - 128).reshape(shape) / 16
    weights = (np.arange(length) * 31 % 17 - 8) / 64
    around = [(length // 2, length // 2) if k == axis else (0, 0) for k in range(2)]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, around, padding), length, axis)
    got = ndimage.correlate1d(cp.asarray(x), cp.asarray(weights), axis, mode=mode)
    np.testing.assert_allclose(got.get(), windows @ weights, rtol=0, atol=1e-9)


# --- transforms along columns -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("points", "below"), [(16, 35), (32, 3), (64, 13), (128, 4), (512, 3)])
def test_transforms_along_columns(points: int, below: int) -> None:
    parts = numbers((2, 2, points, below), "float64")
    x = parts[0] + 1j * parts[1]
    np.testing.assert_allclose(cp.fft.fft(cp.asarray(x), axis=1).get(), np.fft.fft(x, axis=1), rtol=0, atol=1e-10)
    np.testing.assert_allclose(cp.fft.ifft(cp.asarray(x), axis=1).get(), np.fft.ifft(x, axis=1), rtol=0, atol=1e-10)
