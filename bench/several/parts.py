"""The parts of `python -m bench.several_gpus`: checks, failures on purpose, and times."""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from bench.several import faults
from bench.several.launch import LostError, Ranks
from bench.several.run import Row, Run

MIB = 1 << 20


def _lost(error: LostError) -> None:
    print(f"LOST   {error}", flush=True)


# --- checks -----------------------------------------------------------------------------------------------------------


def copies(run: Run) -> None:
    """Copies between the GPUs of one process: exact, then their rates."""
    if run.setting.device == "cpu" or run.gpus < 2:
        return print("copies: these need two GPUs", flush=True)
    with ExitStack() as stack:
        ranks = run.both(stack, 1)

        def exact() -> str:
            found = ranks["cuprous"].call(
                "copy.exact", run.left, gpus=run.gpus, rounds=4 if run.quick or run.gpus > 2 else 20
            )[0]
            return f"peer access: {found['peer access']}"

        run.check("copies", "copies between all pairs of GPUs, and their gradient", exact)
        nbytes, count = (MIB, 2) if run.quick else (256 * MIB, 8)
        ways = [("cuprous", how) for how in ("direct", "into", "host")]
        ways += [(library, how) for library in run.libraries[1:] for how in ("direct", "into")]
        rates = _in_turn(ranks, ways, 3, lambda r, how: r.call("copy.rate", 60, nbytes=nbytes, count=count, how=how),
                         lambda found: found[0]["gb_s"])  # fmt: skip
    ours, host = rates.get(("cuprous", "direct")), rates.get(("cuprous", "host"))
    theirs = max((rate for way, rate in rates.items() if way[0] == "torch"), default=None)
    if ours:
        met = host is not None and ours >= 20 * host and (theirs is None or ours >= 0.9 * theirs)
        shown = ", ".join(f"{library} {how} {rate:.0f} GB/s" for (library, how), rate in rates.items())
        ms = {"cuprous" if how == "direct" else f"cuprous.{how}": nbytes / rates["cuprous", how] / 1e6
              for library, how in rates if library == "cuprous"}  # fmt: skip
        ms |= {"torch": nbytes / theirs / 1e6} if theirs else {}
        run.add(Row(f"several.copy.x{run.gpus}", f"x.to('cuda:1') of {nbytes // MIB} MiB", ms, shown,
                    "≥ 0.9 of the link, ≥ 20 x through the host", met))  # fmt: skip


def checks(run: Run) -> None:
    """DistributedDataParallel, `fully_shard`, tensor parallelism and random collectives against one GPU."""
    steps, bound = (3 if run.quick else 20), 1e-3
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("ddp", "DDP: losses of one GPU", {"steps": steps, "bound": bound}),
        ("fsdp", "fully_shard: losses and parameters of one GPU", {"steps": steps, "bound": bound}),
        ("tensor_parallel", "parallelize_module: outputs and gradients of one GPU", {"steps": 3, "bound": bound}),
        ("same_bits", "parameters equal bit for bit, rank 0 logs, reads, saves", {"steps": 20 if run.quick else 1000}),
        ("collectives", "random collectives have NumPy's results", {"sequences": 2 if run.quick else 20}),
    ]  # fmt: skip
    with run.ranks("cuprous") as ranks:
        for name, title, arguments in calls:
            if name == "collectives" and run.gpus > 4:
                continue  # products in bfloat16 are rounded in another order there
            if run.left < 5:
                return print(f"{name}: no time left", flush=True)

            def call(name: str = name, arguments: dict[str, Any] = arguments) -> str:
                found = ranks.call(f"check.{name}", min(run.left, 90.0), **arguments)[0]
                return ", ".join(f"{k} {v:.3g}" for k, v in found.items())

            run.check(name, title, call)


