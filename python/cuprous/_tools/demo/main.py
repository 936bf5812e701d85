"""The command line of `cuprous demo`."""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import cuprous as cp
from cuprous._tools import charts
from cuprous._tools.demo.show import groups
from cuprous._tools.machine import cores, disturbance, load
from cuprous._tools.progress import Progress

FOOTER = """\
Each time is that of one result that was waited for, with NumPy and with Cuprous by the same loop. Each result was first
compared with NumPy's. "At least" is what reading the inputs and writing the results once takes at the copy bandwidth
measured here: a time well below it would be reported as an error."""


def main(argv: Sequence[str]) -> int:
    """Runs the workloads; 1 where a result was wrong or a time impossible."""
    arguments = parse(argv)
    if arguments.plot and (wrong := charts.unwritable(arguments.plot, ".svg")):
        print(f"cuprous demo: {wrong}", file=sys.stderr)
        return 2
    # NumPy and the rows are imported after the arguments are read, so that `--help` is quick.
    import numpy as np

    from cuprous._tools.demo.measure import Result, measure
    from cuprous._tools.demo.rows import rows

    chosen = rows(arguments.quick)
    names = [row.name for row in chosen]
    if arguments.only:
        wanted = arguments.only.split(",")
        unknown = [name for name in wanted if name not in names]
        if unknown:
            print(f"cuprous demo: row {unknown[0]!r} does not exist; the rows are {', '.join(names)}", file=sys.stderr)
            return 2
        chosen = [row for row in chosen if row.name in wanted]
    gpu, about = devices()
    count, remark = cores(), disturbance(load())
    machine = f"NumPy {np.__version__}, {count} CPU core{'s' * (count != 1)}; {about}"
    progress = Progress(len(chosen))
    results: list[Result] = []
    for number, row in enumerate(chosen, 1):
        results.append(measure(row, cp, gpu, arguments.quick, progress.of(number, row.title)))
    progress.clear()
    failed = any(result.failed for result in results)
    if arguments.json:
        print(
            json.dumps(
                {"machine": machine, "disturbed": remark, "gpu": gpu, "rows": [r.as_dict() for r in results]}, indent=2
            )
        )
    else:
        print("\n".join(filter(None, [machine, remark])) + "\n")
        width = shutil.get_terminal_size().columns
        print(charts.as_text(groups(results), charts.colored(), width, charts.plain()), end="")
        print(FOOTER)
    if arguments.plot:
        subtitle = "; ".join(filter(None, [machine, remark]))
        picture = charts.as_svg(groups(results), "NumPy beside Cuprous", subtitle)
        Path(arguments.plot).write_text(picture, encoding="utf-8")
        print(f"wrote {arguments.plot}", file=sys.stderr)
    return 1 if failed else 0


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="cuprous demo", description="Well-known workloads: NumPy beside Cuprous on this machine's CPU and GPU."
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: seconds in place of a minute or two")
    parser.add_argument("--only", metavar="NAMES", help="rows to run, such as matmul,options (default: all)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--plot", metavar="FILE.svg", help="write a picture as well (default: none)")
    return parser.parse_args(argv)


def devices() -> tuple[bool, str]:
    """Whether there is a usable GPU, and one line about it."""
    core = cp._core
    if core.device_count() == 0:
        reason = core.unusable_gpu_reason()
        if reason:
            return False, f"the GPU cannot be used: {reason.splitlines()[0]} (`cuprous doctor` says more)"
        kind = "Apple's GPUs are not supported yet" if platform.system() == "Darwin" else "no NVIDIA GPU was found"
        return False, f"{kind}, so there are no GPU figures"
    try:
        properties = core.device_properties(0)
    except RuntimeError as error:
        return False, f"the GPU cannot be used: {str(error).splitlines()[0]} (`cuprous doctor` says more)"
    name = properties.get("name", "GPU")
    return True, name.decode() if isinstance(name, bytes) else str(name)
