"""`cuprous kernels FILE.py`: runs a program and reports the cost of each launched kernel on a GPU, with advice.

The kernels are compiled for this machine's GPU, or for the architecture of `--arch`, which needs no GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import math
import os
import re
import runpy
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from cuprous._tools.progress import Progress
from cuprous.cuda import _nvrtc, _philox, _random_units, random
from cuprous.cuda._device import Device, is_available
from cuprous.cuda._headers import include_options, translated
from cuprous.cuda._jit import Dispatcher
from cuprous.cuda._occupancy import occupancy
from cuprous.cuda._raw_kernels import RawKernel

HELP = "Reports what each kernel of a program costs on a GPU: registers, memory, spills, occupancy, and what to do."
_DEFAULT_ARCH = "sm_90"


class Facts(NamedTuple):
    """The assembler's report on a kernel: registers per thread; bytes of static shared memory, of local memory,
    and of registers that did not fit and are written there."""

    registers: int
    shared: int
    stack: int
    spills: int


class Kernel(NamedTuple):
    """A kernel of the program, and its last launch configuration."""

    name: str
    location: str
    signature: str
    source: str
    body: str
    options: tuple[str, ...]
    launch: tuple[Any, ...] | None


def facts_of(log: str) -> Facts:
    """Parses the output of `ptxas -v`; if it lists several functions, uses the entry function.

    Raises
    ------
    ValueError
        If it does not mention registers.
    """
    used = re.search(r"Used (\d+) registers(.*)", log)
    if not used:
        raise ValueError(f"the assembler said nothing of registers:\n{log}")
    shared = re.search(r"(\d+) bytes smem", used[2])
    before = log[: used.start()]
    frames = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores", before)
    stack, spills = (int(n) for n in frames[-1]) if frames else (0, 0)
    return Facts(int(used[1]), int(shared[1]) if shared else 0, stack, spills)


def _first_float64(body: str) -> str:
    """Returns the program's line that first computes in float64, or an empty string.

    Lines of `cuprous.cuda.random`, which make float32 numbers from float64 ones, are not the program's.
    """
    library = "".join(map(inspect.getsource, (random, _philox, _random_units)))
    line = ""
    for text in body.splitlines():
        found = re.match(r"\s*// \d+: (.*)", text)
        line = found[1] if found else line
        if not found and line not in library and re.search(r"\bdouble\b", text):
            return line
    return ""


def _extents(value: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in value) if isinstance(value, (tuple, list)) else (int(value),)


def advice(kernel: Kernel, facts: Facts, arch: int) -> list[str]:
    """Returns suggestions for faster code."""
    notes = []
    if facts.spills:
        remedy = "fewer variables at a time, a smaller loop body, or a larger max_registers"
        notes.append(f"{facts.spills} bytes of registers are spilled to memory: {remedy}")
    elif facts.stack:
        remedy = "local arrays stay in registers only with constants as indices"
        notes.append(f"a thread keeps {facts.stack} bytes in memory: {remedy}")
    line = _first_float64(kernel.body)
    if line and "float64" not in kernel.signature and "complex128" not in kernel.signature:
        notes.append(f"float64 though no argument is float64: write float32(0.5) for 0.5; first in `{line}`")
    if kernel.launch is None:
        return notes
    grid, block, dynamic = kernel.launch
    threads, blocks = math.prod(block), math.prod(grid)
    if threads % 32:
        notes.append(f"{threads} threads a block leave {-threads % 32} of 32 lanes of its last warp idle")
    share, held, what = occupancy(arch, threads, facts.registers, facts.shared + dynamic)
    if held == 0:
        notes.append(f"a block does not fit: {what}")
    elif share < 0.5:
        remedy = {
            "registers": f"{facts.registers} registers a thread; max_registers= lowers that, at the price of spills",
            "shared memory": f"{facts.shared + dynamic} bytes a block; use smaller tiles or narrower types",
            "blocks": f"only {threads} threads a block; 128 to 256 fill a multiprocessor",
            "threads": f"{threads} threads a block; smaller blocks fit more often",
        }[what]
        notes.append(f"{share:.0%} of the threads that could be at work are: {what} are the limit, {remedy}")
    if blocks < 100:
        notes.append(f"{blocks} block{'s' * (blocks != 1)} in its last launch: a large GPU runs more than 100 at once")
    return notes


# --- recording the program's launches


class _LaunchRecorder:
    """Records the kernels that the program creates and launches."""

    def __init__(self) -> None:
        self.created: list[tuple[Any, dict[str, Any]]] = []
        self.launches: dict[int, tuple[Any, ...]] = {}
        self.modules: list[Any] = []

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Records within the block."""
        patched: Any = Dispatcher
        raw_patched: Any = RawKernel
        new_dispatcher, launched, raw = Dispatcher.__new__, Dispatcher.__getitem__, RawKernel.__call__

        def new(cls: Any, function: Any, device: bool = False, **options: Any) -> Any:
            kernel = new_dispatcher(cls, function, device, **options)
            if not device and not str(kernel.__module__).startswith("cuprous."):
                self.created.append((kernel, options))
            return kernel

        def launch(kernel: Any, key: Any) -> Any:
            shared = int(key[3]) if len(key) > 3 else 0
            self.launches[id(kernel)] = (_extents(key[0]), _extents(key[1]), shared)
            return launched(kernel, key)

        def call(kernel: Any, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, stream: Any = None) -> None:
            if kernel not in self.modules:
                self.modules.append(kernel)
            self.launches[id(kernel)] = (_extents(grid), _extents(block), shared_mem)
            raw(kernel, grid, block, args, shared_mem=shared_mem, stream=stream)

        patched.__new__, patched.__getitem__, raw_patched.__call__ = new, launch, call
        try:
            yield
        finally:
            patched.__new__, patched.__getitem__, raw_patched.__call__ = new_dispatcher, launched, raw

    def kernels(self) -> Iterator[Kernel]:
        """Yields the recorded kernels, one for each list of types."""
        for kernel, options in self.created:
            flags = ["--use_fast_math"] * bool(options.get("fastmath"))
            flags.append(f"--fmad={str(options.get('fma', True)).lower()}")
            if options.get("max_registers"):
                flags.append(f"--maxrregcount={options['max_registers']}")
            flags += options.get("extra", ())
            code = kernel.py_func.__code__
            location = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
            for keys, types in zip(kernel.compiled_types(), kernel.signatures, strict=True):
                source, body = kernel.cuda_code(keys, True, True), kernel.cuda_code(keys, False, True)
                launch = self.launches.get(id(kernel))
                yield Kernel(kernel.__name__, location, repr(types), source, body, tuple(flags), launch)
        for kernel in self.modules:
            if kernel.code is not None:
                flags = [*kernel.options, *include_options()]
                launch = self.launches.get(id(kernel))
                source = translated(kernel.code, kernel._module.translate_cucomplex)
                yield Kernel(kernel.name, "CUDA C++", "", source, "", tuple(flags), launch)


