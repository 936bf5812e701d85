"""The rows of the table, their targets, and how they are printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench import history, startup
from bench import rows_cpu as cpu
from bench import rows_gpu as gpu
from bench import rows_layers as layers
from bench import rows_linalg as linalg
from bench import rows_routines as routines
from bench.context import Context, Measured


@dataclass(frozen=True)
class Target:
    """A target, as text and as a predicate of the row."""

    text: str
    met: Callable[[Measured], bool | None]


def ours(row: Measured) -> float | None:
    return row.ms.get("cuprous")


def at_most(ms: float, unit: str = "ms") -> Target:
    """Returns an absolute target, set for an H200; on other machines it is only a hint."""
    shown = {"ms": f"{ms:g} ms", "µs": f"{ms * 1e3:g} µs", "ns": f"{ms * 1e6:g} ns"}[unit]
    return Target(f"≤ {shown}", lambda row: None if ours(row) is None else (ours(row) or 0) <= ms)


def best_peer(share: float = 1.0) -> Target:
    """Returns the target of at least this share of the best peer's speed, with 2 % tolerance for noise."""

    def met(row: Measured) -> bool | None:
        best, mine = row.best_peer, ours(row)
        return None if best is None or mine is None else mine * share <= best[1] * 1.02

    return Target("≤ best peer" if share == 1.0 else f"≥ {share:g} x best peer", met)


def versus(**speedups: float) -> Target:
    """Returns the target of a minimum speedup over each named peer, with 2 % tolerance for noise."""

    def met(row: Measured) -> bool | None:
        mine = ours(row)
        known = [(row.ms[p], k) for p, k in speedups.items() if p in row.ms]
        return None if mine is None or not known else all(ms * 1.02 >= k * mine for ms, k in known)

    return Target(", ".join(f"≥ {k:g} x {p}" for p, k in speedups.items()), met)


def of_floor(share: float) -> Target:
    """Returns the target of at least this share of the hardware's rate."""

    def met(row: Measured) -> bool | None:
        mine = ours(row)
        return None if mine is None or row.floor_ms is None else row.floor_ms >= share * mine

    return Target(f"≥ {share:.0%} of the floor", met)


@dataclass(frozen=True)
class Spec:
    name: str
    title: str
    run: Callable[[Context], None]
    target: Target | None = None


#: A batch of small matrices.
MANY = (10_000, 32, 32)


def decompositions(
    row: Callable[..., Callable[[Context], None]], *shapes: tuple[int, ...], dtypes: Sequence[str], target: Target
) -> list[Spec]:
    """Returns a row for each routine, shape and dtype, such as `svd1000d` and, for the batch, `svdsd`."""
    return [
        Spec(
            f"{name}{'s' if shape == MANY else shape[0]}{'d' if dtype == 'float64' else 's'}",
            f"linalg.{name} {'of 10,000 x 32²' if shape == MANY else shape[0]}, {dtype}",
            row(name, *shape, dtype=dtype),
            target,
        )
        for shape in shapes
        for dtype in dtypes
        for name in ("solve", "inv", "cholesky", "qr", "svd", "eigh", "eig")
    ]


