"""Array workloads on a GPU. Peers: CuPy, PyTorch, JAX and, for results on the host, NumPy."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from bench import formulas as f
from bench.context import Context
from bench.peers import Peer
from bench.timing import assert_close


def erf_of(peer: Peer) -> Callable[[Any], Any]:
    """Returns the library's error function."""
    homes = {"cuprous": "cuprous.scipy.special", "cupy": "cupyx.scipy.special", "jax": "jax.scipy.special"}
    module = peer.module if peer.name == "torch" else importlib.import_module(homes.get(peer.name, "scipy.special"))
    erf: Callable[[Any], Any] = module.erf
    return erf


def small_ops(c: Context) -> None:
    host = c.rng.random(1000)
    times = 200

    def loop(p: Peer) -> Callable[[], Any]:
        x = p.asarray(host)
        body = p.jit(f.chain20) if p.name == "jax" and p.jit else f.chain20
        return lambda: [body(x) for _ in range(times)]

    expected = f.chain20(host)
    for peer in ("cuprous", "cupy", "torch", "jax", "numpy"):
        c.time(peer, loop, lambda got: assert_close(got, expected, 1e-12), per=20 * times)


def long_chain(c: Context) -> None:
    """Times the chain of `small_ops` on large arrays, where bandwidth is the bound: one pass over memory."""
    host = c.rng.random(c.size(100_000_000), dtype=np.float32)
    c.moves(2 * host.nbytes)
    expected = f.chain20(host[:10_000])

    def setup(p: Peer) -> Callable[[], Any]:
        x = p.asarray(host)
        body = p.jit(f.chain20) if p.jit else f.chain20
        return lambda: body(x)

    for peer in ("cuprous", "cupy", "torch", "jax"):
        c.time(peer, setup, lambda got: assert_close(got[:10_000], expected, 1e-5))


def black_scholes(dtype: str) -> Callable[[Context], None]:
    def row(c: Context) -> None:
        n = c.size(10_000_000)
        hosts = [c.rng.uniform(lo, hi, n).astype(dtype) for lo, hi in ((5, 30), (1, 100), (0.25, 10))]
        c.moves(5 * n * np.dtype(dtype).itemsize)
        some = [h[:10_000].astype(np.float64) for h in hosts]

        def check(got: np.ndarray) -> None:
            from math import erf

            expected = f.black_scholes(np, np.vectorize(erf), some[0], some[1], some[2])[0]
            assert_close(got[:10_000], expected, 1e-5 if dtype == "float32" else 1e-12)

        def plain(p: Peer) -> Callable[[], Any]:
            arrays, erf = [p.asarray(h) for h in hosts], erf_of(p)
            return lambda: f.black_scholes(p.module, erf, *arrays)

        def compiled(p: Peer) -> Callable[[], Any]:
            arrays, erf = [p.asarray(h) for h in hosts], erf_of(p)
            assert p.jit is not None

            def price(s, k, t):  # type: ignore[no-untyped-def]
                return f.black_scholes(p.module, erf, s, k, t)

            fused = p.jit(price)
            return lambda: fused(*arrays)

        c.time("cuprous", plain, check)
        c.time("cupy", plain)
        c.time("cupy", compiled, label="cupy.fuse")
        c.time("torch", plain)
        c.time("jax", compiled, label="jax.jit")

    return row


def monte_carlo(c: Context) -> None:
    paths, steps = c.size(1_000_000), 252

    def check(got: np.ndarray) -> None:
        sigmas = abs(float(got) - f.call_payoff_mean()) / (15.5 / paths**0.5)
        if not sigmas < 6:
            raise ArithmeticError(f"the mean {float(got):.4f} is {sigmas:.1f} standard errors off")

    def array_code(p: Peer) -> Callable[[], Any]:
        xp = p.module
        rng = xp.random.default_rng(0)
        return lambda: f.monte_carlo(
            lambda: xp.full(paths, f.S0, dtype=xp.float32),
            lambda: rng.standard_normal(paths, dtype=xp.float32),
            xp.exp,
            lambda s: xp.maximum(s - f.STRIKE, 0).mean(),
            steps,
        )

    def torch_code(p: Peer) -> Callable[[], Any]:
        t = p.module
        return lambda: f.monte_carlo(
            lambda: t.full((paths,), f.S0, device="cuda"),
            lambda: t.randn(paths, device="cuda"),
            t.exp,
            lambda s: t.clamp(s - f.STRIKE, min=0).mean(),
            steps,
        )

    def jax_code(p: Peer) -> Callable[[], Any]:
        import jax

        jnp, dt = p.module, 1.0 / steps
        drift, spread = (f.RATE - 0.5 * f.VOL**2) * dt, f.VOL * dt**0.5

        @jax.jit
        def run(key: Any) -> Any:
            def step(_: Any, carry: Any) -> Any:
                s, key = carry
                key, sub = jax.random.split(key)
                return s * jnp.exp(drift + spread * jax.random.normal(sub, (paths,), jnp.float32)), key

            start = (jnp.full((paths,), f.S0, jnp.float32), key)
            return jnp.maximum(jax.lax.fori_loop(0, steps, step, start)[0] - f.STRIKE, 0).mean()

        key = jax.random.key(0)
        return lambda: run(key)

    c.time("cuprous", array_code, check, runs=5)
    c.time("cupy", array_code, runs=5)
    c.time("torch", torch_code, runs=5)
    c.time("jax", jax_code, label="jax.jit", runs=5)


