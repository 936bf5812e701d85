"""Tests convolutions and pooling against sums over windows, their gradients, and PyTorch's shape errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import _core
from cuprous.torch.nn import _convolution as C
from cuprous.torch.nn import _pooling as P
from tests.conftest import DEVICE

pytestmark = pytest.mark.usefixtures("double")
RNG = np.random.default_rng(0)


def wanting(*shapes: tuple[int, ...]) -> list[Any]:
    return [torch.tensor(RNG.normal(size=shape)).requires_grad_() for shape in shapes]


def every(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else value


def direct(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """Computes a convolution as a sum over kernel elements."""
    rank = w.ndim - 2
    s, p, d = (every(v, rank) for v in (stride, padding, dilation))
    x = np.pad(x, [(0, 0), (0, 0), *((n, n) for n in p)])
    out = [(x.shape[2 + k] - d[k] * (w.shape[2 + k] - 1) - 1) // s[k] + 1 for k in range(rank)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    inner, outer = w.shape[1], w.shape[0] // groups
    for o, place in itertools.product(range(w.shape[0]), itertools.product(*map(range, w.shape[2:]))):
        seen = tuple(slice(i * d[k], i * d[k] + (out[k] - 1) * s[k] + 1, s[k]) for k, i in enumerate(place))
        part = x[(slice(None), slice(o // outer * inner, (o // outer + 1) * inner), *seen)]
        y[:, o] += np.tensordot(part, w[(o, slice(None), *place)], ([1], [0]))
    return y


#: input, weights, stride, padding, dilation, groups
CONVOLUTIONS: dict[str, tuple[Any, ...]] = {
    "1d": ((2, 4, 9), (6, 2, 3), 2, 1, 2, 2),
    "2d": ((2, 3, 7, 8), (4, 3, 3, 2), 1, 0, 1, 1),
    "2d uneven": ((2, 4, 9, 8), (6, 2, 3, 3), (2, 1), (1, 2), (1, 2), 2),
    "depthwise": ((2, 4, 7, 6), (4, 1, 3, 3), 2, 1, 1, 4),
    "two filters a channel": ((2, 4, 6, 6), (8, 1, 2, 2), 1, 0, 1, 4),
    "3d": ((2, 2, 4, 5, 4), (3, 2, 2, 3, 2), 1, 1, 1, 1),
    "patches": ((2, 3, 8, 8), (5, 3, 4, 4), 4, 0, 1, 1),
    "pointwise": ((2, 3, 9, 9), (5, 3, 1, 1), 1, 0, 1, 1),
    "pointwise with steps": ((2, 3, 9, 9), (5, 3, 1, 1), 2, 0, 1, 1),
    "long windows": ((2, 2, 20), (2, 2, 7), 3, 2, 1, 1),
    "more padding than image": ((1, 1, 2, 2), (1, 1, 5, 5), 1, 4, 1, 1),
    # Few channels a group are convolved directly on the CPU: blocks of 4, 2 and 1 channels, phases of strides.
    "seven filters of five channels": ((3, 10, 9, 7), (14, 5, 3, 3), 1, 1, 1, 2),
    "steps beside spaces": ((2, 6, 23, 17), (6, 3, 3, 4), (3, 2), (2, 1), (2, 3), 2),
    "depthwise, long rows": ((2, 3, 5, 150), (3, 1, 3, 7), (1, 2), (1, 3), 1, 3),
    "depthwise, 3d": ((2, 3, 5, 6, 7), (3, 1, 3, 2, 3), (2, 1, 2), 1, (1, 2, 1), 3),
    "depthwise, steps over elements": ((2, 3, 11, 12), (3, 1, 2, 1), 4, 0, 1, 3),
    "depthwise, 1d, many images": ((40, 2, 31), (2, 1, 4), 2, 1, 3, 2),
    # Small images share a product on the CPU: several products, and parts of the channels.
    "small images": ((31, 160, 5, 6), (140, 160, 3, 2), (2, 1), 1, 1, 1),
    "small images, groups": ((5, 440, 4), (400, 220, 3), 1, 1, 1, 2),
    "small images, pointwise": ((15, 350, 3, 3), (390, 350, 1, 1), 1, 0, 1, 1),
    "wide image": ((1, 2, 3, 5000), (2, 1, 3, 3), 1, 1, 1, 2),
}


@pytest.fixture(autouse=True, params=[False, True], ids=["row-major", "channels last"])
def _order(request: pytest.FixtureRequest, _torch_defaults: None) -> Iterator[None]:
    """How images lie in memory, which no result shows."""
    _core.set_always_channels_last(request.param)
    yield
    _core.set_always_channels_last(False)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_and_their_gradients(name: str) -> None:
    shape, weights, *rest = CONVOLUTIONS[name]
    conv = getattr(C, f"conv{len(shape) - 2}d")
    x, w, b = wanting(shape, weights, weights[:1])
    y = conv(x, w, b, *rest)
    column = (-1,) + (1,) * (len(shape) - 2)
    expected = direct(x.to_numpy(), w.to_numpy(), *rest) + b.to_numpy().reshape(column)
    np.testing.assert_allclose(y.to_numpy(), expected, atol=1e-12)
    # Each gradient is the adjoint of a linear map: <grad, v> = <g, conv(v)>.
    g, v, u = (torch.tensor(RNG.normal(size=t.shape)) for t in (y, x, w))
    gx, gw, gb = torch.autograd.grad(y, [x, w, b], g)
    assert float((gx * v).sum()) == pytest.approx(float((g * conv(v, w.detach(), None, *rest)).sum()), rel=1e-9)
    assert float((gw * u).sum()) == pytest.approx(float((g * conv(x.detach(), u, None, *rest)).sum()), rel=1e-9)
    np.testing.assert_allclose(gb.to_numpy(), g.to_numpy().sum(axis=(0, *range(2, g.ndim))))


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_of_float32_are_as_exact_as_float32(name: str) -> None:
    """The error is compared with the sum of the products' sizes, because sums may cancel."""
    shape, weights, *rest = CONVOLUTIONS[name]
    conv = getattr(C, f"conv{len(shape) - 2}d")

    def results(x: Any, w: Any, g: Any) -> list[Any]:
        x, w = (t.detach().requires_grad_() for t in (x, w))
        y = conv(x, w, None, *rest)
        return [t.detach().to_numpy() for t in (y, *torch.autograd.grad(y, [x, w], g))]

    x, w = wanting(shape, weights)
    given = x, w, torch.tensor(RNG.normal(size=conv(x, w, None, *rest).shape))
    exact, sizes = results(*given), results(*(t.detach().abs() for t in given))
    for got, expected, size in zip(results(*(t.to(torch.float32) for t in given)), exact, sizes, strict=True):
        assert got.dtype == np.float32
        assert (np.abs(got - expected) <= 5e-6 * size + 1e-30).all()


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_gradients_have_no_products_with_what_lies_beside_the_input(value: float) -> None:
    # The corner is seen by 4 of 9 elements of the kernel, and a kernel's corner sees 4 of 9 inputs.
    x, w = torch.ones(1, 4, 3, 3), torch.ones(4, 1, 3, 3)
    x[0, 0, 0, 0], w[1, 0, 0, 0] = value, value
    x.requires_grad_(), w.requires_grad_()
    y = C.conv2d(x, w, None, 1, 1, 1, 4)
    gx, gw = torch.autograd.grad(y, [x, w], torch.ones_like(y))
    finite = np.isfinite(gw.to_numpy())
    expected = np.ones((4, 1, 3, 3), bool)
    seen = [[True, True, False], [True, True, False], [False, False, False]]
    expected[0, 0] = ~np.array(seen)
    np.testing.assert_array_equal(finite, expected)
    expected = np.ones((1, 4, 3, 3), bool)
    expected[0, 1] = ~np.array(seen)
    np.testing.assert_array_equal(np.isfinite(gx.to_numpy()), expected)


