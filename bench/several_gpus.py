"""Checks and times several GPUs of one host, beside PyTorch: `python -m bench.several_gpus`.

    python -m bench.several_gpus [--gpus N] [--parts copies,faults] [--limit 570] [--out FOLDER]

A part runs in processes of its own, one for each GPU and library, with a time limit: a crash or a hang loses only that
part. Where both libraries are timed, their processes live side by side and work in turn. Rows are printed as they
come, with a table last. The exit code is 1 if a check failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from bench import history
from bench.several.launch import Setting, gpu_memory
from bench.several.parts import PARTS
from bench.several.run import Row, Run


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
