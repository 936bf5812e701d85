"""Statistics, images, signals and equations on arrays, typed strictly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

import cuprous as cp
from cuprous import fft, linalg, random


@dataclass
class Summary:
    """What a column of numbers looks like."""

    mean: float
    deviation: float
    smallest: float
    largest: float
    quartiles: tuple[float, float, float]


def summarize(values: cp.ndarray) -> Summary:
    """Reduces a vector to a few numbers."""
    low, middle, high = cp.percentile(values, [25, 50, 75]).tolist()
    return Summary(
        mean=float(values.mean()),
        deviation=values.std(ddof=1).item().real,
        smallest=float(values.min()),
        largest=float(values.max()),
        quartiles=(low, middle, high),
    )


def creation() -> dict[str, tuple[int, ...]]:
    """Makes arrays in the usual ways."""
    made = {
        "array": cp.array([[1, 2], [3, 4]], dtype=cp.float32),
        "zeros": cp.zeros((2, 3)),
        "ones": cp.ones(4, dtype="int64"),
        "full": cp.full((2, 2), math.pi),
        "arange": cp.arange(0, 10, 2),
        "linspace": cp.linspace(0.0, 1.0, 5),
        "eye": cp.eye(3, dtype=np.float64),
        "like": cp.zeros_like(cp.ones((2, 2))),
        "host": cp.asarray(np.ones((3, 1))),
        "empty": cp.empty((0,), dtype=bool),
    }
    return {name: a.shape for name, a in made.items()}


def indexing(a: cp.ndarray) -> cp.ndarray:
    """Reads and writes parts of an array."""
    first: cp.ndarray = a[0]
    last: cp.ndarray = a[-1, ::-1]
    block = a[1:3, [0, 2]]
    positive = a[a > 0]
    a[a < 0] = 0
    a[0, 1:] += first[1:]
    a[..., None][0] = 1.0
    picked = cp.where(a > 1, a, -a)
    return cp.concatenate([first.ravel(), last, block.ravel(), positive, picked.flatten()])


def operators(a: cp.ndarray, b: cp.ndarray) -> cp.ndarray:
    """Uses every operator."""
    c = (a + b) * 2 - a / (1 + b**2) + 3 // (1 + abs(a))
    c += -a % 3
    c *= +b
    c -= 1.5
    c /= 2
    same = (a == b) | (a != b) & (a <= b) ^ (a >= b)
    inside = ~same
    shifted = (a.astype(cp.int32) << 2) >> 1
    product = a @ b.T
    return c.sum() + inside.sum() + shifted.sum() + product.trace()


def reductions(a: cp.ndarray) -> list[cp.ndarray]:
    """Reduces and scans along axes."""
    return [
        a.sum(axis=0), a.prod(axis=1, keepdims=True), a.mean(axis=(0, 1)), a.var(ddof=1), a.argmax(axis=1), a.argmin(),
        a.cumsum(axis=0), a.cumprod(), a.all(axis=0), a.any(), a.ptp(axis=1), cp.median(a, axis=0), cp.nanmax(a),
        cp.average(a, weights=cp.ones(a.shape)), cp.count_nonzero(a, axis=1), cp.diff(a, axis=0),
    ]  # fmt: skip


def shapes(a: cp.ndarray) -> tuple[int, ...]:
    """Rearranges an array."""
    b = a.reshape(-1, 2).T.copy()
    c = cp.stack([b, b], axis=1).transpose(2, 0, 1).swapaxes(0, 1)
    d = cp.expand_dims(c.squeeze(), 0).repeat(2, axis=0)
    e, f = cp.split(d, 2)
    g = cp.vstack([cp.atleast_2d(e.ravel()), f.reshape((1, -1))])
    rows, columns = g.shape
    assert g.size == rows * columns == len(g) * columns
    assert g.ndim == 2 and g.nbytes == g.size * g.itemsize and g.dtype.kind == "f"
    return cp.broadcast_to(g, (3, *g.shape)).shape


def sorting(a: cp.ndarray) -> cp.ndarray:
    """Sorts, searches and counts."""
    order = a.argsort()
    ranked = a[order]
    ranked.sort()
    place = cp.searchsorted(ranked, cp.asarray([0.0, 0.5]))
    values, counts = cp.unique(cp.asarray([3, 1, 3]), return_counts=True)
    assert values.tolist() == [1, 3] and counts.tolist() == [1, 2]
    histogram, edges = cp.histogram(a, bins=4)
    assert edges.shape == (5,)
    return cp.concatenate((place, histogram, cp.bincount(cp.asarray([0, 1, 1]))))


def equations(n: int) -> float:
    """Solves linear equations and decomposes matrices."""
    rng = random.default_rng(1)
    a = rng.standard_normal((n, n)) + n * cp.eye(n)
    b = rng.random(n)
    x = linalg.solve(a, b)
    residual = linalg.norm(a @ x - b)
    q, r = linalg.qr(a)
    u, s, vh = linalg.svd(a, full_matrices=False)
    values, vectors = linalg.eigh(a + a.T)
    inverse = linalg.inv(a)
    lower = linalg.cholesky(a @ a.T)
    sign, logdet = linalg.slogdet(a)
    parts = [q @ r - a, (u * s) @ vh - a, inverse @ a - cp.eye(n), lower @ lower.T - a @ a.T]
    worst = max(float(cp.abs(part).max()) for part in parts)
    scale = float(values[-1]) * float(sign) * float(logdet) + float(vectors[0, 0])
    assert math.isfinite(scale) and float(linalg.det(cp.eye(2))) == 1.0
    return worst + float(residual)


def signal(n: int) -> int:
    """Finds the strongest frequency of a noisy wave."""
    rng = random.default_rng(seed=7)
    time = cp.arange(n) / n
    wave = cp.sin(2 * cp.pi * 40 * time) + 0.1 * rng.normal(0.0, 1.0, size=n)
    spectrum = cp.abs(fft.rfft(wave))
    frequencies = fft.rfftfreq(n, d=1 / n)
    back = fft.ifft2(fft.fft2(cp.ones((4, 4)))).real
    assert cp.allclose(back, 1) and bool(cp.isfinite(spectrum).all())
    return int(frequencies[spectrum.argmax()])


def image(size: int) -> cp.ndarray:
    """Blurs an image and finds its edges."""
    rng = random.default_rng()
    pixels = rng.integers(0, 256, (size, size), dtype=np.uint8).astype(cp.float32)
    padded = cp.pad(pixels, 1, mode="edge")
    blurred = cp.zeros_like(pixels)
    for row in range(3):
        for column in range(3):
            blurred += padded[row : row + size, column : column + size] / 9
    dy, dx = cp.gradient(blurred)
    edges = cp.hypot(dx, dy)
    return cp.clip(edges, 0, 255).astype(cp.uint8)


def clusters(points: cp.ndarray, k: int, rounds: int) -> tuple[cp.ndarray, cp.ndarray]:
    """Groups points by k-means."""
    centers = points[:k].copy()
    nearest = cp.zeros(len(points), dtype=cp.int64)
    for _ in range(rounds):
        distances = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=-1)
        nearest = distances.argmin(axis=1)
        for cluster in range(k):
            members = points[nearest == cluster]
            if members.shape[0] > 0:
                centers[cluster] = members.mean(axis=0)
    return centers, nearest


def derivative(function: Callable[[cp.ndarray], cp.ndarray], at: cp.ndarray, step: float = 1e-6) -> cp.ndarray:
    """Differentiates numerically."""
    return (function(at + step) - function(at - step)) / (2 * step)


def batches(a: cp.ndarray, size: int) -> Iterator[cp.ndarray]:
    """Yields an array in parts."""
    for start in range(0, len(a), size):
        yield a[start : start + size]


def walk(steps: int, seeds: Sequence[int]) -> list[float]:
    """Simulates random walks."""
    ends: list[float] = []
    for seed in seeds:
        generator: random.Generator = random.default_rng(seed)
        moves = generator.choice(cp.asarray([-1.0, 1.0]), size=steps)
        shuffled = generator.permutation(moves)
        ends.append(float(shuffled.cumsum()[-1]))
    return ends


def legacy() -> cp.ndarray:
    """Uses NumPy's older random functions."""
    random.seed(3)
    return random.rand(3) + random.randn(3) + random.randint(0, 5, 3) + random.uniform(0, 1, 3) + random.normal(size=3)


