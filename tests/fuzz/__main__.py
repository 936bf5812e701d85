"""The command. Exit code 0 when every program agreed, 1 otherwise."""

from __future__ import annotations

import argparse
import os
import sys

from .ahead import run_ahead
from .generate import generate
from .run import MODES, open_device, run_parallel, run_seeds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Random programs against NumPy.")
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="first seed; program n has seed + n")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=0, help="default: one a core; one runs on a GPU")
    parser.add_argument("--failures", type=int, default=10, help="stop after this many in a process")
    parser.add_argument("--modes", default=",".join(MODES), help="of single,fused,auto")
    parser.add_argument("--show", action="store_true", help="print the first program and stop")
    args = parser.parse_args()
    if args.show:
        print("\n".join(generate(args.seed).lines))
        return 0
    modes = tuple(args.modes.split(","))
    processes = args.processes or (os.cpu_count() or 1)
    if args.device != "cpu" and processes > 1:
        report = run_ahead(args.seed, args.programs, processes, args.failures)
    elif processes == 1:
        seeds = range(args.seed, args.seed + args.programs)
        report = run_seeds(seeds, open_device(args.device), modes, args.failures)
    else:
        report = run_parallel(args.seed, args.programs, args.device, processes, modes, args.failures)
    for text in report.failures.values():
        print(text, file=sys.stderr)
    rate = report.programs / max(report.seconds, 1e-9)
    print(f"{report.programs} programs on {args.device}, each {args.modes.replace(',', ', ')}: "
          f"{len(report.failures)} failed; {report.seconds:.1f} s, {rate:.0f} programs/s")  # fmt: skip
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