def _entry(log: str, name: str) -> str:
    """Returns the part of the log about one function of a module."""
    parts = re.split(r"(?=ptxas info\s*: Compiling entry function)", log)
    return next((part for part in parts[1:] if f"'{name}'" in part.partition("\n")[0]), log)


def measure(kernel: Kernel, arch: str) -> Facts:
    """Compiles a kernel and reads what the assembler says of it.

    Raises
    ------
    RuntimeError
        If there is no NVRTC, or the source does not compile.
    """
    options = [*kernel.options, "--ptxas-options=-v"]
    log = _nvrtc.compile_source(kernel.source, kernel.name, arch, options).log
    if "registers" not in log:
        # Where there is a driver, NVRTC keeps what it compiled, and the assembler is not asked again.
        log = _nvrtc.compile_source(kernel.source, kernel.name, arch, [*options, "--no-cache"]).log
    return facts_of(_entry(log, kernel.name))


def _rows(watch: _LaunchRecorder, arch: str) -> list[dict[str, Any]]:
    number = int(re.sub(r"\D", "", arch))
    rows = []
    kernels = list(watch.kernels())
    progress = Progress(len(kernels))
    for count, kernel in enumerate(kernels, 1):
        progress.of(count, kernel.name)(f"compiling for {arch}")
        row: dict[str, Any] = {"kernel": kernel.name, "place": kernel.location, "types": kernel.signature, "arch": arch}
        try:
            facts = measure(kernel, arch)
        except RuntimeError as error:
            # One that does not compile is listed with the reason, and hides no other.
            rows.append({**row, "error": str(error), "advice": []})
            continue
        row |= facts._asdict()
        if kernel.launch is not None:
            grid, block, dynamic = kernel.launch
            share, held, what = occupancy(number, math.prod(block), facts.registers, facts.shared + dynamic)
            row |= {
                "grid": grid, "block": block, "dynamic_shared": dynamic, "occupancy": round(share, 3),
                "blocks_per_multiprocessor": held, "limit": what,
            }  # fmt: skip
        rows.append({**row, "advice": advice(kernel, facts, number)})
    progress.clear()
    return rows


