"""Single layers and array functions on a CPU that programs spend their time in. Peers: PyTorch for layers, forward and
backward; NumPy for arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.context import Context
from bench.peers import Peer, optional
from bench.timing import assert_close

Row = Callable[[Context], None]


@dataclass(frozen=True)
class Layer:
    """A layer of `cuprous.torch` beside PyTorch's: `call(torch, *operands)` returns a tensor, of which all operands
    get gradients."""

    title: str
    call: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def conv(title: str, images: int, channels: int, side: int, kernel: int, groups: int = 1, out: int = 0,
         **options: int) -> Layer:  # fmt: skip
    """A 2-d convolution of `images` squares with padding that keeps their size at stride 1."""
    weights = (out or channels, channels // groups, kernel, kernel)
    return Layer(
        f"{title}, {images} x {channels} x {side}², {kernel} x {kernel}",
        lambda torch, x, w: torch.nn.functional.conv2d(x, w, padding=kernel // 2, groups=groups, **options),
        ((images, channels, side, side), weights),
    )


def dense_block(torch: Any, x: Any, *weights: Any) -> Any:
    """DenseNet's: each convolution reads the outputs of all before it."""
    for w in weights:
        x = torch.cat([x, torch.nn.functional.conv2d(torch.relu(x), w, padding=1)], 1)
    return x


def training_norm(torch: Any, x: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.batch_norm(x, None, None, weight, bias, training=True)


LAYERS: dict[str, Layer] = {
    "dwtiny": conv("depthwise convolution", 2, 512, 4, 3, 512),
    "dw14": conv("depthwise convolution", 2, 384, 14, 3, 384),
    "dw56": conv("depthwise convolution", 2, 64, 56, 3, 64),
    "dws2": conv("depthwise convolution, stride 2", 2, 96, 56, 3, 96, stride=2),
    "dw7": conv("depthwise convolution", 2, 44, 56, 7, 44),
    "dw5": conv("depthwise convolution", 8, 240, 14, 5, 240),
    "dw2": conv("depthwise convolution, two outputs a channel", 2, 64, 28, 3, 64, 128),
    "group4": conv("convolution of groups of 4", 2, 128, 28, 3, 32),
    "group16": conv("convolution of groups of 16", 2, 256, 14, 3, 16),
    "ssim": conv("depthwise convolution", 8, 3, 64, 11, 3),
    "conv1": conv("convolution", 2, 32, 28, 1, 1, 128),
    "conv3": conv("convolution", 2, 64, 28, 3),
    "convtiny": conv("convolution", 2, 64, 4, 3, 1, 64),
    "dense12": Layer(
        "12 dense convolutions, 2 x 24 x 16², 3 x 3, 12 more each",
        dense_block,
        ((2, 24, 16, 16), *((12, 24 + 12 * k, 3, 3) for k in range(12))),
    ),
    "bilinear": Layer(
        "bilinear upsampling 2 x 64 x 32², factor 2",
        lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
        ((2, 64, 32, 32),),
    ),
    "bilinear1": Layer(
        "bilinear upsampling 2 x 21 x 28² to 224², aligned corners",
        lambda torch, x: torch.nn.functional.interpolate(x, size=(224, 224), mode="bilinear", align_corners=True),
        ((2, 21, 28, 28),),
    ),
    "pool2": Layer(
        "max pooling 2 x 64 x 56², 2 x 2",
        lambda torch, x: torch.nn.functional.max_pool2d(x, 2),
        ((2, 64, 56, 56),),
    ),
    "pool3": Layer(
        "max pooling 2 x 64 x 56², 3 x 3, stride 2",
        lambda torch, x: torch.nn.functional.max_pool2d(x, 3, 2, 1),
        ((2, 64, 56, 56),),
    ),
    "batchnorm": Layer("batch norm 2 x 128 x 16²", training_norm, ((2, 128, 16, 16), (128,), (128,))),
    "batchnorm32": Layer("batch norm 32 x 64 x 28²", training_norm, ((32, 64, 28, 28), (64,), (64,))),
    "layernorm": Layer(
        "layer norm 2 x 196 x 384",
        lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (384,), w, b),
        ((2, 196, 384), (384,), (384,)),
    ),
    "layernorm4": Layer(
        "layer norm 4 x 197 x 768",
        lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (768,), w, b),
        ((4, 197, 768), (768,), (768,)),
    ),
}


