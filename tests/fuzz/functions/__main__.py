"""The command. The exit code is 0 if every case agreed or differs as documented, else 1."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter, defaultdict

import numpy as np

import cuprous as cp
from tests.simulated import select

from . import loops, more_rows
from .agree import difference, outcome
from .differences import reason
from .operands import Case, Draw
from .rows import ROWS

assert loops and more_rows
NAMES = sorted(ROWS)


def case(seed: int) -> Case:
    """Returns the case of a seed; the functions alternate."""
    return ROWS[NAMES[seed % len(NAMES)]](Draw(seed))


def check(seed: int) -> tuple[str, Case] | None:
    """Returns the undocumented difference of a case, and the case."""
    it = case(seed)
    theirs = outcome(it, np)
    found = difference(it, outcome(it, cp), theirs)
    if found is None or reason(it, found) is not None:
        return None
    return found, it


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.functions", description="Functions against NumPy.")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="first seed; case n has seed + n")
    parser.add_argument("--only", default="", help="functions whose name holds this")
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no case after that time")
    parser.add_argument("--show", type=int, default=2, help="cases to print of each class of failure")
    parser.add_argument("--device", default="cpu", help="also sim:32 and sim:64")
    parser.add_argument("--print", action="store_true", help="print the first case and stop")
    args = parser.parse_args()
    if args.print:
        print(case(args.seed).show())
        return 0
    cp.set_device(select(args.device))
    end = time.monotonic() + args.seconds
    failures: dict[tuple[str, str], list[str]] = defaultdict(list)
    done = 0
    for seed in range(args.seed, args.seed + args.cases):
        if args.only and args.only not in NAMES[seed % len(NAMES)]:
            continue
        if time.monotonic() > end:
            break
        done += 1
        result = check(seed)
        if result is not None:
            found, it = result
            failures[it.path, found.split(":")[0]].append(f"  seed {seed}: {it.show()[:600]}\n    {found}")
    for (path, what), texts in sorted(failures.items(), key=lambda item: -len(item[1])):
        print(f"{path}: {what} ({len(texts)})", file=sys.stderr)
        for text in texts[: args.show]:
            print(text, file=sys.stderr)
    classes = Counter(what for (_, what), texts in failures.items() for _ in texts)
    print(f"{done} cases of {len(NAMES)} functions: {sum(classes.values())} failed {dict(classes) or ''}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