def matrix(c: Context) -> np.ndarray:
    n = 1000 if c.quick else 10_000
    return c.rng.random((n, n), dtype=np.float32)


def total(c: Context) -> None:
    host = matrix(c).reshape(-1)
    c.moves(host.nbytes)
    expected = host.sum(dtype=np.float64)

    def setup(p: Peer) -> Callable[[], Any]:
        a = p.asarray(host)
        body = p.jit(p.module.sum) if p.name == "jax" and p.jit else lambda x: x.sum()
        return lambda: body(a)

    for peer in ("cuprous", "cupy", "torch", "jax"):
        c.time(peer, setup, lambda got: assert_close(got, expected, 1e-5))


def variance(c: Context) -> None:
    host = matrix(c)
    c.moves(host.nbytes)
    expected = host[:, :50].var(axis=0, dtype=np.float64)

    def setup(p: Peer) -> Callable[[], Any]:
        a = p.asarray(host)
        if p.name == "torch":
            return lambda: a.var(dim=0, correction=0)
        body = p.jit(lambda x: x.var(axis=0)) if p.name == "jax" and p.jit else lambda x: x.var(axis=0)
        return lambda: body(a)

    for peer in ("cuprous", "cupy", "torch", "jax"):
        c.time(peer, setup, lambda got: assert_close(got[:50], expected, 1e-4))


def softmax(c: Context) -> None:
    host = matrix(c)
    c.moves(2 * host.nbytes)
    some = np.exp(host[:20].astype(np.float64))
    expected = some / some.sum(axis=1, keepdims=True)

    def setup(p: Peer) -> Callable[[], Any]:
        a, xp = p.asarray(host), p.module
        if p.name == "torch":
            return lambda: xp.softmax(a, 1)
        if p.name == "jax":
            import jax

            body = jax.jit(lambda x: jax.nn.softmax(x, axis=1))
            return lambda: body(a)

        def rows() -> Any:
            e = xp.exp(a - a.max(axis=1, keepdims=True))
            return e / e.sum(axis=1, keepdims=True)

        return rows

    for peer in ("cuprous", "cupy", "torch", "jax"):
        c.time(peer, setup, lambda got: assert_close(got[:20], expected, 1e-5))


def cumsum(c: Context) -> None:
    host = matrix(c).reshape(-1)
    c.moves(2 * host.nbytes)
    last = host.sum(dtype=np.float64)

    def setup(p: Peer) -> Callable[[], Any]:
        a = p.asarray(host)
        body = p.jit(p.module.cumsum) if p.name == "jax" and p.jit else lambda x: x.cumsum(0)
        return lambda: body(a)

    for peer in ("cuprous", "cupy", "torch", "jax"):
        c.time(peer, setup, lambda got: assert_close(got[-1:], [last], 1e-3))


def normals(c: Context) -> None:
    n = c.size(100_000_000)
    c.moves(4 * n)

    def check(got: np.ndarray) -> None:
        mean, deviation = float(got.mean(dtype=np.float64)), float(got.std(dtype=np.float64))
        if abs(mean) > 6 / n**0.5 or abs(deviation - 1) > 6 / n**0.5:
            raise ArithmeticError(f"mean {mean:.2e}, deviation {deviation:.6f}")

    def setup(p: Peer) -> Callable[[], Any]:
        if p.name == "torch":
            return lambda: p.module.randn(n, device="cuda")
        rng = p.module.random.default_rng(1)
        return lambda: rng.standard_normal(n, dtype=np.float32)

    for peer in ("cuprous", "cupy", "torch"):
        c.time(peer, setup, check)


def sort(c: Context) -> None:
    host = c.rng.random(c.size(100_000_000), dtype=np.float32)

    def check(got: np.ndarray) -> None:
        if not (np.diff(got) >= 0).all():
            raise ArithmeticError("the result is not sorted")
        assert_close(got.sum(dtype=np.float64), host.sum(dtype=np.float64), 1e-9)

    def setup(p: Peer) -> Callable[[], Any]:
        a = p.asarray(host)
        return lambda: p.module.sort(a)

    for peer in ("cuprous", "cupy", "torch"):
        c.time(peer, setup, check, runs=5)


def image(c: Context) -> np.ndarray:
    n = 512 if c.quick else 4096
    return c.rng.random((n, n), dtype=np.float32)


def ndimage(p: Peer) -> Any:
    return importlib.import_module(("cuprous" if p.name == "cuprous" else "cupyx") + ".scipy.ndimage")


