"""`make gpu-test`: the whole suite on the GPU, the GPU-only tests, random programs, and compute-sanitizer.

Ends with a short table.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Name, verdict, seconds, summary.
Row = tuple[str, str, float, str]

ROOT = Path(__file__).resolve().parents[2]
ON_GPU = {**os.environ, "CUPROUS_TEST_DEVICE": "cuda", "PYTHONUNBUFFERED": "1"}
CORES = os.cpu_count() or 1
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
FUZZ = [sys.executable, "-m", "tests.fuzz", "--device", "cuda"]
# The sanitizers, and what they leave out: times mean nothing under them, and racecheck follows each access to shared
# memory of a panel of elimination, which takes it minutes a system from a thousand equations on.
SANITIZERS = {"memcheck": "not events_measure", "racecheck": "not events_measure and not 1030 and not 2080"}
# Each file is a process of its own; test_driver has stand-ins for the driver, under which there is nothing to check.
SANITIZED = [path for path in sorted((ROOT / "tests/gpu").glob("test_*.py")) if path.stem != "test_driver"]
# NVIDIA's own kernels are left out: ten large products of cuBLAS take racecheck six minutes. A call of the driver that
# fails because there is no memory is part of a test, no finding.
LIBRARIES = ("gemm", "gemv", "cutlass", "cublas", "cudnn", "nvjet", "xmma", "cusolver", "splitK")
SANITIZER = ["--error-exitcode", "86", "--target-processes", "all", "--report-api-errors", "no"]
SANITIZER += [word for name in LIBRARIES for word in ("--kernel-name-exclude", f"kns={name}")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skip", default="", help="of suite,gpu,fuzz,sanitizer")
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seconds", default="inf", help="for the random programs")
    parser.add_argument("--logs", default="build/gpu-test", help="folder for full logs")
    arguments = parser.parse_args()
    skip = set(filter(None, arguments.skip.split(",")))
    logs = ROOT / arguments.logs if not os.path.isabs(arguments.logs) else Path(arguments.logs)
    logs.mkdir(parents=True, exist_ok=True)
    spread = ["-n", str(min(CORES, 12))] if importlib.util.find_spec("xdist") else []
    suite = [*PYTEST, "tests", "--ignore=tests/gpu", "--maxfail=50", *spread]
    # The GPU's own tests look at memory and counters and have it to themselves. Then the compiler keeps all cores busy,
    # and each sanitized process one; the lanes run side by side.
    alone = {"gpu": [*PYTEST, "tests/gpu"]}
    fuzz = [*FUZZ, "--programs", str(arguments.programs), "--seconds", arguments.seconds]
    lanes = [{"suite": suite, "fuzz": fuzz}]
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer:
        for tool, those in SANITIZERS.items():
            head = [sanitizer, "--tool", tool, *SANITIZER]
            lines = {path.stem: [*PYTEST, str(path), "-k", those] for path in SANITIZED}
            lines["fuzz"] = [*FUZZ, "--programs", "100", "--processes", "1"]
            lanes += [{f"sanitizer {tool}, {what}": [*head, *line]} for what, line in lines.items()]
    rows = run(alone, skip, logs)
    with ThreadPoolExecutor(len(lanes)) as pool:
        for lane in pool.map(lambda steps: run(steps, skip, logs), lanes):
            rows += lane
    print("\n| step | | seconds | |\n|---|---|---|---|")
    for name, verdict, seconds, summary in rows:
        print(f"| {name} | {verdict} | {seconds:.0f} | {summary} |")
    if not sanitizer and "sanitizer" not in skip:
        print("| sanitizer | not run | | compute-sanitizer is not on PATH |")
    return 1 if any(verdict == "FAILED" for _, verdict, _, _ in rows) else 0


def run(steps: dict[str, list[str]], skip: set[str], logs: Path) -> list[Row]:
    """Runs a lane's steps one after another."""
    return [step(name, line, logs) for name, line in steps.items() if name.split()[0] not in skip]


def step(name: str, line: list[str], logs: Path) -> Row:
    """Runs one command; its whole output goes to a file, the end of a failing one to the terminal too."""
    print(f"# {name}", flush=True)
    start = time.perf_counter()
    log = logs / (re.sub(r"\W+", "-", name) + ".log")
    with log.open("w", encoding="utf-8") as out:
        done = subprocess.run(line, cwd=ROOT, env=ON_GPU, stdout=out, stderr=subprocess.STDOUT, check=False)
    text = log.read_text(encoding="utf-8", errors="replace")
    if done.returncode:
        print("\n".join(text.splitlines()[-60:]), flush=True)
    found = re.findall(
        r"^.*(?:\d (?:passed|failed|errors?|skipped) ?.* in |programs/s|ERROR SUMMARY|RACECHECK SUMMARY).*$",
        text,
        re.MULTILINE,
    )
    summary = "; ".join(line.strip("= ") for line in found[-2:]) or f"exit code {done.returncode}"
    return name, "FAILED" if done.returncode else "ok", time.perf_counter() - start, summary


if __name__ == "__main__":
    sys.exit(main())