def exchange(host: NDArray[np.float64]) -> NDArray[np.float64]:
    """Moves data to the device and back."""
    device = cp.asarray(host)
    back: NDArray[np.float64] = device.get()
    again = cp.asnumpy(device)
    assert np.array_equal(back, again)
    where: str = cp.get_device()
    assert device.device_name.startswith(("cpu", "cuda", "auto")) and where
    return np.asarray(cp.from_dlpack(device).get())


def functions(x: cp.ndarray) -> cp.ndarray:
    """Calls universal functions with their keywords."""
    out = cp.empty(x.shape)
    cp.add(x, 1, out=out)
    cp.multiply(out, 2, out=out, where=x > 0)
    total = cp.add.reduce(x, axis=0) + cp.maximum.accumulate(x)[-1] + cp.multiply.outer(x, x).sum()
    whole, part = cp.divmod(x, 2)
    fraction, exponent = cp.frexp(x)
    pieces = [cp.exp(x), cp.log1p(cp.abs(x)), cp.tanh(x), cp.sqrt(cp.square(x)), cp.arctan2(x, out), cp.floor(x)]
    for piece in pieces:
        out = cp.maximum(out, piece)
    return out + total + whole + part + fraction * cp.exp2(exponent)


def fitted(x: cp.ndarray, y: cp.ndarray) -> list[float]:
    """Fits a polynomial and interpolates."""
    coefficients = cp.polyfit(x, y, 2)
    smooth = cp.polyval(coefficients, x)
    between = cp.interp(cp.asarray([0.5]), x, smooth)
    kernel = cp.convolve(smooth, cp.ones(3) / 3, mode="same")
    mixed = cp.einsum("i,j->ij", x, kernel)
    assert mixed.shape == (x.size, kernel.size) and between.size == 1
    found: list[float] = coefficients.tolist()
    return found