def convolve(c: Context) -> None:
    host, weights = image(c), c.rng.random((15, 15), dtype=np.float32)
    c.moves(2 * host.nbytes)
    part = host[:64, :64].astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(part, (15, 15))
    expected = np.einsum("ijkl,kl->ij", windows, weights[::-1, ::-1].astype(np.float64))

    def setup(p: Peer) -> Callable[[], Any]:
        a, w = p.asarray(host), p.asarray(weights)
        if p.name == "torch":
            return lambda: p.module.nn.functional.conv2d(a[None, None], w[None, None], padding=7)
        return lambda: ndimage(p).convolve(a, w)

    for peer in ("cuprous", "cupy", "torch"):
        c.time(peer, setup, lambda got: assert_close(got[7:57, 7:57], expected, 1e-5), runs=5)


def blur(c: Context) -> None:
    host = image(c)
    c.moves(2 * host.nbytes)

    def check(got: np.ndarray) -> None:
        from scipy.ndimage import gaussian_filter

        assert_close(got[:200, :200], gaussian_filter(host[:256, :256].astype(np.float64), 3)[:200, :200], 1e-5)

    def setup(p: Peer) -> Callable[[], Any]:
        a = p.asarray(host)
        return lambda: ndimage(p).gaussian_filter(a, 3)

    for peer in ("cuprous", "cupy"):
        c.time(peer, setup, check)


def matmul(n: int, dtype: str) -> Callable[[Context], None]:
    def row(c: Context) -> None:
        m = n // 8 if c.quick else n
        hosts = [c.rng.standard_normal((m, m), dtype=np.float32) for _ in range(2)]
        size = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
        c.row.floor_ms, c.row.least_bytes = c.floors.matmul_ms(2.0 * m**3, dtype), 3 * m * m * size
        repeat = 10

        def cast(p: Peer) -> list[Any]:
            arrays = [p.asarray(h) for h in hosts]
            if p.name == "torch":
                return [a.to(getattr(p.module, dtype)) for a in arrays]
            return [a.astype(getattr(p.module, dtype)) for a in arrays]

        def check(got: np.ndarray) -> None:
            import ml_dtypes

            kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
            rows, right = (h.astype(kind).astype(np.float64) for h in (hosts[0][:4], hosts[1]))
            assert_close(got[:4], rows @ right, {"bfloat16": 4e-3, "float32": 1e-5}.get(dtype, 1e-12))

        def setup(p: Peer) -> Callable[[], Any]:
            a, b = cast(p)
            body = p.jit(p.module.matmul) if p.name == "jax" and p.jit else p.module.matmul
            return lambda: [body(a, b) for _ in range(repeat)]

        for peer in ("cuprous", "torch", "jax", *(("cupy",) if dtype != "bfloat16" else ())):
            c.time(peer, setup, check, per=repeat)

    return row


def transform(name: str, shape: tuple[int, ...], dtype: str = "complex64", axis: int = -1) -> Callable[[Context], None]:
    """Returns a row for a transform of `numpy.fft`, along one axis unless its name implies more."""

    def row(c: Context) -> None:
        x = c.rng.standard_normal((max(shape[0] // 16, 2) if c.quick else shape[0], *shape[1:]), dtype=np.float32)
        host = (x + 1j * x[..., ::-1] if dtype.startswith("complex") else x).astype(dtype)
        along = {} if name.endswith(("2", "n")) else {"axis": axis}
        expected = getattr(np.fft, name)(host, **along)
        c.moves(host.nbytes + expected.nbytes)
        repeat = 100 if host.size <= 1000 else 1
        parts = expected.real.dtype

        def setup(p: Peer) -> Callable[[], Any]:
            a, function = p.asarray(host), getattr(p.module.fft, name)
            words = {"dim" if p.name == "torch" else word: value for word, value in along.items()}
            return lambda: [function(a, **words) for _ in range(repeat)]

        def check(got: np.ndarray) -> None:
            assert_close(got.view(parts), expected.view(parts), 1e-6 if parts == np.float32 else 1e-14)

        for peer in ("cuprous", "cupy", "torch"):
            c.time(peer, setup, check, per=repeat)

    return row


def add(c: Context) -> None:
    host, times = np.arange(1_000_000), 1000
    c.moves(host.nbytes)  # the operands stay in the cache, which all additions read; the results are kept

    def setup(p: Peer) -> Callable[[], Any]:
        a, b = p.asarray(host), p.asarray(host)
        return lambda: [a + b for _ in range(times)]

    for peer in ("cuprous", "cupy", "torch"):
        c.time(peer, setup, lambda got: assert_close(got, 2.0 * host, 0.0), per=times)


def upload(c: Context) -> None:
    host = c.rng.integers(0, 255, c.size(1 << 28), dtype=np.uint8)
    c.row.floor_ms = c.floors.upload_ms(host.nbytes)
    for peer in ("cuprous", "cupy", "torch"):
        c.time(peer, lambda p: lambda: p.asarray(host), lambda got: assert_close(got[:1000], host[:1000], 0.0))


def download(c: Context) -> None:
    host = c.rng.integers(0, 255, c.size(1 << 28), dtype=np.uint8)
    c.row.floor_ms = c.floors.upload_ms(host.nbytes)

    def setup(p: Peer) -> Callable[[], Any]:
        a = p.asarray(host)
        return lambda: p.asnumpy(a)

    for peer in ("cuprous", "cupy", "torch"):
        c.time(peer, setup)