def layer(of: Layer) -> Row:
    """Returns a row that times the layer forward and backward; one work is several steps, where one is short."""

    def row(c: Context) -> None:
        hosts = [c.rng.standard_normal(shape, dtype=np.float32) for shape in of.shapes]
        wanted: list[np.ndarray] = []

        def setup(p: Peer) -> Callable[[], Any]:
            torch = optional("cuprous.torch") if p.name == "cuprous" else p.module
            operands = [torch.from_numpy(host.copy()).requires_grad_() for host in hosts]
            shape = tuple(of.call(torch, *operands).shape)
            gradient = torch.from_numpy(np.random.default_rng(1).standard_normal(shape, dtype=np.float32))

            def step() -> Any:
                y = of.call(torch, *operands)
                return (y.detach(), *torch.autograd.grad(y, operands, gradient))

            if p.name == "torch":
                wanted.extend(got.numpy() for got in step())
            return step

        def check(got: Any) -> None:
            for mine, theirs in zip(got, wanted, strict=True):
                assert_close(mine.numpy(), theirs, 1e-4)

        c.time("torch", setup)
        if wanted:
            check(setup(c.peers["cuprous"])())
        c.time("cuprous", setup)

    return row


@dataclass(frozen=True)
class Program:
    """A program of arrays: `call(np, *operands)` returns an array, and may write its operands."""

    title: str
    call: Callable[..., Any]
    operands: Callable[[np.random.Generator], tuple[np.ndarray, ...]]


def sgd(np_: Any, w: Any, x: Any, labels: Any, places: Any) -> Any:
    for _ in range(100):
        g = np_.maximum(0, x @ w)
        g[places, labels] -= 1
        w = w - 0.0001 * (x.T @ g)
    return w


def masked(np_: Any, c: Any) -> Any:
    """The Mandelbrot set, of which only points that are still small take part."""
    z, count = np_.zeros_like(c), np_.zeros(c.shape, dtype="int32")
    for _ in range(30):
        m = abs(z) <= 2
        z[m] = z[m] ** 2 + c[m]
        count += m
    return count


def reals(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    return lambda rng: tuple(rng.standard_normal(shape) for shape in shapes)


def plane(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return (np.linspace(-2, 0.6, 600) + 1j * np.linspace(-1.2, 1.2, 400)[:, None],)


def classes(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return (rng.standard_normal((20, 64)), rng.standard_normal((64, 20)), rng.integers(0, 64, 64), np.arange(64))


PROGRAMS: dict[str, Program] = {
    "convolve1000": Program("convolve 1e5 with 1,000", lambda np, a, v: np.convolve(a, v), reals((100_000,), (1000,))),
    "convolve100": Program("convolve 1e4 with 100", lambda np, a, v: np.convolve(a, v), reals((10_000,), (100,))),
    "convolve10": Program("convolve 1e5 with 10", lambda np, a, v: np.convolve(a, v), reals((100_000,), (10,))),
    "correlate": Program(
        "correlate 1e5 with 500, same", lambda np, a, v: np.correlate(a, v, "same"), reals((100_000,), (500,))
    ),
    "sgd": Program("100 steps of SGD with g[places, labels] -= 1", sgd, classes),
    "masked": Program("30 steps of z[m] = z[m]² + c[m], 600 x 400 complex128", masked, plane),
    "median300": Program("median of 5,000 rows of 300", lambda np, a: np.median(a, axis=1), reals((5000, 300))),
    "mediancols": Program("median of 300 columns of 5,000", lambda np, a: np.median(a, axis=0), reals((5000, 300))),
    "medianall": Program("median of 1e6", lambda np, a: np.median(a), reals((1_000_000,))),
    "percentile": Program("90th percentile of 1.5e6", lambda np, a: np.percentile(a, 90), reals((1_500_000,))),
}


def program(of: Program) -> Row:
    def row(c: Context) -> None:
        hosts = of.operands(c.rng)
        expected = of.call(np, *hosts)

        def setup(p: Peer) -> Callable[[], Any]:
            operands = [p.asarray(host) for host in hosts]
            return lambda: of.call(p.module, *operands)

        for peer in ("cuprous", "numpy"):
            c.time(peer, setup, lambda got: assert_close(got, expected, 1e-9))

    return row


ROWS: dict[str, tuple[str, Row, str]] = {
    **{name: (f"{of.title}, forward and backward", layer(of), "torch") for name, of in LAYERS.items()},
    **{name: (of.title, program(of), "numpy") for name, of in PROGRAMS.items()},
}
