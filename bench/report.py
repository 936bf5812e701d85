"""Writes the page and the figure of the measurements from `bench/results`.

python -m bench.report               writes bench/RESULTS.md and docs/speed.svg
python -m bench.report --check       exits 1 if these are not what the data give
python -m bench.report --row mm16    prints a row over time
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby
from pathlib import Path

from bench import history
from bench.history import Entry
from bench.table import shown

ROOT = Path(__file__).parent.parent
PAGE, FIGURE = ROOT / "bench" / "RESULTS.md", ROOT / "docs" / "speed.svg"
Files = Mapping[str, list[Entry]]  # by the file's name without its ending

#: Titles of older entries that do not describe their row, with plain ones.
PLAIN_TITLES = {
    "the same with a logistic, float64": "Black-Scholes 1e7 with a logistic distribution, float64",
    "the same with inverse and counts": "unique of 1e8 int32 of 1e6 values, with inverse and counts",
    "the same by 64 columns": "sparse 1e6² (2e7 values) times a dense matrix of 64 columns, float32",
    "sparse 1e6², 2e7 values, by a vector": "sparse 1e6² (2e7 values) times a vector, float32",
    "fft of the columns": "fft of the columns of 4096², complex64",
    "256 MiB from pageable memory": "upload of 256 MiB from pageable memory",
    "256 MiB to pageable memory": "download of 256 MiB to pageable memory",
    "import": "import of the package",
    "seed 000's sum of host arrays": "sum of two host arrays of 8 MB into a third",
    "seed 001's program word for word, a step of its 1,000": (
        "unmodified PyTorch loop: Linear(10, 2), Adam, 1,000 steps, per step"
    ),
    "Linear(10, 2), Adam, 100 x 10": "Linear(10, 2), Adam, 100 samples of 10 features",
    "seed 003's CNN, 64 images 28 x 28": "CNN of two convolutions, 64 images of 3 x 28 x 28",
    "seed 003's CNN, 4096 images": "CNN of two convolutions, 4096 images of 3 x 28 x 28",
    "LSTM language model 2 x 256, b32 t64": "LSTM language model, 2 layers of 256, batch 32, length 64",
    "GPT 6 x 384, b64 t256, float32": "GPT, 6 layers of 384, batch 64, length 256, float32",
    "GPT-2 124M, b12 t1024, bfloat16": "GPT-2 124M, batch 12, length 1024, bfloat16",
    "shift of order 3 of 4096²": "cubic spline shift of 4096²",
    "uniform filter 7 of 4096²": "uniform filter (size 7) of 4096²",
    "median filter 3 of 4096²": "median filter (size 3) of 4096²",
    "grey opening 5 of 4096²": "gray opening (size 5) of 4096²",
    "kernel: random states for 1e6": "kernel: random states for 1e6 threads",
    "1e7 normals": "1e7 normally distributed random numbers",
    "1e8 normals": "1e8 normally distributed random numbers",
    "Monte Carlo 1e6 x 252, array code": "Monte Carlo, 1e6 paths of 252 steps, array code",
    "recording one op, above an empty call": "recording one operation, minus an empty native call",
}

#: The part of a row's name before a dot, and the heading of its table.
KINDS = {
    "": "Arrays (`make bench`)",
    "learning": "A step of training (`make bench-learning`)",
    "examples": "The kernels of examples/kernels (`python -m bench.kernel_examples`)",
    "kernels": "Launches and kernels (`python -m bench.kernels`)",
    "several": "Several GPUs (`make bench-several`)",
    "overlap": "Copies that overlap with computation (`python -m bench.overlap`)",
}
INTRODUCTION = """# Results

Written by `python -m bench.report` from `bench/results/*.jsonl`, not by hand. `make bench ARGS=--record` adds
the rows of a run to this machine's file. `python -m bench.report --row mm16` prints a row over time.

Each row is the newest measurement on that machine. All libraries of a row were measured in one run; two rows
may be of different runs. "Ratio" is the best peer's time divided by ours. "Of floor" is the share of the
hardware's rate that the row reaches: the bandwidth of a copy or the rate of a matrix product, measured in the same
run. Targets in milliseconds were set for an H200. Rows dated before 2026-11-24 were written down with three
digits, and have the commit that did so. What was tried is in [attempts](attempts.md).