def failures(run: Run) -> None:
    """One rank fails in each way; all others must know within the bound, and end."""
    for name in faults.FAULTS:
        if run.left < 25:
            return print(f"fault {name}: no time left", flush=True)

        def call(name: str = name) -> str:
            found = faults.cause(name, run.gpus, run.setting)
            assert not found.problems, "\n  ".join(found.problems)
            return f"error on all other ranks after {found.error:.2f} s, all ended after {found.end:.2f} s"

        run.check(f"fault {name}", f"a rank that fails: {name} (error within {faults.FAULTS[name].bound:g} s)", call)
    return None


# --- times ------------------------------------------------------------------------------------------------------------


Way = tuple[str, str]


def _in_turn(ranks: dict[str, Ranks], ways: list[Way], rounds: int, call: Callable[[Ranks, str], list[Any]],
             value: Callable[[list[Any]], float]) -> dict[Way, float]:  # fmt: skip
    """Returns the median of each library and way, which work in turn. What fails is removed from `ways`."""
    found: dict[Way, list[float]] = {}
    for _ in range(rounds):
        for way in list(ways):
            try:
                found.setdefault(way, []).append(value(call(ranks[way[0]], way[1])))
            except LostError as error:
                _lost(error)
                ways.remove(way)
    return {way: statistics.median(values) for way, values in found.items() if way in ways}


def _slowest(key: str) -> Callable[[list[Any]], float]:
    return lambda found: float(max(each[key] for each in found))