def _print(rows: list[dict[str, Any]]) -> None:
    print(f"{'kernel':<32}{'registers':>10}{'shared':>9}{'own':>7}{'spills':>8}{'block':>12}{'occupancy':>11}")
    for row in rows:
        block = " x ".join(map(str, row["block"])) if "block" in row else "-"
        share = f"{row['occupancy']:.0%}" if "block" in row else "-"
        name = f"{row['kernel']} ({row['place']})"
        if "error" in row:
            print(f"{name:<32} {row['error'].splitlines()[0]}")
            continue
        print(
            f"{name:<32}{row['registers']:>10}{row['shared'] + row.get('dynamic_shared', 0):>9}{row['stack']:>7}"
            f"{row['spills']:>8}{block:>12}{share:>11}"
        )
        if row["types"]:
            print(f"  {row['types']}")
        for note in row["advice"]:
            print(f"  - {note}")


@contextlib.contextmanager
def _exit_raises() -> Iterator[None]:
    """Replaces `os._exit` by `sys.exit`, so that the report follows the program."""

    def leave(status: int = 0) -> NoReturn:
        raise SystemExit(status)

    before = os._exit
    os._exit = leave
    try:
        yield
    finally:
        os._exit = before


def main(argv: Sequence[str]) -> int:
    """Runs one command line and returns the exit code."""
    parser = argparse.ArgumentParser(prog="cuprous kernels", description=HELP)
    parser.add_argument(
        "--arch", help=f"the GPU to compile for, as sm_90 (default: this machine's, or {_DEFAULT_ARCH})"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("file", metavar="PROGRAM.py", help="the program, which is run")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="ARGS", help="the program's own"
    ).required = False
    try:
        options = parser.parse_args(list(argv))
    except SystemExit as stop:
        return int(stop.code or 0)

    arch = options.arch or (f"sm_{Device().compute_capability}" if is_available() else _DEFAULT_ARCH)
    if not re.fullmatch(r"sm_\d+[af]?", arch):
        print(f"cuprous: --arch {arch} is not a compute capability; write sm_90", file=sys.stderr)
        return 2
    if not os.path.exists(options.file):
        print(f"cuprous: file {options.file!r} does not exist", file=sys.stderr)
        return 2
    watch = _LaunchRecorder()
    before, sys.argv = sys.argv, [options.file, *options.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.file)))
    failed = None
    try:
        # What it prints is not our answer, and it must not end this process.
        with watch.on(), contextlib.redirect_stdout(sys.stderr), _exit_raises():
            runpy.run_path(options.file, run_name="__main__")
    except SystemExit as stop:
        failed = f"exit code {stop.code}" if stop.code not in (None, 0) else None
    except (Exception, KeyboardInterrupt) as error:
        failed = f"{type(error).__name__}: {error}".rstrip(": ")
    finally:
        sys.argv = before
        sys.path.pop(0)
    if failed:
        print(f"cuprous: {options.file} ended early, kernels until then are listed: {failed}", file=sys.stderr)
    rows = _rows(watch, arch)
    for message in dict.fromkeys(row["error"] for row in rows if "error" in row):
        print(f"cuprous: {message}", file=sys.stderr)
        failed = failed or message
    if options.json:
        print(json.dumps(rows, indent=1))
    elif rows:
        print(f"{len(rows)} kernel{'s' * (len(rows) != 1)} of {options.file} on {arch}")
        _print(rows)
    else:
        print(f"{options.file} launched no kernels of its own, as by cuda.jit; cp.explain() shows those of arrays")
    return 1 if failed else 0