![Speed relative to the best peer](../docs/speed.svg)
"""

#: Rows of the figure by file, with short names.
BARS = {
    "h200": {
        "chain": "20 operations on 1e8 float32",
        "softmax": "softmax of 10,000² float32",
        "cumsum": "cumsum of 1e8 float32",
        "sort": "sort of 1e8 float32",
        "mm16": "matmul 8192³ bfloat16",
        "fft2": "fft2 of 4096² complex64",
        "blur": "Gaussian blur of 4096² float32",
        "mc": "Monte Carlo, 1e6 paths of 252 steps",
        "examples.stencil": "kernel: stencil",
    },
    "epyc-2core": {
        "chain": "10 operations on 1e7 float64",
        "bs64": "Black-Scholes of 1e7 float64",
        "sum": "sum of 1e8 float32",
        "normal": "1e7 normals",
        "mm1024s": "matmul 1024³ float32",
        "fft20": "fft of 2²⁰ complex128",
        "examples.matmul": "kernel: matmul in shared memory",
        "examples.n_body": "kernel: n-body",
    },
}
PEERS = {"numpy": "NumPy", "scipy": "SciPy", "numba": "Numba", "numexpr": "NumExpr", "cupy": "CuPy", "torch": "PyTorch",
         "jax": "JAX", "nccl": "NCCL", "compile": "compiled", "graph": "graph"}  # fmt: skip


def kind_of(e: Entry) -> str:
    """Returns the key of `KINDS` of a row: what stands before its first point."""
    return e.row.split(".")[0] if "." in e.row else ""


def plain_title(e: Entry) -> str:
    """Returns the title of an entry, or a plain description in place of an older one."""
    return PLAIN_TITLES.get(e.title, e.title)


def peer_name(peer: str) -> str:
    """Returns the name that a peer's project uses, such as `PyTorch compiled` for `torch.compile`."""
    return " ".join(PEERS.get(part, part) for part in peer.split("."))