def collectives(run: Run) -> None:
    """All-reduce: bus bandwidth, and what a call costs the host."""
    sizes = [4096, 65536] if run.quick else [4096, 65536, MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB]
    n = run.gpus
    names = {
        ("cuprous", "all_reduce"): "cuprous",
        ("torch", "all_reduce"): "torch",
        ("torch", "nccl_all_reduce"): "nccl",
    }
    ways = [way for way in names if way[0] in run.libraries and (way[1][:4] != "nccl" or run.setting.device == "cuda")]
    with ExitStack() as stack:
        ranks = run.both(stack)
        for nbytes in sizes:
            if run.left < 10:
                return print("all-reduce: no time left", flush=True)
            count = 5 if run.quick else max(10, min(100, (4 << 30) // nbytes))
            host: dict[Way, float] = {}

            def call(r: Ranks, function: str, nbytes: int = nbytes, count: int = count,
                     host: dict[Way, float] = host) -> list[Any]:  # fmt: skip
                found = r.call(f"speed.{function}", 60, nbytes=nbytes, count=count)
                host[r.library, function] = max(each["host_us"] for each in found)
                return found

            us = _in_turn(ranks, ways, 3 if run.quick else 5, call, _slowest("us"))
            ms = {names[way]: t / 1e3 for way, t in us.items()}
            bus = {name: nbytes / t / 1e6 * 2 * (n - 1) / n for name, t in ms.items()}
            shown = ", ".join(f"{names[way]} {t:.1f} µs ({bus[names[way]]:.1f} GB/s, host {host[way]:.1f} µs)"
                              for way, t in us.items())  # fmt: skip
            target, met = "", None
            if nbytes >= 64 * MIB:
                target = "≥ 0.97 of NCCL's own rate"
                reference = bus.get("nccl", bus.get("torch"))
                met = bus["cuprous"] >= 0.97 * reference if "cuprous" in bus and reference else None
            elif nbytes == 4096:
                target = "host ≤ 1/2 of PyTorch's"
                own, other = (host.get((library, "all_reduce")) for library in ("cuprous", "torch"))
                met = 2 * own <= other if own and other else None
            run.add(Row(f"several.allreduce{nbytes}.x{n}", f"all-reduce of {nbytes / 1024:g} KiB, {n} GPUs", ms, shown,
                        target, met))  # fmt: skip
    return None


@dataclass
class Contest:
    """Trainings of one network by both libraries, which work in turn."""

    run: Run
    ranks: dict[str, Ranks]
    name: str  # of `speed.TRAININGS`
    bound: float  # of the relative difference of losses
    losses: dict[Way, list[float]] = field(default_factory=dict)
    peaks: dict[Way, float] = field(default_factory=dict)

    def begin(self, ways: list[Way], steps: int = 5) -> None:
        """Prepares trainings. The losses of the first steps are compared."""
        for library, how in ways:
            if library not in self.ranks or self.run.left < 15:
                continue
            try:
                begun = self.ranks[library].call("speed.begin", min(self.run.left, 150.0), name=self.name, how=how,
                                                 steps=steps)  # fmt: skip
            except LostError as error:
                _lost(error)
                self.losses = {way: found for way, found in self.losses.items() if way[0] != library}
                continue
            losses = [statistics.fmean(each["losses"][k] for each in begun) for k in range(steps)]
            self.losses[library, how] = losses
            print(f"       {self.name} {library} {how}: the first {steps} steps took "
                  f"{max(each['warm_s'] for each in begun):.1f} s, losses {', '.join(f'{x:.5g}' for x in losses)}",
                  flush=True)  # fmt: skip
            ours = self.losses.get(("cuprous", how.partition(" ")[0]))
            if library == "torch" and ours:
                off = max(abs(a - b) / abs(b) for a, b in zip(ours, losses, strict=True))
                self.run.add(Row(f"losses {self.name} {how}", f"losses of {self.name}, {how}, are PyTorch's",
                                 shown=f"differ by {off:.1e}", met=off <= self.bound, is_check=True))  # fmt: skip

    def go(self, count: int, ways: list[Way] | None = None) -> dict[Way, float]:
        """Returns milliseconds for a step: of the slowest rank, the median of five rounds."""

        def call(r: Ranks, how: str) -> list[Any]:
            limit = min(max(self.run.left, 5), 60.0)
            found = r.call("speed.go", limit, name=self.name, how=how, count=count)
            self.peaks[r.library, how] = max(each["peak_mib"] for each in found)
            return found

        return _in_turn(self.ranks, [way for way in ways or self.losses if way in self.losses], 5, call, _slowest("ms"))


def _ratio(ms: dict[Way, float], one: Way, other: Way) -> float | None:
    return ms[one] / ms[other] if ms.get(one) and ms.get(other) else None


def _times(ms: dict[Way, float]) -> str:
    return ", ".join(f"{library} {how} {t:.3f} ms" for (library, how), t in ms.items())


def linear(run: Run) -> None:
    """A step of Linear(10, 2) with Adam: what DistributedDataParallel costs the host."""
    ways = [(library, how) for how in ("alone", "ddp") for library in ("cuprous", "torch")]
    with ExitStack() as stack:
        ranks = run.both(stack)
        contest = Contest(run, ranks, "linear", 1e-4)
        contest.begin(ways)
        ms = contest.go(20 if run.quick else 1000)
    ours, theirs = (ms.get((library, "ddp")) for library in ("cuprous", "torch"))
    if ours:
        named = {"cuprous": ours} | ({"torch": theirs} if theirs else {})
        title = f"a step of DDP(Linear(10, 2)), Adam, {run.gpus} GPUs"
        run.add(Row(f"several.linear.x{run.gpus}", title, named, _times(ms), "≤ 60 µs", ours <= 0.060))


def gpt2(run: Run) -> None:
    """GPT-2 124M in bfloat16, a batch of 12 for each GPU: alone, and together by DistributedDataParallel."""
    n = run.gpus
    title = f"GPT-2 124M, batch 12 a GPU, length 1024, bfloat16, DDP, {n} GPUs"
    alone, together = ("cuprous", "alone"), ("cuprous", "ddp")
    eager, compiled = ("torch", "ddp"), ("torch", "ddp compiled")
    with ExitStack() as stack:
        contest = Contest(run, run.both(stack), "gpt2 quick" if run.quick else "gpt2", 2e-2)
        contest.begin([alone, together, ("torch", "alone"), eager])
        ms = contest.go(2 if run.quick else 15)
        _beside(run, f"several.gpt2.x{n}", title, ms, eager, 0.75)
        share, theirs = _ratio(ms, alone, together), _ratio(ms, ("torch", "alone"), eager)
        if share:
            least = {2: 0.97, 4: 0.96}.get(n, 0.95)
            run.add(Row("several.gpt2.scaling", "  of one GPU's rate on each (the slowest GPU alone)", {},
                        f"{share:.1%}" + (f", PyTorch {theirs:.1%}" if theirs else ""), f"≥ {least:.0%}",
                        share >= least))  # fmt: skip
        if not run.quick:
            contest.begin([compiled])
            ms = contest.go(15, [together, compiled])
            _beside(run, f"several.gpt2.compiled.x{n}", title + ", beside the compiler", ms, compiled, 0.9)


def buckets(run: Run) -> None:
    """GPT-2 124M by DistributedDataParallel with buckets of several sizes.

    Few large ones cut a step into fewer programs, but are reduced later.
    """
    ways = [("cuprous", how) for how in ("alone", "ddp", "ddp 100", "ddp 1000")]
    with ExitStack() as stack:
        ranks = {"cuprous": stack.enter_context(run.ranks("cuprous"))}
        contest = Contest(run, ranks, "gpt2 quick" if run.quick else "gpt2", 2e-2)
        contest.begin(ways)
        ms = contest.go(2 if run.quick else 15)
    title = f"GPT-2 124M, batch 12 a GPU, DDP, buckets of 25, 100 and 1000 MiB, {run.gpus} GPUs"
    run.add(Row(f"several.buckets.x{run.gpus}", title, {f"cuprous {how}": t for (_, how), t in ms.items()}, _times(ms)))


def _beside(run: Run, name: str, title: str, ms: dict[Way, float], peer: Way, most: float) -> None:
    """Adds a row of a training by DistributedDataParallel and a peer, and the ratio of their times."""
    ours, theirs = ms.get(("cuprous", "ddp")), ms.get(peer)
    if ours:
        named = {"cuprous": ours} | ({"torch.compile" if "compiled" in peer[1] else "torch": theirs} if theirs else {})
        shown = _times(ms) + (f": {ours / theirs:.2f} of PyTorch's" if theirs else "")
        met = ours <= most * theirs if theirs else None
        run.add(Row(name, title, named, shown, f"≤ {most:g} of PyTorch's", met))


def fsdp(run: Run) -> None:
    """A GPT of 1.0e9 parameters, sharded, computed in bfloat16."""
    name = "gpt1b quick" if run.quick else "gpt1b"
    ways = [("cuprous", "fsdp"), ("torch", "fsdp")]
    with ExitStack() as stack:
        contest = Contest(run, run.both(stack), name, 2e-2)
        contest.begin(ways)
        ms, peaks = contest.go(2 if run.quick else 8), contest.peaks
    if ways[0] not in ms:
        return
    ratio, memory = _ratio(ms, ways[1], ways[0]), _ratio(peaks, ways[0], ways[1])
    title = f"GPT of 1.0e9 parameters, batch 4 a GPU, length 1024, bfloat16, fully_shard, {run.gpus} GPUs"
    run.add(Row(f"several.fsdp.x{run.gpus}", title, {library: t for (library, _), t in ms.items()},
                _times(ms) + (f": {ratio:.2f} x" if ratio else ""), "≥ 1.0 x PyTorch",
                None if ratio is None else ratio >= 1.0))  # fmt: skip
    run.add(Row("several.fsdp.memory", "  peak memory of a GPU", {},
                ", ".join(f"{library} {mib:.0f} MiB" for (library, _), mib in peaks.items()), "≤ 1.02 of PyTorch's",
                memory <= 1.02 if memory and run.setting.device == "cuda" else None))  # fmt: skip


def dask(run: Run) -> None:
    """Arrays of Dask larger than a GPU, on the GPUs of this host, beside CuPy's as blocks."""
    missing = [name for name in ("dask", "distributed") if importlib.util.find_spec(name) is None]
    if missing:
        return print(f"dask: {' and '.join(missing)} cannot be imported here; nothing was run", flush=True)
    gb = 0.03 if run.quick else 90.0
    backends = ["cuprous"] + ["cupy"] * (run.setting.device == "cuda" and importlib.util.find_spec("cupy") is not None)
    found: dict[str, dict[str, dict[str, Any]]] = {backend: {} for backend in backends}
    for backend in backends:
        seconds = max(run.left - 10, 10) / (len(backends) - backends.index(backend))
        line = [sys.executable, "-m", "bench.several.arrays", "--backend", backend, "--workers", f"{run.gpus}",
                "--gb", f"{gb:g}", "--seconds", f"{0.6 * seconds:.0f}"]  # fmt: skip
        with run.setting.log.open("a", encoding="utf-8") as log:
            try:
                out = subprocess.run(line, stdout=subprocess.PIPE, stderr=log, text=True, timeout=seconds, check=False)
                text = out.stdout
            except subprocess.TimeoutExpired as error:
                text = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        found[backend] = {row["row"]: row for row in map(json.loads, text.splitlines())}
    for name in ("sum", "matmul", "sort", "svd"):
        rows = {backend: found[backend].get(name, {"error": "no answer in time"}) for backend in backends}
        title = f"Dask: {name} of {gb:g} GB on {run.gpus} workers"
        ms = {backend: row["seconds"] * 1e3 for backend, row in rows.items() if "seconds" in row}
        shown = ", ".join(
            f"{backend} {row['seconds']:.2f} s" if "seconds" in row else f"{backend}: {row['error']}"
            for backend, row in rows.items()
        )
        is_right = rows["cuprous"].get("off", 1.0) < 1e-3
        shown_off = f"off by {rows['cuprous'].get('off')}"
        run.add(Row(f"dask {name}", f"  {title}: the result", shown=shown_off, met=is_right, is_check=True))
        met = ms["cuprous"] <= ms["cupy"] if len(ms) == 2 else None
        run.add(Row(f"several.dask.{name}.x{run.gpus}", title, ms, shown, "≥ 1.0 x CuPy", met))


def captured(run: Run) -> None:
    """What collectives inside CUDA graphs could gain, by graphs of PyTorch: ours are launched between graphs."""
    if run.setting.device == "cpu" or "torch" not in run.libraries:
        return print("captured: this needs GPUs and PyTorch", flush=True)
    with run.ranks("torch") as ranks:
        for width, layers in ((16, 1), (256, 4), (1024, 8)):
            try:
                found = ranks.call("speed.captured", max(run.left, 10), width=width, layers=layers, count=500)
            except LostError as error:
                return _lost(error)
            whole, parts = (max(each[way] for each in found) for way in ("whole", "parts"))
            title = f"a step of {layers} x Linear({width}, {width}) from graphs, {run.gpus} GPUs"
            run.add(Row(f"several.captured{width}.x{run.gpus}", title,
                        {"torch, all-reduce captured": whole / 1e3, "torch, between graphs": parts / 1e3},
                        f"captured {whole:.1f} µs, between graphs {parts:.1f} µs: {1 - whole / parts:+.1%}",
                        "captured if it gains more than 3 %"))  # fmt: skip
    return None


#: Parts in their order, with seconds that each may take.
PARTS: dict[str, tuple[Callable[[Run], None], float]] = {
    "copies": (copies, 60),
    "checks": (checks, 180),
    "collectives": (collectives, 70),
    "linear": (linear, 50),
    "faults": (failures, 150),
    "gpt2": (gpt2, 200),
    "buckets": (buckets, 90),
    "fsdp": (fsdp, 150),
    "dask": (dask, 150),
    "captured": (captured, 60),
}
