"""The command. The exit code is 0 if every program agreed, else 1."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time

from .generate import generate
from .run import MODES, open_device, run_parallel, run_seeds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Random programs against NumPy.")
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="first seed; program n has seed + n")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=0, help="default: one a core; compiling is most of a GPU run")
    parser.add_argument("--failures", type=int, default=10, help="stop after this many in a process")
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no program after that time")
    parser.add_argument("--modes", default=",".join(MODES), help="of single,fused,auto,sizes")
    parser.add_argument("--show", action="store_true", help="print the first program and stop")
    args = parser.parse_args()
    if args.show:
        print("\n".join(generate(args.seed).lines))
        return 0
    limits = tuple(args.modes.split(",")), args.failures, time.monotonic() + args.seconds
    processes = args.processes or (os.cpu_count() or 1)
    if processes == 1:
        seeds = range(args.seed, args.seed + args.programs)
        report = run_seeds(seeds, open_device(args.device), *limits)
    else:
        report = run_parallel(args.seed, args.programs, args.device, processes, limits)
    for text in report.failures.values():
        print(text, file=sys.stderr)
    rate = report.programs / max(report.seconds, 1e-9)
    print(f"{report.programs} programs on {args.device}, each {args.modes.replace(',', ', ')}: "
          f"{len(report.failures)} failed; {report.seconds:.1f} s, {rate:.0f} programs/s")  # fmt: skip
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
