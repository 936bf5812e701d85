"""Checks and times several GPUs of one host, beside PyTorch: `python -m bench.several_gpus`.

    python -m bench.several_gpus [--gpus N] [--parts copies,faults] [--limit 570] [--out FOLDER]

A part runs in processes of its own, one for each GPU and library, with a time limit: a crash or a hang loses only that
part. Where both libraries are timed, their processes live side by side and work in turn. Rows are printed as they
come, with a table last. The exit code is 1 if a check failed.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import history
from bench.several import faults
from bench.several.launch import LostError, Ranks, Setting, gpu_memory

MIB = 1 << 20


@dataclass
class Row:
    """One line of the table: a check, or times in milliseconds by library."""

    name: str
    title: str
    ms: dict[str, float] = field(default_factory=dict)
    shown: str = ""
    target: str = ""
    met: bool | None = None
    is_check: bool = False

    def line(self) -> str:
        verdict = {None: "", True: "ok" if self.is_check else "MET", False: "FAILED" if self.is_check else "MISSED"}
        return f"{verdict[self.met]:7}{self.title:64} {self.shown}{f'  (target: {self.target})' * bool(self.target)}"


@dataclass
class Run:
    """What parts need: options, and where they put their rows."""

    gpus: int
    quick: bool
    setting: Setting
    libraries: tuple[str, ...]
    end: float
    rows: list[Row] = field(default_factory=list)
    limit: float = 0.0  # when the part in progress must end

    @property
    def left(self) -> float:
        """Seconds for the part in progress."""
        return min(self.limit, self.end) - time.monotonic()

    def add(self, row: Row) -> None:
        self.rows.append(row)
        print(row.line(), flush=True)

    def check(self, name: str, title: str, call: Callable[[], str]) -> bool:
        """Adds a check. Returns true if it passed."""
        start = time.monotonic()
        try:
            shown, met = call(), True
        except (LostError, AssertionError) as error:
            shown, met = str(error), False
        self.add(Row(name, title, shown=f"{shown} [{time.monotonic() - start:.0f} s]", met=met, is_check=True))
        return met

    def ranks(self, library: str, n: int | None = None) -> Ranks:
        return Ranks(library, self.gpus if n is None else n, self.setting)

    def both(self, stack: ExitStack, n: int | None = None) -> dict[str, Ranks]:
        """Returns the ranks of all libraries, which start at the same time."""
        found = {library: stack.enter_context(self.ranks(library, n)) for library in self.libraries}
        for ranks in found.values():
            ranks.start()
        return found


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
        run.add(Row("several.copy", f"x.to('cuda:1') of {nbytes // MIB} MiB", ms, shown,
                    "≥ 0.9 of the link, ≥ 20 x through the host", met))  # fmt: skip


def checks(run: Run) -> None:
    """DistributedDataParallel, `fully_shard`, tensor parallelism and random collectives against one GPU."""
    steps, bound = (3 if run.quick else 20), 1e-3
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("ddp", "DDP: losses of one GPU", {"steps": steps, "bound": bound}),
        ("fsdp", "fully_shard: losses and parameters of one GPU", {"steps": steps, "bound": bound}),
        ("tensor_parallel", "parallelize_module: outputs and gradients of one GPU", {"steps": 3, "bound": bound}),
        ("same_bits", "parameters equal bit for bit, rank 0 logs, reads, saves", {"steps": 20 if run.quick else 1000}),
        ("collectives", "random collectives have NumPy's results", {"steps": 20 if run.quick else 150}),
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
            run.add(Row(f"several.allreduce{nbytes}", f"all-reduce of {nbytes / 1024:g} KiB, {n} GPUs", ms, shown,
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
        run.add(Row("several.linear", f"a step of DDP(Linear(10, 2)), Adam, {run.gpus} GPUs", named, _times(ms),
                    "≤ 60 µs", ours <= 0.060))  # fmt: skip


def gpt2(run: Run) -> None:
    """GPT-2 124M in bfloat16, a batch of 12 for each GPU: alone, and together by DistributedDataParallel."""
    name = "gpt2 quick" if run.quick else "gpt2"
    ways = [("cuprous", "alone"), ("cuprous", "ddp"), ("torch", "alone"), ("torch", "ddp")]
    ours_and_compiled = [("cuprous", "ddp"), ("torch", "ddp compiled")]
    with ExitStack() as stack:
        contest = Contest(run, run.both(stack), name, 2e-2)
        contest.begin(ways)
        ms = contest.go(2 if run.quick else 15)
        compiled: dict[Way, float] = {}
        if not run.quick:
            contest.begin(ours_and_compiled[1:])
            compiled = contest.go(15, ours_and_compiled)
    ours = ms.get(("cuprous", "ddp"))
    if not ours:
        return
    n = run.gpus
    title = f"GPT-2 124M, batch 12 a GPU, length 1024, bfloat16, DDP, {n} GPUs"
    peers = {"torch": ms.get(("torch", "ddp")), "torch.compile": compiled.get(("torch", "ddp compiled"))}
    named = {"cuprous": ours} | {peer: t for peer, t in peers.items() if t}
    run.add(Row("several.gpt2", title, named, f"{_times(ms)}; then {_times(compiled)}" if compiled else _times(ms)))
    share, least = _ratio(ms, ("cuprous", "alone"), ("cuprous", "ddp")), {2: 0.97, 4: 0.96}.get(n, 0.95)
    theirs = _ratio(ms, ("torch", "alone"), ("torch", "ddp"))
    if share:
        beside = f", PyTorch {theirs:.1%}" if theirs else ""
        run.add(Row("several.gpt2.scaling", "  of one GPU's rate on each (the slowest GPU alone)", {},
                    f"{share:.1%}{beside}", f"≥ {least:.0%}", share >= least))  # fmt: skip
    for found, how, most in ((ms, "ddp", 0.75), (compiled, "ddp compiled", 0.9)):
        ratio = _ratio(found, ("cuprous", "ddp"), ("torch", how))
        if ratio:
            run.add(Row(f"several.gpt2.{how}", f"  our step by that of PyTorch {how}", {}, f"{ratio:.2f}",
                        f"≤ {most:g}", ratio <= most))  # fmt: skip


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
    run.add(Row("several.fsdp", title, {library: t for (library, _), t in ms.items()},
                _times(ms) + (f": {ratio:.2f} x" if ratio else ""), "≥ 1.0 x PyTorch",
                None if ratio is None else ratio >= 1.0))  # fmt: skip
    run.add(Row("several.fsdp.memory", "  peak memory of a GPU", {},
                ", ".join(f"{library} {mib:.0f} MiB" for (library, _), mib in peaks.items()), "≤ 1.02 of PyTorch's",
                memory <= 1.02 if memory and run.setting.device == "cuda" else None))  # fmt: skip


def dask(run: Run) -> None:
    """Arrays of Dask on the GPUs of this host."""
    missing = [name for name in ("dask", "distributed") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"dask: {' and '.join(missing)} cannot be imported here; nothing was run", flush=True)


def captured(run: Run) -> None:
    """Collectives in captured graphs."""
    print("captured collectives: there is no such option; DDP(static_graph=True) captures none of them", flush=True)


#: Parts in their order, with seconds that each may take.
PARTS: dict[str, tuple[Callable[[Run], None], float]] = {
    "copies": (copies, 60),
    "checks": (checks, 180),
    "collectives": (collectives, 70),
    "linear": (linear, 50),
    "faults": (failures, 150),
    "gpt2": (gpt2, 200),
    "fsdp": (fsdp, 150),
    "dask": (dask, 60),
    "captured": (captured, 60),
}


def parts(run: Run, names: list[str]) -> Iterator[str]:
    """Runs parts one after another. Yields the name of each that an error of this script ended."""
    for name in names:
        function, limit = PARTS[name]
        run.limit = time.monotonic() + limit
        if run.left < 5:
            print(f"# {name}: no time left", flush=True)
            continue
        start = time.monotonic()
        print(f"# {name}: {(function.__doc__ or '').splitlines()[0]}", flush=True)
        try:
            function(run)
        except Exception:
            traceback.print_exc(file=sys.stdout)
            yield name
        print(f"# {name}: {time.monotonic() - start:.0f} s", flush=True)


def held(run: Run, before: list[int]) -> None:
    """Checks that the GPUs have the memory again that they had before; a context takes hundreds of MiB."""
    after: list[int] | None = None
    for _ in range(20):
        after = gpu_memory()
        if after is None or all(b <= a + 8 for a, b in zip(before, after, strict=True)):
            break
        time.sleep(0.5)
    met = after is not None and all(b <= a + 8 for a, b in zip(before, after, strict=True))
    run.add(Row("memory", "no GPU memory is held afterwards", shown=f"MiB before {before}, after {after}", met=met,
                is_check=True))  # fmt: skip


def version(run: Run, library: str) -> str:
    """Returns the version of a library, which is not imported for that."""
    code = f"import importlib.metadata as m; print(m.version({library!r}))"
    python = run.setting.python[library]
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def record(run: Run, path: Path | None) -> None:
    """Adds the rows that have times, to this machine's file or another one."""
    entries = history.Run(run.setting.device, {library: version(run, library) for library in run.libraries[1:]})
    found = [entries.entry(row.name, row.title, row.ms, target=row.target, met=row.met, note=row.shown)
             for row in run.rows if row.ms]  # fmt: skip
    history.append(path or entries.machine.file, found)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.several_gpus", description=__doc__)
    parser.add_argument("--device", default="cuda", choices=("cpu", "cuda"), help="cpu tries the script out")
    parser.add_argument("--gpus", type=int, help="ranks; default: the GPUs that nvidia-smi lists")
    parser.add_argument("--parts", default=",".join(PARTS), help="default: %(default)s")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the script out; times mean nothing")
    parser.add_argument("--limit", type=float, default=570.0, help="seconds in all; what is over then is left out")
    parser.add_argument("--without", default="", help="torch leaves PyTorch out")
    parser.add_argument("--torch-python", default=sys.executable, help="the Python that has PyTorch")
    parser.add_argument("--out", type=Path, default=Path("build/several"), help="folder of rows.jsonl and ranks.log")
    parser.add_argument(
        "--record", action="store_true", help="add rows to this machine's file in bench/results instead"
    )
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    if unknown := [name for name in options.parts if name not in PARTS]:
        parser.error(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    if options.quick and options.record:
        parser.error("--record keeps no times of --quick")
    return options


def main() -> int:
    """Runs the parts. Returns 1 if a check failed."""
    options = parse()
    start = time.monotonic()
    before = gpu_memory() if options.device == "cuda" else None
    gpus = options.gpus or len(before or [0, 0])
    options.out.mkdir(parents=True, exist_ok=True)
    setting = Setting(options.device, options.out / "ranks.log", {"torch": options.torch_python})
    libraries = ("cuprous",) if options.without == "torch" else ("cuprous", "torch")
    run = Run(gpus, options.quick, setting, libraries, start + options.limit)
    print(f"# {gpus} x {options.device}, {' and '.join(libraries)}, commit {history.commit() or 'unknown'}", flush=True)
    broken = list(parts(run, options.parts))
    if before is not None:
        held(run, before)
    if not options.quick:
        record(run, None if options.record else options.out / "rows.jsonl")
    failed = [row.name for row in run.rows if row.is_check and not row.met]
    print(f"\n# all rows, after {time.monotonic() - start:.0f} s")
    for row in run.rows:
        print(row.line().splitlines()[0][:400])
    for what, names in (("checks failed", failed), ("parts ended by an error", broken)):
        if names:
            print(f"# {what}: {', '.join(names)}")
    return 1 if failed or broken else 0


if __name__ == "__main__":
    sys.exit(main())
