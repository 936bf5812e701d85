"""`make gpu-test`: the whole suite on the GPU, the GPU-only tests, random programs, and compute-sanitizer.

Ends with a short table.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ON_GPU = {**os.environ, "CUPROUS_TEST_DEVICE": "cuda", "PYTHONUNBUFFERED": "1"}
# Short programs that use every kind of kernel; a sanitizer makes them some fifty times slower.
SANITIZED = ["tests/gpu/test_engine.py", "-k", "kernel or reductions or strided or tiers"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skip", default="", help="of suite,gpu,rust,fuzz,sanitizer")
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--logs", default="build/gpu-test", help="folder for full logs")
    arguments = parser.parse_args()
    skip = set(filter(None, arguments.skip.split(",")))
    logs = ROOT / arguments.logs if not os.path.isabs(arguments.logs) else Path(arguments.logs)
    logs.mkdir(parents=True, exist_ok=True)
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    steps: dict[str, list[str]] = {
        "gpu": [*pytest, "tests/gpu"],
        "suite": [*pytest, "tests", "--ignore=tests/gpu", "--maxfail=50"],
        "fuzz": [sys.executable, "-m", "tests.fuzz", "--device", "cuda", "--programs", str(arguments.programs)],
    }
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer:
        for tool in ("memcheck", "racecheck"):
            head = [sanitizer, "--tool", tool, "--error-exitcode", "86", "--target-processes", "all"]
            steps[f"sanitizer {tool}"] = [*head, *pytest, *SANITIZED]
            fuzz = [sys.executable, "-m", "tests.fuzz", "--device", "cuda", "--programs", "100", "--processes", "1"]
            steps[f"sanitizer {tool}, fuzz"] = [*head, *fuzz]
    rows: list[tuple[str, str, float, str]] = []
    for name, line in steps.items():
        if name.split()[0] in skip:
            continue
        rows.append(step(name, line, logs))
    print("\n| step | | seconds | |\n|---|---|---|---|")
    for name, verdict, seconds, summary in rows:
        print(f"| {name} | {verdict} | {seconds:.0f} | {summary} |")
    if not sanitizer and "sanitizer" not in skip:
        print("| sanitizer | not run | | compute-sanitizer is not on PATH |")
    return 1 if any(verdict == "FAILED" for _, verdict, _, _ in rows) else 0


def step(name: str, line: list[str], logs: Path) -> tuple[str, str, float, str]:
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