def newest(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Returns the last entry of each row, in the order in which rows first appear."""
    return {entry.row: entry for entry in entries}


def cells(e: Entry) -> list[str]:
    """Returns the columns that every table has: ours, best peer, ratio, share of the floor, target, verdict."""
    best = e.best
    peer = (
        "-"
        if best is None
        else f"{peer_name(best[0])} {shown(e.ms[best[0]])}"
        if best[0] in e.ms
        else peer_name(best[0])
    )
    verdict = "failed" if "cuprous" in e.errors else {None: "", True: "met", False: "missed"}[e.met]
    ratio = "-" if best is None else f"{best[1]:.{2 if best[1] < 100 else 0}f}"
    return [shown(e.ours), peer, ratio, f"{e.of_floor:.0%}" if e.of_floor else "-", e.target, verdict]


def table(heads: str, rows: Iterable[list[str]]) -> str:
    """Markdown."""
    lines = [heads, "|---" * (heads.count("|") - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def section(entries: list[Entry]) -> str:
    """Returns the section of one machine: its newest rows, one table per kind, and their notes."""
    rows = list(newest(entries).values())
    last = entries[-1]
    notes = {note: k for k, note in enumerate(dict.fromkeys(e.note for e in rows if e.note), 1)}
    host = f", {last.cores} cores" if last.device == "cpu" else ""
    copy = next((f" A copy moves {e.copy_gb_s:.0f} GB/s." for e in reversed(entries) if e.copy_gb_s), "")
    count = {met: sum(e.met is met for e in rows) for met in (True, False, None)}
    text = f"## {last.machine}{host}\n\n"
    text += f"{count[True]} targets met, {count[False]} missed, {count[None]} rows without.{copy}\n"
    if unknown := {kind_of(e) for e in rows} - KINDS.keys():
        raise ValueError(f"rows of {', '.join(sorted(unknown))}: add a heading to KINDS")
    for kind, heading in KINDS.items():
        found = [e for e in rows if kind_of(e) == kind]
        if not found:
            continue
        lines = [
            [f"`{e.row}`", plain_title(e), *cells(e), e.date[:10], str(notes[e.note]) if e.note else ""] for e in found
        ]
        text += f"\n### {heading}\n\n"
        text += table("| row | work | Cuprous | best peer | ratio | of floor | target | | date | note |", lines)
    if notes:
        text += "\nNotes:\n\n" + "".join(f"{k}. {note[0].upper()}{note[1:]}.\n" for note, k in notes.items())
    return text


def page(files: Files) -> str:
    """Returns the page of all machines, GPUs first."""
    order = sorted(files.values(), key=lambda entries: (entries[-1].device == "cpu", -len(newest(entries))))
    return "\n".join([INTRODUCTION, *map(section, order)])


def over_time(files: Files, row: str) -> str:
    """Returns all measurements of a row, with a table per machine."""
    text = ""
    for name, entries in files.items():
        found = [e for e in entries if e.row == row]
        for title, group in groupby(found, plain_title):
            lines = [[e.date[:16].replace("T", " "), e.commit, *cells(e), e.note] for e in group]
            text += f"{name}: {title}\n\n"
            text += table("| date | commit | Cuprous | best peer | ratio | of floor | target | | note |", lines) + "\n"
    return text


STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de } text { fill: #1f2328; font: 13px system-ui, sans-serif }
  .head { font-weight: 600 } .small { fill: #59636e; font-size: 12px }
  .line { stroke: #d0d7de } .one { stroke: #59636e } .faster { fill: #2da44e } .slower { fill: #d4742c }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #3d444d } text { fill: #f0f6fc } .small { fill: #9198a1 }
    .line { stroke: #3d444d } .one { stroke: #9198a1 } .faster { fill: #3fb950 } .slower { fill: #e3833c }
  }
"""


def figure(files: Files) -> str:
    """Returns an SVG of bars: the speed relative to the best peer, in powers of two. Right of 1 ours is faster."""
    left, right, step, low, high = 290.0, 700.0, 22, 0.5, 32.0
    body, y = [], 62

    def x(ratio: float) -> float:
        return left + (right - left) * math.log(min(max(ratio, low), high) / low) / math.log(high / low)

    def text(at: float, what: str, kind: str = "", anchor: str = "start") -> None:
        body.append(f'<text x="{at:.1f}" y="{y}" class="{kind}" text-anchor="{anchor}">{escape(what)}</text>')

    for name, bars in BARS.items():
        entries = newest(files.get(name, []))
        some = next(iter(entries.values()), None)
        if some is None:
            continue
        text(20, some.machine + (f", {some.cores} cores" if some.device == "cpu" else ""), "head")
        for row, title in bars.items():
            best = entries[row].best if row in entries else None
            if best is None:
                continue
            y += step
            peer, ratio = best
            start, end = sorted((x(1), x(ratio)))
            text(left - 12, title, anchor="end")
            kind = "faster" if ratio >= 1 else "slower"
            body.append(
                f'<rect x="{start:.1f}" y="{y - 11}" width="{max(end - start, 1):.1f}" height="14" class="{kind}"/>'
            )
            text(end + 6, f"{ratio:.2f} x {peer_name(peer)}", "small")
        y += 2 * step
    bottom = y - 2 * step + 10
    grid = []
    for k in (0.5, 1, 2, 4, 8, 16, 32):
        grid.append(
            f'<line x1="{x(k):.1f}" x2="{x(k):.1f}" y1="66" y2="{bottom}" class="{"one" if k == 1 else "line"}"/>'
        )
        grid.append(f'<text x="{x(k):.1f}" y="{bottom + 18}" class="small" text-anchor="middle">{k:g}</text>')
    title = "Speed relative to the fastest measured peer: its time divided by ours"
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="840" height="{bottom + 34}" role="img">',
             f"<title>{title}</title>", f"<style>{STYLE}</style>",
             f'<rect x="0.5" y="0.5" width="839" height="{bottom + 33}" rx="8" class="card"/>',
             f'<text x="20" y="32" class="head">{title}</text>', *grid, *body, "</svg>"]  # fmt: skip
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Writes, checks or prints, and returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--row", help="print this row over time, such as mm16")
    parser.add_argument("--check", action="store_true", help="compare only")
    options = parser.parse_args(arguments)
    files = {path.stem: history.load(path) for path in sorted(history.FOLDER.glob("*.jsonl"))}
    if options.row:
        text = over_time(files, options.row)
        print(text or f"there is no row {options.row}", end="\n" if not text else "")
        return 0 if text else 2
    stale = 0
    for path, text in ((PAGE, page(files)), (FIGURE, figure(files))):
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path.relative_to(ROOT)} is not what the data give; run `python -m bench.report`", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