GPU = [
    Spec("small", "20 chained ops on 1,000 elements, per op", gpu.small_ops, at_most(0.001, "µs")),
    Spec("chain", "20 chained ops on 1e8 float32", gpu.long_chain, of_floor(0.9)),
    Spec("bs32", "Black-Scholes 1e7, float32", gpu.black_scholes("float32"), at_most(0.070)),
    Spec("bs64", "Black-Scholes 1e7, float64", gpu.black_scholes("float64"), at_most(0.190)),
    Spec("mc", "Monte Carlo, 1e6 paths of 252 steps, array code", gpu.monte_carlo, at_most(0.9)),
    Spec("sum", "sum of 1e8 float32", gpu.total, at_most(0.100)),
    Spec("var", "var over axis 0 of 10,000²", gpu.variance, at_most(0.130)),
    Spec("softmax", "softmax of 10,000² rows", gpu.softmax, at_most(0.205)),
    Spec("cumsum", "cumsum of 1e8", gpu.cumsum, at_most(0.220)),
    Spec("normal", "1e8 normally distributed random numbers", gpu.normals, at_most(0.200)),
    Spec("sort", "sort of 1e8 float32", gpu.sort, at_most(2.7)),
    *(Spec(name, title, run, best_peer()) for name, (title, run) in routines.ROWS.items()),
    Spec("conv", "15 x 15 convolution of 4096²", gpu.convolve, at_most(0.5)),
    Spec("blur", "Gaussian blur (sigma 3) of 4096²", gpu.blur, at_most(0.10)),
    Spec("mm16", "matmul 8192³ bfloat16", gpu.matmul(8192, "bfloat16"), best_peer()),
    Spec("mm64", "matmul 2000³ float64", gpu.matmul(2000, "float64"), best_peer()),
    Spec("mm32", "matmul 4096³ float32", gpu.matmul(4096, "float32"), best_peer()),
    Spec("fft24", "fft of 2^24 complex64", gpu.transform("fft", (1 << 24,)), best_peer()),
    Spec("fft24d", "fft of 2^24 complex128", gpu.transform("fft", (1 << 24,), "complex128"), best_peer()),
    Spec("rfft24", "rfft of 2^24 float32", gpu.transform("rfft", (1 << 24,), "float32"), best_peer()),
    Spec("irfft24", "irfft of 2^23 + 1 complex64", gpu.transform("irfft", ((1 << 23) + 1,)), best_peer()),
    Spec("fftrows", "fft of the rows of 4096², complex64", gpu.transform("fft", (4096, 4096)), best_peer()),
    Spec("fftcols", "fft of the columns of 4096², complex64", gpu.transform("fft", (4096, 4096), axis=0), best_peer()),
    Spec("fft2", "fft2 of 4096² complex64", gpu.transform("fft2", (4096, 4096)), best_peer()),
    Spec("fftn", "fftn of 256³ complex64", gpu.transform("fftn", (256, 256, 256)), best_peer()),
    Spec("fft1", "fft of 1,000 complex64", gpu.transform("fft", (1000,)), best_peer()),
    Spec("add", "add 1e6 int64, per op of 1,000", gpu.add, at_most(0.0065, "µs")),
    Spec("upload", "upload of 256 MiB from pageable memory", gpu.upload, at_most(8.5)),
    Spec("download", "download of 256 MiB to pageable memory", gpu.download, at_most(10)),
    *decompositions(linalg.on_a_gpu, (1024, 1024), (4096, 4096), dtypes=("float32", "float64"), target=best_peer()),
    *decompositions(linalg.on_a_gpu, MANY, dtypes=("float32",), target=best_peer()),
    Spec("import", "import of the package", startup.imports, at_most(100)),
    Spec("start", "process start to first result", startup.first_result, at_most(430)),
]

