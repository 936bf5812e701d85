"""Array workloads on a CPU. Peers: NumPy, numexpr, Numba and, if installed, PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bench import formulas as f
from bench.context import Context
from bench.peers import Peer, nothing, optional
from bench.rows_gpu import erf_of
from bench.timing import assert_close, median_seconds


def direct(c: Context, name: str, make: Callable[[], Callable[[], Any]], per: int = 1) -> None:
    """Times a library that is not an array library; an error is recorded."""
    try:
        c.checked(name, median_seconds(make(), nothing) / per)
    except Exception as error:
        c.row.errors[name] = f"{type(error).__name__}: {error}"[:300]


def chain(c: Context) -> None:
    n = c.size(10_000_000)
    a, b = c.rng.random(n), c.rng.random(n)
    c.moves(3 * a.nbytes)
    expected = f.chain10(np, a, b)

    def setup(p: Peer) -> Callable[[], Any]:
        x, y = p.asarray(a), p.asarray(b)
        return lambda: f.chain10(p.module, x, y)

    for peer in ("cuprous", "numpy", "torch"):
        c.time(peer, setup, lambda got: assert_close(got, expected, 1e-12))
    if numexpr := optional("numexpr"):
        direct(c, "numexpr", lambda: lambda: numexpr.evaluate(f.CHAIN10_NUMEXPR, {"a": a, "b": b}))
    if numba := optional("numba"):

        def compiled() -> Callable[[], Any]:
            @numba.njit(parallel=True)
            def body(a: Any, b: Any) -> Any:
                return np.sqrt(np.abs((a * 2.0 + b) * (a - b) * 0.5 + a * b - 1.0))

            return lambda: body(a, b)

        direct(c, "numba", compiled)


def options(c: Context) -> None:
    n = c.size(10_000_000)
    hosts = [c.rng.uniform(lo, hi, n) for lo, hi in ((5, 30), (1, 100), (0.25, 10))]
    c.moves(5 * 8 * n)

    def check(got: np.ndarray) -> None:
        s, k, t = (h[:10_000] for h in hosts)
        assert_close(got[:10_000], f.black_scholes(np, np.vectorize(math.erf), s, k, t)[0], 1e-12)

    def setup(p: Peer) -> Callable[[], Any]:
        arrays, erf = [p.asarray(h) for h in hosts], erf_of(p)
        return lambda: f.black_scholes(p.module, erf, *arrays)

    for peer in ("cuprous", "numpy", "torch"):
        c.time(peer, setup, check, runs=5)


def logistic(c: Context) -> None:
    n = c.size(10_000_000)
    s, k, t = (c.rng.uniform(lo, hi, n) for lo, hi in ((5, 30), (1, 100), (0.25, 10)))
    c.moves(4 * 8 * n)
    expected = f.logistic_price(np, s[:1000], k[:1000], t[:1000])

    def setup(p: Peer) -> Callable[[], Any]:
        arrays = [p.asarray(h) for h in (s, k, t)]
        return lambda: f.logistic_price(p.module, *arrays)

    for peer in ("cuprous", "numpy", "torch"):
        c.time(peer, setup, lambda got: assert_close(got[:1000], expected, 1e-12), runs=5)
    if numexpr := optional("numexpr"):
        direct(c, "numexpr", lambda: lambda: numexpr.evaluate(f.LOGISTIC_NUMEXPR, {"s": s, "k": k, "t": t}))


def matmul(n: int, dtype: str) -> Callable[[Context], None]:
    def row(c: Context) -> None:
        m = n // 4 if c.quick else n
        a, b = (c.rng.standard_normal((m, m)).astype(dtype) for _ in range(2))
        c.row.floor_ms, c.row.least_bytes = c.floors.matmul_ms(2.0 * m**3, dtype), 3 * a.nbytes
        expected = a[:8].astype(np.float64) @ b.astype(np.float64)

        def setup(p: Peer) -> Callable[[], Any]:
            x, y = p.asarray(a), p.asarray(b)
            return lambda: x @ y

        for peer in ("cuprous", "numpy", "torch"):
            c.time(peer, setup, lambda got: assert_close(got[:8], expected, 1e-5 if dtype == "float32" else 1e-12))

    return row


def turned(sum_too: bool) -> Callable[[Context], None]:
    """Returns a row with a transposed operand, which is copied or added to a contiguous one."""

    def row(c: Context) -> None:
        m = 1024 if c.quick else 4096
        a, b = (c.rng.random((m, m), dtype=np.float32) for _ in range(2))
        c.moves((3 if sum_too else 2) * a.nbytes)
        expected = (a + b.T if sum_too else b.T)[:8]

        def setup(p: Peer) -> Callable[[], Any]:
            x, y = p.asarray(a), p.asarray(b)
            if sum_too:
                return lambda: x + y.T
            if p.name == "torch":
                return lambda: y.T.contiguous()
            return lambda: p.module.ascontiguousarray(y.T)

        for peer in ("cuprous", "numpy", "torch"):
            c.time(peer, setup, lambda got: assert_close(got[:8], expected, 0.0))

    return row


def transform(name: str, shape: tuple[int, ...], single: bool = False, real: bool = False) -> Callable[[Context], None]:
    """Returns a row for a transform of `numpy.fft`; SciPy's uses one thread per processor."""

    def row(c: Context) -> None:
        x = c.rng.standard_normal((max(shape[0] // 16, 2) if c.quick else shape[0], *shape[1:]))
        x = x if real or name.startswith("r") else x + 1j * c.rng.standard_normal(x.shape)
        if single:
            x = x.astype("complex64" if x.dtype.kind == "c" else "float32")
        expected = getattr(np.fft, name)(x)
        parts = expected.real.dtype
        c.moves(x.nbytes + expected.nbytes, passes=2 if name.endswith("2") else 1)

        def setup(p: Peer) -> Callable[[], Any]:
            a, function = p.asarray(x), getattr(p.module.fft, name)
            return lambda: function(a)

        for peer in ("cuprous", "numpy", "torch"):
            c.time(
                peer, setup, lambda got: assert_close(got.view(parts), expected.view(parts), 1e-6 if single else 1e-14)
            )
        if fft := optional("scipy.fft"):
            direct(c, "scipy", lambda: lambda: getattr(fft, name)(x, workers=-1))

    return row


def small_ops(c: Context) -> None:
    host, times = c.rng.random(1000), 200
    expected = f.chain20(host)

    def setup(p: Peer) -> Callable[[], Any]:
        x = p.asarray(host)
        return lambda: [f.chain20(x) for _ in range(times)]

    for peer in ("cuprous", "numpy", "torch"):
        c.time(peer, setup, lambda got: assert_close(got, expected, 1e-12), per=20 * times)


def total(c: Context) -> None:
    host = c.rng.random(c.size(100_000_000), dtype=np.float32)
    c.moves(host.nbytes)
    expected = host.sum(dtype=np.float64)

    def setup(p: Peer) -> Callable[[], Any]:
        a = p.asarray(host)
        return lambda: a.sum()

    for peer in ("cuprous", "numpy", "torch"):
        c.time(peer, setup, lambda got: assert_close(got, expected, 1e-5))


def normals(c: Context) -> None:
    n = c.size(10_000_000)

    def setup(p: Peer) -> Callable[[], Any]:
        if p.name == "torch":
            return lambda: p.module.randn(n)
        rng = p.module.random.default_rng(1)
        return lambda: rng.standard_normal(n, dtype=np.float32)

    for peer in ("cuprous", "numpy", "torch"):
        c.time(peer, setup)


def recording(c: Context) -> None:
    """Measures the milliseconds to record one operation, minus an empty native call."""
    from bench.record import above_an_empty_call

    direct_ns = above_an_empty_call(c.peers["cuprous"].module)
    c.row.ms["cuprous"] = direct_ns * 1e-6
