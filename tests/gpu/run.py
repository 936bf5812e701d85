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
# The sanitizers and the tests they skip: times are meaningless under them, and racecheck follows each access to shared
# memory of an elimination panel, which takes minutes per system from a thousand equations on.
SANITIZERS = {"memcheck": "not events_measure", "racecheck": "not events_measure and not 1030 and not 2080"}
# Each file runs in its own process. test_driver uses stand-ins for the driver, so there is nothing to check.
SANITIZED = [path for path in sorted((ROOT / "tests/gpu").glob("test_*.py")) if path.stem != "test_driver"]
# NVIDIA's kernels are excluded: ten large products of cuBLAS take racecheck six minutes. A driver call that
# fails for lack of memory is part of a test and not a finding.
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
    # The GPU tests check memory and counters, so they run alone. Afterwards the compiler keeps all cores busy,
    # and each sanitized process one core; the lanes run concurrently.
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