def tools() -> str:
    """Estimates, measures and profiles a function."""
    a = cp.ones((64, 64))
    estimate = cp.estimate(lambda x: x @ x, a, device="H200")
    assert estimate.gpu is not None and estimate.gpu.name.startswith("H200") and estimate.flops > 0
    with cp.profile() as profile:
        total = float((a + 1).sum())
    timing = cp.timeit(cp.exp, a, repeat=1, number=1)
    assert timing.median >= timing.best > 0 and total == 2 * a.size
    pool: cp.MemoryPool = cp.get_default_memory_pool()
    for step in cp.paced(range(3)):
        total += step.bit_length()
    cp.synchronize()
    return f"{profile.events} {profile.total.launches} {pool.used_bytes()} {cp.explain()}"


def stored(a: cp.ndarray) -> list[str]:
    """Writes arrays to files and reads them."""
    with TemporaryDirectory() as folder:
        cp.save(f"{folder}/one.npy", a)
        cp.savez(f"{folder}/two.npz", first=a, second=a + 1)
        one = cp.load(f"{folder}/one.npy")
        two = cp.load(f"{folder}/two.npz")
        names = sorted(two.files)
        cp.savetxt(f"{folder}/text.csv", one, delimiter=",")
        text = cp.loadtxt(f"{folder}/text.csv", delimiter=",")
    assert bool(cp.array_equal(two["first"], a)) and text.shape == a.shape
    return names


def sets(a: cp.ndarray, b: cp.ndarray) -> tuple[int, ...]:
    """Compares collections of numbers."""
    both = cp.intersect1d(a, b)
    either = cp.union1d(a, b)
    inside = cp.isin(a, b)
    sides = cp.digitize(a, cp.asarray([1.0, 3.0]))
    rolled = cp.roll(cp.flip(either), 1)
    tiled = cp.tile(rolled, (2, 1))
    return both.size, either.size, int(inside.sum()), int(sides.max()), *tiled.shape


def masks(a: cp.ndarray) -> dict[str, float]:
    """Leaves out what is missing."""
    missing = cp.isnan(a)
    filled = cp.nan_to_num(a, nan=0.0)
    rows, columns = cp.nonzero(~missing)
    spread: dict[str, float] = {
        "mean": float(cp.nanmean(a)),
        "deviation": float(cp.nanstd(a, ddof=1)),
        "share": float(missing.mean()),
        "last": float(filled[rows[-1], columns[-1]]),
    }
    if not missing.any():
        raise ValueError("nothing is missing")
    return spread


def main() -> None:
    """Runs everything."""
    rng = random.default_rng(0)
    a = rng.standard_normal((4, 6))
    print(summarize(a.ravel()), creation()["array"])
    print(indexing(a.copy()).shape, operators(a, a + 1).shape, len(reductions(a)), shapes(a), sorting(a.ravel()).size)
    print(equations(5) < 1e-8, signal(256), image(16).dtype, [len(b) for b in batches(cp.arange(10), 4)])
    print(clusters(rng.random((30, 2)), 3, 4)[0].shape, walk(10, [1, 2]), legacy().shape)
    print(bool(cp.allclose(derivative(cp.sin, a), cp.cos(a), atol=1e-6)), exchange(np.ones(3)).tolist())
    print(functions(a[0]).shape, [round(c, 6) for c in fitted(cp.arange(5.0), cp.arange(5.0) ** 2)], bool(tools()))
    print(stored(a), sets(cp.asarray([1, 2, 3]), cp.asarray([2, 3, 4])), masks(cp.asarray([[1.0, cp.nan], [3.0, 4.0]])))


if __name__ == "__main__":
    main()