#: The CPU has no routine for half precision, which is computed as products of windows, as small convolutions are
#: on a GPU.
WINDOWS = torch.float16


@pytest.mark.parametrize("dtype", [torch.float64, WINDOWS])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_results_of_convolutions_are_contiguous(name: str, dtype: Any) -> None:
    shape, weights, stride, padding, dilation, groups = CONVOLUTIONS[name]
    rank = len(shape) - 2
    conv, transposed = getattr(C, f"conv{rank}d"), getattr(C, f"conv_transpose{rank}d")
    x, w = (torch.tensor(RNG.normal(size=s)).to(DEVICE, dtype) for s in (shape, weights))
    y = conv(x, w, None, stride, padding, dilation, groups)
    assert y.is_contiguous() and y.view(shape[0], -1).is_contiguous()
    assert transposed(y, w, None, stride, 0, 0, groups, dilation).is_contiguous()


@pytest.mark.parametrize("dtype", [torch.float64, WINDOWS])
def test_a_view_after_a_convolution_and_pooling(dtype: Any) -> None:
    # LeNet: 16 channels of 10 by 10, pooled to 5 by 5 and flattened.
    x, w = (torch.tensor(RNG.normal(size=s)).to(DEVICE, dtype) for s in ((2, 6, 14, 14), (16, 6, 5, 5)))
    y = P.max_pool2d(torch.relu(C.conv2d(x, w)), 2)
    assert tuple(y.view(y.size(0), -1).shape) == (2, 400)