CPU = [
    Spec("chain", "10-op chain on 1e7 float64", cpu.chain, versus(numpy=5, numexpr=1)),
    Spec("bs64", "Black-Scholes 1e7, float64", cpu.options, versus(numpy=5)),
    Spec(
        "logistic", "Black-Scholes 1e7 with a logistic distribution, float64", cpu.logistic, versus(numpy=5, numexpr=1)
    ),
    Spec("mm64s", "matmul 64³ float32", cpu.matmul(64, "float32"), versus(numpy=0.9)),
    Spec("mm256s", "matmul 256³ float32", cpu.matmul(256, "float32"), versus(numpy=0.9)),
    Spec("mm512s", "matmul 512³ float32", cpu.matmul(512, "float32"), versus(numpy=0.9)),
    Spec("mm1024d", "matmul 1024³ float64", cpu.matmul(1024, "float64"), versus(numpy=0.9)),
    Spec("mm2000d", "matmul 2000³ float64", cpu.matmul(2000, "float64"), versus(numpy=0.9)),
    Spec("mm1024s", "matmul 1024³ float32", cpu.matmul(1024, "float32"), versus(numpy=0.9)),
    Spec("mm2000s", "matmul 2000³ float32", cpu.matmul(2000, "float32"), versus(numpy=0.9)),
    *decompositions(
        linalg.decomposition, (200, 200), (1000, 1000), MANY, dtypes=("float64",), target=versus(numpy=0.8)
    ),
    Spec(
        "eigvalsh1000d",
        "linalg.eigvalsh 1000, float64",
        linalg.decomposition("eigvalsh", 1000, 1000),
        versus(numpy=0.8),
    ),
    Spec("turn", "copy of a transposed 4096² float32", cpu.turned(False), versus(numpy=1)),
    Spec("turned", "a + b.T of 4096² float32", cpu.turned(True), versus(numpy=1)),
    Spec("small", "20 chained ops on 1,000 elements, per op", cpu.small_ops, versus(numpy=1)),
    Spec("sum", "sum of 1e8 float32", cpu.total, versus(numpy=1)),
    Spec("normal", "1e7 normally distributed random numbers", cpu.normals, versus(numpy=1)),
    Spec("fft20", "fft of 2^20 complex128", cpu.transform("fft", (1 << 20,)), versus(numpy=0.8, scipy=0.8)),
    Spec("fft24", "fft of 2^24 complex128", cpu.transform("fft", (1 << 24,)), versus(numpy=0.8, scipy=0.8)),
    Spec(
        "fftmany", "fft of 10,000 x 256 complex128", cpu.transform("fft", (10_000, 256)), versus(numpy=0.8, scipy=0.8)
    ),
    Spec("rfft20", "rfft of 2^20 float64", cpu.transform("rfft", (1 << 20,)), versus(numpy=0.8, scipy=0.8)),
    Spec("fftreal", "fft of 2^20 float64", cpu.transform("fft", (1 << 20,), real=True), versus(numpy=0.8, scipy=0.8)),
    Spec("fft2", "fft2 of 1000² complex128", cpu.transform("fft2", (1000, 1000)), versus(numpy=0.8, scipy=0.8)),
    Spec("fft2s", "fft2 of 2048² complex64", cpu.transform("fft2", (2048, 2048), True), versus(numpy=0.8, scipy=0.8)),
    Spec("rfft2s", "rfft2 of 1000² float32", cpu.transform("rfft2", (1000, 1000), True), versus(numpy=0.8, scipy=0.8)),
    *(Spec(name, title, run, versus(**{peer: 0.9})) for name, (title, run, peer) in layers.ROWS.items()),
    Spec("record", "recording one operation, minus an empty native call", cpu.recording, at_most(0.00025, "ns")),
    Spec("import", "import of the package", startup.imports, at_most(100)),
    Spec("start", "process start to first result", startup.first_result),
]


def shown(ms: float | None) -> str:
    """Formats milliseconds with three digits, small ones in µs or ns."""
    if ms is None:
        return "-"
    if ms < 0.001:
        return f"{ms * 1e6:.3g} ns"
    if ms < 0.1:
        return f"{ms * 1e3:.3g} µs"
    return f"{ms:.3g} ms" if ms < 1000 else f"{ms:.0f} ms"


def entry(run: history.Run, row: Measured, target: Target | None = None, note: str = "") -> history.Entry:
    """Returns the row as data."""
    met = target.met(row) if target else None
    return run.entry(row.name, row.title, row.ms, floor_ms=row.floor_ms, target=target.text if target else "", met=met,
                     note=note, errors=row.errors)  # fmt: skip


def verdict(spec: Spec, row: Measured) -> str:
    if "cuprous" in row.errors:
        return "FAILED"
    met = spec.target.met(row) if spec.target else None
    return "" if met is None else "MET" if met else "MISSED"


def markdown(specs: Sequence[Spec], rows: dict[str, Measured]) -> str:
    lines = [
        "| work | Cuprous | best peer | ratio | floor | of floor | target | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for spec in specs:
        row = rows.get(spec.name)
        if row is None:
            continue
        mine, best = ours(row), row.best_peer
        ratio = f"{best[1] / mine:.2f} x" if best and mine else "-"
        share = f"{100 * row.floor_ms / mine:.0f} %" if row.floor_ms and mine else "-"
        peer = f"{best[0]} {shown(best[1])}" if best else "-"
        target = spec.target.text if spec.target else ""
        lines.append(
            f"| {spec.title} | {shown(mine)} | {peer} | {ratio} | {shown(row.floor_ms)} | {share} | {target} "
            f"| {verdict(spec, row)} |"
        )
    return "\n".join(lines)
