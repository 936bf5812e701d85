"""`make bench`: times each workload with Cuprous and every installed peer, and compares with this machine's floor."""

from __future__ import annotations

import argparse
import platform
import sys
import time
from pathlib import Path

from bench import floors, history, table
from bench.context import Context, Measured
from bench.peers import Peer, installed


def main() -> int:
    arguments = parse()
    device = arguments.device or default_device()
    specs = table.GPU if device == "cuda" else table.CPU
    if arguments.only:
        wanted = arguments.only.split(",")
        unknown = sorted(set(wanted) - {spec.name for spec in specs})
        if unknown:
            print(f"there is no row {unknown[0]}; there are {', '.join(spec.name for spec in specs)}", file=sys.stderr)
            return 2
        specs = [spec for spec in specs if spec.name in wanted]
    skip = frozenset(arguments.without.split(",")) if arguments.without else frozenset[str]()
    peers = installed(device, skip)
    start = time.perf_counter()
    floor = floors.measure(peers, device, arguments.quick)
    run = history.Run(device, {p.name: p.version for p in peers.values()}, floor.copy_bytes_per_s / 1e9 or None)
    print(about(run.machine, peers, floor), flush=True)
    out = run.machine.file if arguments.record else Path(arguments.out)
    rows: dict[str, Measured] = {}
    for spec in specs:
        if time.perf_counter() - start > arguments.seconds:
            print(f"# {arguments.seconds:.0f} s are over: {spec.name} and what follows is left out")
            break
        rows[spec.name] = row = one(spec, peers, floor, device, arguments.quick)
        note = "small sizes (--quick)" if arguments.quick else ""
        history.append(out, [table.entry(run, row, spec.target, note)])
        print(f"# {spec.name}: " + ", ".join(f"{p} {table.shown(ms)}" for p, ms in row.ms.items()), flush=True)
        for peer, error in row.errors.items():
            print(f"#   {peer} failed: {error}", flush=True)
    print("\n" + table.markdown(specs, rows))
    verdicts = [table.verdict(spec, rows[spec.name]) for spec in specs if spec.name in rows]
    print(
        f"\n{verdicts.count('MET')} met, {verdicts.count('MISSED')} missed, {verdicts.count('FAILED')} failed"
        f" in {time.perf_counter() - start:.0f} s; figures in {out}"
        + ("; `python -m bench.report` writes the page anew" if arguments.record else "")
    )
    return 1 if "FAILED" in verdicts else 0


def one(spec: table.Spec, peers: dict[str, Peer], floor: floors.Floors, device: str, quick: bool) -> Measured:
    """Measures one row. An error outside the peers' code is also recorded in the row."""
    row = Measured(spec.name, spec.title)
    context = Context(peers, floor, device, row, quick)
    try:
        spec.run(context)
    except Exception as error:
        row.errors["cuprous"] = f"{type(error).__name__}: {error}"[:300]
    context.release()
    return row


def default_device() -> str:
    import cuprous as cp

    return "cuda" if cp._core.device_count() else "cpu"


def about(machine: history.Machine, peers: dict[str, Peer], floor: floors.Floors) -> str:
    """Returns one line that names the machine and the libraries."""
    versions = ", ".join(f"{p.name} {p.version}" for p in peers.values())
    rates = f"copy {floor.copy_bytes_per_s / 1e9:.0f} GB/s" + "".join(
        f", {dtype} matmul {rate / 1e12:.3g} TFLOP/s" for dtype, rate in floor.matmul_flops.items()
    )
    return f"{machine.name}, {machine.cores} cores; Python {platform.python_version()}; {versions}; {rates}"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: cuda where there is one")
    parser.add_argument("--only", help="rows, such as sum,var,mm16")
    parser.add_argument("--without", help="peers to leave out, such as jax,torch")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the rows out; times mean little")
    parser.add_argument("--seconds", type=float, default=330, help="no row is begun after this time")
    parser.add_argument("--out", default="build/bench.jsonl", help="JSON lines are added to this file")
    parser.add_argument(
        "--record", action="store_true", help="add them to this machine's file in bench/results instead"
    )
    arguments = parser.parse_args()
    if arguments.quick and arguments.record:
        parser.error("--record keeps no times of --quick: its sizes are not those of the rows")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