@pytest.mark.parametrize("pool", [P.max_pool2d, P.avg_pool2d, P.adaptive_avg_pool2d, P.adaptive_max_pool2d])
def test_strides_of_pooled_results_are_those_of_pytorch(pool: Callable[..., Any]) -> None:
    x = torch.tensor(RNG.normal(size=(2, 3, 6, 8)))
    assert pool(x, 2).is_contiguous()
    assert pool(x.transpose(2, 3), 2).is_contiguous()
    assert pool(x.transpose(0, 1), 2).is_contiguous()
    # Channels-last images stay so.
    last = x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    assert pool(last, 2).permute(0, 2, 3, 1).is_contiguous()
    np.testing.assert_array_equal(pool(last, 2).to_numpy(), pool(x, 2).to_numpy())


@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolutions_are_adjoint(groups: int) -> None:
    x, y = (torch.tensor(RNG.normal(size=s)) for s in ((2, 4, 9, 8), (2, 6, 5, 3)))
    w = torch.tensor(RNG.normal(size=(6, 4 // groups, 3, 4)))
    back = C.conv_transpose2d(y, w, None, 2, (1, 0), (0, 0), groups)
    assert tuple(back.shape) == (2, 4, 9, 8)
    forth = C.conv2d(x, w, None, 2, (1, 0), 1, groups)
    assert float((back * x).sum()) == pytest.approx(float((forth * y).sum()))
    assert tuple(C.conv_transpose1d(torch.ones(2, 3, 5), torch.ones(3, 2, 4), None, 3, 1, 2).shape) == (2, 2, 16)


def twice(function: Callable[..., Any]) -> Callable[..., Any]:
    def slopes(*inputs: Any) -> Any:
        return torch.autograd.grad((function(*inputs) ** 2).sum(), inputs, create_graph=True)

    return slopes


SMALL: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "conv2d": (lambda x, w: C.conv2d(x, w, None, 2, 1), [(2, 2, 4, 4), (2, 2, 3, 2)]),
    "depthwise": (lambda x, w: C.conv2d(x, w, None, 1, 1, 1, 2), [(1, 2, 3, 3), (2, 1, 2, 2)]),
    "conv_transpose2d": (lambda x, w: C.conv_transpose2d(x, w, None, 2, 1, 1), [(1, 2, 3, 3), (2, 2, 3, 2)]),
    "unfold": (lambda x: C.fold(C.unfold(x, (2, 3), 1, 1) ** 2, (4, 4), (2, 3), 1, 1), [(1, 2, 4, 4)]),
    "unfold apart": (lambda x: C.fold(C.unfold(x, 2, stride=2) ** 2, (4, 4), 2, stride=2), [(1, 2, 4, 4)]),
    "max_pool2d": (lambda x: P.max_pool2d(x, 2), [(1, 2, 5, 5)]),
    "max_pool2d overlapping": (lambda x: P.max_pool2d(x, 3, 2, 1, 1, True), [(1, 2, 5, 5)]),
    "avg_pool2d": (lambda x: P.avg_pool2d(x, 2), [(1, 2, 5, 5)]),
    "avg_pool2d overlapping": (lambda x: P.avg_pool2d(x, 3, 2, 1, True, False), [(1, 2, 5, 5)]),
    "adaptive_avg_pool2d": (lambda x: P.adaptive_avg_pool2d(x, (2, 3)), [(1, 2, 5, 5)]),
    "adaptive_max_pool2d": (lambda x: P.adaptive_max_pool2d(x, (2, 3)), [(1, 2, 5, 5)]),
    "lp_pool2d": (lambda x: P.lp_pool2d(x.abs() + 0.1, 3, 2), [(1, 2, 4, 4)]),
    "windows": (lambda x: x.unfold(0, 3, 1).unfold(1, 2, 2) ** 2, [(5, 4)]),
}


@pytest.mark.parametrize("name", SMALL)
def test_first_and_second_derivatives(name: str) -> None:
    function, shapes = SMALL[name]
    inputs = wanting(*shapes)
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradcheck(twice(function), inputs)


def test_padding_by_name_and_images_without_a_batch() -> None:
    x, w = torch.tensor(RNG.normal(size=(3, 6, 7))), torch.tensor(RNG.normal(size=(2, 3, 4, 3)))
    same = C.conv2d(x, w, padding="same", dilation=(1, 2))
    assert tuple(same.shape) == (2, 6, 7)
    # An even kernel has one more zero after the input than before it.
    wide = np.pad(x.to_numpy(), [(0, 0), (1, 2), (2, 2)])
    np.testing.assert_allclose(same.to_numpy(), direct(wide[None], w.to_numpy(), 1, 0, (1, 2), 1)[0], atol=1e-12)
    assert torch.equal(C.conv2d(x, w, padding="valid"), C.conv2d(x.unsqueeze(0), w)[0])


def test_a_hundred_images_more_than_fit_into_the_workspace() -> None:
    torch.set_default_dtype(torch.float32)
    x, w = (torch.tensor(RNG.normal(size=s), dtype=torch.float32) for s in ((130, 4, 60, 60), (2, 4, 3, 3)))
    x.requires_grad = w.requires_grad = True
    C.conv2d(x, w).sum().backward()
    assert x.grad is not None and w.grad is not None
    few = torch.tensor(x.detach()[-3:].to_numpy()).requires_grad_()
    C.conv2d(few, w.detach()).sum().backward()
    np.testing.assert_allclose(x.grad[-3:].to_numpy(), few.grad.to_numpy(), rtol=1e-5, atol=1e-5)
    windows = np.lib.stride_tricks.sliding_window_view(x.to_numpy(), (58, 58), (2, 3)).sum((0, 4, 5))
    # 437,320 numbers are summed in single precision; a missing image would change the sum by about 60.
    np.testing.assert_allclose(w.grad[0].to_numpy(), windows, rtol=1e-3, atol=0.5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex128", "int64"])
def test_other_dtypes(dtype: str) -> None:
    x = (RNG.normal(size=(2, 4, 7, 7)) * 4).round()
    w = (RNG.normal(size=(6, 2, 3, 3)) * 4).round()
    of = getattr(torch, dtype)
    a, b = (torch.tensor(v).to(of) for v in (x, w))
    if dtype == "complex128":
        a, b = a * (1 + 2j), b * (1 - 1j)
        x, w = x * (1 + 2j), w * (1 - 1j)
    y = C.conv2d(a, b, None, 2, 1, 1, 2)
    assert y.dtype == of
    plain = y.to(torch.float64) if dtype in ("float16", "bfloat16") else y
    # Sums of whole numbers of which bfloat16 keeps 8 bits.
    expected = sum(
        factor * direct(p, q, 2, 1, 1, 2)
        for p, factor in ((x.real, 1), (x.imag, 1j))
        for q, factor in ((w.real, factor), (w.imag, factor * 1j))
    )
    expected = expected if dtype == "complex128" else expected.real
    np.testing.assert_allclose(plain.to_numpy(), expected, rtol=5e-3, atol=0.5)
    if dtype != "int64":
        a.requires_grad = b.requires_grad = True
        C.conv2d(a, b, None, 2, 1, 1, 2).abs().sum().backward()
        assert a.grad.dtype == b.grad.dtype == of and a.grad.abs().sum().item() > 0


def test_noncontiguous_and_empty_images() -> None:
    w = torch.tensor(RNG.normal(size=(3, 4, 3, 3))).requires_grad_()
    big = torch.tensor(RNG.normal(size=(3, 9, 9, 4)))
    for seen in (big.permute(0, 3, 1, 2), big.permute(0, 3, 1, 2)[1:], big[:, 1:, 2:].permute(0, 3, 1, 2)):
        np.testing.assert_allclose(C.conv2d(seen, w).to_numpy(), C.conv2d(seen.clone(), w).to_numpy())
    nothing = torch.zeros(0, 4, 9, 9).requires_grad_()
    y = C.conv2d(nothing, w)
    y.sum().backward()
    assert tuple(y.shape) == (0, 3, 7, 7) and tuple(nothing.grad.shape) == (0, 4, 9, 9) and not w.grad.any()


# --- pooling


def extent(n: int, k: int, s: int, p: int, d: int, ceil: bool) -> int:
    room = n + 2 * p - d * (k - 1) - 1
    count = (-(-room // s) if ceil else room // s) + 1
    return count - 1 if ceil and (count - 1) * s >= n + p else count


#: shape, kernel, stride, padding, dilation, ceil_mode
POOLS = [
    ((2, 3, 8, 8), 2, 2, 0, 1, False),
    ((2, 3, 7, 9), 3, 2, 1, 1, True),
    ((1, 2, 9, 9), 2, 1, 0, 2, False),
    ((2, 3, 11), 3, 2, 1, 1, True),
    ((1, 2, 5, 5, 5), 2, 2, 1, 1, True),
    ((1, 1, 4, 4), 1, 2, 0, 1, True),
]


@pytest.mark.parametrize("case", POOLS, ids=str)
def test_max_pool(case: Any) -> None:
    shape, k, s, p, d, ceil = case
    rank, size = len(shape) - 2, shape[2:]
    (x,) = wanting(shape)
    pool = getattr(P, f"max_pool{rank}d")
    y, index = pool(x, k, s, p, d, ceil, True)
    out = [extent(n, k, s, p, d, ceil) for n in size]
    assert tuple(y.shape) == (*shape[:2], *out)
    flat = x.to_numpy().reshape(*shape[:2], -1)
    for at in itertools.product(*map(range, out)):
        reached = [[a * s - p + i * d for i in range(k)] for a in at]
        valid = [[i for i in r if 0 <= i < n] for r, n in zip(reached, size, strict=True)]
        places = [int(np.ravel_multi_index(i, size)) for i in itertools.product(*valid)]
        seen = flat[..., places]
        here = (slice(None), slice(None), *at)
        np.testing.assert_array_equal(y.to_numpy()[here], seen.max(-1))
        np.testing.assert_array_equal(index.to_numpy()[here], np.array(places)[seen.argmax(-1)])
    assert torch.equal(pool(x.detach(), k, s, p, d, ceil), y.detach())
    g = torch.tensor(RNG.normal(size=y.shape))
    y.backward(g)
    expected = np.zeros((math.prod(shape[:2]), math.prod(size)))
    rows = index.to_numpy().reshape(len(expected), -1)
    for row, places, values in zip(expected, rows, g.to_numpy().reshape(rows.shape), strict=True):
        np.add.at(row, places, values)
    np.testing.assert_allclose(x.grad.to_numpy().reshape(expected.shape), expected, atol=1e-12)


def test_max_pool_ties_and_nan() -> None:
    x = torch.tensor([[[[1.0, 1.0], [1.0, 0.0]], [[math.nan, 2.0], [0.0, 3.0]]]]).requires_grad_()
    y = P.max_pool2d(x, 2)
    assert y[0, 0].item() == 1 and math.isnan(y[0, 1].item())
    y.sum().backward()
    assert x.grad[0, 0].tolist() == [[1, 0], [0, 0]]
    restored = P.max_unpool2d(*P.max_pool2d(torch.arange(16.0).reshape(1, 1, 4, 4), 2, return_indices=True), 2)
    assert restored[0, 0].tolist() == [[0, 0, 0, 0], [0, 5, 0, 7], [0, 0, 0, 0], [0, 13, 0, 15]]
    assert P.max_pool1d(torch.arange(6).reshape(1, 6), 3, padding=1).tolist() == [[1, 4]]


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("ceil", [True, False])
def test_avg_pool_counts_as_pytorch_does(include: bool, ceil: bool) -> None:
    x = RNG.normal(size=(2, 3, 7, 8))
    y = P.avg_pool2d(torch.tensor(x), 3, 2, 1, ceil, include).to_numpy()
    for i, j in itertools.product(range(y.shape[2]), range(y.shape[3])):
        bounds = [(a * 2 - 1, min(a * 2 + 2, n + 1)) for a, n in ((i, 7), (j, 8))]
        inside = [(max(a, 0), min(b, n)) for (a, b), n in zip(bounds, (7, 8), strict=True)]
        count = math.prod(b - a for a, b in (bounds if include else inside))
        window = x[:, :, slice(*inside[0]), slice(*inside[1])]
        np.testing.assert_allclose(y[:, :, i, j], window.sum((2, 3)) / count)
    np.testing.assert_allclose(P.avg_pool2d(torch.tensor(x), 7).to_numpy()[..., 0, 0], x[:, :, :7, :7].mean((2, 3)))
    assert P.avg_pool2d(torch.ones(1, 4, 4), 2, divisor_override=1).tolist() == [[[4, 4], [4, 4]]]


@pytest.mark.parametrize("out", [(1, 1), (3, 2), (4, None), (5, 7), (11, 30), (3, 8), (40, 5)], ids=str)
def test_adaptive_pools(out: Any) -> None:
    x = RNG.integers(-9, 9, size=(2, 3, 8, 7)) / 4  # with equal elements
    sizes = [n if m is None else m for n, m in zip((8, 7), out, strict=True)]
    means = P.adaptive_avg_pool2d(torch.tensor(x), out).to_numpy()
    tops, index = P.adaptive_max_pool2d(torch.tensor(x), out, True)
    picked = np.take_along_axis(x.reshape(2, 3, -1), index.to_numpy().reshape(2, 3, -1), 2)
    np.testing.assert_array_equal(picked.reshape(tops.shape), tops.to_numpy())
    for i, j in itertools.product(*map(range, sizes)):
        window = x[
            :, :, i * 8 // sizes[0] : -(-(i + 1) * 8 // sizes[0]), j * 7 // sizes[1] : -(-(j + 1) * 7 // sizes[1])
        ]
        np.testing.assert_allclose(means[:, :, i, j], window.mean((2, 3)), atol=1e-15)
        np.testing.assert_array_equal(tops.to_numpy()[:, :, i, j], window.max((2, 3)))


def test_adaptive_pools_to_more_elements_than_there_are() -> None:
    x = torch.tensor([[1.0, math.nan, 3.0]], requires_grad=True)
    assert np.isnan(P.adaptive_avg_pool1d(x, 5).detach().to_numpy()).tolist() == [[False, True, True, True, False]]
    top, index = P.adaptive_max_pool1d(x, 5, True)
    assert index.tolist() == [[0, 1, 1, 1, 2]]
    top.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[1, 3, 1]]
    for n in (2**31 - 1, 2**31, 2**61):
        for pool in (P.adaptive_avg_pool2d, P.adaptive_max_pool2d):
            with pytest.raises(RuntimeError, match="overflowed"):
                pool(torch.ones(1, 1, 3, 3), n)


# --- errors

ones = torch.ones
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "channels": (
        lambda: C.conv2d(ones(1, 2, 8, 8), ones(4, 3, 3, 3)),
        r"Given groups=1, weight of size \[4, 3, 3, 3\], expected input\[1, 2, 8, 8\] to have 3 channels, but got 2 "
        r"channels instead",
    ),
    "channels transposed": (
        lambda: C.conv_transpose2d(ones(1, 2, 8, 8), ones(3, 4, 3, 3)),
        r"Given transposed=1, weight of size \[3, 4, 3, 3\], expected input\[1, 2, 8, 8\] to have 3 channels, but "
        r"got 2 channels instead",
    ),
    "kernel": (
        lambda: C.conv2d(ones(1, 1, 2, 2), ones(1, 1, 3, 3)),
        r"Calculated padded input size per channel: \(2 x 2\). Kernel size: \(3 x 3\). Kernel size can't be greater "
        r"than actual input size",
    ),
    "dimensions": (
        lambda: C.conv2d(ones(2, 3), ones(1, 3, 1, 1)),
        r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d, but got input of size: \[2, 3\]",
    ),
    "bias": (
        lambda: C.conv1d(ones(1, 1, 4), ones(4, 1, 3), ones(3)),
        r"Given weight of size \[4, 1, 3\], expected bias to be 1-dimensional with 4 elements, but got bias of size "
        r"\[3\] instead",
    ),
    "groups": (lambda: C.conv1d(ones(1, 2, 4), ones(3, 1, 3), groups=2), "divisible by 2 at dimension 0"),
    "dtype": (
        lambda: C.conv1d(ones(1, 1, 4), ones(1, 1, 3), ones(1, dtype=torch.float32)),
        r"Input type \(double\) and bias type \(float\) should be the same",
    ),
    "same": (lambda: C.conv1d(ones(1, 1, 4), ones(1, 1, 3), stride=2, padding="same"), "strided convolutions"),
    "output padding": (
        lambda: C.conv_transpose1d(ones(1, 1, 4), ones(1, 1, 3), output_padding=1), "output padding must be smaller"
    ),
    "pool padding": (lambda: P.max_pool2d(ones(1, 4, 4), 2, padding=2), "pad should be at most half of effective"),
    "pool size": (
        lambda: P.avg_pool2d(ones(1, 2, 2), 3),
        r"Given input size: \(1x2x2\). Calculated output size: \(1x0x0\). Output size is too small",
    ),
    "blocks": (lambda: C.fold(ones(1, 4, 5), 3, 2), r"sliding blocks 2 \* 2 = 4, but got input.size\(2\)=5"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_shape_errors_name_both_shapes(name: str) -> None:
    call, words = REFUSED[name]
    with pytest.raises(RuntimeError, match=words):
        call()


def test_errors_name_the_layer_and_input_shape() -> None:
    """The message has the shape of the input, not of the padded input."""
    layer = torch.nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect")
    with pytest.raises(RuntimeError, match=r"^\[Conv2d\(2, 3,.*met an input of shape \[1, 5, 4, 4\]\)$"):
        layer(torch.zeros(1, 5, 4, 4))
    with pytest.raises(RuntimeError, match=r"^\[MaxPool2d\(.*\[1, 4\]\)$"):
        torch.nn.MaxPool2d(2)(torch.zeros(1, 4))
