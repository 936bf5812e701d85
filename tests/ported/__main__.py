"""Prints how long each program takes with NumPy and with Cuprous, as processes: `python -m tests.ported`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def seconds(text: str) -> float:
    """Returns the least time of three runs of a program."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(text)
        times = []
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run([sys.executable, str(file)], cwd=folder, check=True, capture_output=True,
                           env=os.environ | {"MPLBACKEND": "agg"})  # fmt: skip
            times.append(time.perf_counter() - start)
    return min(times)


for program in sorted((Path(__file__).parent / "programs").glob("*.py")):
    text = program.read_text()
    ported = text.replace("import numpy as np\n", "import cuprous as np\n")
    print(f"{program.stem:<22} NumPy {seconds(text):5.2f} s   Cuprous {seconds(ported):5.2f} s", flush=True)
