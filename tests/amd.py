"""Runs a compiler for GPUs of AMD and records what it compiled: `make test-amd-all` prints the table.

`python tests/amd.py FILE clang++ …` runs the compiler on what it is given and appends a line to the file.
`python tests/amd.py FILE` prints a table of the file: for each target the distinct kernels that Cuprous generated, the
sources of users, the seconds of the compiler, and the errors in generated kernels. A source of a user with an error
belongs to a test of that error.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

#: A line of the prelude that all generated code has, and no user's.
GENERATED = b"#define DEV __device__ __forceinline__"
#: What begins a kernel where several are compiled together.
NAMESPACE = re.compile(rb"^namespace kernel_\d+ \{$", re.MULTILINE)


def with_precompiled_header(folder: Path, command: list[str]) -> list[str]:
    """Returns the command with HIP's header as clang's own file, which is made once for each target and options: the
    header takes 1.2 s of a core, and the code of a kernel 0.05 s."""
    at = command.index("-include")
    options = [option for option in command if option not in ("-S", "-o", "/dev/null", "-")]
    path = folder / f"{hashlib.sha256(' '.join(options).encode()).hexdigest()[:20]}.pch"
    if not path.exists():
        made = path.with_suffix(f".{os.getpid()}")
        emit = ["-fsyntax-only", "-Xclang", "-emit-pch", "-Xclang", "-o", "-Xclang", str(made), "-"]
        subprocess.run([*options, *emit], input=b"", check=True)
        made.replace(path)
    return [*command[:at], "-Xclang", "-include-pch", "-Xclang", str(path), *command[at + 2 :]]


def compile_and_record(file: str, command: list[str]) -> int:
    """Runs the compiler with this process's input, and returns its exit status."""
    source = sys.stdin.buffer.read()
    command = with_precompiled_header(Path(file).parent, command)
    start = time.perf_counter()
    status = subprocess.run(command, input=source, check=False).returncode
    seconds = time.perf_counter() - start
    target = next(option.partition("=")[2] for option in command if option.startswith("--offload-arch="))
    kernels = NAMESPACE.split(source)[1:] or [source]
    row = {
        "target": target,
        "generated": GENERATED in source,
        "kernels": [hashlib.sha256(kernel).hexdigest()[:20] for kernel in kernels],
        "seconds": round(seconds, 3),
        "status": status,
    }
    with open(file, "a", encoding="utf-8") as out:
        os.write(out.fileno(), (json.dumps(row) + "\n").encode())  # in one piece, among other processes
    return status


def table(file: str) -> str:
    """Returns the table of a file, in Markdown."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            rows[row["target"]].append(row)
    text = ["| target | kernels | users' sources | seconds | errors |", "|---|--:|--:|--:|--:|"]
    for target, found in sorted(rows.items()):
        generated = {kernel for row in found if row["generated"] and row["status"] == 0 for kernel in row["kernels"]}
        sources = {kernel for row in found if not row["generated"] for kernel in row["kernels"]}
        # Kernels that do not compile together are compiled one by one.
        wrong = {row["kernels"][0] for row in found if row["generated"] and row["status"] and len(row["kernels"]) == 1}
        seconds = sum(row["seconds"] for row in found)
        text.append(f"| {target} | {len(generated):,} | {len(sources)} | {seconds:,.0f} | {len(wrong)} |")
    return "\n".join(text)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(compile_and_record(sys.argv[1], sys.argv[2:]))
    print(table(sys.argv[1]))
